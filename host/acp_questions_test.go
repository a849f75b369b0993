package host_test

import (
	"os"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scripted"
)

func TestA3_AURLConsentThatWasGivenElsewhereIsAcceptedForTheAgentThatWaits(t *testing.T) {
	t.Parallel()
	eachACPAgent(t, func(t *testing.T, a actor) {
		r := newACPRig(t, a, `{"turns":[{"repeat":true,"steps":[{"url":{"message":"Visit","url":"https://example.com/x","elsewhere":true}},{"say":"I heard {{action}}."}]}]}`)
		turn := r.send("Go")
		r.untilTurn(turn.ID, host.TurnCompleted)
		if got := r.texts(abi.ItemMessage); len(got) != 1 || got[0] != "I heard accept." {
			t.Errorf("the agent said %q", got)
		}
		cards := r.untilClosed()
		if len(cards) == 0 {
			t.Fatal("no card was shown")
		}
		if last := cards[len(cards)-1]; last.Disposition != abi.DispositionAnswered || last.Automatic != host.RuleElsewhere {
			t.Errorf("the card ended as %+v", last)
		}
	})
}

func TestRule14_WhatAnAgentDoesAfterAReviewThatWasRaisedAgainIsShownAndEnds(t *testing.T) {
	t.Parallel()
	eachACPAgent(t, func(t *testing.T, a actor) {
		if a.profile == scripted.ProfileKimchi {
			return // its review is not raised again, see P1
		}
		r := newACPRig(t, a, `{"behaviour":{"reraise_review":true,"second_prompt":"queue","keeps":["*"],"reraised":[{"say":"I implement it."},{"run":{"command":"make install","approve":true}},{"say":"Installed."},{"run":{"command":"make check","approve":false}}]},
		 "turns":[{"when":{"text":"Plan"},"steps":[{"plan":"# Plan"}]},{"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`)
		r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionDefault)})
		turn := r.send("Plan")
		r.untilPlan()
		r.untilInput()
		if p, err := os.FindProcess(r.controls().Session.PID); err != nil || p.Kill() != nil {
			t.Fatalf("the agent could not be killed: %v", err)
		}
		r.until("its turn to be over", func() bool { return r.turn(turn.ID).State.Ended() && r.controls().Session.State == host.SessionNone })
		r.restart()
		if _, err := r.h.Probe(t.Context(), r.conv); err != nil {
			t.Fatal(err)
		}
		var p host.Proposal
		r.until("the review to be raised again", func() bool { p = r.untilPlan(); return p.Route == abi.RouteNative })
		r.implement(p)
		var card host.Interaction
		r.until("the agent to ask for the command", func() bool {
			in, err := r.h.Inputs(t.Context(), r.conv)
			if err != nil {
				t.Fatal(err)
			}
			if len(in) == 1 {
				card = in[0]
			}
			return card.Ask.Type == abi.InteractionPermission
		})
		r.answer(card.ID, host.Answer{Decision: decision(t, card, abi.AllowOnce)})
		// A message is whole once something follows it.
		r.until("what it did", func() bool {
			said := r.texts(abi.ItemMessage)
			return len(said) >= 2 && said[0] == "I implement it." && said[1] == "Installed."
		})
		r.untilTurn(r.send("go on").ID, host.TurnCompleted)
		r.until("nothing to run", func() bool {
			_, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{})
			return host.CodeOf(err) == host.CodeNothingRunning
		})
		if g := r.controls().Session.Generation; g != 2 {
			t.Errorf("generation %d: a process was ended", g)
		}
	})
}

func TestP1_ATurnThatKimchiPromotedToPlanHasAReview(t *testing.T) {
	t.Parallel()
	for _, a := range actors {
		if a.profile != scripted.ProfileKimchi {
			continue
		}
		r := newACPRig(t, a, `{"turns":[{"repeat":true,"steps":[{"ask":{"id":"q","questions":[{"id":"a","header":"A","question":"Which?","options":[{"label":"One","description":""}]}]}},{"plan":"# Plan"},{"say":"Now in {{mode}}."},{"write_file":{"path":"a.txt","text":"x","approve":true}}]}]}`)
		turn := r.send("Go")
		card := r.untilInput()
		r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
		var p host.Proposal
		r.until("the review", func() bool { p = r.untilPlan(); return p.Interaction != "" })
		if got := r.implement(p); got.ID != turn.ID {
			t.Errorf("implemented by %+v", got)
		}
		r.until("the agent to ask for the file", func() bool {
			in, err := r.h.Inputs(t.Context(), r.conv)
			if err != nil {
				t.Fatal(err)
			}
			if len(in) == 1 {
				card = in[0]
			}
			return card.Ask.Type == abi.InteractionPermission
		})
		r.answer(card.ID, host.Answer{Decision: decision(t, card, abi.AllowOnce)})
		r.untilTurn(turn.ID, host.TurnCompleted)
		if o := r.controls().Observed; o.Permission != abi.PermissionDefault {
			t.Errorf("in force %+v", o)
		}
	}
}
