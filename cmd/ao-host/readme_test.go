package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// readme checks that a part of README.md is what a command printed:
// readme demo stdout. With UPDATE_SCRIPTS=1 it writes it there, as it does with
// the files of the scripts.
func readme(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: readme PART FILE")
	}
	file := filepath.Join(ts.Getenv("REPO"), "README.md")
	text, err := os.ReadFile(file)
	ts.Check(err)
	before, shown, after, err := part(string(text), args[0])
	ts.Check(err)
	printed := ts.ReadFile(args[1])
	if printed == shown {
		return
	}
	if os.Getenv("UPDATE_SCRIPTS") == "" {
		ts.Fatalf("the part %q of README.md is not what is printed; run: UPDATE_SCRIPTS=1 go test ./cmd/ao-host (-README +printed)\n%s", args[0], cmp.Diff(shown, printed))
	}
	ts.Check(os.WriteFile(file, []byte(before+printed+after), 0o644))
}

// part cuts what is in the code block between the markers of a part out of a
// Markdown text.
func part(text, name string) (before, inside, after string, err error) {
	begin, end := "<!-- "+name+":begin -->\n```text\n", "```\n<!-- "+name+":end -->"
	before, rest, found := strings.Cut(text, begin)
	inside, after, closed := strings.Cut(rest, end)
	if !found || !closed || strings.Contains(after, begin) {
		return "", "", "", fmt.Errorf("the text needs one code block between %q and %q", strings.TrimSpace(begin), end)
	}
	return before + begin, inside, end + after, nil
}

func TestAPartOfTheReadmeIsFoundByItsMarkersAndReplacedAlone(t *testing.T) {
	const text = "a\n<!-- x:begin -->\n```text\nold\n```\n<!-- x:end -->\nb\n"
	before, inside, after, err := part(text, "x")
	if err != nil || inside != "old\n" || before+inside+after != text {
		t.Errorf("%q %q %q, %v", before, inside, after, err)
	}
	for _, bad := range []string{"", "<!-- x:begin -->\n```text\nold\n", strings.ReplaceAll(text, "begin", "start"), text + text} {
		if _, _, _, err := part(bad, "x"); err == nil {
			t.Errorf("%q has the part", bad)
		}
	}
}
