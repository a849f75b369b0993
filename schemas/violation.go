package schemas

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Violation says where a payload does not follow its schema. It holds no more of
// the payload than member names and, where a value decides which branch of a
// union applies, that value; each cut to 80 characters.
type Violation struct {
	Direction Direction `json:"direction"`
	Kind      Kind      `json:"kind"`
	Method    string    `json:"method"`
	// Unknown: the method is not in the schemas at all. The other members below
	// are empty then.
	Unknown bool `json:"unknown,omitempty"`
	// Path is the place in the payload, a JSON pointer; empty for the payload
	// itself.
	Path string `json:"path,omitempty"`
	// Keyword is the schema keyword that failed, such as "required" or "type";
	// "json" when the payload is no JSON.
	Keyword string `json:"keyword,omitempty"`
	Message string `json:"message,omitempty"`
	// More counts further places that failed.
	More int `json:"more,omitempty"`
}

// Stable codes of [Violation.Code].
const (
	CodeViolation     = "schema_violation"
	CodeUnknownMethod = "schema_unknown_method"
)

// Code returns [CodeUnknownMethod] or [CodeViolation].
func (v *Violation) Code() string {
	if v.Unknown {
		return CodeUnknownMethod
	}
	return CodeViolation
}

// Error returns one sentence.
func (v *Violation) Error() string {
	to := "to"
	if v.Direction == FromProvider {
		to = "from"
	}
	if v.Unknown {
		return fmt.Sprintf("the %s %s %s the provider is not in its schemas", v.Kind, v.Method, to)
	}
	where := v.Path
	if where == "" {
		where = "the top"
	}
	more := ""
	if v.More > 0 {
		more = fmt.Sprintf(" (and %d more)", v.More)
	}
	return fmt.Sprintf("the %s of %s %s the provider does not follow its schema at %s: %s%s", v.Kind, v.Method, to, where, v.Message, more)
}

// fill takes the deepest failure: the one that got furthest before it failed is
// the branch the sender meant. Equally deep ones are ordered by their text,
// because jsonschema visits members in the random order of a map.
func (v *Violation) fill(err *jsonschema.ValidationError) {
	leaves := appendLeaves(nil, err)
	slices.SortFunc(leaves, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(
			-cmp.Compare(strings.Count(a.InstanceLocation, "/"), strings.Count(b.InstanceLocation, "/")),
			strings.Compare(a.InstanceLocation, b.InstanceLocation),
			strings.Compare(a.KeywordLocation, b.KeywordLocation),
			strings.Compare(a.Message, b.Message),
		)
	})
	leaf := leaves[0]
	v.More = len(leaves) - 1
	v.Path = shortPointer(leaf.InstanceLocation)
	v.Keyword = leaf.KeywordLocation[strings.LastIndexByte(leaf.KeywordLocation, '/')+1:]
	v.Message = leaf.Message
	switch v.Keyword {
	case "additionalProperties":
		// The message lists the payload's own members.
		v.Message = cut(v.Message, maxQuote)
	case keywordDispatch:
		v.Keyword = "anyOf"
	case keywordNumber:
		v.Keyword = "type"
	case "":
		v.Keyword = "false"
	}
	v.Message = cut(v.Message, maxMessage)
}

func appendLeaves(leaves []*jsonschema.ValidationError, err *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(err.Causes) == 0 {
		return append(leaves, err)
	}
	for _, c := range err.Causes {
		leaves = appendLeaves(leaves, c)
	}
	return leaves
}

const (
	// maxQuote bounds what is quoted of a payload, in bytes.
	maxQuote = 80
	// maxMessage bounds a message, whose rest is text of the schema.
	maxMessage = 300
	maxPath    = 300
)

// shortPointer undoes the percent-encoding jsonschema applies to JSON pointers
// and shortens member names, which in a map are payload.
func shortPointer(p string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		if u, err := url.PathUnescape(part); err == nil {
			part = u
		}
		parts[i] = cut(part, maxQuote)
	}
	return cut(strings.Join(parts, "/"), maxPath)
}

// cut shortens s to n bytes at a character boundary and marks it.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
