package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/aoagents/ao-host/store/internal/db"
)

// writer owns the one connection that writes. Closures run one after another, all
// but the first in a savepoint of its own, in a transaction that is committed when
// somebody waits for it, when it has MaxBatch rows and no more are there, or
// MaxDelay after it began.
//
// A closure is run as soon as the writer is free, not when its transaction is
// committed, so the wait for company is no idle time.
type writer struct {
	opts Options
	// held says why the folder is not this store's any more.
	held  func() error
	queue *queue
	conn  *sql.Conn
	cache *stmtCache
	raw   *sqlite3.Conn
	st    statements
	tx    *Tx
	wal   *walKeeper

	// open is set while a transaction is; batch are its closures that succeeded.
	items               []*Pending // of this round
	open                bool
	faulted             bool // one of its closures met a fault
	batch               []*Pending
	flushAt             time.Time
	compaction, removal chore
	removals            removals

	notify atomic.Pointer[[]func(string, uint64)]
	onCut  atomic.Pointer[[]func(Cut)]
	failed atomic.Pointer[Error]
	done   chan struct{}
}

// backlogFactor: a transaction grows to so many times MaxBatch, within its
// MaxDelay, when the rows are there already. The slower the disk syncs, the longer
// the backlog, and the more a shared sync is worth.
const backlogFactor = 8

// newWriter takes a connection of pool for itself.
func newWriter(ctx context.Context, pool *sql.DB, path string, opts Options, held func() error) (*writer, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, translate(err, "data file")
	}
	w := &writer{opts: opts, held: held, queue: newQueue(), conn: conn, cache: newStmtCache(conn), done: make(chan struct{})}
	err = conn.Raw(func(c any) error {
		w.raw = c.(driver.Conn).Raw()
		return w.st.prepare(w.raw)
	})
	if err != nil {
		return nil, errors.Join(translate(err, "data file"), conn.Close())
	}
	w.tx = newTx(opts.Now, db.New(insideOnly{w.cache, w.raw}), w.raw, &w.st)
	w.wal = newWALKeeper(w.raw, path+"-wal", opts)
	w.compaction.part, w.removal.part = (*Tx).compactMore, (*Tx).removeMore
	uncompacted, err := hasCompactions(w.raw)
	unremoved := false
	if err == nil {
		unremoved, err = w.removals.beginLeft(w.raw)
	}
	if err != nil {
		return nil, errors.Join(translate(err, "data file"), w.cache.close(), w.st.close(), conn.Close())
	}
	w.goOn(&w.compaction, uncompacted)
	w.goOn(&w.removal, unremoved)
	go w.run()
	return w, nil
}

// close runs what was queued before, commits it and ends the writer.
func (w *writer) close() error {
	w.queue.close()
	<-w.done
	return errors.Join(w.cache.close(), w.st.close(), w.conn.Close())
}

func (w *writer) run() {
	defer w.stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		if !w.round() {
			return
		}
		wait, timed := time.Until(w.flushAt), true
		if !w.open {
			wait, timed = w.idleWait()
		}
		if timed {
			timer.Reset(wait)
		}
		select {
		case <-w.queue.wake:
			timer.Stop()
		case <-timer.C:
			if !w.open {
				w.wal.idle()
				w.repeatChores()
			}
		}
	}
}

// round runs what waits until nothing does. It reports false when the queue is
// closed and all is done.
func (w *writer) round() bool {
	for {
		var closed bool
		w.items, closed = w.queue.take(w.items)
		waited := false
		for _, p := range w.items {
			w.runOne(p)
			waited = waited || p.now
			if w.tx.rows >= w.opts.MaxBatch*backlogFactor || (w.tx.rows >= w.opts.MaxBatch && w.overdue()) {
				w.commit()
				waited = false
			}
		}
		if w.open && (waited || closed || w.tx.rows >= w.opts.MaxBatch || w.overdue()) {
			w.commit()
		}
		if len(w.items) == 0 {
			return !closed
		}
		w.wal.busy()
	}
}

func (w *writer) overdue() bool { return !time.Now().Before(w.flushAt) }

// stop tells all who still wait that the store is closed. There are some only
// after a closure ended the writer's goroutine.
func (w *writer) stop() {
	defer close(w.done)
	w.queue.close()
	if w.open {
		w.fail(errClosed())
	}
	waiting := w.items
	rest, _ := w.queue.take(nil)
	for _, p := range append(waiting, rest...) {
		if !p.finished() {
			p.finish(errClosed())
		}
	}
	w.removals.fail(errClosed(), true)
}

// runOne runs one closure inside the open transaction, or a new one.
func (w *writer) runOne(p *Pending) {
	if err := p.ctx.Err(); err != nil {
		w.finish(p, err)
		return
	}
	if err := w.begin(); err != nil {
		w.finish(p, err)
		return
	}
	// A savepoint holds every page that is changed after it, in memory. The first
	// closure needs none: without it the transaction is empty.
	alone := len(w.batch) == 0
	if !alone {
		if err := w.st.savepoint.Exec(); err != nil {
			w.fail(translate(err, "data file"))
			w.finish(p, translate(err, "data file"))
			return
		}
	}
	w.tx.beginClosure()
	rows := w.tx.rows
	err := w.call(p)
	w.tx.rows = max(w.tx.rows, rows+1) // closures that write nothing fill a batch too
	lost := w.raw.GetAutocommit()
	if err == nil && !lost {
		if !alone {
			err = w.st.release.Exec()
		}
		if err == nil {
			w.batch = append(w.batch, p)
			return
		}
		err = translate(err, "data file")
		lost = w.raw.GetAutocommit()
	}
	if lost && err == nil {
		err = errLost() // the closure ignored what ended the transaction
	}
	w.tx.undoClosure()
	switch {
	case lost:
		var cause *Error
		if !errors.As(err, &cause) {
			cause = errLost()
		}
		w.fail(cause)
	case alone:
		w.rollback()
	default:
		if e := errors.Join(w.st.undo.Exec(), w.st.release.Exec()); e != nil {
			w.fail(translate(e, "data file"))
		}
	}
	w.note(err)
	w.finish(p, err)
}

