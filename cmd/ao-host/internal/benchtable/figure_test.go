package benchtable_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/benchtable"
)

var figures = []benchtable.Figure{
	{What: "appends", Package: "module/store", Name: "Append/batched", Unit: "rows/s", AtLeast: 200_000},
	{What: "an append", Package: "store", Name: "Append/batched", Unit: "ns/op", AtMost: 2e6},
	{What: "reading", Package: "store", Name: "Read", Unit: "ns/op"},
	{What: "– as a multiple", Package: "store", Name: "Append/batched", Unit: "ns/op", Over: "Read", AtMost: 6},
	{What: "reading elsewhere", Package: "abi", Name: "Read", Unit: "ns/op"},
	{What: "growth", Package: "abi", Name: "Grow", Unit: "MiB-growth", AtMost: 64},
	{What: "start", Package: "abi", Name: "Grow", Unit: "s", AtMost: 2},
}

func TestTheTableHasTheMedianOfEachFigureItsAimAndTheMachine(t *testing.T) {
	results, cpu, err := benchtable.Parse(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	got, err := benchtable.Table(figures, results, benchtable.Machine{CPU: cpu, Cores: 2, Go: "go9.9.9", OS: "linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	want := `Measured on A Processor @ 2.00GHz, 2 cores, linux/amd64, go9.9.9; the median of 3 runs.

| what | measured | aim | met |
|---|---:|---:|---|
| appends | 180,000 rows/s | ≥ 200,000 rows/s | no |
| an append | 1.20 ms | ≤ 2 ms | yes |
| reading | 13.3 ns |  |  |
| – as a multiple | 89955× | ≤ 6× | no |
| reading elsewhere | 2.35 ms |  |  |
| growth | 15.5 MiB | ≤ 64 MiB | yes |
| start | 1.50 s | ≤ 2 s | yes |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestAFigureThatWasNotMeasuredIsAnError(t *testing.T) {
	results, _, err := benchtable.Parse(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []benchtable.Figure{
		{Package: "store", Name: "Missing", Unit: "ns/op"},
		{Package: "store", Name: "Read", Unit: "rows/s"},
		{Package: "tore", Name: "Read", Unit: "ns/op"},
		{Package: "store", Name: "Read", Unit: "ns/op", Over: "Missing"},
	} {
		if table, err := benchtable.Table([]benchtable.Figure{f}, results, benchtable.Machine{}); err == nil {
			t.Errorf("%+v: %s", f, table)
		}
	}
}

// A benchmark that is renamed would be missed only after the hour that make bench takes.
func TestEveryFigureOfTheREADMEIsABenchmarkThatExists(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	figures, err := benchtable.ReadFigures(filepath.Join(root, "testdata", "bench-figures.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		for _, name := range []string{f.Name, f.Over} {
			name, _, _ = strings.Cut(name, "/")
			if name != "" && !declares(t, filepath.Join(root, filepath.FromSlash(f.Package)), "Benchmark"+name) {
				t.Errorf("%s has no Benchmark%s", f.Package, name)
			}
		}
	}
}

func declares(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name {
				return true
			}
		}
	}
	return false
}
