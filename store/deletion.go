package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/aoagents/ao-host/store/internal/db"
)

// Cut is the part of a journal that no reader is shown any more.
type Cut struct {
	Conversation string
	// UpTo is the number of its last event.
	UpTo uint64
	// Deleted: it is the whole conversation.
	Deleted bool
}

// DeleteConversation takes a conversation away with all that belongs to it: from its
// commit on no read returns it and its journal and queue take nothing. Its rows are
// too many for one transaction, so the store removes them by itself afterwards, a few
// megabytes at a time, also after a crash; see [Store.Removed]. The id can be used
// again after that. Error: not_found.
func (tx *Tx) DeleteConversation(_ context.Context, id string) error {
	h, err := tx.head(id)
	if err != nil {
		return err
	}
	n, err := tx.q.MarkDeleted(context.Background(), id)
	if err := tx.changed(n, err, "conversation", id); err != nil {
		return err
	}
	tx.touch(h)
	h.deleted = true
	tx.cuts = append(tx.cuts, Cut{Conversation: id, UpTo: math.MaxUint64, Deleted: true})
	tx.unremoved = true
	return nil
}

// Prune hides the events of a journal up to a number, from its commit on, and has the
// store remove them by itself afterwards, as after [Tx.DeleteConversation]; see
// [Store.Removed]. A floor that is not higher than the one before changes nothing.
// Error: not_found.
func (tx *Tx) Prune(_ context.Context, conversation string, floor uint64) error {
	if _, err := tx.head(conversation); err != nil {
		return err
	}
	n, err := tx.q.RaiseFloor(context.Background(), signed(floor), conversation)
	if err = tx.wrote(err, "conversation"); err != nil || n == 0 {
		return err
	}
	tx.cuts = append(tx.cuts, Cut{Conversation: conversation, UpTo: floor})
	tx.unremoved = true
	return nil
}

// removeMore goes on with what is to be removed: deleted conversations, then the
// beginnings of journals. It sets tx.unremoved as long as there may be more.
func (tx *Tx) removeMore() error {
	ctx := context.Background()
	id, err := tx.q.NextDeleted(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return tx.cutMore(ctx)
	}
	tx.unremoved = true
	if err != nil {
		return translate(err, "conversation")
	}
	room := int64(compactionBytes)
	more, err := tx.removeRows(ctx, id, &room)
	tx.rows += int((compactionBytes - room) / pageBytes)
	if err != nil || more {
		return tx.wrote(err, "conversation")
	}
	for _, drop := range []func(context.Context, string) error{
		tx.q.DropAllTimers, tx.q.DropCompactions, tx.q.DropIdempotencyOf, tx.q.DropConversation,
	} {
		if err := drop(ctx, id); err != nil {
			return tx.wrote(err, "conversation")
		}
	}
	tx.removed = append(tx.removed, id)
	return tx.wrote(nil, "conversation")
}

// cutMore removes events from the beginning of a journal.
func (tx *Tx) cutMore(ctx context.Context) error {
	next, err := tx.q.NextUncut(ctx)
	tx.unremoved = !errors.Is(err, sql.ErrNoRows)
	if err != nil {
		if !tx.unremoved {
			return nil
		}
		return translate(err, "conversation")
	}
	room := int64(compactionBytes)
	more, err := tx.removeEvents(ctx, next.ID, next.JournalFloor, &room)
	tx.rows += int((compactionBytes - room) / pageBytes)
	if err != nil || more {
		return tx.wrote(err, "event")
	}
	tx.removed = append(tx.removed, next.ID)
	return tx.wrote(tx.q.JournalIsCut(ctx, next.JournalFloor, next.ID), "conversation")
}

