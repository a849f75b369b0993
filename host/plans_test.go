package host_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/store"
)

// plansThenWorks proposes a plan in plan mode; whatever else is sent runs until it is
// stopped.
const plansThenWorks = `{"turns":[
 {"when":{"mode":"plan"},"steps":[{"plan":"# Plan\n1. Do it\n"}]},
 {"repeat":true,"steps":[{"say":"Working."},{"wait_interrupt":true}]}]}`

// sendIn sends a message under another mode than the remembered one.
func (r *rig) sendIn(mode, text string) host.Turn {
	r.t.Helper()
	t, err := r.h.Send(r.t.Context(), r.conv, host.Message{Content: host.Text(text), Settings: &host.SettingsPatch{Mode: &mode}})
	if err != nil {
		r.t.Fatalf("send: %v", err)
	}
	return t
}

func (r *rig) cancel(turn host.Turn) {
	r.t.Helper()
	if _, err := r.h.CancelQueued(r.t.Context(), r.conv, turn.ID); err != nil {
		r.t.Fatalf("cancel: %v", err)
	}
}

func TestRule17_P3_P4_AnImplementThatIsTakenBackTakesBackTheModeThatItRemembered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before string
		since  []string
		want   string
		told   bool
	}{
		"planning was remembered":                     {"plan", nil, "plan", true},
		"the message alone was planned":               {"default", nil, "default", false},
		"none was remembered":                         {"", nil, "", true},
		"a person has chosen another one since":       {"plan", []string{"plan"}, "plan", false},
		"a person has chosen that of Implement since": {"plan", []string{"plan", "default"}, "default", false},
		"a person has confirmed that of Implement":    {"plan", []string{"default"}, "default", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plansThenWorks)
			r.configure(host.SettingsPatch{Mode: ptr(c.before), Permission: ptr(abi.PermissionBypass)})
			r.untilTurn(r.sendIn("plan", "Plan it").ID, host.TurnCompleted)
			plan := r.untilPlan()
			r.untilTurn(r.sendIn("default", "Something else").ID, host.TurnRunning)
			impl := r.implement(plan)
			if s := r.controls().Settings; s.Mode != "default" || s.Permission != abi.PermissionBypass {
				t.Fatalf("remembered after Implement: %+v", s)
			}
			for _, mode := range c.since {
				r.configure(host.SettingsPatch{Mode: ptr(mode)})
			}
			r.cancel(impl)
			if p := r.untilPlan(); p.ID != plan.ID {
				t.Fatalf("the open plan is %+v", p)
			}
			s := r.controls().Settings
			if s.Mode != c.want || s.Permission != abi.PermissionBypass {
				t.Errorf("remembered with the plan open again: %+v, want mode %q", s, c.want)
			}
			told := bodies[host.SettingsEvent](r, host.EventSettings)
			if last := told[len(told)-1]; last.Cause == "reopened" != c.told || last.Settings.Mode != s.Mode {
				t.Errorf("told last: %+v", last)
			}
			// It can be decided again, as if nothing had been.
			if again := r.implement(plan); again.ID == impl.ID || r.controls().Settings.Mode != "default" {
				t.Errorf("implemented again as %+v", again)
			}
		})
	}
}

func TestRule17_AnImplementThatIsTakenBackForANewerPlanTakesBackItsModeToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[
 {"when":{"text":"first"},"steps":[{"plan":"# First"}]},
 {"when":{"text":"second"},"steps":[{"ask":{"id":"q","questions":[{"id":"a","question":"Go on?","options":[{"label":"x","description":""}]}]}},{"plan":"# Second"},{"wait_interrupt":true}]},
 {"repeat":true,"steps":[{"say":"Working."},{"wait_interrupt":true}]}]}`)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	r.untilTurn(r.send("first").ID, host.TurnCompleted)
	first := r.untilPlan()
	r.send("second")
	card := r.untilInput()
	// It is decided while the turn that proposes the next one runs.
	impl := r.implement(first)
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	var second host.Proposal
	r.until("the second plan", func() bool { second = r.untilPlan(); return second.ID != first.ID })
	r.cancel(impl)
	if p := r.untilPlan(); p.ID != second.ID {
		t.Fatalf("the open plan is %+v", p)
	}
	if s := r.controls().Settings; s.Mode != "plan" {
		t.Errorf("the second plan is open and the next message runs in %q", s.Mode)
	}
}

func TestRule17_P8_AnImplementThatReplacedNoModeTakesBackNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[
 {"when":{"text":"first"},"steps":[{"plan":"# First"}]},
 {"when":{"text":"second"},"steps":[{"plan":"# Second"}]},
 {"when":{"text":"hold"},"steps":[{"wait_interrupt":true}]},
 {"repeat":true,"steps":[{"say":"Done."}]}]}`)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	r.untilTurn(r.send("first").ID, host.TurnCompleted)
	r.untilTurn(r.implement(r.untilPlan()).ID, host.TurnCompleted)
	// What this one is planned under is nothing that is remembered.
	r.untilTurn(r.sendIn("plan", "second").ID, host.TurnCompleted)
	second := r.untilPlan()
	r.untilTurn(r.send("hold").ID, host.TurnRunning)
	r.cancel(r.implement(second))
	if p, s := r.untilPlan(), r.controls().Settings; p.ID != second.ID || s.Mode != "default" {
		t.Errorf("plan %s is open and mode %q is remembered", p.ID, s.Mode)
	}
}

