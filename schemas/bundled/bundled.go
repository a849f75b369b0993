// Package bundled embeds the schema bundles that are committed in this
// repository, for packing and for the command line. The host does not import it:
// what it checks traffic with comes out of the binding's module.
package bundled

import (
	"embed"
	"io/fs"

	"github.com/aoagents/ao-host/schemas"
)

//go:embed acp claude codex grok kimchi
var files embed.FS

// List returns the provenance of every committed bundle, by provider and then
// from the oldest version to the newest.
func List() ([]schemas.Provenance, error) { return schemas.List(files) }

// Read returns one committed bundle, joined with the one it extends.
func Read(provider, version string) (schemas.Bundle, error) {
	return schemas.Read(files, provider, version)
}

// All returns the committed bundles of a provider, the oldest version first.
func All(provider string) ([]schemas.Bundle, error) {
	list, err := List()
	if err != nil {
		return nil, err
	}
	var all []schemas.Bundle
	for _, p := range list {
		if p.Provider != provider {
			continue
		}
		b, err := Read(p.Provider, p.Version)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// FS is the folder tree <provider>/<version>/ with the files of each bundle.
func FS() fs.FS { return files }
