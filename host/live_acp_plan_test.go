package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/model"
)

// The plans of the scripted model, the second with a model's JSON escapes.
const (
	acpPlan    = `# Plan\n1. Write notes.md`
	acpRevised = `# Plan\n1. Write notes.md\n2. Add a title`
)

// planningSteps are the model's side of question, plan and revised plan. The last
// one waits for the tool call after the approval.
func (a acpHarness) planningSteps() (steps []model.Step, approved string) {
	if a.id == "grok" {
		// The plan is a file whose place only Grok knows; feedback goes on in the same turn.
		edit := func(id, old, text string) model.Step {
			return model.Step{Capture: `(/[^" ]+/plan\.md)`, Reply: []model.Action{model.Call(id, "search_replace",
				`{"file_path":"{{captured}}","old_string":"`+old+`","new_string":"`+text+`"}`)}}
		}
		return []model.Step{
			on("Take notes", calls("call_ask", "ask_user_question", `{"questions":[{"question":"Which name?","multi_select":false,"options":[{"label":"notes.txt","description":"plain"},{"label":"notes.md","description":"markdown"}]}]}`)),
			after("call_ask", edit("call_write", "", acpPlan)), after("call_write", calls("call_exit", "exit_plan_mode", `{}`)),
			after("call_exit", edit("call_edit", "1. Write notes.md", `1. Write notes.md\n2. Add a title`)), after("call_edit", calls("call_exit2", "exit_plan_mode", `{}`)),
		}, "call_exit2"
	}
	return []model.Step{
		on("Take notes", calls("toolu_ask", "AskUserQuestion", `{"questions":[{"question":"Which name?","header":"Name","multiSelect":false,"options":[{"label":"notes.txt","description":"plain"},{"label":"notes.md","description":"markdown"}]}]}`)),
		after("toolu_ask", calls("toolu_plan", "ExitPlanMode", `{"plan":"`+acpPlan+`"}`)),
		on("Add a title", calls("toolu_plan2", "ExitPlanMode", `{"plan":"`+acpRevised+`"}`)),
		// After a rejection the older adapter asks the model on, until the cancel arrives.
		always(after("toolu_plan", says("What then?"))),
	}, "toolu_plan2"
}

// runs is the model's call of a command.
func (a acpHarness) runs(id, command string) model.Step {
	tool := map[string]string{"claude": "Bash", "grok": "run_terminal_command"}[a.id]
	return calls(id, tool, fmt.Sprintf(`{"command":%q,"description":"write"}`, command))
}

// writes is the model's call that makes a file. Claude wants an absolute path.
func (a acpHarness) writes(id, path, text string) model.Step {
	if a.id == "grok" {
		return calls(id, "search_replace", fmt.Sprintf(`{"file_path":%q,"old_string":"","new_string":%q}`, path, text))
	}
	return calls(id, "Write", fmt.Sprintf(`{"file_path":%q,"content":%q}`, path, text))
}

// acpPermission is what a remembered permission means for the two executions of the
// scenario: a command or a file, see edits.
type acpPermission struct {
	permission abi.Permission
	edits      bool
	// asks: a person is asked. Otherwise automatic tells whether the host answers for
	// them, or the harness asks nothing.
	asks, automatic bool
	// instead is what the harness has in place of it, with the reason as a problem.
	instead abi.Permission
}

func (a acpHarness) permissions() []acpPermission {
	if a.id == "grok" {
		return []acpPermission{
			{permission: abi.PermissionDefault, asks: true},
			{permission: abi.PermissionAcceptEdits, edits: true, automatic: true},
			{permission: abi.PermissionAuto, asks: true, instead: abi.PermissionDefault},
			{permission: abi.PermissionBypass, automatic: true},
		}
	}
	return []acpPermission{
		{permission: abi.PermissionDefault, asks: true},
		{permission: abi.PermissionAcceptEdits, edits: true},
		{permission: abi.PermissionAuto},
		{permission: abi.PermissionBypass},
	}
}

