package schemas_test

import (
	"cmp"
	"testing"

	"github.com/aoagents/ao-host/schemas"
)

func TestVersionsAreOrderedByTheirNumbersAndPreReleasesComeFirst(t *testing.T) {
	ordered := []string{"0.9.0", "0.49.0", "0.153.4-alpha.1", "0.153.4-alpha.2", "0.153.4-alpha.10", "0.153.4-alpha.x", "0.153.4-alpha.x.1", "0.153.4-beta", "0.153.4", "0.171.0", "1.0", "1.0.1"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := schemas.CompareVersions(a, b); cmp.Compare(got, 0) != cmp.Compare(i, j) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
		}
	}
	if schemas.CompareVersions("1.0", "1.0.0+build") != 0 {
		t.Error("a missing number is not zero, or a build counts")
	}
}
