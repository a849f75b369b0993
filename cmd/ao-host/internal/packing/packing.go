// Package packing turns what a compiler made into a binding: it appends the
// manifest and the schemas that the manifest's methods need.
package packing

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/schemas"
)

// Module returns the packed module. The bundles are those of the manifest's
// harness and provider versions, out of a tree as the schema generator writes
// it. The same input gives the same bytes.
//
// Errors are those of packages module and schemas, and schema_version_missing
// when the tree has no schemas of a version that the manifest names.
func Module(wasm, manifest []byte, tree fs.FS) ([]byte, error) {
	m, err := module.DecodeManifest(manifest)
	if err != nil {
		return nil, err
	}
	section, err := Schemas(m, tree)
	if err != nil {
		return nil, err
	}
	return module.Pack(wasm, manifest, section)
}

// Schemas returns the content of the ao.schemas section for a manifest.
func Schemas(m abi.Manifest, tree fs.FS) ([]byte, error) {
	bundles := make([]schemas.Bundle, 0, len(m.Provider.Versions))
	for _, v := range m.Provider.Versions {
		if err := present(tree, m.Harness, v); err != nil {
			return nil, err
		}
		b, err := schemas.Read(tree, m.Harness, v)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	}
	section, err := schemas.Pack(bundles, schemas.UsedBy(m))
	if err != nil {
		return nil, err
	}
	// A schema that does not compile must be found by its author, not by users.
	set, err := schemas.Open(section)
	if err != nil {
		return nil, err
	}
	return section, set.Compile()
}

// CodeVersionMissing is the code of a schema version that is not in the tree.
const CodeVersionMissing = "schema_version_missing"

func present(tree fs.FS, provider, version string) error {
	list, err := schemas.List(tree)
	if err != nil {
		return err
	}
	var have []string
	for _, p := range list {
		if p.Provider == provider {
			have = append(have, p.Version)
		}
	}
	if slices.Contains(have, version) {
		return nil
	}
	there := "none"
	if len(have) > 0 {
		there = strings.Join(have, ", ")
	}
	return &schemas.Error{Code: CodeVersionMissing, Message: fmt.Sprintf("The manifest names provider version %s of %s, and there are no schemas of it (there are: %s). Name the folder that has them with --schemas; docs/bindings.md says how to make one.", version, provider, there)}
}
