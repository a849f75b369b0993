package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/aoagents/ao-host/store/internal/db"
)

// AppendEvent adds an event to the end of its journal and sets ev.Seq, and ev.At
// to the time now if it is zero. The conversation's LastSeq and UpdatedAt follow.
// If the closure or the commit fails the number is given to the next event: a
// journal has no gaps but those of compacted deltas. Error: not_found.
func (tx *Tx) AppendEvent(_ context.Context, ev *Event) error {
	if err := fits("event", ev.Body); err != nil {
		return err
	}
	h, err := tx.head(ev.ConversationID)
	if err != nil {
		return err
	}
	if ev.At.IsZero() {
		ev.At = tx.now()
	}
	at := ev.At.UnixNano()
	r := row{stmt: tx.st.event}
	r.text(ev.ConversationID)
	r.int(int64(h.last + 1))
	r.int(at)
	r.text(ev.Type)
	r.text(ev.TurnID)
	r.blob(ev.Body)
	if err := tx.wrote(r.run(), "event"); err != nil {
		return err
	}
	tx.weighs(ev.Body)
	tx.touch(h)
	h.last++
	h.updated = max(h.updated, at)
	h.appended, h.dirty = true, true
	ev.Seq = h.last
	return nil
}

// CompactDeltas removes the events of a turn that have one of the types and a
// number below before, and returns how many there were. The numbers stay unused.
func (tx *Tx) CompactDeltas(_ context.Context, conversation, turn string, types []string, before uint64) (int64, error) {
	from, err := tx.q.JournalFrom(context.Background(), turn)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, translate(err, "turn")
	}
	n, err := tx.q.CompactDeltas(context.Background(), db.CompactDeltasParams{
		ConversationID: conversation, AfterSeq: from, BeforeSeq: signed(before), TurnID: turn, Types: types,
	})
	return n, tx.wrote(err, "event")
}
