package acp_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

// submitRefused submits and expects that nothing was sent, for a field.
func submitRefused(t *testing.T, r *acptest.Rig, turn string, s abi.Settings, code, field string) {
	t.Helper()
	before := len(r.All)
	refused(t, r, r.Submit(turn, s), turn, code, field)
	if sent := r.Sent(before); sent != "" {
		t.Errorf("sent all the same:\n%s", sent)
	}
}

func refused(t *testing.T, r *acptest.Rig, effects []abi.Effect, turn, code, field string) {
	t.Helper()
	d := acptest.One(t, effects, acptest.Delivery)
	if d.Turn != turn || d.Status != abi.DeliveryNotSent || d.Code != code || d.Message == "" {
		t.Errorf("delivery %+v, want not_sent with %s", d, code)
	}
	found := false
	for _, p := range acptest.Only(effects, acptest.Problem) {
		found = found || p.Code == code && p.Field == field && p.Needs == abi.NeedsChoice && !p.Resolved
	}
	if !found {
		t.Errorf("no problem %s of the field %s in:\n%s", code, field, abi.AppendEffects(nil, effects))
	}
	if r.Waits("session/prompt") != nil {
		t.Error("the prompt was sent")
	}
}

func TestP3_LeavingPlanIsSaidExplicitly(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		a = a.clone()
		r := begin(t, a, abi.Settings{Mode: "plan"})
		if o := acptest.Only(r.All, acptest.Observed); o[len(o)-1].Mode != "plan" || o[len(o)-1].Permission != "" {
			t.Errorf("observed %+v", o[len(o)-1])
		}
		if a.setMode != "" {
			a.session = withOption(t, a.session, a.setMode, "plan")
		}
		r.Result("session/prompt", endTurn)
		before := len(r.All)
		r.Submit("t2", abi.Settings{Mode: "default", Permission: abi.PermissionDefault})
		grant(t, r, a)
		if sent := r.Sent(before); !strings.Contains(sent, `"default"}`) {
			t.Errorf("the mode was not left:\n%s", sent)
		}
	})
}

func TestRule06_ThePermissionIsDormantWhilePlanningAndBackAfterwards(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		for _, p := range allPermissions {
			a := a.clone()
			r := begin(t, a, abi.Settings{Mode: "plan", Permission: p})
			if a.setMode != "" {
				a.session = withOption(t, a.session, a.setMode, "plan")
			}
			r.Result("session/prompt", endTurn)
			r.Submit("t2", abi.Settings{Mode: "default", Permission: p})
			grant(t, r, a)
			o := acptest.Only(r.All, acptest.Observed)
			last := o[len(o)-1]
			want := p
			if a.name == "grok" && p == abi.PermissionAuto {
				want = abi.PermissionDefault
			}
			if last.Mode != "default" || last.Permission != want || last.Native != a.native[p] {
				t.Errorf("after planning with %s: observed %+v", p, last)
			}
		}
	})
}

func TestP9_AModeThatIsTakenAndNotAppliedSendsNoPrompt(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.ready(t)
		r.Submit("t1", abi.Settings{Mode: "plan"})
		method := "session/set_config_option"
		if a.setMode == "" {
			method = "session/set_mode"
		}
		effects := r.Result(method, "{}")
		acptest.One(t, effects, acptest.TimerSet)
		if r.Waits("session/prompt") != nil {
			t.Fatal("the prompt was sent on a claim")
		}
		refused(t, r, r.Timer("evidence"), "t1", "not_applied", "mode")
		// The next submission tries again, and goes on when the agent tells it.
		r.Submit("t2", abi.Settings{Mode: "plan"})
		grant(t, r, a.clone())
	})
}

func TestP9_AnOptionThatIsEchoedWithItsOldValueSendsNoPrompt(t *testing.T) {
	for _, a := range []*agent{claudeAgent, kimchiAgent} {
		r := a.ready(t)
		r.Submit("t1", abi.Settings{Mode: "plan"})
		r.Result("session/set_config_option", a.session)
		refused(t, r, r.Timer("evidence"), "t1", "not_applied", "mode")
	}
}

