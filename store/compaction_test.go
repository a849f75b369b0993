package store_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aoagents/ao-host/store"
)

// longTurn appends n deltas of 64 KiB to the turn t1 of the conversation c, with
// one item in their midst.
func longTurn(t *testing.T, s *store.Store, n int) {
	t.Helper()
	write(t, s, func(tx *store.Tx) error {
		return tx.InsertTurn(ctx, store.Turn{ID: "t1", ConversationID: "c"})
	})
	body := bytes.Repeat([]byte("x"), 64<<10)
	for i := range n {
		typ := "delta"
		if i == n/2 {
			typ = "item"
		}
		write(t, s, func(tx *store.Tx) error {
			return tx.AppendEvent(ctx, &store.Event{ConversationID: "c", Type: typ, TurnID: "t1", Body: body})
		})
	}
}

// untilSeqs waits for the numbers of a journal.
func untilSeqs(t *testing.T, s *store.Store, conv string, want ...uint64) {
	t.Helper()
	var got []uint64
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if got = seqs(t, s, conv); slices.Equal(got, want) {
			return
		}
	}
	t.Fatalf("the journal of %s has the numbers %v, want %v", conv, got, want)
}

func TestTheDeltasOfALongTurnAreRemovedInPartsAndNothingElseIs(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	longTurn(t, s, 200)
	var removed int64
	write(t, s, func(tx *store.Tx) error {
		var err error
		if removed, err = tx.CompactDeltas(ctx, "c", "t1", []string{"delta", "thought"}, 1<<60); err != nil {
			return err
		}
		// A later turn of the same name is another one.
		return tx.AppendEvent(ctx, &store.Event{ConversationID: "c", Type: "delta", TurnID: "t1"})
	})
	if removed == 0 || removed >= 199 {
		t.Fatalf("%d events were removed in one transaction; want a part of them", removed)
	}
	untilSeqs(t, s, "c", 101, 201)
}

func TestACompactionThatACloseCutShortIsFinishedAfterTheNextOpen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	write(t, s, func(tx *store.Tx) error { return tx.InsertConversation(ctx, newConversation("c")) })
	longTurn(t, s, 200)
	// The close comes before the store goes on: nothing is queued behind it.
	done := s.SubmitNow(func(tx *store.Tx) error {
		_, err := tx.CompactDeltas(ctx, "c", "t1", []string{"delta"}, 1<<60)
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
	untilSeqs(t, s, "c", 101)
}

func TestACompactionOfAFailedClosureIsNotGoneOnWith(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	longTurn(t, s, 100)
	before := seqs(t, s, "c")
	failed := s.SubmitNow(func(tx *store.Tx) error {
		if _, err := tx.CompactDeltas(ctx, "c", "t1", []string{"delta"}, 1<<60); err != nil {
			return err
		}
		return errClosure
	})
	if err := failed.Wait(ctx); err == nil {
		t.Fatal("no error")
	}
	// What the store would go on with comes before this.
	for range 3 {
		write(t, s, func(tx *store.Tx) error { return nil })
	}
	if got := seqs(t, s, "c"); !slices.Equal(got, before) {
		t.Fatalf("events are gone: %v", got)
	}
}

func TestTheInputsOfALongSessionAreDroppedInPartsAndTheNextSessionKeepsItsOwn(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	input := func(conv string, generation int64, seq uint64) {
		write(t, s, func(tx *store.Tx) error {
			return tx.AppendInput(ctx, store.Input{ConversationID: conv, Generation: generation, Seq: seq, Kind: "batch", Body: make([]byte, 300<<10)})
		})
	}
	for seq := range uint64(20) {
		input("c", 1, seq+1)
		input("c", 2, seq+1)
		input("d", 1, seq+1)
	}
	input("c", 3, 1)
	count := func(conv string, generation int64) int {
		rows, err := s.Inputs(ctx, conv, generation, 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	inOne := 0
	write(t, s, func(tx *store.Tx) error {
		err := tx.DropSessions(ctx, "c", 3)
		rows, rerr := tx.Inputs(ctx, "c", 1, 0)
		inOne = 20 - len(rows)
		return errors.Join(err, rerr)
	})
	if inOne == 0 || inOne == 20 {
		t.Errorf("%d inputs were dropped in one transaction; want a part of them", inOne)
	}
	for deadline := time.Now().Add(time.Minute); count("c", 1)+count("c", 2) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d and %d inputs are left", count("c", 1), count("c", 2))
		}
	}
	if count("c", 3) != 1 || count("d", 1) != 20 {
		t.Errorf("%d and %d inputs of others are left", count("c", 3), count("d", 1))
	}
}
