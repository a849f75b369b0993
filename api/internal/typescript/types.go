// Package typescript writes TypeScript types from the OpenAPI document of the
// HTTP API. It knows the part of JSON Schema that package openapi writes, and
// refuses the rest.
package typescript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type document struct {
	Paths      ordered[ordered[operation]] `json:"paths"`
	Components struct {
		Schemas ordered[schema] `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	ID         string `json:"operationId"`
	Summary    string `json:"summary"`
	Parameters []struct {
		Name     string `json:"name"`
		In       string `json:"in"`
		Required bool   `json:"required"`
		Schema   schema `json:"schema"`
	} `json:"parameters"`
	Body *struct {
		Required bool            `json:"required"`
		Content  ordered[holder] `json:"content"`
	} `json:"requestBody"`
	Responses ordered[struct {
		Content ordered[holder] `json:"content"`
	}] `json:"responses"`
}

type holder struct {
	Schema schema `json:"schema"`
}

type schema struct {
	Ref         string          `json:"$ref"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Type        string          `json:"type"`
	Enum        []string        `json:"enum"`
	Const       *string         `json:"const"`
	Items       *schema         `json:"items"`
	OneOf       []schema        `json:"oneOf"`
	AnyOf       []schema        `json:"anyOf"`
	Required    []string        `json:"required"`
	Properties  ordered[schema] `json:"properties"`
	Additional  json.RawMessage `json:"additionalProperties"`
	// These say more than TypeScript can.
	Format    string          `json:"format"`
	Encoding  string          `json:"contentEncoding"`
	Minimum   json.RawMessage `json:"minimum"`
	MinLength json.RawMessage `json:"minLength"`
	MaxLength json.RawMessage `json:"maxLength"`
	Pattern   json.RawMessage `json:"pattern"`
}

// UnmarshalJSON refuses members that are not known: what they mean would be lost.
func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode((*plain)(s))
}

// ordered is a JSON object with its members in the order of the text.
type ordered[T any] struct {
	keys   []string
	values map[string]T
}

func (o *ordered[T]) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	o.values = map[string]T{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return err
		}
		var v T
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("%v: %w", k, err)
		}
		key := k.(string)
		o.keys = append(o.keys, key)
		o.values[key] = v
	}
	return nil
}

const head = `// Code generated from openapi.json by "go generate ./api"; DO NOT EDIT.

`

// Types returns the declarations: one for each schema, and Operations with the
// method, path, parameters, body and result of each operation.
func Types(openapi []byte) ([]byte, error) {
	var doc document
	if err := json.Unmarshal(openapi, &doc); err != nil {
		return nil, fmt.Errorf("the OpenAPI document: %w", err)
	}
	w := &writer{}
	w.line(0, "%s", strings.TrimSuffix(head, "\n"))
	for _, name := range doc.Components.Schemas.keys {
		s := doc.Components.Schemas.values[name]
		w.comment(0, s.Description)
		if s.Type == "object" && len(s.Additional) == 0 || string(s.Additional) == "false" {
			w.line(0, "export interface %s %s", name, w.typeOf(&s, 0))
		} else {
			w.line(0, "export type %s = %s;", name, w.typeOf(&s, 0))
		}
		w.line(0, "")
	}
	w.operations(&doc)
	return w.b.Bytes(), w.err
}

type writer struct {
	b   bytes.Buffer
	err error
}

func (w *writer) line(depth int, format string, args ...any) {
	text := strings.Repeat("  ", depth) + fmt.Sprintf(format, args...)
	w.b.WriteString(strings.TrimRight(text, " ") + "\n")
}

func (w *writer) comment(depth int, text string) {
	w.b.WriteString(comment(depth, text))
}

// comment is a documentation comment; text cannot end it early.
func comment(depth int, text string) string {
	if text == "" {
		return ""
	}
	indent := strings.Repeat("  ", depth)
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for l := range strings.SplitSeq(strings.ReplaceAll(text, "*/", "*\\/"), "\n") {
		b.WriteString(strings.TrimRight(indent+" * "+l, " ") + "\n")
	}
	b.WriteString(indent + " */\n")
	return b.String()
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}