func TestP9_TheStateThatComesByNotificationIsTheEvidence(t *testing.T) {
	for _, a := range []*agent{claudeAgent, kimchiAgent} {
		r := a.ready(t)
		r.Submit("t1", abi.Settings{Mode: "plan"})
		r.Result("session/set_config_option", "{}")
		r.Notify("session/update", optionsUpdate(t, withOption(t, a.session, a.setMode, "plan")))
		if r.Waits("session/prompt") == nil {
			t.Errorf("%s: the prompt waits for nothing", a)
		}
		// A timer that fires late changes nothing.
		if e := r.Timer("evidence"); len(e) != 0 {
			t.Errorf("%s: %s", a, abi.AppendEffects(nil, e))
		}
	}
	r := grokAgent.ready(t)
	r.Submit("t1", abi.Settings{Mode: "plan"})
	// The update can come before the answer (seen).
	r.Notify("session/update", modeUpdate("plan"))
	r.Result("session/set_mode", "{}")
	if r.Waits("session/prompt") == nil {
		t.Error("grok: the prompt waits for nothing")
	}
}

func TestP9_AModelThatIsReplacedWhileTheTurnRunsIsReported(t *testing.T) {
	for _, a := range []*agent{claudeAgent, kimchiAgent} {
		b := a.clone()
		r := begin(t, b, abi.Settings{Mode: "plan", Model: "m-2"})
		p := acptest.One(t, r.Notify("session/update", optionsUpdate(t, withOption(t, withOption(t, a.session, "model", "m-1"), a.setMode, "plan"))), acptest.Problem)
		if p.Code != "model_differs" || p.Field != "model" || p.Resolved {
			t.Errorf("%s: problem %+v", a, p)
		}
		p = acptest.One(t, r.Notify("session/update", optionsUpdate(t, withOption(t, withOption(t, a.session, "model", "m-2"), a.setMode, "plan"))), acptest.Problem)
		if p.Code != "model_differs" || !p.Resolved {
			t.Errorf("%s: problem %+v", a, p)
		}
	}
}

func TestP10_AnAnswerNeverOverwritesANewerNotification(t *testing.T) {
	for _, a := range []*agent{claudeAgent, kimchiAgent} {
		r := a.ready(t)
		r.Submit("t1", abi.Settings{Model: "m-2", Mode: "plan"})
		// While the model is being set the agent tells another mode; the answer is an
		// older list.
		r.Notify("session/update", optionsUpdate(t, withOption(t, withOption(t, a.session, "model", "m-2"), a.setMode, "default")))
		effects := r.Result("session/set_config_option", withOption(t, a.session, "model", "m-2"))
		for _, o := range acptest.Only(effects, acptest.Observed) {
			if o.Native != "default" {
				t.Errorf("%s: the old list came back: %+v", a, o)
			}
		}
		if c := r.Waits("session/set_config_option"); c == nil || member(t, c.Params, "value") != "plan" {
			t.Errorf("%s: the mode is not set", a)
		}
	}
}

func TestP10_AModeToldSinceTheCallStaysWhenItsAnswerIsOlder(t *testing.T) {
	a := claudeAgent
	r := a.ready(t)
	r.Submit("t1", abi.Settings{Model: "m-2"})
	r.Notify("session/update", modeUpdate("acceptEdits"))
	r.Result("session/set_config_option", withOption(t, a.session, "model", "m-2"))
	o := acptest.Only(r.All, acptest.Observed)
	if last := o[len(o)-1]; last.Native != "acceptEdits" || last.Model != "m-2" {
		t.Errorf("observed %+v", last)
	}
}

func TestP7_AfterASetterTimedOutTheNextTurnSetsTheModeAgain(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.ready(t)
		r.Submit("t1", abi.Settings{Mode: "plan"})
		method := "session/set_config_option"
		if a.setMode == "" {
			method = "session/set_mode"
		}
		refused(t, r, r.Fail(method, abi.CallError{Local: "timeout"}), "t1", "setting_timeout", "mode")
		// The late effect of the call is told after it was given up on.
		if a.setMode != "" {
			r.Notify("session/update", optionsUpdate(t, withOption(t, a.session, a.setMode, "plan")))
		}
		before := len(r.All)
		r.Submit("t2", abi.Settings{Mode: "plan"})
		if sent := r.Sent(before); !strings.Contains(sent, "set_") {
			t.Errorf("the mode is believed:\n%s", sent)
		}
		grant(t, r, a.clone())
	})
}

