// Package engine runs binding modules: it checks and meters a module, compiles
// it with a verified cache, and drives instances of it within their limits
// (DESIGN §3).
//
// An instance is a deterministic reducer. It sees no clock but the one it is
// given, no randomness but a seeded stream, no file, no environment; what it
// prints goes to a capped ring. Whatever it does wrong ends as a [*Fault], after
// which the instance is poisoned and a new one has to be made.
package engine
