package host_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func TestRule05_P8_P9_AModeThatFlipsByItselfIsToldAndNeverOverwritesTheChoice(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"settings":{"mode":"default","effort":"low"}},{"say":"Flipped."},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	before := r.configure(host.SettingsPatch{Mode: ptr("plan")})
	turn := r.send("Plan")
	r.until("the difference to be told", func() bool {
		for _, p := range r.controls().Problems {
			if p.Code == string(host.CodeNotInForce) && p.Field == "mode" && strings.Contains(p.Message, `"plan"`) && strings.Contains(p.Message, `"default"`) {
				return true
			}
		}
		return false
	})
	c := r.controls()
	if c.Settings.Mode != "plan" || c.Revision != before.Revision {
		t.Fatalf("remembered %+v at revision %d: a notification changed the user's choice", c.Settings, c.Revision)
	}
	if c.Observed == nil || c.Observed.Mode != "default" || c.Running == nil || c.Running.Settings.Mode != "plan" {
		t.Fatalf("observed %+v, running %+v: desired and observed must stay apart (rule 4)", c.Observed, c.Running)
	}
	r.stop(host.StopOptions{Turn: turn.ID})
	r.untilTurn(turn.ID, host.TurnInterrupted)
	// P3, P7: the next plan turn has its guard.
	next := r.send("Plan again")
	r.untilTurn(next.ID, host.TurnCompleted)
	c = r.controls()
	if c.Observed.Mode != "plan" || len(c.Problems) != 0 {
		t.Fatalf("observed %+v, problems %+v", c.Observed, c.Problems)
	}
}

func TestRule25_P8_DefaultNeverMeansTheFullAccessOfTheLastTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"say":"ok"}]}]}`)
	r.configure(host.SettingsPatch{Permission: ptr(abi.PermissionBypass)})
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	// After the restart Codex does not tell what is configured.
	r.script(`{"methods":{"thread/start":[{"times":1,"error":{"code":-32603,"message":"busy"}}]},"turns":[{"repeat":true,"steps":[{"say":"ok"}]}]}`)
	r.restart()
	r.configure(host.SettingsPatch{Permission: ptr(abi.PermissionDefault)})
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	c := r.controls()
	for _, p := range c.Catalog.Permissions {
		if p.Permission == abi.PermissionDefault && p.Native != "approvals on-request, reviewed by user, sandbox readOnly" {
			t.Errorf("the permission default means %s", p.Native)
		}
	}
	if c.Observed.Permission != abi.PermissionDefault || len(r.warnings("baseline_unavailable")) != 1 {
		t.Errorf("observed %+v, warnings %q", c.Observed, r.warnings("baseline_unavailable"))
	}
}

func TestRule01_SavingSettingsChangesNothingOfTheRunningTurnOrItsQuestions(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoQuestions)
	r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionAcceptEdits)})
	turn := r.send("Ask")
	card := r.untilInput()
	r.configure(host.SettingsPatch{Mode: ptr("default"), Permission: ptr(abi.PermissionBypass)})
	if in := r.untilInput(); in.ID != card.ID || in.State != host.InteractionOpen {
		t.Fatalf("the card changed: %+v", in)
	}
	if got := r.controls().Running; got == nil || got.Settings.Mode != "plan" || got.Settings.Permission != abi.PermissionAcceptEdits {
		t.Fatalf("running %+v", got)
	}
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0), answered("b", 0)}})
	end := r.untilTurn(turn.ID, host.TurnCompleted)
	if end.Settings.Mode != "plan" || r.controls().Observed.Mode != "plan" {
		t.Fatalf("the turn ran with %+v", end.Settings)
	}
}

func TestRule25_TheControlsSayWhoEnforcesEachModeAndWhatEachPermissionIs(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	c, err := r.h.Probe(t.Context(), r.conv)
	if err != nil {
		t.Fatal(err)
	}
	planning := 0
	for _, m := range c.Catalog.Modes {
		if m.Meaning == abi.MeaningPlanning {
			planning++
			if m.EnforcedBy == "" {
				t.Errorf("nobody says who enforces %q", m.ID)
			}
		}
		if strings.Contains(strings.ToLower(m.Description), "sandbox") {
			t.Errorf("%q is described as a sandbox: %q", m.ID, m.Description)
		}
	}
	if planning != 1 {
		t.Fatalf("%d planning modes among %+v", planning, c.Catalog.Modes)
	}
	for _, p := range c.Catalog.Permissions {
		if p.Support == "" || p.Native == "" {
			t.Errorf("permission %q does not say what it is here: %+v", p.Permission, p)
		}
	}
}

func TestP1_P2_APlanLeftOpenBlocksNothingAndCanBeImplementedAfterARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[
	 {"when":{"mode":"plan","plan":false},"steps":[{"plan":"# Plan\n1. Write it\n"}]},
	 {"when":{"text":"aside"},"steps":[{"say":"An aside."}]},
	 {"when":{"mode":"default"},"steps":[{"write_file":{"path":"out.txt","text":"done"}},{"say":"Implemented."}]}]}`)
	r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionAcceptEdits)})
	turn := r.send("Plan")
	r.untilTurn(turn.ID, host.TurnCompleted)
	plan := r.untilPlan()
	if c := r.controls(); c.ContinueMode != "" {
		t.Fatalf("continue mode %q is offered although there is a plan to decide on", c.ContinueMode)
	}
	// P1: nobody has to decide for the conversation to go on.
	aside := r.send("aside")
	r.untilTurn(aside.ID, host.TurnCompleted)
	r.restart()
	if again := r.untilPlan(); again.ID != plan.ID || again.Text != plan.Text {
		t.Fatalf("after the restart the plan is %+v", again)
	}
	impl, err := r.h.ContinuePlan(t.Context(), r.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision})
	if err != nil {
		t.Fatal(err)
	}
	r.untilTurn(impl.ID, host.TurnCompleted)
	c := r.controls()
	if c.Settings.Mode != "default" || c.Observed.Mode != "default" || c.Observed.Permission != abi.PermissionAcceptEdits {
		t.Fatalf("after implementing: remembered %+v, observed %+v (P3, P4)", c.Settings, c.Observed)
	}
	// P5: the change of mode was told.
	told := false
	for _, e := range bodies[host.SettingsEvent](r, host.EventSettings) {
		told = told || e.Cause == "implement" && e.Settings.Mode == "default"
	}
	if !told {
		t.Fatal("the change of the remembered mode is not in the journal")
	}
}

func TestRule18_P2_APlanningTurnWithoutAPlanOffersToContinueInExecution(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	turn := r.send("I would do it like this. Approved? Yes!")
	r.untilTurn(turn.ID, host.TurnCompleted)
	c := r.controls()
	if c.ContinueMode != "default" {
		t.Fatalf("continue mode %q, want default", c.ContinueMode)
	}
	if c.Settings.Mode != "plan" {
		t.Fatalf("prose was read as approval: mode %q", c.Settings.Mode)
	}
	r.restart()
	if c, err := r.h.Probe(t.Context(), r.conv); err != nil || c.ContinueMode != "default" {
		t.Fatalf("after a restart the continue mode is %q, %v", c.ContinueMode, err)
	}
	r.configure(host.SettingsPatch{Mode: ptr(c.ContinueMode)})
	if c := r.controls(); c.ContinueMode != "" {
		t.Fatalf("continue mode %q is offered in execution", c.ContinueMode)
	}
}
