// Command module is the Kimchi binding as a WebAssembly module; see package guest
// for how to build it.
package main

import (
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/kimchi"
)

func init() { guest.Register(kimchi.New()) }

func main() {}