func TestLiveACP_PrimaryScenario(t *testing.T) {
	eachACP(t, func(t *testing.T, a acpHarness) {
		for _, c := range a.permissions() {
			t.Run(string(c.permission), func(t *testing.T) { primaryACP(t, a, c) })
		}
	})
}

// primaryACP plans with a question, asks for changes, implements, and sends one more
// message, to see that the remembered permission is in force for the rest of the
// planning turn and for the next one.
func primaryACP(t *testing.T, a acpHarness, c acpPermission) {
	cwd := filepath.Join(t.TempDir(), "pro ject's äß")
	if err := os.Mkdir(cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	execute := func(id, name string) model.Step {
		if c.edits {
			return a.writes(id, filepath.Join(cwd, name), "noted\n")
		}
		return a.runs(id, "echo noted > "+name)
	}
	steps, approved := a.planningSteps()
	first := execute("toolu_1", "notes.md")
	// The gate opens when the permission is in force: what the model does meanwhile is
	// not what this test is about.
	first.Reply = append([]model.Action{model.Wait("approved")}, first.Reply...)
	steps = append(steps, after(approved, first), after("toolu_1", says("Implemented.")),
		on("Once more", execute("toolu_2", "more.md")), after("toolu_2", says("Done.")))
	l := newLiveACP(t, a, cwd, steps...)

	l.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(c.permission)})
	planned := l.send("Take notes")
	card := l.untilInput()
	f := card.Ask.Fields
	if card.Ask.Type != abi.InteractionQuestion || len(f) != 1 || f[0].Text != "Which name?" || len(f[0].Options) != 2 || f[0].Options[1].Description != "markdown" {
		t.Fatalf("card %+v", card.Ask)
	}
	if o := l.controls().Observed; o == nil || o.Mode != "plan" {
		t.Fatalf("in force while planning: %+v (rule 6)", o)
	}
	if s := l.controls().Settings; s.Permission != c.permission {
		t.Fatalf("remembered while planning: %+v", s)
	}
	l.offers(c)
	l.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(f[0].ID, 1)}})

	plan := l.untilPlanText("# Plan\n1. Write notes.md")
	changes, err := l.h.RequestChanges(t.Context(), l.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision, Feedback: "Add a title"})
	if err != nil {
		t.Fatal(err)
	}
	revised := l.untilPlanText("# Plan\n1. Write notes.md\n2. Add a title")
	if revised.ID == plan.ID {
		t.Fatalf("the revised plan is the first one (P7): %+v", revised)
	}
	if o := l.controls().Observed; o == nil || o.Mode != "plan" {
		t.Fatalf("in force after changes were requested: %+v", o)
	}

	impl, err := l.h.ContinuePlan(t.Context(), l.conv, host.PlanDecision{Proposal: revised.ID, Revision: revised.Revision})
	if err != nil {
		t.Fatal(err)
	}
	if impl.ID != changes.ID {
		t.Errorf("the review was answered and turn %s was added (rule 18)", impl.ID)
	}
	want := c.permission
	if c.instead != "" {
		want = c.instead
	}
	l.until("the remembered permission to be in force", func() bool {
		o := l.controls().Observed
		return o != nil && o.Mode == "default" && (o.Permission == want || c.automatic)
	})
	l.model.Release("approved")
	l.mayAsk(c)
	l.untilTurn(impl.ID, host.TurnCompleted)
	if got := l.file("notes.md"); got != "noted\n" {
		t.Fatalf("the file has %q", got)
	}
	if s := l.controls().Settings; s.Mode != "default" || s.Permission != c.permission {
		t.Fatalf("remembered after implementing: %+v (rule 17)", s)
	}

	more := l.send("Once more")
	l.mayAsk(c)
	l.untilTurn(more.ID, host.TurnCompleted)
	if got := l.file("more.md"); got != "noted\n" {
		t.Fatalf("the second file has %q", got)
	}
	if a.id == "claude" {
		l.untilTurn(planned.ID, host.TurnInterrupted, host.TurnCompleted)
	}

	o := l.controls().Observed
	if o == nil || o.Mode != "default" || !c.automatic && o.Permission != want {
		t.Errorf("in force at the end: %+v, want %s", o, want)
	}
	told := slices.ContainsFunc(l.controls().Problems, func(p abi.Problem) bool { return p.Field == "permission" })
	if told != (c.instead != "") {
		t.Errorf("problems %+v (rule 25)", l.controls().Problems)
	}
	answer := l.model.AgentRequests()[1]
	if !strings.Contains(string(answer.Body), "notes.md") {
		t.Error("the answer did not reach the model")
	}
	if left := l.model.Remaining(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	var person, byHost int
	for _, in := range bodies[host.Interaction](l.rig, host.EventInteraction) {
		switch {
		case in.Ask.Type != abi.InteractionPermission || in.State != host.InteractionClosed:
		case in.Automatic != "":
			byHost++
		default:
			person++
		}
	}
	wantPerson, wantHost := 0, 0
	if c.asks {
		wantPerson = 2
	}
	if c.automatic {
		wantHost = 2
	}
	if person != wantPerson || byHost != wantHost {
		t.Errorf("permissions: %d answered by the person, %d by the host; want %d and %d", person, byHost, wantPerson, wantHost)
	}
	again, err := l.h.ContinuePlan(t.Context(), l.conv, host.PlanDecision{Proposal: revised.ID, Revision: revised.Revision})
	if err != nil || again.ID != impl.ID {
		t.Errorf("a repeated Implement gave %v, %v; want the first result (rule 17)", again.ID, err)
	}
}

