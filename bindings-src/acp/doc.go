// Package acp is the reducer that the bindings of agents share which speak the
// Agent Client Protocol, version 1, as JSON-RPC 2.0 lines. What differs from one
// agent to the next is a [Dialect]: tables and small hooks, kept in the package of
// that agent's binding.
//
// Method names, members and enum values come from names_gen.go, which is generated
// from the protocol's published schemas. Facts that no schema states were seen on
// the versions that a manifest names and are noted where they matter.
//
// The protocol has no request that carries a prompt together with its settings.
// The whole tuple is therefore put in force by setters before the prompt, one
// after the other, and what the agent reports is the evidence; the prompt goes out
// only after all of them (DESIGN rules 3 and 4).
package acp
