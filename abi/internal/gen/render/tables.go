package render

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A table stands between these lines and is replaced whole:
//
//	<!-- fields Call -->
//	<!-- end -->
var (
	marker = regexp.MustCompile(`(?m)^<!-- (fields|values) (\w+) -->\n`)
	end    = "<!-- end -->\n"
)

// tables fills the tables of doc. Every struct and every string type must have
// exactly one.
func tables(m *Model, doc []byte) ([]byte, error) {
	var out bytes.Buffer
	var seen []string
	for {
		loc := marker.FindSubmatchIndex(doc)
		if loc == nil {
			break
		}
		what, name := string(doc[loc[2]:loc[3]]), string(doc[loc[4]:loc[5]])
		stop := bytes.Index(doc[loc[1]:], []byte(end))
		if next := marker.FindIndex(doc[loc[1]:]); stop < 0 || next != nil && next[0] < stop {
			return nil, fmt.Errorf("table %s %s has no end line", what, name)
		}
		if slices.Contains(seen, name) {
			return nil, fmt.Errorf("table %s is there twice", name)
		}
		seen = append(seen, name)
		out.Write(doc[:loc[1]])
		doc = doc[loc[1]+stop:]
		s, e := m.Struct(name), m.Enum(name)
		switch {
		case what == "fields" && s != nil:
			fieldTable(&out, m, s)
		case what == "values" && e != nil:
			valueTable(&out, m, e)
		default:
			return nil, fmt.Errorf("table %s %s: there is no such type", what, name)
		}
	}
	out.Write(doc)
	for _, s := range m.Structs {
		if !slices.Contains(seen, s.Name) {
			return nil, fmt.Errorf("there is no table for %s; add <!-- fields %[1]s --> and <!-- end -->", s.Name)
		}
	}
	for _, e := range m.Enums {
		if !slices.Contains(seen, e.Name) {
			return nil, fmt.Errorf("there is no table for %s; add <!-- values %[1]s --> and <!-- end -->", e.Name)
		}
	}
	return out.Bytes(), nil
}

func fieldTable(b *bytes.Buffer, m *Model, s *Struct) {
	fmt.Fprintf(b, "\n%s\n\n", cell(sentence(m.words(s, s.Doc))))
	if len(s.Fields) == 0 {
		b.WriteString("It has no members.\n\n")
		return
	}
	b.WriteString("| member | type | | meaning |\n|---|---|---|---|\n")
	for _, f := range s.Fields {
		need := "always"
		if f.OmitEmpty {
			need = ""
		}
		doc := m.words(s, f.Doc)
		if doc == "" {
			doc = m.typeDoc(f.Type)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.JSON, typeText(m, f.Type), need, cell(doc))
	}
	b.WriteString("\n")
}

func valueTable(b *bytes.Buffer, m *Model, e *Enum) {
	doc := m.words(&Struct{}, e.Doc)
	if !slices.ContainsFunc(e.Values, func(v Value) bool { return v.Doc != "" }) {
		all := make([]string, len(e.Values))
		for i, v := range e.Values {
			all[i] = "`\"" + v.Value + "\"`"
		}
		fmt.Fprintf(b, "\n%s Values: %s.\n\n", doc, strings.Join(all, ", "))
		return
	}
	fmt.Fprintf(b, "\n%s\n\n| value | meaning |\n|---|---|\n", doc)
	for _, v := range e.Values {
		doc := v.Doc
		for _, verb := range []string{": ", " is ", ""} {
			doc = strings.TrimPrefix(doc, v.Name+verb)
		}
		fmt.Fprintf(b, "| `\"%s\"` | %s |\n", v.Value, cell(strings.TrimSpace(m.words(&Struct{}, strings.TrimSpace(doc)))))
	}
	b.WriteString("\n")
}

// typeDoc says what a type is, for members that need no words of their own.
func (m *Model) typeDoc(t Type) string {
	switch t.Kind {
	case Object:
		s := m.Struct(t.Name)
		return strings.TrimPrefix(firstSentence(m.words(s, s.Doc)), m.kindName(t.Name)+" is ")
	case Enumerated:
		return strings.TrimPrefix(firstSentence(m.words(&Struct{}, m.Enum(t.Name).Doc)), t.Name+" is ")
	}
	return ""
}

func sentence(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// cell makes text safe inside of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func typeText(m *Model, t Type) string {
	text := map[Kind]string{String: "string", Int: "integer", Bool: "boolean", Raw: "JSON"}[t.Kind]
	if t.Kind == Enumerated || t.Kind == Object {
		text = t.Name
	}
	if t.Slice {
		return "array of " + text
	}
	return text
}
