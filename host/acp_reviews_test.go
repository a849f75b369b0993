package host_test

import (
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// plansAndRuns plans, and once that is approved it asks to run a command in the same
// turn.
const plansAndRuns = `{"turns":[{"repeat":true,"steps":[{"plan":"# Plan"},{"run":{"command":"make install","approve":true}},{"say":"Done in {{mode}}."}]}]}`

// untilReview waits for a plan whose agent waits in a review.
func (r *rig) untilReview() (p host.Proposal) {
	r.t.Helper()
	r.until("the review", func() bool {
		p = r.untilPlan()
		return p.Interaction != ""
	})
	return p
}

// finish ends a turn by allowing once each tool that it asks for, and returns the
// requests for tools: those that were asked and those that a rule answered.
func (r *rig) finish(turn string) (asked, automatic []host.Interaction) {
	r.t.Helper()
	r.until("the turn's end", func() bool {
		cards, err := r.h.Inputs(r.t.Context(), r.conv)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, k := range cards {
			if k.Ask.Type == abi.InteractionPermission {
				asked = append(asked, k)
				r.answer(k.ID, host.Answer{Decision: decision(r.t, k, abi.AllowOnce)})
			}
		}
		return r.turn(turn).State.Ended()
	})
	for _, k := range r.untilClosed() {
		if k.Ask.Type == abi.InteractionPermission && k.Automatic != "" {
			automatic = append(automatic, k)
		}
	}
	return asked, automatic
}

// support says how the harness of the live session holds a permission.
func (r *rig) support(p abi.Permission) abi.Support {
	r.t.Helper()
	for _, c := range r.controls().Catalog.Permissions {
		if c.Permission == p {
			return c.Support
		}
	}
	r.t.Fatalf("the catalog has no permission %q", p)
	return ""
}

// toldNotInForce says of which fields a difference was told and not taken back when
// the agent said its last words.
func toldNotInForce(r *rig) map[string]bool {
	r.t.Helper()
	now, last := map[string]bool{}, map[string]bool{}
	for _, ev := range r.journal() {
		switch ev.Type {
		case host.EventProblem:
			var p abi.Problem
			decode(r.t, ev.Body, &p)
			if p.Code != string(host.CodeNotInForce) {
				continue
			}
			if now[p.Field] = !p.Resolved; p.Resolved {
				delete(now, p.Field)
			}
		case host.EventItem:
			last = map[string]bool{}
			for f := range now {
				last[f] = true
			}
		}
	}
	return last
}

func TestRule17_P4_AfterImplementThePermissionRememberedThenIsInForceAndNotTheOneOfThePlanning(t *testing.T) {
	t.Parallel()
	eachACPAgent(t, func(t *testing.T, a actor) {
		for _, c := range []struct{ frozen, remembered abi.Permission }{
			{abi.PermissionBypass, abi.PermissionDefault},
			{abi.PermissionDefault, abi.PermissionBypass},
			{abi.PermissionBypass, ""},
		} {
			t.Run(string(c.frozen)+" then "+string(c.remembered), func(t *testing.T) {
				r := newACPRig(t, a, plansAndRuns)
				r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(c.frozen)})
				turn := r.send("Plan")
				plan := r.untilReview()
				r.configure(host.SettingsPatch{Permission: ptr(c.remembered)})
				r.implement(plan)
				asked, automatic := r.finish(turn.ID)
				stoodIn := c.remembered == abi.PermissionBypass && r.support(c.remembered) == abi.SupportStandIn
				if stoodIn != (len(automatic) == 1) || stoodIn == (len(asked) == 1) {
					t.Errorf("asked %d times, answered by rule %+v", len(asked), automatic)
				}
				if told := toldNotInForce(r); len(told) != 0 {
					t.Errorf("told not to be in force: %v; the harness says %+v", told, r.controls().Observed)
				}
			})
		}
	})
}

func TestRule18_ADecisionPickedOnTheCardSaysWhichPermissionIsInForce(t *testing.T) {
	t.Parallel()
	eachACPAgent(t, func(t *testing.T, a actor) {
		r := newACPRig(t, a, plansAndRuns)
		r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionBypass)})
		turn := r.send("Plan")
		plan := r.untilReview()
		picked := abi.Decision{}
		for _, d := range r.untilInput().Ask.Decisions {
			if d.Permission == abi.PermissionDefault {
				picked = d
			}
		}
		if picked.ID == "" {
			// No decision of this agent names a permission: the remembered one stays.
			r.implement(plan)
		} else {
			r.answer(plan.Interaction, host.Answer{Decision: picked.ID})
		}
		asked, automatic := r.finish(turn.ID)
		if picked.ID != "" && (len(asked) != 1 || len(automatic) != 0) {
			t.Errorf("asked %d times, answered by rule %+v", len(asked), automatic)
		}
		if told := toldNotInForce(r); len(told) != 0 {
			t.Errorf("told not to be in force: %v; the harness says %+v", told, r.controls().Observed)
		}
	})
}
