//go:build linux || darwin

package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput throws away what was typed and not read. A failure leaves the
// input as it was.
func flushInput(f *os.File) { _ = flush(int(f.Fd())) }

// echoOff stops the terminal from showing what is typed and returns how to
// undo it, nil if the terminal cannot.
func echoOff(f *os.File) func() {
	fd := int(f.Fd())
	old, err := unix.IoctlGetTermios(fd, ioctlGet)
	if err != nil {
		return nil
	}
	quiet := *old
	quiet.Lflag &^= unix.ECHO
	quiet.Lflag |= unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(fd, ioctlSet, &quiet); err != nil {
		return nil
	}
	return func() { _ = unix.IoctlSetTermios(fd, ioctlSet, old) }
}