func TestRule03_AFailureHalfWaySendsNoPromptAndSaysWhatIsInForce(t *testing.T) {
	a := claudeAgent
	r := a.ready(t)
	r.Submit("t1", abi.Settings{Model: "m-2", Effort: "high", Mode: "plan"})
	r.Result("session/set_config_option", withOption(t, a.session, "model", "m-2"))
	effects := r.Fail("session/set_config_option", abi.CallError{Code: -32603, Message: "Internal error", Data: abi.Raw(`{"details":"Unknown config option: effort"}`)})
	refused(t, r, effects, "t1", "setting_refused", "effort")
	if d := acptest.One(t, effects, acptest.Delivery); !strings.Contains(d.Message, "Unknown config option: effort") {
		t.Errorf("the reason is lost: %+v", d)
	}
	o := acptest.Only(r.All, acptest.Observed)
	if last := o[len(o)-1]; last.Model != "m-2" || last.Native != "auto" {
		t.Errorf("observed %+v", last)
	}
	if len(r.Calls) != 0 {
		t.Errorf("more was sent: %+v", r.Calls)
	}
	// Another choice goes on and takes the problem back.
	r.Submit("t2", abi.Settings{Model: "m-2", Mode: "plan"})
	grant(t, r, &agent{session: withOption(t, a.session, "model", "m-2")})
	resolved := false
	for _, p := range acptest.Only(r.All, acptest.Problem) {
		resolved = resolved || p.Code == "setting_refused" && p.Resolved
	}
	if !resolved {
		t.Error("the problem stays")
	}
}

func TestQ7_AnEffortThatTheNewModelLacksSendsNoPrompt(t *testing.T) {
	a := claudeAgent
	r := a.ready(t)
	r.Submit("t1", abi.Settings{Model: "m-2", Effort: "high"})
	gone := without(t, withOption(t, a.session, "model", "m-2"), "effort")
	effects := r.Result("session/set_config_option", gone)
	refused(t, r, effects, "t1", "unknown_effort", "effort")
	if c := acptest.One(t, effects, acptest.Catalog); len(c.Efforts) != 0 {
		t.Errorf("stale efforts: %+v", c.Efforts)
	}
	// Without the effort the same model works.
	r.Submit("t2", abi.Settings{Model: "m-2"})
	grant(t, r, &agent{session: gone})
}

func TestQ7_AModeThatTheNewModelLacksSendsNoPrompt(t *testing.T) {
	a := claudeAgent
	r := a.ready(t)
	r.Submit("t1", abi.Settings{Model: "m-2", Permission: abi.PermissionAuto})
	noAuto := strings.ReplaceAll(withOption(t, withOption(t, a.session, "model", "m-2"), "mode", "default"), `"value":"auto"`, `"value":"gone"`)
	effects := r.Result("session/set_config_option", noAuto)
	refused(t, r, effects, "t1", "permission_unavailable", "permission")
	c := acptest.One(t, effects, acptest.Catalog)
	for _, p := range c.Permissions {
		if p.Permission == abi.PermissionAuto && p.Support != abi.SupportNone {
			t.Errorf("the catalog still offers %+v", p)
		}
	}
}

