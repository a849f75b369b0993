//go:build !linux && !darwin

package console

import "os"

// Other systems are not supported by the host; these keep the program
// compiling so that it can say so.
func flushInput(*os.File) {}

func echoOff(*os.File) func() { return nil }
