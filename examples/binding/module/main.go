// Command module is the parrot's binding as a WebAssembly module.
package main

import (
	"github.com/aoagents/ao-host/abi/guest"
	parrot "github.com/aoagents/ao-host/examples/binding"
)

func init() { guest.Register(&parrot.Reducer{}) }

func main() {}
