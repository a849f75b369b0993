package schemas_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// mutate changes one place of a decoded payload.
func mutate(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) == 0 || rapid.IntRange(0, 9).Draw(t, "add") == 0 {
			v[rapid.SampledFrom([]string{"extra", "type", "id", "mode", "sessionUpdate", "action"}).Draw(t, "name")] = junk(t)
			return v
		}
		name := rapid.SampledFrom(names).Draw(t, "member")
		switch rapid.IntRange(0, 4).Draw(t, "how") {
		case 0:
			delete(v, name)
		case 1:
			v[name] = junk(t)
		default:
			v[name] = mutate(t, v[name])
		}
		return v
	case []any:
		if len(v) == 0 {
			return append(v, junk(t))
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "element")
		v[i] = mutate(t, v[i])
		return v
	}
	return junk(t)
}

func junk(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		nil, true, -1.0, 0.0, 1.5, "", "plan", "readOnly", "never", "form", "tool_call", []any{}, []any{"x"}, map[string]any{}, map[string]any{"type": "plan"},
	}).Draw(t, "junk")
}

// Dispatch and the number keyword must not change a verdict: every recorded
// frame, as it is and with a few places changed, gets the same one as from the
// plain schema.
func TestDispatchAgreesWithThePlainSchemaOnRecordingsAndMutations(t *testing.T) {
	for folder, ref := range recordedVersions() {
		b, err := bundled.Read(ref.Provider, ref.Version)
		if err != nil {
			t.Fatal(err)
		}
		version := ref.Provider + " " + ref.Version
		fast, plain := openBinding(t, ref.Provider).For(ref.Version), schemas.PlainValidator(t, b)
		frames := readRecordings(t, folder)
		var refused, accepted int
		compare := func(t interface{ Fatalf(string, ...any) }, p payload, body []byte) {
			f, s := fast.Check(p.dir, p.kind, p.method, body), plain.Check(p.dir, p.kind, p.method, body)
			if (f == nil) != (s == nil) {
				t.Fatalf("%s %s %s %s: dispatch says %v, the plain schema %v\n%s", version, p.dir, p.kind, p.method, f, s, body)
			}
			if f == nil {
				accepted++
			} else {
				refused++
			}
		}
		for _, p := range frames {
			compare(t, p, p.body)
		}
		rapid.Check(t, func(t *rapid.T) {
			p := rapid.SampledFrom(frames).Draw(t, "frame")
			var v any
			if len(p.body) > 0 {
				if err := json.Unmarshal(p.body, &v); err != nil {
					t.Fatal(err)
				}
			}
			for range rapid.IntRange(1, 3).Draw(t, "changes") {
				v = mutate(t, v)
			}
			body, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, p, body)
		})
		if refused == 0 || accepted < len(frames) {
			t.Errorf("%s: %d refused, %d accepted: the mutations test nothing", version, refused, accepted)
		}
	}
}

// The same over samples of every definition of a committed bundle, in both
// directions, so that no union is left out.
func TestDispatchAgreesWithThePlainSchemaOnEveryDefinition(t *testing.T) {
	for _, ref := range []schemas.Reference{{Provider: "codex", Version: "0.153.4"}, {Provider: "codex", Version: "0.171.0"}, {Provider: "acp", Version: "2.4.0"}} {
		b, err := bundled.Read(ref.Provider, ref.Version)
		if err != nil {
			t.Fatal(err)
		}
		version := ref.Provider + " " + ref.Version
		counts := map[string]int{}
		for i, name := range slices.Sorted(maps.Keys(b.Definitions)) {
			if testing.Short() && i%4 != 0 {
				continue
			}
			strict, lenient := schemas.Verdicts(t, b, name, false), schemas.Verdicts(t, b, name, true)
			for seed := range uint64(12) {
				body := newSampler(b, seed, int(seed%3)*4).payload(name)
				verdict := ""
				for i, check := range []func([]byte) (error, error){strict, lenient} {
					plain, fast := check(body)
					if (plain == nil) != (fast == nil) {
						t.Fatalf("%s %s, lenient %v: dispatch says %v, the plain schema %v\n%s", version, name, i == 1, fast, plain, body)
					}
					verdict += fmt.Sprint(fast == nil, " ")
				}
				counts[verdict]++
			}
		}
		t.Logf("%s: strict and lenient verdicts %v", version, counts)
		if counts["true false "] > 0 {
			t.Errorf("%s: the lenient schemas refuse what the strict ones accept", version)
		}
		for v, least := range map[string]int{"true true ": 100, "false false ": 100, "false true ": 20} {
			if testing.Short() {
				least /= 4
			}
			if counts[v] < least {
				t.Errorf("%s: too few samples with verdicts %q: %v", version, v, counts)
			}
		}
	}
}
