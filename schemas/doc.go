// Package schemas holds what is known about a provider's protocol as data: it
// runs the provider's own schema generator, normalises what comes out into one
// [Bundle] a version, compares versions, packs the part a binding uses into the
// ao.schemas section of its module, and checks frames against such a section.
//
// The life of a schema (DESIGN §8):
//
//	provider's generator ─ Generate ─▶ Bundle (committed under bundled/)
//	Bundles ─ Pack ─▶ section of a module ─ Open ─▶ Set ─ For(version) ─▶ Validator
//
// The host imports this package but embeds no schemas: the traffic rules ship
// with the binding. Package schemas/bundled embeds the committed bundles for the
// command line and for packing.
//
// A name in a schema says what a provider may send or take. It does not say that
// a live session offers it.
package schemas

//go:generate go run ./internal/observegen ..
//go:generate go run ./internal/namesgen ..
