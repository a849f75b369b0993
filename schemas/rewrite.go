package schemas

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Bounds on one definition of a section, which is a stranger's text. The largest
// of Codex has 200 schemas, 9 levels and members of 40 bytes.
const (
	maxSchemaDepth   = 48
	maxSchemaNodes   = 10_000
	maxSchemaName    = 256
	maxSchemaPattern = 1024
)

// foreign are keywords that would make a schema mean something outside the
// bundle, or cost work without a verdict: identifiers and anchors, annotations,
// and formats, which providers use for names such as "uint32" that no two
// validators agree on.
var foreign = append([]string{
	"$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema",
	"default", "format", "id", keywordDispatch, keywordNumber, keywordWork,
}, annotations...)

// prepare makes one decoded schema of a bundle ready for any compiler: foreign
// keywords go, references become addresses of definitions, and the bounds above
// are enforced. With lenient, additionalProperties:false goes too, oneOf becomes
// anyOf, conditions are dropped, and values that the schema itself asks a reader
// to default or skip are accepted (see [forgive]): providers send members of newer
// versions, and a schema must not refuse what a binding can read.
func prepare(schema any, lenient, siblings bool) (any, error) {
	nodes := 0
	var visit func(v any, depth int) (any, error)
	visit = func(v any, depth int) (any, error) {
		s, ok := v.(map[string]any)
		if !ok {
			if b, ok := v.(bool); ok {
				return b, nil
			}
			// The array of a dependency, or a mistake that the compiler reports.
			return v, nil
		}
		if nodes++; nodes > maxSchemaNodes || depth > maxSchemaDepth {
			return nil, fmt.Errorf("a schema has more than %d parts or %d levels", maxSchemaNodes, maxSchemaDepth)
		}
		for _, k := range foreign {
			delete(s, k)
		}
		orNull := false
		if lenient {
			if orNull, ok = forgive(s); ok {
				return true, nil
			}
		}
		for _, k := range []string{"$recursiveRef", "$dynamicRef"} {
			if _, ok := s[k]; ok {
				return nil, fmt.Errorf("%s is not supported; refer to a definition by name", k)
			}
		}
		if r, ok := s["$ref"]; ok {
			name, ok := strings.CutPrefix(fmt.Sprint(r), refPrefix)
			if !ok {
				return nil, fmt.Errorf("the reference %.80q leads out of the bundle", fmt.Sprint(r))
			}
			s["$ref"] = definitionURL(name)
			if !siblings {
				// Draft 7: what stands beside a reference is ignored.
				return nullable(map[string]any{"$ref": s["$ref"]}, orNull), nil
			}
		}
		for _, k := range []string{"unevaluatedItems", "unevaluatedProperties"} {
			if s[k] == true {
				delete(s, k)
			}
		}
		if lenient {
			if s["additionalProperties"] == false {
				delete(s, "additionalProperties")
			}
			delete(s, "unevaluatedItems")
			delete(s, "unevaluatedProperties")
			// A condition that accepts more makes what depends on it accept less.
			for _, k := range []string{"else", "if", "then"} {
				delete(s, k)
			}
			if !exact(s["not"]) {
				delete(s, "not")
			}
		}
		if p, ok := s["pattern"].(string); ok && len(p) > maxSchemaPattern {
			return nil, fmt.Errorf("a pattern is longer than %d bytes", maxSchemaPattern)
		}
		var failed error
		subschemas(s, func(_, key string, sub any) any {
			if len(key) > maxSchemaName && failed == nil {
				failed = fmt.Errorf("the member name %.40q… is longer than %d bytes", key, maxSchemaName)
			}
			sub, err := visit(sub, depth+1)
			if err != nil && failed == nil {
				failed = err
			}
			return sub
		})
		if failed != nil {
			return nil, failed
		}
		if lenient {
			if list, ok := s["oneOf"].([]any); ok {
				delete(s, "oneOf")
				if s["anyOf"] == nil {
					s["anyOf"] = list
				} else {
					s["allOf"] = append(anyList(s["allOf"]), map[string]any{"anyOf": list})
				}
			}
		}
		return nullable(s, orNull), nil
	}
	return visit(schema, 0)
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

// accelerate replaces unions and number keywords in a prepared schema by the
// extensions, inner ones first.
func accelerate(v any, unions *dispatchTable, a analyst) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	// The facts are read off the schema as it was.
	rewritten := map[string]any{}
	for _, k := range unionKeywords {
		if list, ok := s[k].([]any); ok && len(list) > 1 && rewritten[keywordDispatch] == nil {
			rewritten[keywordDispatch] = unions.rewrite(k, list, a)
			rewritten["was"] = k
		}
	}
	subschemas(s, func(_, _ string, sub any) any {
		accelerate(sub, unions, a)
		return sub
	})
	if kw, ok := rewritten[keywordDispatch]; ok {
		delete(s, rewritten["was"].(string))
		s[keywordDispatch] = kw
	}
	rewriteNumber(s)
	if multiplies(s) {
		s[keywordWork] = true
	}
}

// definitionScheme begins the address of a definition inside the compiler.
const definitionScheme = "schema:///definitions/"

func definitionURL(name string) string { return definitionScheme + url.PathEscape(name) }

// definitionName is the inverse of definitionURL.
func definitionName(address string) (string, bool) {
	escaped, ok := strings.CutPrefix(address, definitionScheme)
	if !ok {
		return "", false
	}
	name, err := url.PathUnescape(escaped)
	return name, err == nil
}

// words collects what the decoder should know of a prepared schema: member
// names, enum values, and how long a string may be before no keyword can tell it
// from a longer one. It returns -1 when any string may matter.
func words(schema any, known map[string]any) int {
	keep := 0
	note := func(n int) {
		if keep >= 0 {
			keep = max(keep, n)
		}
	}
	var value func(v any)
	value = func(v any) {
		switch v := v.(type) {
		case string:
			if len(known) < maxKnown {
				known[v] = v
			}
			note(len(v) + 1)
		case []any:
			for _, x := range v {
				value(x)
			}
		case map[string]any:
			for _, x := range v {
				value(x)
			}
		}
	}
	walkSchemas(schema, func(s map[string]any) {
		if props, ok := s["properties"].(map[string]any); ok {
			for name := range props {
				if len(known) < maxKnown {
					known[name] = name
				}
			}
		}
		value(s["enum"])
		value(s["const"])
		for _, k := range []string{"maxLength", "minLength"} {
			if n, ok := wholeNumber(s[k]); ok {
				// A character has up to four bytes.
				note(4 * (n + 1))
			} else if s[k] != nil {
				keep = -1
			}
		}
		if slices.ContainsFunc([]string{"pattern", "uniqueItems"}, func(k string) bool { return s[k] != nil }) {
			keep = -1
		}
	})
	return keep
}

// maxKnown bounds the names a decoder keeps.
const maxKnown = 20_000
