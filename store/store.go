package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/aoagents/ao-host/internal/lockfile"
	"github.com/aoagents/ao-host/store/internal/db"
)

// Store is an open data folder. Its methods are safe for concurrent use.
type Store struct {
	Reader
	dir    string
	lock   *folderLock
	pool   *sql.DB // the writer's connection
	reads  *sql.DB
	writer *writer

	notifyMu  sync.Mutex
	closeOnce sync.Once
	closeErr  error
}

// Open opens the data folder dir, creates it if needed, takes its lock and brings
// its schema up to date, after a backup if it has data already.
//
// Errors: store_locked, store_read_only, store_full, store_newer (nothing was
// written then), store_corrupt, store_failed, unsupported_platform.
func Open(ctx context.Context, dir string, opts Options) (_ *Store, err error) {
	if !lockfile.Supported {
		return nil, unsupportedError()
	}
	opts = opts.withDefaults()
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, translate(err, "data folder")
	}
	known, err := knownVersion(opts.migrations)
	if err != nil {
		return nil, fmt.Errorf("the embedded migrations are unusable: %w", err)
	}
	path := filepath.Join(dir, dataName)
	// Once before anything is written, and again under the lock.
	if _, err := checkVersion(path, known); err != nil {
		return nil, err
	}
	if err := prepareFolder(dir); err != nil {
		return nil, err
	}
	s := &Store{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.lock, err = lockFolder(dir); err != nil {
		return nil, err
	}
	found, err := checkVersion(path, known)
	if err != nil {
		return nil, err
	}
	if err := s.lock.sign(opts.Now()); err != nil {
		return nil, err
	}
	if err := prepareFiles(dir); err != nil {
		return nil, err
	}
	if s.pool, err = openPool(path, opts, writerPragmas); err != nil {
		return nil, err
	}
	s.pool.SetMaxOpenConns(1)
	if found.schema < known {
		if err := s.upgrade(ctx, path, found, opts); err != nil {
			return nil, err
		}
	}
	if !found.exists {
		if err := syncFolder(dir); err != nil {
			return nil, err
		}
	}
	if s.writer, err = newWriter(ctx, s.pool, path, opts, func() error { return s.lock.check(dir) }); err != nil {
		return nil, err
	}
	if s.reads, err = openPool(path, opts, readerPragmas); err != nil {
		return nil, err
	}
	s.reads.SetMaxOpenConns(opts.Readers)
	s.reads.SetMaxIdleConns(opts.Readers)
	// A connection keeps the memory of the largest row it read.
	s.reads.SetConnMaxIdleTime(time.Minute)
	s.Reader = Reader{q: db.New(newStmtCache(s.reads)), gate: &s.writer.wal.gate}
	return s, nil
}

// upgrade brings an older or new file to the newest schema.
func (s *Store) upgrade(ctx context.Context, path string, found fileVersion, opts Options) error {
	switch {
	case found.schema > 0:
		if err := backup(ctx, s.pool, s.dir, found.schema, opts.Now()); err != nil {
			return err
		}
	case found.exists:
		if err := refuseForeign(ctx, s.pool, path); err != nil {
			return err
		}
	}
	return migrate(ctx, s.pool, opts.migrations)
}

func checkVersion(path string, known int64) (fileVersion, error) {
	v, err := peekVersion(path)
	if err != nil {
		return v, err
	}
	return v, refuseNewer(v, known)
}

// The settings of a connection. The log of a store is small and its index is in
// memory, so an idle reader costs little.
const (
	commonPragmas = `
		PRAGMA temp_store = memory;
		PRAGMA trusted_schema = off;
		PRAGMA cell_size_check = on;
		PRAGMA cache_size = -8000;`
	writerPragmas = commonPragmas + `
		PRAGMA journal_mode = wal;
		PRAGMA synchronous = full;
		PRAGMA foreign_keys = on;
		PRAGMA secure_delete = on;`
	readerPragmas = commonPragmas + `
		PRAGMA query_only = on;`
)

func openPool(path string, opts Options, pragmas string) (*sql.DB, error) {
	return openPoolMode(path, opts, pragmas, "")
}

