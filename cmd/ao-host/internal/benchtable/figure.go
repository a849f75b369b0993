package benchtable

import (
	"fmt"
	"strconv"
	"strings"
)

// Figure is a row of the table: one metric of one benchmark.
type Figure struct {
	// What says in words what was measured.
	What string
	// Package is the end of the package's path, Name the benchmark without the prefix
	// "Benchmark", Unit the metric.
	Package, Name, Unit string
	// Over is a benchmark of the same package and unit that the figure is a multiple
	// of, empty for the metric itself.
	Over string
	// AtMost and AtLeast are the aim, in Unit or as a multiple; zero for none.
	AtMost, AtLeast float64
}

// Figures are those of the README.
var Figures = []Figure{
	{What: "step of the Codex binding on a message of 200 B, p50", Package: "host/internal/engine", Name: "CodexDelta/sandbox/200", Unit: "p50-ns"},
	{What: "the same on 1 KB", Package: "host/internal/engine", Name: "CodexDelta/sandbox/1024", Unit: "p50-ns", AtMost: 25_000},
	{What: "– as a multiple of the same code built natively", Package: "host/internal/engine", Name: "CodexDelta/sandbox/1024", Unit: "p50-ns", Over: "CodexDelta/native/1024", AtMost: 6},
	{What: "the same on 64 KB", Package: "host/internal/engine", Name: "CodexDelta/sandbox/65536", Unit: "p50-ns"},
	{What: "– as a multiple of the same code built natively", Package: "host/internal/engine", Name: "CodexDelta/sandbox/65536", Unit: "p50-ns", Over: "CodexDelta/native/65536"},
	{What: "schema check of a delta", Package: "schemas", Name: "SchemaCheckDelta", Unit: "ns/op", AtMost: 20_000},
	{What: "Codex deltas of 100 B, from the line on the pipe to the committed journal", Package: "host", Name: "Pipeline/delta=100B", Unit: "deltas/s", AtLeast: 30_000},
	{What: "ACP chunks of 100 B, the same way", Package: "host", Name: "PipelineACP/chunk=100B", Unit: "chunks/s", AtLeast: 30_000},
	{What: "ACP chunks of 4 KB", Package: "host", Name: "PipelineACP/chunk=4096B", Unit: "chunks/s", AtLeast: 8_000},
	{What: "memory for a burst of 100,000 deltas", Package: "host", Name: "Burst", Unit: "MiB-growth", AtMost: 64},
	{What: "memory for one line of 64 MiB, which is skipped", Package: "host", Name: "HugeLine", Unit: "MiB-growth", AtMost: 300},
	{What: "restored session whose history of 20,000 updates is absorbed, process start included", Package: "host", Name: "Reload", Unit: "s", AtMost: 2},
	{What: "memory for that", Package: "host", Name: "Reload", Unit: "MiB-growth"},
	{What: "start of a binding whose compiled code is cached", Package: "host/internal/engine", Name: "WarmLoad", Unit: "ns/op", AtMost: 120e6},
	{What: "journal rows of 100 B, streamed into the store", Package: "store", Name: "StoreAppend/streamed", Unit: "rows/s"},
	{What: "message sent, answered by the agent and its turn ended, each committed", Package: "host", Name: "Send", Unit: "ns/op"},
	{What: "the same through the API, p50", Package: "host", Name: "Prompt", Unit: "p50-µs", AtMost: 2_000},
	{What: "controls through the API, with 1,000 conversations, p95", Package: "host", Name: "HandlerControls", Unit: "p95-µs", AtMost: 3_000},
	{What: "events streamed to 20 subscribers, in sum", Package: "host", Name: "HandlerFanOut", Unit: "events/s", AtLeast: 50_000},
	{What: "command started, to the agent's first text in a warm session of a running daemon, p50", Package: "cmd/ao-host", Name: "CLIFirstChunk/daemon", Unit: "p50-ms", AtMost: 60},
	{What: "the same without a daemon, the harness's start included, p50", Package: "cmd/ao-host", Name: "CLIFirstChunk/without", Unit: "p50-ms", AtMost: 250},
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