func TestRule17_P3_Q8_SendingADecisionAgainThatNeverArrivedDecidesThePlanAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide func(*rig, host.Proposal) host.Turn
		state  host.ProposalState
		mode   string
	}{
		"implement":       {(*rig).implement, host.ProposalImplemented, "default"},
		"request changes": {func(r *rig, p host.Proposal) host.Turn { return r.requestChanges(p, "use spaces") }, host.ProposalChangesRequested, "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plansThenWorks)
			r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionBypass)})
			r.untilTurn(r.send("Plan it").ID, host.TurnCompleted)
			plan := r.untilPlan()
			r.untilTurn(r.sendIn("default", "Something else").ID, host.TurnRunning)
			first := c.decide(r, plan)
			r.cancel(first)
			r.untilPlan()
			again := func() (host.Turn, error) {
				return r.h.Retry(t.Context(), r.conv, first.ID, host.RetryRequest{ClientID: "again"})
			}
			retry, err := again()
			if err != nil {
				t.Fatal(err)
			}
			if retry.Settings.Mode != c.mode || retry.RetryOf != first.ID || retry.Origin != first.Origin || retry.Settings.Permission != abi.PermissionBypass {
				t.Errorf("sent again as %+v", retry)
			}
			if s := r.controls().Settings; s.Mode != c.mode {
				t.Errorf("mode %q is remembered", s.Mode)
			}
			if p := r.plan(plan.ID); p.State != c.state || p.Continuation != retry.ID {
				t.Errorf("the plan is %+v", p)
			}
			if same, err := again(); err != nil || same.ID != retry.ID {
				t.Errorf("asked twice: %+v %v", same, err)
			}
			// The id is that of this request alone.
			_, err = r.h.Retry(t.Context(), r.conv, retry.ID, host.RetryRequest{ClientID: "again"})
			wantCode(t, err, host.CodeClientIDReused)
			// A second decision would do it twice.
			_, err = r.h.ContinuePlan(t.Context(), r.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision, ClientID: "other"})
			wantCode(t, err, host.CodeProposalClosed)
			r.cancel(retry)
			if p, s := r.untilPlan(), r.controls().Settings; p.ID != plan.ID || s.Mode != "plan" {
				t.Errorf("taken back too: plan %s, mode %q", p.ID, s.Mode)
			}
		})
	}
}

func TestRule23_P8_AnImplementWhoseSessionIsReplacedExpiresWithItsPlanAndLeavesTheMode(t *testing.T) {
	t.Parallel()
	r := newRig(t, plansThenWorks, func(c *host.Config) { c.LeaveIdle = true })
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	r.untilTurn(r.send("Plan it").ID, host.TurnCompleted)
	plan := r.untilPlan()
	running := r.untilTurn(r.sendIn("default", "Something else").ID, host.TurnRunning)
	impl := r.implement(plan)
	r.close()
	// The fresh session knows no plan.
	r.script(`{"methods":{"thread/resume":[{"error":{"code":-32600,"message":"no rollout found for thread id"}}]},"turns":[{"repeat":true,"steps":[{"say":"Hello."}]}]}`)
	r.open()
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	got := r.untilTurn(impl.ID, host.TurnNotSent)
	if got.Code != string(host.CodeSessionReplaced) {
		t.Fatalf("the turn %+v (after %s)", got, running.ID)
	}
	if p, s := r.plan(plan.ID), r.controls().Settings; p.State != host.ProposalExpired || s.Mode != "default" {
		t.Errorf("the plan is %s, mode %q is remembered", p.State, s.Mode)
	}
}

