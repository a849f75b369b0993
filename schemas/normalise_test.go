package schemas_test

import (
	"encoding/json"
	"testing"

	"github.com/aoagents/ao-host/schemas"
)

func TestNormalisingTakesOffWhatNoCheckLooksAtAndNothingElse(t *testing.T) {
	for in, want := range map[string]string{
		`{"title":"T","description":"D","type":"string"}`:                                            `{"type":"string"}`,
		`{"properties":{"title":{"title":"T"},"description":{"$ref":"#/definitions/D"}}}`:            `{"properties":{"description":{"$ref":"#/definitions/D"},"title":{}}}`,
		`{"enum":[{"title":"data"}],"const":{"description":"data"}}`:                                 `{"const":{"description":"data"},"enum":[{"title":"data"}]}`,
		`{"allOf":[{"$ref":"#/definitions/D"}],"default":1}`:                                         `{"$ref":"#/definitions/D"}`,
		`{"allOf":[{"$ref":"#/definitions/D"}],"minLength":1}`:                                       `{"allOf":[{"$ref":"#/definitions/D"}],"minLength":1}`,
		`{"oneOf":[{"type":"string","enum":["a"],"title":"A"},{"type":"string","enum":["b","c"]}]}`:  `{"enum":["a","b","c"],"type":"string"}`,
		`{"oneOf":[{"type":"string","enum":["a"]},{"type":"string","enum":["a","b"]}]}`:              `{"oneOf":[{"enum":["a"],"type":"string"},{"enum":["a","b"],"type":"string"}]}`,
		`{"oneOf":[{"type":"string","enum":["a"]}],"minLength":3}`:                                   `{"minLength":3,"oneOf":[{"enum":["a"],"type":"string"}]}`,
		`{"items":[{"title":"T"},true],"additionalProperties":false,"dependencies":{"a":["title"]}}`: `{"additionalProperties":false,"dependencies":{"a":["title"]},"items":[{},true]}`,
		`true`: `true`,
	} {
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(schemas.NormaliseSchema(v))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s\n gives %s\n want  %s", in, got, want)
		}
	}
}
