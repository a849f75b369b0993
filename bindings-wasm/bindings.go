// Package bindingswasm holds the compiled modules of the first-party bindings.
//
// The .wasm files are built from bindings-src by "make bindings", byte for byte
// the same on every machine; "make bindings-check" proves it. They carry their
// manifest and schemas as custom sections and take the same path as a module
// that a stranger wrote: the only difference is that they need no consent,
// because installing the program was the consent.
package bindingswasm

import (
	"embed"
	"io/fs"
	"path"
)

//go:embed *.wasm
var files embed.FS

// Modules returns the modules in the order of their file names. The caller may
// keep and change the slices.
func Modules() [][]byte {
	var out [][]byte
	for _, name := range Names() {
		b, err := files.ReadFile(name)
		if err != nil {
			// The name was listed by the same read-only file system.
			panic(err)
		}
		out = append(out, b)
	}
	return out
}

// Names returns the file names of the modules, sorted.
func Names() []string {
	// Sorted by the documentation of fs.Glob's ReadDir; the pattern is constant
	// and well formed, so there is no error.
	names, _ := fs.Glob(files, "*.wasm")
	for i, n := range names {
		names[i] = path.Base(n)
	}
	return names
}
