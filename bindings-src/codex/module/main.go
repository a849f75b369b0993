// Command module is the Codex binding as a WebAssembly module; see package guest
// for how to build it.
package main

import (
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/codex"
)

func init() { guest.Register(codex.New()) }

func main() {}
