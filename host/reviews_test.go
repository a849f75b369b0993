package host_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// reviewing asks one question, which the rogue binding makes a review of.
const reviewing = `{"turns":[{"when":{"text":"review"},"steps":[{"ask":{"id":"q","questions":[{"id":"a","question":"Go on?","options":[{"label":"accept","description":""}]}]}},{"say":"Done: {{answer.a}}."}]},
 {"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`

// cancelled waits for the interrupt once the review has ended.
const cancelled = `{"turns":[{"when":{"text":"review"},"steps":[{"ask":{"id":"q","questions":[{"id":"a","question":"Go on?","options":[{"label":"accept","description":""}]}]}},{"wait_interrupt":true}]},
	 {"repeat":true,"steps":[{"say":"I heard {{text}} in {{mode}}."}]}]}`

// newReviewRig brings a conversation to an open review of the kind that the words
// say, in plan mode with a remembered permission.
func newReviewRig(t *testing.T, script, words string, p abi.Permission, opts ...func(*host.Config)) (r *rig, turn host.Turn, plan host.Proposal) {
	t.Helper()
	r = newRogueRigWith(t, script, opts)
	r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(p)})
	turn = r.send("review " + words)
	plan = r.untilPlan()
	if words == "plan first" {
		r.until("the review", func() bool { plan = r.untilPlan(); return plan.Interaction != "" })
	}
	card := r.untilInput()
	if plan.Route != abi.RouteNative || plan.Interaction != card.ID || len(card.Ask.Key) > 200 {
		t.Fatalf("the plan is tied to no review: %+v", plan)
	}
	return r, turn, plan
}

func (r *rig) implement(p host.Proposal) host.Turn {
	r.t.Helper()
	t, err := r.h.ContinuePlan(r.t.Context(), r.conv, host.PlanDecision{Proposal: p.ID, Revision: p.Revision})
	if err != nil {
		r.t.Fatalf("implement: %v", err)
	}
	return t
}

func (r *rig) requestChanges(p host.Proposal, feedback string) host.Turn {
	r.t.Helper()
	t, err := r.h.RequestChanges(r.t.Context(), r.conv, host.PlanDecision{Proposal: p.ID, Revision: p.Revision, Feedback: feedback})
	if err != nil {
		r.t.Fatalf("request changes: %v", err)
	}
	return t
}

func (r *rig) plan(id string) host.Proposal {
	r.t.Helper()
	plans, err := r.h.Plans(r.t.Context(), r.conv)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range plans {
		if p.ID == id {
			return p
		}
	}
	r.t.Fatalf("there is no plan %s", id)
	return host.Proposal{}
}

func (r *rig) turns() []host.Turn {
	r.t.Helper()
	turns, err := r.h.Turns(r.t.Context(), r.conv)
	if err != nil {
		r.t.Fatal(err)
	}
	return turns
}

func TestRule18_ImplementAnswersTheReviewTheAgentWaitsInAndAddsNoTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, words string
		remembered  abi.Permission
		// heard is what the binding got: decision, feedback, permission to restore.
		heard   string
		differs bool
	}{
		{"the decision that equals the remembered permission", "", abi.PermissionAcceptEdits, "acceptForSession//accept-edits", false},
		{"else one that names none", "", abi.PermissionAuto, "accept//auto", false},
		{"else the nearest weaker one", "named", abi.PermissionBypass, "acceptForSession//bypass-permissions", true},
		{"the plan told before its review", "plan first", abi.PermissionAuto, "accept//auto", false},
		{"a key that is too long to be kept", "long", abi.PermissionAuto, "accept//auto", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, turn, plan := newReviewRig(t, reviewing, c.words, c.remembered)
			if got := r.implement(plan); got.ID != turn.ID || got.Proposal != plan.ID {
				t.Fatalf("it continues as %+v", got)
			}
			if s := r.controls().Settings; s.Mode != "default" || s.Permission != c.remembered {
				t.Fatalf("remembered after it: %+v", s)
			}
			if c.differs {
				r.problem(host.CodePermissionDiffers)
			}
			r.untilTurn(turn.ID, host.TurnCompleted)
			if got := r.warnings("rogue"); len(got) != 1 || got[0] != c.heard {
				t.Fatalf("the binding heard %q", got)
			}
			if again := r.implement(plan); again.ID != turn.ID {
				t.Fatalf("repeated it gives %s", again.ID)
			}
			if p := r.plan(plan.ID); p.State != host.ProposalImplemented || p.Continuation != turn.ID {
				t.Fatalf("the plan %+v", p)
			}
			next := r.send("next")
			r.untilTurn(next.ID, host.TurnCompleted)
			if n := len(r.turns()); n != 2 {
				t.Fatalf("%d turns", n)
			}
			for _, p := range r.controls().Problems {
				if p.Code == string(host.CodePermissionDiffers) {
					t.Fatalf("the next turn restored the permission, and it is still told: %+v", p)
				}
			}
		})
	}
}

