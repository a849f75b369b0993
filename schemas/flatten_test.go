package schemas_test

import (
	"encoding/json"
	"testing"

	"github.com/aoagents/ao-host/schemas"
)

// Merging and dropping keep every verdict; what comes closest to breaking it.
func TestFlatteningASchemaKeepsItsVerdicts(t *testing.T) {
	defs := map[string]string{
		"S": `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, "Free": `{"properties":{"a":true,"b":{}}}`,
		"Tree": `{"type":"object","properties":{"t":{"$ref":"#/definitions/Tree"},"n":{"type":"integer"}}}`,
	}
	for _, c := range []struct {
		schema          string
		accepts, refuse []string
	}{
		{`{"allOf":[{"$ref":"#/definitions/S"}],"properties":{"k":{"const":"x"}},"required":["k"]}`, []string{`{"a":"","k":"x"}`}, []string{`{"k":"x"}`, `{"a":7,"k":"x"}`, `{"a":"","k":"y"}`, `[]`}},
		{`{"allOf":[{"$ref":"#/definitions/S"}],"properties":{"a":{"minLength":2}}}`, []string{`{"a":"xx"}`}, []string{`{"a":"x"}`, `{"a":7}`, `{}`}},
		{`{"allOf":[{"$ref":"#/definitions/S"},{"$ref":"#/definitions/S"}],"type":["object","null"]}`, []string{`{"a":""}`}, []string{`null`, `{}`}},
		{`{"allOf":[{"$ref":"#/definitions/S"}],"additionalProperties":false}`, []string{}, []string{`{"a":""}`, `{}`}},
		{`{"allOf":[{"$ref":"#/definitions/S"}],"additionalProperties":{"type":"null"}}`, []string{}, []string{`{"a":""}`}},
		{`{"properties":{"a":true,"b":{}},"additionalProperties":false}`, []string{`{"a":1,"b":2}`, `{}`}, []string{`{"c":1}`}},
		{`{"properties":{"a":true},"additionalProperties":{"type":"null"}}`, []string{`{"a":1,"c":null}`}, []string{`{"c":1}`}},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, []string{`{"a":1}`}, []string{`{"b":1}`}},
		{`{"$ref":"#/definitions/Free","unevaluatedProperties":false}`, []string{`{"a":1,"b":2}`}, []string{`{"c":1}`}},
		{`{"properties":{"x":{"allOf":[{"$ref":"#/definitions/Free"}],"unevaluatedProperties":{"type":"null"}}}}`, []string{`{"x":{"a":1,"c":null}}`}, []string{`{"x":{"c":1}}`}},
		{`{"$ref":"#/definitions/Tree"}`, []string{`{"t":{"t":{"t":{"t":{"t":{"t":{"t":{"n":1}}}}}}}}`}, []string{`{"t":{"t":{"t":{"t":{"t":{"t":{"t":{"n":1.5}}}}}}}}`, `{"t":{"t":[]}}`}},
	} {
		b := schemas.Bundle{Dialect: "https://json-schema.org/draft/2020-12/schema", Definitions: map[string]json.RawMessage{"N": json.RawMessage(c.schema)}}
		for name, d := range defs {
			b.Definitions[name] = json.RawMessage(d)
		}
		strict := schemas.Verdicts(t, b, "N", false)
		for i, bodies := range [][]string{c.accepts, c.refuse} {
			for _, body := range bodies {
				plain, fast := strict([]byte(body))
				if (plain == nil) != (i == 0) || (fast == nil) != (i == 0) {
					t.Errorf("%s\n with %s: plain %v, flattened %v", c.schema, body, plain, fast)
				}
			}
		}
		lenient := schemas.Verdicts(t, b, "N", true)
		for _, body := range append(c.accepts, c.refuse...) {
			if plain, fast := lenient([]byte(body)); (plain == nil) != (fast == nil) {
				t.Errorf("%s\n leniently with %s: plain %v, flattened %v", c.schema, body, plain, fast)
			}
		}
	}
}
