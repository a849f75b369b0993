package schemas_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// frames makes a recording of frames, each "in" or "out" and a message.
func frames(lines ...string) string {
	var out strings.Builder
	for _, l := range lines {
		dir, frame, _ := strings.Cut(l, " ")
		fmt.Fprintf(&out, "{\"t\":1,\"dir\":%q,\"frame\":%s}\n", dir, frame)
	}
	return out.String()
}

// tree holds a protocol "proto" 1.0 with the request "new" and the notification
// "update".
func tree(t testing.TB) fstest.MapFS {
	t.Helper()
	b := schemas.Bundle{
		Dialect: "https://json-schema.org/draft/2020-12/schema",
		Methods: []schemas.Method{
			{Name: "new", Direction: to, Kind: schemas.Request, Params: json.RawMessage(`{"$ref":"#/definitions/New"}`), Result: json.RawMessage(`{}`)},
			{Name: "update", Direction: from, Kind: schemas.Notification, Params: json.RawMessage(`{"type":"object"}`)},
		},
		Definitions: map[string]json.RawMessage{"New": json.RawMessage(`{"type":"object"}`)},
	}
	m := fstest.MapFS{}
	addBundle(t, m, b, schemas.Provenance{Provider: "proto", Version: "1.0"})
	return m
}

func addBundle(t testing.TB, m fstest.MapFS, b schemas.Bundle, p schemas.Provenance) {
	t.Helper()
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	p.Digest = schemas.Digest(text)
	prov, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	m[p.Provider+"/"+p.Version+"/bundle.json"] = &fstest.MapFile{Data: text}
	m[p.Provider+"/"+p.Version+"/provenance.json"] = &fstest.MapFile{Data: prov}
}

func observation(folders ...string) schemas.Observation {
	return schemas.Observation{
		File: "watch/x.json", Provider: "x", Version: "2.0", Package: "the-x", Extends: schemas.Reference{Provider: "proto", Version: "1.0"},
		Recordings: folders, Licence: "Apache-2.0", Forms: []string{"kind"}, Values: []string{"mode"},
	}
}

// observe infers from recordings given as text by file name.
func observe(t testing.TB, o schemas.Observation, files map[string]string) (schemas.Bundle, error) {
	t.Helper()
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return schemas.Observe(o, schemas.ObserveOptions{Root: root, Tree: tree(t), Now: func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }})
}

