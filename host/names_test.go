package host_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// harnessName finds the harnesses there are bindings for. What differs between
// them lives in their bindings (DESIGN §2).
var harnessName = regexp.MustCompile(`(?i)codex|claude|grok|kimchi`)

func TestNoPackageOfTheHostKnowsAHarnessByName(t *testing.T) {
	t.Parallel()
	demo := filepath.Join("cmd", "ao-host", "internal", "demo")
	read := 0
	for _, top := range []string{"abi", "cmd", "host", "store"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if d.Name() == "testdata" || strings.HasSuffix(path, demo) {
					return filepath.SkipDir
				}
				return nil
			}
			if strings.HasSuffix(path, "_test.go") {
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			read++
			for n, line := range strings.Split(string(b), "\n") {
				if harnessName.MatchString(line) {
					t.Errorf("%s:%d: %s", path, n+1, strings.TrimSpace(line))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 100 {
		t.Fatalf("only %d files were read", read)
	}
}
