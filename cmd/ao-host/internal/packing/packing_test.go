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
