package tui_test

import (
	"testing"

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