// typeOf returns a type expression; lines after its first are indented by depth.
func (w *writer) typeOf(s *schema, depth int) string {
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/components/schemas/")
	case s.Const != nil:
		return quote(*s.Const)
	case len(s.Enum) > 0:
		all := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			all[i] = quote(v)
		}
		return strings.Join(all, " | ")
	case len(s.OneOf) > 0:
		return w.union(s.OneOf, depth)
	case len(s.AnyOf) > 0:
		return w.union(s.AnyOf, depth)
	}
	switch s.Type {
	case "":
		return "unknown"
	case "string", "boolean":
		return s.Type
	case "integer":
		return "number"
	case "array":
		item := w.typeOf(s.Items, depth)
		if strings.Contains(item, " ") {
			return "Array<" + item + ">"
		}
		return item + "[]"
	case "object":
		return w.object(s, depth)
	}
	w.err = fmt.Errorf("a schema of the type %q has no form in TypeScript here", s.Type)
	return "never"
}

func (w *writer) union(of []schema, depth int) string {
	all := make([]string, len(of))
	for i := range of {
		all[i] = w.typeOf(&of[i], depth)
	}
	return strings.Join(all, " | ")
}

func (w *writer) object(s *schema, depth int) string {
	if len(s.Properties.keys) == 0 && len(s.Additional) > 0 && string(s.Additional) != "false" {
		var values schema
		if err := json.Unmarshal(s.Additional, &values); err != nil {
			w.err = err
		}
		return "Record<string, " + w.typeOf(&values, depth) + ">"
	}
	indent := strings.Repeat("  ", depth)
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range s.Properties.keys {
		p := s.Properties.values[name]
		optional := "?"
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		b.WriteString(comment(depth+1, p.Description))
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, name, optional, w.typeOf(&p, depth+1))
	}
	b.WriteString(indent + "}")
	return b.String()
}

func (w *writer) operations(doc *document) {
	w.comment(0, "Every operation, by the name it has in the OpenAPI document. A stream's result is one event of it.")
	w.line(0, "export interface Operations {")
	for _, path := range doc.Paths.keys {
		item := doc.Paths.values[path]
		for _, method := range item.keys {
			op := item.values[method]
			w.comment(1, op.Summary+".")
			w.line(1, "%s: {", op.ID)
			w.line(2, "method: %s;", quote(strings.ToUpper(method)))
			w.line(2, "path: %s;", quote(path))
			w.parameters("params", "path", &op)
			w.parameters("query", "query", &op)
			w.parameters("headers", "header", &op)
			body := "undefined"
			if op.Body != nil {
				s := op.Body.Content.values["application/json"].Schema
				body = w.typeOf(&s, 2)
				if !op.Body.Required {
					body += " | undefined"
				}
			}
			w.line(2, "body: %s;", body)
			for _, status := range op.Responses.keys {
				if !strings.HasPrefix(status, "2") {
					continue
				}
				for _, content := range op.Responses.values[status].Content.values {
					w.line(2, "result: %s;", w.typeOf(&content.Schema, 2))
				}
			}
			w.line(1, "};")
		}
	}
	w.line(0, "}")
}

func (w *writer) parameters(name, in string, op *operation) {
	var all []string
	for _, p := range op.Parameters {
		if p.In != in {
			continue
		}
		optional := "?"
		if p.Required {
			optional = ""
		}
		all = append(all, fmt.Sprintf("%s%s: %s", quote(p.Name), optional, w.typeOf(&p.Schema, 2)))
	}
	if len(all) == 0 {
		w.line(2, "%s: Record<string, never>;", name)
		return
	}
	w.line(2, "%s: { %s };", name, strings.Join(all, "; "))
}
