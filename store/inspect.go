package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/aoagents/ao-host/internal/lockfile"
	"github.com/aoagents/ao-host/store/internal/db"
)

// Condition is the state of a data folder, as it is seen without opening it.
type Condition struct {
	// Exists is false when there is no data file yet.
	Exists bool
	// Schema is the version of the file's schema, Known the one of this program.
	Schema, Known int64
	// DataBytes, LogBytes and BackupBytes are the sizes of the data file, of its
	// write-ahead log and of all backups beside it.
	DataBytes, LogBytes, BackupBytes int64
	// FreeBytes is the room left for this user, -1 where it is not known.
	FreeBytes int64
	// Mode are the permission bits of the folder, 0 where there is none.
	Mode fs.FileMode
	// Holder is the process that has the folder open, 0 for none.
	Holder int
	// Problem is why [Open] would fail: store_locked, store_read_only, store_newer,
	// store_corrupt, store_failed or unsupported_platform.
	Problem *Error
}

// Inspect looks at a data folder without changing anything in it or beside it.
func Inspect(dir string) Condition {
	c := Condition{FreeBytes: -1}
	c.Known, _ = knownVersion(embeddedMigrations()) // they are part of the program
	abs, err := filepath.Abs(dir)
	if err != nil {
		c.blame(err)
		return c
	}
	path := filepath.Join(abs, dataName)
	size := func(name string) int64 {
		if fi, err := os.Stat(name); err == nil {
			return fi.Size()
		}
		return 0
	}
	c.DataBytes, c.LogBytes = size(path), size(path+"-wal")
	entries, _ := os.ReadDir(abs) // a folder that cannot be read is told below
	for _, e := range entries {
		if isBackup(e.Name()) {
			c.BackupBytes += size(filepath.Join(abs, e.Name()))
		}
	}
	base := existing(abs)
	c.FreeBytes = room(base)
	if fi, err := os.Stat(abs); err == nil {
		c.Mode = fi.Mode().Perm()
	}
	if !lockfile.Supported {
		c.Problem = unsupportedError()
		return c
	}
	if err := writable(base); err != nil {
		c.blame(err)
	}
	v, err := checkVersion(path, c.Known)
	c.Exists, c.Schema = v.exists, v.schema
	c.blame(err)
	if c.Holder, err = holding(abs); err != nil {
		c.blame(err)
	} else if c.Holder != 0 && c.Problem == nil {
		c.Problem = heldError(abs, c.Holder)
	}
	return c
}

// blame keeps the first problem.
func (c *Condition) blame(err error) {
	if err == nil || c.Problem != nil {
		return
	}
	if !errors.As(translate(err, "data folder"), &c.Problem) {
		c.Problem = &Error{Code: CodeFailed, Message: "The data folder could not be looked at: " + err.Error() + ".", Err: err}
	}
}

// existing is the folder, or the nearest one above it that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// holding returns the process that has the folder open. The lock is tried only
// when the record speaks of a living process, which may just have closed the
// folder: trying it lets a start at this moment fail.
func holding(dir string) (int, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	}
	defer func() { _ = lockfile.Release(f) }()
	var h lockfile.Holder
	if !lockfile.Read(f, &h) || !h.Alive() {
		return 0, nil
	}
	free, err := lockfile.Take(f)
	if free || err != nil {
		return 0, err
	}
	return h.PID, nil
}

// Snapshot reads a data folder that another process may have open. It takes no
// lock, and it changes nothing in the data.
type Snapshot struct {
	Reader
	pool *sql.DB
}

// OpenSnapshot opens a data folder for reading only.
//
// Errors: not_found where there is no data yet; store_newer; store_failed where it
// was written by an older version and not yet upgraded; store_corrupt.
func OpenSnapshot(ctx context.Context, dir string) (*Snapshot, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, translate(err, "data folder")
	}
	known, err := knownVersion(embeddedMigrations())
	if err != nil {
		return nil, err
	}
	path := filepath.Join(abs, dataName)
	v, err := checkVersion(path, known)
	switch {
	case err != nil:
		return nil, err
	case !v.exists:
		return nil, &Error{Code: CodeNotFound, Message: "There is no data in " + abs + " yet."}
	case v.schema < known:
		return nil, &Error{Code: CodeFailed, Message: "The data in " + abs + " was written by an older version; it is brought up to date when it is next opened."}
	}
	pool, err := openPoolMode(path, Options{}.withDefaults(), readerPragmas, "ro")
	if err != nil {
		return nil, err
	}
	if err := pool.PingContext(ctx); err != nil {
		_ = pool.Close()
		return nil, translate(err, "data file")
	}
	return &Snapshot{Reader: Reader{q: db.New(newStmtCache(pool)), gate: &sync.RWMutex{}}, pool: pool}, nil
}

// Close ends the reading.
func (s *Snapshot) Close() error { return translate(s.pool.Close(), "data file") }
