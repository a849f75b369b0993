//go:build unix

package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// InheritLock is the lock's file as a process has it that was just forked from this
// one and has not begun its own program.
func (s *Store) InheritLock() (*os.File, error) {
	fd, err := unix.Dup(int(s.lock.file.Fd()))
	return os.NewFile(uintptr(fd), lockName), err
}
