package store

import "context"

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