func TestAWishThatIsNotOfferedSendsNothingAtAll(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.ready(t)
		submitRefused(t, r, "t1", abi.Settings{Mode: "nonsense"}, "unknown_mode", "mode")
		submitRefused(t, r, "t2", abi.Settings{Model: "nonsense"}, "unknown_model", "model")
		submitRefused(t, r, "t3", abi.Settings{Effort: "nonsense"}, "unknown_effort", "effort")
		submitRefused(t, r, "t4", abi.Settings{Permission: "nonsense"}, "unknown_permission", "permission")
		submitRefused(t, r, "t5", abi.Settings{Options: []abi.OptionValue{{ID: "nonsense", Value: "x"}}}, "unknown_option", "nonsense")
		// A mode that is a permission cannot be chosen past the permission.
		if a == claudeAgent {
			submitRefused(t, r, "t6", abi.Settings{Mode: "bypassPermissions"}, "unknown_mode", "mode")
		}
		r.Submit("t7", abi.Settings{Mode: "plan"})
		grant(t, r, a.clone())
	})
}

func TestKimchiSaysThatItHasNoEffort(t *testing.T) {
	r := kimchiAgent.ready(t)
	d := acptest.One(t, r.Submit("t1", abi.Settings{Effort: "high"}), acptest.Delivery)
	if !strings.Contains(d.Message, "no reasoning effort") {
		t.Errorf("delivery %+v", d)
	}
}

func TestGrokReportsThatItHasNoAutoAndRunsWithDefault(t *testing.T) {
	r := grokAgent.ready(t)
	effects := r.Submit("t1", abi.Settings{Permission: abi.PermissionAuto})
	if p := acptest.One(t, effects, acptest.Problem); p.Code != "permission_unavailable" || p.Field != "permission" || !strings.Contains(p.Message, "default") {
		t.Errorf("problem %+v", p)
	}
	if r.Waits("session/prompt") == nil {
		t.Fatal("the prompt was not sent")
	}
	r.Result("session/prompt", endTurn)
	// It is said once, and taken back when another permission is chosen.
	acptest.None(t, r.Submit("t2", abi.Settings{Permission: abi.PermissionAuto}), acptest.Problem)
	r.Result("session/prompt", endTurn)
	if p := acptest.One(t, r.Submit("t3", abi.Settings{Permission: abi.PermissionDefault}), acptest.Problem); !p.Resolved {
		t.Errorf("problem %+v", p)
	}
}

func TestAModeWithoutAMeaningStaysUsable(t *testing.T) {
	r := claudeAgent.ready(t)
	r.Submit("t1", abi.Settings{Mode: "dontAsk", Permission: abi.PermissionBypass})
	if c := r.Waits("session/set_config_option"); c == nil || member(t, c.Params, "value") != "dontAsk" {
		t.Fatalf("calls %+v", r.Calls)
	}
	grant(t, r, claudeAgent.clone())
	o := acptest.Only(r.All, acptest.Observed)
	if last := o[len(o)-1]; last.Mode != "dontAsk" || last.Permission != "" {
		t.Errorf("observed %+v", last)
	}
	r = grokAgent.ready(t)
	r.Submit("t1", abi.Settings{Mode: "ask"})
	grant(t, r, grokAgent.clone())
}

func TestRule05_AModeThatTheAgentChangesIsObservedAndNotKept(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{Mode: "plan"})
		r.Notify("session/update", chunk("x"))
		effects := r.Notify("session/update", modeUpdate("default"))
		if o := acptest.One(t, effects, acptest.Observed); o.Mode != "default" {
			t.Errorf("observed %+v", o)
		}
		r.Result("session/prompt", endTurn)
		b := a.clone()
		if b.setMode != "" {
			b.session = withOption(t, b.session, b.setMode, "default")
		}
		// The wish holds for the next turn all the same (P8).
		r.Submit("t2", abi.Settings{Mode: "plan"})
		if len(r.Calls) != 1 || r.Waits("session/prompt") != nil {
			t.Errorf("calls %+v", r.Calls)
		}
	})
}

