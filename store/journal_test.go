package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/store"
)

func seqs(t testing.TB, s *store.Store, conv string) []uint64 {
	t.Helper()
	var all []uint64
	for after := uint64(0); ; after = all[len(all)-1] {
		rows, err := s.Events(ctx, conv, after, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			return all
		}
		all = append(all, ids(rows, func(e store.Event) uint64 { return e.Seq })...)
	}
}

func TestAPageOfEventsIsBoundedInBytesTooAndNeverEmptyBeforeTheEnd(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	sizes := []int{1 << 20, 10, 1 << 20, 20 << 20, 10, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 10}
	for _, n := range sizes {
		write(t, s, func(tx *store.Tx) error {
			return tx.AppendEvent(ctx, &store.Event{ConversationID: "c", Type: "item", Body: make([]byte, n)})
		})
	}
	var pages [][]uint64
	for after := uint64(0); ; {
		page, err := s.Events(ctx, "c", after, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for i, e := range page {
			if len(e.Body) != sizes[after] {
				t.Fatalf("event %d of page %v has %d bytes", i, pages, len(e.Body))
			}
			after = e.Seq
		}
		pages = append(pages, ids(page, func(e store.Event) uint64 { return e.Seq }))
	}
	want := [][]uint64{{1, 2, 3}, {4}, {5, 6, 7, 8}, {9, 10, 11}}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Fatalf("pages (-want +got):\n%s", diff)
	}
	if page, err := s.Events(ctx, "c", 4, 2); err != nil || len(page) != 2 {
		t.Fatalf("a page of two: %d, %v", len(page), err)
	}
}

func appendEvents(tx *store.Tx, conv string, n int) error {
	for range n {
		if err := tx.AppendEvent(ctx, &store.Event{ConversationID: conv, Type: "delta", Body: []byte("{}")}); err != nil {
			return err
		}
	}
	return nil
}

func TestEventsAreNumberedFromOneWithinTheirConversation(t *testing.T) {
	s := withConversations(t, store.Options{}, "a", "b")
	later := epoch.Add(time.Hour)
	var given []uint64
	write(t, s, func(tx *store.Tx) error {
		for i, conv := range []string{"a", "b", "a", "a", "b"} {
			ev := store.Event{ConversationID: conv, At: later.Add(-time.Duration(i) * time.Minute)}
			if err := tx.AppendEvent(ctx, &ev); err != nil {
				return err
			}
			given = append(given, ev.Seq)
		}
		c, err := tx.Conversation(ctx, "a")
		if err == nil && c.LastSeq != 3 {
			err = fmt.Errorf("inside the closure the newest event is %d", c.LastSeq)
		}
		return err
	})
	if !slices.Equal(given, []uint64{1, 1, 2, 3, 2}) {
		t.Fatalf("numbers %v", given)
	}
	a, err := s.Conversation(ctx, "a")
	if err != nil || a.LastSeq != 3 || !a.UpdatedAt.Equal(later) {
		t.Fatalf("%+v %v", a, err)
	}
	page, err := s.Events(ctx, "a", 1, 1)
	equal(t, ids(page, func(e store.Event) uint64 { return e.Seq }), err, []uint64{2})
}

