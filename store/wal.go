package store

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// walKeeper keeps the write-ahead log small (D4). SQLite itself would copy the
// log into the database inside the commit that makes it long, while the caller
// waits; here that happens after the caller was told.
//
// A passive checkpoint lets the next commit start the log anew unless a reader
// still needs it, but never shrinks the file. That is done when the store is
// idle, and in the midst of work once the log is twice its limit, because reads
// that overlap without a break would otherwise keep it growing for ever. Our own
// reads are short and wait outside for that moment; a foreign program's reads are
// waited for as long as checkpointWait.
type walKeeper struct {
	conn *sqlite3.Conn
	path string
	opts Options
	gate sync.RWMutex

	// pages is the length of the log after the last commit.
	pages int
	// wipe: the log holds what was removed since, so it is emptied whatever its
	// length. Of a log that a crash left that is not known; found says that it is to
	// be emptied once there is time.
	wipe, found bool
	// due: the store became idle and has not looked at the log since.
	due bool
	// forceAt is the size in bytes at which the log is truncated without waiting
	// for idleness.
	forceAt int64
	// again is when a failed attempt is repeated by an idle store, after pause.
	again time.Time
	pause time.Duration
	told  bool
}

const (
	// checkpointPages is SQLite's own default for automatic checkpoints.
	checkpointPages = 1000
	// checkpointWait is how long a checkpoint that needs it waits for readers. It
	// delays writers, so it is short.
	checkpointWait = 50 * time.Millisecond
	firstPause     = time.Second
	longestPause   = 30 * time.Second
)

func newWALKeeper(conn *sqlite3.Conn, path string, opts Options) *walKeeper {
	k := &walKeeper{conn: conn, path: path, opts: opts, found: true, due: true, forceAt: 2 * opts.WALLimit}
	conn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		k.pages = pages
		return nil
	})
	return k
}

// busy is called after each round of work.
func (k *walKeeper) busy() { k.due = true }

// holdsRemoved is called when a removal is over. Whoever waits for it is to find the
// log empty, so that it is tried however lately it failed.
func (k *walKeeper) holdsRemoved() { k.wipe, k.again = true, time.Time{} }

// committed is called after each commit, once the callers know of it.
func (k *walKeeper) committed() {
	if k.wipe && !time.Now().Before(k.again) {
		k.idle()
		return
	}
	if k.pages < min(checkpointPages, int(k.opts.WALLimit/pageBytes)) {
		return
	}
	if k.size() > k.forceAt {
		k.truncate()
		return
	}
	// Whatever keeps it from copying everything is a reader or full disk; the
	// next commit tries again.
	_, _, _ = k.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
}

// idleWait says how long to wait until idle is to be called, and whether at all.
func (k *walKeeper) idleWait() (time.Duration, bool) {
	if !k.due {
		return 0, false
	}
	return max(k.opts.IdleDelay, time.Until(k.again)), true
}

// idle shrinks the log if it is above its limit or holds what was removed.
func (k *walKeeper) idle() {
	if size := k.size(); size == 0 || size <= k.opts.WALLimit && !k.wipe && !k.found {
		k.due = false
		return
	}
	if k.truncate() {
		k.due = false
		return
	}
	k.pause = longer(k.pause)
	k.again = time.Now().Add(k.pause)
}

// longer is the pause after another failure.
func longer(pause time.Duration) time.Duration {
	return min(max(2*pause, firstPause), longestPause)
}

// truncate reports whether the log is empty now.
func (k *walKeeper) truncate() bool {
	k.gate.Lock()
	defer k.gate.Unlock()
	err := k.conn.BusyTimeout(checkpointWait)
	if err == nil {
		_, _, err = k.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	}
	if err = errors.Join(err, k.conn.BusyTimeout(k.opts.BusyTimeout)); err == nil {
		k.pages, k.pause = 0, 0
		k.told, k.wipe, k.found = false, false, false
		k.forceAt = 2 * k.opts.WALLimit
		return true
	}
	k.forceAt = k.size() + k.opts.WALLimit
	if !k.told {
		k.told = true
		k.opts.Logger.Warn("the write-ahead log cannot shrink; another program may hold the data file open",
			slog.Int64("bytes", k.size()), slog.Any("error", err))
	}
	return false
}

func (k *walKeeper) size() int64 {
	fi, err := os.Stat(k.path)
	if err != nil {
		return 0
	}
	return fi.Size()
}
