package store_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/store"
)

var ctx = context.Background()

func equal[T any](t *testing.T, got T, err error, want T) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("-want +got\n%s", d)
	}
}

func TestEveryColumnOfAConversationIsKept(t *testing.T) {
	s := withConversations(t, store.Options{})
	c := filled[store.Conversation](1)
	write(t, s, func(tx *store.Tx) error { return tx.InsertConversation(ctx, c) })
	got, err := s.Conversation(ctx, c.ID)
	equal(t, got, err, c)

	u := filled[store.Conversation](2)
	u.ID = c.ID
	u.NativeUsed, u.Held = false, false
	write(t, s, func(tx *store.Tx) error { return tx.UpdateConversation(ctx, u) })
	u.LastSeq = c.LastSeq // only events move it
	got, err = s.Conversation(ctx, c.ID)
	equal(t, got, err, u)
}

func TestEveryColumnOfATurnIsKept(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	turn := filled[store.Turn](1)
	turn.ConversationID = "c"
	write(t, s, func(tx *store.Tx) error { return tx.InsertTurn(ctx, turn) })
	got, err := s.Turn(ctx, turn.ID)
	equal(t, got, err, turn)
	got, err = s.TurnByClientID(ctx, "c", turn.ClientID)
	equal(t, got, err, turn)

	u := filled[store.Turn](2)
	u.ID, u.ConversationID = turn.ID, turn.ConversationID
	write(t, s, func(tx *store.Tx) error { return tx.UpdateTurn(ctx, u) })
	u.Position = turn.Position // only a move moves it
	got, err = s.Turn(ctx, turn.ID)
	equal(t, got, err, u)
}

func TestEveryColumnOfAnInteractionIsKept(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	i := filled[store.Interaction](1)
	i.ConversationID = "c"
	write(t, s, func(tx *store.Tx) error { return tx.InsertInteraction(ctx, i) })
	got, err := s.Interaction(ctx, i.ID)
	equal(t, got, err, i)

	u := filled[store.Interaction](2)
	u.ID, u.ConversationID, u.Blocking = i.ID, i.ConversationID, false
	write(t, s, func(tx *store.Tx) error { return tx.UpdateInteraction(ctx, u) })
	got, err = s.Interaction(ctx, i.ID)
	equal(t, got, err, u)
}

func TestEveryColumnOfAProposalIsKept(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	p := filled[store.Proposal](1)
	p.ConversationID = "c"
	write(t, s, func(tx *store.Tx) error { return tx.InsertProposal(ctx, p) })
	got, err := s.Proposal(ctx, p.ID)
	equal(t, got, err, p)

	u := filled[store.Proposal](2)
	u.ID, u.ConversationID = p.ID, p.ConversationID
	write(t, s, func(tx *store.Tx) error { return tx.UpdateProposal(ctx, u) })
	got, err = s.Proposal(ctx, p.ID)
	equal(t, got, err, u)
}

func TestEveryColumnOfAGenerationIsKept(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	g := filled[store.Generation](1)
	g.ConversationID = "c"
	write(t, s, func(tx *store.Tx) error { return tx.InsertGeneration(ctx, g) })
	got, err := s.Generation(ctx, "c", g.Number)
	equal(t, got, err, g)

	u := filled[store.Generation](2)
	u.ConversationID, u.Number = g.ConversationID, g.Number
	write(t, s, func(tx *store.Tx) error { return tx.UpdateGeneration(ctx, u) })
	got, err = s.Generation(ctx, "c", g.Number)
	equal(t, got, err, u)
}