// call runs the closure and turns a panic into an error and a note for the
// caller.
func (w *writer) call(p *Pending) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p.panicked = &closurePanic{value: v, stack: debug.Stack()}
			err = errors.New("the closure panicked")
			w.opts.Logger.Error("a store closure panicked", slog.String("panic", p.panicked.String()))
		}
	}()
	return p.fn(w.tx)
}

func (w *writer) begin() error {
	if w.open {
		return nil
	}
	if err := w.st.begin.Exec(); err != nil {
		err = translate(err, "data file")
		w.note(err)
		return err
	}
	w.open, w.faulted = true, false
	w.tx.beginTransaction()
	w.flushAt = time.Now().Add(w.opts.MaxDelay)
	return nil
}

// commit ends the transaction and tells everybody.
func (w *writer) commit() {
	if !w.open {
		return
	}
	w.tx.beginClosure()
	err := w.held()
	if err == nil {
		err = w.tx.writeHeads()
	}
	if err == nil {
		err = translate(w.st.commit.Exec(), "data file")
	}
	if err != nil {
		w.fail(err)
		return
	}
	w.open = false
	if !w.faulted {
		w.failed.Store(nil)
	}
	if fns := w.notify.Load(); fns != nil {
		w.tx.appended(func(conversation string, last uint64) {
			for _, fn := range *fns {
				fn(conversation, last)
			}
		})
	}
	for _, cut := range w.tx.cuts {
		// Before anything of it is removed: who has read on without knowing of it has
		// read all of it.
		w.removals.begin(cut.Conversation)
		if fns := w.onCut.Load(); fns != nil {
			for _, fn := range *fns {
				fn(cut)
			}
		}
	}
	if len(w.tx.removed) > 0 {
		w.wal.holdsRemoved()
	}
	w.finishBatch(nil)
	w.wal.committed()
	w.removals.finish(w.tx.removed)
	w.goOn(&w.compaction, w.tx.uncompacted)
	w.goOn(&w.removal, w.tx.unremoved)
	for _, fn := range w.tx.later {
		// When the store is being closed nobody waits for it.
		w.queue.add(newPending(context.Background(), false, fn))
	}
	w.tx.later = nil
}

// chore is work that goes on by itself, a part in each transaction.
type chore struct {
	part func(*Tx) error
	last *Pending
	// again is when a part that failed is repeated by an idle store, after pause;
	// zero when none did.
	again time.Time
	pause time.Duration
}

// goOn queues the next part of a chore, if there is more, behind what waits already.
// After a failure the next commit of anything tries again, or an idle store after a
// pause; what a close leaves is gone on with when the store is opened.
func (w *writer) goOn(c *chore, more bool) {
	if !more || c.last != nil && !c.last.finished() {
		return
	}
	p := newPending(context.Background(), false, c.part)
	if w.queue.add(p) {
		c.last = p
	}
}

func (w *writer) chores() [2]*chore { return [...]*chore{&w.compaction, &w.removal} }

// finish tells a closure what became of it. Who waits for a removal hears of a part
// that failed, which nothing may follow for long.
func (w *writer) finish(p *Pending, err error) {
	p.finish(err)
	for _, c := range w.chores() {
		switch {
		case p != c.last:
		case err == nil:
			c.again, c.pause = time.Time{}, 0
		default:
			c.pause = longer(c.pause)
			c.again = time.Now().Add(c.pause)
		}
	}
	if err != nil && p == w.removal.last {
		w.removals.fail(err, false)
	}
}

// idleWait says how long an idle store waits for what it has to do then, and whether
// there is anything.
func (w *writer) idleWait() (wait time.Duration, timed bool) {
	wait, timed = w.wal.idleWait()
	for _, c := range w.chores() {
		if at := time.Until(c.again); !c.again.IsZero() && (!timed || at < wait) {
			wait, timed = at, true
		}
	}
	return wait, timed
}

// repeatChores goes on with what failed some time ago.
func (w *writer) repeatChores() {
	for _, c := range w.chores() {
		if !c.again.IsZero() && !time.Now().Before(c.again) {
			w.goOn(c, true)
		}
	}
}

// fail rolls back the open transaction; all its closures fail with err.
func (w *writer) fail(err error) {
	w.rollback()
	w.note(err)
	w.finishBatch(err)
}

func (w *writer) rollback() {
	if !w.raw.GetAutocommit() {
		if e := w.st.rollback.Exec(); e != nil {
			w.opts.Logger.Error("the store could not roll back", slog.Any("error", e))
		}
	}
	w.open = false
	w.tx.beginTransaction()
}

// note remembers a fault for [Store.Failing].
func (w *writer) note(err error) {
	var e *Error
	if isFault(err) && errors.As(err, &e) {
		w.faulted = true
		w.failed.Store(e)
	}
}

func (w *writer) finishBatch(err error) {
	for i, p := range w.batch {
		w.finish(p, err)
		w.batch[i] = nil
	}
	w.batch = w.batch[:0]
}
