package schemas

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names of the two files a bundle is kept in.
const (
	BundleFile     = "bundle.json"
	ProvenanceFile = "provenance.json"
)

// Bundle is everything one version of a provider says about its protocol, in
// the normal form of [Normalise].
type Bundle struct {
	Provenance Provenance `json:"-"`
	// Dialect is the JSON Schema dialect, a $schema address.
	Dialect string `json:"dialect"`
	// Methods is sorted by name, direction and kind.
	Methods []Method `json:"methods"`
	// Definitions are the schemas that others refer to as
	// "#/definitions/<name>".
	Definitions map[string]json.RawMessage `json:"definitions"`
}

// Provenance says where a bundle comes from and how to make it again.
type Provenance struct {
	// Provider is the harness id, or the name of a protocol that harnesses share.
	Provider string `json:"provider"`
	// Package is the published package of the provider, Version its version.
	Package string `json:"package"`
	Version string `json:"version"`
	// Command is the generator's command line. OUT stands for a folder.
	Command []string `json:"command"`
	// Generated is the day it ran, YYYY-MM-DD in UTC.
	Generated string `json:"generated"`
	// SourceDigest is the SHA-256 of what the generator wrote, Digest that of the
	// normalised bundle; both as "sha256:" and lower-case hex.
	SourceDigest string `json:"source_digest"`
	Digest       string `json:"digest"`
	// Licence is the SPDX id of the licence of what the bundle was made from, and
	// Changes says what was changed, as the licence asks.
	Licence string `json:"licence"`
	Changes string `json:"changes"`
	// Notes are things a reader should know, one sentence each.
	Notes []string `json:"notes,omitempty"`
	// Extends names the bundle that this one adds to: that of the published
	// protocol the provider speaks. The bundle's own files then hold only what the
	// protocol does not publish.
	Extends *Reference `json:"extends,omitempty"`
	// Base is the provenance of the bundle in Extends once the two are joined; see
	// [Read]. It is in no provenance file.
	Base *Provenance `json:"base,omitempty"`
}

// Reference names one bundle by everything that identifies it.
type Reference struct {
	Provider string `json:"provider"`
	Version  string `json:"version"`
	Digest   string `json:"digest,omitempty"`
}

// Encode writes the bundle.json of the bundle: one line a method and one line a
// definition, so that a new version makes a readable diff. The same bundle gives
// the same bytes.
func (b *Bundle) Encode() ([]byte, error) {
	var out bytes.Buffer
	dialect, err := json.Marshal(b.Dialect)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&out, "{\"dialect\":%s,\n\"methods\":[", dialect)
	methods := slices.Clone(b.Methods)
	slices.SortFunc(methods, compareMethods)
	for i, m := range methods {
		line, err := encodePlain(m)
		if err != nil {
			return nil, err
		}
		out.WriteString(separator(i))
		out.Write(line)
	}
	out.WriteString("\n],\n\"definitions\":{")
	for i, name := range b.names() {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		out.WriteString(separator(i))
		out.Write(key)
		out.WriteByte(':')
		if err := json.Compact(&out, b.Definitions[name]); err != nil {
			return nil, failf(CodeBundleInvalid, err, "definition %q is not JSON; generate the bundle again", name)
		}
	}
	out.WriteString("\n}}\n")
	return out.Bytes(), nil
}

func separator(i int) string {
	if i == 0 {
		return "\n"
	}
	return ",\n"
}

