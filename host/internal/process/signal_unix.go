//go:build linux || darwin

package process

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", int(sig))
}
