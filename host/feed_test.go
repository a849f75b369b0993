package host_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/store"
)

func TestAReaderWhoseNumberIsNotOfThisJournalIsToldToReadAnew(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo, func(c *host.Config) { c.LeaveIdle = true })
	turn := w.send("Go")
	w.untilTurn(turn.ID, host.TurnCompleted)
	w.close()
	var last uint64
	w.stored(func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.Conversation(ctx, w.conv)
		if err != nil {
			return err
		}
		last, row.JournalFloor = row.LastSeq, 2
		return tx.UpdateConversation(ctx, row)
	})
	w.open()
	w.serve(w.h.Handler())
	first := func(after uint64) (host.Event, error) {
		for ev, err := range w.h.Events(t.Context(), w.conv, after) {
			return ev, err
		}
		return host.Event{}, errors.New("the journal ended")
	}
	for _, after := range []uint64{0, 1, last + 1, 1 << 60} {
		_, err := first(after)
		wantCode(t, err, host.CodeResync)
		w.fails(host.CodeResync, "GET", w.at(fmt.Sprintf("/events?after=%d", after)), nil)
	}
	if ev, err := first(2); err != nil || ev.Seq <= 2 {
		t.Fatalf("after 2 comes %+v, %v", ev, err)
	}
	// Nothing has come after the newest yet; that is no other journal.
	w.send("More")
	if ev, err := first(last); err != nil || ev.Seq != last+1 {
		t.Fatalf("after %d comes %+v, %v", last, ev, err)
	}
}
