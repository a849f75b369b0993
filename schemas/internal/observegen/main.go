// Command observegen infers the bundles of schemas/observed from the committed
// recordings. Run it with `go generate ./schemas/...`.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/aoagents/ao-host/schemas"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: observegen MODULE_ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "observegen:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	list, err := schemas.ReadObservations(os.DirFS(root), "schemas/observed")
	if err != nil {
		return err
	}
	bundled := filepath.Join(root, "schemas", "bundled")
	for _, o := range list {
		if _, err := schemas.Observe(o, schemas.ObserveOptions{Root: os.DirFS(root), Tree: os.DirFS(bundled), Out: bundled}); err != nil {
			return fmt.Errorf("%s %s: %w", o.Provider, o.Version, err)
		}
	}
	return nil
}
