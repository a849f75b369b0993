// Command gen writes everything that is derived from the type declarations of
// package abi: the codec, the effect methods of the guest SDK, the JSON Schema
// and the field tables of ABI.md. Run it with "go generate ./abi".
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/aoagents/ao-host/abi/internal/gen/render"
)

func main() {
	dir := flag.String("dir", ".", "folder of package abi")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	files, err := render.All(os.DirFS(dir))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := root.WriteFile(f.Name, f.Data, 0o644); err != nil {
			return errors.Join(err, root.Close())
		}
	}
	return root.Close()
}
