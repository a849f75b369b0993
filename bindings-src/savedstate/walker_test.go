package savedstate_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

type mode string

type inner struct {
	Name string
	Deep *inner
}

func (i *inner) walk(w *savedstate.Walker) {
	w.Str("name", &i.Name)
	savedstate.Optional(w, "deep", &i.Deep, (*inner).walk)
}

type outer struct {
	Text    string
	Mode    mode
	N       int64
	On      bool
	Names   []string
	Inner   inner
	Missing *inner
	List    []inner
	Open    abi.Open
	Choices []abi.ModeChoice
}

func (o *outer) walk(w *savedstate.Walker) {
	w.Str("text", &o.Text)
	savedstate.Text(w, "mode", &o.Mode)
	w.Int("n", &o.N)
	w.Bool("on", &o.On)
	w.Strs("names", &o.Names)
	w.Object("inner", o.Inner.walk)
	savedstate.Optional(w, "missing", &o.Missing, (*inner).walk)
	savedstate.List(w, "list", &o.List, func(w *savedstate.Walker, i *inner) { i.walk(w) })
	w.Value("open", &o.Open)
	savedstate.Values(w, "choices", &o.Choices)
}

func read(t *testing.T, saved string) (o outer) {
	t.Helper()
	var d jsonwire.Decoder
	d.Reset([]byte(saved))
	savedstate.Read(&d, o.walk)
	if !d.End() {
		t.Fatalf("%s: %v", saved, d.Err())
	}
	return o
}

func TestWhatIsAppendedIsReadAgain(t *testing.T) {
	for name, o := range map[string]outer{
		"nothing": {},
		"everything": {
			Text: "a \"b\"", Mode: "plan", N: -3, On: true, Names: []string{"x", "", "y"},
			Inner: inner{Name: "i", Deep: &inner{Name: "d", Deep: &inner{}}}, List: []inner{{Name: "1"}, {}},
			Open: abi.Open{Generation: 2, Cwd: "/w"}, Choices: []abi.ModeChoice{{ID: "plan"}, {ID: "default"}},
		},
	} {
		saved := string(savedstate.Append(nil, o.walk))
		if diff := cmp.Diff(o, read(t, saved)); diff != "" {
			t.Errorf("%s, saved as %s (-want +got):\n%s", name, saved, diff)
		}
	}
}

func TestUnknownMembersAndOtherTypesAreReadAsNothing(t *testing.T) {
	got := read(t, `{"later":{"text":"no"},"text":"yes","n":"7","names":{"a":1},"inner":[1],"list":["x"]}`)
	if diff := cmp.Diff(outer{Text: "yes", List: []inner{{}}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Guests link this package.
func TestThePackageImportsNothingHeavy(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if i.Path.Value != `"github.com/aoagents/ao-host/abi/jsonwire"` {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
	}
}