func TestAnEventWithoutATimeTakesTheClock(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	write(t, s, func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	page, err := s.Events(ctx, "c", 0, 0)
	if err != nil || !page[0].At.Equal(epoch) {
		t.Fatalf("%v %v", page, err)
	}
}

func TestCompactionRemovesTheDeltasOfOneTurnAndNothingElse(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	add := func(conv, typ, turn string) func(tx *store.Tx) error {
		return func(tx *store.Tx) error {
			return tx.AppendEvent(ctx, &store.Event{ConversationID: conv, Type: typ, TurnID: turn})
		}
	}
	turn := func(id string) func(tx *store.Tx) error {
		return func(tx *store.Tx) error { return tx.InsertTurn(ctx, store.Turn{ID: id, ConversationID: "c"}) }
	}
	var removed int64
	write(t, s, func(tx *store.Tx) error {
		for _, fn := range []func(tx *store.Tx) error{
			turn("t1"), add("c", "accepted", "t1"), add("c", "delta", "t1"), // 1 2
			turn("t2"), add("c", "delta", "t2"), add("c", "thought", "t1"), // 3 4
			add("c", "item", "t1"), add("c", "delta", ""), add("c", "delta", "t1"), // 5 6 7
			add("d", "delta", "t1"), add("c", "delta", "t1"), // d1, 8
		} {
			if err := fn(tx); err != nil {
				return err
			}
		}
		var err error
		removed, err = tx.CompactDeltas(ctx, "c", "t1", []string{"delta", "thought"}, 8)
		return err
	})
	if got := seqs(t, s, "c"); removed != 3 || !slices.Equal(got, []uint64{1, 3, 5, 6, 8}) {
		t.Fatalf("removed %d, left %v", removed, got)
	}
	if got := seqs(t, s, "d"); !slices.Equal(got, []uint64{1}) {
		t.Fatalf("another journal lost events: %v", got)
	}
	write(t, s, func(tx *store.Tx) error {
		if _, err := tx.CompactDeltas(ctx, "c", "", []string{"delta"}, 9); err != nil {
			return err
		}
		return appendEvents(tx, "c", 1)
	})
	if got := seqs(t, s, "c"); !slices.Equal(got, []uint64{1, 3, 5, 8, 9}) {
		t.Fatalf("a turn of the agent's own: %v", got)
	}
}

func TestANumberIsNeverUsedAgainAfterItsEventWasCompacted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	write(t, s, func(tx *store.Tx) error {
		if err := tx.InsertConversation(ctx, newConversation("c")); err != nil {
			return err
		}
		if err := appendEvents(tx, "c", 3); err != nil {
			return err
		}
		_, err := tx.CompactDeltas(ctx, "c", "", []string{"delta"}, 99)
		return err
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, store.Options{})
	write(t, s, func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	if got := seqs(t, s, "c"); !slices.Equal(got, []uint64{4}) {
		t.Fatalf("numbers %v", got)
	}
}

func TestALargeBodyIsKeptWhole(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	large := bytes.Repeat([]byte("0123456789abcdef"), 4<<20) // the largest there may be
	write(t, s, func(tx *store.Tx) error {
		return tx.AppendEvent(ctx, &store.Event{ConversationID: "c", Body: large})
	})
	page, err := s.Events(ctx, "c", 0, 1)
	if err != nil || !bytes.Equal(page[0].Body, large) {
		t.Fatalf("%d bytes, %v", len(page), err)
	}
}

func TestABodyBeyondEveryBoundIsRefusedAndHarmsNobody(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	good := s.Submit(func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	err := s.Write(ctx, func(tx *store.Tx) error {
		return tx.AppendEvent(ctx, &store.Event{ConversationID: "c", Body: make([]byte, 64<<20+1)})
	})
	wantCode(t, err, store.CodeTooLarge)
	if err := good.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	write(t, s, func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	if got := seqs(t, s, "c"); !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("numbers %v", got)
	}
}

var errClosure = errors.New("the closure thinks better of it")

// TestD5_AJournalHasNoGapsWhateverFails runs closures that append, look and fail
// in any order and grouping, against a model that only counts.
func TestD5_AJournalHasNoGapsWhateverFails(t *testing.T) {
	s := withConversations(t, store.Options{MaxBatch: 7}, "existing")
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		name := func(i int) string { return fmt.Sprintf("r%d-c%d", runs, i) }
		exists, last := map[string]bool{}, map[string]uint64{}
		var pending []*store.Pending
		var failing []bool
		for range rapid.IntRange(1, 30).Draw(t, "closures") {
			fail := rapid.Bool().Draw(t, "fail")
			type step struct {
				conv         string
				create, look bool
				n            int
			}
			var steps []step
			newExists, newLast := map[string]bool{}, map[string]uint64{}
			for range rapid.IntRange(1, 4).Draw(t, "steps") {
				st := step{conv: name(rapid.IntRange(0, 2).Draw(t, "conv")), n: rapid.IntRange(0, 3).Draw(t, "n"), look: rapid.Bool().Draw(t, "look")}
				st.create = !exists[st.conv] && !newExists[st.conv]
				newExists[st.conv] = true
				newLast[st.conv] += uint64(st.n)
				steps = append(steps, st)
			}
			base := map[string]uint64{}
			for c := range newLast {
				base[c] = last[c]
			}
			run := func(tx *store.Tx) error {
				counted := map[string]uint64{}
				for _, st := range steps {
					if st.create {
						if err := tx.InsertConversation(ctx, newConversation(st.conv)); err != nil {
							return err
						}
					}
					if err := appendEvents(tx, st.conv, st.n); err != nil {
						return err
					}
					counted[st.conv] += uint64(st.n)
					if !st.look {
						continue
					}
					c, err := tx.Conversation(ctx, st.conv)
					if err != nil {
						return err
					}
					if want := base[st.conv] + counted[st.conv]; c.LastSeq != want {
						return fmt.Errorf("%s is at %d, want %d", st.conv, c.LastSeq, want)
					}
				}
				if fail {
					return errClosure
				}
				return nil
			}
			pending, failing = append(pending, s.Submit(run)), append(failing, fail)
			if !fail {
				for c, n := range newLast {
					exists[c] = true
					last[c] += n
				}
			}
		}
		for i, p := range pending {
			err := p.Wait(ctx)
			if failing[i] != errors.Is(err, errClosure) || (!failing[i] && err != nil) {
				t.Fatalf("closure %d: %v", i, err)
			}
		}
		for i := range 3 {
			c, err := s.Conversation(ctx, name(i))
			if !exists[name(i)] {
				if store.CodeOf(err) != store.CodeNotFound {
					t.Fatalf("a conversation of a failed closure is there: %v", err)
				}
				if rows, _ := s.Events(ctx, name(i), 0, 1); len(rows) > 0 {
					t.Fatal("events without a conversation")
				}
				continue
			}
			if err != nil || c.LastSeq != last[name(i)] {
				t.Fatalf("%s is at %d (%v), want %d", name(i), c.LastSeq, err, last[name(i)])
			}
			rows, err := s.Events(ctx, name(i), 0, 1000)
			if err != nil || uint64(len(rows)) != c.LastSeq || (len(rows) > 0 && rows[len(rows)-1].Seq != c.LastSeq) {
				t.Fatalf("%d events up to %d, %v", len(rows), c.LastSeq, err)
			}
		}
	})
}
