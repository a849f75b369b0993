package store

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aoagents/ao-host/internal/lockfile"
)

const lockName = "store.lock"

// folderLock keeps a second process out of the folder (D3).
type folderLock struct{ file *os.File }

func lockFolder(dir string) (*folderLock, error) {
	f, err := openPrivate(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	l := &folderLock{file: f}
	ok, err := lockfile.Take(f)
	if err == nil && !ok {
		err = l.lockedError(dir)
	}
	if err != nil {
		_ = f.Close()
		return nil, translate(err, "lock file")
	}
	return l, nil
}

func (l *folderLock) lockedError(dir string) *Error {
	var h lockfile.Holder
	if lockfile.Read(l.file, &h) && h.Alive() {
		return heldError(dir, h.PID)
	}
	return heldError(dir, 0)
}

// heldError says that a process has the folder; 0 is one that is not known.
func heldError(dir string, pid int) *Error {
	who := "Another process"
	if pid > 0 {
		who = fmt.Sprintf("Process %d", pid)
	}
	return &Error{Code: CodeLocked, Message: fmt.Sprintf(
		"%s has the data folder %s open; use that process, end it, or choose another folder.", who, dir)}
}

// sign records this process in the lock file.
func (l *folderLock) sign(now time.Time) error {
	return translate(lockfile.Write(l.file, lockfile.Self(now)), "lock file")
}

// check refuses a folder that was moved, removed or replaced while it was open.
// What is written would be in files that nobody finds again, and another process
// may have the folder of that name.
func (l *folderLock) check(dir string) error {
	if !lockfile.Lost(l.file, filepath.Join(dir, lockName)) {
		return nil
	}
	return &Error{Code: CodeFailed, Message: fmt.Sprintf(
		"The data folder %s was moved, removed or replaced while it was open, so nothing more is kept; end this process, and use the folder where it is now.", dir)}
}

func (l *folderLock) release() error { return lockfile.Release(l.file) }
