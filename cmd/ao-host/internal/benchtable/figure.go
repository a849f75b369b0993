package benchtable

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Figure is a row of the table: one metric of one benchmark.
type Figure struct {
	// What says in words what was measured.
	What string `json:"what"`
	// Package is the end of the package's path, Name the benchmark without the prefix
	// "Benchmark", Unit the metric.
	Package string `json:"package"`
	Name    string `json:"name"`
	Unit    string `json:"unit"`
	// Over is a benchmark of the same package and unit that the figure is a multiple
	// of, empty for the metric itself.
	Over string `json:"over"`
	// AtMost and AtLeast are the aim, in Unit or as a multiple; zero for none.
	AtMost  float64 `json:"at_most"`
	AtLeast float64 `json:"at_least"`
}

// ReadFigures reads a JSON array of figures. They are data because they name what is
// measured, bindings among it, which this program does not know.
func ReadFigures(file string) ([]Figure, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields()
	var figures []Figure
	if err := dec.Decode(&figures); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(figures) == 0 {
		return nil, fmt.Errorf("%s has no figures", file)
	}
	return figures, nil
}

func (f Figure) value(results []Result) (float64, error) {
	v, err := f.metric(results, f.Name)
	if err != nil || f.Over == "" {
		return v, err
	}
	over, err := f.metric(results, f.Over)
	if err != nil {
		return 0, err
	}
	return v / over, nil
}

func (f Figure) metric(results []Result, name string) (float64, error) {
	for _, r := range results {
		if r.Name == name && (r.Package == f.Package || strings.HasSuffix(r.Package, "/"+f.Package)) {
			if v, ok := r.Metrics[f.Unit]; ok && v > 0 {
				return v, nil
			}
			return 0, fmt.Errorf("the benchmark %s of %s has no %s; run make bench again", name, f.Package, f.Unit)
		}
	}
	return 0, fmt.Errorf("the benchmark %s of %s is not among the results; run make bench with all packages", name, f.Package)
}

// show writes a value with its unit in a form people read.
func (f Figure) show(v float64) string {
	switch {
	case f.Over != "":
		return significant(v) + "×"
	case f.Unit == "ns/op" || f.Unit == "p50-ns":
		return duration(v)
	case strings.HasSuffix(f.Unit, "-µs"):
		return duration(v * 1e3)
	case strings.HasSuffix(f.Unit, "-ms"):
		return duration(v * 1e6)
	case f.Unit == "s":
		return duration(v * 1e9)
	case f.Unit == "MiB-growth":
		return significant(v) + " MiB"
	}
	return thousands(v) + " " + f.Unit
}

// aim writes the aim and whether v meets it.
func (f Figure) aim(v float64) (aim, met string) {
	words := map[bool]string{true: "yes", false: "no"}
	switch {
	case f.AtMost > 0:
		return "≤ " + f.show(f.AtMost), words[v <= f.AtMost]
	case f.AtLeast > 0:
		return "≥ " + f.show(f.AtLeast), words[v >= f.AtLeast]
	}
	return "", ""
}

func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return significant(ns) + " ns"
	case ns < 1e6:
		return significant(ns/1e3) + " µs"
	case ns < 1e9:
		return significant(ns/1e6) + " ms"
	}
	return significant(ns/1e9) + " s"
}

// significant writes three significant digits, whole numbers in full.
func significant(v float64) string {
	switch {
	case v >= 100 || v == float64(int64(v)):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// thousands writes a number with its thousands apart.
func thousands(v float64) string {
	s := significant(v)
	if v < 1000 {
		return s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
