package host_test

import (
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scripted"
)

func TestP6_P8_AFeedbackTurnThatLeavesPlanningByItselfIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"plan":"# Plan"}]},{"repeat":true,"steps":[{"settings":{"mode":"default"}},{"say":"Flipped."}]}]}`)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	turn := r.send("Plan")
	r.untilTurn(turn.ID, host.TurnCompleted)
	feedback := r.requestChanges(r.untilPlan(), "Shorter.")
	r.untilTurn(feedback.ID, host.TurnCompleted)
	if told := toldNotInForce(r); !told["mode"] {
		t.Fatalf("told %v of a turn that ran under %+v; the harness says %+v", told, feedback.Settings, r.controls().Observed)
	}
}

// chosen are two ways to want the default permission and to work.
var chosen = map[string]host.SettingsPatch{
	"nothing chosen": {},
	"both chosen":    {Mode: ptr("default"), Permission: ptr(abi.PermissionDefault)},
}

func TestRule25_P8_WhatFlipsByItselfIsToldAlsoWhereNothingWasChosen(t *testing.T) {
	t.Parallel()
	for name, patch := range chosen {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"settings":{"approval_policy":"never","sandbox":"danger-full-access","mode":"plan"}},{"say":"Flipped."}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
			before := r.configure(patch)
			r.untilTurn(r.send("Go").ID, host.TurnCompleted)
			if told := toldNotInForce(r); !told["mode"] || !told["permission"] {
				t.Errorf("told %v; the harness says %+v", told, r.controls().Observed)
			}
			r.untilTurn(r.send("Go on").ID, host.TurnCompleted)
			if told := toldNotInForce(r); len(told) != 0 {
				t.Errorf("told %v of the next turn; the harness says %+v", told, r.controls().Observed)
			}
			if after := r.controls(); after.Revision != before.Revision || len(after.Problems) != 0 {
				t.Errorf("remembered %+v, problems %+v", after.Settings, after.Problems)
			}
		})
	}
}

func TestRule05_P8_AnACPAgentThatFlipsByItselfIsToldAndNeverOverwritesTheChoice(t *testing.T) {
	t.Parallel()
	// bypass is the mode that lets everything through, where a mode does.
	bypass := map[string]string{
		scripted.ProfileClaude101: "bypassPermissions", scripted.ProfileClaude049: "bypassPermissions", scripted.ProfileKimchi: "yolo",
		scripted.ProfileModern: "yolo", scripted.ProfileLegacy: "yolo", scripted.ProfileBoth: "yolo",
	}
	eachACPAgent(t, func(t *testing.T, a actor) {
		for name, patch := range chosen {
			for field, native := range map[string]string{"mode": "plan", "permission": bypass[a.profile]} {
				if native == "" {
					continue
				}
				r := newACPRig(t, a, `{"turns":[{"when":{"turn":1},"steps":[{"settings":{"mode":"`+native+`"}},{"say":"Flipped."}]},{"repeat":true,"steps":[{"say":"In {{mode}}."}]}]}`)
				before := r.configure(patch)
				r.untilTurn(r.send("Go").ID, host.TurnCompleted)
				if told := toldNotInForce(r); !told[field] {
					t.Errorf("%s: of the mode %s is told %v; the harness says %+v", name, native, told, r.controls().Observed)
				}
				r.untilTurn(r.send("Go on").ID, host.TurnCompleted)
				if told := toldNotInForce(r); len(told) != 0 {
					t.Errorf("%s: of the turn after the mode %s is told %v; the harness says %+v", name, native, told, r.controls().Observed)
				}
				if said := r.texts(abi.ItemMessage); said[len(said)-1] != "In default." {
					t.Errorf("%s: the agent said %q", name, said)
				}
				if after := r.controls(); after.Revision != before.Revision || after.Settings.Mode != before.Settings.Mode || len(after.Problems) != 0 {
					t.Errorf("%s: remembered %+v, problems %+v", name, after.Settings, after.Problems)
				}
				r.close()
			}
		}
	})
}

func TestP8_ThePermissionOfTheFirstMessageIsInForceInItsNewSession(t *testing.T) {
	t.Parallel()
	eachACPAgent(t, func(t *testing.T, a actor) {
		for _, p := range []abi.Permission{abi.PermissionDefault, abi.PermissionAcceptEdits, abi.PermissionAuto, abi.PermissionBypass} {
			r := newACPRig(t, a, answersAll)
			r.configure(host.SettingsPatch{Permission: &p})
			turn := r.send("Go")
			r.until("the turn's end", func() bool { return r.turn(turn.ID).State.Ended() })
			if r.support(p) == abi.SupportNone {
				r.close()
				continue
			}
			r.untilTurn(turn.ID, host.TurnCompleted)
			// What is stood in for is in force while the turn runs.
			held := false
			for _, o := range bodies[abi.Observed](r, host.EventObserved) {
				held = held || o.Permission == p
			}
			if told := toldNotInForce(r); !held || len(told) != 0 {
				t.Errorf("%s: told %v, the harness says %+v", p, told, bodies[abi.Observed](r, host.EventObserved))
			}
			r.close()
		}
	})
}

func TestRule25_NothingIsToldNotToBeInForceWhereNothingFlipped(t *testing.T) {
	t.Parallel()
	for _, a := range actors {
		if testing.Short() && a.profile != "" && a.profile != scripted.ProfileKimchi {
			continue
		}
		t.Run(a.title, func(t *testing.T) {
			t.Parallel()
			for name, patch := range chosen {
				var r *rig
				if a.profile == "" {
					r = newRig(t, `{"version":"`+a.version+`","turns":[{"repeat":true,"steps":[{"say":"Done."}]}]}`)
				} else {
					r = newACPRig(t, a, answersAll)
				}
				r.configure(patch)
				r.untilTurn(r.send("Go").ID, host.TurnCompleted)
				r.untilTurn(r.send("Go on").ID, host.TurnCompleted)
				r.restart()
				r.untilTurn(r.send("And now").ID, host.TurnCompleted)
				for _, p := range bodies[abi.Problem](r, host.EventProblem) {
					if p.Code == string(host.CodeNotInForce) {
						t.Errorf("%s: %+v", name, p)
					}
				}
				r.close()
			}
		})
	}
}
