package lists_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aoagents/ao-host/bindings-src/lists"
)

func TestALongIdIsRememberedShortAndStillToldApart(t *testing.T) {
	long := strings.Repeat("ä", 1<<19)
	seen := map[string]string{}
	for _, id := range []string{"", "x", strings.Repeat("y", 1024), long, long + "a", long + "b", "b" + long, long[:len(long)-2]} {
		short := lists.ID(id)
		if len(id) <= 1024 && short != id {
			t.Errorf("an id of %d bytes is changed", len(id))
		}
		if len(short) > 1024 || !utf8.ValidString(short) || lists.ID(short) != short {
			t.Errorf("an id of %d bytes becomes %q", len(id), short)
		}
		if before, ok := seen[short]; ok {
			t.Errorf("two ids of %d and %d bytes become one", len(before), len(id))
		}
		seen[short] = id
	}
}
