package host_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func (r *rig) stop(o host.StopOptions) {
	r.t.Helper()
	if _, err := r.h.Stop(r.t.Context(), r.conv, o); err != nil {
		r.t.Fatalf("stop: %v", err)
	}
}

func TestQ1_StopEndsTheRunningTurnOnlyAndQueuedOnesStayQueued(t *testing.T) {
	t.Parallel()
	r := newRig(t, slow)
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	a, b := r.send("A"), r.send("B")
	r.stop(host.StopOptions{Turn: first.ID})
	// Twice is harmless (S1); the turn may have ended in between.
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{Turn: first.ID}); err != nil && host.CodeOf(err) != host.CodeTurnNotRunning {
		t.Fatal(err)
	}
	r.untilTurn(first.ID, host.TurnInterrupted)
	c := r.controls()
	if !c.Queue.Held || c.Queue.Reason != host.CodeHoldStopped || len(c.Queue.Turns) != 2 {
		t.Fatalf("queue %+v", c.Queue)
	}
	if _, err := r.h.CancelQueued(t.Context(), r.conv, a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(b.ID, host.TurnCompleted)
	if s := r.turn(a.ID).State; s != host.TurnCancelled {
		t.Fatalf("the cancelled turn is %s", s)
	}
	_, err := r.h.CancelQueued(t.Context(), r.conv, b.ID)
	wantCode(t, err, host.CodeTurnNotQueued)
}

