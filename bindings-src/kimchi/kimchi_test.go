package kimchi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
	"github.com/aoagents/ao-host/bindings-src/kimchi"
)

func modes(mode string) string {
	return `[{"id":"permissions-mode","name":"Mode","category":"mode","type":"select","currentValue":"` + mode + `","options":[{"value":"default","name":"Ask"},{"value":"plan","name":"Plan"},{"value":"auto","name":"Auto"},{"value":"yolo","name":"YOLO"}]}]`
}

func told(mode string) string {
	return `{"sessionId":"s-1","update":{"sessionUpdate":"config_option_update","configOptions":` + modes(mode) + `}}`
}

func running(t *testing.T, mode string, p abi.Permission) *acptest.Rig {
	t.Helper()
	r := acptest.NewRig(t, func() guest.Reducer { return kimchi.New() })
	r.Schemas = acptest.LoadSchemas(t, "manifest.json")
	r.Open(nil)
	r.Result("initialize", `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
	native := map[abi.Permission]string{"": "default", abi.PermissionDefault: "default", abi.PermissionAcceptEdits: "default", abi.PermissionAuto: "auto", abi.PermissionBypass: "yolo"}[p]
	if mode == "plan" {
		native = "plan"
	}
	r.Result("session/new", `{"sessionId":"s-1","configOptions":`+modes(native)+`}`)
	r.Submit("t1", abi.Settings{Mode: mode, Permission: p})
	if r.Waits("session/prompt") == nil {
		t.Fatalf("calls %+v", r.Calls)
	}
	return r
}

// questionnaire starts the tool that asks.
func questionnaire(r *acptest.Rig, questions string) {
	r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"k1","title":"questionnaire","kind":"other","status":"in_progress","rawInput":{"questions":`+questions+`}}}`)
}

const group = `[{"id":"color","label":"Color","prompt":"Which color?","type":"single","options":[{"id":"r","label":"Red","description":"warm"},{"id":"b","label":"Blue","description":"cool"}],"allowOther":true,"required":true},` +
	`{"id":"why","label":"Why","prompt":"Why?","type":"text","required":false},` +
	`{"id":"sure","label":"Sure","prompt":"Are you sure?","type":"confirm","options":[{"id":"y","label":"Yes"},{"id":"n","label":"No"}]},` +
	`{"id":"sizes","label":"Sizes","prompt":"Which sizes?","type":"multi","options":[{"id":"s","label":"S"},{"id":"l","label":"L"}],"allowOther":true}]`

// form asks in a form of Kimchi's; property is that of the answer.
func form(t *testing.T, r *acptest.Rig, message, property string) *abi.Interaction {
	t.Helper()
	name := "value"
	if strings.Contains(property, "boolean") {
		name = "confirmed"
	}
	_, effects := r.Ask("0", "elicitation/create", `{"requestId":"r","sessionId":"s-1","mode":"form","message":"`+message+`","requestedSchema":{"type":"object","properties":{"`+name+`":`+property+`},"required":["`+name+`"]}}`)
	return acptest.One(t, effects, acptest.Opened)
}

const (
	colors = `{"type":"string","oneOf":[{"const":"Red","title":"Red"},{"const":"Blue","title":"Blue"},{"const":"Type your own answer","title":"Type your own answer"}]}`
	words  = `{"type":"string"}`
	yesNo  = `{"type":"boolean","default":false}`
)

