package acptest

import (
	"encoding/json"
	"os"
	"sync"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// Schemas holds every frame that a step sends to the schemas of the provider versions
// that a manifest names: the host would not send one that does not fit.
type Schemas struct{ validators []*schemas.Validator }

// ReadManifest reads a binding's manifest.
func ReadManifest(t testing.TB, file string) (m abi.Manifest) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return m
}

// loaded are the schemas by manifest: compiling them takes a while.
var loaded sync.Map

// LoadSchemas reads the bundled schemas of a manifest's harness.
func LoadSchemas(t testing.TB, manifest string) *Schemas {
	t.Helper()
	if s, ok := loaded.Load(manifest); ok {
		return s.(*Schemas)
	}
	s := loadSchemas(t, manifest)
	loaded.Store(manifest, s)
	return s
}

func loadSchemas(t testing.TB, manifest string) *Schemas {
	t.Helper()
	m := ReadManifest(t, manifest)
	bundles, err := bundled.All(m.Harness)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := schemas.Pack(bundles, schemas.UsedBy(m))
	if err != nil {
		t.Fatal(err)
	}
	set, err := schemas.Open(packed)
	if err != nil {
		t.Fatal(err)
	}
	s := &Schemas{}
	for _, v := range m.Provider.Versions {
		s.validators = append(s.validators, set.For(v))
	}
	return s
}

func (s *Schemas) check(r *Rig, label string, effects []abi.Effect) {
	r.T.Helper()
	check := func(kind schemas.Kind, method string, payload []byte) {
		r.T.Helper()
		known := false
		for _, v := range s.validators {
			if !v.Known(schemas.ToProvider, kind, method) {
				continue
			}
			known = true
			if err := v.Check(schemas.ToProvider, kind, method, payload); err != nil {
				r.T.Errorf("%s: %v in %s", label, err, payload)
			}
		}
		if !known {
			r.T.Errorf("%s: no schema knows %s", label, method)
		}
	}
	for i := range effects {
		switch e := &effects[i]; {
		case e.Call != nil:
			check(schemas.Request, e.Call.Method, e.Call.Params)
		case e.Notify != nil:
			check(schemas.Notification, e.Notify.Method, e.Notify.Params)
		case e.Reply != nil && e.Reply.Error == nil:
			check(schemas.Result, r.asked[e.Reply.Token], e.Reply.Result)
		}
	}
}
