package schemas

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aoagents/ao-host/abi"
)

// Used are the methods a binding uses. Notifications of the provider are not
// listed: all of them are packed, because a provider sends what it likes.
type Used struct {
	// Calls and Notifies go to the provider, Requests come from it.
	Calls, Notifies, Requests []string
}

// UsedBy reads the methods out of a manifest.
func UsedBy(m abi.Manifest) Used {
	u := Used{Calls: m.Calls, Notifies: m.Notifies}
	for _, r := range m.Requests {
		u.Requests = append(u.Requests, r.Method)
	}
	return u
}

func (u Used) has(m Method) bool {
	switch {
	case m.Direction == FromProvider && m.Kind == Notification:
		return true
	case m.Direction == FromProvider:
		return slices.Contains(u.Requests, m.Name)
	case m.Kind == Notification:
		return slices.Contains(u.Notifies, m.Name)
	}
	return slices.Contains(u.Calls, m.Name)
}

// Methods lists the methods used, sorted, with all notifications of the provider
// in the bundles: what [Diff] is to compare for a binding.
func (u Used) Methods(bundles ...Bundle) []string {
	set := map[string]bool{}
	for _, list := range [][]string{u.Calls, u.Notifies, u.Requests} {
		for _, name := range list {
			set[name] = true
		}
	}
	for i := range bundles {
		for _, m := range bundles[i].Methods {
			if u.has(m) {
				set[m.Name] = true
			}
		}
	}
	return sortedKeys(set)
}

// SectionName is the custom section of a module that holds packed schemas.
const SectionName = "ao.schemas"

// sectionFormat is the version of the text inside a section.
const sectionFormat = 1

// section is the text inside a section. Definitions that are the same in several
// versions are in it once.
type section struct {
	Format   int               `json:"format"`
	Provider string            `json:"provider"`
	Schemas  []json.RawMessage `json:"schemas"`
	Versions []sectionVersion  `json:"versions"`
}

type sectionVersion struct {
	Provenance Provenance `json:"provenance"`
	Dialect    string     `json:"dialect"`
	Methods    []Method   `json:"methods"`
	// Definitions are the indexes of the definitions in Schemas.
	Definitions map[string]int `json:"definitions"`
}

