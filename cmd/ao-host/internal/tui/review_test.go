package tui_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// proposes lets the agent propose a plan.
func proposes(t *testing.T, route abi.Route, text string) *rig {
	t.Helper()
	r := sit(t, nil)
	turn := r.send("Plan it")
	p := host.Proposal{Revision: 1, Turn: turn, Route: route, Text: text}
	if route == abi.RouteNative {
		p.Interaction = r.f.Ask(turn, abi.Interaction{Type: abi.InteractionReview, Route: route, Blocking: true})
	}
	r.f.Propose(p)
	if route == abi.RouteFollowUp {
		r.f.Become(turn, host.TurnCompleted, nil)
	}
	r.read()
	return r
}

func longPlan() string {
	var b strings.Builder
	b.WriteString("# A long plan\n\n")
	for range 40 {
		b.WriteString("- Do a step of it.\n")
	}
	return b.String() + "- The last step.\n"
}

func TestALongPlanIsReadInAPagerWithTheDecisionInSight(t *testing.T) {
	r := proposes(t, abi.RouteFollowUp, longPlan())
	golden(t, "pager-80x24", r.Screen(80, 24))
	golden(t, "pager-40x16", r.Screen(40, 16))
	decision := []string{"1 implement it – with the permission auto", "2 request changes", "3 leave it"}
	r.sees(append(decision, "A long plan")...)
	r.Press("pgdown")
	r.sees(decision...)
	r.seesNot("A long plan", "The last step.")
	r.Press("end")
	r.sees(append(decision, "The last step.", "the end")...)
	r.Press("home")
	r.sees("A long plan")
}

func TestRule17_APlanIsImplementedChangedOrLeft(t *testing.T) {
	for _, route := range []abi.Route{abi.RouteFollowUp, abi.RouteNative} {
		r := proposes(t, route, "# The plan\n")
		r.Press("1", "enter")
		r.wantCalls("ContinuePlan revision 1 ")
		r.seesNot("1 implement it")

		r = proposes(t, route, "# The plan\n")
		r.Press("2", "enter", "enter")
		r.sees("Say what should change")
		r.Type("shorter")
		r.Press("enter")
		r.wantCalls("RequestChanges revision 1 shorter")

		r = proposes(t, route, "# The plan\n")
		r.Press("3", "enter")
		r.wantCalls()
		r.sees("The plan waits; F4 opens it again.", "waits for review")
		r.Press("f4", "1", "enter")
		r.wantCalls("ContinuePlan revision 1 ")
	}
}

func TestARevisedPlanReplacesTheOneThatIsRead(t *testing.T) {
	r := proposes(t, abi.RouteFollowUp, "# The plan\n")
	r.Press("1")
	plans, err := r.f.Plans(t.Context(), conversation)
	if err != nil {
		t.Fatal(err)
	}
	p := plans[0]
	p.Revision, p.Text = 2, "# Another plan\n"
	r.f.Emit(host.EventProposal, p.Turn, p)
	r.sees("revision 2", "Another plan", "  1 implement it")
}

func TestRule13_ThePlanThatSomebodyElseDecidedOnIsTold(t *testing.T) {
	r := proposes(t, abi.RouteFollowUp, "# The plan\n")
	r.f.Fail["ContinuePlan"] = &host.Error{Code: host.CodeProposalClosed}
	r.Press("1", "enter")
	r.sees("This plan is not open any more", composing)
}

func TestRule18_WithoutAPlanTheExecutionModeIsOffered(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("Plan it")
	r.h.shape = func(c *host.Controls) { c.ContinueMode = "default" }
	r.f.Become(turn, host.TurnCompleted, nil)
	r.sees("Ctrl+Y goes on in mode default")
	r.Press("ctrl+y")
	if !cmpEqualTail(r.calls(), `ConfigureNextTurn 1 {"mode":"default"}`) {
		t.Errorf("calls %q", r.calls())
	}
	if r.Composer() == "" {
		t.Error("nothing is in the composer to send")
	}
}
