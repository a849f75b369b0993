package codex_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
)

func running(t *testing.T) *rig {
	t.Helper()
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	return r
}

func (r *rig) answer(key string, reply abi.Reply) []abi.Effect {
	r.t.Helper()
	return r.step("answer", abi.Event{Answer: &abi.Answer{Key: key, Reply: reply}})
}

func (r *rig) withdraw(key string, why abi.WithdrawReason) []abi.Effect {
	r.t.Helper()
	return r.step("withdraw", abi.Event{Withdraw: &abi.Withdraw{Key: key, Reason: why}})
}

const where = `"threadId":"thread-1","turnId":"n1","itemId":"i1"`

const questions = `{` + where + `,"isBlocking":true,"autoResolutionMs":null,"questions":[` +
	`{"id":"color","header":"Color","question":"Which?","isOther":true,"isSecret":false,"options":[{"label":"Red, light","description":"warm"},{"label":"Red, light","description":"again"}]},` +
	`{"id":"to\"ken","header":"T","question":"Token?","isOther":false,"isSecret":true,"options":null},` +
	`{"id":"why","header":"","question":"Why?","isOther":false,"isSecret":false,"options":[{"label":"No","description":""}]},` +
	`{"id":"none","question":"Any?","options":[{"label":"A"}]},{"id":"open","question":"Left open?"}]}`