func TestAGroupOfFormsIsOneQuestionThatAPersonAnswersOnce(t *testing.T) {
	r := running(t, "default", "")
	questionnaire(r, group)
	first := form(t, r, "Which color?", colors)
	want := []abi.Field{
		{ID: "color", Header: "Color", Text: "Which color?", Other: true, Required: true, Options: []abi.Option{{Value: "r", Label: "Red", Description: "warm"}, {Value: "b", Label: "Blue", Description: "cool"}}},
		{ID: "why", Header: "Why", Text: "Why?", Other: true},
		{ID: "sure", Header: "Sure", Text: "Are you sure?", Options: []abi.Option{{Value: "y", Label: "Yes"}, {Value: "n", Label: "No"}}},
		{ID: "sizes", Header: "Sizes", Text: "Which sizes?", MultiSelect: true, Other: true, OtherBeside: true, Options: []abi.Option{{Value: "s", Label: "S"}, {Value: "l", Label: "L"}}},
	}
	if diff := cmp.Diff(want, first.Fields); diff != "" || first.Type != abi.InteractionQuestion || first.Continues != "" {
		t.Fatalf("%+v (-want +got):\n%s", first, diff)
	}
	reply := abi.Reply{Fields: []abi.FieldAnswer{
		{Field: "color", State: abi.StateAnswered, HasOther: true, Other: "Green"},
		{Field: "why", State: abi.StateAnswered, HasOther: true, Other: "because"},
		{Field: "sure", State: abi.StateAnswered, Selected: []int64{0}},
		{Field: "sizes", State: abi.StateAnswered, Selected: []int64{0, 1}, HasOther: true, Other: "M, or so"},
	}}
	expect := func(x *abi.Interaction, want string) {
		t.Helper()
		if got := acptest.One(t, r.Answer(x.Key, reply), acptest.Reply); string(got.Result) != want {
			t.Errorf("reply %s, want %s", got.Result, want)
		}
	}
	continued := func(message, property, want string) {
		t.Helper()
		x := form(t, r, message, property)
		if x.Continues != first.Key || x.Key == first.Key {
			t.Errorf("%s: %+v", message, x)
		}
		expect(x, want)
	}
	expect(first, `{"action":"accept","content":{"value":"Type your own answer"}}`)
	continued(`Which color?\n\nYour answer:`, words, `{"action":"accept","content":{"value":"Green"}}`)
	continued("Why?", words, `{"action":"accept","content":{"value":"because"}}`)
	continued("Sure: Are you sure?", yesNo, `{"action":"accept","content":{"confirmed":true}}`)
	continued(`Which sizes?\n\n1. S\n2. L\n3. Type your own answer`, words, `{"action":"accept","content":{"value":"1, 2, 3. M; or so"}}`)
	// What comes after the group is a form like any other.
	if x := form(t, r, "Anything else?", words); x.Type != abi.InteractionForm || x.Continues != "" {
		t.Errorf("interaction %+v", x)
	}
}

func TestNewerFormsNameTheirChoicesByID(t *testing.T) {
	r := running(t, "default", "")
	questionnaire(r, `[{"id":"color","label":"C","prompt":"Which color?","type":"single","options":[{"id":"r","label":"Red"},{"id":"b","label":"Blue"}]},{"id":"sizes","label":"S","prompt":"Which sizes?","type":"multi","options":[{"id":"s","label":"S"},{"id":"l","label":"L"}],"allowOther":true}]`)
	x := form(t, r, "Which color?", `{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue"}]}`)
	reply := abi.Reply{Fields: []abi.FieldAnswer{{Field: "color", State: abi.StateAnswered, Selected: []int64{1}}, {Field: "sizes", State: abi.StateAnswered, Selected: []int64{0}, HasOther: true, Other: "M"}}}
	if got := acptest.One(t, r.Answer(x.Key, reply), acptest.Reply); string(got.Result) != `{"action":"accept","content":{"value":"b"}}` {
		t.Errorf("reply %s", got.Result)
	}
	x = form(t, r, "Which sizes?", `{"type":"array","items":{"anyOf":[{"const":"s","title":"S"},{"const":"l","title":"L"},{"const":"__custom","title":"Type your own answer"}]}}`)
	if got := acptest.One(t, r.Answer(x.Key, reply), acptest.Reply); string(got.Result) != `{"action":"accept","content":{"value":["s","__custom"]}}` {
		t.Errorf("reply %s", got.Result)
	}
	x = form(t, r, `Which sizes?\n\nYour answer:`, words)
	if got := acptest.One(t, r.Answer(x.Key, reply), acptest.Reply); string(got.Result) != `{"action":"accept","content":{"value":"M"}}` {
		t.Errorf("reply %s", got.Result)
	}
}

