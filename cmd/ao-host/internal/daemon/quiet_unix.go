//go:build unix

package daemon

import (
	"os"

	"golang.org/x/sys/unix"
)

// quiet lets a standard stream lead nowhere. Merely closed, its number would be
// given to a file or socket, and a failing write there would end the process.
func quiet(stream *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	return unix.Dup2(int(null.Fd()), int(stream.Fd()))
}
