package schemas

// typeMask is a set of JSON types.
type typeMask uint8

const (
	maskNull typeMask = 1 << iota
	maskBool
	maskNumber
	maskString
	maskArray
	maskObject
	maskAll = maskNull | maskBool | maskNumber | maskString | maskArray | maskObject
)

var typeMasks = map[string]typeMask{
	"null": maskNull, "boolean": maskBool, "number": maskNumber, "integer": maskNumber,
	"string": maskString, "array": maskArray, "object": maskObject,
}

// maskOf is the type of a decoded value.
func maskOf(v any) typeMask {
	switch v.(type) {
	case nil:
		return maskNull
	case bool:
		return maskBool
	case string:
		return maskString
	case []any:
		return maskArray
	case map[string]any:
		return maskObject
	}
	return maskNumber
}

// facts are conditions that every value a schema accepts must meet. They are
// necessary, not sufficient: a value that fails them can be refused without
// looking at the schema, a value that meets them must still be checked.
type facts struct {
	types typeMask
	// strings are the accepted strings; nil: any.
	strings map[string]bool
	// required are members an object must have.
	required map[string]bool
	// tags are required members whose value must be one of a few strings.
	tags map[string]map[string]bool
}

// admits reports whether v meets the conditions.
func (f *facts) admits(v any) bool {
	if f.types&maskOf(v) == 0 {
		return false
	}
	switch v := v.(type) {
	case string:
		return f.strings == nil || f.strings[v]
	case map[string]any:
		for name := range f.required {
			if _, ok := v[name]; !ok {
				return false
			}
		}
		for name, values := range f.tags {
			if s, ok := v[name].(string); !ok || !values[s] {
				return false
			}
		}
	}
	return true
}

// maxFactDepth bounds how deep an analysis looks. Beyond it nothing is known,
// which is always right.
const maxFactDepth = 12

// analyst derives facts from schemas before they are rewritten.
type analyst struct {
	// resolve returns the definition a reference leads to, nil if there is none.
	resolve func(name string) any
	// siblings: keywords beside a $ref count (from draft 2019-09 on).
	siblings bool
}

func (a analyst) facts(schema any, depth int) facts {
	unknown := facts{types: maskAll}
	if depth > maxFactDepth {
		return unknown
	}
	if b, ok := schema.(bool); ok && !b {
		return facts{}
	}
	s, ok := schema.(map[string]any)
	if !ok {
		return unknown
	}
	f := unknown
	if ref, ok := s["$ref"].(string); ok {
		if target := a.resolve(ref); target != nil {
			f = a.facts(target, depth+1)
		}
		if !a.siblings {
			return f
		}
	}
	f.meet(ownFacts(s))
	props, _ := s["properties"].(map[string]any)
	for name := range f.required {
		if p, ok := props[name]; ok {
			if pf := a.facts(p, depth+1); pf.types == maskString && pf.strings != nil {
				f.meet(facts{types: maskAll, tags: map[string]map[string]bool{name: pf.strings}})
			}
		}
	}
	list, _ := s["allOf"].([]any)
	for _, sub := range list {
		f.meet(a.facts(sub, depth+1))
	}
	for _, k := range unionKeywords {
		list, _ := s[k].([]any)
		var union facts
		for i, sub := range list {
			sf := a.facts(sub, depth+1)
			if i == 0 {
				union = sf
			} else {
				union.join(sf)
			}
		}
		if len(list) > 0 {
			f.meet(union)
		}
	}
	return f
}

var unionKeywords = []string{"anyOf", "oneOf"}

// ownFacts reads type, const, enum and required.
func ownFacts(s map[string]any) facts {
	f := facts{types: maskAll}
	switch t := s["type"].(type) {
	case string:
		f.types = typeMasks[t]
	case []any:
		f.types = 0
		for _, x := range t {
			name, _ := x.(string)
			f.types |= typeMasks[name]
		}
	}
	values, isEnum := s["enum"].([]any)
	if c, ok := s["const"]; ok {
		f.meet(valueFacts([]any{c}))
	}
	if isEnum {
		f.meet(valueFacts(values))
	}
	req, _ := s["required"].([]any)
	for _, r := range req {
		if name, ok := r.(string); ok {
			if f.required == nil {
				f.required = map[string]bool{}
			}
			f.required[name] = true
		}
	}
	return f
}

func valueFacts(values []any) facts {
	f := facts{strings: map[string]bool{}}
	for _, v := range values {
		f.types |= maskOf(v)
		if s, ok := v.(string); ok {
			f.strings[s] = true
		}
	}
	return f
}

// meet adds the conditions of o: a value must meet both.
func (f *facts) meet(o facts) {
	f.types &= o.types
	f.strings = intersect(f.strings, o.strings)
	required := map[string]bool{}
	for _, m := range []map[string]bool{f.required, o.required} {
		for name := range m {
			required[name] = true
		}
	}
	f.required = required
	tags := map[string]map[string]bool{}
	for name, values := range f.tags {
		tags[name] = values
	}
	for name, values := range o.tags {
		tags[name] = intersect(tags[name], values)
	}
	f.tags = tags
}

// join weakens the conditions: a value must meet f or o.
func (f *facts) join(o facts) {
	switch {
	case o.types&maskString == 0:
	case f.types&maskString == 0:
		f.strings = o.strings
	case f.strings == nil || o.strings == nil:
		f.strings = nil
	default:
		f.strings = unite(f.strings, o.strings)
	}
	switch {
	case o.types&maskObject == 0:
	case f.types&maskObject == 0:
		f.required, f.tags = o.required, o.tags
	default:
		required := map[string]bool{}
		for name := range f.required {
			if o.required[name] {
				required[name] = true
			}
		}
		tags := map[string]map[string]bool{}
		for name, values := range f.tags {
			if others, ok := o.tags[name]; ok {
				tags[name] = unite(values, others)
			}
		}
		f.required, f.tags = required, tags
	}
	f.types |= o.types
}

// intersect treats nil as "all strings".
func intersect(a, b map[string]bool) map[string]bool {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	both := map[string]bool{}
	for s := range a {
		if b[s] {
			both[s] = true
		}
	}
	return both
}

func unite(a, b map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string]bool{a, b} {
		for s := range m {
			all[s] = true
		}
	}
	return all
}

// discriminator picks the member that tells most branches apart, "" if none
// does. The choice is by count and then by name, the same in every run.
func discriminator(branches []facts) string {
	count := map[string]int{}
	for _, b := range branches {
		if b.types&maskObject == 0 {
			continue
		}
		for name := range b.tags {
			count[name]++
		}
	}
	best := ""
	for _, name := range sortedKeys(count) {
		if best == "" || count[name] > count[best] {
			best = name
		}
	}
	return best
}
