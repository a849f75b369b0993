package store

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const lockName = "store.lock"

// folderLock keeps a second process out of the folder.
type folderLock struct{ file *os.File }

// holder is what the lock file tells a second process about the first. It is for
// the message only; the kernel's lock decides.
type holder struct {
	PID int `json:"pid"`
	// Start is the start time of the process as the system counts it, so that
	// a reused pid is not taken for the holder: clock ticks since boot on Linux,
	// microseconds since 1970 on macOS, 0 where unknown.
	Start int64     `json:"start"`
	Since time.Time `json:"since"`
}

func lockFolder(dir string) (*folderLock, error) {
	f, err := openPrivate(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	l := &folderLock{file: f}
	ok, err := l.acquire()
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
	var h holder
	if b, err := io.ReadAll(io.LimitReader(l.file, 4096)); err == nil && json.Unmarshal(b, &h) == nil && h.PID > 0 {
		if start, ok := processStart(h.PID); ok && start == h.Start {
			who = fmt.Sprintf("Process %d", h.PID)
		}
	}
	return &Error{Code: CodeLocked, Message: fmt.Sprintf(
		"%s has the data folder %s open; use that process, end it, or choose another folder.", who, dir)}
}

// sign records this process in the lock file.
func (l *folderLock) sign(now time.Time) error {
	h := holder{PID: os.Getpid(), Since: now.UTC()}
	h.Start, _ = processStart(h.PID)
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return translate(err, "lock file")
	}
	_, err = l.file.WriteAt(append(b, '\n'), 0)
	return translate(err, "lock file")
}

func (l *folderLock) release() error { return l.file.Close() }
