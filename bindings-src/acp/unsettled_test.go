package acp_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

// lost is a Claude that did not answer the setter of an option, a model or an effort.
func lost(t *testing.T, s abi.Settings, id string, err abi.CallError) *acptest.Rig {
	t.Helper()
	r, a := claudeAgent.ready(t), claudeAgent.clone()
	s.Permission = abi.PermissionAuto
	r.Submit("t1", s)
	for range 5 {
		p := r.Waits("session/set_config_option").Params
		set := member(t, p, "configId")
		if set == id {
			r.Fail("session/set_config_option", err)
			return r
		}
		a.session = withOption(t, a.session, set, member(t, p, "value"))
		r.Result("session/set_config_option", a.session)
	}
	t.Fatalf("no setter of %s:\n%s", id, r.Log)
	return nil
}

var unanswered = abi.CallError{Local: "timeout", Message: "late"}

func TestP7_ASettingWhoseSetterHadNoAnswerMayBeInForce(t *testing.T) {
	fast := func(value string) abi.Settings {
		return abi.Settings{Options: []abi.OptionValue{{ID: "fast", Value: value}}}
	}
	for _, c := range []struct {
		name, id   string
		wish, next abi.Settings
		want       string
	}{
		{"an option set back", "fast", fast("on"), fast("off"), "off"},
		{"an option wished no more", "fast", fast("on"), abi.Settings{}, "off"},
		{"a model wished no more", "model", abi.Settings{Model: "m-2"}, abi.Settings{}, "m-1"},
		{"an effort wished no more", "effort", abi.Settings{Effort: "high"}, abi.Settings{}, "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := lost(t, c.wish, c.id, unanswered)
			before := len(r.All)
			c.next.Permission = abi.PermissionAuto
			r.Submit("t2", c.next)
			grant(t, r, claudeAgent.clone())
			if sent := r.Sent(before); strings.Count(sent, `"configId":"`+c.id+`","value":"`+c.want+`"`) != 1 {
				t.Errorf("sent\n%s", sent)
			}
			// Once is enough.
			r.Result("session/prompt", endTurn)
			before = len(r.All)
			r.Submit("t3", c.next)
			if sent := r.Sent(before); strings.Contains(sent, "set_config_option") {
				t.Errorf("set again\n%s", sent)
			}
		})
	}
}

func TestP7_ASettingThatWasRefusedIsNotPutBackUnasked(t *testing.T) {
	r := lost(t, abi.Settings{Model: "m-2"}, "model", abi.CallError{Code: -32602, Message: "no"})
	before := len(r.All)
	r.Submit("t2", abi.Settings{Permission: abi.PermissionAuto})
	if sent := r.Sent(before); strings.Contains(sent, "set_config_option") {
		t.Errorf("sent\n%s", sent)
	}
}

func TestRule25_AModelThatDiffersIsToldOfItsOwnTurnOnly(t *testing.T) {
	r := begin(t, claudeAgent, abi.Settings{Model: "m-2"})
	p := acptest.One(t, r.Notify("session/update", claudeIn(t, "default")), acptest.Problem)
	if p.Code != "model_differs" {
		t.Fatalf("problem %+v", p)
	}
	r.Result("session/prompt", endTurn)
	effects := r.Submit("t2", abi.Settings{})
	if p := acptest.One(t, effects, acptest.Problem); p.Code != "model_differs" || !p.Resolved {
		t.Errorf("problem %+v", p)
	}
}

func TestRule18_APermissionThatDiffersIsToldAgainAfterTheNextReview(t *testing.T) {
	for name, between := range map[string]string{"failed": "", "restored between": "yes"} {
		t.Run(name, func(t *testing.T) {
			r := claudeAgent.ready(t)
			review := func(turn string, refused bool) {
				t.Helper()
				r.Submit(turn, abi.Settings{Mode: "plan", Permission: abi.PermissionAcceptEdits})
				grant(t, r, claudeAgent.clone())
				_, effects := r.Ask("1", "session/request_permission", exitPlan("c-"+turn, `{"plan":"the plan"}`, "0.101.0"))
				r.Approve(acptest.One(t, effects, acptest.Opened).Key, "exit-plan-default", abi.PermissionAcceptEdits)
				r.Notify("session/update", claudeIn(t, "default"))
				if refused {
					effects = r.Fail("session/set_config_option", abi.CallError{Code: -32602, Message: "no"})
				} else {
					effects = r.Result("session/set_config_option", withOption(t, claudeAgent.session, "mode", "acceptEdits"))
				}
				if p := acptest.One(t, effects, acptest.Problem); p.Code != "permission_differs" || p.Resolved == refused {
					t.Errorf("%s: problem %+v", turn, p)
				}
				r.Result("session/prompt", endTurn)
			}
			review("t1", true)
			if between != "" {
				review("t2", false)
			}
			review("t3", true)
		})
	}
}
