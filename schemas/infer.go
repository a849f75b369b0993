package schemas

import (
	"encoding/json"
	"regexp"
	"slices"
)

// sampled is what was seen at one place of a payload. It becomes a schema that
// accepts everything seen and everything like it: a few recordings show what may
// come, not what must.
type sampled struct {
	types typeMask
	// members of objects whose names are part of the protocol; values those of
	// maps, whose keys are data.
	members map[string]*sampled
	values  *sampled
	items   *sampled
	// words are the strings seen, kept where they tell forms apart.
	words map[string]bool
	// forms are the objects by the value of the member on, which tells them apart.
	forms map[string]*sampled
	on    string
}

// inference says which members mean more than their type.
type inference struct {
	// forms are members that tell the forms of their object apart, such as
	// sessionUpdate.
	forms []string
	// values are members with a fixed set of words, of which the recordings show
	// some.
	values []string
}

// memberName is a name of a protocol; anything else as a key, such as the text of
// a question or the name of a model, is data.
var memberName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_]*$`)

// metaMember holds what anyone may add; its content is nobody's schema.
const metaMember = "_meta"

// add takes one more value into account.
func (s *sampled) add(v any, inf inference) {
	s.types |= maskOf(v)
	switch v := v.(type) {
	case string:
		if s.words == nil {
			s.words = map[string]bool{}
		}
		s.words[v] = true
	case []any:
		for _, x := range v {
			if s.items == nil {
				s.items = &sampled{}
			}
			s.items.add(x, inf)
		}
	case map[string]any:
		s.addObject(v, inf)
	}
}

func (s *sampled) addObject(o map[string]any, inf inference) {
	for _, name := range inf.forms {
		form, ok := o[name].(string)
		if !ok || s.on != "" && s.on != name {
			continue
		}
		if s.forms == nil {
			s.forms, s.on = map[string]*sampled{}, name
		}
		if s.forms[form] == nil {
			s.forms[form] = &sampled{}
		}
		s.forms[form].addMembers(o, inf)
		return
	}
	s.addMembers(o, inf)
}

func (s *sampled) addMembers(o map[string]any, inf inference) {
	s.types |= maskObject
	isMap := s.values != nil
	for name := range o {
		isMap = isMap || !memberName.MatchString(name)
	}
	if isMap {
		if s.values == nil {
			s.values = &sampled{}
		}
		// What was taken for a member of earlier samples is a key too.
		for _, name := range sortedKeys(s.members) {
			s.values.merge(s.members[name])
		}
		s.members = nil
		for _, name := range sortedKeys(o) {
			s.values.add(o[name], inf)
		}
		return
	}
	for _, name := range sortedKeys(o) {
		if s.members == nil {
			s.members = map[string]*sampled{}
		}
		if s.members[name] == nil {
			s.members[name] = &sampled{}
		}
		if name == metaMember {
			s.members[name].types |= maskOf(o[name])
			continue
		}
		s.members[name].add(o[name], inf)
	}
}

// merge takes everything o saw into account.
func (s *sampled) merge(o *sampled) {
	if o == nil {
		return
	}
	s.types |= o.types
	if s.on == "" {
		s.on = o.on
	}
	for _, m := range []struct{ to, from *map[string]*sampled }{{&s.members, &o.members}, {&s.forms, &o.forms}} {
		for _, name := range sortedKeys(*m.from) {
			if *m.to == nil {
				*m.to = map[string]*sampled{}
			}
			if (*m.to)[name] == nil {
				(*m.to)[name] = &sampled{}
			}
			(*m.to)[name].merge((*m.from)[name])
		}
	}
	for _, m := range []struct{ to, from **sampled }{{&s.values, &o.values}, {&s.items, &o.items}} {
		if *m.from != nil {
			if *m.to == nil {
				*m.to = &sampled{}
			}
			(*m.to).merge(*m.from)
		}
	}
	for w := range o.words {
		if s.words == nil {
			s.words = map[string]bool{}
		}
		s.words[w] = true
	}
}

// schema is the schema of the place. name is that of the member it is of.
func (s *sampled) schema(name string, inf inference) map[string]any {
	switch {
	case s == nil || s.types&^maskNull == 0:
		// Nothing or null was seen: anything may come.
		return map[string]any{}
	case slices.Contains(inf.values, name) && s.types&^maskNull == maskString:
		// Further words than those seen may come; the list is for the names.
		return map[string]any{"anyOf": []any{
			map[string]any{"enum": anyStrings(sortedKeys(s.words))}, map[string]any{"type": []any{"string", "null"}},
		}}
	case len(s.forms) > 0:
		return s.union(inf)
	}
	out := map[string]any{"type": s.typeNames()}
	if s.types&maskArray != 0 && s.items != nil {
		out["items"] = s.items.schema("", inf)
	}
	if s.values != nil {
		out["additionalProperties"] = s.values.schema("", inf)
	}
	if len(s.members) > 0 {
		props := map[string]any{}
		for _, m := range sortedKeys(s.members) {
			props[m] = s.members[m].schema(m, inf)
		}
		out["properties"] = props
	}
	return out
}

// union is the schema of an object that comes in forms. A form that was not seen
// is accepted whatever it holds.
func (s *sampled) union(inf inference) map[string]any {
	on := s.on
	var branches []any
	for _, word := range sortedKeys(s.forms) {
		b := s.forms[word].schema("", inf)
		props, _ := b["properties"].(map[string]any)
		props[on] = map[string]any{"const": word}
		b["type"], b["required"] = "object", []any{on}
		branches = append(branches, b)
	}
	known := map[string]any{"type": "object", "properties": map[string]any{on: map[string]any{"enum": anyStrings(sortedKeys(s.forms))}}, "required": []any{on}}
	branches = append(branches, map[string]any{
		"type": "object", "properties": map[string]any{on: map[string]any{"type": "string"}}, "required": []any{on}, "not": known,
	})
	if rest := s.types &^ maskObject; rest != 0 {
		branches = append(branches, map[string]any{"type": (&sampled{types: rest}).typeNames()})
	}
	return map[string]any{"anyOf": branches}
}

// typeNames lists the types seen, null always among them.
func (s *sampled) typeNames() []any {
	var names []any
	for _, t := range []string{"null", "boolean", "number", "string", "array", "object"} {
		if (s.types|maskNull)&typeMasks[t] != 0 {
			names = append(names, t)
		}
	}
	return names
}

func anyStrings(list []string) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

// payload is the schema of a whole payload: what was only ever an object must be
// one.
func (s *sampled) payload(inf inference) (json.RawMessage, error) {
	out := s.schema("", inf)
	if s.types == maskObject && len(s.forms) == 0 {
		out["type"] = "object"
	}
	return encodePlain(out)
}