func TestEveryColumnOfTheOtherRowsIsKept(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	in, out := filled[store.Input](1), filled[store.Outbox](1)
	timer, state := filled[store.Timer](1), filled[store.SavedState](1)
	blob, grant := filled[store.Blob](1), filled[store.Grant](1)
	for _, id := range []*string{&in.ConversationID, &out.ConversationID, &timer.ConversationID, &state.ConversationID} {
		*id = "c"
	}
	ev := filled[store.Event](1)
	ev.ConversationID = "c"
	write(t, s, func(tx *store.Tx) error {
		for _, err := range []error{
			tx.AppendInput(ctx, in), tx.InsertOutbox(ctx, out), tx.SetTimer(ctx, timer), tx.SaveState(ctx, state),
			tx.PutBlob(ctx, "c", blob), tx.PutGrant(ctx, grant), tx.AppendEvent(ctx, &ev),
			tx.PutIdempotent(ctx, "k", "c", []byte("r")),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	ins, err := s.Inputs(ctx, "c", in.Generation, 0)
	equal(t, ins, err, []store.Input{in})
	outs, err := s.Outbox(ctx, "c", out.Generation)
	equal(t, outs, err, []store.Outbox{out})
	timers, err := s.Timers(ctx, "c", timer.Generation)
	equal(t, timers, err, []store.Timer{timer})
	gotState, err := s.SavedState(ctx, "c", state.Generation)
	equal(t, gotState, err, state)
	gotBlob, err := s.Blob(ctx, blob.Digest)
	equal(t, gotBlob, err, blob)
	gotGrant, err := s.Grant(ctx, grant.Harness)
	equal(t, gotGrant, err, grant)
	grants, err := s.Grants(ctx)
	equal(t, grants, err, []store.Grant{grant})
	evs, err := s.Events(ctx, "c", 0, 10)
	equal(t, evs, err, []store.Event{ev})
	res, err := s.Idempotent(ctx, "k")
	equal(t, res, err, store.IdempotentResult{Key: "k", ConversationID: "c", Result: []byte("r"), At: epoch})
}

func TestARowWithoutAnythingComesBackAsItWas(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	turn := store.Turn{ID: "t", ConversationID: "c"}
	i := store.Interaction{ID: "i", ConversationID: "c"}
	out := store.Outbox{ConversationID: "c", Generation: 1, ID: 1}
	g := store.Generation{ConversationID: "c", Number: 1}
	write(t, s, func(tx *store.Tx) error {
		for _, err := range []error{
			tx.InsertTurn(ctx, turn), tx.InsertInteraction(ctx, i), tx.InsertOutbox(ctx, out), tx.InsertGeneration(ctx, g),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	gotTurn, err := s.Turn(ctx, "t")
	equal(t, gotTurn, err, turn)
	gotInteraction, err := s.Interaction(ctx, "i")
	equal(t, gotInteraction, err, i)
	outs, err := s.Outbox(ctx, "c", 1)
	equal(t, outs, err, []store.Outbox{out})
	gens, err := s.OpenGenerations(ctx)
	equal(t, gens, err, []store.Generation{g})
}

func TestATimeAtTheUnixEpochIsNotTakenForUnset(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	at := time.Unix(0, 0).UTC()
	write(t, s, func(tx *store.Tx) error {
		return tx.InsertGeneration(ctx, store.Generation{ConversationID: "c", Number: 1, ExitedAt: at})
	})
	g, err := s.Generation(ctx, "c", 1)
	if err != nil || !g.ExitedAt.Equal(at) || g.ExitedAt.IsZero() {
		t.Fatalf("%v %v", g.ExitedAt, err)
	}
	if open, err := s.OpenGenerations(ctx); err != nil || len(open) != 0 {
		t.Fatalf("%v %v", open, err)
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	reads := map[string]func() error{
		"conversation":       func() error { _, err := s.Conversation(ctx, "x"); return err },
		"turn":               func() error { _, err := s.Turn(ctx, "x"); return err },
		"turn by client":     func() error { _, err := s.TurnByClientID(ctx, "c", "x"); return err },
		"interaction":        func() error { _, err := s.Interaction(ctx, "x"); return err },
		"interaction by key": func() error { _, err := s.InteractionByKey(ctx, "c", "x", 1); return err },
		"proposal":           func() error { _, err := s.Proposal(ctx, "x"); return err },
		"proposal by key":    func() error { _, err := s.ProposalByKey(ctx, "c", "x"); return err },
		"generation":         func() error { _, err := s.Generation(ctx, "c", 9); return err },
		"saved state":        func() error { _, err := s.SavedState(ctx, "c", 9); return err },
		"blob":               func() error { _, err := s.Blob(ctx, "x"); return err },
		"grant":              func() error { _, err := s.Grant(ctx, "x"); return err },
		"idempotent":         func() error { _, err := s.Idempotent(ctx, "x"); return err },
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) { wantCode(t, read(), store.CodeNotFound) })
	}
	writes := map[string]func(tx *store.Tx) error{
		"conversation": func(tx *store.Tx) error { return tx.UpdateConversation(ctx, newConversation("x")) },
		"settings":     func(tx *store.Tx) error { _, err := tx.UpdateSettings(ctx, "x", 0, nil); return err },
		"turn":         func(tx *store.Tx) error { return tx.UpdateTurn(ctx, store.Turn{ID: "x"}) },
		"move":         func(tx *store.Tx) error { return tx.MoveTurn(ctx, "x", 1) },
		"interaction":  func(tx *store.Tx) error { return tx.UpdateInteraction(ctx, store.Interaction{ID: "x"}) },
		"claim":        func(tx *store.Tx) error { _, err := tx.ClaimInteraction(ctx, "x", nil); return err },
		"proposal":     func(tx *store.Tx) error { return tx.UpdateProposal(ctx, store.Proposal{ID: "x"}) },
		"decision": func(tx *store.Tx) error {
			_, err := tx.ClaimProposal(ctx, "x", 1, store.ProposalImplemented, "t")
			return err
		},
		"generation": func(tx *store.Tx) error {
			return tx.UpdateGeneration(ctx, store.Generation{ConversationID: "c", Number: 9})
		},
		"outbox":            func(tx *store.Tx) error { return tx.MarkOutboxWritten(ctx, "c", 1, 9, epoch) },
		"grant":             func(tx *store.Tx) error { return tx.DropGrant(ctx, "x") },
		"event's chat":      func(tx *store.Tx) error { return tx.AppendEvent(ctx, &store.Event{ConversationID: "x"}) },
		"turn's chat":       func(tx *store.Tx) error { return tx.InsertTurn(ctx, store.Turn{ID: "t", ConversationID: "x"}) },
		"input's chat":      func(tx *store.Tx) error { return tx.AppendInput(ctx, store.Input{ConversationID: "x"}) },
		"frame's chat":      func(tx *store.Tx) error { return tx.InsertOutbox(ctx, store.Outbox{ConversationID: "x"}) },
		"timer's chat":      func(tx *store.Tx) error { return tx.SetTimer(ctx, store.Timer{ConversationID: "x"}) },
		"state's chat":      func(tx *store.Tx) error { return tx.SaveState(ctx, store.SavedState{ConversationID: "x"}) },
		"generation's chat": func(tx *store.Tx) error { return tx.InsertGeneration(ctx, store.Generation{ConversationID: "x"}) },
		"interaction's chat": func(tx *store.Tx) error {
			return tx.InsertInteraction(ctx, store.Interaction{ID: "i", ConversationID: "x"})
		},
		"proposal's chat": func(tx *store.Tx) error {
			return tx.InsertProposal(ctx, store.Proposal{ID: "p", ConversationID: "x"})
		},
	}
	for name, fn := range writes {
		t.Run("write "+name, func(t *testing.T) { wantCode(t, s.Write(ctx, fn), store.CodeNotFound) })
	}
}

func TestWhatIsThereAlreadyIsAConflict(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	add := map[string]func(tx *store.Tx) error{
		"conversation": func(tx *store.Tx) error { return tx.InsertConversation(ctx, newConversation("e")) },
		"turn":         func(tx *store.Tx) error { return tx.InsertTurn(ctx, store.Turn{ID: "t", ConversationID: "c"}) },
		"interaction": func(tx *store.Tx) error {
			return tx.InsertInteraction(ctx, store.Interaction{ID: "i", ConversationID: "c"})
		},
		"proposal": func(tx *store.Tx) error {
			return tx.InsertProposal(ctx, store.Proposal{ID: "p", ConversationID: "c"})
		},
		"generation": func(tx *store.Tx) error {
			return tx.InsertGeneration(ctx, store.Generation{ConversationID: "c", Number: 1})
		},
		"input": func(tx *store.Tx) error {
			return tx.AppendInput(ctx, store.Input{ConversationID: "c", Generation: 1, Seq: 1})
		},
		"outbox": func(tx *store.Tx) error {
			return tx.InsertOutbox(ctx, store.Outbox{ConversationID: "c", Generation: 1, ID: 1})
		},
		"request": func(tx *store.Tx) error { return tx.PutIdempotent(ctx, "k", "c", nil) },
	}
	for name, fn := range add {
		t.Run(name, func(t *testing.T) {
			write(t, s, fn)
			wantCode(t, s.Write(ctx, fn), store.CodeConflict)
		})
	}
	clientID := func(id, conversation string) error {
		return s.Write(ctx, func(tx *store.Tx) error {
			return tx.InsertTurn(ctx, store.Turn{ID: id, ConversationID: conversation, ClientID: "m1"})
		})
	}
	if err := clientID("t1", "c"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, clientID("t2", "c"), store.CodeConflict)
	if err := clientID("t3", "d"); err != nil {
		t.Fatalf("another conversation has client ids of its own: %v", err)
	}
}

func TestRule21_ANativeSessionIsHeldByOneConversation(t *testing.T) {
	s := withConversations(t, store.Options{}, "a", "b", "c")
	hold := func(id, harness, session string) error {
		return s.Write(ctx, func(tx *store.Tx) error {
			c, err := tx.Conversation(ctx, id)
			if err != nil {
				return err
			}
			c.Harness, c.NativeSession = harness, session
			return tx.UpdateConversation(ctx, c)
		})
	}
	if err := hold("a", "h", "s1"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, hold("b", "h", "s1"), store.CodeSessionTaken)
	if err := hold("b", "other", "s1"); err != nil {
		t.Fatalf("another harness has sessions of its own: %v", err)
	}
	if err := hold("a", "h", ""); err != nil {
		t.Fatal(err)
	}
	if err := hold("c", "h", "s1"); err != nil {
		t.Fatalf("a session that was given up is free: %v", err)
	}
	taken := newConversation("d")
	taken.NativeSession = "s1"
	wantCode(t, s.Write(ctx, func(tx *store.Tx) error { return tx.InsertConversation(ctx, taken) }), store.CodeSessionTaken)
}

func TestListsAreInTheOrderTheyPromise(t *testing.T) {
	s := withConversations(t, store.Options{})
	write(t, s, func(tx *store.Tx) error {
		for i, id := range []string{"old", "newest", "newer"} {
			c := newConversation(id)
			c.CreatedAt = epoch.Add(time.Duration([]int{0, 2, 1}[i]) * time.Second)
			if err := tx.InsertConversation(ctx, c); err != nil {
				return err
			}
		}
		for i, id := range []string{"z", "a", "m"} {
			for _, err := range []error{
				tx.InsertInteraction(ctx, store.Interaction{ID: id, ConversationID: "old", State: store.InteractionOpen}),
				tx.InsertProposal(ctx, store.Proposal{ID: id, ConversationID: "old"}),
				tx.SetTimer(ctx, store.Timer{ConversationID: "old", Generation: 1, Name: id, Due: epoch.Add(-time.Duration(i))}),
				tx.InsertOutbox(ctx, store.Outbox{ConversationID: "old", Generation: 1, ID: uint64(9 - i)}),
				tx.AppendInput(ctx, store.Input{ConversationID: "old", Generation: 1, Seq: uint64(9 - i)}),
			} {
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	conversations, err := s.Conversations(ctx)
	equal(t, ids(conversations, func(c store.Conversation) string { return c.ID }), err, []string{"newest", "newer", "old"})
	interactions, err := s.Interactions(ctx, "old", false)
	equal(t, ids(interactions, func(i store.Interaction) string { return i.ID }), err, []string{"z", "a", "m"})
	proposals, err := s.Proposals(ctx, "old")
	equal(t, ids(proposals, func(p store.Proposal) string { return p.ID }), err, []string{"z", "a", "m"})
	timers, err := s.Timers(ctx, "old", 1)
	equal(t, ids(timers, func(x store.Timer) string { return x.Name }), err, []string{"m", "a", "z"})
	frames, err := s.Outbox(ctx, "old", 1)
	equal(t, ids(frames, func(o store.Outbox) uint64 { return o.ID }), err, []uint64{7, 8, 9})
	inputs, err := s.Inputs(ctx, "old", 1, 7)
	equal(t, ids(inputs, func(i store.Input) uint64 { return i.Seq }), err, []uint64{8, 9})
}

func ids[R, T any](rows []R, id func(R) T) []T {
	var out []T
	for _, r := range rows {
		out = append(out, id(r))
	}
	return out
}

func TestRule13_ANativeReplyIsFoundInItsGenerationOnlyAndAFollowUpInAny(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	write(t, s, func(tx *store.Tx) error {
		for _, i := range []store.Interaction{
			{ID: "n1", Key: "k", Route: "native", Generation: 1},
			{ID: "n2", Key: "k", Route: "native", Generation: 2},
			{ID: "f1", Key: "async", Route: "follow-up", Generation: 1},
			{ID: "f2", Key: "async", Route: "follow-up", Generation: 3},
		} {
			i.ConversationID = "c"
			if err := tx.InsertInteraction(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range []struct {
		key        string
		generation int64
		want       string
	}{{"k", 1, "n1"}, {"k", 2, "n2"}, {"async", 7, "f2"}} {
		got, err := s.InteractionByKey(ctx, "c", c.key, c.generation)
		equal(t, got.ID, err, c.want)
	}
	_, err := s.InteractionByKey(ctx, "c", "k", 3)
	wantCode(t, err, store.CodeNotFound)
	_, err = s.InteractionByKey(ctx, "d", "async", 1)
	wantCode(t, err, store.CodeNotFound)
}

func TestOpenGenerationsAreThoseWhoseExitIsNotProven(t *testing.T) {
	s := withConversations(t, store.Options{}, "a", "b")
	write(t, s, func(tx *store.Tx) error {
		for _, g := range []store.Generation{
			{ConversationID: "a", Number: 1, ExitedAt: epoch}, {ConversationID: "a", Number: 2}, {ConversationID: "b", Number: 1},
		} {
			if err := tx.InsertGeneration(ctx, g); err != nil {
				return err
			}
		}
		return nil
	})
	open, err := s.OpenGenerations(ctx)
	equal(t, open, err, []store.Generation{{ConversationID: "a", Number: 2}, {ConversationID: "b", Number: 1}})
}

func TestTheOutboxTellsWhatWasNotWritten(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	write(t, s, func(tx *store.Tx) error {
		for id := uint64(1); id <= 4; id++ {
			if err := tx.InsertOutbox(ctx, store.Outbox{ConversationID: "c", Generation: 1, ID: id}); err != nil {
				return err
			}
		}
		if err := tx.MarkOutboxWritten(ctx, "c", 1, 2, epoch); err != nil {
			return err
		}
		return tx.InsertOutbox(ctx, store.Outbox{ConversationID: "c", Generation: 2, ID: 9})
	})
	id := func(o store.Outbox) uint64 { return o.ID }
	rows, err := s.UnwrittenOutbox(ctx, "c", 1)
	equal(t, ids(rows, id), err, []uint64{1, 3, 4})
	write(t, s, func(tx *store.Tx) error { return tx.DropOutbox(ctx, "c", 1, 3) })
	rows, err = s.Outbox(ctx, "c", 1)
	equal(t, ids(rows, id), err, []uint64{4})
	write(t, s, func(tx *store.Tx) error { return tx.DropOutbox(ctx, "c", 1, math.MaxUint64) })
	rows, err = s.Outbox(ctx, "c", 1)
	equal(t, ids(rows, id), err, nil)
	rows, err = s.Outbox(ctx, "c", 2)
	equal(t, ids(rows, id), err, []uint64{9})
}

func TestInputsTimersAndStatesAreReplacedAndDropped(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	write(t, s, func(tx *store.Tx) error {
		for seq := uint64(1); seq <= 5; seq++ {
			if err := tx.AppendInput(ctx, store.Input{ConversationID: "c", Generation: 1, Seq: seq}); err != nil {
				return err
			}
		}
		for _, err := range []error{
			tx.AppendInput(ctx, store.Input{ConversationID: "c", Generation: 2, Seq: 1}),
			tx.DropInputs(ctx, "c", 1, 3),
			tx.SetTimer(ctx, store.Timer{ConversationID: "c", Generation: 1, Name: "a", Due: epoch}),
			tx.SetTimer(ctx, store.Timer{ConversationID: "c", Generation: 1, Name: "a", Due: epoch.Add(time.Hour)}),
			tx.SetTimer(ctx, store.Timer{ConversationID: "c", Generation: 1, Name: "b", Due: epoch}),
			tx.ClearTimer(ctx, "c", 1, "b"),
			tx.ClearTimer(ctx, "c", 1, "never set"),
			tx.SaveState(ctx, store.SavedState{ConversationID: "c", Generation: 1, InputSeq: 1, State: []byte("old")}),
			tx.SaveState(ctx, store.SavedState{ConversationID: "c", Generation: 1, InputSeq: 3, StateVersion: 2, State: []byte("new")}),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	seq := func(i store.Input) uint64 { return i.Seq }
	rows, err := s.Inputs(ctx, "c", 1, 0)
	equal(t, ids(rows, seq), err, []uint64{4, 5})
	rows, err = s.Inputs(ctx, "c", 2, 0)
	equal(t, ids(rows, seq), err, []uint64{1})
	timers, err := s.Timers(ctx, "c", 1)
	equal(t, timers, err, []store.Timer{{ConversationID: "c", Generation: 1, Name: "a", Due: epoch.Add(time.Hour)}})
	state, err := s.SavedState(ctx, "c", 1)
	equal(t, state, err, store.SavedState{ConversationID: "c", Generation: 1, InputSeq: 3, StateVersion: 2, State: []byte("new")})
}

func TestWhatOldSessionsNeededIsDroppedTogether(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	write(t, s, func(tx *store.Tx) error {
		for gen := int64(1); gen <= 3; gen++ {
			for _, err := range []error{
				tx.AppendInput(ctx, store.Input{ConversationID: "c", Generation: gen, Seq: 1}),
				tx.InsertOutbox(ctx, store.Outbox{ConversationID: "c", Generation: gen, ID: 1, Frame: []byte("{}")}),
				tx.SetTimer(ctx, store.Timer{ConversationID: "c", Generation: gen, Name: "t", Due: epoch}),
				tx.SaveState(ctx, store.SavedState{ConversationID: "c", Generation: gen, InputSeq: 1, State: []byte("s")}),
			} {
				if err != nil {
					return err
				}
			}
		}
		return tx.DropSessions(ctx, "c", 3)
	})
	for gen, want := range map[int64]int{1: 0, 2: 0, 3: 1} {
		inputs, err := s.Inputs(ctx, "c", gen, 0)
		equal(t, len(inputs), err, want)
		frames, err := s.Outbox(ctx, "c", gen)
		equal(t, len(frames), err, want)
		timers, err := s.Timers(ctx, "c", gen)
		equal(t, len(timers), err, want)
		if _, err := s.SavedState(ctx, "c", gen); (err == nil) != (want == 1) {
			t.Errorf("the saved state of generation %d: %v", gen, err)
		}
	}
}

func TestBlobsStayAndGrantsAreReplaced(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	write(t, s, func(tx *store.Tx) error {
		for _, err := range []error{
			tx.PutBlob(ctx, "c", store.Blob{Digest: "d", Media: "image/png", Bytes: []byte("one")}),
			tx.PutBlob(ctx, "c", store.Blob{Digest: "d", Media: "image/png", Bytes: []byte("one")}),
			tx.PutGrant(ctx, store.Grant{Harness: "h", Digest: "1", GrantedAt: epoch}),
			tx.PutGrant(ctx, store.Grant{Harness: "h", Digest: "2", GrantedAt: epoch.Add(1)}),
			tx.PutGrant(ctx, store.Grant{Harness: "a", Digest: "3", GrantedAt: epoch}),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	grants, err := s.Grants(ctx)
	equal(t, grants, err, []store.Grant{{"a", "3", epoch}, {"h", "2", epoch.Add(1)}})
	write(t, s, func(tx *store.Tx) error { return tx.DropGrant(ctx, "a") })
	_, err = s.Grant(ctx, "a")
	wantCode(t, err, store.CodeNotFound)
}

func TestOldRequestKeysAreForgotten(t *testing.T) {
	now := epoch
	s := withConversations(t, store.Options{Now: func() time.Time { return now }}, "c")
	put := func(tx *store.Tx, key string) error {
		err := tx.PutIdempotent(ctx, key, "c", nil)
		now = now.Add(time.Hour)
		return err
	}
	write(t, s, func(tx *store.Tx) error {
		if err := put(tx, "old"); err != nil {
			return err
		}
		return put(tx, "new")
	})
	var n int64
	write(t, s, func(tx *store.Tx) (err error) {
		n, err = tx.DropIdempotent(ctx, epoch.Add(time.Minute))
		return err
	})
	_, err := s.Idempotent(ctx, "old")
	wantCode(t, err, store.CodeNotFound)
	if _, err := s.Idempotent(ctx, "new"); err != nil || n != 1 {
		t.Fatalf("%d %v", n, err)
	}
}

func TestSettingsChangeOnlyUnderTheExpectedRevision(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	patch := func(expected int64, settings string) (ok bool) {
		write(t, s, func(tx *store.Tx) (err error) {
			ok, err = tx.UpdateSettings(ctx, "c", expected, []byte(settings))
			return err
		})
		return ok
	}
	if !patch(0, "one") || patch(0, "two") || !patch(1, "three") {
		t.Fatal("the revision was not checked")
	}
	c, err := s.Conversation(ctx, "c")
	if err != nil || string(c.Settings) != "three" || c.SettingsRev != 2 {
		t.Fatalf("%s %d %v", c.Settings, c.SettingsRev, err)
	}
}
