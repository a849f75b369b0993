package api_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/api/internal/typescript"
)

// compile runs the pinned TypeScript compiler on a folder with a tsconfig.json.
// Without it the test is skipped, which "go test" shows with -v or in this folder, and
// fails under AO_TYPESCRIPT=1.
func compile(t *testing.T, dir string) (string, error) {
	t.Helper()
	tsc, err := filepath.Abs(filepath.Join("ts", "node_modules", "typescript", "bin", "tsc"))
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(tsc)
	}
	if err != nil {
		why := "the TypeScript compiler is not installed; run: cd api/ts && npm ci"
		if os.Getenv("AO_TYPESCRIPT") == "1" {
			t.Fatalf("AO_TYPESCRIPT=1 and %s", why)
		}
		fmt.Fprintf(os.Stderr, "\n*** SKIPPED %s: %s ***\n\n", t.Name(), why)
		t.Skip(why)
	}
	out, err := exec.CommandContext(t.Context(), node, tsc, "--project", dir, "--pretty", "false").CombinedOutput()
	return string(out), err
}

func TestTheTypeScriptTypesCompileAndRefuseWhatTheServerRefuses(t *testing.T) {
	if out, err := compile(t, "ts"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheCompileTestNoticesAChangedType(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"index.d.ts", "example.ts", "tsconfig.json"} {
		b, err := os.ReadFile(filepath.Join("ts", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "index.d.ts" {
			changed := strings.Replace(string(b), "revision: number;\n  patch: SettingsPatch;", "revision: string;\n  patch: SettingsPatch;", 1)
			if changed == string(b) {
				t.Fatal("there is no type to change")
			}
			b = []byte(changed)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := compile(t, dir); err == nil || !strings.Contains(out, "example.ts") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTypeScriptGeneratorRefusesWhatItWouldLose(t *testing.T) {
	doc := func(schema string) []byte {
		return []byte(`{"paths":{},"components":{"schemas":{"A":` + schema + `}}}`)
	}
	for _, bad := range []string{`{"type":"number"}`, `{"type":"object","patternProperties":{}}`, `{"allOf":[]}`, `{"type":"object","properties":{"a":{"not":{}}}}`, `{"type":["string","null"]}`} {
		if out, err := typescript.Types(doc(bad)); err == nil {
			t.Errorf("%s became %s", bad, out)
		}
	}
	out, err := typescript.Types(doc(`{"description":"Ends here */ not.","type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"type":"string","enum":["x","y\"z"]}},"b":{"type":"object","additionalProperties":{"type":"boolean"}}},"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Ends here *\\/ not.", `a: Array<"x" | "y\"z">;`, "b?: Record<string, boolean>;", "export interface A {"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}
