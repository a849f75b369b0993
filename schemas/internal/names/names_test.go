package names_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/internal/names"
)

func TestTheCommittedNamesFilesAreWhatTheSchemasGive(t *testing.T) {
	for _, f := range names.Files {
		want, err := f.Generate()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(f.Path)))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what the committed schemas give; run `go generate ./schemas/...`", f.Path)
		}
	}
}

func bundle(methods []schemas.Method, defs map[string]string) schemas.Bundle {
	b := schemas.Bundle{Provenance: schemas.Provenance{Provider: "x", Version: "1.0"}, Methods: methods, Definitions: map[string]json.RawMessage{}}
	for name, d := range defs {
		b.Definitions[name] = json.RawMessage(d)
	}
	return b
}

func request(name, params string) schemas.Method {
	return schemas.Method{Name: name, Direction: schemas.ToProvider, Kind: schemas.Request, Params: json.RawMessage(params)}
}

func TestNamesFollowTheRule(t *testing.T) {
	b := bundle([]schemas.Method{
		request("turn/start", `{"$ref":"#/definitions/TurnStartParams"}`),
		request("_x.ai/ask_user", `{"type":"null"}`),
		request("other", `{"properties":{"notAsked":{}}}`),
	}, map[string]string{
		"TurnStartParams": `{"properties":{"threadId":{},"cwd":{},"reasoning_effort":{},"reasoningEffort":{},"approval":{"$ref":"#/definitions/AskForApproval"},"self":{"$ref":"#/definitions/TurnStartParams"},"policy":{"anyOf":[{"$ref":"#/definitions/SandboxPolicy"},{"type":"null"}]},"imageUrls":{"items":{"properties":{"url":{"const":"x y"}}}}}}`,
		"AskForApproval":  `{"enum":["never","on-request"]}`,
		"SandboxPolicy":   `{"oneOf":[{"properties":{"type":{"enum":["readOnly"]}}},{"properties":{"type":{"enum":["workspaceWrite"]},"sandboxPolicy":{"const":"both"}}}]}`,
	})
	text, err := names.Generate(names.Config{Package: "p", Methods: []string{"turn/*", "_x.ai/ask_user"}, Members: []string{"models"}}, []schemas.Bundle{b})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{
		"DO NOT EDIT. package p ", `const SchemaVersions = "1.0"`,
		`MethodTurnStart = "turn/start"`, `MethodXAiAskUser = "_x.ai/ask_user"`,
		`FieldThreadID = "threadId"`, `FieldCwd = "cwd"`, `FieldReasoningEffort = "reasoningEffort"`, `FieldReasoningEffortSnake = "reasoning_effort"`,
		`FieldURL = "url"`, `FieldImageUrls = "imageUrls"`,
		`EnumAskForApprovalOnRequest = "on-request"`, `EnumSandboxPolicyTypeReadOnly = "readOnly"`, `EnumSandboxPolicyTypeWorkspaceWrite = "workspaceWrite"`,
		`EnumTurnStartParamsImageUrlsURLXY = "x y"`, `EnumSandboxPolicyBoth = "both"`, `FieldModels = "models"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(got, "NotAsked") {
		t.Errorf("holds names of a method nobody asked for:\n%s", text)
	}
}

func TestNamesRefuseAMethodThatIsGone(t *testing.T) {
	_, err := names.Generate(names.Config{Package: "p", Methods: []string{"a", "b/*"}}, []schemas.Bundle{bundle([]schemas.Method{request("a", `{}`)}, nil)})
	if err == nil || !strings.Contains(err.Error(), "b/*") {
		t.Errorf("got %v", err)
	}
}

func TestNamesRefuseTwoValuesOfOneName(t *testing.T) {
	b := bundle([]schemas.Method{request("a", `{"properties":{"k":{"enum":["x y","xY"]}}}`)}, nil)
	if _, err := names.Generate(names.Config{Package: "p", Methods: []string{"a"}}, []schemas.Bundle{b}); err == nil {
		t.Error("one of the two was lost")
	}
}

func TestNamesTellTheProvidersApartWhereThereAreSeveral(t *testing.T) {
	a, b := bundle([]schemas.Method{request("a", `{}`)}, nil), bundle([]schemas.Method{request("a", `{}`)}, nil)
	b.Provenance.Provider, b.Provenance.Version = "y", "2.0"
	text, err := names.Generate(names.Config{Package: "p", Methods: []string{"a"}}, []schemas.Bundle{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `SchemaVersions = "x/1.0 y/2.0"`) {
		t.Errorf("%s", text)
	}
}

// A member that no schema has must at least have been seen.
func TestMembersBesideTheSchemasAreInARecording(t *testing.T) {
	var seen strings.Builder
	for _, pattern := range []string{"testdata/recordings/*/*.ndjson", "schemas/observed/noted/*/*.ndjson"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("no recordings in %s: %v", pattern, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			seen.Write(text)
		}
	}
	for _, f := range names.Files {
		for _, m := range f.Config.Members {
			if !strings.Contains(seen.String(), `"`+m+`":`) {
				t.Errorf("%s: nobody has seen the member %q", f.Path, m)
			}
		}
	}
}
