//go:build linux || darwin

package process_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host/internal/process"
)

func TestL5_AReplacedProgramIsToldFromTheSameOne(t *testing.T) {
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	long := time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC) // what npm gives its files
	for name, c := range map[string]struct {
		change func(dir string)
		want   bool
	}{
		"untouched":        {func(string) {}, false},
		"read and copied":  {func(dir string) { must(os.Link(filepath.Join(dir, "v1"), filepath.Join(dir, "other"))) }, false},
		"its mode changed": {func(dir string) { must(os.Chmod(filepath.Join(dir, "v1"), 0o755)) }, false},
		"gone":             {func(dir string) { must(os.Remove(filepath.Join(dir, "v1"))) }, false},
		"its link gone":    {func(dir string) { must(os.Remove(filepath.Join(dir, "command"))) }, false},
		"written anew":     {func(dir string) { write(filepath.Join(dir, "v1"), "two") }, true},
		"of the same size and time": {func(dir string) {
			write(filepath.Join(dir, "new"), "two")
			must(os.Chtimes(filepath.Join(dir, "new"), long, long))
			must(os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "v1")))
		}, true},
		"its link leads elsewhere": {func(dir string) {
			write(filepath.Join(dir, "v2"), "one")
			must(os.Symlink("v2", filepath.Join(dir, "next")))
			must(os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "command")))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(filepath.Join(dir, "v1"), "one")
			must(os.Chtimes(filepath.Join(dir, "v1"), long, long))
			must(os.Symlink("v1", filepath.Join(dir, "command")))
			p := process.Identify(filepath.Join(dir, "command"))
			c.change(dir)
			if got := p.Replaced(); got != c.want {
				t.Fatalf("replaced: %v", got)
			}
		})
	}
	if (process.Identify(filepath.Join(t.TempDir(), "none"))).Replaced() {
		t.Fatal("what was never there was replaced")
	}
}
