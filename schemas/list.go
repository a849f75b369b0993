package schemas

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// List returns the provenance of every bundle in a folder tree
// <provider>/<version>/, by provider and then from the oldest version to the
// newest. Folders without a provenance file are passed over.
func List(tree fs.FS) ([]Provenance, error) {
	var list []Provenance
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || path.Base(name) != ProvenanceFile {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		var p Provenance
		if err := json.Unmarshal(text, &p); err != nil {
			return failf(CodeBundleInvalid, err, "%s is not a provenance file; generate the bundle again", name)
		}
		list = append(list, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Provenance) int {
		if c := strings.Compare(a.Provider, b.Provider); c != 0 {
			return c
		}
		return compareVersions(a.Version, b.Version)
	})
	return list, nil
}

// Read returns one bundle of a folder tree; see [List]. One that extends another
// comes joined with it: the methods and definitions of both under the provenance
// of the one asked for. Both must be in the tree.
func Read(tree fs.FS, provider, version string) (Bundle, error) {
	b, err := readOwn(tree, provider, version)
	if err != nil || b.Provenance.Extends == nil {
		return b, err
	}
	base, err := readOwn(tree, b.Provenance.Extends.Provider, b.Provenance.Extends.Version)
	if err != nil {
		return Bundle{}, err
	}
	return b.extend(base)
}

// readOwn returns a bundle as it is in its folder.
func readOwn(tree fs.FS, provider, version string) (Bundle, error) {
	var parts [2][]byte
	for i, name := range []string{BundleFile, ProvenanceFile} {
		text, err := fs.ReadFile(tree, path.Join(provider, version, name))
		// A name with dots or slashes would lead to another folder.
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || !validVersion(version) || strings.ContainsAny(provider, "./") {
			return Bundle{}, failf(CodeBundleInvalid, err, "there are no schemas of %q version %q; list the versions there are, or generate it", provider, version)
		}
		if err != nil {
			return Bundle{}, err
		}
		parts[i] = text
	}
	return ReadBundle(parts[0], parts[1])
}
