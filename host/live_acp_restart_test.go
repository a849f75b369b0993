package host_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/model"
)

// runs is the model's call of a command.
func (a acpHarness) runs(id, command string) model.Step {
	tool := map[string]string{"claude": "Bash", "grok": "run_terminal_command"}[a.id]
	return calls(id, tool, fmt.Sprintf(`{"command":%q,"description":"write"}`, command))
}

func TestLiveACP_S4_AfterARestartTheSessionAndTheRememberedTupleAreBack(t *testing.T) {
	eachACP(t, func(t *testing.T, a acpHarness) {
		l := newLiveACP(t, a, t.TempDir(),
			on("First", says("Planned.")), on("Second", says("Still planning.")),
			on("Third", a.runs("toolu_1", "echo noted > notes.md")), after("toolu_1", says("Done.")))
		l.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionBypass)})
		first := l.send("First")
		l.untilTurn(first.ID, host.TurnCompleted)

		l.restart()
		second := l.send("Second")
		l.untilTurn(second.ID, host.TurnCompleted)
		if o := l.observedAfter(second.ID); o.Mode != "plan" {
			t.Errorf("in force after the restart: %+v", o)
		}
		// Grok wraps what a person wrote.
		r := slices.DeleteFunc(l.model.AgentRequests(), func(r model.Request) bool { return !strings.Contains(r.LastUser, "Second") })
		if len(r) != 1 || !strings.Contains(string(r[0].Body), "First") || !strings.Contains(string(r[0].Body), "Plan mode") {
			t.Errorf("%d requests; want one that has the first message and tells of the plan mode", len(r))
		}

		l.configure(host.SettingsPatch{Mode: ptr("default")})
		l.restart()
		third := l.send("Third")
		l.untilTurn(third.ID, host.TurnCompleted)
		if got := l.file("notes.md"); got != "noted\n" {
			t.Errorf("the file has %q", got)
		}
		for _, in := range l.untilClosed() {
			if in.Automatic == "" {
				t.Errorf("a person was asked: %+v (P4)", in.Ask)
			}
		}
	})
}
