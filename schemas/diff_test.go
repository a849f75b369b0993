package schemas_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// twoVersions builds two bundles with a request "do" to the provider, whose
// params and result have the given schemas.
func twoVersions(params, result [2]string, defs [2]map[string]string) (old, new schemas.Bundle) {
	var out [2]schemas.Bundle
	for i := range out {
		out[i] = schemas.Bundle{
			Provenance:  schemas.Provenance{Provider: "x", Version: fmt.Sprint(i+1, ".0")},
			Methods:     []schemas.Method{{Name: "do", Direction: to, Kind: schemas.Request, Params: json.RawMessage(params[i]), Result: json.RawMessage(result[i])}},
			Definitions: map[string]json.RawMessage{},
		}
		for name, d := range defs[i] {
			out[i].Definitions[name] = json.RawMessage(d)
		}
	}
	return out[0], out[1]
}

// brief writes a change as one line.
func brief(c schemas.Change) string {
	s := c.Path + " " + c.What
	if c.From != "" || c.To != "" {
		s += " " + c.From + "→" + c.To
	}
	if c.Breaking {
		s += " !"
	}
	return s
}

func TestDiffTellsEveryKindOfChangeAndWhatItBreaksInEachDirection(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		// sent and received are the changes when the schema is of params and of a
		// result.
		sent, received []string
	}{
		{
			"nothing, written otherwise", `{"type":["string","null"]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, nil, nil,
		},
		{
			"a new optional member", `{"type":"object"}`, `{"type":"object","properties":{"a":{}}}`,
			[]string{"a added →optional"}, []string{"a added →optional"},
		},
		{
			"a new required member", `{"type":"object"}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`,
			[]string{"a added →required !"}, []string{"a added →required"},
		},
		{
			"a member gone", `{"type":"object","properties":{"a":{}}}`, `{"type":"object"}`,
			[]string{"a removed optional→ !"}, []string{"a removed optional→ !"},
		},
		{
			"now required", `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`,
			[]string{"a now_required !"}, []string{"a now_required"},
		},
		{
			"now optional", `{"type":"object","properties":{"a":{}},"required":["a"]}`, `{"type":"object","properties":{"a":{}}}`,
			[]string{"a now_optional"}, []string{"a now_optional !"},
		},
		{
			"now nullable", `{"type":"string"}`, `{"type":["string","null"]}`,
			[]string{" type string→null or string"}, []string{" type string→null or string !"},
		},
		{
			"a value more", `{"type":"array","items":{"enum":["a"]}}`, `{"type":"array","items":{"enum":["a","b"]}}`,
			[]string{`[] values →"b"`}, []string{`[] values →"b" !`},
		},
		{
			"a value less, through a reference", `{"additionalProperties":{"$ref":"#/definitions/E2"}}`, `{"additionalProperties":{"$ref":"#/definitions/E1"}}`,
			[]string{`{} values "b"→ !`}, []string{`{} values "b"→`},
		},
		{
			"a limit", `{"type":"string"}`, `{"type":"string","minLength":1}`,
			[]string{" limit no minLength→minLength 1 !"}, []string{" limit no minLength→minLength 1 !"},
		},
		{
			"forms told apart by a member", `{"oneOf":[{"$ref":"#/definitions/F1"},{"$ref":"#/definitions/F2"}]}`, `{"oneOf":[{"$ref":"#/definitions/F2"},{"$ref":"#/definitions/F3"}]}`,
			[]string{"(t=one) form_removed !", "(t=three) form_added"}, []string{"(t=one) form_removed", "(t=three) form_added !"},
		},
		{
			"a change inside a form", `{"oneOf":[{"$ref":"#/definitions/F1"},{"$ref":"#/definitions/F2"}]}`, `{"oneOf":[{"$ref":"#/definitions/F1"},{"type":"object","required":["t"],"properties":{"t":{"enum":["two"]},"x":{}}}]}`,
			[]string{"(t=two).x added →optional"}, []string{"(t=two).x added →optional"},
		},
		{
			"one form becomes two", `{"type":"object","required":["a"],"properties":{"a":{}}}`, `{"type":"object","anyOf":[{"required":["a"],"properties":{"a":{}}},{"required":["b"],"properties":{"b":{}}}]}`,
			[]string{" forms →a, b !"}, []string{" forms →a, b !"},
		},
		{
			"a schema that holds itself", `{"$ref":"#/definitions/Tree"}`, `{"$ref":"#/definitions/Tree"}`, nil, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			defs := map[string]string{
				"E1": `{"enum":["a"]}`, "E2": `{"enum":["a","b"]}`,
				"Tree": `{"type":"object","properties":{"child":{"anyOf":[{"$ref":"#/definitions/Tree"},{"type":"null"}]}}}`,
			}
			for i, name := range []string{"one", "two", "three"} {
				defs[fmt.Sprint("F", i+1)] = `{"type":"object","required":["t"],"properties":{"t":{"enum":["` + name + `"]}}}`
			}
			both := [2]map[string]string{defs, defs}
			same := [2]string{`{}`, `{}`}
			for i, want := range [][]string{c.sent, c.received} {
				payloads := [2][2]string{same, same}
				payloads[i] = [2]string{c.old, c.new}
				old, new := twoVersions(payloads[0], payloads[1], both)
				report := schemas.Diff(old, new, nil)
				var got []string
				for _, change := range report.Changes {
					got = append(got, brief(change))
					dir, kind := to, schemas.Request
					if i == 1 {
						dir, kind = from, schemas.Result
					}
					if change.Method != "do" || change.Direction != dir || change.Kind != kind {
						t.Errorf("change of %s %s %s", change.Method, change.Direction, change.Kind)
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("payload %d: %s", i, d)
				}
				if report.Breaking() != len(slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.HasSuffix(s, "!") })) {
					t.Errorf("Breaking() = %d", report.Breaking())
				}
			}
		})
	}
}

func TestDiffTellsMethodsThatCameWentOrChangedStability(t *testing.T) {
	notification := func(name string, experimental bool) schemas.Method {
		return schemas.Method{Name: name, Direction: from, Kind: schemas.Notification, Experimental: experimental}
	}
	old := schemas.Bundle{Methods: []schemas.Method{notification("gone", false), notification("stays", true), notification("other", false)}}
	new := schemas.Bundle{Methods: []schemas.Method{notification("new", false), notification("stays", false), notification("other", false)}}
	var got []string
	for _, c := range schemas.Diff(old, new, []string{"gone", "stays", "new"}).Changes {
		got = append(got, c.Method+brief(c))
	}
	want := []string{"gone method_removed !", "new method_added !", "stays stability experimental→stable"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDiffOfTheCommittedVersionsReadsWell(t *testing.T) {
	old, err := bundled.Read("codex", "0.153.4")
	if err != nil {
		t.Fatal(err)
	}
	new, err := bundled.Read("codex", "0.171.0")
	if err != nil {
		t.Fatal(err)
	}
	report := schemas.Diff(old, new, []string{"turn/start", "item/completed", "currentTime/read", "error"})
	text := report.Text()
	for _, want := range []string{
		"codex 0.153.4 → 0.171.0: ",
		"currentTime/read (request, from provider)\n  ! the method is gone",
		`  ! item(type=agentMessage).phase: new values "partial_answer"`,
		"    item.startedAtMs: new, optional",
		`  ! error.codexErrorInfo: new values "bioPolicy"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "thread/") {
		t.Errorf("tells of methods nobody asked about:\n%s", text)
	}
	out, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var back schemas.Report
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(report, back); d != "" {
		t.Errorf("JSON loses something: %s", d)
	}
	if same := schemas.Diff(new, new, nil); len(same.Changes) != 0 || same.Methods < 200 {
		t.Errorf("a version differs from itself: %s", same.Text())
	}
}
