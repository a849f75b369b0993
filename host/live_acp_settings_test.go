package host_test

import (
	"slices"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab"
)

// The real adapters, as TestQ7 holds the scripted ones: in 0.49.0 another model has no
// effort, in 0.101.0 it lacks an option.
func TestLiveQ7_ARememberedChoiceThatAnotherModelOfClaudeLacksSendsNothingAndAnotherChoiceGoesOn(t *testing.T) {
	for _, c := range []struct {
		version, first, second string
		wish, instead          host.SettingsPatch
		code, field            string
	}{
		{"0.49.0", "sonnet", "haiku", host.SettingsPatch{Effort: ptr("high")}, host.SettingsPatch{Effort: ptr("")}, "unknown_effort", "effort"},
		{"0.101.0", "opus", "sonnet", host.SettingsPatch{Options: map[string]string{"fast": "on"}}, host.SettingsPatch{Options: map[string]string{"fast": ""}}, "unknown_option", "fast"},
	} {
		t.Run(c.version, func(t *testing.T) {
			lab.Require(t, "claude", c.version)
			t.Parallel()
			i := slices.IndexFunc(acpHarnesses, func(h acpHarness) bool { return h.id == "claude" && h.version == c.version })
			l := newLiveACP(t, acpHarnesses[i], t.TempDir(), on("First", says("One.")), on("Second", says("Two.")))
			c.wish.Model = &c.first
			l.configure(c.wish)
			l.untilTurn(l.send("First").ID, host.TurnCompleted)
			if o := l.controls().Observed; o == nil || o.Model != c.first || c.wish.Effort != nil && o.Effort != *c.wish.Effort {
				t.Fatalf("in force: %+v", o)
			}
			l.configure(host.SettingsPatch{Model: &c.second})
			turn := l.send("Second")
			got := l.untilTurn(turn.ID, host.TurnNotSent)
			told := func(p abi.Problem) bool { return p.Field == c.field && p.Needs == abi.NeedsChoice }
			if problems := l.controls().Problems; got.Code != c.code || !slices.ContainsFunc(problems, told) {
				t.Errorf("the turn %+v, problems %+v", got, problems)
			}
			if n := len(l.asked("Second")); n != 0 {
				t.Errorf("the model was asked %d times under a wrong mix (rule 3)", n)
			}
			l.configure(c.instead)
			next, err := l.h.Retry(t.Context(), l.conv, turn.ID, host.RetryRequest{})
			if err != nil {
				t.Fatal(err)
			}
			l.untilTurn(next.ID, host.TurnCompleted)
			after := l.controls()
			if after.Observed == nil || after.Observed.Model != c.second || slices.ContainsFunc(after.Problems, told) {
				t.Errorf("in force %+v, problems %+v", after.Observed, after.Problems)
			}
			if len(l.model.Remaining()) != 0 {
				t.Errorf("the model was not asked for %v", l.model.Remaining())
			}
		})
	}
}
