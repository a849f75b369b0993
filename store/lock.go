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
	who := "Another process"
	var h lockfile.Holder
	if lockfile.Read(l.file, &h) && h.Alive() {
		who = fmt.Sprintf("Process %d", h.PID)
	}
	return &Error{Code: CodeLocked, Message: fmt.Sprintf(
		"%s has the data folder %s open; use that process, end it, or choose another folder.", who, dir)}
}

// sign records this process in the lock file.
func (l *folderLock) sign(now time.Time) error {
	return translate(lockfile.Write(l.file, lockfile.Self(now)), "lock file")
}

func (l *folderLock) release() error { return l.file.Close() }
