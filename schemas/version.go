package schemas

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

var versionPattern = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9}){0,3}([-+][0-9A-Za-z.+-]{1,64})?$`)

func validVersion(v string) bool { return versionPattern.MatchString(v) }

// compareVersions orders versions by their numbers. A version with a suffix
// after a hyphen comes before the one without (semantic versioning, rule 11);
// suffixes are compared word by word, numbers below words.
func compareVersions(a, b string) int {
	an, ap := splitVersion(a)
	bn, bp := splitVersion(b)
	for i := range max(len(an), len(bn)) {
		if c := cmp.Compare(numberAt(an, i), numberAt(bn, i)); c != 0 {
			return c
		}
	}
	switch {
	case ap == bp:
		return 0
	case ap == "":
		return 1
	case bp == "":
		return -1
	}
	aw, bw := strings.Split(ap, "."), strings.Split(bp, ".")
	for i := range min(len(aw), len(bw)) {
		if c := compareWords(aw[i], bw[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(aw), len(bw))
}

func splitVersion(v string) ([]string, string) {
	v, _, _ = strings.Cut(v, "+")
	core, pre, _ := strings.Cut(v, "-")
	return strings.Split(core, "."), pre
}

func numberAt(parts []string, i int) uint64 {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.ParseUint(parts[i], 10, 64)
	return n
}

func compareWords(a, b string) int {
	an, aerr := strconv.ParseUint(a, 10, 64)
	bn, berr := strconv.ParseUint(b, 10, 64)
	switch {
	case aerr == nil && berr == nil:
		return cmp.Compare(an, bn)
	case aerr == nil:
		return -1
	case berr == nil:
		return 1
	}
	return strings.Compare(a, b)
}
