package tui_test

import (
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func TestTwoChatsShowEachOthersChangesAndTheSecondIsTold(t *testing.T) {
	one, _ := asks(t, permission("ls"))
	two := again(t, one.f)
	two.sees("1 Yes")
	one.Press("1", "enter")
	// The other one answers before it has heard of it.
	two.Press("2", "enter")
	two.sees("Somebody answered this card already", composing)
	one.read()
	one.sees(composing)
	// What waits is seen by both, and a change by one is refused to the other.
	one.Type("Next")
	one.Press("enter")
	two.sees("1. Next")
	one.read()
	one.Press("f3")
	two.Press("f3", "x")
	one.Press("enter")
	one.Type("!")
	one.Press("enter")
	one.sees("turn_not_queued")
}

func TestAQuestionThatAnotherPanelCoversComesAgainAsItWas(t *testing.T) {
	r, _ := asks(t, fruit())
	r.Press("1", "enter")
	r.sees("2 of 3.")
	r.Press("f1")
	r.sees("── Keys")
	r.Press("esc")
	r.sees("2 of 3.")
	r.Press("f2", "f3", "esc")
	r.sees("2 of 3.")
	r.Press("1", "enter", "2", "enter")
	r.wantCalls(`ResolveInput {"fields":[{"field":"which","state":"answered","selected":[0]},{"field":"when","state":"answered","selected":[0]},{"field":"why","state":"skipped"}]}`)
}

func TestAnAnswerThatReachedNobodyIsNotTypedAgain(t *testing.T) {
	r, _ := asks(t, fruit())
	r.f.Fail["ResolveInput"] = &host.Error{Code: host.CodeUnreachable}
	r.Press("1", "enter", "1", "enter", "1", "enter")
	r.Type("so")
	r.Press("enter")
	r.sees("host_unreachable", "> so")
	delete(r.f.Fail, "ResolveInput")
	r.Press("enter")
	want := `ResolveInput {"fields":[{"field":"which","state":"answered","selected":[0]},{"field":"when","state":"answered","selected":[0]},{"field":"why","state":"answered","has_other":true,"other":"so"}]}`
	r.wantCalls(want, want)
}

func TestAWarningStaysWhileOneTypesOn(t *testing.T) {
	r := sit(t, nil)
	r.f.Fail["Send"] = &host.Error{Code: host.CodeStoreFull}
	r.Type("Hello")
	r.Press("enter")
	r.Type(" there")
	r.sees("The disk is full", "Hello there")
	delete(r.f.Fail, "Send")
	r.Press("enter")
	r.seesNot("The disk is full")
}

func TestOnesOwnDecisionIsNotToldAsSomebodyElses(t *testing.T) {
	r, _ := asks(t, permission("ls"))
	// The journal is faster than the answer to the request.
	r.Press("1")
	r.PressHeld("enter")
	r.read()
	r.seesNot("nobody has to answer it any more")
	r.Release()
	r.sees(composing)
	r.seesNot("nobody has to answer it any more")

	r = proposes(t, "follow-up", "# The plan\n")
	r.Press("1")
	r.PressHeld("enter")
	r.read()
	r.Release()
	r.seesNot("decided on elsewhere")

	r = proposes(t, "follow-up", "# The plan\n")
	two := again(t, r.f)
	two.Press("1", "enter")
	r.sees("The plan was decided on elsewhere")
}

func TestCtrlDLeavesWhereNothingIsWritten(t *testing.T) {
	r, _ := asks(t, permission("ls"))
	r.Press("3", "enter", "x", "ctrl+d")
	if r.Left() {
		t.Fatal("it left in the middle of a text")
	}
	r.Press("esc", "ctrl+d")
	if !r.Left() {
		t.Error("it did not leave")
	}
}

func TestALongChecklistLeavesRoomForTheRest(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("Go")
	p := abi.Progress{Turn: turn}
	for range 30 {
		p.Entries = append(p.Entries, abi.ProgressStep{Text: "A step", Status: "pending"})
	}
	r.f.Emit(host.EventProgress, turn, p)
	r.Press("f5")
	r.sees("› Go", "[ ] A step", "23 more rows here", composing)
}
