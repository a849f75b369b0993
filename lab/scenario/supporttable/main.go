// Command supporttable writes what the scenarios showed into the table of a document;
// see "make support-table".
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/aoagents/ao-host/lab/scenario"
)

func main() {
	in := flag.String("in", "host/testdata/support.json", "what the tests of package host wrote down")
	into := flag.String("into", "README.md", "document with the lines of the table")
	flag.Parse()
	if err := run(*in, *into); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in, into string) error {
	data, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	rows, err := scenario.ReadSupport(data)
	if err != nil {
		return err
	}
	doc, err := os.ReadFile(into)
	if err != nil {
		return err
	}
	if doc, err = scenario.Replace(doc, scenario.Table(rows)); err != nil {
		return fmt.Errorf("%s: %w", into, err)
	}
	return os.WriteFile(into, doc, 0o644)
}
