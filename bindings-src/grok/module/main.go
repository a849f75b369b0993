// Command module is the Grok binding as a WebAssembly module; see package guest
// for how to build it.
package main

import (
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/grok"
)

func init() { guest.Register(grok.New()) }

func main() {}
