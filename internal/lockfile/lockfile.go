// Package lockfile keeps a second process out of a folder: by a lock of the
// kernel, which a process gives up when it dies, however it dies. The file says
// who holds the lock, for messages only, and is never removed: two processes
// could then lock two files of the same name.
package lockfile

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Holder is what the file tells a second process about the one with the lock.
type Holder struct {
	PID int `json:"pid"`
	// Start is the start time of the process as the system counts it, so that a
	// reused pid is not taken for the holder: clock ticks since boot on Linux,
	// microseconds since 1970 on macOS, 0 where unknown.
	Start int64     `json:"start"`
	Since time.Time `json:"since"`
}

// Self describes this process.
func Self(now time.Time) Holder {
	h := Holder{PID: os.Getpid(), Since: now.UTC()}
	h.Start, _ = ProcessStart(h.PID)
	return h
}

// Alive reports whether the very process that wrote this still runs.
func (h Holder) Alive() bool {
	if h.PID <= 0 {
		return false
	}
	start, ok := ProcessStart(h.PID)
	return ok && start == h.Start
}

// Take takes the lock of a file without waiting. It is released by [Release], or by
// the end of the process. The result is false while another process
// has it, and where files cannot be locked.
func Take(f *os.File) (bool, error) { return take(f) }

// Release gives the lock up and closes the file. Closing alone is not enough: between
// its fork and its exec a child that this process happens to start has the file open
// too, and with it the lock.
func Release(f *os.File) error { return errors.Join(unlock(f), f.Close()) }

// Lost reports whether path no longer names the locked file: it or its folder was
// moved, removed or replaced, so that the lock keeps nobody out any more. What
// cannot be looked at, for want of a permission, is not lost.
func Lost(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return true
	}
	there, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrPermission)
	}
	return !os.SameFile(mine, there)
}

// maxRecord bounds what is read of a record, in bytes.
const maxRecord = 4096

// Write replaces the content of the file by a record, a struct with [Holder] in
// it. Only who holds the lock may write.
func Write(f *os.File, record any) error {
	b, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(b, '\n'), 0)
	return err
}

// Read reads the record. It reports false when there is none: the holder has not
// written it yet, or is writing it.
func Read(f *os.File, record any) bool {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxRecord))
	return err == nil && json.Unmarshal(b, record) == nil
}
