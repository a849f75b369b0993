package bindingswasm_test

import (
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

func TestTheCallerMayChangeWhatItGets(t *testing.T) {
	bindingswasm.Modules()[0][0] = 'x'
	if again := bindingswasm.Modules()[0]; again[0] != 0 {
		t.Error("a change shows in the next copy")
	}
}
