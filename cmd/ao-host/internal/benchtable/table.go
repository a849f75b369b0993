// Package benchtable turns the output of go test -bench into the table of the
// README, and names the machine it was measured on.
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

// Table writes the results as Markdown. Metrics that are neither time nor
// memory are in the column "also".
func Table(results []Result, m Machine) string {
	runs := 0
	for _, r := range results {
		runs = max(runs, r.Runs)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, %d cores, %s, %s; the median of %d runs.\n\n", m.CPU, m.Cores, m.OS, m.Go, runs)
	b.WriteString("| package | benchmark | time | allocated | also |\n|---|---|---:|---:|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", shortPackage(r.Package), r.Name, duration(r.Metrics["ns/op"]), memory(r.Metrics), also(r.Metrics))
	}
	return b.String()
}

// shortPackage leaves the host name and the module out.
func shortPackage(p string) string {
	parts := strings.Split(p, "/")
	if len(parts) > 3 && strings.Contains(parts[0], ".") {
		return strings.Join(parts[3:], "/")
	}
	return p
}

func duration(ns float64) string {
	switch {
	case ns == 0:
		return "–"
	case ns < 1e3:
		return significant(ns) + " ns"
	case ns < 1e6:
		return significant(ns/1e3) + " µs"
	case ns < 1e9:
		return significant(ns/1e6) + " ms"
	}
	return significant(ns/1e9) + " s"
}

func memory(m map[string]float64) string {
	bytes, ok := m["B/op"]
	if !ok {
		return "–"
	}
	size := significant(bytes) + " B"
	switch {
	case bytes >= 1<<20:
		size = significant(bytes/(1<<20)) + " MiB"
	case bytes >= 1<<10:
		size = significant(bytes/(1<<10)) + " KiB"
	}
	return fmt.Sprintf("%s, %s×", size, significant(m["allocs/op"]))
}

func also(m map[string]float64) string {
	var units []string
	for u := range m {
		if u != "ns/op" && u != "B/op" && u != "allocs/op" {
			units = append(units, u)
		}
	}
	slices.Sort(units)
	for i, u := range units {
		units[i] = significant(m[u]) + " " + u
	}
	return strings.Join(units, ", ")
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
