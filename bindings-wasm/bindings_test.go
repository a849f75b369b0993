package bindingswasm_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bindingswasm "github.com/aoagents/ao-host/bindings-wasm"

	"github.com/aoagents/ao-host/abi/module"
)

func TestEveryEmbeddedModuleIsAValidBindingNamedLikeItsFile(t *testing.T) {
	names, mods := bindingswasm.Names(), bindingswasm.Modules()
	if len(names) == 0 || len(names) != len(mods) || !slices.IsSorted(names) {
		t.Fatalf("%d modules with the names %q", len(mods), names)
	}
	for i, wasm := range mods {
		m, err := module.ReadManifest(wasm)
		if err == nil {
			err = module.Validate(m)
		}
		if err != nil {
			t.Errorf("%s: %v", names[i], err)
		}
		if want := m.Harness + ".wasm"; filepath.Base(names[i]) != want {
			t.Errorf("%s is the binding of %s", names[i], m.Harness)
		}
		if _, err := module.ReadSchemas(wasm); err != nil {
			t.Errorf("%s: %v", names[i], err)
		}
	}
}

func TestEveryModuleOfTheFolderIsEmbeddedAsItStands(t *testing.T) {
	files, err := filepath.Glob("*.wasm")
	if err != nil || !slices.Equal(files, bindingswasm.Names()) {
		t.Fatalf("files %q %v, embedded %q", files, err, bindingswasm.Names())
	}
	for i, wasm := range bindingswasm.Modules() {
		want, err := os.ReadFile(files[i])
		if err != nil || !bytes.Equal(wasm, want) {
			t.Errorf("%s differs: %v", files[i], err)
		}
	}
}

// A program that only lists the bindings must not copy them.
func TestTheModulesAreNotCopied(t *testing.T) {
	a, b := bindingswasm.Modules(), bindingswasm.Modules()
	for i := range a {
		if &a[i][0] != &b[i][0] {
			t.Errorf("module %d was copied", i)
		}
	}
}
