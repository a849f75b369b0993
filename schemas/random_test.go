package schemas_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/schemas"
)

// randomSchema draws a small schema full of unions: optional and required tags,
// enums beside objects, closed objects, overlapping branches.
func randomSchema(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		s := map[string]any{}
		shapes := []string{"string", "enum", "const", "object", "object", "object", "integer", "null", "types", "ref"}
		if depth > 0 {
			shapes = append(shapes, "anyOf", "oneOf", "anyOf", "oneOf", "allOf", "array")
		}
		sub := func(label string) any {
			if rapid.IntRange(0, 19).Draw(t, label+" bool") == 0 {
				return rapid.Bool().Draw(t, label)
			}
			return randomSchema(depth-1).Draw(t, label)
		}
		shape := rapid.SampledFrom(shapes).Draw(t, "shape")
		switch shape {
		case "string", "null":
			s["type"] = shape
		case "integer":
			s["type"] = "integer"
			if rapid.Bool().Draw(t, "bounded") {
				s["minimum"], s["maximum"] = 0, 2
			}
		case "enum":
			s["enum"] = rapid.SliceOfNDistinct(rapid.SampledFrom([]any{"a", "b", "c", nil, 1}), 1, 3, rapid.ID).Draw(t, "values")
		case "const":
			s["const"] = rapid.SampledFrom([]any{"a", "b", 0, nil}).Draw(t, "value")
		case "types":
			s["type"] = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"string", "integer", "null", "object", "number"}), 1, 3, rapid.ID).Draw(t, "types")
		case "ref":
			s["$ref"] = "#/definitions/" + rapid.SampledFrom([]string{"A", "B"}).Draw(t, "definition")
			if rapid.Bool().Draw(t, "sibling") {
				s["type"] = "object"
			}
		case "array":
			s["type"], s["items"] = "array", sub("items")
		case "anyOf", "oneOf", "allOf":
			n := rapid.IntRange(1, 3).Draw(t, "branches")
			var list []any
			for range n {
				list = append(list, sub("branch"))
			}
			s[shape] = list
			if rapid.Bool().Draw(t, "base") {
				s["required"] = []any{"t"}
			}
		}
		if shape == "object" {
			if rapid.Bool().Draw(t, "typed") {
				s["type"] = "object"
			}
			props := map[string]any{}
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"t", "u", "v"}), 0, 3, rapid.ID).Draw(t, "members") {
				if name == "v" && depth > 0 {
					props[name] = sub("member")
				} else {
					props[name] = map[string]any{"enum": []any{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "tag")}}
				}
			}
			s["properties"] = props
			s["required"] = rapid.SliceOfNDistinct(rapid.SampledFrom([]any{"t", "u", "v"}), 0, 2, rapid.ID).Draw(t, "required")
			if rapid.IntRange(0, 2).Draw(t, "closed") == 0 {
				s["additionalProperties"] = false
			}
		}
		if depth > 0 && rapid.IntRange(0, 9).Draw(t, "negated") == 0 {
			s["not"] = sub("not")
		}
		if rapid.IntRange(0, 9).Draw(t, "forgiven") == 0 {
			s[rapid.SampledFrom([]string{"x-deserialize-default-on-error", "x-deserialize-skip-invalid-items", "x-deserialize-default-on-null"}).Draw(t, "how")] = true
		}
		return s
	})
}

func randomValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := []string{"leaf", "object", "object"}
		if depth > 0 {
			kinds = append(kinds, "array")
		}
		switch rapid.SampledFrom(kinds).Draw(t, "kind") {
		case "object":
			o := map[string]any{}
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"t", "u", "v", "w"}), 0, 3, rapid.ID).Draw(t, "members") {
				if depth > 0 && name == "v" {
					o[name] = randomValue(depth-1).Draw(t, name)
				} else {
					o[name] = rapid.SampledFrom([]any{"a", "b", "c", 1, nil}).Draw(t, name)
				}
			}
			return o
		case "array":
			return []any{randomValue(depth-1).Draw(t, "element")}
		}
		return rapid.SampledFrom([]any{"a", "b", "c", "d", 0, 1, -1, 2, 3, 1.5, nil, true}).Draw(t, "leaf")
	})
}

// Codex's unions are well behaved. These are not: whatever the schema, dispatch
// gives the verdict of the plain schema, and the lenient form of a schema accepts
// what the schema accepts.
func TestDispatchAgreesWithThePlainSchemaOnRandomSchemas(t *testing.T) {
	verdicts := map[bool]int{}
	one := func(dialect string) func(*rapid.T) {
		return func(rt *rapid.T) {
			b := schemas.Bundle{Dialect: dialect, Definitions: map[string]json.RawMessage{}}
			for _, name := range []string{"A", "B", "Root"} {
				depth := 1
				if name == "Root" {
					depth = 3
				}
				text, err := json.Marshal(randomSchema(depth).Draw(rt, name))
				if err != nil {
					rt.Fatal(err)
				}
				b.Definitions[name] = text
			}
			strict, err := schemas.TryVerdicts(b, "Root", false)
			if err != nil {
				return // it refers to itself without end
			}
			lenient, err := schemas.TryVerdicts(b, "Root", true)
			if err != nil {
				rt.Fatal(err)
			}
			for range 10 {
				body, err := json.Marshal(randomValue(2).Draw(rt, "value"))
				if err != nil {
					rt.Fatal(err)
				}
				plain, fast := strict(body)
				if (plain == nil) != (fast == nil) {
					rt.Fatalf("strict: dispatch says %v, the plain schema %v\n%s\n%s", fast, plain, body, b.Definitions)
				}
				lenientPlain, lenientFast := lenient(body)
				if (lenientPlain == nil) != (lenientFast == nil) {
					rt.Fatalf("lenient: dispatch says %v, the plain schema %v\n%s\n%s", lenientFast, lenientPlain, body, b.Definitions)
				}
				if plain == nil && lenientPlain != nil {
					rt.Fatalf("the lenient schema refuses what the schema accepts: %v\n%s\n%s", lenientPlain, body, b.Definitions)
				}
				verdicts[plain == nil]++
			}
		}
	}
	for _, dialect := range []string{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"} {
		check := one(dialect)
		rapid.Check(t, func(rt *rapid.T) {
			// A hundred schemas are too few to meet the rare ones.
			for range 15 {
				check(rt)
			}
		})
	}
	if verdicts[true] < 10 || verdicts[false] < 10 {
		t.Errorf("verdicts %v: one of them is hardly tested", verdicts)
	}
}
