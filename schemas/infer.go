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
	// forms are the objects that a member tells apart: by its name, then its value.
	// plain: objects without such a member were seen too.
	forms map[string]map[string]*sampled
	plain bool
	// deep: it lies too deep to be looked at.
	deep bool
}

// inference says which members mean more than their type.
type inference struct {
	// forms are members that tell the forms of their object apart, such as
	// sessionUpdate.
	forms []string
	// values are members with a fixed set of words, of which the recordings show
	// some.
	values []string
	// depth is how deep in the payload the inference is.
	depth int
}

// maxInferDepth bounds how deep it looks; below, anything is accepted.
const maxInferDepth = 16

// memberName is a name of a protocol; anything else as a key, such as the text of
// a question or the name of a model, is data.
var memberName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_]*$`)

// metaMember holds what anyone may add; its content is nobody's schema.
const metaMember = "_meta"

// add takes one more value into account.
func (s *sampled) add(v any, inf inference) {
	if inf.depth++; inf.depth > maxInferDepth {
		s.deep = true
		return
	}
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
	for _, on := range inf.forms {
		if word, ok := o[on].(string); ok {
			s.form(on, word).addMembers(o, inf)
			return
		}
	}
	s.plain = true
	s.addMembers(o, inf)
}

// form returns what was seen of one form.
func (s *sampled) form(on, word string) *sampled {
	if s.forms == nil {
		s.forms = map[string]map[string]*sampled{}
	}
	if s.forms[on] == nil {
		s.forms[on] = map[string]*sampled{}
	}
	if s.forms[on][word] == nil {
		s.forms[on][word] = &sampled{}
	}
	return s.forms[on][word]
}

func (s *sampled) addMembers(o map[string]any, inf inference) {
	s.types |= maskObject
	for name := range o {
		if !memberName.MatchString(name) && s.values == nil {
			s.values = &sampled{}
		}
	}
	for _, name := range sortedKeys(o) {
		if s.members == nil {
			s.members = map[string]*sampled{}
		}
		if s.members[name] == nil {
			s.members[name] = &sampled{}
		}
		s.members[name].addMember(name, o[name], inf)
	}
	s.settle()
}

func (s *sampled) addMember(name string, v any, inf inference) {
	if name == metaMember {
		s.types |= maskOf(v)
		return
	}
	s.add(v, inf)
}

// merge takes everything o saw into account.
func (s *sampled) merge(o *sampled) {
	if o == nil {
		return
	}
	s.types |= o.types
	s.plain, s.deep = s.plain || o.plain, s.deep || o.deep
	for name, m := range o.members {
		if s.members == nil {
			s.members = map[string]*sampled{}
		}
		s.members[name] = merged(s.members[name], m)
	}
	for on, forms := range o.forms {
		for word, f := range forms {
			s.form(on, word).merge(f)
		}
	}
	s.values, s.items = merged(s.values, o.values), merged(s.items, o.items)
	for w := range o.words {
		if s.words == nil {
			s.words = map[string]bool{}
		}
		s.words[w] = true
	}
	s.settle()
}

func merged(s, o *sampled) *sampled {
	if o == nil {
		return s
	}
	if s == nil {
		s = &sampled{}
	}
	s.merge(o)
	return s
}

// settle turns members into keys where the object is a map: what was taken for a
// member of earlier samples is a key too.
func (s *sampled) settle() {
	if s.values == nil {
		return
	}
	for _, name := range sortedKeys(s.members) {
		if name != metaMember {
			s.values.merge(s.members[name])
			delete(s.members, name)
		}
	}
}

// schema is the schema of the place. name is that of the member it is of.
func (s *sampled) schema(name string, inf inference) map[string]any {
	switch {
	case s == nil || s.deep || s.types&^maskNull == 0:
		// Nothing or null was seen, or not looked at: anything may come.
		return map[string]any{}
	case slices.Contains(inf.values, name) && s.types&^maskNull == maskString:
		// Further words than those seen may come; the list is for the names.
		return map[string]any{"anyOf": []any{
			map[string]any{"enum": anyStrings(sortedKeys(s.words))}, map[string]any{"type": []any{"string", "null"}},
		}}
	case len(s.forms) > 0:
		return s.union(inf)
	}
	return s.own(inf)
}

// own is the schema of everything but the forms.
func (s *sampled) own(inf inference) map[string]any {
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
	var branches, told []any
	for _, on := range sortedKeys(s.forms) {
		words := sortedKeys(s.forms[on])
		for _, word := range words {
			b := s.forms[on][word].own(inf)
			props, _ := b["properties"].(map[string]any)
			if props == nil {
				props = map[string]any{}
				b["properties"] = props
			}
			props[on] = map[string]any{"const": word}
			b["type"], b["required"] = "object", []any{on}
			branches = append(branches, b)
		}
		unseen := tagged(on, map[string]any{"type": "string"})
		unseen["not"] = tagged(on, map[string]any{"enum": anyStrings(words)})
		branches = append(branches, unseen)
		told = append(told, tagged(on, map[string]any{"type": "string"}))
	}
	// Everything else that was seen at this place.
	if rest := (&sampled{types: s.types, members: s.members, values: s.values, items: s.items}); s.plain {
		b := rest.own(inf)
		b["not"] = map[string]any{"anyOf": told}
		branches = append(branches, b)
	} else if rest.types &^= maskObject; rest.types != 0 {
		branches = append(branches, rest.own(inf))
	}
	return map[string]any{"anyOf": branches}
}

// tagged is the schema of an object with a member of a schema.
func tagged(on string, member any) map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{on: member}, "required": []any{on}}
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
