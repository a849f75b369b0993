// Package render derives files from the type declarations of package abi. It
// reads the source instead of reflecting over the types, because the comments
// are wanted too and because the generator must run when the generated codec
// does not compile yet.
package render

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Model is what package abi declares.
type Model struct {
	// Version is the constant of that name.
	Version string
	Structs []*Struct
	Enums   []*Enum
}

// Struct is one wire object.
type Struct struct {
	Name   string
	Doc    string
	Fields []*Field
}

// Field is one member.
type Field struct {
	Name string
	// JSON is the member's name on the wire.
	JSON      string
	OmitEmpty bool
	Type      Type
	Doc       string
}

// Kind says how a type looks on the wire.
type Kind int

// The kinds of types that package abi may use.
const (
	String Kind = iota
	Int
	Bool
	Raw
	Enumerated
	Object
)

// Type is the type of a field.
type Type struct {
	Kind Kind
	// Name is the Go name of an Object or Enumerated.
	Name    string
	Pointer bool
	Slice   bool
}

// Enum is a named string type and its constants in source order.
type Enum struct {
	Name   string
	Doc    string
	Values []Value
}

// Value is one constant.
type Value struct {
	Name  string
	Value string
	Doc   string
}

// Load reads the type files in dir: every Go file that is neither a test nor
// generated. A struct counts as a wire type when all of its fields carry a json
// tag.
func Load(dir fs.FS) (*Model, error) {
	names, err := fs.Glob(dir, "*.go")
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, n := range names {
		if strings.HasSuffix(n, "_test.go") || strings.HasSuffix(n, "_gen.go") {
			continue
		}
		src, err := fs.ReadFile(dir, n)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, n, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	m := &Model{}
	for _, f := range files {
		for _, s := range typeSpecs(f) {
			if id, ok := s.Type.(*ast.Ident); ok && id.Name == "string" {
				m.Enums = append(m.Enums, &Enum{Name: s.Name.Name, Doc: text(s.Doc)})
			}
		}
	}
	for _, f := range files {
		if err := m.constants(f); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		for _, s := range typeSpecs(f) {
			st, ok := s.Type.(*ast.StructType)
			if !ok || !isWire(st) {
				continue
			}
			if err := m.addStruct(s, st); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range m.Structs {
		for _, f := range s.Fields {
			if f.Type.Kind == Object && m.Struct(f.Type.Name) == nil {
				return nil, fmt.Errorf("%s.%s: type %s is neither a wire struct nor a string type", s.Name, f.Name, f.Type.Name)
			}
		}
	}
	return m, nil
}

// Struct returns the struct of that name, or nil.
func (m *Model) Struct(name string) *Struct {
	i := slices.IndexFunc(m.Structs, func(s *Struct) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return m.Structs[i]
}

// Enum returns the string type of that name, or nil.
func (m *Model) Enum(name string) *Enum {
	i := slices.IndexFunc(m.Enums, func(e *Enum) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return m.Enums[i]
}

func typeSpecs(f *ast.File) []*ast.TypeSpec {
	var out []*ast.TypeSpec
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			s := s.(*ast.TypeSpec)
			if s.Doc == nil {
				s.Doc = g.Doc
			}
			if s.Name.IsExported() {
				out = append(out, s)
			}
		}
	}
	return out
}

func isWire(st *ast.StructType) bool {
	for _, f := range st.Fields.List {
		if f.Tag == nil || len(f.Names) != 1 {
			return false
		}
	}
	return true
}

func (m *Model) constants(f *ast.File) error {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			s := s.(*ast.ValueSpec)
			id, ok := s.Type.(*ast.Ident)
			if !ok {
				if lit, ok := firstValue(s).(*ast.BasicLit); ok && s.Names[0].Name == "Version" {
					m.Version = strings.Trim(lit.Value, `"`)
				}
				continue
			}
			e := m.Enum(id.Name)
			if e == nil {
				continue
			}
			lit, ok := firstValue(s).(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || len(s.Names) != 1 {
				return fmt.Errorf("constant %s: want one name and one string literal", s.Names[0].Name)
			}
			v, err := strconv.Unquote(lit.Value)
			if err != nil {
				return err
			}
			e.Values = append(e.Values, Value{Name: s.Names[0].Name, Value: v, Doc: text(s.Doc)})
		}
	}
	return nil
}

// firstValue is nil for a constant that repeats the expression before it.
func firstValue(s *ast.ValueSpec) ast.Expr {
	if len(s.Values) == 0 {
		return nil
	}
	return s.Values[0]
}

func (m *Model) addStruct(spec *ast.TypeSpec, st *ast.StructType) error {
	s := &Struct{Name: spec.Name.Name, Doc: text(spec.Doc)}
	for _, f := range st.Fields.List {
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return err
		}
		name, opts, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "" || name == "-" || opts != "" && opts != "omitempty" {
			return fmt.Errorf("%s.%s: json tag %q is not supported", s.Name, f.Names[0].Name, tag)
		}
		t, err := m.typeOf(f.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", s.Name, f.Names[0].Name, err)
		}
		s.Fields = append(s.Fields, &Field{
			Name: f.Names[0].Name, JSON: name, OmitEmpty: opts == "omitempty", Type: t, Doc: text(f.Doc),
		})
	}
	m.Structs = append(m.Structs, s)
	return nil
}

func (m *Model) typeOf(e ast.Expr) (Type, error) {
	switch e := e.(type) {
	case *ast.Ident:
		switch {
		case e.Name == "string":
			return Type{Kind: String}, nil
		case e.Name == "int64":
			return Type{Kind: Int}, nil
		case e.Name == "bool":
			return Type{Kind: Bool}, nil
		case e.Name == "Raw":
			return Type{Kind: Raw}, nil
		case m.Enum(e.Name) != nil:
			return Type{Kind: Enumerated, Name: e.Name}, nil
		case e.IsExported():
			return Type{Kind: Object, Name: e.Name}, nil
		}
		return Type{}, fmt.Errorf("type %s is not supported: use string, int64, bool, Raw, a string type or a struct", e.Name)
	case *ast.StarExpr:
		t, err := m.typeOf(e.X)
		if err == nil && (t.Kind != Object || t.Slice || t.Pointer) {
			err = fmt.Errorf("only pointers to structs are supported")
		}
		t.Pointer = true
		return t, err
	case *ast.ArrayType:
		t, err := m.typeOf(e.Elt)
		if err == nil && (e.Len != nil || t.Slice || t.Pointer) {
			err = fmt.Errorf("only slices of plain values are supported")
		}
		t.Slice = true
		return t, err
	}
	return Type{}, fmt.Errorf("unsupported type expression %T", e)
}

// text is a doc comment as one paragraph.
func text(c *ast.CommentGroup) string {
	return strings.Join(strings.Fields(c.Text()), " ")
}
