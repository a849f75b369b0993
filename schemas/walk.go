package schemas

import (
	"slices"
	"strconv"
)

// refPrefix begins every reference inside a bundle.
const refPrefix = "#/definitions/"

// The keywords that hold schemas, by the shape of their value. What is not named
// here is data (enum, const, default, …) in which a member called "$ref" or
// "title" means nothing.
var (
	schemaKeywords = []string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items",
		"not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
	}
	schemaListKeywords = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	schemaMapKeywords  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// subschemas calls fn for every schema directly inside s, in a fixed order, with
// the keyword and the key or index that lead to it. What fn returns takes its
// place.
func subschemas(s map[string]any, fn func(keyword, key string, sub any) any) {
	for _, k := range schemaKeywords {
		if v, ok := s[k]; ok {
			if _, list := v.([]any); !list {
				s[k] = fn(k, "", v)
			}
		}
	}
	for _, k := range schemaListKeywords {
		list, _ := s[k].([]any)
		for i, v := range list {
			list[i] = fn(k, strconv.Itoa(i), v)
		}
	}
	for _, k := range schemaMapKeywords {
		m, _ := s[k].(map[string]any)
		for _, name := range sortedKeys(m) {
			m[name] = fn(k, name, m[name])
		}
	}
}

// walkSchemas calls fn for v and every schema inside it, outer ones first.
func walkSchemas(v any, fn func(s map[string]any)) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	fn(s)
	subschemas(s, func(_, _ string, sub any) any {
		walkSchemas(sub, fn)
		return sub
	})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
