package host_test

import (
	"testing"

	"github.com/aoagents/ao-host/host"
)

func TestS4_ASettingThatIsResetAfterARestartIsTheAgentsOwnAgain(t *testing.T) {
	t.Parallel()
	eachACPAgent(t, func(t *testing.T, a actor) {
		m := a.models()
		if m[0] == m[1] {
			return // it has one model
		}
		r := newACPRig(t, a, `{"behaviour":{"keeps":["*"]},"turns":[{"repeat":true,"steps":[{"say":"With {{model}}."}]}]}`)
		if _, err := r.h.Probe(t.Context(), r.conv); err != nil {
			t.Fatal(err)
		}
		r.until("the model", func() bool { return r.controls().Observed != nil })
		own := r.controls().Observed.Model
		other := m[0]
		if other == own {
			other = m[1]
		}
		r.configure(host.SettingsPatch{Model: ptr(other)})
		r.untilTurn(r.send("one").ID, host.TurnCompleted)
		// Also when the same was not reset at once, and what was set before is remembered.
		for range 2 {
			r.restart()
			r.untilTurn(r.send("two").ID, host.TurnCompleted)
			if got := r.controls().Observed.Model; got != other {
				t.Errorf("the model %q, want %q", got, other)
			}
		}
		r.restart()
		r.configure(host.SettingsPatch{Model: ptr("")})
		r.untilTurn(r.send("three").ID, host.TurnCompleted)
		if got := r.controls().Observed.Model; got != own {
			t.Errorf("the model %q after a reset, want the agent's own %q; problems %+v", got, own, r.controls().Problems)
		}
	})
}
