package abi_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/abi"
)

func compileSchema(t *testing.T, def string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	s, err := c.Compile("abi.schema.json#/$defs/" + def)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wellKnown draws strings only where any string will do; string types get one of
// their constants.
func wellKnown(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			wellKnown(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			wellKnown(t, v.Field(i))
		}
	case reflect.Slice:
		if v.Type() != reflect.TypeFor[abi.Raw]() {
			for i := range v.Len() {
				wellKnown(t, v.Index(i))
			}
		}
	case reflect.String:
		if m := v.MethodByName("Values"); m.IsValid() {
			all := m.Call(nil)[0]
			v.Set(all.Index(rapid.IntRange(0, all.Len()-1).Draw(t, "value")))
		}
	}
}

func check(t interface{ Fatalf(string, ...any) }, s *jsonschema.Schema, wire []byte) {
	if err := validate(s, wire); err != nil {
		t.Fatalf("%s\n%#v", wire, err)
	}
}

func validate(s *jsonschema.Schema, wire []byte) error {
	var v any
	d := json.NewDecoder(strings.NewReader(string(wire)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err
	}
	return s.Validate(v)
}

func TestWhatTheCodecWritesFitsTheSchema(t *testing.T) {
	event, effects, manifest := compileSchema(t, "Event"), compileSchema(t, "Effects"), compileSchema(t, "Manifest")
	rapid.Check(t, func(t *rapid.T) {
		ev, list := drawEvent(t, ordinary), drawEffects(t, ordinary)
		wellKnown(t, reflect.ValueOf(&ev))
		wellKnown(t, reflect.ValueOf(list))
		check(t, event, abi.AppendEvent(nil, &ev))
		check(t, effects, abi.AppendEffects(nil, list))
		var m abi.Manifest
		draw(t, reflect.ValueOf(&m).Elem(), ordinary, false)
		wellKnown(t, reflect.ValueOf(&m))
		notNil(reflect.ValueOf(&m).Elem())
		check(t, manifest, m.AppendJSON(nil))
	})
}

// notNil makes nil slices empty: a manifest holds no null.
func notNil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			notNil(v.Field(i))
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			notNil(v.Index(i))
		}
	}
}

func TestTheSchemaRefusesWhatTheHostRefuses(t *testing.T) {
	const manifest = `{"harness":"demo","title":"Demo","binding_version":"1.0.0","abi":{"min":"0.1","max":"0.1"},"state_version":1,` +
		`"launch":{"argv":["demo"]},"framing":{"jsonrpc":true},"provider":{"versions":["1"],"min":"1","max":"1"},"capabilities":{},` +
		`"vocabulary":{"permissions":["default"]},"calls":["m"],"limits":{}}`
	for _, c := range []struct {
		def, good string
		bad       []string
	}{
		{"Event", `{"now":1,"stop":{"turn":"t1"}}`, []string{
			`{"stop":{}}`, `{"now":1}`, `{"now":1,"stop":{},"close":{}}`, `{"now":1.5,"stop":{}}`, `{"now":1,"stop":true}`, `{"now":1,"withdraw":{"key":"k","reason":"bored"}}`,
		}},
		{"Effects", `[{"delta":{"item":"i","channel":"text","text":"x"}},{"log":{"text":"x"}}]`, []string{
			`{}`, `[{}]`, `[{"resurrect":{}}]`, `[{"log":{"text":"x"},"relaunch":{"reason":"r"}}]`, `[{"delta":{"item":"i","channel":"smell","text":"x"}}]`, `[{"log":{}}]`,
		}},
		{"Manifest", manifest, []string{
			strings.Replace(manifest, `"limits":{}`, `"limits":{"time":1}`, 1),
			strings.Replace(manifest, `"capabilities":{}`, `"capabilities":{"flying":true}`, 1),
			strings.Replace(manifest, `"title":"Demo",`, ``, 1),
			strings.Replace(manifest, `["default"]`, `["root"]`, 1),
			strings.Replace(manifest, `["m"]`, `null`, 1),
			strings.Replace(manifest, `{"harness"`, `{"more":1,"harness"`, 1),
		}},
	} {
		s := compileSchema(t, c.def)
		check(t, s, []byte(c.good))
		for _, bad := range c.bad {
			if bad == c.good || validate(s, []byte(bad)) == nil {
				t.Errorf("%s accepts %s", c.def, bad)
			}
		}
	}
}
