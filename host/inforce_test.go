package host_test

import (
	"testing"

	"github.com/aoagents/ao-host/host"
)

func TestP6_P8_AFeedbackTurnThatLeavesPlanningByItselfIsTold(t *testing.T) {
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
