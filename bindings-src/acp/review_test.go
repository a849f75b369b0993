package acp_test

import (
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/acp"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

// bookish is a dialect with one axis for mode and permission and reviews whose approval
// names no permission.
var bookish = acp.Dialect{
	Title: "Agent",
	Modes: acp.Modes{
		Option: "mode", Planning: "plan", EnforcedBy: abi.EnforcedByHarness, Execution: abi.ModeChoice{ID: "default"},
		Permissions: []acp.Permission{
			{Permission: abi.PermissionDefault, Support: abi.SupportNative, Mode: "default"},
			{Permission: abi.PermissionAcceptEdits, Support: abi.SupportNative, Mode: "edits"},
			{Permission: abi.PermissionBypass, Support: abi.SupportNative, Mode: "yolo"},
		},
	},
	Review: func(t *acp.ToolCall, options []acp.Option) (list []abi.Decision, ok bool) {
		for _, o := range options {
			list = append(list, abi.Decision{ID: o.ID, Label: o.Name, Kind: abi.DecisionKind(o.Kind)})
		}
		return list, t.Kind == acp.EnumToolKindSwitchMode
	},
}

const (
	legacyModes = `{"sessionId":"s-1","modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"Ask"},{"id":"edits","name":"Edits"},{"id":"plan","name":"Plan"}]}}`
	askReview   = `{"sessionId":"s-1","toolCall":{"toolCallId":"x","kind":"switch_mode","title":"Go?","rawInput":{"plan":"# Plan"}},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`
)

func TestRule18_AfterAReviewThePermissionIsRestoredByTheOlderSetterToo(t *testing.T) {
	for _, c := range []struct {
		name       string
		permission abi.Permission
		// want is the mode that is set after the approval; "" where there is none to set.
		want string
	}{
		{"one that the agent has", abi.PermissionAcceptEdits, "edits"},
		{"the one that the agent chose itself", abi.PermissionDefault, ""},
		{"one that the agent does not have", abi.PermissionBypass, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := plain(`{"protocolVersion":1,`+capabilities+`}`, legacyModes)
			a.new = func() guest.Reducer { return acp.New(bookish) }
			r := a.ready(t)
			r.Submit("t1", abi.Settings{Mode: "plan", Permission: c.permission})
			r.Result("session/set_mode", "{}")
			_, effects := r.Ask("1", "session/request_permission", askReview)
			x := acptest.One(t, effects, acptest.Opened)
			acptest.None(t, r.Approve(x.Key, "yes", c.permission), acptest.Call)
			effects = r.Notify("session/update", modeUpdate("default"))
			if c.want == "" {
				acptest.None(t, effects, acptest.Call)
				return
			}
			if call := acptest.One(t, effects, acptest.Call); call.Method != "session/set_mode" || string(call.Params) != `{"sessionId":"s-1","modeId":"`+c.want+`"}` {
				t.Fatalf("call %s %s", call.Method, call.Params)
			}
			if p := acptest.One(t, r.Result("session/set_mode", "{}"), acptest.Problem); p.Code != "permission_differs" || !p.Resolved {
				t.Errorf("problem %+v", p)
			}
			o := acptest.Only(r.All, acptest.Observed)
			if last := o[len(o)-1]; last.Permission != c.permission {
				t.Errorf("observed %+v", last)
			}
		})
	}
}