// Pack makes the ao.schemas section of a module out of the bundles of one
// provider: the schemas of the methods used and of all notifications of the
// provider, with everything they refer to, for every version, gzip-compressed.
// The same input gives the same bytes.
//
// A method that none of the versions has is an error of code
// [CodeMethodUnknown]; one that is only in some of them is not.
func Pack(bundles []Bundle, used Used) ([]byte, error) {
	if len(bundles) == 0 {
		return nil, failf(CodeBundleInvalid, nil, "there are no schemas to pack; generate some first")
	}
	bundles = slices.Clone(bundles)
	slices.SortStableFunc(bundles, func(a, b Bundle) int { return compareVersions(a.Provenance.Version, b.Provenance.Version) })
	out := section{Format: sectionFormat, Provider: bundles[0].Provenance.Provider}
	index := map[string]int{}
	for i := range bundles {
		b := &bundles[i]
		if b.Provenance.Provider != out.Provider {
			return nil, failf(CodeBundleInvalid, nil, "schemas of %q and %q cannot be packed together", out.Provider, b.Provenance.Provider)
		}
		v := sectionVersion{Provenance: b.Provenance, Dialect: b.Dialect, Definitions: map[string]int{}}
		for _, m := range b.Methods {
			if used.has(m) {
				v.Methods = append(v.Methods, m)
			}
		}
		names, err := closure(b, v.Methods)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := slim(b.Definitions[name])
			if err != nil {
				return nil, failf(CodeBundleInvalid, err, "definition %q is not a schema; generate the bundle again", name)
			}
			n, ok := index[string(text)]
			if !ok {
				n = len(out.Schemas)
				index[string(text)] = n
				out.Schemas = append(out.Schemas, text)
			}
			v.Definitions[name] = n
		}
		out.Versions = append(out.Versions, v)
	}
	if err := checkUsed(out.Versions, used); err != nil {
		return nil, err
	}
	text, err := encodePlain(out)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := zw.Write(text); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	set, err := Open(buf.Bytes())
	if err != nil {
		return nil, err
	}
	if err := set.Compile(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func checkUsed(versions []sectionVersion, used Used) error {
	for _, list := range []struct {
		what  string
		dir   Direction
		kind  Kind
		names []string
	}{
		{"calls", ToProvider, Request, used.Calls},
		{"notifies", ToProvider, Notification, used.Notifies},
		{"requests", FromProvider, Request, used.Requests},
	} {
		for _, name := range list.names {
			if !slices.ContainsFunc(versions, func(v sectionVersion) bool {
				return slices.ContainsFunc(v.Methods, func(m Method) bool {
					return m.Name == name && m.Direction == list.dir && m.Kind == list.kind
				})
			}) {
				return failf(CodeMethodUnknown, nil, "the manifest's %s name %q, which no version of the provider has; correct the name", list.what, name)
			}
		}
	}
	return nil
}

// closure returns the sorted names of the definitions the methods lead to.
func closure(b *Bundle, methods []Method) ([]string, error) {
	reached := map[string]bool{}
	var visit func(schema json.RawMessage) error
	visit = func(schema json.RawMessage) error {
		refs, err := references(schema)
		if err != nil {
			return failf(CodeBundleInvalid, err, "a schema is not JSON; generate the bundle again")
		}
		for _, name := range refs {
			if reached[name] {
				continue
			}
			reached[name] = true
			def, ok := b.Definitions[name]
			if !ok {
				return failf(CodeBundleInvalid, nil, "the definition %q is missing; generate the bundle again", name)
			}
			if err := visit(def); err != nil {
				return err
			}
		}
		return nil
	}
	for _, m := range methods {
		for _, s := range []json.RawMessage{m.Params, m.Result} {
			if err := visit(s); err != nil {
				return nil, err
			}
		}
	}
	return sortedKeys(reached), nil
}

// slim removes what a check does not look at.
func slim(raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	walkSchemas(v, func(s map[string]any) {
		for _, k := range foreign {
			delete(s, k)
		}
	})
	return encodePlain(v)
}

// Bounds of a section.
const (
	// MaxSectionBytes is the largest section Open takes.
	MaxSectionBytes = 4 << 20
	// MaxSectionText is the largest text a section may unpack to.
	MaxSectionText    = 16 << 20
	maxSectionEntries = 50_000
)

// Open reads a section that [Pack] made. The bytes may come from a stranger's
// module: reading is bounded in memory and runs nothing. A schema that does not
// compile is found when it is used, or by [Set.Compile].
//
// Errors have the codes [CodeSectionTooLarge], [CodeSectionCorrupt] and
// [CodeSectionUnsupported].
func Open(packed []byte) (*Set, error) {
	const again = "; pack the binding again"
	if len(packed) > MaxSectionBytes {
		return nil, failf(CodeSectionTooLarge, nil, "the schemas are %d bytes, more than %d; pack fewer methods or versions", len(packed), MaxSectionBytes)
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, failf(CodeSectionCorrupt, err, "the section holds no packed schemas"+again)
	}
	zr.Multistream(false)
	text, err := io.ReadAll(io.LimitReader(zr, MaxSectionText+1))
	if err != nil {
		return nil, failf(CodeSectionCorrupt, err, "the packed schemas are damaged"+again)
	}
	if len(text) > MaxSectionText {
		return nil, failf(CodeSectionTooLarge, nil, "the schemas unpack to more than %d bytes; pack fewer methods or versions", MaxSectionText)
	}
	var s section
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, failf(CodeSectionCorrupt, err, "the packed schemas are no schemas"+again)
	}
	if s.Format != sectionFormat {
		return nil, failf(CodeSectionUnsupported, nil, "the schemas have format %d and this ao-host reads %d; update ao-host or pack the binding again", s.Format, sectionFormat)
	}
	bundles, err := s.bundles()
	if err != nil {
		return nil, failf(CodeSectionCorrupt, err, "the packed schemas contradict themselves"+again)
	}
	return newSet(s.Provider, bundles)
}

// bundles builds the bundles of a section and checks that everything it refers
// to is there.
func (s *section) bundles() ([]Bundle, error) {
	if len(s.Versions) == 0 {
		return nil, fmt.Errorf("there is no version")
	}
	entries := 0
	var bundles []Bundle
	for _, v := range s.Versions {
		entries += len(v.Definitions) + len(v.Methods)
		if entries > maxSectionEntries {
			return nil, fmt.Errorf("there are more than %d definitions and methods", maxSectionEntries)
		}
		if !validVersion(v.Provenance.Version) || v.Provenance.Provider != s.Provider {
			return nil, fmt.Errorf("version %.40q of %.40q does not belong to %.40q", v.Provenance.Version, v.Provenance.Provider, s.Provider)
		}
		b := Bundle{Provenance: v.Provenance, Dialect: v.Dialect, Methods: v.Methods, Definitions: make(map[string]json.RawMessage, len(v.Definitions))}
		for name, n := range v.Definitions {
			if n < 0 || n >= len(s.Schemas) || strings.Contains(name, "/") {
				return nil, fmt.Errorf("definition %.40q is not there", name)
			}
			b.Definitions[name] = s.Schemas[n]
		}
		seen := map[methodKey]bool{}
		for _, m := range v.Methods {
			k := methodKey{m.Name, m.Direction, m.Kind}
			if m.Direction != ToProvider && m.Direction != FromProvider || m.Kind != Request && m.Kind != Notification || seen[k] {
				return nil, fmt.Errorf("method %.40q is listed wrongly or twice", m.Name)
			}
			seen[k] = true
		}
		bundles = append(bundles, b)
	}
	return bundles, nil
}