// Rule 8: with config options offered the older API is not touched, without them it
// is used.
func TestRule08_ConfigOptionsExclusivelyLegacyOnlyWhereNothingElseIsOffered(t *testing.T) {
	const initialize = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`
	const legacy = `"modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":"b","name":"B"}]},"models":{"currentModelId":"m-1","availableModels":[{"modelId":"m-1","name":"One"},{"modelId":"m-2","name":"Two"}]}`
	const modern = `"configOptions":[{"id":"how","name":"How","category":"mode","type":"select","currentValue":"a","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]},{"id":"which","name":"Which","category":"model","type":"select","currentValue":"m-1","options":[{"value":"m-1","name":"One"},{"value":"m-2","name":"Two"}]}]`
	wish := abi.Settings{Mode: "b", Model: "m-2"}
	for _, c := range []struct {
		name, session string
		want          []string
	}{
		{"modern only", `{"sessionId":"s-1",` + modern + `}`, []string{"session/set_config_option", "session/set_config_option", "session/prompt"}},
		{"both", `{"sessionId":"s-1",` + legacy + `,` + modern + `}`, []string{"session/set_config_option", "session/set_config_option", "session/prompt"}},
		{"legacy only", `{"sessionId":"s-1",` + legacy + `}`, []string{"session/set_model", "session/set_mode", "session/prompt"}},
		{"legacy with empty options", `{"sessionId":"s-1",` + legacy + `,"configOptions":[]}`, []string{"session/set_model", "session/set_mode", "session/prompt"}},
		{"legacy with null options", `{"sessionId":"s-1",` + legacy + `,"configOptions":null}`, []string{"session/set_model", "session/set_mode", "session/prompt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := plain(initialize, c.session)
			r := acptest.NewRig(t, a.new)
			r.Open(nil)
			r.Result("initialize", a.initialize)
			r.Result("session/new", a.session)
			before := len(r.All)
			r.Submit("t1", wish)
			for r.Waits("session/prompt") == nil {
				switch {
				case r.Waits("session/set_config_option") != nil:
					p := r.Waits("session/set_config_option").Params
					a.session = withOption(t, a.session, member(t, p, "configId"), member(t, p, "value"))
					r.Result("session/set_config_option", a.session)
				case r.Waits("session/set_model") != nil:
					r.Result("session/set_model", "{}")
				case r.Waits("session/set_mode") != nil:
					r.Result("session/set_mode", "null")
				default:
					t.Fatalf("nothing waits:\n%s", r.Log)
				}
			}
			var got []string
			for _, x := range acptest.Only(r.All[before:], acptest.Call) {
				got = append(got, x.Method)
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("calls %q, want %q", got, c.want)
			}
			o := acptest.Only(r.All, acptest.Observed)
			if last := o[len(o)-1]; last.Mode != "b" || last.Model != "m-2" {
				t.Errorf("observed %+v", last)
			}
			// The second turn with the same wish sets nothing.
			r.Result("session/prompt", endTurn)
			r.Submit("t2", wish)
			if r.Waits("session/prompt") == nil {
				t.Errorf("calls %+v", r.Calls)
			}
		})
	}
}

func TestGroupedBooleanAndUnknownOptionsAreUsableAndHarmless(t *testing.T) {
	const session = `{"sessionId":"s-1","configOptions":[
		{"id":"g","name":"G","category":"weird","type":"select","currentValue":"a","options":[{"group":"one","name":"One","options":[{"value":"a","name":"A"}]},{"group":"two","name":"Two","options":[{"value":"b","name":"B"},{"value":7},{"name":"no value"}]}]},
		{"id":"flag","name":"Flag","type":"boolean","currentValue":false},
		{"id":"dial","name":"Dial","type":"dial","currentValue":3,"range":[1,9]},
		{"id":7,"type":"select"},"junk",null,
		{"id":"broken","type":"select","currentValue":null,"options":"none"}]}`
	a := plain(`{"protocolVersion":1,"agentCapabilities":{}}`, session)
	r := acptest.NewRig(t, a.new)
	r.Open(nil)
	r.Result("initialize", a.initialize)
	c := acptest.One(t, r.Result("session/new", a.session), acptest.Ready).Catalog
	if len(c.Options) != 4 {
		t.Fatalf("options %+v", c.Options)
	}
	if g := c.Options[0]; len(g.Values) != 2 || g.Values[1].ID != "b" || g.Values[1].Description != "Two" || g.Category != "weird" {
		t.Errorf("grouped %+v", g)
	}
	if f := c.Options[1]; !f.Boolean || f.Current != "false" || len(f.Values) != 0 {
		t.Errorf("boolean %+v", f)
	}
	if d := c.Options[2]; d.Current != "3" || d.Boolean || len(d.Values) != 0 {
		t.Errorf("unknown kind %+v", d)
	}
	r.Submit("t1", abi.Settings{Options: []abi.OptionValue{{ID: "flag", Value: "true"}, {ID: "g", Value: "b"}}})
	if p := r.Waits("session/set_config_option").Params; string(p) != `{"sessionId":"s-1","configId":"flag","type":"boolean","value":true}` {
		t.Errorf("params %s", p)
	}
	r.Result("session/set_config_option", withOption(t, session, "flag", "true"))
	r.Result("session/set_config_option", withOption(t, withOption(t, session, "flag", "true"), "g", "b"))
	if r.Waits("session/prompt") == nil {
		t.Fatalf("calls %+v", r.Calls)
	}
	r.Result("session/prompt", endTurn)
	// Without the wish the agent's own values are put back.
	before := len(r.All)
	r.Submit("t2", abi.Settings{})
	r.Result("session/set_config_option", withOption(t, withOption(t, session, "flag", "true"), "g", "a"))
	r.Result("session/set_config_option", session)
	if sent := r.Sent(before); strings.Count(sent, "set_config_option") != 2 || r.Waits("session/prompt") == nil {
		t.Errorf("sent:\n%s", sent)
	}
	// A value that the option does not have, and an option that lists none.
	r.Result("session/prompt", endTurn)
	submitRefused(t, r, "t3", abi.Settings{Options: []abi.OptionValue{{ID: "flag", Value: "maybe"}}}, "unknown_option", "flag")
	submitRefused(t, r, "t4", abi.Settings{Options: []abi.OptionValue{{ID: "broken", Value: "x"}}}, "unknown_option", "broken")
}

func TestOlderGroksGetTheEffortWithTheModel(t *testing.T) {
	a := grokAgent.clone()
	a.session = `{"sessionId":"s-1","models":{"currentModelId":"m-1","availableModels":[{"modelId":"m-1","name":"One"},{"modelId":"m-2","name":"Two"}]},` +
		`"_meta":{"x.ai/sessionConfig":{"options":[{"id":"m-1","category":"model","selected":true},{"id":"low","category":"mode","label":"Low"},{"id":"high","category":"mode","label":"High","selected":true}]}}}`
	r := a.ready(t)
	if c := acptest.One(t, r.All, acptest.Ready).Catalog; len(c.Efforts) != 2 || c.Efforts[0].ID != "low" || len(c.Models) != 2 {
		t.Errorf("catalog %+v", c)
	}
	before := len(r.All)
	r.Submit("t1", abi.Settings{Model: "m-2", Effort: "low"})
	r.Result("session/set_model", "{}")
	if sent := r.Sent(before); !strings.HasPrefix(sent, `call session/set_model {"sessionId":"s-1","modelId":"m-2","_meta":{"reasoningEffort":"low"}}`) || strings.Count(sent, "call ") != 2 {
		t.Errorf("sent:\n%s", sent)
	}
	r.Result("session/prompt", endTurn)
	before = len(r.All)
	r.Submit("t2", abi.Settings{Model: "m-2", Effort: "high"})
	r.Result("session/set_model", "{}")
	if sent := r.Sent(before); !strings.Contains(sent, `"modelId":"m-2","_meta":{"reasoningEffort":"high"}`) || r.Waits("session/prompt") == nil {
		t.Errorf("sent:\n%s", sent)
	}
	r.Result("session/prompt", endTurn)
	// The other model may have no effort: without a wish it keeps its own, also later.
	before = len(r.All)
	r.Submit("t3", abi.Settings{Model: "m-1"})
	r.Result("session/set_model", "{}")
	r.Result("session/prompt", endTurn)
	r.Submit("t4", abi.Settings{Model: "m-1"})
	if sent := r.Sent(before); strings.Count(sent, "session/set_model") != 1 || strings.Contains(sent, "reasoningEffort") || r.Waits("session/prompt") == nil {
		t.Errorf("sent:\n%s", sent)
	}
}
