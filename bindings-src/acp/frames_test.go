package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

var allPermissions = []abi.Permission{abi.PermissionDefault, abi.PermissionAcceptEdits, abi.PermissionAuto, abi.PermissionBypass}

// What goes out for every mode and permission, from a new session and from one that
// was restored, with the other wishes in their order.
func TestRule03_OutboundFramesForEveryModeAndPermission(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		var b strings.Builder
		for _, from := range []string{"new", "restored"} {
			for _, mode := range []string{"", "plan", "default"} {
				for _, p := range allPermissions {
					for _, more := range []abi.Settings{{}, {Model: "m-2", Effort: "low", Options: []abi.OptionValue{{ID: "fast", Value: "on"}}}} {
						if more.Model != "" && a != claudeAgent {
							more.Effort, more.Options = "", nil
						}
						s := more
						s.Mode, s.Permission = mode, p
						fmt.Fprintf(&b, "## %s, mode %q, permission %s, model %q\n", from, mode, p, s.Model)
						r := a.ready(t)
						if from == "restored" {
							r = a.restored(t)
						}
						before := len(r.All)
						r.Submit("t1", s)
						if r.Waits("session/prompt") == nil {
							grant(t, r, a.clone())
						}
						b.WriteString(r.Sent(before))
					}
				}
			}
		}
		golden := filepath.Join("testdata", "golden", "frames-"+a.name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
			t.Errorf("(-golden +got, rewrite with -update):\n%s", diff)
		}
	})
}

// The table of what each harness has, as a person reads it.
func TestTheCatalogSaysHowEachPermissionIsPutInForce(t *testing.T) {
	want := map[string]map[abi.Permission]abi.Support{
		"claude": {abi.PermissionDefault: abi.SupportNative, abi.PermissionAcceptEdits: abi.SupportNative, abi.PermissionAuto: abi.SupportNative, abi.PermissionBypass: abi.SupportNative},
		"grok":   {abi.PermissionDefault: abi.SupportNative, abi.PermissionAcceptEdits: abi.SupportStandIn, abi.PermissionAuto: abi.SupportNone, abi.PermissionBypass: abi.SupportStandIn},
		"kimchi": {abi.PermissionDefault: abi.SupportNative, abi.PermissionAcceptEdits: abi.SupportStandIn, abi.PermissionAuto: abi.SupportNative, abi.PermissionBypass: abi.SupportNative},
	}
	eachAgent(t, func(t *testing.T, a *agent) {
		c := acptest.One(t, a.ready(t).All, acptest.Ready).Catalog
		got := map[abi.Permission]abi.Support{}
		for _, p := range c.Permissions {
			got[p.Permission] = p.Support
		}
		if diff := cmp.Diff(want[a.name], got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		meanings := map[abi.Meaning]abi.ModeChoice{}
		for _, m := range c.Modes {
			meanings[m.Meaning] = m
		}
		if m := meanings[abi.MeaningPlanning]; m.ID != "plan" || m.EnforcedBy != abi.EnforcedByHarness {
			t.Errorf("planning %+v", m)
		}
		if m := meanings[abi.MeaningExecution]; m.ID != "default" || m.Name == "" {
			t.Errorf("execution %+v", m)
		}
		if len(c.Models) != 2 && a != grokAgent || c.Models[0].ID != "m-1" || !c.Models[0].Default {
			t.Errorf("models %+v", c.Models)
		}
		// A mode that is a permission is not offered as a mode, any other one is.
		for _, m := range c.Modes {
			for _, native := range a.native {
				if m.ID == native && m.ID != "default" {
					t.Errorf("the permission %s is listed as a mode", m.ID)
				}
			}
		}
	})
	modes := acptest.One(t, claudeAgent.ready(t).All, acptest.Ready).Catalog.Modes
	if !hasMode(modes, "dontAsk") {
		t.Errorf("a mode without a meaning is not offered: %+v", modes)
	}
}

func hasMode(list []abi.ModeChoice, id string) bool {
	for _, m := range list {
		if m.ID == id {
			return true
		}
	}
	return false
}
