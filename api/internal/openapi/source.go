package openapi

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// source is what only the text of the packages tells: comments and the constants
// of string types. The keys are import path and name, as reflection gives them.
type source struct {
	types   map[string]string
	fields  map[string]map[string]string
	methods map[string]string
	values  map[string][]value
}

// value is one constant of a string type.
type value struct {
	value string
	doc   string
}

const modulePath = "github.com/aoagents/ao-host"

// readSource reads the packages of the module in root that the API is made of.
func readSource(root fs.FS) (*source, error) {
	s := &source{types: map[string]string{}, fields: map[string]map[string]string{}, methods: map[string]string{}, values: map[string][]value{}}
	for _, dir := range []string{"host", "abi"} {
		names, err := fs.Glob(root, dir+"/*.go")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_gen.go") {
				continue
			}
			src, err := fs.ReadFile(root, name)
			if err != nil {
				return nil, err
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			if err := s.read(modulePath+"/"+dir, f); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *source) read(pkg string, f *ast.File) error {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && len(d.Recv.List) == 1 {
				if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
					if id, ok := star.X.(*ast.Ident); ok && id.Name == "Host" {
						s.methods[d.Name.Name] = prose(d.Doc)
					}
				}
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch sp := spec.(type) {
				case *ast.TypeSpec:
					doc := sp.Doc
					if doc == nil {
						doc = d.Doc
					}
					s.readType(pkg, sp, doc)
				case *ast.ValueSpec:
					if err := s.readConst(pkg, d.Tok, sp); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (s *source) readType(pkg string, spec *ast.TypeSpec, doc *ast.CommentGroup) {
	key := pkg + "." + spec.Name.Name
	s.types[key] = prose(doc)
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	s.fields[key] = map[string]string{}
	for _, f := range st.Fields.List {
		text := prose(f.Doc)
		if text == "" {
			text = prose(f.Comment)
		}
		for _, n := range f.Names {
			s.fields[key][n.Name] = text
		}
	}
}

func (s *source) readConst(pkg string, tok token.Token, spec *ast.ValueSpec) error {
	id, ok := spec.Type.(*ast.Ident)
	if tok != token.CONST || !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
		return nil
	}
	lit, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return nil
	}
	v, err := strconv.Unquote(lit.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", spec.Names[0].Name, err)
	}
	key := pkg + "." + id.Name
	// The comment begins with the name of the constant, which the wire does not know.
	doc := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(prose(spec.Doc), spec.Names[0].Name), ":"))
	s.values[key] = append(s.values[key], value{v, doc})
	return nil
}

// docLink is a link to a Go name in a comment, which leads nowhere on the wire.
var docLink = regexp.MustCompile(`\[(\*?[A-Za-z]\w*(?:\.\w+)*)\]`)

// prose is the text of a comment: lines joined, paragraphs kept, links as words.
func prose(c *ast.CommentGroup) string {
	var paragraphs []string
	for p := range strings.SplitSeq(c.Text(), "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	return docLink.ReplaceAllString(strings.Join(paragraphs, "\n\n"), "$1")
}

func typeKey(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }
