package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aoagents/ao-host/store"
)

func TestWhatIsPrunedOfAJournalIsHiddenAtOnceAndGoneFromTheFilesAfterwards(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	for _, id := range []string{"c", "d"} {
		for _, part := range []string{"old", "new"} {
			write(t, s, func(tx *store.Tx) error {
				for range 20 {
					if err := tx.AppendEvent(ctx, &store.Event{ConversationID: id, Type: "item", Body: []byte(traceOf(id + part))}); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	var cuts []store.Cut
	there := 0
	s.NotifyCut(func(c store.Cut) { cuts = append(cuts, c); there = traces(t, s.Dir(), traceOf("cold")) })
	failed := errors.New("no")
	err := s.Write(ctx, func(tx *store.Tx) error { return errors.Join(tx.Prune(ctx, "c", 40), failed) })
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	write(t, s, func(tx *store.Tx) error { return tx.Prune(ctx, "c", 20) })
	if c, err := s.Conversation(ctx, "c"); err != nil || c.JournalFloor != 20 || c.LastSeq != 40 {
		t.Fatalf("%+v %v", c, err)
	}
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(cuts, []store.Cut{{Conversation: "c", UpTo: 20}}) || there == 0 {
		t.Errorf("cuts %v, told when %d were there", cuts, there)
	}
	if got := seqs(t, s, "c"); len(got) != 20 || got[0] != 21 {
		t.Errorf("events %v", got)
	}
	for text, want := range map[string]bool{"cold": false, "cnew": true, "dold": true, "dnew": true} {
		if n := traces(t, s.Dir(), traceOf(text)); (n > 0) != want {
			t.Errorf("%d traces of %s", n, text)
		}
	}
	// A lower floor does not come back, and a missing conversation is told.
	write(t, s, func(tx *store.Tx) error { return tx.Prune(ctx, "c", 3) })
	if c, err := s.Conversation(ctx, "c"); err != nil || c.JournalFloor != 20 || len(cuts) != 1 {
		t.Fatalf("%+v %v", c, err)
	}
	wantCode(t, s.Write(ctx, func(tx *store.Tx) error { return tx.Prune(ctx, "x", 3) }), store.CodeNotFound)
	write(t, s, func(tx *store.Tx) error { return tx.AppendEvent(ctx, &store.Event{ConversationID: "c"}) })
	if got := seqs(t, s, "c"); got[len(got)-1] != 41 {
		t.Errorf("events %v", got)
	}
}

func TestAPruningThatACloseCutShortIsFinishedAfterTheNextOpen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	addConversation(t, s, "c")
	longTurn(t, s, 200)
	done := s.SubmitNow(func(tx *store.Tx) error {
		err := tx.Prune(ctx, "c", 190)
		go func() { _ = s.Close() }()
		for !s.QueueClosed() {
			time.Sleep(time.Millisecond)
		}
		return err
	})
	if err := done.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, store.Options{})
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if got := seqs(t, s, "c"); len(got) != 10 || got[0] != 191 {
		t.Errorf("events %v", got)
	}
	// And then both at once.
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(tx.Prune(ctx, "c", 195), tx.DeleteConversation(ctx, "c"))
	})
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if n := traces(t, dir, "xxxxxxxx"); n > 0 {
		t.Errorf("%d traces are left", n)
	}
}
