package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// flagged gives the harness a launch flag for one permission, which can be seen
// in the version it then tells.
func flagged(m *abi.Manifest) {
	m.Launch.PermissionArgv = []abi.PermissionArgs{{Permission: abi.PermissionBypass, Args: []string{"--provider-version", "0.153.4"}}}
}

func TestRule07_APermissionThatIsALaunchFlagIsReportedAndRelaunchedBetweenTurns(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, `{"turns":[{"steps":[{"say":"One."},{"ask":{"id":"q","questions":[{"id":"a","question":"Which?","options":[{"label":"x","description":""}]}]}}]},
	 {"repeat":true,"steps":[{"say":"Done."}]}]}`, flagged)
	first := r.send("Go")
	card := r.untilInput()
	r.configure(host.SettingsPatch{Permission: ptr(abi.PermissionBypass)})
	second := r.send("And now")
	// Never in a running turn.
	if s := r.controls().Session; s.Generation != 1 || s.State != host.SessionReady {
		t.Fatalf("the session while the turn runs: %+v", s)
	}
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	r.untilTurn(first.ID, host.TurnCompleted)
	r.untilTurn(second.ID, host.TurnCompleted)
	if s := r.controls().Session; s.Generation != 2 || s.ProviderVersion != "0.153.4" {
		t.Fatalf("the turn ran in %+v", s)
	}
	var told []bool
	for _, p := range bodies[abi.Problem](r, host.EventProblem) {
		if p.Code == string(host.CodeRelaunch) {
			told = append(told, p.Resolved)
		}
	}
	if len(told) != 2 || told[0] || !told[1] {
		t.Fatalf("the relaunch was told and taken back: %v", told)
	}
	// The same flags need no other process; leaving the permission does.
	third := r.send("Again")
	r.untilTurn(third.ID, host.TurnCompleted)
	if s := r.controls().Session; s.Generation != 2 {
		t.Fatalf("the same permission was launched anew: %+v", s)
	}
	r.configure(host.SettingsPatch{Permission: ptr(abi.PermissionDefault)})
	last := r.send("Carefully")
	r.untilTurn(last.ID, host.TurnCompleted)
	if s := r.controls().Session; s.Generation != 3 || s.ProviderVersion != "0.171.0" {
		t.Fatalf("the careful turn ran in %+v", s)
	}
	if got := r.texts(abi.ItemMessage); len(got) != 4 {
		t.Fatalf("the agent said %q", got)
	}
}

func TestRule07_AMessageWaitsForTheEndOfTheAgentsOwnTurnWhereItNeedsARelaunch(t *testing.T) {
	t.Parallel()
	shipped, err := os.ReadFile(filepath.Join("..", "bindings-wasm", "codex.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"say":"First."},{"self_turn":[{"say":"By myself."},{"hang":true}]}]},
	 {"repeat":true,"steps":[{"say":"Done."}]}]}`, func(c *host.Config) {
		c.Bindings = [][]byte{repack(t, shipped, flagged)}
		c.StopGrace = 300 * time.Millisecond
	})
	first := r.send("Go")
	r.untilTurn(first.ID, host.TurnCompleted)
	r.until("the agent's own turn", func() bool { return len(r.texts(abi.ItemMessage)) == 2 })
	r.configure(host.SettingsPatch{Permission: ptr(abi.PermissionBypass)})
	next := r.send("And now")
	r.until("the relaunch to be told", func() bool {
		return slices.ContainsFunc(r.controls().Problems, func(p abi.Problem) bool { return p.Code == string(host.CodeRelaunch) })
	})
	if got := r.turn(next.ID); got.State != host.TurnQueued {
		t.Fatalf("the message was given to the process with the old flags: it is %s", got.State)
	}
	if _, err := r.h.CancelQueued(t.Context(), r.conv, next.ID); err != nil {
		t.Fatal(err)
	}
	r.until("the relaunch to be taken back", func() bool { return len(r.controls().Problems) == 0 })
	next = r.send("And now")
	// The agent's turn is not cut off for it; a person can end it.
	if s := r.controls().Session; s.Generation != 1 || s.State != host.SessionReady {
		t.Fatalf("the session while the agent works: %+v", s)
	}
	r.stop(host.StopOptions{})
	r.untilTurn(next.ID, host.TurnCompleted)
	if s := r.controls().Session; s.Generation != 2 || s.ProviderVersion != "0.153.4" {
		t.Fatalf("the message ran in %+v", s)
	}
}
