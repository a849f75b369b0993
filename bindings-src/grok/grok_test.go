package grok_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
	"github.com/aoagents/ao-host/bindings-src/grok"
)

// running runs a turn in a mode.
func running(t *testing.T, mode string, p abi.Permission) *acptest.Rig {
	t.Helper()
	r := acptest.NewRig(t, func() guest.Reducer { return grok.New() })
	r.Schemas = acptest.LoadSchemas(t, "manifest.json")
	r.Open(nil)
	r.Result("initialize", `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
	r.Result("session/new", `{"sessionId":"s-1","configOptions":[{"id":"model","name":"Model","category":"model","type":"select","currentValue":"m","options":[{"value":"m","name":"M"}]}]}`)
	r.Submit("t1", abi.Settings{Mode: mode, Permission: p})
	if mode != "default" {
		r.Result("session/set_mode", "{}")
		r.Notify("session/update", told(mode))
	}
	if r.Waits("session/prompt") == nil {
		t.Fatalf("calls %+v", r.Calls)
	}
	return r
}

func told(mode string) string {
	return `{"sessionId":"s-1","update":{"sessionUpdate":"current_mode_update","currentModeId":"` + mode + `"}}`
}

const twoQuestions = `[{"question":"Which \"one\"?","options":[{"label":"Red","description":"warm","preview":"p"},{"label":"Blue","description":"cool"}],"multiSelect":false},{"question":"Sizes?","options":[{"label":"S"},{"label":"L"}],"multiSelect":true}]`

func ask(t *testing.T, r *acptest.Rig, mode, questions string) *abi.Interaction {
	t.Helper()
	_, effects := r.Ask("0", "_x.ai/ask_user_question", `{"sessionId":"s-1","toolCallId":"c1","questions":`+questions+`,"mode":"`+mode+`"}`)
	return acptest.One(t, effects, acptest.Opened)
}

func answered(field string, selected ...int64) abi.FieldAnswer {
	return abi.FieldAnswer{Field: field, State: abi.StateAnswered, Selected: selected}
}

func other(field, text string, selected ...int64) abi.FieldAnswer {
	return abi.FieldAnswer{Field: field, State: abi.StateAnswered, Selected: selected, HasOther: true, Other: text}
}

func skipped(field string) abi.FieldAnswer {
	return abi.FieldAnswer{Field: field, State: abi.StateSkipped}
}

func TestRule10_QuestionsKeepTheirOrderAndOptions(t *testing.T) {
	x := ask(t, running(t, "default", ""), "default", twoQuestions)
	want := []abi.Field{
		{ID: "0", Text: `Which "one"?`, Other: true, Options: []abi.Option{{Value: "Red", Label: "Red", Description: "warm", Preview: "p"}, {Value: "Blue", Label: "Blue", Description: "cool"}}},
		{ID: "1", Text: "Sizes?", MultiSelect: true, Other: true, OtherBeside: true, Options: []abi.Option{{Value: "S", Label: "S"}, {Value: "L", Label: "L"}}},
	}
	if diff := cmp.Diff(want, x.Fields); diff != "" || x.Type != abi.InteractionQuestion || x.Text != "" || x.NativeItem != "c1" || x.NativeTurn != "client-t1" {
		t.Errorf("%+v (-want +got):\n%s", x, diff)
	}
}

func TestAnswersAreKeyedByTheQuestionsText(t *testing.T) {
	for name, c := range map[string]struct {
		mode   string
		fields []abi.FieldAnswer
		want   string
	}{
		"choices":              {"default", []abi.FieldAnswer{answered("0", 1), answered("1", 0, 1)}, `{"outcome":"accepted","answers":{"Which \"one\"?":["Blue"],"Sizes?":["S","L"]}}`},
		"a text":               {"plan", []abi.FieldAnswer{other("0", "Green"), answered("1", 0)}, `{"outcome":"accepted","answers":{"Which \"one\"?":["Other"],"Sizes?":["S"]},"annotations":{"Which \"one\"?":{"notes":"Green"}}}`},
		"a text beside":        {"default", []abi.FieldAnswer{other("1", "M", 0)}, `{"outcome":"accepted","answers":{"Sizes?":["S","Other"]},"annotations":{"Sizes?":{"notes":"M"}}}`},
		"none of many":         {"default", []abi.FieldAnswer{answered("1")}, `{"outcome":"accepted","answers":{"Sizes?":[]}}`},
		"one left out":         {"plan", []abi.FieldAnswer{answered("0", 0)}, `{"outcome":"accepted","answers":{"Which \"one\"?":["Red"]}}`},
		"one skipped":          {"default", []abi.FieldAnswer{answered("0", 0), skipped("1")}, `{"outcome":"accepted","answers":{"Which \"one\"?":["Red"]}}`},
		"one skipped, in plan": {"plan", []abi.FieldAnswer{other("0", "Green"), skipped("1")}, `{"outcome":"skip_interview","partial_answers":{"Which \"one\"?":"Green"}}`},
		"many, partly in plan": {"plan", []abi.FieldAnswer{skipped("0"), other("1", "M", 0, 1)}, `{"outcome":"skip_interview","partial_answers":{"Sizes?":"S, L, M"}}`},
		"all skipped":          {"default", []abi.FieldAnswer{skipped("0"), skipped("1")}, `{"outcome":"cancelled"}`},
		"all skipped, in plan": {"plan", []abi.FieldAnswer{skipped("0"), skipped("1")}, `{"outcome":"skip_interview","partial_answers":{}}`},
		"nothing":              {"default", nil, `{"outcome":"cancelled"}`},
	} {
		r := running(t, c.mode, "")
		x := ask(t, r, c.mode, twoQuestions)
		if reply := acptest.One(t, r.Answer(x.Key, abi.Reply{Fields: c.fields}), acptest.Reply); string(reply.Result) != c.want {
			t.Errorf("%s: %s, want %s", name, reply.Result, c.want)
		}
	}
}

func TestA5_EqualQuestionsAreAskedApartAndTheLimitIsSaid(t *testing.T) {
	same := `[{"question":"Same?","options":[{"label":"A"},{"label":"B"}]},{"question":"Same?","options":[{"label":"C"}]},{"question":"Else?","options":[{"label":"D"}]}]`
	r := running(t, "default", "")
	x := ask(t, r, "default", same)
	if len(x.Fields) != 3 || x.Fields[0].ID == x.Fields[1].ID || !strings.Contains(x.Text, "twice") {
		t.Errorf("interaction %+v", x)
	}
	reply := acptest.One(t, r.Answer(x.Key, abi.Reply{Fields: []abi.FieldAnswer{answered("0", 1), answered("1", 0), answered("2", 0)}}), acptest.Reply)
	if want := `{"outcome":"accepted","answers":{"Same?":["B","C"],"Else?":["D"]}}`; string(reply.Result) != want {
		t.Errorf("reply %s", reply.Result)
	}
}

func TestC4_EqualLabelsAreChosenByIndex(t *testing.T) {
	r := running(t, "default", "")
	x := ask(t, r, "default", `[{"question":"q","options":[{"label":"a, b"},{"label":"a, b"}]}]`)
	if reply := acptest.One(t, r.Answer(x.Key, abi.Reply{Fields: []abi.FieldAnswer{answered("0", 1)}}), acptest.Reply); string(reply.Result) != `{"outcome":"accepted","answers":{"q":["a, b"]}}` {
		t.Errorf("reply %s", reply.Result)
	}
}

func openReview(t *testing.T, r *acptest.Rig, method, params string) (*abi.Interaction, *abi.Proposal) {
	t.Helper()
	_, effects := r.Ask("1", method, params)
	return acptest.One(t, effects, acptest.Opened), acptest.One(t, effects, acptest.Proposal)
}

func TestP1_AReviewIsApprovedOrCancelledWithFeedbackAndNeverAbandoned(t *testing.T) {
	for decision, c := range map[string]struct {
		feedback, want string
	}{
		"approved":  {"", `{"outcome":"approved"}`},
		"cancelled": {"add tests", `{"outcome":"cancelled","feedback":"add tests"}`},
		"abandoned": {"", `{"outcome":"cancelled"}`},
	} {
		r := running(t, "plan", abi.PermissionBypass)
		x, p := openReview(t, r, "_x.ai/exit_plan_mode", `{"sessionId":"s-1","toolCallId":"c1","planContent":"# Plan"}`)
		if x.Type != abi.InteractionReview || p.Key != x.Key || p.Text != "# Plan" || !p.FeedbackInReview || p.ExecutionMode != "default" || p.PlanningMode != "plan" || p.Turn != "t1" {
			t.Errorf("interaction %+v\nproposal %+v", x, p)
		}
		for _, d := range x.Decisions {
			if d.ID == "abandoned" || d.Permission != "" {
				t.Errorf("decision %+v", d)
			}
		}
		reply := acptest.One(t, r.Approve(x.Key, decision, abi.PermissionBypass), acptest.Reply)
		if decision == "cancelled" {
			r = running(t, "plan", "")
			x, _ = openReview(t, r, "_x.ai/exit_plan_mode", `{"sessionId":"s-1","toolCallId":"c1","planContent":"# Plan"}`)
			reply = acptest.One(t, r.Answer(x.Key, abi.Reply{Decision: decision, Feedback: c.feedback}), acptest.Reply)
		}
		if reply.Error != nil || string(reply.Result) != c.want {
			t.Errorf("%s: %+v %s", decision, reply.Error, reply.Result)
		}
	}
}

func TestP4_AfterAnApprovalTheHostStandsInForTheRememberedPermission(t *testing.T) {
	r := running(t, "plan", abi.PermissionBypass)
	x, _ := openReview(t, r, "_x.ai/exit_plan_mode", `{"sessionId":"s-1","toolCallId":"c1","planContent":null}`)
	before := len(r.All)
	r.Approve(x.Key, "approved", abi.PermissionBypass)
	o := acptest.One(t, r.Notify("session/update", told("default")), acptest.Observed)
	if o.Mode != "default" || o.Permission != abi.PermissionBypass {
		t.Errorf("observed %+v", o)
	}
	if sent := r.Sent(before); strings.Contains(sent, "call") {
		t.Errorf("sent %s", sent)
	}
}

func TestAReviewWithoutATextSaysSo(t *testing.T) {
	_, p := openReview(t, running(t, "plan", ""), "_x.ai/exit_plan_mode", `{"sessionId":"s-1","toolCallId":"c1","planContent":null}`)
	if !strings.Contains(p.Text, "no text") {
		t.Errorf("proposal %+v", p)
	}
}

func TestRequestsThatTheLeaderWrapsAreUnwrapped(t *testing.T) {
	review := `{"sessionId":"s-1","toolCallId":"c1","planContent":"# P"}`
	for method, params := range map[string]string{
		"_x.ai/exit_plan_mode":    `{"method":"x.ai/exit_plan_mode","params":` + review + `}`,
		"x.ai/exit_plan_mode":     `{"method":"_x.ai/exit_plan_mode","params":` + review + `}`,
		"x.ai/ask_user_question":  `{"method":"x.ai/exit_plan_mode","params":` + review + `}`,
		"_x.ai/ask_user_question": review[:0] + `{"method":"_x.ai/exit_plan_mode","params":` + review + `}`,
	} {
		r := running(t, "plan", "")
		r.Schemas = nil
		x, p := openReview(t, r, method, params)
		if x.NativeSession != "s-1" || p.Text != "# P" {
			t.Errorf("%s: %+v %+v", method, x, p)
		}
		acptest.One(t, r.Withdraw(x.Key, abi.WithdrawExpired), acptest.Reply)
	}
	r := running(t, "default", "")
	effects := r.Notify("x.ai/session/prompt_complete", `{"method":"x.ai/session/prompt_complete","params":{"sessionId":"s-1","promptId":"client-t1","stopReason":"end_turn"}}`)
	acptest.One(t, effects, acptest.TimerSet)
	// A name without the underscore is the same request.
	_, effects = r.Ask("1", "x.ai/ask_user_question", `{"sessionId":"s-1","toolCallId":"c1","questions":`+twoQuestions+`,"mode":"default"}`)
	acptest.One(t, effects, acptest.Opened)
}

func TestA1_AnInteractionThatGrokSettlesByItselfExpires(t *testing.T) {
	r := running(t, "default", "")
	x := ask(t, r, "default", twoQuestions)
	resolved := `{"sessionId":"s-1","update":{"sessionUpdate":"interaction_resolved","tool_call_id":"c1"}}`
	if c := acptest.One(t, r.Notify("_x.ai/session_notification", resolved), acptest.Closed); c.Key != x.Key || c.Disposition != abi.DispositionExpired {
		t.Errorf("closed %+v", c)
	}
	// After our own answer it says nothing new.
	x = ask(t, r, "default", twoQuestions)
	r.Answer(x.Key, abi.Reply{Fields: []abi.FieldAnswer{answered("0", 0)}})
	acptest.None(t, r.Notify("_x.ai/session_notification", resolved), acptest.Closed)
}
