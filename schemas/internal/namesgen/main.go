// Command namesgen writes the names file of each binding from the committed
// schemas. Run it with `go generate ./schemas/...`.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/aoagents/ao-host/schemas/internal/names"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: namesgen MODULE_ROOT")
		os.Exit(2)
	}
	for _, f := range names.Files {
		text, err := f.Generate()
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], filepath.FromSlash(f.Path)), text, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "namesgen:", err)
			os.Exit(1)
		}
	}
}