// removeRows removes rows of a conversation until room bytes are used up, and reports
// whether there may be more.
func (tx *Tx) removeRows(ctx context.Context, id string, room *int64) (more bool, err error) {
	for _, part := range []func() (bool, error){
		func() (bool, error) { return tx.removeEvents(ctx, id, math.MaxInt64, room) },
		func() (bool, error) {
			list, err := tx.q.OldInputs(ctx, id, math.MaxInt64)
			return removeFirst(list, err, room, func(r db.OldInputsRow) int64 { return r.Size }, func(r db.OldInputsRow) error {
				_, err := tx.q.DropOldInputs(ctx, id, r.Generation, r.Seq)
				return err
			})
		},
		func() (bool, error) {
			list, err := tx.q.FirstOutbox(ctx, id)
			return removeFirst(list, err, room, func(r db.FirstOutboxRow) int64 { return r.Size }, func(r db.FirstOutboxRow) error {
				return tx.q.DropFirstOutbox(ctx, id, r.Generation, r.ID)
			})
		},
		func() (bool, error) {
			list, err := tx.q.FirstStates(ctx, id)
			return removeFirst(list, err, room, func(r db.FirstStatesRow) int64 { return r.Size }, func(r db.FirstStatesRow) error {
				return tx.q.DropFirstStates(ctx, id, r.Generation)
			})
		},
		func() (bool, error) {
			list, err := tx.q.FirstInteractions(ctx, id)
			return removeFirst(list, err, room, func(r db.FirstInteractionsRow) int64 { return r.Size }, func(r db.FirstInteractionsRow) error {
				return tx.q.DropInteractions(ctx, id, r.Ordinal)
			})
		},
		func() (bool, error) {
			list, err := tx.q.FirstProposals(ctx, id)
			return removeFirst(list, err, room, func(r db.FirstProposalsRow) int64 { return r.Size }, func(r db.FirstProposalsRow) error {
				return tx.q.DropProposals(ctx, id, r.Ordinal)
			})
		},
		func() (bool, error) {
			list, err := tx.q.FirstTurns(ctx, id)
			return removeFirst(list, err, room, func(r db.FirstTurnsRow) int64 { return r.Size }, func(r db.FirstTurnsRow) error {
				return tx.q.DropTurns(ctx, id, r.Position)
			})
		},
		func() (bool, error) {
			list, err := tx.q.FirstGenerations(ctx, id)
			return removeFirst(list, err, room, func(r db.FirstGenerationsRow) int64 { return r.Size }, func(r db.FirstGenerationsRow) error {
				return tx.q.DropGenerations(ctx, id, r.Number)
			})
		},
		func() (bool, error) { return tx.removeAttachments(ctx, id, room) },
	} {
		if more, err := part(); more || err != nil {
			return more, err
		}
	}
	return false, nil
}

// removeEvents removes the first events of a journal up to a number.
func (tx *Tx) removeEvents(ctx context.Context, id string, upTo int64, room *int64) (more bool, err error) {
	list, err := tx.q.FirstEvents(ctx, id, upTo)
	return removeFirst(list, err, room, func(r db.FirstEventsRow) int64 { return r.Size }, func(r db.FirstEventsRow) error {
		return tx.q.DropEvents(ctx, id, r.Seq)
	})
}

// removeAttachments removes those that no other conversation has.
func (tx *Tx) removeAttachments(ctx context.Context, id string, room *int64) (more bool, err error) {
	list, err := tx.q.FirstAttachments(ctx, id)
	if err != nil {
		return false, err
	}
	for _, a := range list {
		if *room <= 0 {
			return true, nil
		}
		*room -= a.Size
		if err := errors.Join(tx.q.DropAttachmentUse(ctx, id, a.Digest), tx.q.DropUnusedAttachment(ctx, a.Digest)); err != nil {
			return false, err
		}
	}
	return len(list) == compactionRows, nil
}

// removeFirst removes the first rows of a list, as many as there is room for but at
// least one: drop removes those up to the one it is given.
func removeFirst[R any](list []R, err error, room *int64, size func(R) int64, drop func(R) error) (more bool, _ error) {
	if err != nil || len(list) == 0 {
		return false, err
	}
	n, bytes := fitting(len(list), func(i int) int64 { return size(list[i]) }, *room)
	*room -= bytes
	return n < len(list) || n == compactionRows || *room <= 0, drop(list[n-1])
}

// Removed returns once nothing of a deleted conversation, or of the pruned part of a
// journal, is left in the data file and the log was emptied of it; at once when nothing
// is being removed. While another
// program reads the data file the log keeps what it holds, and is emptied later.
// An error means that the removal is not over: the store goes on with it after its
// next commit, after a pause, or when it is next opened.
func (s *Store) Removed(ctx context.Context, conversation string) error {
	r := s.writer.removals.of(conversation)
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// removals are the conversations of which something is being removed.
type removals struct {
	mu      sync.Mutex
	pending map[string]*removal
}

type removal struct {
	done chan struct{}
	// err is set before done is closed.
	err error
}

func (r *removals) of(conversation string) *removal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending[conversation]
}

func (r *removals) begin(conversation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending == nil {
		r.pending = map[string]*removal{}
	}
	if r.pending[conversation] == nil {
		r.pending[conversation] = &removal{done: make(chan struct{})}
	}
}

func (r *removals) finish(conversations []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range conversations {
		if p := r.pending[id]; p != nil {
			close(p.done)
			delete(r.pending, id)
		}
	}
}

// fail tells all who wait that it does not go on now, or, when the store is closed,
// not at all.
func (r *removals) fail(err error, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, p := range r.pending {
		p.err = err
		close(p.done)
		if closed {
			continue
		}
		r.pending[id] = &removal{done: make(chan struct{})}
	}
}

// beginLeft notes what a close or a crash left of removals.
func (r *removals) beginLeft(c *sqlite3.Conn) (left bool, err error) {
	s, _, err := c.Prepare(`SELECT id FROM conversation WHERE deleted <> 0 UNION SELECT id FROM conversation WHERE journal_cut < journal_floor`)
	if err != nil {
		return false, err
	}
	for s.Step() {
		left = true
		r.begin(s.ColumnText(0))
	}
	return left, errors.Join(s.Err(), s.Close())
}