// encodePlain is json.Marshal without the escaping of HTML characters, which
// would make patterns and names unreadable in a diff.
func encodePlain(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// names returns the sorted names of the definitions.
func (b *Bundle) names() []string {
	names := make([]string, 0, len(b.Definitions))
	for n := range b.Definitions {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Method returns the row of a method, looked up by name, direction and kind.
func (b *Bundle) Method(name string, dir Direction, kind Kind) (Method, bool) {
	for _, m := range b.Methods {
		if m.Name == name && m.Direction == dir && m.Kind == kind {
			return m, true
		}
	}
	return Method{}, false
}

// ReadBundle reads the two files of a bundle and checks that they belong
// together. Of a bundle that extends another it gives its own part only; [Read]
// gives both.
func ReadBundle(bundle, provenance []byte) (Bundle, error) {
	var b Bundle
	if err := json.Unmarshal(bundle, &b); err != nil {
		return Bundle{}, failf(CodeBundleInvalid, err, "%s is not a schema bundle; generate it again", BundleFile)
	}
	if err := json.Unmarshal(provenance, &b.Provenance); err != nil {
		return Bundle{}, failf(CodeBundleInvalid, err, "%s is not a provenance file; generate the bundle again", ProvenanceFile)
	}
	if want := digest(bundle); b.Provenance.Digest != want {
		return Bundle{}, failf(CodeBundleInvalid, nil, "%s has digest %s but its provenance says %s; generate the bundle again", BundleFile, want, b.Provenance.Digest)
	}
	if err := b.checkReferences(); err != nil {
		return Bundle{}, err
	}
	return b, nil
}

// checkReferences makes sure that every reference leads to a definition.
func (b *Bundle) checkReferences() error {
	check := func(where string, schema json.RawMessage) error {
		refs, err := references(schema)
		if err != nil {
			return failf(CodeBundleInvalid, err, "%s is not a schema; generate the bundle again", where)
		}
		for _, ref := range refs {
			if _, ok := b.Definitions[ref]; !ok {
				return failf(CodeBundleInvalid, nil, "%s refers to the missing definition %q; generate the bundle again", where, ref)
			}
		}
		return nil
	}
	for _, m := range b.Methods {
		if err := check("the params of "+m.Name, m.Params); err != nil {
			return err
		}
		if err := check("the result of "+m.Name, m.Result); err != nil {
			return err
		}
	}
	for _, name := range b.names() {
		if err := check("definition "+name, b.Definitions[name]); err != nil {
			return err
		}
	}
	return nil
}

// references lists the definitions a schema refers to, in order of appearance.
func references(schema json.RawMessage) ([]string, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		return nil, err
	}
	var refs []string
	seen := map[string]bool{}
	walkSchemas(v, func(s map[string]any) {
		if ref, ok := s["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, refPrefix)
			if !seen[name] {
				seen[name] = true
				refs = append(refs, name)
			}
		}
	})
	return refs, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// extend returns the bundle joined with the one it extends.
func (b Bundle) extend(base Bundle) (Bundle, error) {
	const again = "; generate the bundle again"
	ext := b.Provenance.Extends
	switch {
	case base.Provenance.Extends != nil:
		return Bundle{}, failf(CodeBundleInvalid, nil, "the schemas of %q %s extend %q, which itself extends others"+again, b.Provenance.Provider, b.Provenance.Version, ext.Provider)
	case base.Provenance.Digest != ext.Digest:
		return Bundle{}, failf(CodeBundleInvalid, nil, "the schemas of %q %s extend %q %s with another digest than is there"+again, b.Provenance.Provider, b.Provenance.Version, ext.Provider, ext.Version)
	case base.Dialect != b.Dialect:
		return Bundle{}, failf(CodeBundleInvalid, nil, "the schemas of %q %s are of another dialect than those they extend"+again, b.Provenance.Provider, b.Provenance.Version)
	}
	joined := Bundle{Provenance: b.Provenance, Dialect: b.Dialect, Methods: slices.Clone(base.Methods), Definitions: maps.Clone(base.Definitions)}
	prov := base.Provenance
	joined.Provenance.Base = &prov
	for _, m := range b.Methods {
		if _, ok := base.Method(m.Name, m.Direction, m.Kind); ok {
			return Bundle{}, failf(CodeBundleInvalid, nil, "%s is in the schemas of %q %s and in those they extend"+again, m.Name, b.Provenance.Provider, b.Provenance.Version)
		}
		joined.Methods = append(joined.Methods, m)
	}
	slices.SortFunc(joined.Methods, compareMethods)
	if joined.Definitions == nil {
		joined.Definitions = map[string]json.RawMessage{}
	}
	for name, d := range b.Definitions {
		if _, ok := joined.Definitions[name]; ok {
			return Bundle{}, failf(CodeBundleInvalid, nil, "the definition %q is in the schemas of %q %s and in those they extend"+again, name, b.Provenance.Provider, b.Provenance.Version)
		}
		joined.Definitions[name] = d
	}
	return joined, nil
}
