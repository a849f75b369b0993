package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/aoagents/ao-host/api"
	"github.com/aoagents/ao-host/api/internal/openapi"
	"github.com/aoagents/ao-host/api/internal/typescript"
	"github.com/aoagents/ao-host/host"
)

func TestTheOpenAPIDocumentAndTheTypeScriptTypesAreUpToDate(t *testing.T) {
	doc, err := openapi.Document(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	types, err := typescript.Types(doc)
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile("ts/index.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]string{"openapi.json": {api.OpenAPI, string(doc)}, "ts/index.d.ts": {string(written), string(types)}} {
		if diff := cmp.Diff(strings.Split(pair[0], "\n"), strings.Split(pair[1], "\n")); diff != "" {
			t.Errorf("%s is stale; run: go generate ./api (-file +generated)\n%s", name, diff)
		}
	}
}

// object is any JSON object.
type object = map[string]any

func document(t *testing.T) (doc object) {
	t.Helper()
	if err := json.Unmarshal([]byte(api.OpenAPI), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestTheDocumentHasEachRouteOnceWithItsParametersAndBody(t *testing.T) {
	paths := document(t)["paths"].(object)
	total := 0
	for _, item := range paths {
		total += len(item.(object))
	}
	routes := host.Routes()
	if total != len(routes) {
		t.Errorf("%d operations for %d routes", total, len(routes))
	}
	for _, rt := range routes {
		item, _ := paths[rt.Path].(object)
		op, ok := item[strings.ToLower(rt.Method)].(object)
		if !ok || op["operationId"] != rt.ID {
			t.Errorf("%s %s is not there: %v", rt.Method, rt.Path, op["operationId"])
			continue
		}
		var params []string
		keyed := false
		for _, p := range asList(op["parameters"]) {
			switch p := p.(object); p["in"] {
			case "path":
				params = append(params, p["name"].(string))
			case "header":
				keyed = keyed || p["name"] == host.HeaderIdempotencyKey
			}
		}
		if !slices.Equal(params, rt.Params()) {
			t.Errorf("%s has the parameters %v, want %v", rt.ID, params, rt.Params())
		}
		if keyed != (rt.Key != host.KeyNone) {
			t.Errorf("%s: takes an idempotency key: %v", rt.ID, keyed)
		}
		// Every mutation but the probes, which change nothing durable.
		if rt.Method != http.MethodGet && rt.Key == host.KeyNone && rt.ID != "probe" && rt.ID != "diagnose" {
			t.Errorf("%s takes no idempotency key", rt.ID)
		}
		if (op["requestBody"] != nil) != (rt.Body != nil) {
			t.Errorf("%s: body %v", rt.ID, op["requestBody"])
		}
		if s, _ := op["summary"].(string); s == "" || strings.Contains(s, "\n") {
			t.Errorf("%s has the summary %q", rt.ID, s)
		}
	}
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

// TestEveryReferenceLeadsToASchemaAndEverySchemaIsUsed also compiles each schema.
func TestEveryReferenceLeadsToASchemaAndEverySchemaIsUsed(t *testing.T) {
	schemas := document(t)["components"].(object)["schemas"].(object)
	used := map[string]bool{"EndEvent": true} // named in words by the stream
	for _, m := range regexp.MustCompile(`"#/components/schemas/(\w+)"`).FindAllStringSubmatch(api.OpenAPI, -1) {
		used[m[1]] = true
		if schemas[m[1]] == nil {
			t.Errorf("nothing is named %s", m[1])
		}
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("openapi.json", strings.NewReader(api.OpenAPI)); err != nil {
		t.Fatal(err)
	}
	for name := range schemas {
		if !used[name] {
			t.Errorf("%s is not used", name)
		}
		if _, err := c.Compile("openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemasOfRequestsAreClosedAndThoseOfAnswersOpen(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("openapi.json", strings.NewReader(api.OpenAPI)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		schema, value string
		ok            bool
	}{
		{"SettingsChange", `{"revision":1,"patch":{"mode":"","permission":"","options":{"a":"b"}}}`, true},
		{"SettingsChange", `{"revision":1,"patch":{"permission":"auto"}}`, true},
		{"SettingsChange", `{"revision":1,"patch":{"permission":"root"}}`, false},
		{"SettingsChange", `{"revision":1}`, false},
		{"SettingsChange", `{"revision":1,"patch":{"mod":"x"}}`, false},
		{"SettingsChange", `{"revision":1.5,"patch":{}}`, false},
		{"NewConversation", `{"harness":"x","cwd":"/"}`, true},
		{"NewConversation", `{"harness":"x"}`, false},
		{"Message", `{"content":[{"type":"image","media":"image/png","bytes":"aGk="}]}`, true},
		{"Message", `{"content":[{"type":"video"}]}`, false},
		{"Answer", `{}`, true},
		{"Problem", `{"type":"urn:x","title":"x","status":400,"code":"resync","new":1}`, true},
		{"Event", `{"seq":1,"at":"2026-11-30T00:00:00Z","type":"catalog","new":1}`, true},
		{"Event", `{"seq":1,"at":"2026-11-30T00:00:00Z","type":"queue","body":{"held":true,"reason":"stopped"}}`, true},
		{"Event", `{"seq":1,"at":"2026-11-30T00:00:00Z","type":"queue"}`, false},
		{"Event", `{"seq":1,"at":"2026-11-30T00:00:00Z","type":"delta","body":{"item":"a"}}`, false},
		{"Event", `{"seq":-1,"at":"2026-11-30T00:00:00Z","type":"catalog"}`, false},
	} {
		s, err := c.Compile("openapi.json#/components/schemas/" + tc.schema)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal([]byte(tc.value), &v); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); (err == nil) != tc.ok {
			t.Errorf("%s %s: %v", tc.schema, tc.value, err)
		}
	}
}

func TestStatusesOfAnOperationAreThoseOfTheCodesItsCommentNames(t *testing.T) {
	op := document(t)["paths"].(object)["/v1/conversations/{conversation}/settings"].(object)["patch"].(object)["responses"].(object)
	for status, code := range map[string]host.Code{"409": host.CodeStaleRevision, "422": host.CodeUnknownMode, "404": host.CodeUnknownConversation, "413": host.CodeMessageTooLarge} {
		r, _ := op[status].(object)
		if text, _ := r["description"].(string); !strings.Contains(text, "`"+string(code)+"`") {
			t.Errorf("%s: %q does not name %s", status, text, code)
		}
	}
}
