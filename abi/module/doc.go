// Package module reads and writes the custom sections of a binding's
// WebAssembly module without running or compiling any of its code.
//
// Modules come from strangers: nothing here panics on any input or allocates
// more than the input justifies. Errors are of type [*Error] with a stable code.
package module
