package schemas

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// annotations are keywords that no check and no comparison looks at. "title" is
// among them because generators put the name of a type there and change it
// freely.
var annotations = []string{
	"$comment", "$id", "$schema", "deprecated", "description", "discriminator", "example", "examples", "readOnly", "title",
	"writeOnly", "x-docs-ignore", "x-method", "x-side",
}

// normaliseSchema brings one decoded schema into normal form and returns it:
//
//   - annotations are removed;
//   - {"allOf":[X]} with nothing beside it becomes X;
//   - an anyOf or oneOf whose branches are all plain string enums or constants
//     becomes one enum (generators split an enum when its values have descriptions
//     of their own);
//   - rename is applied to every reference.
//
// None of it changes what the schema accepts.
func normaliseSchema(v any, rename func(ref string) string) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for _, k := range annotations {
		delete(s, k)
	}
	if ref, ok := s["$ref"].(string); ok {
		s["$ref"] = rename(ref)
	}
	subschemas(s, func(_, _ string, sub any) any { return normaliseSchema(sub, rename) })
	if list, ok := s["allOf"].([]any); ok && len(list) == 1 {
		if only, ok := list[0].(map[string]any); ok && len(withoutDefault(s)) == 1 && len(only) == 1 && only["$ref"] != nil {
			delete(s, "allOf")
			s["$ref"] = only["$ref"]
			// Draft 7 ignores what stands beside a reference.
			delete(s, "default")
		}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if values, ok := enumOfBranches(s[k]); ok && len(s) == 1 {
			delete(s, k)
			s["type"], s["enum"] = "string", values
		}
	}
	return s
}

func withoutDefault(s map[string]any) map[string]any {
	if _, ok := s["default"]; !ok {
		return s
	}
	s = maps.Clone(s)
	delete(s, "default")
	return s
}

// enumOfBranches joins the values of branches that are all {"type":"string",
// "enum":[…]} or {"type":"string","const":…}. A value in two branches is no case for it: under oneOf it would
// be refused.
func enumOfBranches(v any) ([]any, bool) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, false
	}
	var values []any
	for _, b := range list {
		s, _ := b.(map[string]any)
		enum, ok := s["enum"].([]any)
		if c, isConst := s["const"].(string); isConst && !ok {
			enum, ok = []any{c}, true
		}
		if !ok || s["type"] != "string" || len(s) != 2 {
			return nil, false
		}
		for _, e := range enum {
			if slices.Contains(values, e) {
				return nil, false
			}
			values = append(values, e)
		}
	}
	return values, true
}

// mergeDefinitions puts the definitions of several name spaces into one. Two
// definitions of the same name must be the same schema; where they are not, the
// one of the earlier space gets the space's name in front.
type definitionSpace struct {
	// prefix is what references to this space begin with.
	prefix string
	// label goes in front of a name that clashes.
	label string
	defs  map[string]any
}

// mergeDefinitions normalises and joins the spaces, the last one winning a name,
// and returns the definitions with the function that renames references.
func mergeDefinitions(spaces []definitionSpace) (map[string]any, func(string) string) {
	// Compare in a form in which references do not tell the space.
	bare := func(ref string) string { return refPrefix + ref[strings.LastIndexByte(ref, '/')+1:] }
	forms := make([]map[string]any, len(spaces))
	for i, sp := range spaces {
		forms[i] = map[string]any{}
		for name, s := range sp.defs {
			forms[i][name] = normaliseSchema(cloneJSON(s), bare)
		}
	}
	target := map[string]string{} // full reference → new name
	for i, sp := range spaces {
		for name := range sp.defs {
			target[sp.prefix+name] = name
			for _, later := range forms[i+1:] {
				if other, ok := later[name]; ok && !reflect.DeepEqual(forms[i][name], other) {
					target[sp.prefix+name] = sp.label + name
				}
			}
		}
	}
	rename := func(ref string) string {
		if name, ok := target[ref]; ok {
			return refPrefix + name
		}
		return ref
	}
	merged := map[string]any{}
	for _, sp := range spaces {
		for name, s := range sp.defs {
			merged[target[sp.prefix+name]] = normaliseSchema(cloneJSON(s), rename)
		}
	}
	return merged, rename
}

// cloneJSON copies a decoded JSON value.
func cloneJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, x := range v {
			c[k] = cloneJSON(x)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, x := range v {
			c[i] = cloneJSON(x)
		}
		return c
	}
	return v
}

// encodeAll writes every schema as JSON with sorted keys.
func encodeAll(defs map[string]any) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(defs))
	for name, s := range defs {
		b, err := encodePlain(s)
		if err != nil {
			return nil, err
		}
		out[name] = b
	}
	return out, nil
}
