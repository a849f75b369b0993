package schemas_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// generate runs the test binary as the provider.
func generate(t *testing.T, mode, out string, day int) (schemas.Bundle, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs(filepath.Join("testdata", "generator"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("SCHEMAS_TEST_GENERATOR", mode)
	t.Setenv("SCHEMAS_TEST_DATA", data)
	t.Setenv("SCHEMAS_TEST_REAL_HOME", home)
	t.Setenv("CODEX_HOME", home)
	return schemas.Generate(t.Context(), schemas.GenerateOptions{
		Provider: "codex", Command: []string{self}, Out: out, Timeout: time.Minute,
		Now: func() time.Time { return time.Date(2026, 3, day, 23, 0, 0, 0, time.UTC) },
	})
}

// wantCode fails unless err is an *Error with the code, and returns its message.
func wantCode(t *testing.T, err error, code string) string {
	t.Helper()
	var e *schemas.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want an error of code %s", err, code)
	}
	return e.Message
}

func TestGenerateWritesOneNormalisedBundleWithItsProvenance(t *testing.T) {
	out := t.TempDir()
	made, err := generate(t, "ok", out, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := schemas.Read(os.DirFS(out), "codex", "9.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if b.Provenance.Digest != made.Provenance.Digest {
		t.Errorf("the file has digest %s, the returned bundle %s", b.Provenance.Digest, made.Provenance.Digest)
	}
	p := b.Provenance
	if p.Provider != "codex" || p.Version != "9.1.0" || p.Package != "@openai/codex" || p.Generated != "2026-03-01" || p.Licence != "Apache-2.0" {
		t.Errorf("provenance %+v", p)
	}
	if strings.Join(p.Command, " ") != "codex app-server generate-json-schema --experimental --out OUT" {
		t.Errorf("command %q", p.Command)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "thing/guess") {
		t.Errorf("notes %q, want one about the method whose result nobody knows", p.Notes)
	}

	type row struct {
		dir          schemas.Direction
		kind         schemas.Kind
		params       string
		optional     bool
		result       string
		experimental bool
	}
	for name, want := range map[string]row{
		"thing/start":    {schemas.ToProvider, schemas.Request, `{"$ref":"#/definitions/ThingStartParams"}`, false, `{"$ref":"#/definitions/ThingStartResponse"}`, false},
		"thing/secret":   {schemas.ToProvider, schemas.Request, `{"anyOf":[{"$ref":"#/definitions/ThingSecretParams"},{"type":"null"}]}`, true, `{"$ref":"#/definitions/ThingSecretResponse"}`, true},
		"thing/guess":    {schemas.ToProvider, schemas.Request, `{"type":"null"}`, true, ``, false},
		"account/logout": {schemas.ToProvider, schemas.Request, `{"type":"null"}`, true, `{"$ref":"#/definitions/LogoutAccountResponse"}`, false},
		"initialized":    {schemas.ToProvider, schemas.Notification, ``, true, ``, false},
		"ask":            {schemas.FromProvider, schemas.Request, `{"$ref":"#/definitions/AskParams"}`, false, `{"$ref":"#/definitions/AskResponse"}`, false},
		"thing/changed":  {schemas.FromProvider, schemas.Notification, `{"$ref":"#/definitions/ThingChangedNotification"}`, false, ``, false},
	} {
		m, ok := b.Method(name, want.dir, want.kind)
		got := row{m.Direction, m.Kind, string(m.Params), m.ParamsOptional, string(m.Result), m.Experimental}
		if !ok || got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for name, want := range map[string]string{
		// Annotations are gone, but a member called title is not one.
		"AskParams": `{"properties":{"clash":{"$ref":"#/definitions/root.Clash"},"title":{"type":"string"}},"type":"object"}`,
		// Two definitions of one name that differ are both kept.
		"Clash":      `{"type":"integer"}`,
		"root.Clash": `{"type":"string"}`,
		// Two that do not are one.
		"RequestId": `{"anyOf":[{"type":"string"},{"type":"integer"}]}`,
		// A described enum is an enum, a wrapped reference a reference.
		"How":         `{"enum":["fast","slow"],"type":"string"}`,
		"AskResponse": `{"properties":{"how":{"$ref":"#/definitions/How"}},"type":"object"}`,
	} {
		if got := string(b.Definitions[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if b.Definitions["ClientRequest"] != nil || b.Definitions["root.RequestId"] != nil {
		t.Error("the lists of methods or a double are still among the definitions")
	}
}

func TestGeneratingAgainChangesNothingUnlessTheSchemasChanged(t *testing.T) {
	out := t.TempDir()
	file := filepath.Join(out, "codex", "9.1.0", schemas.ProvenanceFile)
	for day := 1; day <= 2; day++ {
		if _, err := generate(t, "ok", out, day); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "2026-03-01") {
			t.Fatalf("day %d: %v %s", day, err, text)
		}
	}
	bundle := filepath.Join(filepath.Dir(file), schemas.BundleFile)
	if err := os.WriteFile(bundle, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := generate(t, "ok", out, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := schemas.Read(os.DirFS(out), "codex", "9.1.0"); err != nil {
		t.Errorf("a damaged bundle was not written again: %v", err)
	}
	if text, _ := os.ReadFile(file); !strings.Contains(string(text), "2026-03-03") {
		t.Errorf("the new bundle keeps the old day: %s", text)
	}
}

func TestGenerateSaysWhatWentWrong(t *testing.T) {
	if _, err := schemas.Generate(t.Context(), schemas.GenerateOptions{Provider: "nobody"}); !strings.Contains(wantCode(t, err, schemas.CodeProviderUnknown), `"codex"`) {
		t.Errorf("does not name the known providers: %v", err)
	}
	_, err := schemas.Generate(t.Context(), schemas.GenerateOptions{Provider: "codex", Command: []string{"no-such-program-here"}})
	if m := wantCode(t, err, schemas.CodeGeneratorFailed); !strings.Contains(m, "install") {
		t.Errorf("does not say what to do: %v", m)
	}
	_, err = generate(t, "fail", "", 1)
	if m := wantCode(t, err, schemas.CodeGeneratorFailed); !strings.Contains(m, "out of order") {
		t.Errorf("does not hold what the generator printed: %v", m)
	}
	_, err = generate(t, "foreign", "", 1)
	wantCode(t, err, schemas.CodeGeneratorOutput)
	_, err = generate(t, "shapeless", "", 1)
	wantCode(t, err, schemas.CodeGeneratorOutput)
}

func TestGenerateEndsAGeneratorThatHangs(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SCHEMAS_TEST_GENERATOR", "hang")
	start := time.Now()
	_, err = schemas.Generate(t.Context(), schemas.GenerateOptions{Provider: "codex", Command: []string{self}, Timeout: 200 * time.Millisecond})
	wantCode(t, err, schemas.CodeGeneratorFailed)
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %s", d)
	}
}

// The committed bundles are what the real programs write.
func TestCommittedBundlesAreWhatCodexGenerates(t *testing.T) {
	list, err := bundled.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Provider != "codex" {
			continue
		}
		t.Run(p.Version, func(t *testing.T) {
			h := lab.Require(t, "codex", p.Version)
			fresh, err := schemas.Generate(t.Context(), schemas.GenerateOptions{Provider: "codex", Command: []string{h.Path}})
			if err != nil {
				t.Fatal(err)
			}
			committed, err := bundled.Read("codex", p.Version)
			if err != nil {
				t.Fatal(err)
			}
			fresh.Provenance.Generated = committed.Provenance.Generated
			a, _ := json.Marshal(fresh.Provenance)
			b, _ := json.Marshal(committed.Provenance)
			if string(a) != string(b) {
				t.Errorf("generated now:\n%s\ncommitted:\n%s\nRun `ao-host schemas generate codex` with this version.", a, b)
			}
		})
	}
}

func TestProvidersAreListed(t *testing.T) {
	if got := schemas.Providers(); !slices.Contains(got, "codex") || !slices.IsSorted(got) {
		t.Errorf("Providers() = %q", got)
	}
}