// openPoolMode is openPool with one of SQLite's modes of a URI, "ro" for reading
// only; empty is the usual one.
func openPoolMode(path string, opts Options, pragmas, mode string) (*sql.DB, error) {
	// SQLite takes any path as a file: URI, whatever characters it has.
	name := url.URL{Scheme: "file", OmitHost: true, Path: path}
	// modeof gives the log the mode of the data file when SQLite creates it.
	query := url.Values{"modeof": {path}, "vfs": {opts.vfs}}
	if mode != "" {
		query.Set("mode", mode)
	}
	// SQLite does not take a plus sign for a space.
	name.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	pool, err := driver.Open(name.String(), func(c *sqlite3.Conn) error {
		if err := c.BusyTimeout(opts.BusyTimeout); err != nil {
			return err
		}
		return c.Exec(pragmas)
	})
	return pool, translate(err, "data file")
}

// Dir is the absolute path of the data folder.
func (s *Store) Dir() string { return s.dir }

// Write runs fn in the order of calls and returns after its commit, which is not
// put off for others. It returns the error of fn, which leaves nothing of fn
// behind, or that of the commit. Write panics with what fn panicked with.
//
// If ctx ends while fn waits for its turn, fn is not run. If it ends later, Write
// returns the error of ctx at once, and fn may still be committed.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := newPending(ctx, true, fn)
	if !s.writer.queue.add(p) {
		return errClosed()
	}
	return p.Wait(ctx)
}

// Submit queues fn, in the order of calls, and returns at once. The commit may
// wait up to Options.MaxDelay for company. The queue has no bound of its own: a
// caller bounds itself by how much it submits before it waits.
func (s *Store) Submit(fn func(*Tx) error) *Pending { return s.submit(fn, false) }

// SubmitNow is Submit without the wait for company: for a caller that collected a
// batch of its own, or must not block but wants the commit at once.
func (s *Store) SubmitNow(fn func(*Tx) error) *Pending { return s.submit(fn, true) }

func (s *Store) submit(fn func(*Tx) error, now bool) *Pending {
	p := newPending(context.Background(), now, fn)
	if !s.writer.queue.add(p) {
		p.finish(errClosed())
	}
	return p
}

// Notify has fn called after each commit that appended events, once for each
// conversation, with the number of its newest event. Numbers of a conversation
// grow from call to call. fn is called by the writer, before those who wait for
// the commit go on; it must not block or call the Store.
func (s *Store) Notify(fn func(conversation string, lastSeq uint64)) {
	s.notifyMu.Lock()
	defer s.notifyMu.Unlock()
	var fns []func(string, uint64)
	if old := s.writer.notify.Load(); old != nil {
		fns = append(fns, *old...)
	}
	fns = append(fns, fn)
	s.writer.notify.Store(&fns)
}

// NotifyCut has fn called after each commit that hides a part of a journal, before
// anything of it is removed: a reader that took a page and has then not heard of it
// has read all there was. fn is called as that of [Store.Notify] is.
func (s *Store) NotifyCut(fn func(Cut)) {
	s.notifyMu.Lock()
	defer s.notifyMu.Unlock()
	var fns []func(Cut)
	if old := s.writer.onCut.Load(); old != nil {
		fns = append(fns, *old...)
	}
	fns = append(fns, fn)
	s.writer.onCut.Store(&fns)
}

// Failing returns why the newest transaction could not be committed, nil once one
// could again. A full disk is shown this way until there is room (D5).
func (s *Store) Failing() error {
	if e := s.writer.failed.Load(); e != nil {
		return e
	}
	return nil
}

// Close commits what was submitted, moves the log into the data file and releases
// the folder. Closing twice is fine.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		var errs []error
		if s.reads != nil {
			errs = append(errs, s.reads.Close())
		}
		if s.writer != nil {
			errs = append(errs, s.writer.close())
		}
		if s.pool != nil {
			errs = append(errs, s.pool.Close())
		}
		if s.lock != nil {
			errs = append(errs, s.lock.release())
		}
		s.closeErr = translate(errors.Join(errs...), "data file")
	})
	return s.closeErr
}
