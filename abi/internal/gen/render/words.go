package render

import (
	"regexp"
	"strings"
)

var (
	docLink   = regexp.MustCompile(`\[([A-Z]\w*)\]`)
	upperWord = regexp.MustCompile(`\b[A-Z]\w*\b`)
	// Numbers of rules and scenarios mean nothing outside of this repository.
	ruleRef = regexp.MustCompile(` \((?:(?:rule )?[A-Z]?\d+[a-z]?|one axis|DESIGN §\d+)(?:, (?:[A-Z]?\d+|one axis))*\)`)
)

// words turns a Go comment into one for a reader who knows the wire only: names
// of constants become their values, names of fields and types those of members
// and kinds.
func (m *Model) words(s *Struct, doc string) string {
	doc = docLink.ReplaceAllStringFunc(doc, func(l string) string { return m.kindName(l[1 : len(l)-1]) })
	doc = ruleRef.ReplaceAllString(doc, "")
	for _, f := range s.Fields {
		// Within a table the member needs no name in front of its meaning.
		for _, verb := range []string{": ", " is ", " are "} {
			doc = strings.TrimPrefix(doc, f.Name+verb)
		}
	}
	if rest, ok := strings.CutPrefix(doc, s.Name+" "); ok {
		doc = m.kindName(s.Name) + " " + rest
	}
	doc = upperWord.ReplaceAllStringFunc(doc, func(w string) string {
		for _, e := range m.Enums {
			for _, v := range e.Values {
				if v.Name == w {
					return "`\"" + v.Value + "\"`"
				}
			}
		}
		for _, f := range s.Fields {
			if f.Name == w {
				return "`" + f.JSON + "`"
			}
		}
		return w
	})
	return doc
}

// kindName is the name a type has on the wire: that of its event or effect, or
// its own for one that is only part of others.
func (m *Model) kindName(name string) string {
	for _, top := range []string{"Event", "Effect"} {
		for _, f := range m.Struct(top).Fields {
			if f.Type.Name == name && f.Type.Pointer {
				return "`" + f.JSON + "`"
			}
		}
	}
	return name
}
