package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/aoagents/ao-host/store/internal/db"
)

// Tx is the transaction of one closure: what its reads and writes do takes
// effect together or, when the closure fails, not at all. It is valid until the
// closure returns, on the goroutine that runs it. A closure must be quick and must
// not call the Store. One that leaves by runtime.Goexit, as t.Fatal does, closes the
// Store.
//
// The ctx of its methods is not looked at: a closure that has begun is not
// interrupted half-way.
type Tx struct {
	Reader
	now func() time.Time
	raw *sqlite3.Conn
	st  *statements
	// rows counts what the open transaction wrote, of all its closures. A large
	// body counts as many rows as it has pages.
	rows int
	// heads are the journals that the open transaction appended to; touched are
	// those that the running closure changed, as they were before it.
	heads   map[string]*head
	order   []*head
	touched []headBefore
	closure int
	// uncompacted: there may be compactions that are not finished.
	uncompacted bool
	// later are closures that go on with what the transaction was too small for, the
	// first laterBefore of them from earlier closures.
	later       []func(*Tx) error
	laterBefore int
	// unremoved: something may be left of what was deleted. cuts are what the
	// transaction hides, removed the conversations whose last rows it removes.
	unremoved                 bool
	cuts                      []Cut
	removed                   []string
	cutsBefore, removedBefore int
}

// head is the end of a journal inside the open transaction. The conversation's
// row follows once per transaction, not once per event.
type head struct {
	conversation string
	last         uint64
	updated      int64
	appended     bool
	dirty        bool
	deleted      bool
	// closure is the number of the closure that touched it last.
	closure int
}

type headBefore struct {
	head *head
	was  head
	// created: the closure was the first of the transaction to look at it, maybe
	// at a conversation that it had added itself.
	created bool
}

func newTx(now func() time.Time, q *db.Queries, raw *sqlite3.Conn, st *statements) *Tx {
	return &Tx{
		Reader: Reader{q: q, detached: true},
		now:    now, raw: raw, st: st, heads: map[string]*head{},
	}
}

// beginTransaction forgets the journals of the transaction before.
func (tx *Tx) beginTransaction() {
	tx.rows = 0
	tx.later, tx.cuts, tx.removed = nil, nil, nil
	clear(tx.heads)
	tx.order = tx.order[:0]
}

// beginClosure starts to remember what the closure changes.
func (tx *Tx) beginClosure() {
	tx.closure++
	tx.touched = tx.touched[:0]
	tx.laterBefore, tx.cutsBefore, tx.removedBefore = len(tx.later), len(tx.cuts), len(tx.removed)
}

// undoClosure takes the journals back to where they were before the closure.
func (tx *Tx) undoClosure() {
	tx.later, tx.cuts, tx.removed = tx.later[:tx.laterBefore], tx.cuts[:tx.cutsBefore], tx.removed[:tx.removedBefore]
	for _, b := range tx.touched {
		if !b.created {
			*b.head = b.was
			continue
		}
		delete(tx.heads, b.head.conversation)
		tx.order = slices.DeleteFunc(tx.order, func(h *head) bool { return h == b.head })
	}
	tx.touched = tx.touched[:0]
}

func (tx *Tx) touch(h *head) {
	if h.closure != tx.closure {
		tx.touched = append(tx.touched, headBefore{head: h, was: *h})
		h.closure = tx.closure
	}
}

// head returns the end of a journal, read from the conversation's row the first
// time in a transaction.
func (tx *Tx) head(conversation string) (*head, error) {
	if h, ok := tx.heads[conversation]; ok {
		if h.deleted {
			return nil, notFound("conversation", conversation)
		}
		return h, nil
	}
	s := tx.st.head
	err := s.BindText(1, conversation)
	found := err == nil && s.Step()
	var last int64
	if found {
		last = s.ColumnInt64(0)
	}
	if err = errors.Join(err, s.Err(), s.Reset()); err != nil {
		return nil, translate(err, "conversation")
	}
	if !found {
		return nil, notFound("conversation", conversation)
	}
	h := &head{conversation: conversation, last: uint64(last), closure: tx.closure}
	tx.touched = append(tx.touched, headBefore{head: h, created: true})
	tx.heads[conversation] = h
	tx.order = append(tx.order, h)
	return h, nil
}

// writeHeads brings the conversations' rows up to the ends of their journals.
func (tx *Tx) writeHeads() error {
	for _, h := range tx.order {
		if !h.dirty {
			continue
		}
		r := row{stmt: tx.st.moved}
		r.int(int64(h.last))
		r.int(h.updated)
		r.text(h.conversation)
		if err := r.run(); err != nil {
			return translate(err, "conversation")
		}
		tx.touch(h)
		h.dirty = false
	}
	return nil
}

// appended calls fn for each journal that grew, in the order of their first
// events.
func (tx *Tx) appended(fn func(conversation string, last uint64)) {
	for _, h := range tx.order {
		if h.appended {
			fn(h.conversation, h.last)
		}
	}
}

// Conversation returns one conversation as the closure left it.
func (tx *Tx) Conversation(ctx context.Context, id string) (Conversation, error) {
	if err := tx.writeHeads(); err != nil {
		return Conversation{}, err
	}
	return tx.Reader.Conversation(ctx, id)
}

// Conversations returns all conversations, the newest first.
func (tx *Tx) Conversations(ctx context.Context) ([]Conversation, error) {
	if err := tx.writeHeads(); err != nil {
		return nil, err
	}
	return tx.Reader.Conversations(ctx)
}

// wrote counts a written row and translates its error.
func (tx *Tx) wrote(err error, what string) error {
	tx.rows++
	return translate(err, what)
}

// pageBytes is the size of a page of the database.
const pageBytes = 4096

// weighs counts a body that was written with a row.
func (tx *Tx) weighs(body []byte) { tx.rows += len(body) / pageBytes }

// changed is wrote for a statement that must hit exactly one row.
func (tx *Tx) changed(n int64, err error, what, id string) error {
	if err = tx.wrote(err, what); err == nil && n == 0 {
		return notFound(what, id)
	}
	return err
}
