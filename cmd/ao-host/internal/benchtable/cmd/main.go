// Command cmd writes benchmark results into the table of a document; see
// "make bench-table".
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/benchtable"
)

func main() {
	in := flag.String("in", "", "output of go test -bench")
	figures := flag.String("figures", "", "the figures to show")
	into := flag.String("into", "README.md", "document with the markers")
	flag.Parse()
	if err := run(*in, *figures, *into); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in, figuresFile, into string) error {
	figures, err := benchtable.ReadFigures(figuresFile)
	if err != nil {
		return err
	}
	f, err := os.Open(in)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	results, cpu, err := benchtable.Parse(f)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	if cpu == "" {
		cpu = runtime.GOARCH
	}
	doc, err := os.ReadFile(into)
	if err != nil {
		return err
	}
	table, err := benchtable.Table(figures, results, benchtable.Machine{
		CPU: cpu, Cores: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	out, err := benchtable.Replace(doc, table)
	if err != nil {
		return fmt.Errorf("%s: %w", into, err)
	}
	return os.WriteFile(into, out, 0o644)
}
