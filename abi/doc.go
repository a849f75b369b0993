// Package abi is the contract between the host and a binding: the events a host
// sends into the sandbox, the effects a binding answers with, and the manifest
// a module carries. ABI.md is the written specification; codec_gen.go and
// abi.schema.json are generated from the types in this package.
//
// A binding is a deterministic reducer (DESIGN §3): it does no I/O, sees time
// only in the events, and for the same events returns the same bytes on every
// engine.
//
// Events and effects are JSON objects with one member that names the kind:
//
//	{"now":1795998657000,"submit":{"turn":"t1",…}}
//	{"delta":{"turn":"t1","item":"msg_2","channel":"text","text":"Hi"}}
//
// ao_step takes one event and returns a JSON array of effects.
package abi

//go:generate go run ./internal/gen

// Version is the ABI version this tree implements. Until 1.0 a change of the
// minor number may break modules; see "Versioning" in ABI.md.
const Version = "0.1"

// Raw is a JSON value passed through as it stands.
type Raw []byte

// MarshalJSON returns the value itself, null when empty.
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of the value.
func (r *Raw) UnmarshalJSON(b []byte) error {
	*r = append((*r)[:0], b...)
	return nil
}
