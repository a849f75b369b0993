package schemas

import (
	"context"
	"io/fs"
	"slices"
)

// provider is what is particular to one provider: where its schemas come from
// and how its files are read. Everything else in this package is the same for
// all.
type provider struct {
	// id is the harness id and pkg the published package.
	id, pkg, licence string
	// command is the default command of the provider.
	command []string
	// fetch obtains the provider's own files.
	fetch func(ctx context.Context, run runner) (source, error)
	// normalise turns them into a bundle without provenance.
	normalise func(src source) (Bundle, []string, error)
	// changes says what normalise changes, for the provenance.
	changes string
}

// source is what a provider's generator or package gave.
type source struct {
	version string
	// commandLine is the command that made files, for the provenance.
	commandLine []string
	files       fs.FS
	// stable are the files without experimental parts, nil when the provider does
	// not tell them apart.
	stable fs.FS
}

// providers is the table of all providers known here. A new one needs a fetch and
// a normalise; nothing else changes.
var providers = []provider{acpProvider, codexProvider}

// Providers returns the harness ids that Generate knows, sorted.
func Providers() []string {
	ids := make([]string, 0, len(providers))
	for _, p := range providers {
		ids = append(ids, p.id)
	}
	slices.Sort(ids)
	return ids
}

func findProvider(id string) (provider, error) {
	for _, p := range providers {
		if p.id == id {
			return p, nil
		}
	}
	return provider{}, failf(CodeProviderUnknown, nil, "no schema generator is known for %q; known are %q", id, Providers())
}