func TestASkippedQuestionIsDeclinedAndTheGroupGoesOn(t *testing.T) {
	r := running(t, "default", "")
	questionnaire(r, `[{"id":"a","label":"A","prompt":"A?","type":"text"},{"id":"b","label":"B","prompt":"B?","type":"text"},{"id":"c","label":"C","prompt":"C?","type":"text"}]`)
	x := form(t, r, "A?", words)
	reply := abi.Reply{Fields: []abi.FieldAnswer{{Field: "a", State: abi.StateSkipped}, {Field: "c", State: abi.StateAnswered, HasOther: true, Other: "z"}}}
	if got := acptest.One(t, r.Answer(x.Key, reply), acptest.Reply); string(got.Result) != `{"action":"decline"}` {
		t.Errorf("reply %s", got.Result)
	}
	// A form that the agent leaves out does not shift the others.
	x = form(t, r, "C?", words)
	if got := acptest.One(t, r.Answer(x.Key, reply), acptest.Reply); string(got.Result) != `{"action":"accept","content":{"value":"z"}}` {
		t.Errorf("reply %s", got.Result)
	}
}

func TestAGroupThatIsTakenBackLeavesNothingBehind(t *testing.T) {
	r := running(t, "default", "")
	questionnaire(r, group)
	x := form(t, r, "Which color?", colors)
	if got := acptest.One(t, r.Withdraw(x.Key, abi.WithdrawExpired), acptest.Reply); string(got.Result) != `{"action":"cancel"}` {
		t.Errorf("reply %s", got.Result)
	}
	if x := form(t, r, "Why?", words); x.Continues != "" || x.Type != abi.InteractionForm {
		t.Errorf("interaction %+v", x)
	}
}

func TestRule15_AFormWithoutAQuestionnaireStaysAForm(t *testing.T) {
	if x := form(t, running(t, "default", ""), "Which color?", colors); x.Type != abi.InteractionForm {
		t.Errorf("interaction %+v", x)
	}
	r := running(t, "default", "")
	questionnaire(r, `[{"id":"x","prompt":"X?","type":"novel"}]`)
	if x := form(t, r, "X?", words); x.Type != abi.InteractionForm {
		t.Errorf("interaction %+v", x)
	}
}

const denial = `{"sessionId":"s-1","toolCall":{"toolCallId":"k2","title":"a.txt","kind":"edit","rawInput":{"path":"a.txt"}},"options":[{"optionId":"choice-0","name":"Yes","kind":"allow_once"},{"optionId":"choice-1","name":"No","kind":"reject_once"}]}`

func TestTheWordsOfARejectionAnswerItsSecondForm(t *testing.T) {
	for feedback, want := range map[string]string{"use b.txt": `{"action":"accept","content":{"value":"use b.txt"}}`, "": `{"action":"decline"}`} {
		r := running(t, "default", "")
		_, effects := r.Ask("1", "session/request_permission", denial)
		x := acptest.One(t, effects, acptest.Opened)
		if d := x.Decisions[1]; !d.Feedback || x.Decisions[0].Feedback {
			t.Errorf("decisions %+v", x.Decisions)
		}
		reply := abi.Reply{Decision: "choice-1", Feedback: feedback}
		r.Answer(x.Key, reply)
		second := form(t, r, "Tell the assistant what to do differently:", words)
		if second.Continues != x.Key {
			t.Errorf("interaction %+v", second)
		}
		if got := acptest.One(t, r.Answer(second.Key, reply), acptest.Reply); string(got.Result) != want {
			t.Errorf("%q: reply %s", feedback, got.Result)
		}
		// The same form without a rejection before it is a person's.
		if x := form(t, r, "Tell the assistant what to do differently:", words); x.Continues != "" {
			t.Errorf("interaction %+v", x)
		}
	}
	// After an approval none is expected.
	r := running(t, "default", "")
	_, effects := r.Ask("1", "session/request_permission", denial)
	r.Answer(acptest.One(t, effects, acptest.Opened).Key, abi.Reply{Decision: "choice-0"})
	if x := form(t, r, "Tell the assistant what to do differently:", words); x.Continues != "" {
		t.Errorf("interaction %+v", x)
	}
}

const choices = `{"type":"string","oneOf":[{"const":"Ferment it","title":"Ferment it"},{"const":"Execute","title":"Execute"},{"const":"Rework","title":"Rework"}]}`

