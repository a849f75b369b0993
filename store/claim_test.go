package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/store"
)

func claimInteraction(s *store.Store, id, reply string) (won bool, err error) {
	err = s.Write(ctx, func(tx *store.Tx) (err error) {
		won, err = tx.ClaimInteraction(ctx, id, []byte(reply))
		return err
	})
	return won, err
}

func claimProposal(s *store.Store, id string, revision int64, state store.ProposalState, turn string) (won bool, err error) {
	err = s.Write(ctx, func(tx *store.Tx) (err error) {
		won, err = tx.ClaimProposal(ctx, id, revision, state, turn)
		return err
	})
	return won, err
}

func TestRule13_OfManyClientsThatAnswerOneWins(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	write(t, s, func(tx *store.Tx) error {
		if err := tx.InsertProposal(ctx, store.Proposal{ID: "p", ConversationID: "c", Revision: 1, State: store.ProposalOpen}); err != nil {
			return err
		}
		return tx.InsertInteraction(ctx, store.Interaction{ID: "i", ConversationID: "c", State: store.InteractionOpen})
	})
	var wg sync.WaitGroup
	var answers, plans atomic.Int32
	var answer, plan atomic.Value
	for n := range 16 {
		wg.Go(func() {
			mine := fmt.Sprint(n)
			if won, err := claimInteraction(s, "i", mine); err != nil {
				t.Error(err)
			} else if won {
				answers.Add(1)
				answer.Store(mine)
			}
			if won, err := claimProposal(s, "p", 1, store.ProposalImplemented, mine); err != nil {
				t.Error(err)
			} else if won {
				plans.Add(1)
				plan.Store(mine)
			}
		})
	}
	wg.Wait()
	if answers.Load() != 1 || plans.Load() != 1 {
		t.Fatalf("%d answers and %d decisions won", answers.Load(), plans.Load())
	}
	i, err := s.Interaction(ctx, "i")
	if err != nil || string(i.Reply) != answer.Load() || i.State != store.InteractionClaimed {
		t.Fatalf("%+v %v, the winner was %v", i, err, answer.Load())
	}
	p, err := s.Proposal(ctx, "p")
	if err != nil || p.ContinuationID != plan.Load() || p.State != store.ProposalImplemented || !p.ClosedAt.Equal(epoch) {
		t.Fatalf("%+v %v, the winner was %v", p, err, plan.Load())
	}
}

func TestRule17_OnlyAnOpenPlanOfTheExpectedRevisionIsDecided(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		want := store.Proposal{ID: fmt.Sprint(runs), ConversationID: "c", Revision: 1, State: store.ProposalOpen}
		update := func(t *rapid.T, fn func(tx *store.Tx) error) {
			if err := s.Write(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		update(t, func(tx *store.Tx) error { return tx.InsertProposal(ctx, want) })
		t.Repeat(map[string]func(*rapid.T){
			"decide": func(t *rapid.T) {
				revision := rapid.Int64Range(1, want.Revision+1).Draw(t, "revision")
				state := rapid.SampledFrom([]store.ProposalState{store.ProposalImplemented, store.ProposalChangesRequested}).Draw(t, "state")
				expect := want.State == store.ProposalOpen && revision == want.Revision
				won, err := claimProposal(s, want.ID, revision, state, "turn")
				if err != nil || won != expect {
					t.Fatalf("won %v, want %v (%v)", won, expect, err)
				}
				if won {
					want.State, want.ContinuationID, want.ClosedAt = state, "turn", epoch
				}
			},
			"revise or reopen": func(t *rapid.T) {
				if want.State == store.ProposalOpen {
					want.Revision++
				}
				want.State, want.ContinuationID = store.ProposalOpen, ""
				want.ClosedAt = store.Proposal{}.ClosedAt
				update(t, func(tx *store.Tx) error { return tx.UpdateProposal(ctx, want) })
			},
			"": func(t *rapid.T) {
				got, err := s.Proposal(ctx, want.ID)
				if err != nil || got.State != want.State || got.Revision != want.Revision ||
					got.ContinuationID != want.ContinuationID || !got.ClosedAt.Equal(want.ClosedAt) {
					t.Fatalf("%+v %v, want %+v", got, err, want)
				}
			},
		})
	})
}

func TestRule12_AnInteractionIsClaimedOnlyWhileItIsOpen(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	i := store.Interaction{ID: "i", ConversationID: "c"}
	for _, c := range []struct {
		state store.InteractionState
		wins  bool
	}{{store.InteractionOpen, true}, {store.InteractionClaimed, false}, {store.InteractionClosed, false}} {
		i.ID, i.State, i.Reply = string(c.state), c.state, []byte("first")
		write(t, s, func(tx *store.Tx) error { return tx.InsertInteraction(ctx, i) })
		won, err := claimInteraction(s, i.ID, "second")
		if err != nil || won != c.wins {
			t.Fatalf("%s: won %v, %v", c.state, won, err)
		}
		got, err := s.Interaction(ctx, i.ID)
		if err != nil || (string(got.Reply) == "second") != c.wins {
			t.Fatalf("%s: %s %v", c.state, got.Reply, err)
		}
	}
	unsettled, err := s.Interactions(ctx, "c", true)
	equal(t, ids(unsettled, func(i store.Interaction) string { return i.ID }), err, []string{"open", "claimed"})
}
