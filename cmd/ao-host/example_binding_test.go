package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The commands are those of docs/bindings.md.
func TestTheExampleBindingIsBuiltPackedAllowedAndTalksToItsAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a module")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "bindings.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "set -eu\n" + commands(t, string(doc))
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = root
	// The document writes into the current folder's bin, and the test beside it.
	cmd.Env = append(os.Environ(), "OUT="+dir, "AO_HOST_DATA="+filepath.Join(dir, "data"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	for _, want := range []string{"waits for your consent", "Allowed: ", "\nHello!\n", "[turn 1 completed]"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}

// commands are the lines of the shell blocks of a Markdown text.
func commands(t *testing.T, doc string) string {
	t.Helper()
	var out strings.Builder
	for i, block := range strings.Split(doc, "```sh\n") {
		if i == 0 {
			continue
		}
		text, _, closed := strings.Cut(block, "```")
		if !closed {
			t.Fatal("a shell block has no end")
		}
		out.WriteString(text)
	}
	if out.Len() == 0 {
		t.Fatal("the document has no commands")
	}
	return out.String()
}
