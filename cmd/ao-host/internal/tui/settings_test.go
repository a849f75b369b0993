package tui_test

import (
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func catalog() *abi.Catalog {
	return &abi.Catalog{
		Modes: []abi.ModeChoice{
			{ID: "plan", Name: "Plan", Description: "Plans first", Meaning: abi.MeaningPlanning, EnforcedBy: abi.EnforcedByNobody},
			{ID: "default", Meaning: abi.MeaningExecution, EnforcedBy: abi.EnforcedByHarness}, {ID: "odd", Name: "Odd one"},
		},
		Permissions: []abi.PermissionChoice{
			{Permission: abi.PermissionDefault, Support: abi.SupportNative, Native: "asks"}, {Permission: abi.PermissionAuto, Support: abi.SupportStandIn, Dormant: true},
			{Permission: abi.PermissionBypass, Support: abi.SupportRelaunch}, {Permission: abi.PermissionAcceptEdits, Support: abi.SupportNone},
		},
		Models: []abi.ModelChoice{
			{ID: "small", Default: true, DefaultEffort: "low", Efforts: []abi.Choice{{ID: "low"}, {ID: "high", Description: "slower"}}},
			{ID: "big", Name: "The big one", Efforts: []abi.Choice{{ID: "max"}}}, {ID: "secret", Hidden: true},
		},
		Options: []abi.OptionChoice{{ID: "web", Name: "Web search", Boolean: true, Current: "false", Applies: abi.AppliesNextTurn}},
	}
}

func withCatalog(t *testing.T) *rig {
	t.Helper()
	r := sit(t, nil)
	r.h.shape = func(c *host.Controls) {
		c.CatalogState, c.Catalog = host.CatalogRead, catalog()
		c.Observed = &abi.Observed{Mode: "default", Model: "small"}
		c.Running = &host.RunningTurn{Turn: "turn-2", State: host.TurnRunning, Settings: abi.Settings{Mode: "plan", Permission: abi.PermissionDefault}}
		c.Problems = []abi.Problem{{Code: string(host.CodeUnknownModel), Field: "model", Message: "huge"}}
	}
	r.send("Go")
	return r
}

func TestRule04_TheSettingsTellWhatIsRememberedRunningAndObserved(t *testing.T) {
	r := withCatalog(t)
	golden(t, "running-differs-120x40", r.Screen(120, 40))
	r.Press("f2")
	golden(t, "settings-80x24", r.Screen(80, 24))
	golden(t, "settings-40x24", r.Screen(40, 24))
	r.sees("permission: the running turn has default", "mode: the harness reports default",
		"Mode plan: the agent is only told; nobody holds it to it.", "huge")
}

func TestRule25_EachModeSaysWhoHoldsTheAgentToIt(t *testing.T) {
	r := withCatalog(t)
	r.Press("f2", "1", "enter")
	golden(t, "modes-80x24", r.Screen(80, 24))
	r.Press("3", "enter")
	r.wantCalls(`ConfigureNextTurn 1 {"mode":"default"}`)
	r.sees("1 mode: default", "next: mode default")
}

func TestTheEffortsAreThoseOfTheModel(t *testing.T) {
	r := withCatalog(t)
	r.Press("f2", "3", "enter")
	r.sees("small – the default", "big (The big one)")
	r.seesNot("secret")
	r.Press("3", "enter", "4", "enter")
	r.sees("max")
	r.seesNot("high")
	r.Press("2", "enter")
	r.wantCalls(`ConfigureNextTurn 1 {"model":"big"}`, `ConfigureNextTurn 2 {"effort":"max"}`)
	r.Press("2", "enter")
	golden(t, "permissions-80x24", r.Screen(80, 24))
	r.Press("3", "enter", "5", "enter", "2", "enter")
	r.wantCalls(`ConfigureNextTurn 1 {"model":"big"}`, `ConfigureNextTurn 2 {"effort":"max"}`, `ConfigureNextTurn 3 {"permission":"auto"}`, `ConfigureNextTurn 4 {"options":{"web":"true"}}`)
	r.Press("esc")
	r.sees(composing)
}

func TestRule09_WithoutACatalogAValueIsTypedOrTheHarnessIsAsked(t *testing.T) {
	r := sit(t, nil)
	r.Press("f2", "1", "enter")
	r.sees("What the harness offers is not known before it runs.")
	r.Press("2", "enter")
	r.Type("review")
	r.Press("enter")
	r.sees("1 mode: review")
	r.Press("5", "enter")
	if !cmpEqualTail(r.calls(), `ConfigureNextTurn 1 {"mode":"review"}`, "Probe conversation-1") {
		t.Errorf("calls %q", r.calls())
	}
}

func TestRule05_ASettingThatSomebodyElseChangedIsNotOverwritten(t *testing.T) {
	r := sit(t, nil)
	r.f.Fail["ConfigureNextTurn"] = &host.Error{Code: host.CodeStaleRevision}
	r.Press("f2", "2", "enter", "4", "enter")
	r.sees("The settings were changed by someone else", "2 permission: auto")
}

func TestTheNextModeIsOneKeyAway(t *testing.T) {
	r := withCatalog(t)
	r.Press("shift+tab")
	r.wantCalls(`ConfigureNextTurn 1 {"mode":"default"}`)
}