func TestWhatTheProtocolDoesNotPublishIsInferredFromWhatWasSeen(t *testing.T) {
	b, err := observe(t, observation("rec"), map[string]string{
		"rec/a.ndjson": frames(
			// The protocol's own are left to its schema.
			`in {"id":1,"method":"new","params":{"cwd":"/"}}`, `out {"id":1,"result":{"sessionId":"s"}}`, `out {"method":"update","params":{}}`,
			`out {"id":1,"method":"_ask","params":{"id":"q","n":1,"answer":null,"options":[{"label":"A"},{"label":"B","hint":7}],"mode":"plan","_meta":{"x":1}}}`,
			`in {"id":1,"result":{"kind":"yes","answers":{"Which color?":["Red"]}}}`,
			`out {"id":2,"method":"_ask","params":{"id":5,"options":[],"mode":"ask"}}`,
			`in {"id":2,"result":{"kind":"no","why":"x"}}`,
			`out {"method":"_bare"}`,
			`out {"method":"_sometimes"}`, `out {"method":"_sometimes","params":{}}`,
			`in {"id":9,"method":"_failed","params":{}}`, `out {"id":9,"error":{"code":-1,"message":"no"}}`,
		) + "\n{\"t\":1,\"dir\":\"mark\",\"note\":\"restart\"}\n{\"t\":1,\"dir\":\"out\",\"raw\":\"no JSON\"}\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range b.Methods {
		if !m.Observed || m.Experimental {
			t.Errorf("%s: %+v is not marked as observed", m.Name, m)
		}
		rows = append(rows, fmt.Sprint(m.Name, " ", m.Direction, " ", m.Kind, " ", m.ParamsOptional, "\n ", string(m.Params), "\n ", string(m.Result)))
	}
	want := []string{
		`_ask from_provider request false
 {"properties":{"_meta":{"type":["null","object"]},"answer":{},"id":{"type":["null","number","string"]},"mode":{"anyOf":[{"enum":["ask","plan"]},{"type":["string","null"]}]},"n":{"type":["null","number"]},"options":{"items":{"properties":{"hint":{"type":["null","number"]},"label":{"type":["null","string"]}},"type":["null","object"]},"type":["null","array"]}},"type":"object"}
 {"anyOf":[{"properties":{"kind":{"const":"no"},"why":{"type":["null","string"]}},"required":["kind"],"type":"object"},{"properties":{"answers":{"additionalProperties":{"items":{"type":["null","string"]},"type":["null","array"]},"type":["null","object"]},"kind":{"const":"yes"}},"required":["kind"],"type":"object"},{"not":{"properties":{"kind":{"enum":["no","yes"]}},"required":["kind"],"type":"object"},"properties":{"kind":{"type":"string"}},"required":["kind"],"type":"object"}]}`,
		"_bare from_provider notification false\n \n ",
		"_failed to_provider request false\n {\"type\":\"object\"}\n ",
		"_sometimes from_provider notification true\n {\"type\":\"object\"}\n ",
	}
	if got := strings.Join(rows, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	p := b.Provenance
	if p.Provider != "x" || p.Version != "2.0" || p.Package != "the-x" || p.Generated != "2026-03-01" || p.Extends.Provider != "proto" || p.Extends.Digest == "" ||
		strings.Join(p.Command, " ") != "ao-host schemas observe watch/x.json -o OUT" || p.SourceDigest == "" || len(p.Notes) != 0 {
		t.Errorf("provenance %+v", p)
	}
}

// A few runs show what may come, not what must: everything recorded passes, and
// so does what is like it.
func TestAnInferredSchemaIsLenient(t *testing.T) {
	section := packACP(t, "grok")
	set, err := schemas.Open(section)
	if err != nil {
		t.Fatal(err)
	}
	v := set.For("1.0.41")
	for _, c := range []struct {
		name   string
		dir    schemas.Direction
		kind   schemas.Kind
		method string
		body   string
		ok     bool
	}{
		{"members missing and new ones there", from, schemas.Request, "_x.ai/ask_user_question", `{"sessionId":"s","questions":[{"question":"Why?","prompt_style":2}],"mode":null}`, true},
		{"a mode that was not seen", from, schemas.Request, "_x.ai/ask_user_question", `{"mode":"ask"}`, true},
		{"wrapped, as in leader mode", from, schemas.Request, "_x.ai/ask_user_question", `{"method":"x.ai/ask_user_question","params":{"questions":[]}}`, true},
		{"without the underscore", from, schemas.Request, "x.ai/exit_plan_mode", `{"sessionId":"s","toolCallId":"t","planContent":"# Plan"}`, true},
		{"an update of a kind that was not seen", from, schemas.Notification, "_x.ai/session_notification", `{"sessionId":"s","update":{"sessionUpdate":"hologram","kind":7}}`, true},
		{"a known update with less in it", from, schemas.Notification, "_x.ai/session_notification", `{"sessionId":"s","update":{"sessionUpdate":"turn_completed"}}`, true},
		{"an outcome that was not seen", to, schemas.Result, "_x.ai/ask_user_question", `{"outcome":"later"}`, true},
		{"a model of an older agent", to, schemas.Request, "session/set_model", `{"sessionId":"s","modelId":"m","_meta":{"reasoningEffort":"high"}}`, true},
		{"answered with null", from, schemas.Result, "session/set_model", `null`, true},

		{"questions that are no list", from, schemas.Request, "_x.ai/ask_user_question", `{"questions":"Why?"}`, false},
		{"params that are no object", from, schemas.Request, "_x.ai/ask_user_question", `[]`, false},
		{"an update without its kind", from, schemas.Notification, "_x.ai/session_notification", `{"sessionId":"s","update":{}}`, false},
		{"a known update with a wrong id", from, schemas.Notification, "_x.ai/session_notification", `{"sessionId":"s","update":{"sessionUpdate":"turn_completed","prompt_id":7}}`, false},
		{"a reply without an outcome", to, schemas.Result, "_x.ai/ask_user_question", `{"answers":{}}`, false},
		{"a reply with one answer instead of a list", to, schemas.Result, "_x.ai/ask_user_question", `{"outcome":"accepted","answers":{"Why?":"x"}}`, false},
	} {
		if vio := violation(t, v, c.dir, c.kind, c.method, c.body); (vio == nil) != c.ok {
			t.Errorf("%s: %v", c.name, vio)
		}
	}
}

func TestWhatIsOnlyInNotesIsSaidToBe(t *testing.T) {
	o := observation("rec")
	o.Noted, o.Unprefixed, o.Notes = []string{"notes"}, "_", []string{"A note."}
	b, err := observe(t, o, map[string]string{
		"rec/a.ndjson":   frames(`out {"method":"_both","params":{"a":1}}`),
		"notes/a.ndjson": frames(`out {"method":"_both","params":{"b":1}}`, `out {"method":"_noted","params":{}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%q", b.Provenance.Notes); got != `["Written down from notes and in no recording: _noted." "A note."]` {
		t.Errorf("notes %s", got)
	}
	var names []string
	for _, m := range b.Methods {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "_both _noted both noted" {
		t.Errorf("methods %q", got)
	}
	if got := string(b.Methods[0].Params); !strings.Contains(got, `"a"`) || !strings.Contains(got, `"b"`) {
		t.Errorf("params %s lack what was seen or noted", got)
	}
}

func TestAnObservationThatCannotBeRightIsRefused(t *testing.T) {
	good := frames(`out {"method":"_a","params":{}}`)
	for what, c := range map[string]struct {
		change func(o *schemas.Observation)
		files  map[string]string
		code   string
	}{
		"no recordings":                    {func(*schemas.Observation) {}, nil, schemas.CodeObservationInvalid},
		"a folder outside":                 {func(o *schemas.Observation) { o.Recordings = []string{"../rec"} }, nil, schemas.CodeObservationInvalid},
		"no protocol":                      {func(o *schemas.Observation) { o.Extends.Version = "2.0" }, map[string]string{"rec/a.ndjson": good}, schemas.CodeBundleInvalid},
		"no JSON":                          {func(*schemas.Observation) {}, map[string]string{"rec/a.ndjson": "{"}, schemas.CodeRecordingInvalid},
		"an answer to nobody":              {func(*schemas.Observation) {}, map[string]string{"rec/a.ndjson": frames(`out {"id":1,"result":{}}`)}, schemas.CodeRecordingInvalid},
		"both with and without the prefix": {func(o *schemas.Observation) { o.Unprefixed = "_" }, map[string]string{"rec/a.ndjson": good + frames(`out {"method":"a","params":{}}`)}, schemas.CodeObservationInvalid},
	} {
		o := observation("rec")
		c.change(&o)
		_, err := observe(t, o, c.files)
		if err == nil {
			t.Errorf("%s: accepted", what)
			continue
		}
		wantCode(t, err, c.code)
	}
	for what, text := range map[string]string{
		"no JSON": `{`, "an unknown member": `{"provider":"x","version":"1","package":"p","extends":{"provider":"acp","version":"1"},"licence":"L","recordings":[],"form":[]}`,
		"no version":                `{"provider":"x","package":"p","extends":{"provider":"acp","version":"1"},"licence":"L","recordings":[]}`,
		"a provider that is a path": `{"provider":"../x","version":"1","package":"p","extends":{"provider":"acp","version":"1"},"licence":"L","recordings":[]}`,
	} {
		_, err := schemas.ReadObservation(fstest.MapFS{"o.json": {Data: []byte(text)}}, "o.json")
		if err == nil {
			t.Errorf("%s: accepted", what)
			continue
		}
		wantCode(t, err, schemas.CodeObservationInvalid)
	}
	_, err := schemas.ReadObservation(fstest.MapFS{}, "o.json")
	wantCode(t, err, schemas.CodeObservationInvalid)
}

func TestTheCommittedObservationsAreWhatTheRecordingsGive(t *testing.T) {
	root := os.DirFS("..")
	list, err := schemas.ReadObservations(root, "schemas/observed")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(acpRecordings) {
		t.Errorf("there are %d observations and %d harness versions", len(list), len(acpRecordings))
	}
	for _, o := range list {
		fresh, err := schemas.Observe(o, schemas.ObserveOptions{Root: root, Tree: bundled.FS()})
		if err != nil {
			t.Fatal(err)
		}
		committed, err := bundled.Read(o.Provider, o.Version)
		if err != nil {
			t.Fatal(err)
		}
		fresh.Provenance.Generated, committed.Provenance.Base = committed.Provenance.Generated, nil
		a, _ := json.Marshal(fresh.Provenance)
		b, _ := json.Marshal(committed.Provenance)
		if string(a) != string(b) {
			t.Errorf("%s: generated now:\n%s\ncommitted:\n%s\nRun `go generate ./schemas/...`.", o.File, a, b)
		}
	}
}

// Whatever was seen passes the schema inferred from it, in both directions, and
// the order of the recordings does not matter.
func TestEverythingSeenPassesTheSchemaInferredFromIt(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) any { return randomJSON(t, 3) })
	rapid.Check(t, func(rt *rapid.T) {
		bodies := rapid.SliceOfN(value, 1, 5).Draw(rt, "bodies")
		var lines []string
		for _, v := range bodies {
			text, err := json.Marshal(v)
			if err != nil {
				rt.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf(`out {"method":"_n","params":%s}`, text))
		}
		backwards := make([]string, 0, len(lines))
		for i := len(lines) - 1; i >= 0; i-- {
			backwards = append(backwards, lines[i])
		}
		o := observation("rec")
		o.Forms = []string{"kind", "a"}
		b, err := observe(t, o, map[string]string{"rec/a.ndjson": frames(lines...)})
		if err != nil {
			rt.Fatal(err)
		}
		other, err := observe(t, o, map[string]string{"rec/a.ndjson": frames(backwards...)})
		if err != nil {
			rt.Fatal(err)
		}
		if string(b.Methods[0].Params) != string(other.Methods[0].Params) {
			rt.Fatalf("the order matters: %s\n%s", b.Methods[0].Params, other.Methods[0].Params)
		}
		b.Definitions["N"] = b.Methods[0].Params
		for _, lenient := range []bool{false, true} {
			check, err := schemas.TryVerdicts(b, "N", lenient)
			if err != nil {
				rt.Fatal(err)
			}
			for _, v := range bodies {
				text, _ := json.Marshal(v)
				if plain, fast := check(text); plain != nil || fast != nil {
					rt.Fatalf("%s refuses %s: %v %v", b.Definitions["N"], text, plain, fast)
				}
			}
		}
	})
}

// Objects without the telling member were seen too; that must not let a known
// form off.
func TestAKnownFormIsHeldToItsShapeBesideObjectsWithoutForm(t *testing.T) {
	b, err := observe(t, observation("rec"), map[string]string{"rec/a.ndjson": frames(
		`out {"method":"_n","params":{"kind":"a","x":1}}`, `out {"method":"_n","params":{"x":"text"}}`,
	)})
	if err != nil {
		t.Fatal(err)
	}
	b.Definitions["N"] = b.Methods[0].Params
	check := schemas.Verdicts(t, b, "N", true)
	for body, ok := range map[string]bool{
		`{"kind":"a","x":2}`: true, `{"kind":"a","x":"text"}`: false, `{"kind":"b","x":[]}`: true, `{"x":"other"}`: true, `{"x":2}`: false,
	} {
		if _, err := check([]byte(body)); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestInferringStopsAtADepthBelowWhichAnythingGoes(t *testing.T) {
	nest := func(n int, in string) string { return strings.Repeat(`{"a":[`, n) + in + strings.Repeat(`]}`, n) }
	b, err := observe(t, observation("rec"), map[string]string{"rec/a.ndjson": frames(`out {"method":"_n","params":` + nest(500, "1") + `}`)})
	if err != nil {
		t.Fatal(err)
	}
	b.Definitions["N"] = b.Methods[0].Params
	check := schemas.Verdicts(t, b, "N", false)
	for body, ok := range map[string]bool{nest(20, `{"b":2}`): true, nest(3, "1"): false} {
		if _, err := check([]byte(body)); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func randomJSON(t *rapid.T, depth int) any {
	shapes := []string{"null", "bool", "number", "string"}
	if depth > 0 {
		shapes = append(shapes, "array", "object", "object", "object")
	}
	switch rapid.SampledFrom(shapes).Draw(t, "shape") {
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "number":
		return rapid.SampledFrom([]float64{0, 1, -2.5}).Draw(t, "number")
	case "string":
		return rapid.SampledFrom([]string{"a", "plan", "é"}).Draw(t, "string")
	case "array":
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			out = append(out, randomJSON(t, depth-1))
		}
		return out
	case "object":
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			name := rapid.SampledFrom([]string{"kind", "mode", "a", "b", "_meta", "Which color?"}).Draw(t, "name")
			out[name] = randomJSON(t, depth-1)
		}
		return out
	}
	return nil
}

func TestABundleThatExtendsAnotherComesJoinedWithIt(t *testing.T) {
	own := schemas.Bundle{
		Dialect:     "https://json-schema.org/draft/2020-12/schema",
		Methods:     []schemas.Method{{Name: "_n", Direction: from, Kind: schemas.Notification, Params: json.RawMessage(`{"$ref":"#/definitions/N"}`), Observed: true}},
		Definitions: map[string]json.RawMessage{"N": json.RawMessage(`{"type":"object"}`)},
	}
	m := tree(t)
	base, err := schemas.Read(m, "proto", "1.0")
	if err != nil {
		t.Fatal(err)
	}
	ext := schemas.Reference{Provider: "proto", Version: "1.0", Digest: base.Provenance.Digest}
	addBundle(t, m, own, schemas.Provenance{Provider: "x", Version: "2.0", Extends: &ext})
	b, err := schemas.Read(m, "x", "2.0")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range b.Methods {
		names = append(names, m.Name)
	}
	if strings.Join(names, " ") != "_n new update" || len(b.Definitions) != 2 {
		t.Errorf("methods %q, definitions %v", names, b.Definitions)
	}
	if b.Provenance.Provider != "x" || b.Provenance.Base == nil || b.Provenance.Base.Version != "1.0" {
		t.Errorf("provenance %+v", b.Provenance)
	}
	// The module tells both, and serves the version of the harness.
	section, err := schemas.Pack([]schemas.Bundle{b}, schemas.Used{Calls: []string{"new"}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := schemas.Open(section)
	if err != nil {
		t.Fatal(err)
	}
	if p := set.Versions()[0]; set.Provider() != "x" || p.Version != "2.0" || p.Base.Digest != ext.Digest {
		t.Errorf("the section says %+v", p)
	}
	if v := set.For("2.0"); !v.Known(to, schemas.Request, "new") || !v.Known(from, schemas.Notification, "_n") || !v.Known(from, schemas.Notification, "update") {
		t.Error("a method of one of the two is missing")
	}

	for what, change := range map[string]func(b *schemas.Bundle, ext *schemas.Reference) schemas.Provenance{
		"another digest": func(_ *schemas.Bundle, e *schemas.Reference) schemas.Provenance {
			e.Digest = "sha256:00"
			return schemas.Provenance{Extends: e}
		},
		"a missing base": func(_ *schemas.Bundle, e *schemas.Reference) schemas.Provenance {
			e.Version = "9.0"
			return schemas.Provenance{Extends: e}
		},
		"another dialect": func(b *schemas.Bundle, e *schemas.Reference) schemas.Provenance {
			b.Dialect = "http://json-schema.org/draft-07/schema#"
			return schemas.Provenance{Extends: e}
		},
		"a method twice": func(b *schemas.Bundle, e *schemas.Reference) schemas.Provenance {
			b.Methods = append(b.Methods, base.Methods[0])
			b.Methods[1].Params = nil
			return schemas.Provenance{Extends: e}
		},
		"a definition twice": func(b *schemas.Bundle, e *schemas.Reference) schemas.Provenance {
			b.Definitions["New"] = json.RawMessage(`{}`)
			return schemas.Provenance{Extends: e}
		},
		"a chain": func(_ *schemas.Bundle, _ *schemas.Reference) schemas.Provenance {
			return schemas.Provenance{Extends: &schemas.Reference{Provider: "x", Version: "2.0", Digest: b.Provenance.Digest}}
		},
	} {
		bad := schemas.Bundle{Dialect: own.Dialect, Methods: own.Methods[:1:1], Definitions: map[string]json.RawMessage{"N": own.Definitions["N"]}}
		e := ext
		p := change(&bad, &e)
		p.Provider, p.Version = "y", "1.0"
		addBundle(t, m, bad, p)
		_, err := schemas.Read(m, "y", "1.0")
		if err == nil {
			t.Errorf("%s: accepted", what)
			continue
		}
		wantCode(t, err, schemas.CodeBundleInvalid)
	}
}

func TestObserveWritesOnceAndThenOnlyWhatChanged(t *testing.T) {
	out := t.TempDir()
	root := fstest.MapFS{"rec/a.ndjson": {Data: []byte(frames(`out {"method":"_a","params":{}}`))}}
	write := func(day int) {
		t.Helper()
		_, err := schemas.Observe(observation("rec"), schemas.ObserveOptions{Root: root, Tree: tree(t), Out: out, Now: func() time.Time { return time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC) }})
		if err != nil {
			t.Fatal(err)
		}
	}
	generated := func() string {
		t.Helper()
		var p schemas.Provenance
		text, err := os.ReadFile(filepath.Join(out, "x", "2.0", schemas.ProvenanceFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		return p.Generated
	}
	write(1)
	write(2)
	if got := generated(); got != "2026-03-01" {
		t.Errorf("the same again is dated %s", got)
	}
	root["rec/a.ndjson"].Data = append(root["rec/a.ndjson"].Data, frames(`out {"method":"_b","params":{}}`)...)
	write(3)
	if got := generated(); got != "2026-03-03" {
		t.Errorf("the changed bundle is dated %s", got)
	}
}
