package claude_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
	"github.com/aoagents/ao-host/bindings-src/claude"
)

// sessionWith is the answer to session/new with a mode in force.
func sessionWith(mode string) string {
	return `{"sessionId":"s-1","configOptions":[` + modes(mode) + `]}`
}

func modes(mode string) string {
	return `{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"` + mode + `","options":[{"value":"default","name":"Manual"},{"value":"acceptEdits","name":"Edits"},{"value":"plan","name":"Plan"},{"value":"auto","name":"Auto"},{"value":"bypassPermissions","name":"Bypass"}]}`
}

func params(update string) string { return `{"sessionId":"s-1","update":` + update + `}` }

func told(mode string) string {
	return params(`{"sessionUpdate":"config_option_update","configOptions":[` + modes(mode) + `]}`)
}

// planning runs a turn in plan mode with a permission remembered.
func planning(t *testing.T, p abi.Permission) *acptest.Rig {
	t.Helper()
	r := acptest.NewRig(t, func() guest.Reducer { return claude.New() })
	r.Schemas = acptest.LoadSchemas(t, "manifest.json")
	r.Open(nil)
	r.Result("initialize", `{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"x","version":"0.49.0"}}`)
	r.Result("session/new", sessionWith("plan"))
	r.Submit("t1", abi.Settings{Mode: "plan", Permission: p})
	if r.Waits("session/prompt") == nil {
		t.Fatalf("calls %+v", r.Calls)
	}
	return r
}

// versions are the two forms of a review.
var versions = map[string]struct {
	inRequest bool
	options   string
	approve   map[abi.Permission]string
	reject    string
}{
	"0.49.0": {true, `{"kind":"allow_always","name":"Bypass","optionId":"bypassPermissions"},{"kind":"allow_always","name":"Auto","optionId":"auto"},{"kind":"allow_always","name":"Edits","optionId":"acceptEdits"},{"kind":"allow_once","name":"Manual","optionId":"default"},{"kind":"reject_once","name":"No","optionId":"plan"}`,
		map[abi.Permission]string{abi.PermissionDefault: "default", abi.PermissionAcceptEdits: "acceptEdits", abi.PermissionAuto: "auto", abi.PermissionBypass: "bypassPermissions"}, "plan"},
	"0.101.0": {false, `{"optionId":"exit-plan-clear-auto","name":"Clear","kind":"allow_always"},{"optionId":"exit-plan-default","name":"Manual","kind":"allow_once"},{"optionId":"exit-plan-auto","name":"Auto","kind":"allow_always"},{"optionId":"exit-plan-bypass","name":"Bypass","kind":"allow_always"},{"optionId":"reject","name":"No","kind":"reject_once"}`,
		map[abi.Permission]string{abi.PermissionDefault: "exit-plan-default", abi.PermissionAuto: "exit-plan-auto", abi.PermissionBypass: "exit-plan-bypass"}, "reject"},
}

func review(input, options string) string {
	return `{"sessionId":"s-1","toolCall":{"toolCallId":"c1","title":"Approve Plan","kind":"switch_mode","rawInput":` + input + `,"content":[]},"options":[` + options + `]}`
}

