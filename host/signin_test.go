package host_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// signedOut is a harness that wants a sign-in.
const signedOut = `{"methods":{"account/read":[{"result":{"account":null,"requiresOpenaiAuth":true}}]},"turns":[{"repeat":true,"steps":[{"say":"Done."}]}]}`

func TestL6_S7_ASignInParksTheMessageNamesTheCommandAndSendsItOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, signedOut)
	turn := r.send("Go")
	if msg := r.problem(host.CodeSignInNeeded); !strings.Contains(msg, "codex login") {
		t.Fatalf("the problem does not name the command: %q", msg)
	}
	r.until("the session to end", func() bool { return r.controls().Session.State == host.SessionNone })
	if q := r.controls().Queue; !q.Held || q.Reason != host.CodeSignInNeeded || len(q.Turns) != 1 {
		t.Fatalf("queue %+v", q)
	}
	_, err := r.h.Probe(t.Context(), r.conv)
	wantCode(t, err, host.CodeSignInNeeded)
	// Signed in by hand, then resumed.
	r.script(echo)
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := r.texts(abi.ItemMessage); len(got) != 1 {
		t.Fatalf("the agent ran %d times", len(got))
	}
	r.signedIn()
}

// signedIn checks that nothing says any more that a sign-in is needed.
func (r *rig) signedIn() {
	r.t.Helper()
	for _, p := range r.controls().Problems {
		r.t.Errorf("the problem %s stays: %s", p.Code, p.Message)
	}
	if q := r.controls().Queue; q.Held {
		r.t.Errorf("the queue stays held: %+v", q)
	}
}

// parked checks that these turns wait for a sign-in, and that the person is told how.
func (r *rig) parked(command string, turns ...host.Turn) {
	r.t.Helper()
	if msg := r.problem(host.CodeSignInNeeded); !strings.Contains(msg, command) {
		r.t.Errorf("the problem does not name the command: %q", msg)
	}
	var ids []string
	for _, t := range turns {
		ids = append(ids, t.ID)
	}
	r.until("the messages to wait for the sign-in", func() bool {
		q := r.controls().Queue
		return q.Held && q.Reason == host.CodeSignInNeeded && slices.Equal(q.Turns, ids)
	})
}

const (
	// signInAtStart wants a Codex sign-in, which there is, and whatever follows.
	signInAtStart = `"account/read":[{"result":{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}}]`
	heard         = `"turns":[{"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]`
)

func TestL6_S7_ASignInThatEndsInASessionParksTheMessageAndAFreshProcessSendsItOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"methods":{`+signInAtStart+`},`+heard+`}`)
	r.untilTurn(r.send("one").ID, host.TurnCompleted)
	r.script(`{"methods":{` + signInAtStart + `,"turn/start":[{"times":1,"error":{"code":-32600,"message":"Your session has expired. Please log in."}}]},` + heard + `}`)
	r.restart()
	two, three := r.send("two"), r.send("three")
	r.parked("codex login", two, three)
	gen := r.controls().Session.Generation
	// The program that a person signs in with may be this one, so it goes on.
	if s := r.controls().Session.State; s != host.SessionReady {
		t.Errorf("the session is %s", s)
	}
	r.script(`{"methods":{` + signInAtStart + `},` + heard + `}`)
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(two.ID, host.TurnCompleted)
	r.untilTurn(three.ID, host.TurnCompleted)
	if got := r.texts(abi.ItemMessage); !slices.Equal(got, []string{"I heard one.", "I heard two.", "I heard three."}) {
		t.Errorf("the agent said %q", got)
	}
	if g := r.controls().Session.Generation; g != gen+1 {
		t.Errorf("generation %d after %d", g, gen)
	}
	r.signedIn()
}

func TestL6_AMessageThatWasAcceptedFailsAndTheNextOnesMeetAFreshProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"methods":{`+signInAtStart+`},"turns":[{"repeat":true,"steps":[{"fail":{"code":"unauthorized","message":"401 Unauthorized","http":401}}]}]}`)
	one := r.send("one")
	two := r.send("two")
	got := r.untilTurn(one.ID, host.TurnFailed)
	if got.Code != "unauthorized" {
		t.Errorf("the turn %+v", got)
	}
	r.parked("codex login", two)
	r.script(`{"methods":{` + signInAtStart + `},` + heard + `}`)
	// Sending releases as resuming does, and repeats nothing.
	three := r.send("three")
	r.untilTurn(two.ID, host.TurnCompleted)
	r.untilTurn(three.ID, host.TurnCompleted)
	if got := r.texts(abi.ItemMessage); !slices.Equal(got, []string{"I heard two.", "I heard three."}) {
		t.Errorf("the agent said %q", got)
	}
	if g := r.controls().Session.Generation; g != 2 {
		t.Errorf("the process that was refused goes on: generation %d", g)
	}
	r.signedIn()
}