func TestS1_ALateStopDoesNotHitTheNewerTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"say":"One."}]},{"when":{"turn":2},"steps":[{"say":"Two."},{"wait_interrupt":true}]}]}`)
	first := r.send("One")
	r.untilTurn(first.ID, host.TurnCompleted)
	second := r.send("Two")
	r.untilTurn(second.ID, host.TurnRunning)
	_, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{Turn: first.ID})
	wantCode(t, err, host.CodeTurnNotRunning)
	if c := r.controls(); c.Running == nil || c.Running.Stopping {
		t.Fatalf("the newer turn is being stopped: %+v", c.Running)
	}
	r.stop(host.StopOptions{Turn: second.ID})
	r.untilTurn(second.ID, host.TurnInterrupted)
}

func TestS1_AStopBeforeTheTurnHasAnIDIsDeliveredWhenItHas(t *testing.T) {
	t.Parallel()
	gate, open := newGate(t)
	r := newRig(t, fmt.Sprintf(`{"methods":{"turn/start":[{"wait_file":%q,"times":1}]},"turns":[{"when":{"turn":1},"steps":[{"say":"One."},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Two."}]}]}`, gate))
	first := r.send("One")
	r.untilTurn(first.ID, host.TurnDispatched)
	r.stop(host.StopOptions{})
	open()
	r.untilTurn(first.ID, host.TurnInterrupted)
	next := r.send("Two")
	r.untilTurn(next.ID, host.TurnCompleted)
	if c := r.controls(); c.Session.Generation != 1 {
		t.Fatalf("the process was replaced: generation %d", c.Session.Generation)
	}
}

func TestTheSecondInterruptThatIsNeverAnsweredHangsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"version":"0.153.4","turns":[{"when":{"turn":1},"steps":[{"say":"One."},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	for range 3 {
		if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{}); err != nil && host.CodeOf(err) != host.CodeNothingRunning {
			t.Fatal(err)
		}
	}
	r.untilTurn(first.ID, host.TurnInterrupted)
	_, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{})
	wantCode(t, err, host.CodeNothingRunning)
	next := r.send("Go on")
	r.untilTurn(next.ID, host.TurnCompleted)
	if g := r.controls().Session.Generation; g != 1 {
		t.Fatalf("generation %d: the process was replaced", g)
	}
}

func TestRule22_ATurnThatDoesNotEndAfterStopEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"methods":{"turn/interrupt":[{"hang":true}]},"turns":[{"when":{"turn":1},"steps":[{"say":"Stuck."},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`, func(c *host.Config) {
		c.StopGrace = 200 * time.Millisecond
	})
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	r.stop(host.StopOptions{})
	r.untilTurn(first.ID, host.TurnInterrupted)
	next := r.send("Go on")
	r.untilTurn(next.ID, host.TurnCompleted)
	c := r.controls()
	if c.Session.Generation != 2 {
		t.Fatalf("generation %d, want a new process", c.Session.Generation)
	}
	for _, w := range bodies[abi.Warning](r, host.EventWarning) {
		if w.Code == string(host.CodeSessionReplaced) {
			t.Fatalf("the session was not restored: %s", w.Message)
		}
	}
}

func TestRule22_AStartThatHangsIsToldAndCanBeAborted(t *testing.T) {
	t.Parallel()
	gate, open := newGate(t)
	r := newRig(t, `{"methods":{"initialize":[{"hang":true}]},"start":[{"wait_file":`+strconv.Quote(gate)+`},{"stderr":"waiting for the moon"}],"turns":[]}`, func(c *host.Config) {
		c.StartSlow = 100 * time.Millisecond
	})
	turn := r.send("Go")
	says := func(what string) func() bool {
		return func() bool {
			return slices.ContainsFunc(r.controls().Problems, func(p abi.Problem) bool {
				return p.Code == string(host.CodeStartSlow) && strings.Contains(p.Message, what)
			})
		}
	}
	r.until("start_slow", says("Its process runs"))
	// What it prints later is told too.
	open()
	r.until("what the harness says", says("waiting for the moon"))
	if s := r.turn(turn.ID).State; s != host.TurnQueued {
		t.Fatalf("turn %s while the harness starts", s)
	}
	r.stop(host.StopOptions{})
	r.until("the process to end", func() bool { return r.controls().Session.State == host.SessionNone })
	if c := r.controls(); !c.Queue.Held || len(c.Queue.Turns) != 1 {
		t.Fatalf("queue %+v: the accepted message must stay", c.Queue)
	}
	r.script(echo)
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(turn.ID, host.TurnCompleted)
}

func TestQ5_ATurnThatEndsBeforeItsStartIsAnsweredIsDispatchedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"respond":"after_end","steps":[{"say":"Quick."}]}]}`)
	a, b := r.send("A"), r.send("B")
	r.untilTurn(a.ID, host.TurnCompleted)
	r.untilTurn(b.ID, host.TurnCompleted)
	if got := r.texts(abi.ItemMessage); len(got) != 2 {
		t.Fatalf("the agent ran %d times: %q", len(got), got)
	}
}

func TestQ3_AChildAgentsEndIsNotTheTurnsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"child":{"prompt":"help","steps":[{"say":"Child done."}]}},{"delay_ms":200},{"say":"Parent done."}]},{"repeat":true,"steps":[{"say":"Second."}]}]}`)
	a, b := r.send("A"), r.send("B")
	r.untilTurn(b.ID, host.TurnCompleted)
	if s := r.turn(a.ID).State; s != host.TurnCompleted {
		t.Fatalf("first turn %s", s)
	}
	got := r.texts(abi.ItemMessage)
	if strings.Join(got, "|") != "Child done.|Parent done.|Second." {
		t.Fatalf("order %q: the queue drained early", got)
	}
}

func TestQ4_Q6_AQueuedMessageIsNeitherReleasedIntoTheRunningTurnNorTakenForAnAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"run":{"command":"make","approve":true}},{"say":"decision={{decision}} text={{text}}"}]},{"repeat":true,"steps":[{"say":"second: {{text}}"}]}]}`)
	a := r.send("A")
	card := r.untilInput()
	b := r.send("yes, go ahead")
	time.Sleep(100 * time.Millisecond)
	if s := r.turn(b.ID).State; s != host.TurnQueued {
		t.Fatalf("the queued message is %s while a permission is pending", s)
	}
	if in := r.untilInput(); in.ID != card.ID {
		t.Fatal("the pending permission was answered by a message")
	}
	r.answer(card.ID, host.Answer{Decision: decision(t, card, abi.AllowOnce)})
	r.untilTurn(a.ID, host.TurnCompleted)
	r.untilTurn(b.ID, host.TurnCompleted)
	if got := strings.Join(r.texts(abi.ItemMessage), "|"); got != "decision=accept text=A|second: yes, go ahead" {
		t.Fatalf("the agent got %q", got)
	}
}

func decision(t testing.TB, in host.Interaction, kind abi.DecisionKind) string {
	t.Helper()
	for _, d := range in.Ask.Decisions {
		if d.Kind == kind {
			return d.ID
		}
	}
	t.Fatalf("no %s among %+v", kind, in.Ask.Decisions)
	return ""
}

func TestQ2_AnOutageHoldsTheQueueInsteadOfDrainingItIntoFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"fail":{"code":"serverOverloaded","message":"The provider is overloaded."}}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	a, b, c := r.send("A"), r.send("B"), r.send("C")
	got := r.untilTurn(a.ID, host.TurnFailed)
	if got.Code == "" || got.Message == "" {
		t.Fatalf("a failed turn without a reason: %+v (T7)", got)
	}
	r.until("the queue to be held", func() bool { return r.controls().Queue.Held })
	if q := r.controls().Queue; q.Reason != host.CodeHoldProviderOutage || len(q.Turns) != 2 {
		t.Fatalf("queue %+v", q)
	}
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(b.ID, host.TurnCompleted)
	r.untilTurn(c.ID, host.TurnCompleted)
}