func TestRule13_Rule17_ARepeatedDecisionGetsItsFirstResultAndAnotherOneIsToldToBeTooLate(t *testing.T) {
	t.Parallel()
	byMessage := func(t *testing.T) (*rig, host.Proposal) {
		r := newRig(t, plansThenWorks)
		r.configure(host.SettingsPatch{Mode: ptr("plan")})
		r.untilTurn(r.send("Plan it").ID, host.TurnCompleted)
		return r, r.untilPlan()
	}
	// The review of this agent carries feedback, so no turn has the client id.
	inReview := func(t *testing.T) (*rig, host.Proposal) {
		r := newACPRig(t, actors[4], `{"turns":[{"repeat":true,"steps":[{"plan":"# Plan"},{"say":"Done."}]}]}`)
		r.configure(host.SettingsPatch{Mode: ptr("plan")})
		r.send("Plan it")
		return r, r.untilReview()
	}
	type second struct {
		name, clientID, feedback string
		revision                 int64
		same                     bool
	}
	for _, c := range []struct {
		name   string
		begin  func(*testing.T) (*rig, host.Proposal)
		decide func(*host.Host, string, host.PlanDecision) (host.Turn, error)
		then   []second
	}{
		{"changes by message", byMessage, changes(t), []second{
			{"the same id", "a", "use tabs", 0, true},
			{"no id and the same words", "", "use tabs", 0, true},
			{"another id and other words", "b", "never touch main.go", 0, false},
			{"another id and the same words", "b", "use tabs", 0, false},
			{"no id and other words", "", "never touch main.go", 0, false},
			{"another revision", "", "use tabs", 1, false},
		}},
		{"implemented by message", byMessage, implements(t), []second{
			{"the same id", "a", "", 0, true},
			{"no id", "", "", 0, true},
			{"another id", "b", "", 0, false},
			{"another revision", "", "", 1, false},
		}},
		{"changes in the review", inReview, changes(t), []second{
			{"the same id and words", "a", "use tabs", 0, true},
			{"no id and the same words", "", "use tabs", 0, true},
			{"another id and other words", "b", "never touch main.go", 0, false},
			{"no id and other words", "", "never touch main.go", 0, false},
		}},
		{"implemented in the review", inReview, implements(t), []second{
			{"the same id", "a", "", 0, true},
			{"another revision", "a", "", 1, false},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, plan := c.begin(t)
			first, err := c.decide(r.h, r.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision, ClientID: "a", Feedback: c.then[0].feedback})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range c.then {
				got, err := c.decide(r.h, r.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision + n.revision, ClientID: n.clientID, Feedback: n.feedback})
				switch {
				case n.same && (err != nil || got.ID != first.ID):
					t.Errorf("%s: %+v, %v, want turn %s again", n.name, got, err, first.ID)
				case !n.same && host.CodeOf(err) != host.CodeProposalClosed:
					t.Errorf("%s: %+v, %v, want it told that the plan is closed", n.name, got, err)
				}
			}
		})
	}
}

func changes(t *testing.T) func(*host.Host, string, host.PlanDecision) (host.Turn, error) {
	return func(h *host.Host, conv string, d host.PlanDecision) (host.Turn, error) {
		return h.RequestChanges(t.Context(), conv, d)
	}
}

func implements(t *testing.T) func(*host.Host, string, host.PlanDecision) (host.Turn, error) {
	return func(h *host.Host, conv string, d host.PlanDecision) (host.Turn, error) {
		return h.ContinuePlan(t.Context(), conv, d)
	}
}

func TestRule18_P2_APlanWhoseReviewWasRejectedForFeedbackThatIsTakenBackCanBeDecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		written bool
		decide  func(*rig, host.Proposal) host.Turn
		mode    string
	}{
		"implemented, after the rejection was written":  {true, (*rig).implement, "default"},
		"more changes, after the rejection was written": {true, func(r *rig, p host.Proposal) host.Turn { return r.requestChanges(p, "use spaces") }, "plan"},
		"implemented, perhaps before it was":            {false, (*rig).implement, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			// The turn does not end when it is cancelled, so that the feedback waits.
			r := newACPRig(t, actors[2], `{"turns":[{"on_cancel":{"never":true},"steps":[{"plan":"# Plan"},{"say":"Done."}]},{"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`)
			r.close()
			r.cfg.StopGrace = time.Minute
			r.open()
			r.configure(host.SettingsPatch{Mode: ptr("plan")})
			turn := r.send("Plan it")
			plan := r.untilReview()
			follow := r.requestChanges(plan, "use tabs")
			if c.written {
				r.closed(plan.Interaction)
			}
			r.cancel(follow)
			r.closed(plan.Interaction)
			p := r.plan(plan.ID)
			if p.State != host.ProposalOpen || p.Route != abi.RouteFollowUp || p.Interaction != "" || p.Continuation != "" {
				t.Fatalf("the plan is %+v", p)
			}
			harness, err := os.FindProcess(r.controls().Session.PID)
			if err := errors.Join(err, harness.Kill()); err != nil {
				t.Fatal(err)
			}
			r.untilTurn(turn.ID, host.TurnInterrupted)
			r.until("the exit", func() bool { return r.controls().Session.State == host.SessionNone })
			next := c.decide(r, p)
			if next.Settings.Mode != c.mode {
				t.Errorf("it goes on in mode %q, want %q", next.Settings.Mode, c.mode)
			}
			r.untilTurn(next.ID, host.TurnCompleted)
		})
	}
}

