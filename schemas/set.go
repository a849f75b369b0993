package schemas

import (
	"encoding/json"
	"slices"
	"sync"
)

// Set is the schemas of one binding: all provider versions it was made against.
// It is safe for concurrent use.
type Set struct {
	provider   string
	validators []*Validator // oldest version first
}

// newSet builds a set; versions must not be empty.
func newSet(provider string, bundles []Bundle) (*Set, error) {
	s := &Set{provider: provider}
	for i := range bundles {
		v, err := newValidator(&bundles[i], false)
		if err != nil {
			return nil, err
		}
		s.validators = append(s.validators, v)
	}
	slices.SortStableFunc(s.validators, func(a, b *Validator) int {
		return compareVersions(a.provenance.Version, b.provenance.Version)
	})
	return s, nil
}

// Provider returns the harness id.
func (s *Set) Provider() string { return s.provider }

// Versions returns where the schemas come from, the oldest version first.
func (s *Set) Versions() []Provenance {
	out := make([]Provenance, 0, len(s.validators))
	for _, v := range s.validators {
		out = append(out, v.provenance)
	}
	return out
}

// For returns the validator for a provider version: that of the same version,
// else of the nearest older one, else of the oldest. "" means the newest.
func (s *Set) For(providerVersion string) *Validator {
	if providerVersion == "" {
		return s.validators[len(s.validators)-1]
	}
	best := s.validators[0]
	for _, v := range s.validators {
		if compareVersions(v.provenance.Version, providerVersion) <= 0 {
			best = v
		}
	}
	return best
}

// Compile compiles every schema of every version and returns the first error, of
// code [CodeSchemaInvalid]. Packing does it, so that a binding with a broken
// schema is found before it ships; a host need not.
func (s *Set) Compile() error {
	for _, v := range s.validators {
		if err := v.Warm(); err != nil {
			return err
		}
	}
	return nil
}

// Validator checks the frames of one provider version. It is safe for concurrent
// use. Schemas are compiled when their method is first checked.
type Validator struct {
	provenance Provenance
	methods    map[methodKey]*entry
	// strict is for frames to the provider, lenient for those from it.
	strict, lenient *compiler
}

type methodKey struct {
	name string
	dir  Direction
	kind Kind
}

// entry is one payload of a method.
type entry struct {
	raw      json.RawMessage
	optional bool
	comp     *compiler

	once sync.Once
	sch  *checked
	err  error
}

func newValidator(b *Bundle, plain bool) (*Validator, error) {
	draft, err := findDialect(b.Dialect)
	if err != nil {
		return nil, err
	}
	v := &Validator{
		provenance: b.Provenance,
		methods:    make(map[methodKey]*entry, 2*len(b.Methods)),
		strict:     newCompiler(b.Definitions, draft, false, plain),
		lenient:    newCompiler(b.Definitions, draft, true, plain),
	}
	for _, m := range b.Methods {
		v.methods[methodKey{m.Name, m.Direction, m.Kind}] = &entry{
			raw: m.Params, optional: m.ParamsOptional || m.Params == nil, comp: v.compiler(m.Direction),
		}
		if m.Kind == Request {
			back := m.Direction.reverse()
			v.methods[methodKey{m.Name, back, Result}] = &entry{raw: m.Result, optional: m.Result == nil, comp: v.compiler(back)}
		}
	}
	return v, nil
}

func (v *Validator) compiler(d Direction) *compiler {
	if d == FromProvider {
		return v.lenient
	}
	return v.strict
}

// Provenance says which version the schemas are of and where they come from.
func (v *Validator) Provenance() Provenance { return v.provenance }

// Warm compiles the schemas of the methods, or of all when none is named, so
// that the first frame does not wait for it. It returns the first error, of code
// [CodeSchemaInvalid]; methods that are not in the schemas are passed over.
func (v *Validator) Warm(methods ...string) error {
	keys := make([]methodKey, 0, len(v.methods))
	for k := range v.methods {
		if len(methods) == 0 || slices.Contains(methods, k.name) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compareKeys)
	for _, k := range keys {
		if err := v.methods[k].ready(k); err != nil {
			return err
		}
	}
	return nil
}

func (e *entry) ready(k methodKey) error {
	e.once.Do(func() {
		if e.raw == nil {
			return
		}
		sch, err := e.comp.compile(e.raw)
		if err != nil {
			e.err = failf(CodeSchemaInvalid, err, "the schema for the %s of %s does not compile; pack the binding again from generated schemas", k.kind, k.name)
			return
		}
		e.sch = sch
	})
	return e.err
}
