package schemas

import (
	"reflect"
	"slices"
)

// Bounds on inlining, per schema handed to jsonschema.
const (
	// maxInlineDepth is how many references deep it goes.
	maxInlineDepth = 5
	// maxInlineNodes is how many schemas it may add. More makes compiling slower and
	// no frame faster that there are many of.
	maxInlineNodes = 200
)

// flattener rewrites a prepared schema so that a check visits fewer schemas:
// jsonschema builds a set of all members of an object at every schema it applies
// to it, and ACP describes a chunk of text with eleven. The verdict is the same:
//
//   - a reference that stands alone becomes what it leads to;
//   - a branch of allOf that only has a type, members and required ones is merged
//     into the schema that holds it;
//   - a member of which nothing is asked is dropped.
//
// The last two would change what unevaluatedProperties means, so a schema set
// that uses it is left as it is.
type flattener struct {
	// definition returns what a reference leads to, nil if there is nothing.
	definition func(address string) any
	// left and depth are held to the bounds above.
	left, depth int
}

func (f *flattener) schema(v any) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if target := f.target(s); target != nil {
		f.depth++
		flat := f.schema(target)
		f.depth--
		return flat
	}
	subschemas(s, func(_, _ string, sub any) any { return f.schema(sub) })
	if s["additionalProperties"] == true {
		delete(s, "additionalProperties")
	}
	mergeAllOf(s)
	dropFree(s)
	return s
}

// target returns a copy of what a lone reference leads to, nil where it is to be
// kept.
func (f *flattener) target(s map[string]any) any {
	address, ok := s["$ref"].(string)
	if !ok || len(s) != 1 || f.depth >= maxInlineDepth {
		return nil
	}
	def := f.definition(address)
	size := 0
	walkSchemas(def, func(map[string]any) { size++ })
	if size > f.left {
		return nil
	}
	f.left -= size
	return cloneJSON(def)
}

// mergeable are the keywords that mean the same inside and outside of allOf.
var mergeable = []string{"properties", "required", "type"}

// mergeAllOf moves branches of allOf into s where that is the same.
func mergeAllOf(s map[string]any) {
	list := anyList(s["allOf"])
	if _, closed := s["additionalProperties"]; closed || len(list) == 0 || s["$ref"] != nil {
		return
	}
	var kept []any
	for _, b := range list {
		if branch, ok := b.(map[string]any); !ok || !mergeBranch(s, branch) {
			kept = append(kept, b)
		}
	}
	if len(kept) == 0 {
		delete(s, "allOf")
	} else {
		s["allOf"] = kept
	}
}

func mergeBranch(s, branch map[string]any) bool {
	for k := range branch {
		if !slices.Contains(mergeable, k) {
			return false
		}
	}
	if t, ok := branch["type"]; ok && s["type"] != nil && !reflect.DeepEqual(t, s["type"]) {
		return false
	}
	own, _ := s["properties"].(map[string]any)
	more, _ := branch["properties"].(map[string]any)
	for name := range more {
		if _, twice := own[name]; twice {
			return false
		}
	}
	if t, ok := branch["type"]; ok {
		s["type"] = t
	}
	if len(more) > 0 {
		if own == nil {
			own = map[string]any{}
			s["properties"] = own
		}
		for name, p := range more {
			own[name] = p
		}
	}
	for _, r := range anyList(branch["required"]) {
		required := anyList(s["required"])
		if !slices.Contains(required, r) {
			s["required"] = append(slices.Clip(required), r)
		}
	}
	return true
}

// dropFree drops the members of which nothing is asked, unless naming them keeps
// them from being additional ones.
func dropFree(s map[string]any) {
	props, ok := s["properties"].(map[string]any)
	if _, additional := s["additionalProperties"]; !ok || additional {
		return
	}
	for name, p := range props {
		if m, isSchema := p.(map[string]any); p == true || isSchema && len(m) == 0 {
			delete(props, name)
		}
	}
	if len(props) == 0 {
		delete(s, "properties")
	}
}

// evaluates reports whether a schema uses unevaluatedProperties or
// unevaluatedItems.
func evaluates(v any) bool {
	found := false
	walkSchemas(v, func(s map[string]any) {
		for _, k := range []string{"unevaluatedItems", "unevaluatedProperties"} {
			if _, ok := s[k]; ok {
				found = true
			}
		}
	})
	return found
}
