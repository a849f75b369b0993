package codex_test

import (
	"encoding/json"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// providerSchemas are the provider's own schemas of every bundled version, for
// the methods that the manifest names.
var providerSchemas = sync.OnceValues(func() (bundles []schemas.Bundle, err error) {
	return bundled.All("codex")
})

var validators = sync.OnceValues(func() (found []*schemas.Validator, err error) {
	bundles, err := providerSchemas()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile("manifest.json")
	if err != nil {
		return nil, err
	}
	var m abi.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	packed, err := schemas.Pack(bundles, schemas.UsedBy(m))
	if err != nil {
		return nil, err
	}
	set, err := schemas.Open(packed)
	if err != nil {
		return nil, err
	}
	for _, v := range m.Provider.Versions {
		found = append(found, set.For(v))
	}
	return found, nil
})

// checkOutbound holds every frame that a step sends to the schemas of both
// provider versions: the host would not send one that does not fit.
func (r *rig) checkOutbound(label string, effects []abi.Effect) {
	r.t.Helper()
	vs, err := validators()
	if err != nil || len(vs) != 2 {
		r.t.Fatalf("%d validators: %v", len(vs), err)
	}
	check := func(kind schemas.Kind, method string, payload []byte) {
		r.t.Helper()
		known := false
		for _, v := range vs {
			if !v.Known(schemas.ToProvider, kind, method) {
				continue
			}
			known = true
			if err := v.Check(schemas.ToProvider, kind, method, payload); err != nil {
				r.t.Errorf("%s: %v in %s", label, err, payload)
			}
		}
		if !known {
			r.t.Errorf("%s: no schema knows %s", label, method)
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

// serverRequests lists the requests that any bundled version can send.
func serverRequests(t *testing.T) (names []string) {
	t.Helper()
	bundles, err := providerSchemas()
	if err != nil {
		t.Fatal(err)
	}
	for i := range bundles {
		for _, m := range bundles[i].Methods {
			if m.Direction == schemas.FromProvider && m.Kind == schemas.Request && !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	if len(names) < 10 {
		t.Fatalf("only %d requests found: %v", len(names), names)
	}
	return names
}