// lose makes a turn that has run one whose delivery is uncertain and that the harness's
// history does not have, as a start whose history could not be read leaves it. The host
// must be closed.
func (r *rig) lose(turn host.Turn) {
	r.t.Helper()
	ctx := r.t.Context()
	st, err := store.Open(ctx, r.dir, store.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	err = st.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.Turn(ctx, turn.ID)
		if err != nil {
			return err
		}
		row.State, row.ErrorCode, row.ClientID, row.StartedAt = store.TurnUncertain, string(host.CodeUncertainDelivery), "never-seen", time.Time{}
		if err := tx.UpdateTurn(ctx, row); err != nil || row.InteractionID == "" {
			return err
		}
		k, err := tx.Interaction(ctx, row.InteractionID)
		if err != nil {
			return err
		}
		k.Disposition = string(abi.DispositionUncertain)
		return tx.UpdateInteraction(ctx, k)
	})
	if err := errors.Join(err, st.Close()); err != nil {
		r.t.Fatal(err)
	}
}

func TestRule12_Rule20_AnAnswerProvenNotToHaveArrivedWhenSomethingRanAfterItCanBeGivenAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[
 {"when":{"text":"Work"},"steps":[{"ask_async":{"id":"q","questions":[{"title":"Which?","options":["Red","Blue"]}]}},{"say":"Working."}]},
 {"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`, func(c *host.Config) { c.LeaveIdle = true })
	r.untilTurn(r.send("Work").ID, host.TurnCompleted)
	card := r.untilInput()
	blue := host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 1)}}
	lost := r.untilTurn(r.answer(card.ID, blue).AnswerTurn, host.TurnCompleted)
	r.untilTurn(r.send("Something else").ID, host.TurnCompleted)
	r.close()
	r.lose(lost)
	r.open()
	r.untilTurn(r.send("And now").ID, host.TurnCompleted)
	if got := r.turn(lost.ID); got.State != host.TurnNotSent {
		t.Fatalf("the answer is %s (%s)", got.State, got.Evidence)
	}
	if in := r.untilInput(); in.ID != card.ID || in.Reply != nil || in.Disposition != "" || in.AnswerTurn != "" {
		t.Fatalf("the card is %+v", in)
	}
	again := r.answer(card.ID, blue)
	r.untilTurn(again.AnswerTurn, host.TurnCompleted)
	told := bodies[host.Interaction](r, host.EventInteraction)
	if last := told[len(told)-1]; last.Disposition != abi.DispositionAnswered || last.AnswerTurn != again.AnswerTurn || last.AnswerTurn == lost.ID {
		t.Fatalf("the card is %+v", last)
	}
}

func TestRule18_Rule20_AnImplementProvenNotToHaveArrivedWhenSomethingRanAfterItReopensThePlan(t *testing.T) {
	t.Parallel()
	for name, sentAgain := range map[string]bool{"nobody has sent it again": false, "a person has sent it again": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, `{"turns":[{"when":{"mode":"plan","plan":false},"steps":[{"plan":"# Plan"}]},{"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`,
				func(c *host.Config) { c.LeaveIdle = true })
			r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionBypass)})
			r.untilTurn(r.send("Plan it").ID, host.TurnCompleted)
			plan := r.untilPlan()
			lost := r.untilTurn(r.implement(plan).ID, host.TurnCompleted)
			r.untilTurn(r.send("Something else").ID, host.TurnCompleted)
			if sentAgain {
				retry, err := r.h.Retry(t.Context(), r.conv, lost.ID, host.RetryRequest{})
				if err != nil {
					t.Fatal(err)
				}
				r.untilTurn(retry.ID, host.TurnCompleted)
			}
			r.close()
			r.lose(lost)
			r.open()
			r.untilTurn(r.send("And now").ID, host.TurnCompleted)
			if got := r.turn(lost.ID); got.State != host.TurnNotSent {
				t.Fatalf("the turn is %s (%s)", got.State, got.Evidence)
			}
			p, s := r.plan(plan.ID), r.controls().Settings
			if sentAgain {
				if p.State != host.ProposalImplemented || s.Mode != "default" {
					t.Fatalf("the plan is %s, mode %q is remembered", p.State, s.Mode)
				}
				return
			}
			// The person has gone on in the mode that Implement remembered.
			if p.State != host.ProposalOpen || s.Mode != "default" || s.Permission != abi.PermissionBypass {
				t.Fatalf("the plan is %s, remembered is %+v", p.State, s)
			}
			r.untilTurn(r.implement(p).ID, host.TurnCompleted)
		})
	}
}