func TestRule18_NoDecisionStrongerThanTheRememberedPermissionIsTaken(t *testing.T) {
	t.Parallel()
	r, turn, plan := newReviewRig(t, reviewing, "named", abi.PermissionDefault)
	_, err := r.h.ContinuePlan(t.Context(), r.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision})
	wantCode(t, err, host.CodeAnswerOption)
	if p := r.plan(plan.ID); p.State != host.ProposalOpen || r.controls().Settings.Mode != "plan" {
		t.Fatalf("after the refusal the plan is %+v", p)
	}
	// A person can still pick it on the card.
	r.answer(plan.Interaction, host.Answer{Decision: "acceptForSession"})
	r.untilTurn(turn.ID, host.TurnCompleted)
	if p := r.plan(plan.ID); p.State != host.ProposalImplemented || r.controls().Settings.Mode != "default" {
		t.Fatalf("the plan %+v, remembered %+v", p, r.controls().Settings)
	}
}

func TestRule18_AReviewThatCarriesFeedbackIsAnsweredWithIt(t *testing.T) {
	t.Parallel()
	r, turn, plan := newReviewRig(t, reviewing, "feedback", abi.PermissionAuto)
	if got := r.requestChanges(plan, "Shorter."); got.ID != turn.ID {
		t.Fatalf("it continues as %+v", got)
	}
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := r.warnings("rogue"); len(got) != 1 || got[0] != "decline/Shorter./" {
		t.Fatalf("the binding heard %q", got)
	}
	if again := r.requestChanges(plan, "Shorter."); again.ID != turn.ID || len(r.turns()) != 1 {
		t.Fatalf("repeated it gives %+v", again)
	}
	if p := r.plan(plan.ID); p.State != host.ProposalChangesRequested || r.controls().Settings.Mode != "plan" {
		t.Fatalf("the plan %+v, remembered %+v", p, r.controls().Settings)
	}
}

func TestRule18_WhereAReviewCarriesNoFeedbackTheTurnIsCancelledAndTheFeedbackSentInPlanMode(t *testing.T) {
	t.Parallel()
	r, turn, plan := newReviewRig(t, cancelled, "", abi.PermissionAuto)
	older := r.send("Older")
	follow := r.requestChanges(plan, "Shorter.")
	if follow.ID == turn.ID || follow.Settings.Mode != "plan" || follow.Proposal != plan.ID || follow.Origin != abi.OriginFeedback {
		t.Fatalf("the feedback is %+v", follow)
	}
	if again := r.requestChanges(plan, "Shorter."); again.ID != follow.ID {
		t.Fatalf("repeated it gives %+v", again)
	}
	r.untilTurn(turn.ID, host.TurnInterrupted)
	r.untilTurn(follow.ID, host.TurnCompleted)
	// One operation, no stop: what waits is not held.
	r.untilTurn(older.ID, host.TurnCompleted)
	if got := r.texts(abi.ItemMessage); len(got) != 2 || got[0] != "I heard Shorter. in plan." {
		t.Fatalf("the agent said %q", got)
	}
	if got := r.warnings("rogue"); len(got) != 1 || got[0] != "decline//" {
		t.Fatalf("the binding heard %q", got)
	}
}

func TestRule13_APlanWhoseReviewWasLostWithItsProcessIsContinuedByAMessage(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *rig){
		"the harness was killed": func(t *testing.T, r *rig) {
			if p, err := os.FindProcess(r.controls().Session.PID); err != nil || p.Kill() != nil {
				t.Fatalf("the harness could not be killed: %v", err)
			}
			r.until("the exit", func() bool { return r.controls().Session.State == host.SessionNone })
		},
		"the host was closed": func(_ *testing.T, r *rig) { r.restart() },
		"the host crashed": func(t *testing.T, r *rig) {
			// Another host finds the files as they are now. It ends what is left of this
			// one's harness.
			old := r.dir
			r.dir = t.TempDir()
			if err := os.CopyFS(r.dir, os.DirFS(old)); err != nil {
				t.Fatal(err)
			}
			before := r.h
			t.Cleanup(func() { _ = before.Close(context.Background()) })
			r.cfg.Dir = r.dir
			r.open()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, turn, plan := newReviewRig(t, reviewing, "", abi.PermissionAuto)
			lose(t, r)
			if s := r.turn(turn.ID).State; !s.Ended() {
				t.Fatalf("the turn is %s", s)
			}
			p := r.plan(plan.ID)
			if p.State != host.ProposalOpen || p.Route != abi.RouteFollowUp || p.Revision != plan.Revision {
				t.Fatalf("the plan is %+v", p)
			}
			_, err := r.h.ResolveInput(t.Context(), r.conv, plan.Interaction, host.Answer{Decision: "accept"})
			wantCode(t, err, host.CodeInteractionStale)
			next := r.implement(p)
			if next.ID == turn.ID || next.Settings.Mode != "default" || next.Settings.Permission != abi.PermissionAuto {
				t.Fatalf("it continues as %+v", next)
			}
			r.untilTurn(next.ID, host.TurnCompleted)
		})
	}
}

