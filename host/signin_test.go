package host_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// signedOut is a harness that wants a sign-in.
const signedOut = `{"methods":{"account/read":[{"result":{"account":null,"requiresOpenaiAuth":true}}]},"turns":[{"repeat":true,"steps":[{"say":"Done."}]}]}`

func TestL6_S7_ASignInParksTheMessageNamesTheCommandAndSendsItOnce(t *testing.T) {
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
	for _, p := range r.controls().Problems {
		if p.Code == string(host.CodeSignInNeeded) {
			t.Fatalf("the problem stays: %+v", p)
		}
	}
}
