package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnATerminalADeletionIsAskedAboutAndOnlyAYesCounts(t *testing.T) {
	bin, err := exec.LookPath("ao-host")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	project, data := filepath.Join(dir, "project"), filepath.Join(dir, "data")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "TERM=xterm", "AO_HOST_DATA=" + data}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env = project, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("new", "--harness", "codex", "--title", "Keep me")
	run("serve", "--stop")
	for _, c := range []struct{ typed, want string }{
		{"\n", "Nothing was done."}, {"no\n", "Nothing was done."}, {"\x04", "Nothing was done."}, {"y\n", "Deleted: conversation"},
	} {
		if !strings.Contains(run("list"), "Keep me") {
			t.Fatalf("it is gone before %q was typed", c.typed)
		}
		term := openTerminal(t, project, env, bin, "delete")
		term.expect("for good? [y/N] ")
		term.write(c.typed)
		term.expect(c.want)
		if code := term.exit(); code != 0 {
			t.Errorf("exit code %d after %q:\n%s", code, c.typed, term.text())
		}
	}
	if out := run("list"); strings.Contains(out, "Keep me") {
		t.Errorf("it is still there:\n%s", out)
	}
}
