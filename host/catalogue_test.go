package host_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// withoutTest are the scenarios that no test holds yet, and why.
var withoutTest = map[string]string{}

// A test is named after the scenarios it holds: TestT6_C3_…, TestLiveS1_….
func TestEveryScenarioOfTheCatalogueHasATestThatIsNamedAfterIt(t *testing.T) {
	t.Parallel()
	catalogue, err := os.ReadFile(filepath.Join("..", "docs", "scenarios.md"))
	if err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(`(?m)^- ([A-Z][0-9]+) `).FindAllStringSubmatch(string(catalogue), -1)
	if len(ids) < 60 {
		t.Fatalf("the catalogue has %d scenarios", len(ids))
	}
	tests := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	part := regexp.MustCompile(`^(?:Live|ACP)?([A-Z][0-9]+)$`)
	held := map[string]int{}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "home") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range tests.FindAllStringSubmatch(string(b), -1) {
			for _, word := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(m[1], "Test"), "Fuzz"), "_") {
				if id := part.FindStringSubmatch(word); id != nil {
					held[id[1]]++
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range ids {
		id := m[1]
		known[id] = true
		switch why := withoutTest[id]; {
		case held[id] == 0 && why == "":
			t.Errorf("no test is named after %s", id)
		case held[id] > 0 && why != "":
			t.Errorf("%s has a test now; take it off the list of those without", id)
		}
	}
	for id := range withoutTest {
		if !known[id] {
			t.Errorf("the catalogue has no %s", id)
		}
	}
}
