// Package bindingswasm holds the compiled modules of the first-party bindings.
//
// The .wasm files are built from bindings-src by "make bindings", byte for byte
// the same on every machine; "make bindings-check" proves it. They carry their
// manifest and schemas as custom sections and take the same path as a module
// that a stranger wrote: the only difference is that they need no consent,
// because installing the program was the consent.
package bindingswasm

import (
	_ "embed" // the modules
	"unsafe"
)

// The modules are strings, not files: reading a file would copy it, and a program
// that uses one binding would hold the bytes of all.
var (
	//go:embed claude.wasm
	claude string
	//go:embed codex.wasm
	codex string
	//go:embed grok.wasm
	grok string
	//go:embed kimchi.wasm
	kimchi string
)

var modules = []struct{ name, wasm string }{
	{"claude.wasm", claude}, {"codex.wasm", codex}, {"grok.wasm", grok}, {"kimchi.wasm", kimchi},
}

// Modules returns the modules in the order of their file names. The bytes are part
// of the program's read-only memory: to write to them ends the program.
func Modules() [][]byte {
	out := make([][]byte, 0, len(modules))
	for _, m := range modules {
		out = append(out, unsafe.Slice(unsafe.StringData(m.wasm), len(m.wasm)))
	}
	return out
}

// Names returns the file names of the modules, sorted.
func Names() []string {
	out := make([]string, 0, len(modules))
	for _, m := range modules {
		out = append(out, m.name)
	}
	return out
}
