// Command module is the Claude binding as a WebAssembly module; see package guest
// for how to build it.
package main

import (
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/claude"
)

func init() { guest.Register(claude.New()) }

func main() {}
