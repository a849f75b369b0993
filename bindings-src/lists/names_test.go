package lists_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/bindings-src/lists"
)

func TestC8_NamesThatDoNotFitAreCounted(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		room  int
		names []string
		want  string
	}{
		{0, nil, ""},
		{10, nil, ""},
		{0, []string{"a", long}, "a, " + long},
		{10, []string{"a", long, "b"}, "a, b and 1 more"},
		{10, []string{long, long}, "2 with long names"},
	} {
		n := lists.Names{Room: c.room}
		for _, name := range c.names {
			n.Add([]byte(name))
		}
		if got := n.String(); got != c.want {
			t.Errorf("%d names in %d bytes become %q, want %q", len(c.names), c.room, got, c.want)
		}
	}
}