func TestRule14_AStopTakesAReviewBackAndItsPlanExpires(t *testing.T) {
	t.Parallel()
	// The agent does not end the turn by itself when its question is taken back.
	r, turn, plan := newReviewRig(t, cancelled, "", abi.PermissionAuto)
	r.stop(host.StopOptions{})
	r.untilTurn(turn.ID, host.TurnInterrupted)
	if p := r.plan(plan.ID); p.State != host.ProposalExpired {
		t.Fatalf("the plan is %s", p.State)
	}
	if s := r.controls().Settings; s.Mode != "plan" {
		t.Fatalf("remembered after it: %+v", s)
	}
}

func TestRule18_ADecisionThatProvablyNeverReachedTheAgentReopensThePlan(t *testing.T) {
	t.Parallel()
	// The harness hears nothing after the message.
	r, turn, plan := newReviewRig(t, reviewing, "deaf", abi.PermissionAuto, func(c *host.Config) {
		l := c.Launch["codex"]
		l.Env = append(l.Env, deafEnv+"=review deaf")
		c.Launch["codex"] = l
	})
	r.implement(plan)
	r.until("the deaf harness to be ended", func() bool { return r.controls().Session.State == host.SessionNone })
	p := r.plan(plan.ID)
	if p.State != host.ProposalOpen || p.Route != abi.RouteFollowUp || p.Continuation != "" {
		t.Fatalf("the plan is %+v", p)
	}
	if s := r.controls().Settings; s.Mode != "plan" {
		t.Fatalf("remembered after it: %+v", s)
	}
	r.untilTurn(turn.ID, host.TurnFailed)
	next := r.implement(p)
	r.untilTurn(next.ID, host.TurnCompleted)
	if s := r.controls().Settings; s.Mode != "default" {
		t.Fatalf("remembered in the end: %+v", s)
	}
}

func TestRule18_ADecisionThatDoesNotFitTheProvidersSchemaReopensThePlan(t *testing.T) {
	t.Parallel()
	r, turn, plan := newReviewRig(t, reviewing, "misfit", abi.PermissionAuto)
	r.implement(plan)
	r.problem(host.CodeOutboundSchema)
	r.untilTurn(turn.ID, host.TurnCompleted)
	if p := r.plan(plan.ID); p.State != host.ProposalOpen || p.Route != abi.RouteFollowUp || r.controls().Settings.Mode != "plan" {
		t.Fatalf("the plan is %+v, remembered %+v", p, r.controls().Settings)
	}
	last := host.Interaction{}
	for _, k := range bodies[host.Interaction](r, host.EventInteraction) {
		last = k
	}
	if last.Disposition != abi.DispositionCancelled {
		t.Fatalf("the review is %+v", last)
	}
}

func TestRule14_ARestoredReviewIsShownAndWhatTheAgentAsksAfterItToo(t *testing.T) {
	t.Parallel()
	script := `{"turns":[{"when":{"text":"review"},"steps":[{"say":"First."},
	 {"self_turn":[{"ask":{"id":"q","questions":[{"id":"a","question":"Go on?","options":[{"label":"accept","description":""}]}]}},{"run":{"command":"make install","approve":true}},{"say":"By itself: {{decision}}."}]}]}]}`
	r := newRogueRig(t, script)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	turn := r.send("review restored")
	r.untilTurn(turn.ID, host.TurnCompleted)
	plan := r.untilPlan()
	if got := r.implement(plan); got.ID != "" {
		t.Fatalf("a turn %+v", got)
	}
	if again := r.implement(plan); again.ID != "" {
		t.Fatalf("repeated it gives %+v", again)
	}
	var card host.Interaction
	r.until("the agent's next request", func() bool {
		in, err := r.h.Inputs(t.Context(), r.conv)
		if err != nil {
			t.Fatal(err)
		}
		if len(in) == 1 {
			card = in[0]
		}
		return len(in) == 1 && card.Ask.Type == abi.InteractionPermission
	})
	r.answer(card.ID, host.Answer{Decision: decision(t, card, abi.AllowOnce)})
	r.until("the end of its turn", func() bool { return len(r.texts(abi.ItemMessage)) == 2 })
	if got := r.texts(abi.ItemMessage)[1]; got != "By itself: accept." {
		t.Fatalf("the agent said %q", got)
	}
	if s := r.controls().Settings; s.Mode != "default" {
		t.Fatalf("remembered after it: %+v", s)
	}
}

func TestRule22_ATurnOfTheAgentsOwnThatDoesNotEndAfterStopEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[{"say":"First."},{"self_turn":[{"say":"By myself."},{"hang":true}]}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`,
		func(c *host.Config) { c.StopGrace = 300 * time.Millisecond })
	first := r.send("Go")
	r.untilTurn(first.ID, host.TurnCompleted)
	r.until("the agent's own turn", func() bool { return len(r.texts(abi.ItemMessage)) == 2 })
	r.stop(host.StopOptions{})
	r.until("the process to end", func() bool { return r.controls().Session.State == host.SessionNone })
	next := r.send("And now")
	r.untilTurn(next.ID, host.TurnCompleted)
	if g := r.controls().Session.Generation; g != 2 {
		t.Fatalf("generation %d", g)
	}
}
