package cli_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/host"
)

// The program's own help sends people to this table, so a code that an error can
// have must be in it.
func TestCodesListsTheCodesOfTheHostOfTheSchemasAndOfTheCommandLine(t *testing.T) {
	out, _, code := invoke(t, coretest.New(), "codes", "--json")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var rows []struct{ Code, Advice string }
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, r := range rows {
		if r.Advice == "" || listed[r.Code] {
			t.Errorf("%q has no advice or is there twice", r.Code)
		}
		listed[r.Code] = true
	}
	want := []string{"usage", "failed", "schema_version_missing"}
	for _, c := range host.Codes() {
		want = append(want, string(c.Code))
	}
	schemas := constants(t, "../../../../schemas/errors.go")
	if len(schemas) == 0 {
		t.Fatal("the schemas have no codes")
	}
	for _, c := range append(want, schemas...) {
		if !listed[c] {
			t.Errorf("%q is not listed", c)
		}
	}
}

// constants are the values of the string constants of a Go file.
func constants(t *testing.T, name string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, s)
			}
		}
		return true
	})
	return out
}