// opened opens the review of a version.
func opened(t *testing.T, r *acptest.Rig, version string) *abi.Interaction {
	t.Helper()
	v := versions[version]
	r.Notify("session/update", params(`{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"switch_mode","title":"Approve Plan","status":"pending","rawInput":{},"content":[],"_meta":{"claudeCode":{"toolName":"ExitPlanMode"}}}`))
	r.Notify("session/update", params(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","rawInput":{"plan":"# Plan"},"content":[{"type":"content","content":{"type":"text","text":"# Plan"}}]}`))
	input := `{}`
	if v.inRequest {
		input = `{"plan":"# Plan"}`
	}
	_, effects := r.Ask("1", "session/request_permission", review(input, v.options))
	x := acptest.One(t, effects, acptest.Opened)
	p := acptest.One(t, effects, acptest.Proposal)
	if x.Type != abi.InteractionReview || p.Key != x.Key || p.Text != "# Plan" || p.Route != abi.RouteNative || p.ExecutionMode != "default" || p.PlanningMode != "plan" || p.FeedbackInReview || p.Turn != "t1" || x.Text != "# Plan" {
		t.Fatalf("interaction %+v\nproposal %+v", x, p)
	}
	return x
}

func TestP1_AReviewOffersDecisionsByTheirIDsAndKinds(t *testing.T) {
	for version, v := range versions {
		x := opened(t, planning(t, abi.PermissionAuto), version)
		for p, id := range v.approve {
			found := false
			for _, d := range x.Decisions {
				found = found || d.ID == id && d.Permission == p && d.Mode == "default" && (d.Kind == abi.AllowOnce || d.Kind == abi.AllowAlways)
			}
			if !found {
				t.Errorf("%s: no decision %s for %s in %+v", version, id, p, x.Decisions)
			}
		}
		last := x.Decisions[len(x.Decisions)-1]
		if version == "0.101.0" && last.ID != "exit-plan-clear-auto" {
			t.Errorf("the decision that drops the context is not last: %+v", x.Decisions)
		}
		for _, d := range x.Decisions {
			if d.ID == v.reject && (d.Kind != abi.RejectOnce || d.Mode != "plan" || d.Permission != "" || d.Feedback) {
				t.Errorf("reject %+v", d)
			}
		}
	}
}

func TestP3_ImplementAnswersTheReviewAndNoSecondTurnIsSent(t *testing.T) {
	for version, v := range versions {
		for p, id := range v.approve {
			r := planning(t, p)
			x := opened(t, r, version)
			before := len(r.All)
			r.Approve(x.Key, id, p)
			r.Notify("session/update", params(`{"sessionUpdate":"current_mode_update","currentModeId":"`+native[p]+`"}`))
			r.Notify("session/update", told(native[p]))
			if got, want := r.Sent(before), "reply {\"outcome\":{\"outcome\":\"selected\",\"optionId\":\""+id+"\"}}\n"; got != want {
				t.Errorf("%s %s: sent\n%s", version, p, got)
			}
			o := acptest.Only(r.All, acptest.Observed)
			if last := o[len(o)-1]; last.Mode != "default" || last.Permission != p {
				t.Errorf("%s %s: observed %+v", version, p, last)
			}
			acptest.One(t, r.Result("session/prompt", `{"stopReason":"end_turn"}`), acptest.Ended)
		}
	}
}

var native = map[abi.Permission]string{abi.PermissionDefault: "default", abi.PermissionAcceptEdits: "acceptEdits", abi.PermissionAuto: "auto", abi.PermissionBypass: "bypassPermissions"}

func TestRule18_WhereNoDecisionMatchesThePermissionIsRestoredAfterTheReview(t *testing.T) {
	r := planning(t, abi.PermissionAcceptEdits)
	x := opened(t, r, "0.101.0")
	// The host takes the nearest weaker one and names what is remembered.
	effects := r.Approve(x.Key, "exit-plan-default", abi.PermissionAcceptEdits)
	acptest.None(t, effects, acptest.Call)
	// Not before the agent has left planning: its own change would overwrite it.
	acptest.None(t, r.Notify("session/update", params(`{"sessionUpdate":"usage_update","used":1,"size":2}`)), acptest.Call)
	acptest.None(t, r.Notify("session/update", told("plan")), acptest.Call)
	c := acptest.One(t, r.Notify("session/update", params(`{"sessionUpdate":"current_mode_update","currentModeId":"default"}`)), acptest.Call)
	if c.Method != "session/set_config_option" || string(c.Params) != `{"sessionId":"s-1","configId":"mode","value":"acceptEdits"}` || c.TimeoutMS != 30_000 {
		t.Fatalf("call %+v", c)
	}
	acptest.None(t, r.Notify("session/update", told("default")), acptest.Call)
	r.Notify("session/update", params(`{"sessionUpdate":"current_mode_update","currentModeId":"acceptEdits"}`))
	effects = r.Result("session/set_config_option", sessionWith("acceptEdits"))
	if p := acptest.One(t, effects, acptest.Problem); p.Code != "permission_differs" || p.Field != "permission" || !p.Resolved {
		t.Errorf("problem %+v", p)
	}
	o := acptest.Only(r.All, acptest.Observed)
	if last := o[len(o)-1]; last.Permission != abi.PermissionAcceptEdits {
		t.Errorf("observed %+v", last)
	}
}

func TestRule18_ADifferenceThatCannotBeRestoredStaysReported(t *testing.T) {
	r := planning(t, abi.PermissionAcceptEdits)
	x := opened(t, r, "0.101.0")
	r.Approve(x.Key, "exit-plan-default", abi.PermissionAcceptEdits)
	r.Notify("session/update", told("default"))
	p := acptest.One(t, r.Fail("session/set_config_option", abi.CallError{Code: -32602, Message: "no"}), acptest.Problem)
	if p.Code != "permission_differs" || p.Resolved || !strings.Contains(p.Message, "acceptEdits") {
		t.Errorf("problem %+v", p)
	}
	// The next turn sets it.
	r.Result("session/prompt", `{"stopReason":"end_turn"}`)
	if c := acptest.One(t, r.Submit("t2", abi.Settings{Mode: "default", Permission: abi.PermissionAcceptEdits}), acptest.Call); !strings.Contains(string(c.Params), "acceptEdits") {
		t.Errorf("call %s", c.Params)
	}
}

func TestAPersonsOwnChoiceOfADecisionIsNotOverruled(t *testing.T) {
	r := planning(t, abi.PermissionAcceptEdits)
	x := opened(t, r, "0.49.0")
	r.Approve(x.Key, "default", "")
	acptest.None(t, r.Notify("session/update", told("default")), acptest.Call)
}

func TestP6_ARejectedReviewStaysInPlanAndIsNoFailure(t *testing.T) {
	for version, stop := range map[string]string{"0.49.0": "end_turn", "0.101.0": "cancelled"} {
		r := planning(t, abi.PermissionDefault)
		x := opened(t, r, version)
		reply := acptest.One(t, r.Answer(x.Key, abi.Reply{Decision: versions[version].reject}), acptest.Reply)
		if !strings.Contains(string(reply.Result), versions[version].reject) {
			t.Errorf("reply %s", reply.Result)
		}
		e := acptest.One(t, r.Result("session/prompt", `{"stopReason":"`+stop+`"}`), acptest.Ended)
		if e.Status != abi.TurnCompleted || e.StopReason != stop {
			t.Errorf("%s: ended %+v", version, e)
		}
		// The feedback goes out in plan mode.
		if r.Submit("t2", abi.Settings{Mode: "plan"}); r.Waits("session/prompt") == nil {
			t.Errorf("%s: calls %+v", version, r.Calls)
		}
	}
}

func TestAPlanThatComesAfterItsReviewIsANewRevision(t *testing.T) {
	r := planning(t, abi.PermissionDefault)
	r.Notify("session/update", params(`{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"switch_mode","status":"pending","rawInput":{},"content":[],"_meta":{"claudeCode":{"toolName":"ExitPlanMode"}}}`))
	_, effects := r.Ask("1", "session/request_permission", review(`{}`, versions["0.101.0"].options))
	x, first := acptest.One(t, effects, acptest.Opened), acptest.One(t, effects, acptest.Proposal)
	effects = r.Notify("session/update", params(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","rawInput":{"plan":"# Late"}}`))
	p := acptest.One(t, effects, acptest.Proposal)
	if p.Key != x.Key || p.Text != "# Late" || first.Text == "" || first.Text == p.Text {
		t.Errorf("first %+v, then %+v", first, p)
	}
	acptest.None(t, effects, acptest.Opened)
	// Once it is answered nothing is told again.
	r.Answer(x.Key, abi.Reply{Decision: "reject"})
	acptest.None(t, r.Notify("session/update", params(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","rawInput":{"plan":"# Later"}}`)), acptest.Proposal)
}

func TestEnteringPlanModeIsAPermissionAndNoReview(t *testing.T) {
	r := planning(t, abi.PermissionDefault)
	r.Notify("session/update", params(`{"sessionUpdate":"tool_call","toolCallId":"c2","kind":"switch_mode","status":"pending","_meta":{"claudeCode":{"toolName":"EnterPlanMode"}}}`))
	_, effects := r.Ask("1", "session/request_permission", strings.ReplaceAll(review(`{}`, `{"optionId":"allow-once","name":"Yes","kind":"allow_once"},{"optionId":"reject","name":"No","kind":"reject_once"}`), `"c1"`, `"c2"`))
	if x := acptest.One(t, effects, acptest.Opened); x.Type != abi.InteractionPermission {
		t.Errorf("interaction %+v", x)
	}
	acptest.None(t, effects, acptest.Proposal)
}

// forms are a questionnaire as each version words it.
var forms = map[string]string{
	"0.49.0": `{"question_0":{"type":"string","title":"Color","description":"Which color?","oneOf":[{"const":"Red","title":"Red — warm","_meta":{"_claude/askUserQuestionOption":{"description":"warm","preview":"#f00"}}},{"const":"Blue","title":"Blue"}]},"question_0_custom":{"type":"string","title":"Other","description":"Type your own answer instead of choosing an option above (optional)."},` +
		`"question_1":{"type":"array","title":"Sizes","description":"Which sizes?","items":{"anyOf":[{"const":"S","title":"S"},{"const":"L","title":"L"}]}},"question_1_custom":{"type":"string","title":"Other","description":"Type your own answer instead of choosing an option above (optional)."}}`,
	"0.101.0": `{"question_0":{"type":"string","title":"Color","description":"Which color?","oneOf":[{"const":"Red","title":"Red","description":"warm","_meta":{"_claude/askUserQuestionOption":{"preview":"#f00"}}},{"const":"Blue","title":"Blue"}]},"question_0_custom":{"type":"string","title":"Other","description":"Type your own answer, or add a note to the option you chose above (optional)."},` +
		`"question_1":{"type":"array","title":"Sizes","description":"Which sizes?","items":{"anyOf":[{"const":"S","title":"S"},{"const":"L","title":"L"}]}},"question_1_custom":{"type":"string","title":"Other","description":"Type your own answer to add to your selection above (optional)."}}`,
}

func ask(t *testing.T, r *acptest.Rig, properties string) *abi.Interaction {
	t.Helper()
	r.Notify("session/update", params(`{"sessionUpdate":"tool_call","toolCallId":"q1","kind":"other","status":"pending","_meta":{"claudeCode":{"toolName":"AskUserQuestion"}}}`))
	_, effects := r.Ask("1", "elicitation/create", `{"mode":"form","sessionId":"s-1","toolCallId":"q1","message":"Please answer.","requestedSchema":{"type":"object","properties":`+properties+`}}`)
	return acptest.One(t, effects, acptest.Opened)
}

func TestRule10_AQuestionnaireKeepsOrderOptionsAndWhatTheTextDoes(t *testing.T) {
	for version, properties := range forms {
		x := ask(t, planning(t, abi.PermissionDefault), properties)
		beside := version == "0.101.0"
		want := []abi.Field{
			{ID: "question_0", Header: "Color", Text: "Which color?", Other: true, OtherBeside: beside, Options: []abi.Option{{Value: "Red", Label: "Red", Description: "warm", Preview: "#f00"}, {Value: "Blue", Label: "Blue"}}},
			{ID: "question_1", Header: "Sizes", Text: "Which sizes?", MultiSelect: true, Other: true, OtherBeside: beside, Options: []abi.Option{{Value: "S", Label: "S"}, {Value: "L", Label: "L"}}},
		}
		if diff := cmp.Diff(want, x.Fields); diff != "" || x.Type != abi.InteractionQuestion || x.Text != "Please answer." || x.NativeItem != "q1" {
			t.Errorf("%s: %+v (-want +got):\n%s", version, x, diff)
		}
	}
}

func TestRule10_AnswersSendOnlyWhatWasMeant(t *testing.T) {
	answered := func(field string, selected ...int64) abi.FieldAnswer {
		return abi.FieldAnswer{Field: field, State: abi.StateAnswered, Selected: selected}
	}
	for name, c := range map[string]struct {
		fields []abi.FieldAnswer
		want   string
	}{
		"choices":             {[]abi.FieldAnswer{answered("question_0", 1), answered("question_1", 0, 1)}, `{"action":"accept","content":{"question_0":"Blue","question_1":["S","L"]}}`},
		"text instead":        {[]abi.FieldAnswer{{Field: "question_0", State: abi.StateAnswered, HasOther: true, Other: "Green \"x\""}}, `{"action":"accept","content":{"question_0_custom":"Green \"x\""}}`},
		"text beside":         {[]abi.FieldAnswer{{Field: "question_0", State: abi.StateAnswered, Selected: []int64{0}, HasOther: true, Other: "dark"}}, `{"action":"accept","content":{"question_0":"Red","question_0_custom":"dark"}}`},
		"none of many":        {[]abi.FieldAnswer{answered("question_1")}, `{"action":"accept","content":{"question_1":[]}}`},
		"text to many":        {[]abi.FieldAnswer{{Field: "question_1", State: abi.StateAnswered, HasOther: true, Other: "M"}}, `{"action":"accept","content":{"question_1_custom":"M"}}`},
		"one skipped":         {[]abi.FieldAnswer{{Field: "question_0", State: abi.StateSkipped}, answered("question_1", 0)}, `{"action":"accept","content":{"question_1":["S"]}}`},
		"all skipped":         {[]abi.FieldAnswer{{Field: "question_0", State: abi.StateSkipped}, {Field: "question_1", State: abi.StateSkipped}}, `{"action":"decline"}`},
		"nothing":             {nil, `{"action":"decline"}`},
		"an index that isn't": {[]abi.FieldAnswer{answered("question_0", 9)}, `{"action":"accept","content":{}}`},
	} {
		r := planning(t, abi.PermissionDefault)
		x := ask(t, r, forms["0.101.0"])
		if reply := acptest.One(t, r.Answer(x.Key, abi.Reply{Fields: c.fields}), acptest.Reply); string(reply.Result) != c.want {
			t.Errorf("%s: %s, want %s", name, reply.Result, c.want)
		}
	}
}

func TestASingleQuestionIsAskedInTheMessage(t *testing.T) {
	x := ask(t, planning(t, abi.PermissionDefault), `{"question_0":{"type":"string","oneOf":[{"const":"a","title":"a"}]},"question_0_custom":{"type":"string","description":"Type your own answer, or add a note to it."}}`)
	if len(x.Fields) != 1 || x.Fields[0].Text != "Please answer." || x.Text != "" {
		t.Errorf("interaction %+v", x)
	}
}

func TestRule15_AFormThatOnlyLooksLikeAQuestionnaireStaysAForm(t *testing.T) {
	for _, properties := range []string{
		`{"question_0":{"type":"string"}}`,
		`{"question_0":{"type":"string","oneOf":[{"const":"a","title":"a"}]},"name":{"type":"string"}}`,
		`{"question_x":{"type":"string","oneOf":[{"const":"a","title":"a"}]}}`,
		`{"question_1_custom":{"type":"string"}}`,
		`{}`,
	} {
		if x := ask(t, planning(t, abi.PermissionDefault), properties); x.Type != abi.InteractionForm {
			t.Errorf("%s became %+v", properties, x)
		}
	}
}
