package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// echo answers every message in whatever mode.
const echo = `{"turns":[{"repeat":true,"steps":[{"say":"Done."}]}]}`

// slow keeps its first turn running until it is interrupted.
const slow = `{"turns":[
 {"when":{"turn":1},"steps":[{"say":"Working."},{"wait_interrupt":true}]},
 {"repeat":true,"steps":[{"say":"Done."}]}]}`

func TestRule06_PlanWithBypassRememberedIsSentAsPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionBypass)})
	turn := r.send("Plan it")
	r.untilTurn(turn.ID, host.TurnCompleted)
	c := r.controls()
	if c.Observed == nil || c.Observed.Mode != "plan" || c.Observed.Permission != abi.PermissionBypass {
		t.Fatalf("observed %+v, want plan with bypass-permissions, both in force", c.Observed)
	}
}

func TestRule02_AMessageQueuedInPlanStaysPlanAfterTheComposerSwitches(t *testing.T) {
	t.Parallel()
	r := newRig(t, slow)
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	queued := r.send("Plan the rest")
	r.configure(host.SettingsPatch{Mode: ptr("default"), Permission: ptr(abi.PermissionBypass)})
	if got := r.turn(queued.ID).Settings; got.Mode != "plan" || got.Permission != "" {
		t.Fatalf("frozen settings %+v", got)
	}
	if c := r.controls(); c.Running == nil || c.Running.Settings.Mode != "" {
		t.Fatalf("the running turn's snapshot changed: %+v (rule 1)", c.Running)
	}
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(first.ID, host.TurnInterrupted)
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(queued.ID, host.TurnCompleted)
	if o := r.controls().Observed; o == nil || o.Mode != "plan" {
		t.Fatalf("observed %+v, want plan", o)
	}
}

func TestRule02_ARetryTakesTheCurrentSettingsAndFreezesThose(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	first := r.send("Do it")
	r.untilTurn(first.ID, host.TurnCompleted)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	again, err := r.h.Retry(t.Context(), r.conv, first.ID, host.RetryRequest{ClientID: "again-1"})
	if err != nil {
		t.Fatal(err)
	}
	if again.RetryOf != first.ID || again.Settings.Mode != "plan" || again.Content[0].Text != "Do it" {
		t.Fatalf("retry %+v", again)
	}
	twice, err := r.h.Retry(t.Context(), r.conv, first.ID, host.RetryRequest{ClientID: "again-1"})
	if err != nil || twice.ID != again.ID {
		t.Fatalf("a repeated retry gave %v, %v", twice.ID, err)
	}
	r.untilTurn(again.ID, host.TurnCompleted)
}

