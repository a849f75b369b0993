package store

import (
	"io/fs"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/aoagents/ao-host/internal/lockfile"
)

// Hooks for the external tests.

// WithMigrations replaces the embedded migrations.
func (o Options) WithMigrations(f fs.FS) Options { o.migrations = f; return o }

// WithVFS puts the store on files of a VFS, registered under a name.
func (o Options) WithVFS(name string, base vfs.VFSFilename) Options {
	vfs.Register(name, namedErrors{base})
	o.vfs = name
	return o
}

// Migrations are the embedded ones.
func Migrations() fs.FS { return embeddedMigrations() }

// KnownVersion is the newest schema version of the embedded migrations.
func KnownVersion() (int64, error) { return knownVersion(embeddedMigrations()) }

// PeekVersion reads the schema version of a file without opening it.
func PeekVersion(path string) (int64, error) {
	v, err := peekVersion(path)
	return v.schema, err
}

// ProcessStart is how the lock file identifies a process.
func ProcessStart(pid int) (int64, bool) { return lockfile.ProcessStart(pid) }

// QueueClosed reports whether the writer takes nothing any more.
func (s *Store) QueueClosed() bool {
	q := s.writer.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Queued is how many closures wait for the writer.
func (s *Store) Queued() int {
	q := s.writer.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}

// LoseTransaction rolls back the whole transaction, as SQLite does by itself
// after some errors.
func (tx *Tx) LoseTransaction() { _ = tx.st.rollback.Exec() }
