package schemas_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// Whatever a section holds, opening, compiling and checking with it ends with a
// verdict or an error of a code. With inner the bytes are the text inside the
// compression, which changed bytes would else never get past.
func FuzzOpenSection(f *testing.F) {
	small := func(schema string, defs map[string]string) {
		f.Add(unpack(f, oneSchema(schema, defs)), true)
	}
	small(`{"$ref":"#/definitions/A"}`, map[string]string{"A": `{"anyOf":[{"$ref":"#/definitions/B"},{"type":"null"}]}`, "B": `{"type":"object","required":["type"],"properties":{"type":{"enum":["x"]}}}`})
	small(`{"oneOf":[{"type":"string","enum":["a"]},{"type":"object","required":["b"],"properties":{"b":{"type":"integer","minimum":0}},"additionalProperties":false}]}`, nil)
	small(`{"allOf":[{"properties":{"a":{"$ref":"#/definitions/A"}}}],"items":[{},true],"dependencies":{"a":["b"]},"pattern":"^x+$","uniqueItems":true}`, map[string]string{"A": `{"$ref":"#/definitions/A"}`})
	small(`{"$id":"file:///etc/","$ref":"hostname"}`, nil)
	bundles, err := bundled.All("codex")
	if err != nil {
		f.Fatal(err)
	}
	section, err := schemas.Pack(bundles[:1], schemas.Used{Calls: []string{"turn/interrupt"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(section, false)
	f.Fuzz(func(t *testing.T, b []byte, inner bool) {
		if len(b) > 1<<18 {
			return
		}
		if inner {
			b = packText(b)
		}
		set, err := schemas.Open(b)
		if err != nil {
			coded(t, err)
			return
		}
		if err := set.Compile(); err != nil {
			coded(t, err)
		}
		v := set.For("")
		for _, body := range []string{``, `{}`, `{"type":"x","a":{"a":{"a":[]}},"b":1}`, `["x","x"]`, `1e400`, `null`} {
			if err := v.Check(from, schemas.Notification, "n", []byte(body)); err != nil {
				coded(t, err)
			}
		}
	})
}

// coded fails unless err is an *Error with a code or a *Violation within bounds.
func coded(t *testing.T, err error) {
	t.Helper()
	var vio *schemas.Violation
	var e *schemas.Error
	switch {
	case errors.As(err, &vio):
		if len(vio.Message) > 300 || len(vio.Path) > 300 || len(vio.Method) > 80 || !vio.Unknown && vio.Keyword == "" {
			t.Fatalf("%+v", vio)
		}
		if _, err := json.Marshal(vio); err != nil {
			t.Fatal(err)
		}
	case errors.As(err, &e):
		if e.Code == "" || e.Message == "" {
			t.Fatalf("%#v", e)
		}
	default:
		t.Fatalf("%v is neither a violation nor an error with a code", err)
	}
}

// Whatever a frame holds, it gets a verdict, and the same one from the plain
// schema.
func FuzzCheck(f *testing.F) {
	fuzzCheck(f, "codex", schemas.Reference{Provider: "codex", Version: "0.171.0"})
}

func FuzzCheckACP(f *testing.F) {
	fuzzCheck(f, "grok", schemas.Reference{Provider: "grok", Version: "1.0.41"})
}

func fuzzCheck(f *testing.F, folder string, ref schemas.Reference) {
	bundle, err := bundled.Read(ref.Provider, ref.Version)
	if err != nil {
		f.Fatal(err)
	}
	fast, plain := openBinding(f, ref.Provider).For(ref.Version), schemas.PlainValidator(f, bundle)
	frames := readRecordings(f, folder)
	for i, p := range frames {
		if len(p.body) < 2000 {
			f.Add(uint16(i), p.body)
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, body []byte) {
		if len(body) > 1<<16 {
			return
		}
		p := frames[int(which)%len(frames)]
		a, b := fast.Check(p.dir, p.kind, p.method, body), plain.Check(p.dir, p.kind, p.method, body)
		if (a == nil) != (b == nil) {
			t.Fatalf("%s %s: dispatch says %v, the plain schema %v", p.kind, p.method, a, b)
		}
		if a != nil {
			coded(t, a)
		}
	})
}

// Whatever a recording holds, inferring from it ends with a bundle or an error of
// a code, and packing the bundle too.
func FuzzObserve(f *testing.F) {
	f.Add(frames(`out {"method":"_n","params":{"kind":"a","x":[1,null,{"b c":{}}]}}`, `out {"method":"_n","params":{"kind":{"a":1}}}`))
	f.Add(frames(`in {"id":1,"method":"_q","params":[]}`, `out {"id":1,"result":null}`))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		o := observation("rec")
		o.Unprefixed = "_"
		b, err := observe(t, o, map[string]string{"rec/a.ndjson": text})
		if err != nil {
			coded(t, err)
			return
		}
		if _, err := schemas.Pack([]schemas.Bundle{b}, schemas.Used{}); err != nil {
			coded(t, err)
		}
	})
}
