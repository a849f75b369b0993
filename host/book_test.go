package host_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/schemas"
)

// bookModule builds testdata/book, a dialect of a few lines over the shared reducer,
// and packs it with the schemas of the protocol, as the author of a binding does.
var bookModule = sync.OnceValues(func() ([]byte, error) {
	raw, err := buildGuest("book")
	if err != nil {
		return nil, err
	}
	manifest, err := os.ReadFile(filepath.Join("testdata", "book", "manifest.json"))
	if err != nil {
		return nil, err
	}
	m, err := module.DecodeManifest(manifest)
	if err != nil {
		return nil, err
	}
	// Those of the protocol, and the setter of models that it has given up.
	b, err := schemas.Read(os.DirFS(filepath.Join("..", "schemas", "bundled")), "claude", "0.49.0")
	if err != nil {
		return nil, err
	}
	b.Provenance.Provider, b.Provenance.Version = m.Harness, m.Provider.Versions[0]
	section, err := schemas.Pack([]schemas.Bundle{b}, schemas.UsedBy(m))
	if err != nil {
		return nil, err
	}
	return module.Pack(raw, manifest, section)
})

// dropBook puts the module into the bindings folder and allows it, as a person does. The
// host was built without it and is not built again.
func (r *rig) dropBook() {
	r.t.Helper()
	t := r.t.(*testing.T)
	wasm, err := bookModule()
	if err != nil {
		t.Fatal(err)
	}
	drop := filepath.Join(r.dir, "bindings")
	if err := os.MkdirAll(drop, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(drop, "book.wasm"), wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = r.h.Create(t.Context(), host.NewConversation{Harness: "book", Cwd: r.cwd})
	wantCode(t, err, host.CodeBindingNotAllowed)
	if _, err := r.h.AllowBinding(t.Context(), "book"); err != nil {
		t.Fatal(err)
	}
}
