package render_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi/internal/gen/render"
)

const abiDir = "../../.."

func TestEveryGeneratedFileIsUpToDate(t *testing.T) {
	files, err := render.All(os.DirFS(abiDir))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 4 {
		t.Errorf("%d files are generated, want 4", len(files))
	}
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join(abiDir, f.Name))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(strings.Split(string(got), "\n"), strings.Split(string(f.Data), "\n")); diff != "" {
			t.Errorf("%s is stale; run go generate ./abi (-file +generated)\n%s", f.Name, diff)
		}
	}
}

// pkg is a package abi of a few types; extra is added to its source, doc to its
// ABI.md.
func pkg(extra, doc string) fstest.MapFS {
	src := `package abi

const Version = "9.8"

// Event is an event. Exactly one member is set.
type Event struct {
	Now int64 ` + "`json:\"now\"`" + `
	Stop *Stop ` + "`json:\"stop,omitempty\"`" + `
}

// Effect is an effect.
type Effect struct {
	Log *Log ` + "`json:\"log,omitempty\"`" + `
}

// Manifest is the manifest.
type Manifest struct {
	Title string ` + "`json:\"title\"`" + `
}

// Stop stops (rule 9).
type Stop struct{}

// Log logs.
type Log struct {
	// Level: LevelHigh | LevelLow, see [Stop].
	Level Level ` + "`json:\"level\"`" + `
}

// Level is a level.
type Level string

const (
	// LevelHigh: shown.
	LevelHigh Level = "high"
	LevelLow  Level = "low"
)

// Hidden has no tags and is no wire type.
type Hidden struct{ n int }
` + extra
	all := doc + `
<!-- fields Event -->
<!-- end -->
<!-- fields Effect -->
<!-- end -->
<!-- fields Manifest -->
<!-- end -->
<!-- fields Stop -->
old
<!-- end -->
<!-- fields Log -->
<!-- end -->
<!-- values Level -->
<!-- end -->
after
`
	return fstest.MapFS{
		"abi.go":       {Data: []byte(src)},
		"abi_test.go":  {Data: []byte("package abi_test\ntype T struct{ X int }\n")},
		"codec_gen.go": {Data: []byte("this does not even parse")},
		"ABI.md":       {Data: []byte(all)},
	}
}

func TestTablesAreFilledAndTheTextAroundThemStays(t *testing.T) {
	files, err := render.All(pkg("", "before\n"))
	if err != nil {
		t.Fatal(err)
	}
	i := len(files) - 1
	if files[i].Name != "ABI.md" {
		t.Fatalf("the last file is %s", files[i].Name)
	}
	want := "before\n\n" + `<!-- fields Event -->

Event is an event. Exactly one member is set.

| member | type | | meaning |
|---|---|---|---|
| ` + "`now`" + ` | integer | always |  |
| ` + "`stop`" + ` | Stop |  | ` + "`stop`" + ` stops. |

<!-- end -->
<!-- fields Effect -->

Effect is an effect.

| member | type | | meaning |
|---|---|---|---|
| ` + "`log`" + ` | Log |  | ` + "`log`" + ` logs. |

<!-- end -->
<!-- fields Manifest -->

Manifest is the manifest.

| member | type | | meaning |
|---|---|---|---|
| ` + "`title`" + ` | string | always |  |

<!-- end -->
<!-- fields Stop -->

` + "`stop`" + ` stops.

It has no members.

<!-- end -->
<!-- fields Log -->

` + "`log`" + ` logs.

| member | type | | meaning |
|---|---|---|---|
| ` + "`level` | Level | always | `\"high\"` \\| `\"low\"`, see `stop`. |" + `

<!-- end -->
<!-- values Level -->

Level is a level.

| value | meaning |
|---|---|
| ` + "`\"high\"`" + ` | shown. |
| ` + "`\"low\"`" + ` |  |

<!-- end -->
after
`
	if diff := cmp.Diff(want, string(files[i].Data)); diff != "" {
		t.Error(diff)
	}
}

func TestTheGeneratorSaysWhatItCannotDo(t *testing.T) {
	field := func(typ, tag string) string {
		return "\ntype More struct {\n\tX " + typ + " `json:\"" + tag + "\"`\n}\n"
	}
	none := pkg("", "")
	none["abi.go"] = &fstest.MapFile{Data: []byte("package abi\n")}
	if _, err := render.All(none); err == nil || !strings.Contains(err.Error(), "no wire type Event") {
		t.Errorf("an empty package: %v", err)
	}
	for name, c := range map[string]struct{ extra, doc, want string }{
		"a float":            {field("float64", "x"), "", "More.X: type float64 is not supported"},
		"a map":              {field("map[string]string", "x"), "", "More.X: unsupported type expression"},
		"a pointer to basic": {field("*string", "x"), "", "More.X: only pointers to structs"},
		"slices of slices":   {field("[][]string", "x"), "", "More.X: only slices of plain values"},
		"a foreign type":     {field("Elsewhere", "x"), "", "More.X: type Elsewhere is neither"},
		"another tag option": {field("string", "x,string"), "", "More.X: json tag"},
		"no name":            {field("string", ",omitempty"), "", "More.X: json tag"},
		"a computed value":   {"\nconst More Level = \"a\" + \"b\"\n", "", "constant More"},
		"no table":           {field("string", "x"), "", "there is no table for More"},
		"an unknown table":   {"", "<!-- fields Nothing -->\n<!-- end -->\n", "table fields Nothing: there is no such type"},
		"a table twice":      {"", "<!-- fields Stop -->\n<!-- end -->\n", "table Stop is there twice"},
		"no end":             {"", "<!-- fields Stop -->\n", "table fields Stop has no end line"},
		"no table of values": {"\n// More is more.\ntype More string\n\nconst MoreA More = \"a\"\n", "", "there is no table for More"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render.All(pkg(c.extra, c.doc))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