func TestQ8_ARetryOfATurnThatUsedToolsIsRefusedUntilItIsMeant(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"run":{"command":"make deploy","approve":false}},{"say":"Deployed."}]},{"repeat":true,"steps":[{"say":"Nothing to do."}]}]}`)
	worked := r.send("Deploy it")
	r.untilTurn(worked.ID, host.TurnCompleted)
	talked := r.send("And now?")
	r.untilTurn(talked.ID, host.TurnCompleted)

	_, err := r.h.Retry(t.Context(), r.conv, worked.ID, host.RetryRequest{ClientID: "r"})
	wantCode(t, err, host.CodeRetryRepeatsWork)
	if !strings.Contains(err.Error(), "make deploy") {
		t.Fatalf("%q does not say what was done", err)
	}
	if turns := r.turns(); len(turns) != 2 {
		t.Fatalf("%d turns, the refused retry is one of them", len(turns))
	}
	again, err := r.h.Retry(t.Context(), r.conv, talked.ID, host.RetryRequest{})
	if err != nil {
		t.Fatalf("a turn that only talked: %v", err)
	}
	r.untilTurn(again.ID, host.TurnCompleted)
	// The refusal used up no id: the same request goes through once it is meant.
	meant, err := r.h.Retry(t.Context(), r.conv, worked.ID, host.RetryRequest{ClientID: "r", RepeatWork: true})
	if err != nil || meant.RetryOf != worked.ID {
		t.Fatalf("%+v, %v", meant, err)
	}
	r.untilTurn(meant.ID, host.TurnCompleted)
}

func TestControlsAreNotOlderThanAnEventThatWasRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	r.configure(host.SettingsPatch{Mode: ptr("no-such-mode")})
	bad := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.send("Go")
	for ev, err := range r.h.Events(ctx, r.conv, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type != host.EventTurn || !strings.Contains(string(ev.Body), `"not_sent"`) {
			continue
		}
		if c := r.controls(); len(c.Problems) == 0 || c.Running != nil {
			t.Fatalf("after the event of turn %d was read, the controls show %+v and %+v running", bad, c.Problems, c.Running)
		}
		if bad++; bad == 50 {
			break
		}
		r.send("Go")
	}
}

func TestSettingsPatchTellsOmittedFromReset(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	r.configure(host.SettingsPatch{Mode: ptr("plan"), Model: ptr("m1")})
	c := r.configure(host.SettingsPatch{Mode: ptr("")})
	if c.Settings.Mode != "" || c.Settings.Model != "m1" {
		t.Fatalf("settings %+v", c.Settings)
	}
}

func TestAStaleRevisionIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	old := r.controls().Revision
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	_, err := r.h.ConfigureNextTurn(t.Context(), r.conv, old, host.SettingsPatch{Mode: ptr("default")})
	wantCode(t, err, host.CodeStaleRevision)
	if got := r.controls().Settings.Mode; got != "plan" {
		t.Fatalf("mode %q after a refused change", got)
	}
}

func TestRule09_TheCatalogIsUnreadAtRestAndReadByAProbe(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	if c := r.controls(); c.CatalogState != host.CatalogUnread || c.Catalog != nil {
		t.Fatalf("at rest: %v", c.CatalogState)
	}
	// Saved unseen, because nobody can know yet.
	r.configure(host.SettingsPatch{Mode: ptr("no-such-mode")})
	c, err := r.h.Probe(t.Context(), r.conv)
	if err != nil {
		t.Fatal(err)
	}
	if c.CatalogState != host.CatalogRead || len(c.Catalog.Modes) == 0 || len(c.Catalog.Models) == 0 || len(c.Catalog.Permissions) != 4 {
		t.Fatalf("probed catalog %+v", c.Catalog)
	}
	for _, bad := range []struct {
		patch host.SettingsPatch
		code  host.Code
	}{
		{host.SettingsPatch{Mode: ptr("nope")}, host.CodeUnknownMode},
		{host.SettingsPatch{Model: ptr("nope")}, host.CodeUnknownModel},
		{host.SettingsPatch{Effort: ptr("nope")}, host.CodeUnknownEffort},
		{host.SettingsPatch{Permission: ptr(abi.Permission("nope"))}, host.CodeUnknownPermission},
		{host.SettingsPatch{Options: map[string]string{"nope": "x"}}, host.CodeUnknownOption},
	} {
		_, err := r.h.ConfigureNextTurn(t.Context(), r.conv, r.controls().Revision, bad.patch)
		wantCode(t, err, bad.code)
	}
	// The saved unknown mode is found out at dispatch: nothing is sent.
	turn := r.send("Go")
	got := r.untilTurn(turn.ID, host.TurnNotSent)
	c = r.controls()
	if got.Code == "" || len(c.Problems) == 0 || c.Problems[0].Field != "mode" {
		t.Fatalf("turn %+v, problems %+v", got, c.Problems)
	}
	r.configure(host.SettingsPatch{Mode: ptr("default")})
	next := r.send("Go")
	r.untilTurn(next.ID, host.TurnCompleted)
	if c := r.controls(); len(c.Problems) != 0 {
		t.Fatalf("the problem stays after another choice: %+v", c.Problems)
	}
}
