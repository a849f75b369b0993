// Package benchtable turns the output of go test -bench into the table of the
// README: the figures that have an aim, and the machine they were measured on.
package benchtable

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The markers in the file the table goes into; what is between them is
// replaced.
const (
	Begin = "<!-- bench:begin -->"
	End   = "<!-- bench:end -->"
)

// Machine says where the numbers come from. CPU is taken from the output when
// it names one.
type Machine struct {
	CPU   string
	Cores int
	Go    string
	OS    string
}

// Result is one benchmark with the median of each of its metrics.
type Result struct {
	Package string
	Name    string
	Runs    int
	// Metrics are by unit, for example "ns/op".
	Metrics map[string]float64
}

// Parse reads the output of go test -bench. Lines that are no results are
// passed over; an output without any is an error. The second result is the CPU
// that the output names.
func Parse(r io.Reader) ([]Result, string, error) {
	var order []string
	values := map[string]map[string][]float64{}
	pkg, cpu := "", ""
	scan := bufio.NewScanner(r)
	for scan.Scan() {
		line := scan.Text()
		if p, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = p
		}
		if c, ok := strings.CutPrefix(line, "cpu: "); ok {
			cpu = c
		}
		name, metrics, ok := parseLine(line)
		if !ok {
			continue
		}
		key := pkg + "\x00" + name
		if values[key] == nil {
			order = append(order, key)
			values[key] = map[string][]float64{}
		}
		for unit, v := range metrics {
			values[key][unit] = append(values[key][unit], v)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, "", err
	}
	if len(order) == 0 {
		return nil, "", errors.New("there are no benchmark results in the input")
	}
	out := make([]Result, 0, len(order))
	for _, key := range order {
		pkg, name, _ := strings.Cut(key, "\x00")
		res := Result{Package: pkg, Name: name, Metrics: map[string]float64{}}
		for unit, v := range values[key] {
			res.Metrics[unit] = median(v)
			res.Runs = max(res.Runs, len(v))
		}
		out = append(out, res)
	}
	return out, cpu, nil
}

// parseLine reads "BenchmarkName-2  100  12.3 ns/op  4 B/op".
func parseLine(line string) (string, map[string]float64, bool) {
	f := strings.Fields(line)
	if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
		return "", nil, false
	}
	if _, err := strconv.Atoi(f[1]); err != nil {
		return "", nil, false
	}
	name := strings.TrimPrefix(f[0], "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			name = name[:i]
		}
	}
	metrics := map[string]float64{}
	for i := 2; i < len(f); i += 2 {
		v, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return "", nil, false
		}
		metrics[f[i+1]] = v
	}
	return name, metrics, true
}

func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

// Table writes the figures as Markdown. Every figure must be among the results: a
// table must not get shorter unnoticed.
func Table(figures []Figure, results []Result, m Machine) (string, error) {
	runs := 0
	for _, r := range results {
		runs = max(runs, r.Runs)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, %d cores, %s, %s; the median of %d runs.\n\n", m.CPU, m.Cores, m.OS, m.Go, runs)
	b.WriteString("| what | measured | aim | met |\n|---|---:|---:|---|\n")
	for _, f := range figures {
		v, err := f.value(results)
		if err != nil {
			return "", err
		}
		aim, met := f.aim(v)
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.What, f.show(v), aim, met)
	}
	return b.String(), nil
}

// Replace puts the table between the markers of a document.
func Replace(doc []byte, table string) ([]byte, error) {
	from := bytes.Index(doc, []byte(Begin))
	to := bytes.Index(doc, []byte(End))
	if from < 0 || to < from {
		return nil, fmt.Errorf("the file has no lines %q and %q to put the table between", Begin, End)
	}
	out := slices.Clone(doc[:from+len(Begin)])
	out = append(out, "\n"+table...)
	return append(out, doc[to:]...), nil
}
