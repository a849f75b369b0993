package packing_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/packing"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// empty is the smallest core module.
var empty = []byte("\x00asm\x01\x00\x00\x00")

func manifest(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "bindings-src", "codex", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAPackedModuleHasTheSchemasOfEveryVersionItsManifestNames(t *testing.T) {
	packed, err := packing.Module(empty, manifest(t), bundled.FS())
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.ReadManifest(packed)
	if err != nil {
		t.Fatal(err)
	}
	section, err := module.ReadSchemas(packed)
	if err != nil {
		t.Fatal(err)
	}
	set, err := schemas.Open(section)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range m.Provider.Versions {
		val := set.For(v)
		if got := val.Provenance().Version; got != v {
			t.Errorf("version %s is served by the schemas of %s", v, got)
		}
		for _, call := range []string{"initialize", "turn/start"} {
			if !val.Known(schemas.ToProvider, schemas.Request, call) {
				t.Errorf("version %s has no schema of %s", v, call)
			}
		}
	}
	again, err := packing.Module(packed, manifest(t), bundled.FS())
	if err != nil || !bytes.Equal(again, packed) {
		t.Errorf("packing again gave %d bytes instead of %d, %v", len(again), len(packed), err)
	}
}

// Which schemas a binding gets is data: the bundles named by the manifest's
// harness and provider versions. Those of a harness that speaks a shared protocol
// extend the protocol's.
func TestEveryManifestOfTheRepositoryFindsItsSchemas(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "bindings-src", "*", "manifest.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := module.DecodeManifest(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		section, err := packing.Schemas(m, bundled.FS())
		if err != nil {
			t.Errorf("%s: %v", m.Harness, err)
			continue
		}
		set, err := schemas.Open(section)
		if err != nil {
			t.Fatal(err)
		}
		if set.Provider() != m.Harness || len(set.Versions()) != len(m.Provider.Versions) {
			t.Errorf("%s has the schemas of %s, %d versions", m.Harness, set.Provider(), len(set.Versions()))
		}
		for _, v := range m.Provider.Versions {
			for _, call := range m.Calls {
				if !set.For(v).Known(schemas.ToProvider, schemas.Request, call) {
					t.Errorf("%s %s has no schema of %s", m.Harness, v, call)
				}
			}
		}
	}
}

// A stranger's harness needs no change here: an observation gives it a tree of
// its own.
func TestAStrangersHarnessIsPackedFromItsOwnTree(t *testing.T) {
	out := t.TempDir()
	root := fstest.MapFS{"seen/a.ndjson": {Data: []byte(`{"dir":"out","frame":{"method":"_acme/hello","params":{}}}`)}}
	_, err := schemas.Observe(schemas.Observation{
		File: "acme.json", Provider: "acme", Version: "1.2.3", Package: "acme", Extends: schemas.Reference{Provider: "acp", Version: "2.4.0"},
		Recordings: []string{"seen"}, Licence: "Apache-2.0",
	}, schemas.ObserveOptions{Root: root, Tree: bundled.FS(), Out: out})
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.DecodeManifest(manifest(t))
	if err != nil {
		t.Fatal(err)
	}
	m.Harness, m.Provider.Versions = "acme", []string{"1.2.3"}
	m.Calls, m.Notifies, m.Requests = []string{"initialize", "session/prompt"}, []string{"session/cancel"}, nil
	section, err := packing.Schemas(m, os.DirFS(out))
	if err != nil {
		t.Fatal(err)
	}
	set, err := schemas.Open(section)
	if err != nil {
		t.Fatal(err)
	}
	v := set.For("1.2.3")
	for _, name := range []string{"session/update", "_acme/hello"} {
		if !v.Known(schemas.FromProvider, schemas.Notification, name) {
			t.Errorf("%s is not in the module's schemas", name)
		}
	}
	if p := v.Provenance(); p.Provider != "acme" || p.Base == nil || p.Base.Package != "@agentclientprotocol/sdk" || p.Base.Licence != "Apache-2.0" {
		t.Errorf("provenance %+v", p)
	}
}

func TestAMissingVersionOrMethodIsRefused(t *testing.T) {
	m, err := module.DecodeManifest(manifest(t))
	if err != nil {
		t.Fatal(err)
	}
	var e *schemas.Error
	absent := m
	absent.Provider.Versions = []string{"0.171.0", "7.7.7"}
	if _, err := packing.Schemas(absent, bundled.FS()); !errors.As(err, &e) || e.Code != packing.CodeVersionMissing {
		t.Errorf("a version without schemas: %v", err)
	}
	if _, err := packing.Schemas(m, fstest.MapFS{}); !errors.As(err, &e) || e.Code != packing.CodeVersionMissing {
		t.Errorf("a tree without schemas: %v", err)
	}
	unknown := m
	unknown.Calls = append([]string{"turn/imagined"}, m.Calls...)
	if _, err := packing.Schemas(unknown, bundled.FS()); !errors.As(err, &e) || e.Code != schemas.CodeMethodUnknown {
		t.Errorf("a method nobody has: %v", err)
	}
	if _, err := packing.Module(empty, []byte(`{"harness":`), bundled.FS()); err == nil {
		t.Error("half a manifest was accepted")
	}
}
