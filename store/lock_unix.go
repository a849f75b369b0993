//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// acquire takes the exclusive kernel lock of the folder without waiting. The
// kernel releases it when the process dies, so there is no stale lock (D3); the
// file itself is never removed, which would let two processes lock two files.
func (l *folderLock) acquire() (bool, error) {
	for {
		err := unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, os.NewSyscallError("flock", err)
		}
	}
}

const lockSupported = true