func TestP1_ThePlanFormIsAReviewOfWhatTheAgentSaidLast(t *testing.T) {
	r := running(t, "plan", abi.PermissionDefault)
	r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"# Plan\n1. Do"},"messageId":"k.0"}}`)
	_, effects := r.Ask("0", "elicitation/create", `{"requestId":"r","sessionId":"s-1","mode":"form","message":"Plan ready","requestedSchema":{"type":"object","properties":{"value":`+choices+`},"required":["value"]}}`)
	x, p := acptest.One(t, effects, acptest.Opened), acptest.One(t, effects, acptest.Proposal)
	if x.Type != abi.InteractionReview || p.Key != x.Key || p.Text != "# Plan\n1. Do" || p.FeedbackInReview || p.ExecutionMode != "default" || p.PlanningMode != "plan" {
		t.Errorf("interaction %+v\nproposal %+v", x, p)
	}
	want := []abi.Decision{{ID: "Execute", Label: "Execute", Kind: abi.AllowOnce, Mode: "default"}, {ID: "Rework", Label: "Rework", Kind: abi.RejectOnce, Mode: "plan"}, {ID: "Ferment it", Label: "Ferment it", Kind: abi.AllowOnce, Mode: "default"}}
	if diff := cmp.Diff(want, x.Decisions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Kimchi goes to auto by itself; the remembered permission is put back.
	reply := acptest.One(t, r.Approve(x.Key, "Execute", abi.PermissionDefault), acptest.Reply)
	if string(reply.Result) != `{"action":"accept","content":{"value":"Execute"}}` {
		t.Errorf("reply %s", reply.Result)
	}
	c := acptest.One(t, r.Notify("session/update", told("auto")), acptest.Call)
	if string(c.Params) != `{"sessionId":"s-1","configId":"permissions-mode","value":"default"}` {
		t.Errorf("call %s", c.Params)
	}
	effects = r.Result("session/set_config_option", `{"configOptions":`+modes("default")+`}`)
	if w := acptest.One(t, effects, acptest.Warning); w.Code != "permission_restored" {
		t.Errorf("warning %+v", w)
	}
	if o := acptest.One(t, effects, acptest.Observed); o.Permission != abi.PermissionDefault {
		t.Errorf("observed %+v", o)
	}
}

func TestP1_ATurnThatKimchiPromotedToPlanHasAReviewToo(t *testing.T) {
	r := running(t, "default", abi.PermissionDefault)
	r.Notify("session/update", told("plan"))
	_, effects := r.Ask("0", "elicitation/create", `{"requestId":"r","sessionId":"s-1","mode":"form","message":"Plan ready","requestedSchema":{"type":"object","properties":{"value":`+choices+`}}}`)
	x := acptest.One(t, effects, acptest.Opened)
	acptest.One(t, effects, acptest.Proposal)
	if x.Type != abi.InteractionReview {
		t.Fatalf("interaction %+v", x)
	}
	// Kimchi goes to auto by itself; the remembered permission is put back.
	r.Approve(x.Key, "Execute", abi.PermissionDefault)
	if c := acptest.One(t, r.Notify("session/update", told("auto")), acptest.Call); !strings.Contains(string(c.Params), `"value":"default"`) {
		t.Errorf("call %s", c.Params)
	}
}

func TestAPlanFormIsAReviewOnlyWhilePlanning(t *testing.T) {
	if x := form(t, running(t, "default", ""), "Plan ready", choices); x.Type != abi.InteractionForm {
		t.Errorf("interaction %+v", x)
	}
	// A choice without the two ends of a review is none.
	if x := form(t, running(t, "plan", ""), "Pick", colors); x.Type != abi.InteractionForm {
		t.Errorf("interaction %+v", x)
	}
}

func TestARejectedPlanStaysInPlan(t *testing.T) {
	r := running(t, "plan", abi.PermissionAuto)
	_, effects := r.Ask("0", "elicitation/create", `{"requestId":"r","sessionId":"s-1","mode":"form","message":"Plan ready","requestedSchema":{"type":"object","properties":{"value":`+choices+`}}}`)
	x := acptest.One(t, effects, acptest.Opened)
	if got := acptest.One(t, r.Answer(x.Key, abi.Reply{Decision: "Rework"}), acptest.Reply); string(got.Result) != `{"action":"accept","content":{"value":"Rework"}}` {
		t.Errorf("reply %s", got.Result)
	}
	acptest.None(t, r.Notify("session/update", told("plan")), acptest.Call)
}
