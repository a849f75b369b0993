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

// claudeIn is the update of Claude's options in a mode.
func claudeIn(t *testing.T, mode string) string {
	t.Helper()
	return optionsUpdate(t, withOption(t, claudeAgent.session, "mode", mode))
}

// raised is a restored Claude whose review was raised again and decided.
func raised(t *testing.T, decision string) (*acptest.Rig, []abi.Effect) {
	t.Helper()
	r := claudeAgent.restored(t)
	r.Notify("session/update", toolCall("c0", "execute", "in_progress"))
	_, effects := r.Ask("1", "session/request_permission", exitPlan("c1", `{"plan":"the plan"}`, "0.101.0"))
	return r, r.Approve(acptest.One(t, effects, acptest.Opened).Key, decision, abi.PermissionAcceptEdits)
}

func TestRule14_WhatAnAgentDoesAfterARestoredReviewIsATurnOfItsOwn(t *testing.T) {
	for _, decision := range []string{"exit-plan-default", "reject"} {
		t.Run(decision, func(t *testing.T) {
			r, effects := raised(t, decision)
			if s := acptest.One(t, effects, acptest.Started); s.Turn != "" {
				t.Errorf("started %+v", s)
			}
			acptest.One(t, effects, acptest.Reply)
			acptest.One(t, r.Notify("session/update", chunk("I go on.")), acptest.Delta)
			if items := acptest.Only(r.Notify("session/update", toolCall("c9", "execute", "pending")), acptest.Item); len(items) != 2 || items[1].ID != "c9" {
				t.Errorf("items %+v", items)
			}
			_, effects = r.Ask("2", "session/request_permission", permission("c9", "execute"))
			if x := acptest.One(t, effects, acptest.Opened); x.Scope != abi.ScopeTurn || x.Turn != "" {
				t.Errorf("interaction %+v", x)
			}
			if n := acptest.One(t, r.Stop(""), acptest.Note); n.Method != "session/cancel" {
				t.Errorf("the stop sent %s", n.Method)
			}
		})
	}
}

func TestRule18_AfterARestoredReviewThePermissionIsRestored(t *testing.T) {
	r, _ := raised(t, "exit-plan-default")
	c := acptest.One(t, r.Notify("session/update", claudeIn(t, "default")), acptest.Call)
	if member(t, c.Params, "value") != "acceptEdits" {
		t.Errorf("call %s", c.Params)
	}
	// A message sets its own tuple, so what the review left to do is dropped.
	r, _ = raised(t, "exit-plan-default")
	c = acptest.One(t, r.Submit("t1", abi.Settings{Permission: abi.PermissionAuto}), acptest.Call)
	if member(t, c.Params, "value") != "auto" {
		t.Errorf("call %s", c.Params)
	}
	acptest.None(t, r.Notify("session/update", claudeIn(t, "auto")), acptest.Call)
	r.Result("session/set_config_option", claudeAgent.session)
	acptest.None(t, r.Notify("session/update", claudeIn(t, "default")), acptest.Call)
}

func TestRule18_AfterARestoredReviewTheHostStandsInForThePermission(t *testing.T) {
	r := grokAgent.restored(t)
	_, effects := r.Ask("1", "_x.ai/exit_plan_mode", `{"sessionId":"s-1","toolCallId":"c1","planContent":"the plan"}`)
	x := acptest.One(t, effects, acptest.Opened)
	for _, d := range x.Decisions {
		if d.Kind == abi.AllowOnce {
			r.Approve(x.Key, d.ID, abi.PermissionBypass)
		}
	}
	r.Notify("session/update", modeUpdate("default"))
	o := acptest.Only(r.All, acptest.Observed)
	if last := o[len(o)-1]; last.Permission != abi.PermissionBypass {
		t.Errorf("observed %+v", last)
	}
	acptest.None(t, r.Timer("quiet"), acptest.Ended)
	effects = r.Timer("quiet")
	acptest.One(t, effects, acptest.Ended)
	if o := acptest.One(t, effects, acptest.Observed); o.Permission == abi.PermissionBypass {
		t.Errorf("observed after its turn %+v", o)
	}
}

// A silent agent that waits for a person or for a command has not ended what was
// approved: its next request would be declined as one that nobody asked for.
func TestRule14_WhatWasApprovedGoesOnWhileTheAgentWaits(t *testing.T) {
	silent := func(t *testing.T, r *acptest.Rig) {
		t.Helper()
		for range 3 {
			acptest.None(t, r.Timer("quiet"), acptest.Ended)
		}
	}
	r, _ := raised(t, "exit-plan-default")
	r.Notify("session/update", toolCall("c9", "execute", "pending"))
	_, effects := r.Ask("2", "session/request_permission", permission("c9", "execute"))
	silent(t, r)
	r.Answer(acptest.One(t, effects, acptest.Opened).Key, abi.Reply{Decision: "yes"})
	silent(t, r)
	r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c9","status":"completed"}`))
	r.Timer("quiet")
	// The call that the history left open does not count.
	acptest.One(t, r.Timer("quiet"), acptest.Ended)
	acptest.One(t, r.Notify("session/update", chunk("By myself.")), acptest.Started)
	r.Notify("session/update", toolCall("c10", "execute", "pending"))
	r.Timer("quiet")
	acptest.One(t, r.Timer("quiet"), acptest.Ended)
}
