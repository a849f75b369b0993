package migrate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// quote is a piece of the guide that says which function it shows.
var quote = regexp.MustCompile("<!-- (examples/[a-z/]+\\.go) ([A-Za-z.]+) -->\n```go\n((?s:.*?))```\n")

// source is the text of a function, with its comment, as it stands in its file.
func source(t *testing.T, file, name string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return string(text[set.Position(f.Doc.Pos()).Offset:set.Position(f.End()).Offset]) + "\n"
		}
	}
	t.Fatalf("%s has no function %s", file, name)
	return ""
}

func TestTheCodeInTheGuideIsTheCodeOfTheExamples(t *testing.T) {
	root := filepath.Join("..", "..")
	guide, err := os.ReadFile(filepath.Join(root, "docs", "embedding.md"))
	if err != nil {
		t.Fatal(err)
	}
	quotes := quote.FindAllStringSubmatch(string(guide), -1)
	if len(quotes) < 4 {
		t.Fatalf("the guide quotes %d functions", len(quotes))
	}
	for _, q := range quotes {
		if want := source(t, filepath.Join(root, filepath.FromSlash(q[1])), q[2]); q[3] != want {
			t.Errorf("the guide shows of %s %s:\n%s\nit is:\n%s", q[1], q[2], q[3], want)
		}
	}
}
