package schemas_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/schemas"
)

// openDefinitions packs definitions as a stranger's module could bring them, with a
// notification whose params are "a".
func openDefinitions(t *testing.T, definitions map[string]json.RawMessage) (*schemas.Set, error) {
	t.Helper()
	b := schemas.Bundle{
		Provenance:  schemas.Provenance{Provider: "x", Package: "x", Version: "1.0.0"},
		Dialect:     "http://json-schema.org/draft-07/schema#",
		Definitions: definitions,
		Methods:     []schemas.Method{{Name: "m", Direction: schemas.ToProvider, Kind: schemas.Notification, Params: json.RawMessage(`{"$ref":"#/definitions/a"}`)}},
	}
	packed, err := schemas.Pack([]schemas.Bundle{b}, schemas.Used{Notifies: []string{"m"}})
	if err != nil {
		return nil, err
	}
	return schemas.Open(packed)
}

func TestASchemaThatLeadsBackToItselfWithoutALookAtTheValueIsRefused(t *testing.T) {
	for name, definitions := range map[string]map[string]json.RawMessage{
		"through a union":     {"a": json.RawMessage(`{"anyOf":[{"$ref":"#/definitions/a"},{"type":"null"}]}`)},
		"through two unions":  {"a": json.RawMessage(`{"anyOf":[{"$ref":"#/definitions/b"}]}`), "b": json.RawMessage(`{"oneOf":[{"$ref":"#/definitions/a"}]}`)},
		"through all of":      {"a": json.RawMessage(`{"allOf":[{"$ref":"#/definitions/a"}]}`)},
		"by itself":           {"a": json.RawMessage(`{"$ref":"#/definitions/a"}`)},
		"through a reference": {"a": json.RawMessage(`{"$ref":"#/definitions/b"}`), "b": json.RawMessage(`{"anyOf":[{"type":"object"},{"$ref":"#/definitions/a"}]}`)},
		"through a condition": {"a": json.RawMessage(`{"if":{"type":"object"},"then":{"$ref":"#/definitions/a"}}`)},
		"through what is not": {"a": json.RawMessage(`{"not":{"$ref":"#/definitions/a"}}`)},
	} {
		set, err := openDefinitions(t, definitions)
		if err == nil {
			err = set.For("").Check(schemas.ToProvider, schemas.Notification, "m", []byte(`{"x":1}`))
		}
		if err == nil || !strings.Contains(err.Error(), "infinite loop") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASchemaOfATreeIsFine(t *testing.T) {
	set, err := openDefinitions(t, map[string]json.RawMessage{"a": json.RawMessage(`{"anyOf":[{"type":"object","properties":{"child":{"$ref":"#/definitions/a"}}},{"type":"null"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.For("").Check(schemas.ToProvider, schemas.Notification, "m", []byte(`{"child":{"child":null}}`)); err != nil {
		t.Fatal(err)
	}
	if err := set.For("").Check(schemas.ToProvider, schemas.Notification, "m", []byte(`{"child":{"child":7}}`)); err == nil {
		t.Fatal("a number is no tree")
	}
}
