// Package codex is the binding for the Codex app-server: a reducer that maps the
// host's semantic tuple (mode, permission, model, effort) to native payloads and
// normalises native turns, items, questions, approvals and plans.
//
// The protocol is JSON lines without the "jsonrpc" member. Method names, members
// and enum values come from names_gen.go, which is generated from the provider's
// own schemas of 0.153.4 and 0.171.0; facts that no schema states were seen on
// those two versions and are noted where they matter.
//
// Everything in turn/start is sticky for the thread, so every turn carries the
// whole tuple: an omitted member would mean "as before", not "default".
package codex