// offers holds the live catalog to what the permission will turn out to be.
func (l *live) offers(c acpPermission) {
	l.t.Helper()
	catalog := l.controls().Catalog
	if catalog == nil {
		l.t.Fatal("there is no catalog while a turn runs")
	}
	if i := slices.IndexFunc(catalog.Modes, func(m abi.ModeChoice) bool { return m.ID == "plan" }); i < 0 || catalog.Modes[i].Meaning != abi.MeaningPlanning {
		l.t.Errorf("no mode is confirmed to be planning: %+v", catalog.Modes)
	}
	want := abi.SupportNative
	switch {
	case c.automatic:
		want = abi.SupportStandIn
	case c.instead != "":
		want = abi.SupportNone
	}
	if i := slices.IndexFunc(catalog.Permissions, func(p abi.PermissionChoice) bool { return p.Permission == c.permission }); i < 0 || catalog.Permissions[i].Support != want {
		l.t.Errorf("the permission %s is not offered as %s: %+v (P10)", c.permission, want, catalog.Permissions)
	}
}

// mayAsk answers the permission request of an execution where a person is asked.
func (l *live) mayAsk(c acpPermission) {
	l.t.Helper()
	if !c.asks {
		return
	}
	card := l.untilInput()
	if card.Ask.Type != abi.InteractionPermission {
		l.t.Fatalf("card %+v", card.Ask)
	}
	if !strings.Contains(card.Ask.Command, "echo noted > ") {
		l.t.Errorf("the card does not show the command (C8): %+v", card.Ask)
	}
	i := slices.IndexFunc(card.Ask.Decisions, func(d abi.Decision) bool { return d.Kind == abi.AllowOnce })
	if i < 0 {
		l.t.Fatalf("nothing allows once: %+v", card.Ask.Decisions)
	}
	l.answer(card.ID, host.Answer{Decision: card.Ask.Decisions[i].ID})
}

// untilPlanText waits for an open plan with a text; it can come after the review (seen).
func (l *live) untilPlanText(text string) host.Proposal {
	l.t.Helper()
	var p host.Proposal
	l.until("the plan "+text, func() bool {
		p = l.untilPlan()
		return strings.TrimSpace(p.Text) == text
	})
	return p
}
