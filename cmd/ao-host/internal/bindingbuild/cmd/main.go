// Command cmd builds the first-party bindings into bindings-wasm, or with
// -check compares them with what is there. It is run by "make bindings" and
// "make bindings-check" in the root of a checkout.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/bindingbuild"
)

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	root := flag.String("root", ".", "the checkout")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	built, err := bindingbuild.All(context.Background(), root)
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "bindings-wasm")
	if !check {
		if err := bindingbuild.Write(dir, built); err != nil {
			return err
		}
		names := make([]string, 0, len(built))
		for name := range built {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Printf("bindings-wasm/%s: %d bytes\n", name, len(built[name]))
		}
		return nil
	}
	differences, err := bindingbuild.Compare(dir, built)
	if err != nil {
		return err
	}
	for _, d := range differences {
		_, _ = fmt.Fprintln(os.Stderr, "bindings-wasm: "+d)
	}
	if len(differences) > 0 {
		return fmt.Errorf("the committed bindings are not up to date; run: make bindings")
	}
	fmt.Printf("bindings-wasm: %d modules are what their sources build\n", len(built))
	return nil
}
