package codex_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generatedFile holds the names that schemas/ generates.
const generatedFile = "names_gen.go"

// source is the binding's own code, without tests.
type source struct {
	fset  *token.FileSet
	files map[string]*ast.File
	// names are the generated constants, value by name.
	names map[string]string
}

func parseSource(t testing.TB) source {
	t.Helper()
	s := source{fset: token.NewFileSet(), files: map[string]*ast.File{}, names: map[string]string{}}
	all, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.files[name], err = parser.ParseFile(s.fset, name, text, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range s.files[generatedFile].Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s.names[v.Names[0].Name], _ = strconv.Unquote(lit.Value)
			}
		}
	}
	delete(s.names, "SchemaVersions")
	if len(s.names) < 300 {
		t.Fatalf("only %d generated names found", len(s.names))
	}
	return s
}

// literalMethods lists the Method members of the composite literals of an ABI
// type, resolved to the wire's names, sorted.
func (s source) literalMethods(typ string) []string {
	found := map[string]bool{}
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if sel, ok := lit.Type.(*ast.SelectorExpr); !ok || sel.Sel.Name != typ {
				return true
			}
			for _, e := range lit.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if !ok || kv.Key.(*ast.Ident).Name != "Method" {
					continue
				}
				if id, ok := kv.Value.(*ast.Ident); ok {
					found[s.names[id.Name]] = true
				} else {
					found["not a generated name"] = true
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// ourOwn are words of the ABI or of our codes that happen to be spelled like a
// name of the provider, by the file they stand in.
var ourOwn = map[string][]string{
	// Setting fields of a problem.
	"submit.go": {"mode", "model", "effort"},
	// Names of metrics and progress states.
	"notification.go": {"pending", "running", "completed"},
	// Members of the saved state.
	"state.go": nil,
	// A word looked for in a sentence.
	"open.go": {"unauthorized"},
	// The tool classes of an interaction.
	"approval.go": {"other"},
	// JSON itself.
	"permission.go": {"false", "true"},
}

func TestPayloadsAreBuiltFromGeneratedNames(t *testing.T) {
	s := parseSource(t)
	values := map[string]string{}
	for name, value := range s.names {
		values[value] = name
	}
	for name, f := range s.files {
		if own, ok := ourOwn[name]; name == generatedFile || ok && own == nil {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			if generated, ok := values[text]; ok && !slices.Contains(ourOwn[name], text) {
				t.Errorf("%s: %s is a name of the provider; use %s", s.fset.Position(lit.Pos()), lit.Value, generated)
			}
			return true
		})
	}
}

// No reflection, no formatting and no second JSON decoder in the sandbox: they
// are slow there and make the module large.
func TestTheReducerImportsNothingHeavy(t *testing.T) {
	allowed := []string{"errors", "strconv", "strings", "github.com/aoagents/ao-host/abi", "github.com/aoagents/ao-host/abi/guest", "github.com/aoagents/ao-host/abi/jsonwire", "github.com/aoagents/ao-host/bindings-src/lists", "github.com/aoagents/ao-host/bindings-src/savedstate"}
	for name, f := range parseSource(t).files {
		for _, i := range f.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