func TestRule24_ASteerGoesIntoTheRunningTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"say":"Working."},{"wait_steer":true},{"say":"Finished."}]},{"repeat":true,"steps":[{"say":"Later."}]}]}`)
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	s, err := r.h.Steer(t.Context(), r.conv, host.Message{Content: host.Text("left")})
	if err != nil {
		t.Fatal(err)
	}
	end := r.untilTurn(s.ID, host.TurnCompleted)
	if !strings.Contains(end.Evidence, first.ID) {
		t.Fatalf("steer %+v", end)
	}
	r.untilTurn(first.ID, host.TurnCompleted)
	if got := strings.Join(r.texts(abi.ItemMessage), "|"); got != "Working.|Finished." {
		t.Fatalf("messages %q", got)
	}
}

func TestRule24_ASteerWhileNothingRunsIsAnOrdinaryMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	s, err := r.h.Steer(t.Context(), r.conv, host.Message{Content: host.Text("go")})
	if err != nil {
		t.Fatal(err)
	}
	if s.Origin != abi.OriginUser {
		t.Fatalf("origin %s", s.Origin)
	}
	r.untilTurn(s.ID, host.TurnCompleted)
}

func TestRule23_ASessionThatCannotBeRestoredIsReplacedWithOneWarning(t *testing.T) {
	t.Parallel()
	r := newRig(t, asyncQuestion)
	first := r.send("Do it")
	r.untilTurn(first.ID, host.TurnCompleted)
	card := r.untilInput()
	r.close()
	r.script(`{"methods":{"thread/resume":[{"error":{"code":-32600,"message":"no rollout found for thread id x"}}]},"turns":[{"repeat":true,"steps":[{"say":"Fresh."}]}]}`)
	r.open()
	next := r.send("Go on")
	r.untilTurn(next.ID, host.TurnCompleted)
	n := 0
	for _, w := range bodies[abi.Warning](r, host.EventWarning) {
		if w.Code == string(host.CodeSessionReplaced) {
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d warnings that the session was replaced, want 1", n)
	}
	_, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 0)}})
	wantCode(t, err, host.CodeInteractionStale)
	r.restart()
	again := r.send("Again")
	r.untilTurn(again.ID, host.TurnCompleted)
}

func TestRule13_WhatContinuesAReplacedSessionIsNotSentIntoTheFreshOne(t *testing.T) {
	t.Parallel()
	lost := `{"methods":{"thread/resume":[{"error":{"code":-32600,"message":"no rollout found for thread id x"}}]},"turns":[{"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`
	t.Run("an answer", func(t *testing.T) {
		r := newRig(t, asyncQuestion)
		r.untilTurn(r.send("Do it").ID, host.TurnCompleted)
		card := r.untilInput()
		r.close()
		r.script(lost)
		r.open()
		answer := r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 0)}})
		got := r.untilTurn(answer.AnswerTurn, host.TurnNotSent)
		if got.Code != string(host.CodeSessionReplaced) {
			t.Fatalf("turn %+v", got)
		}
		_, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 0)}})
		wantCode(t, err, host.CodeInteractionStale)
		next := r.send("Go on")
		r.untilTurn(next.ID, host.TurnCompleted)
		if said := r.texts(abi.ItemMessage); said[len(said)-1] != "I heard Go on." || len(said) != 3 {
			t.Fatalf("the agent said %q", said)
		}
	})
	t.Run("an implementation", func(t *testing.T) {
		r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"plan":"1. Do it."}]}]}`)
		r.configure(host.SettingsPatch{Mode: ptr("plan")})
		r.untilTurn(r.send("Plan it").ID, host.TurnCompleted)
		plan := r.untilPlan()
		r.close()
		r.script(lost)
		r.open()
		turn := r.implement(plan)
		if got := r.untilTurn(turn.ID, host.TurnNotSent); got.Code != string(host.CodeSessionReplaced) {
			t.Fatalf("turn %+v", got)
		}
		if p := r.plan(plan.ID); p.State != host.ProposalExpired {
			t.Fatalf("the plan is %s", p.State)
		}
	})
}

func TestS5_RestoringASessionRepeatsNoHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	for range 3 {
		turn := r.send("Go")
		r.untilTurn(turn.ID, host.TurnCompleted)
	}
	before := len(r.texts(abi.ItemMessage))
	r.restart()
	if _, err := r.h.Probe(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := len(r.texts(abi.ItemMessage)); got != before+1 {
		t.Fatalf("%d messages in the journal, want %d", got, before+1)
	}
}