func TestL6_S7_APromptThatWantsASignInIsParkedAndSentOnceByAFreshProcess(t *testing.T) {
	t.Parallel()
	const keeps = `{"behaviour":{"keeps":["*"]},`
	required := `"error":{"code":-32000,"message":"Authentication required"}`
	eachACPAgent(t, func(t *testing.T, a actor) {
		r := newACPRig(t, a, keeps+`"methods":{"session/prompt":[{"times":1,`+required+`}]},`+heard+`}`)
		one := r.send("one")
		r.parked("", one)
		r.acpScript(keeps + `"turns":[{"when":{"text":"two"},"steps":[{"say":"Half"},{"end":{` + required + `}}]},{"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`)
		if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
			t.Fatal(err)
		}
		r.untilTurn(one.ID, host.TurnCompleted)
		r.signedIn()
		// What the agent had is not sent again by itself.
		two := r.send("two")
		r.untilTurn(two.ID, host.TurnFailed)
		if msg := r.problem(host.CodeSignInNeeded); msg == "" {
			t.Error("nobody is told to sign in")
		}
		r.untilTurn(r.send("three").ID, host.TurnCompleted)
		if got := r.texts(abi.ItemMessage); !slices.Equal(got, []string{"I heard one.", "Half", "I heard three."}) {
			t.Errorf("the agent said %q", got)
		}
		if g := r.controls().Session.Generation; g != 3 {
			t.Errorf("generation %d", g)
		}
		r.signedIn()
	})
}

func TestL6_ASignInProblemThatTheBindingTakesBackIsGoneAndItsProcessGoesOn(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, `{`+heard+`}`)
	one := r.send("doubt")
	r.untilTurn(one.ID, host.TurnCompleted)
	told := bodies[abi.Problem](r, host.EventProblem)
	if len(told) != 2 || !strings.Contains(told[0].Message, "Who are you?") || !strings.Contains(told[0].Message, "codex login") || !told[1].Resolved {
		t.Errorf("the problems %+v", told)
	}
	r.signedIn()
	r.untilTurn(r.send("two").ID, host.TurnCompleted)
	if g := r.controls().Session.Generation; g != 1 {
		t.Errorf("generation %d", g)
	}
}

func TestL6_Rule22_AMessageThatAPersonStoppedIsNotParked(t *testing.T) {
	t.Parallel()
	gate, open := newGate(t)
	r := newRig(t, `{"methods":{`+signInAtStart+`,"turn/start":[{"wait_file":`+strconv.Quote(gate)+`,"error":{"code":-32600,"message":"Please log in."}}]},`+heard+`}`)
	turn := r.send("one")
	r.until("the message to be on its way", func() bool { return r.turn(turn.ID).State == host.TurnDispatched })
	r.stop(host.StopOptions{})
	open()
	r.untilTurn(turn.ID, host.TurnNotSent)
	if q := r.controls().Queue; len(q.Turns) != 0 {
		t.Errorf("the queue %+v", q)
	}
}