func TestRule10_AQuestionKeepsEveryFieldAndAnswersGoByIndex(t *testing.T) {
	r := running(t)
	token, effects := r.ask(`7`, "item/tool/requestUserInput", questions)
	want := &abi.Interaction{
		Key: "request/" + token, Type: abi.InteractionQuestion, Token: token, Route: abi.RouteNative, Blocking: true,
		Turn: "t1", NativeSession: threadID, NativeTurn: "n1", NativeItem: "i1",
		Fields: []abi.Field{
			{ID: "color", Header: "Color", Text: "Which?", Other: true, Options: []abi.Option{
				{Value: "Red, light", Label: "Red, light", Description: "warm"}, {Value: "Red, light", Label: "Red, light", Description: "again"}}},
			{ID: `to"ken`, Header: "T", Text: "Token?", Other: true, Secret: true},
			{ID: "why", Text: "Why?", Options: []abi.Option{{Value: "No", Label: "No"}}},
			{ID: "none", Text: "Any?", Options: []abi.Option{{Value: "A", Label: "A"}}},
			{ID: "open", Text: "Left open?", Other: true},
		},
	}
	if diff := cmp.Diff(want, one(t, effects, opened)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := one(t, r.answer("request/"+token, abi.Reply{Fields: []abi.FieldAnswer{
		{Field: "why", State: abi.StateSkipped},
		{Field: `to"ken`, State: abi.StateAnswered, HasOther: true, Other: "SECRET-1"},
		{Field: "color", State: abi.StateAnswered, Selected: []int64{1}},
		{Field: "none", State: abi.StateAnswered},
		{Field: "stale", State: abi.StateAnswered, HasOther: true, Other: "x"},
	}}), reply)
	// C5: skipped and unanswered are left out, none chosen is an empty list.
	if want := `{"answers":{"color":{"answers":["Red, light"]},"to\"ken":{"answers":["SECRET-1"]},"none":{"answers":[]}}}`; got.Token != token || string(got.Result) != want {
		t.Errorf("reply = %s\nwant    %s", got.Result, want)
	}
	if got := one(t, r.notify("serverRequest/resolved", `{"threadId":"thread-1","requestId":7}`), closed); got.Disposition != abi.DispositionAnswered {
		t.Errorf("closed = %+v", got)
	}
}

func TestRule12_SkippingEverythingIsSkipped(t *testing.T) {
	r := running(t)
	token, _ := r.ask(`7`, "item/tool/requestUserInput", questions)
	got := one(t, r.answer("request/"+token, abi.Reply{Fields: []abi.FieldAnswer{{Field: "color", State: abi.StateSkipped}}}), reply)
	if string(got.Result) != `{"answers":{}}` {
		t.Errorf("reply = %s", got.Result)
	}
	if got := one(t, r.notify("serverRequest/resolved", `{"threadId":"thread-1","requestId":7}`), closed); got.Disposition != abi.DispositionSkipped {
		t.Errorf("closed = %+v", got)
	}
}

func TestA1_AQuestionThatResolvesItselfIsExpired(t *testing.T) {
	r := running(t)
	token, effects := r.ask(`7`, "item/tool/requestUserInput", strings.Replace(questions, `"isBlocking":true,"autoResolutionMs":null`, `"isBlocking":false,"autoResolutionMs":60000`, 1))
	if one(t, effects, opened).Blocking {
		t.Error("the question blocks")
	}
	// T4: "7" is not 7.
	none(t, r.notify("serverRequest/resolved", `{"threadId":"thread-1","requestId":"7"}`), closed)
	got := one(t, r.notify("serverRequest/resolved", `{"threadId":"thread-1","requestId":7}`), closed)
	if got.Key != "request/"+token || got.Disposition != abi.DispositionExpired {
		t.Errorf("closed = %+v", got)
	}
	// A stale card answers nothing.
	none(t, r.answer("request/"+token, abi.Reply{}), reply)
	none(t, r.withdraw("request/"+token, abi.WithdrawStop), reply)
}

func TestA4_WhatATurnLeftOpenExpiresWithIt(t *testing.T) {
	r := running(t)
	token, _ := r.ask(`7`, "item/tool/requestUserInput", questions)
	effects := r.completed("n1", "interrupted")
	if got := one(t, effects, closed); got.Key != "request/"+token || got.Disposition != abi.DispositionExpired {
		t.Errorf("closed = %+v", got)
	}
	none(t, r.notify("serverRequest/resolved", `{"threadId":"thread-1","requestId":7}`), closed)
}

func TestRule11_AnAsyncQuestionOpensOnceAndAgainInAnotherTurn(t *testing.T) {
	message := `{"type":"agentMessage","id":"call_1","text":"Which?","delivery":"async","questions":[{"title":"Which?","options":["Red","Blue"]},{"title":"Why?","options":null}]}`
	r := running(t)
	effects := r.item("started", "n1", message)
	want := &abi.Interaction{
		Key: "thread-1/n1/call_1", Type: abi.InteractionQuestion, Route: abi.RouteFollowUp, Turn: "t1",
		NativeSession: threadID, NativeTurn: "n1", NativeItem: "call_1",
		Fields: []abi.Field{
			{ID: "0", Text: "Which?", Other: true, Options: []abi.Option{{Value: "Red", Label: "Red"}, {Value: "Blue", Label: "Blue"}}},
			{ID: "1", Text: "Why?", Other: true},
		},
	}
	if diff := cmp.Diff(want, one(t, effects, opened)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none(t, r.item("completed", "n1", message), opened)
	r.completed("n1", "completed")
	r.begin("t2", "n2", abi.Settings{})
	if got := one(t, r.item("started", "n2", message), opened); got.Key != "thread-1/n2/call_1" || got.Turn != "t2" {
		t.Errorf("opened = %+v", got)
	}
}

const command = `{"kind":"command",` + where + `,"reason":"to write","command":"/bin/bash -lc 'echo hi > f'","cwd":"/w","networkApprovalContext":null,` +
	`"proposedExecpolicyAmendment":["echo","hi"],"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo","hi"]}},"cancel"]}`

func TestC7_AnApprovalOffersWhatTheRequestOffers(t *testing.T) {
	r := running(t)
	token, effects := r.ask(`0`, "item/commandExecution/requestApproval", command)
	want := &abi.Interaction{
		Key: "request/" + token, Type: abi.InteractionPermission, Token: token, Route: abi.RouteNative, Blocking: true,
		Turn: "t1", NativeSession: threadID, NativeTurn: "n1", NativeItem: "i1",
		Title: "Run a command", Text: "to write", Command: "/bin/bash -lc 'echo hi > f'", Cwd: "/w", Tool: "execute",
		Decisions: []abi.Decision{
			{ID: "accept", Label: "Allow", Kind: abi.AllowOnce},
			{ID: "acceptWithExecpolicyAmendment", Label: "Allow, and do not ask again for commands that start with: echo hi", Kind: abi.AllowAlways},
			{ID: "cancel", Label: "Decline and stop the turn", Kind: abi.DecisionCancel},
		},
		Detail: abi.Raw(`{"proposedExecpolicyAmendment":["echo","hi"]}`),
	}
	if diff := cmp.Diff(want, one(t, effects, opened)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestC7_EveryDecisionIsAnsweredInTheProvidersWords(t *testing.T) {
	network := strings.Replace(command, `["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo","hi"]}},"cancel"]`,
		`["acceptForSession",{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"a.b","action":"allow"}}},{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"a.b","action":"deny"}}},"wave","decline"]`, 1)
	unknown := strings.Replace(command, `"accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo","hi"]}},"cancel"`, `"wave",{"bow":{}}`, 1)
	absent := strings.Replace(command, `"availableDecisions"`, `"x"`, 1)
	legacy := `{"conversationId":"thread-1","callId":"c","approvalId":null,"command":["rm","-rf","a b","it's"],"cwd":"/w","reason":null,"parsedCmd":[]}`
	perms := `{` + where + `,"environmentId":"local","cwd":"/w","reason":"net","permissions":{"network":{"enabled":true},"fileSystem":null}}`
	for _, c := range []struct {
		name, method, params string
		want                 [][3]string // id, kind, native result
	}{
		{"command", "item/commandExecution/requestApproval", command, [][3]string{
			{"accept", "allow_once", `{"decision":"accept"}`},
			{"acceptWithExecpolicyAmendment", "allow_always", `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo","hi"]}}}`},
			{"cancel", "cancel", `{"decision":"cancel"}`}}},
		{"network", "item/commandExecution/requestApproval", network, [][3]string{
			{"acceptForSession", "allow_always", `{"decision":"acceptForSession"}`},
			{"applyNetworkPolicyAmendment", "allow_always", `{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"a.b","action":"allow"}}}}`},
			{"applyNetworkPolicyAmendment-2", "reject_always", `{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"a.b","action":"deny"}}}}`},
			{"decline", "reject_once", `{"decision":"decline"}`}}},
		{"none known", "item/commandExecution/requestApproval", unknown, [][3]string{
			{"decline", "reject_once", `{"decision":"decline"}`},
			{"cancel", "cancel", `{"decision":"cancel"}`}}},
		{"no list", "item/commandExecution/requestApproval", absent, [][3]string{
			{"accept", "allow_once", `{"decision":"accept"}`},
			{"acceptForSession", "allow_always", `{"decision":"acceptForSession"}`},
			{"decline", "reject_once", `{"decision":"decline"}`},
			{"cancel", "cancel", `{"decision":"cancel"}`}}},
		{"edit", "item/fileChange/requestApproval", `{` + where + `,"reason":null,"grantRoot":null}`, [][3]string{
			{"accept", "allow_once", `{"decision":"accept"}`},
			{"acceptForSession", "allow_always", `{"decision":"acceptForSession"}`},
			{"decline", "reject_once", `{"decision":"decline"}`},
			{"cancel", "cancel", `{"decision":"cancel"}`}}},
		{"permissions", "item/permissions/requestApproval", perms, [][3]string{
			{"turn", "allow_once", `{"permissions":{"network":{"enabled":true}},"scope":"turn"}`},
			{"session", "allow_always", `{"permissions":{"network":{"enabled":true}},"scope":"session"}`},
			{"decline", "reject_once", `{"permissions":{},"scope":"turn"}`}}},
		{"legacy", "execCommandApproval", legacy, [][3]string{
			{"approved", "allow_once", `{"decision":"approved"}`},
			{"approved_for_session", "allow_always", `{"decision":"approved_for_session"}`},
			{"denied", "reject_once", `{"decision":{"denied":{"rejection":"The user declined."}}}`},
			{"abort", "cancel", `{"decision":"abort"}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.want {
				r := running(t)
				token, effects := r.ask(`0`, c.method, c.params)
				x := one(t, effects, opened)
				var ids [][2]string
				for _, d := range x.Decisions {
					ids = append(ids, [2]string{d.ID, string(d.Kind)})
				}
				var want [][2]string
				for _, w := range c.want {
					want = append(want, [2]string{w[0], w[1]})
				}
				if diff := cmp.Diff(want, ids); diff != "" {
					t.Fatalf("decisions (-want +got):\n%s", diff)
				}
				got := one(t, r.answer(x.Key, abi.Reply{Decision: c.want[i][0]}), reply)
				if got.Token != token || string(got.Result) != c.want[i][2] {
					t.Errorf("%s: reply = %s", c.want[i][0], got.Result)
				}
			}
		})
	}
}

func TestADecisionThatWasNotOfferedAllowsNothing(t *testing.T) {
	r := running(t)
	token, _ := r.ask(`0`, "item/commandExecution/requestApproval", command)
	if got := one(t, r.answer("request/"+token, abi.Reply{Decision: "acceptForSession"}), reply); string(got.Result) != `{"decision":"cancel"}` {
		t.Errorf("reply = %s", got.Result)
	}
}

func TestC8_AnOlderApprovalShowsTheWholeCommandAndTakesFeedback(t *testing.T) {
	r := running(t)
	_, effects := r.ask(`"x"`, "execCommandApproval", `{"conversationId":"thread-1","callId":"c","command":["rm","-rf","a b","it's",""],"cwd":"/w","reason":"r"}`)
	x := one(t, effects, opened)
	if want := `rm -rf 'a b' 'it'\''s' ''`; x.Command != want || x.Turn != "t1" {
		t.Errorf("command = %q, turn = %q", x.Command, x.Turn)
	}
	if x.Title != "Run a command" || x.Tool != "execute" {
		t.Errorf("opened = %+v", x)
	}
	_, effects = r.ask(`"y"`, "applyPatchApproval", `{"conversationId":"thread-1","callId":"c","fileChanges":{"a":{"type":"add","content":"x"}},"reason":null}`)
	if patch := one(t, effects, opened); patch.Title != "Change files" || patch.Tool != "edit" || string(patch.Detail) != `{"fileChanges":{"a":{"type":"add","content":"x"}}}` {
		t.Errorf("opened = %+v", patch)
	}
	if got := one(t, r.answer(x.Key, abi.Reply{Decision: "denied", Feedback: "not that"}), reply); string(got.Result) != `{"decision":{"denied":{"rejection":"not that"}}}` {
		t.Errorf("reply = %s", got.Result)
	}
}

func TestC6_AnEditApprovalShowsTheChangesOfItsItem(t *testing.T) {
	r := running(t)
	change := `[{"path":"/w/a","kind":{"type":"add"},"diff":"hi\n"}]`
	item := func(status string) string {
		return `{"type":"fileChange","id":"i1","status":"` + status + `","changes":` + change + `}`
	}
	r.item("started", "n1", item("inProgress"))
	params := `{` + where + `,"reason":null,"grantRoot":"/w"}`
	_, effects := r.ask(`0`, "item/fileChange/requestApproval", params)
	x := one(t, effects, opened)
	if x.Title != "Change files: /w/a" || x.Tool != "edit" || string(x.Detail) != `{"changes":`+change+`,"grantRoot":"/w"}` {
		t.Errorf("opened = %+v %s", x, x.Detail)
	}
	r.notify("item/fileChange/patchUpdated", `{`+where+`,"changes":[{"path":"/w/b","diff":"x"}]}`)
	_, effects = r.ask(`1`, "item/fileChange/requestApproval", params)
	if x := one(t, effects, opened); x.Title != "Change files: /w/b" {
		t.Errorf("title = %q", x.Title)
	}
	r.item("completed", "n1", item("completed"))
	_, effects = r.ask(`2`, "item/fileChange/requestApproval", params)
	if x := one(t, effects, opened); x.Title != "Change files" || x.Text != `What would change is not known here; the item "i1" may tell it.` {
		t.Errorf("title = %q, text = %q", x.Title, x.Text)
	}
}

func TestA7_AChildsApprovalIsOpenedWithTheParentsTurn(t *testing.T) {
	r := running(t)
	_, effects := r.ask(`3`, "item/commandExecution/requestApproval", strings.NewReplacer("thread-1", "child-1", `"n1"`, `"c1"`).Replace(command))
	x := one(t, effects, opened)
	if x.Turn != "t1" || x.NativeSession != "child-1" || x.NativeTurn != "c1" {
		t.Errorf("opened = %+v", x)
	}
	// The parent's end leaves it open, the child's own end does not.
	none(t, r.completed("n1", "completed"), closed)
	one(t, r.notify("turn/completed", `{"threadId":"child-1","turn":{"id":"c1","status":"completed"}}`), closed)
}

func TestRule14_AStopInterruptsTheTurnBeforeItTakesAQuestionBack(t *testing.T) {
	r := running(t)
	first, _ := r.ask(`7`, "item/tool/requestUserInput", questions)
	second, _ := r.ask(`8`, "item/tool/requestUserInput", questions)
	// An empty answer alone would let the model go on (seen on 0.171.0): the
	// interrupt has to be on the pipe before it.
	effects := r.withdraw("request/"+first, abi.WithdrawStop)
	if len(effects) != 2 || effects[0].Call == nil || effects[0].Call.Method != "turn/interrupt" || effects[1].Reply == nil {
		t.Fatalf("effects %s", abi.AppendEffects(nil, effects))
	}
	none(t, r.withdraw("request/"+second, abi.WithdrawStop), call)
	none(t, r.stop("t1"), call)
	// A steer goes on in the same turn.
	r = running(t)
	token, _ := r.ask(`7`, "item/tool/requestUserInput", questions)
	none(t, r.withdraw("request/"+token, abi.WithdrawSteer), call)
}

func TestRule14_WithdrawingRepliesInTheWayThatCodexUnderstands(t *testing.T) {
	for _, c := range []struct {
		name, method, params string
		stop, steer          string
	}{
		{"question", "item/tool/requestUserInput", questions, `{"answers":{}}`, `{"answers":{}}`},
		{"command", "item/commandExecution/requestApproval", command, `{"decision":"cancel"}`, `{"decision":"decline"}`},
		{"command without cancel", "item/commandExecution/requestApproval", strings.Replace(command, `,"cancel"]`, `]`, 1), `{"decision":"decline"}`, `{"decision":"decline"}`},
		{"edit", "item/fileChange/requestApproval", `{` + where + `}`, `{"decision":"cancel"}`, `{"decision":"decline"}`},
		{"permissions", "item/permissions/requestApproval", `{` + where + `,"permissions":{}}`, `{"permissions":{},"scope":"turn"}`, `{"permissions":{},"scope":"turn"}`},
		{"legacy", "applyPatchApproval", `{"conversationId":"thread-1","callId":"c","fileChanges":{}}`, `{"decision":"abort"}`, `{"decision":{"denied":{"rejection":"The user declined."}}}`},
		{"form", "mcpServer/elicitation/request", `{"threadId":"thread-1","turnId":"n1","serverName":"s","mode":"form","message":"m","requestedSchema":{}}`,
			`{"action":"cancel","content":null,"_meta":null}`, `{"action":"cancel","content":null,"_meta":null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for why, want := range map[abi.WithdrawReason]string{
				abi.WithdrawStop: c.stop, abi.WithdrawClosed: c.stop, abi.WithdrawExpired: c.stop,
				abi.WithdrawSteer: c.steer, abi.WithdrawUnsolicited: c.steer,
			} {
				r := running(t)
				token, _ := r.ask(`0`, c.method, c.params)
				if got := one(t, r.withdraw("request/"+token, why), reply); string(got.Result) != want || got.Error != nil {
					t.Errorf("%s: reply = %s", why, got.Result)
				}
				none(t, r.withdraw("request/"+token, why), reply)
				disposition := abi.DispositionCancelled
				if why == abi.WithdrawExpired {
					disposition = abi.DispositionExpired
				}
				if got := one(t, r.notify("serverRequest/resolved", `{"threadId":"thread-1","requestId":0}`), closed); got.Disposition != disposition {
					t.Errorf("%s: closed = %+v", why, got)
				}
			}
		})
	}
}

func TestRule15_FormsAndURLsPassThroughUntouched(t *testing.T) {
	schema := `{"type":"object","properties":{"question_1":{"type":"string","oneOf":[{"const":"a"}]}}}`
	r := running(t)
	_, effects := r.ask(`0`, "mcpServer/elicitation/request", `{"threadId":"thread-1","turnId":"n1","serverName":"srv","mode":"form","_meta":{"k":1},"message":"Fill in","requestedSchema":`+schema+`}`)
	x := one(t, effects, opened)
	if x.Type != abi.InteractionForm || string(x.Schema) != schema || x.Text != "Fill in" || x.Title != "srv" || string(x.Detail) != `{"_meta":{"k":1}}` || x.Scope != abi.ScopeTurn || x.Turn != "t1" {
		t.Errorf("opened = %+v", x)
	}
	if got := one(t, r.answer(x.Key, abi.Reply{Action: abi.ActionAccept, Content: abi.Raw(`{"question_1":"a"}`)}), reply); string(got.Result) != `{"action":"accept","content":{"question_1":"a"},"_meta":null}` {
		t.Errorf("reply = %s", got.Result)
	}

	r = ready(t)
	_, effects = r.ask(`"u"`, "mcpServer/elicitation/request", `{"threadId":"thread-1","turnId":null,"serverName":"srv","mode":"url","message":"Sign in","url":"https://x.test/","elicitationId":"e1"}`)
	x = one(t, effects, opened)
	if x.Type != abi.InteractionURL || x.URL != "https://x.test/" || x.Scope != abi.ScopeSession || x.NativeItem != "e1" || x.Turn != "" {
		t.Errorf("opened = %+v", x)
	}
	if got := one(t, r.answer(x.Key, abi.Reply{Action: abi.ActionDecline}), reply); string(got.Result) != `{"action":"decline","content":null,"_meta":null}` {
		t.Errorf("reply = %s", got.Result)
	}
}

func TestA3_AnElicitationOfAnUnknownKindCanBeRefused(t *testing.T) {
	r := running(t)
	_, effects := r.ask(`0`, "mcpServer/elicitation/request", `{"threadId":"thread-1","turnId":"n1","serverName":"srv","mode":"openai/userVerification","title":"Verify","description":"touch it","challenge":"c"}`)
	x := one(t, effects, opened)
	if x.Type != abi.InteractionPermission || len(x.Decisions) != 2 || x.Text != "Verify\n\ntouch it" {
		t.Errorf("opened = %+v", x)
	}
	if got := one(t, r.answer(x.Key, abi.Reply{Decision: "decline"}), reply); string(got.Result) != `{"action":"decline","content":null,"_meta":null}` {
		t.Errorf("reply = %s", got.Result)
	}
}

func TestA3_RequestsThatNeedNoPersonAreAnsweredAtOnce(t *testing.T) {
	r := running(t)
	_, effects := r.ask(`0`, "currentTime/read", `{"threadId":"thread-1"}`)
	if got := one(t, effects, reply); string(got.Result) != `{"currentTimeAt":1795998657}` {
		t.Errorf("reply = %s", got.Result)
	}
	_, effects = r.ask(`1`, "item/tool/call", `{`+where+`,"tool":"x","arguments":{}}`)
	if got := one(t, effects, reply); at(t, got.Result, "success") != false {
		t.Errorf("reply = %s", got.Result)
	}
	for _, method := range []string{"account/chatgptAuthTokens/refresh", "attestation/generate", "who/knows"} {
		_, effects = r.ask(`2`, method, `{}`)
		if got := one(t, effects, reply); got.Error == nil || got.Error.Code != -32601 {
			t.Errorf("%s: reply = %+v", method, got)
		}
	}
}
