package host_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
	"github.com/aoagents/ao-host/lab/scenario"
)

// livePlayedUnder are the permissions that a scenario is played under on the real
// harnesses, each of which takes its time. What happens after a restart is held by
// TestLiveACP_S4 and TestLiveRestore.
var livePlayedUnder = map[string][]abi.Permission{
	"primary":          playedUnder["primary"],
	"back-to-plan":     playedUnder["back-to-plan"],
	"steer":            {abi.PermissionDefault},
	"stop-in-question": {abi.PermissionDefault},
	"stop-in-review":   {abi.PermissionBypass},
}

// The scenarios of the scripted agents, on the real ones: what is seen of a harness has
// to be what was seen of the agent that plays it.
func TestLiveScenarios_EveryRealHarnessPassesThemAsItsScriptedOneDoes(t *testing.T) {
	golden := goldenSupport(t)
	for _, a := range actors {
		if a.live == "" {
			continue
		}
		t.Run(a.title, func(t *testing.T) {
			lab.Require(t, a.harness, a.live)
			t.Parallel()
			seen := &support{}
			for _, s := range scenario.All() {
				for _, p := range livePlayedUnder[s.Name] {
					t.Run(s.Name+" "+string(p), func(t *testing.T) {
						l := a.liveStage(t, s, p)
						perform(l.rig, a, s, p, l.model.Release, seen)
						l.heard(s)
					})
				}
			}
			if !t.Failed() {
				seen.alike(t, a, golden)
			}
		})
	}
}

// liveStage opens a host on the real harness, whose model plays the scenario.
func (a actor) liveStage(t *testing.T, s scenario.Scenario, p abi.Permission) *live {
	t.Helper()
	stage := scenario.Stage{Cwd: projectDir(t), Edits: edits(p)}
	script := s.Model(a.harness, stage)
	if a.harness == "codex" {
		return newLive(t, a.live, liveOptions{}, script.Steps...)
	}
	i := slices.IndexFunc(acpHarnesses, func(h acpHarness) bool { return h.id == a.harness && h.version == a.live })
	return newLiveACP(t, acpHarnesses[i], stage.Cwd, script.Steps...)
}

// heard checks what reached the model.
func (l *live) heard(s scenario.Scenario) {
	l.t.Helper()
	if s.Name != "primary" {
		return
	}
	if left := l.model.Remaining(); len(left) != 0 {
		l.t.Errorf("the model was not asked for %v", left)
	}
	// The option that was chosen is named once more than the other one.
	requests := slices.DeleteFunc(l.model.AgentRequests(), func(r model.Request) bool { return len(r.Results) == 0 })
	if len(requests) == 0 || strings.Count(string(requests[0].Body), "notes.md") <= strings.Count(string(requests[0].Body), "notes.txt") {
		l.t.Error("the answer did not reach the model")
	}
}

// goldenSupport is what was seen of the scripted agents.
func goldenSupport(t *testing.T) []scenario.Support {
	t.Helper()
	b, err := os.ReadFile(supportFile)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := scenario.ReadSupport(b)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// alike holds what was seen of a real harness to its row. A run of some subtests saw
// only part of it.
func (s *support) alike(t *testing.T, a actor, golden []scenario.Support) {
	t.Helper()
	i := slices.IndexFunc(golden, func(f scenario.Support) bool { return f.Title == a.title })
	want, got := golden[i], *s.rows[a.title]
	want.Passed, got.Passed = nil, nil
	for _, member := range []struct{ is, want *string }{{&got.Question, &want.Question}, {&got.Review, &want.Review}, {&got.Changes, &want.Changes}} {
		if partial() && *member.is == "" {
			*member.want = ""
		}
	}
	if partial() {
		for p := range want.Permissions {
			if got.Permissions[p] == "" {
				delete(want.Permissions, p)
			}
		}
	}
	x, y := asJSON(t, got), asJSON(t, want)
	if x != y {
		t.Errorf("seen of the real one\n%s\nand of the scripted one\n%s", x, y)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
