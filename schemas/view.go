package schemas

import (
	"encoding/json"
	"slices"
	"strings"
)

// view is a schema as a comparison sees it: references followed, a union with
// null folded into the types, string values in one set.
type view struct {
	types    map[string]bool
	values   map[string]bool
	props    map[string]any
	required map[string]bool
	// items is the schema of elements, members that of members not in props.
	items, members any
	// forms are the branches of a union by label.
	forms map[string]any
	// limits are further constraints as text.
	limits map[string]string
}

// limitKeywords are compared as text.
var limitKeywords = []string{
	"exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum",
	"multipleOf", "pattern", "uniqueItems",
}

// viewer builds views of the schemas of one bundle.
type viewer struct {
	bundle  *Bundle
	decoded map[string]any
}

func newViewer(b *Bundle) *viewer { return &viewer{bundle: b, decoded: map[string]any{}} }

// definition decodes a definition once.
func (w *viewer) definition(name string) any {
	v, ok := w.decoded[name]
	if !ok {
		v = decodeSchema(w.bundle.Definitions[name])
		w.decoded[name] = v
	}
	return v
}

func decodeSchema(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// referred is the name of the definition that v is a reference to, looking
// through a union with null; "" if it is none.
func (w *viewer) referred(v any) string {
	s, _ := v.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		return strings.TrimPrefix(ref, refPrefix)
	}
	for _, k := range unionKeywords {
		if rest := notNull(anyList(s[k])); len(rest) == 1 && len(anyList(s[k])) == 2 {
			return w.referred(rest[0])
		}
	}
	return ""
}

func notNull(list []any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		s, _ := v.(map[string]any)
		return s["type"] == "null"
	})
}

// maxViewDepth bounds the references followed for one view.
const maxViewDepth = 32

func (w *viewer) view(v any) *view {
	out := &view{
		types: map[string]bool{}, values: map[string]bool{}, props: map[string]any{}, required: map[string]bool{},
		forms: map[string]any{}, limits: map[string]string{},
	}
	w.add(out, v, 0)
	return out
}

func (w *viewer) add(out *view, v any, depth int) {
	s, ok := v.(map[string]any)
	if !ok || depth > maxViewDepth {
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		w.add(out, w.definition(strings.TrimPrefix(ref, refPrefix)), depth+1)
	}
	switch t := s["type"].(type) {
	case string:
		out.types[t] = true
	case []any:
		for _, x := range t {
			name, _ := x.(string)
			out.types[name] = true
		}
	}
	values := anyList(s["enum"])
	if c, ok := s["const"]; ok {
		values = append(values, c)
	}
	for _, x := range values {
		text, _ := encodePlain(x)
		out.values[string(text)] = true
	}
	props, _ := s["properties"].(map[string]any)
	for name, p := range props {
		out.props[name] = p
	}
	for _, r := range anyList(s["required"]) {
		name, _ := r.(string)
		out.required[name] = true
	}
	if s["items"] != nil {
		out.items = s["items"]
	}
	if m, ok := s["additionalProperties"].(map[string]any); ok {
		out.members = m
	}
	for _, k := range limitKeywords {
		if x, ok := s[k]; ok {
			text, _ := encodePlain(x)
			out.limits[k] = string(text)
		}
	}
	for _, sub := range anyList(s["allOf"]) {
		w.add(out, sub, depth+1)
	}
	for _, k := range unionKeywords {
		list := anyList(s[k])
		rest := notNull(list)
		if len(rest) < len(list) {
			out.types["null"] = true
		}
		for i, sub := range rest {
			form := w.view(sub)
			if len(rest) == 1 || len(form.props) == 0 && len(form.forms) == 0 && form.items == nil && form.members == nil {
				w.add(out, sub, depth+1)
				continue
			}
			out.forms[w.label(sub, form, i)] = sub
			if s["type"] == nil {
				for t := range form.types {
					out.types[t] = true
				}
			}
		}
	}
}

// label names a branch of a union by what tells it apart: a member with one
// value, its only required member, or the definition it refers to.
func (w *viewer) label(sub any, form *view, i int) string {
	for _, name := range sortedKeys(form.required) {
		if p := w.view(form.props[name]); len(p.values) == 1 {
			for v := range p.values {
				return name + "=" + strings.Trim(v, `"`)
			}
		}
	}
	if ref := w.referred(sub); ref != "" {
		return ref
	}
	if names := sortedKeys(form.required); len(names) > 0 {
		return strings.Join(names, "+")
	}
	if names := sortedKeys(form.types); len(names) > 0 {
		return strings.Join(names, "|")
	}
	return "#" + string(rune('0'+i%10))
}

// inForms reports whether any form has a member.
func (w *viewer) inForms(v *view, name string) bool {
	for _, label := range sortedKeys(v.forms) {
		if _, ok := w.view(v.forms[label]).props[name]; ok {
			return true
		}
	}
	return false
}
