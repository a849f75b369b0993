package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/host"
)

func TestTheGuideForEmbeddingNamesEveryEvent(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "docs", "embedding.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(b), "| event | body |")
	table, _, _ = strings.Cut(table, "\n\n")
	if !found {
		t.Fatal("the guide has no table of events")
	}
	for typ := range host.EventBodies() {
		if !strings.Contains(table, "`"+string(typ)+"`") {
			t.Errorf("the guide does not say what a view does with %q", typ)
		}
	}
}
