package acp_test

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

// source is the code of the reducer and its dialects, without tests.
type source struct {
	fset  *token.FileSet
	files map[string]*ast.File
	// names are the generated constants, value by name.
	names map[string]string
}

func parseSource(t testing.TB) source {
	t.Helper()
	s := source{fset: token.NewFileSet(), files: map[string]*ast.File{}, names: map[string]string{}}
	for _, dir := range []string{".", "../claude", "../grok", "../kimchi"} {
		all, err := filepath.Glob(filepath.Join(dir, "*.go"))
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
	if len(s.names) < 200 || len(s.files) < 15 {
		t.Fatalf("only %d generated names, %d files found", len(s.names), len(s.files))
	}
	return s
}

// literalMethods lists the Method members of the composite literals of an ABI type,
// resolved to the wire's names, sorted.
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

// Methods and members of payloads are written with generated names; a literal that is
// spelled like a method is a copy by hand.
func TestMethodsAreWrittenWithGeneratedNames(t *testing.T) {
	s := parseSource(t)
	methods := map[string]string{}
	for name, value := range s.names {
		if strings.HasPrefix(name, "Method") && strings.ContainsAny(value, "/_") {
			methods[value] = name
		}
	}
	for name, f := range s.files {
		if name == generatedFile {
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
			if generated, ok := methods[text]; ok {
				t.Errorf("%s: %s is a method; use %s", s.fset.Position(lit.Pos()), lit.Value, generated)
			}
			return true
		})
	}
}

// The keys of what is sent are generated: they are the second argument of the append
// functions.
func TestMembersOfPayloadsAreWrittenWithGeneratedNames(t *testing.T) {
	s := parseSource(t)
	values := map[string]string{}
	for name, value := range s.names {
		if strings.HasPrefix(name, "Field") {
			values[value] = name
		}
	}
	n := 0
	for name, f := range s.files {
		if name == "walker.go" {
			continue
		}
		ast.Inspect(f, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || fun.Sel.Name != "AppendField" && fun.Sel.Name != "AppendKey" {
				return true
			}
			n++
			lit, ok := call.Args[1].(*ast.BasicLit)
			if !ok {
				return true
			}
			if text, _ := strconv.Unquote(lit.Value); values[text] != "" {
				t.Errorf("%s: %s is a generated name; use %s", s.fset.Position(lit.Pos()), lit.Value, values[text])
			}
			return true
		})
	}
	if n < 50 {
		t.Fatalf("only %d members found", n)
	}
}

// No reflection, no formatting and no second JSON decoder in the sandbox: they are slow
// there and make the module large.
func TestTheReducersImportNothingHeavy(t *testing.T) {
	const module = "github.com/aoagents/ao-host/"
	allowed := []string{"errors", "strconv", "strings", module + "abi", module + "abi/guest", module + "abi/jsonwire", module + "bindings-src/acp", module + "bindings-src/lists", module + "bindings-src/savedstate"}
	for name, f := range parseSource(t).files {
		for _, i := range f.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

// The shared reducer knows no agent: what is particular is in a dialect.
func TestTheSharedReducerNamesNoAgent(t *testing.T) {
	for name, f := range parseSource(t).files {
		if strings.Contains(name, "..") || name == generatedFile {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				for _, agent := range []string{"claude", "grok", "kimchi", "codex"} {
					if strings.Contains(strings.ToLower(lit.Value), agent) {
						t.Errorf("%s: %s", name, lit.Value)
					}
				}
			}
			return true
		})
	}
}
