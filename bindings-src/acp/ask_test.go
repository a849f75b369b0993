package acp_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

func TestC7_APermissionOffersWhatTheRequestOffersAndNothingElse(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		r.Notify("session/update", toolCall("c1", "execute", "pending"))
		_, effects := r.Ask("7", "session/request_permission", permission("c1", "execute"))
		x := acptest.One(t, effects, acptest.Opened)
		if x.Type != abi.InteractionPermission || x.Tool != "execute" || x.Command != "make" || x.Turn != "t1" || x.Route != abi.RouteNative || !x.Blocking || x.NativeItem != "c1" {
			t.Errorf("interaction %+v", x)
		}
		var ids []string
		for _, d := range x.Decisions {
			ids = append(ids, d.ID+"="+string(d.Kind))
		}
		if got := strings.Join(ids, " "); got != "always=allow_always yes=allow_once no=reject_once" {
			t.Errorf("decisions %s", got)
		}
		for decision, want := range map[string]string{"yes": `{"outcome":{"outcome":"selected","optionId":"yes"}}`, "gone": `{"outcome":{"outcome":"cancelled"}}`} {
			_, effects := r.Ask("8", "session/request_permission", permission("c1", "execute"))
			x := acptest.One(t, effects, acptest.Opened)
			reply := acptest.One(t, r.Answer(x.Key, abi.Reply{Decision: decision}), acptest.Reply)
			if string(reply.Result) != want {
				t.Errorf("%s: %s", decision, reply.Result)
			}
			// A second answer does nothing.
			acptest.None(t, r.Answer(x.Key, abi.Reply{Decision: "always"}), acptest.Reply)
		}
	})
}

func TestADecisionThatCannotBeShownLeavesOnlyCancel(t *testing.T) {
	r := begin(t, claudeAgent, abi.Settings{})
	_, effects := r.Ask("7", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c"},"options":[{"optionId":"odd","name":"Odd","kind":"allow_forever"},{"kind":"allow_once"},7]}`)
	x := acptest.One(t, effects, acptest.Opened)
	if len(x.Decisions) != 1 || x.Decisions[0].Kind != abi.DecisionCancel {
		t.Fatalf("decisions %+v", x.Decisions)
	}
	if reply := acptest.One(t, r.Answer(x.Key, abi.Reply{Decision: x.Decisions[0].ID}), acptest.Reply); string(reply.Result) != `{"outcome":{"outcome":"cancelled"}}` {
		t.Errorf("reply %s", reply.Result)
	}
}

func TestStandInNeedsToKnowWhatAnEditIs(t *testing.T) {
	for kind, want := range map[string]string{"edit": "edit", "delete": "edit", "move": "edit", "execute": "execute", "read": "read", "search": "read", "fetch": "fetch", "think": "other", "other": "other", "": "other", "novel": "other"} {
		r := begin(t, grokAgent, abi.Settings{})
		_, effects := r.Ask("7", "session/request_permission", permission("c1", kind))
		if x := acptest.One(t, effects, acptest.Opened); x.Tool != want {
			t.Errorf("kind %q is %q, want %q", kind, x.Tool, want)
		}
	}
	r := begin(t, claudeAgent, abi.Settings{})
	r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"other","_meta":{"claudeCode":{"toolName":"mcp__db__query"}}}`))
	_, effects := r.Ask("7", "session/request_permission", permission("c1", "other"))
	if x := acptest.One(t, effects, acptest.Opened); x.Tool != "mcp" {
		t.Errorf("tool %q", x.Tool)
	}
}

func TestA1_ARequestTheAgentTakesBackExpiresAndIsNotAnswered(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		// A string and a number with the same digits are two requests (T4).
		_, first := r.Ask(`7`, "session/request_permission", permission("c1", "execute"))
		_, second := r.Ask(`"7"`, "session/request_permission", permission("c2", "execute"))
		a1, a2 := acptest.One(t, first, acptest.Opened), acptest.One(t, second, acptest.Opened)
		c := acptest.One(t, r.Notify("$/cancel_request", `{"requestId":"7"}`), acptest.Closed)
		if c.Key != a2.Key || c.Disposition != abi.DispositionExpired {
			t.Errorf("closed %+v, want %s", c, a2.Key)
		}
		acptest.None(t, r.Answer(a2.Key, abi.Reply{Decision: "yes"}), acptest.Reply)
		acptest.One(t, r.Answer(a1.Key, abi.Reply{Decision: "yes"}), acptest.Reply)
	})
}

func TestRule14_EveryRequestIsTakenBackInTheAgentsOwnWords(t *testing.T) {
	form := `{"sessionId":"s-1","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`
	url := `{"sessionId":"s-1","mode":"url","message":"m","url":"https://x.example/","elicitationId":"e1"}`
	for _, c := range []struct {
		agent          *agent
		method, params string
		want           string
	}{
		{claudeAgent, "session/request_permission", permission("c1", "execute"), `{"outcome":{"outcome":"cancelled"}}`},
		{claudeAgent, "elicitation/create", form, `{"action":"cancel"}`},
		{claudeAgent, "elicitation/create", url, `{"action":"cancel"}`},
		{kimchiAgent, "elicitation/create", form, `{"action":"cancel"}`},
		{grokAgent, "_x.ai/exit_plan_mode", `{"sessionId":"s-1","toolCallId":"c1","planContent":"p"}`, `{"outcome":"cancelled"}`},
		{grokAgent, "_x.ai/ask_user_question", `{"sessionId":"s-1","toolCallId":"c1","questions":[{"question":"q","options":[]}]}`, `{"outcome":"cancelled"}`},
	} {
		for _, why := range []abi.WithdrawReason{abi.WithdrawStop, abi.WithdrawSteer, abi.WithdrawExpired, abi.WithdrawClosed, abi.WithdrawUnsolicited} {
			r := begin(t, c.agent, abi.Settings{})
			_, effects := r.Ask("7", c.method, c.params)
			x := acptest.One(t, effects, acptest.Opened)
			effects = r.Withdraw(x.Key, why)
			reply := acptest.One(t, effects, acptest.Reply)
			if reply.Error != nil || string(reply.Result) != c.want {
				t.Errorf("%s %s %s: %+v %s", c.agent, c.method, why, reply.Error, reply.Result)
			}
			// When the turn is to end the cancel goes first, and once.
			ends := why == abi.WithdrawStop || why == abi.WithdrawSteer || why == abi.WithdrawClosed
			notes := acptest.Only(effects, acptest.Note)
			if ends && (len(notes) != 1 || effects[0].Notify == nil) || !ends && len(notes) != 0 {
				t.Errorf("%s %s %s: %s", c.agent, c.method, why, abi.AppendEffects(nil, effects))
			}
			if why == abi.WithdrawStop {
				acptest.None(t, r.Stop("t1"), acptest.Note)
			}
		}
	}
}

func TestA7_AChildSessionsPermissionIsAskedInTheTurnThatRunsIt(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		_, effects := r.Ask("7", "session/request_permission", strings.ReplaceAll(permission("c1", "execute"), `"s-1"`, `"child-1"`))
		x := acptest.One(t, effects, acptest.Opened)
		if x.Turn != "t1" || x.NativeSession != "child-1" || x.Scope != abi.ScopeTurn {
			t.Errorf("interaction %+v", x)
		}
		acptest.One(t, r.Answer(x.Key, abi.Reply{Decision: "yes"}), acptest.Reply)
		// What the child says is the child's (Q3).
		e := r.Notify("session/update", strings.ReplaceAll(toolCall("c1", "execute", "completed"), `"s-1"`, `"child-1"`))
		if i := acptest.One(t, e, acptest.Item); i.Child != "child-1" || i.Turn != "t1" || i.ID == "c1" {
			t.Errorf("item %+v", i)
		}
		acptest.None(t, r.Notify("session/update", strings.ReplaceAll(optionsUpdate(t, claudeAgent.session), `"s-1"`, `"child-1"`)), acptest.Catalog)
	})
}

func TestA6_TwoSessionsRequestsDoNotBlockEachOther(t *testing.T) {
	r := begin(t, grokAgent, abi.Settings{Mode: "plan"})
	_, effects := r.Ask("1", "_x.ai/exit_plan_mode", `{"sessionId":"child-1","toolCallId":"c1","planContent":"child's"}`)
	child := acptest.One(t, effects, acptest.Opened)
	_, effects = r.Ask("2", "session/request_permission", permission("c1", "execute"))
	own := acptest.One(t, effects, acptest.Opened)
	if child.Key == own.Key {
		t.Fatalf("one key for both: %s", own.Key)
	}
	acptest.One(t, r.Answer(own.Key, abi.Reply{Decision: "yes"}), acptest.Reply)
	acptest.One(t, r.Answer(child.Key, abi.Reply{Decision: "cancelled"}), acptest.Reply)
}

func TestA3_ARequestOfAnUnknownKindIsAnswered(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		r.Schemas = nil
		_, effects := r.Ask("7", "_novel/request", `{}`)
		if reply := acptest.One(t, effects, acptest.Reply); reply.Error == nil || reply.Error.Code != -32601 {
			t.Errorf("reply %+v", reply)
		}
		// A form of an unknown kind is shown, and can only be refused.
		_, effects = r.Ask("8", "elicitation/create", `{"sessionId":"s-1","mode":"hologram","message":"look"}`)
		x := acptest.One(t, effects, acptest.Opened)
		if x.Text != "look" {
			t.Errorf("interaction %+v", x)
		}
		acptest.One(t, r.Answer(x.Key, abi.Reply{Action: abi.ActionDecline}), acptest.Reply)
	})
}

func TestRule15_FormsAndURLsPassThroughUntouched(t *testing.T) {
	const schema = `{"type":"object","properties":{"question_0":{"type":"string","oneOf":[{"const":"a","title":"A"}]},"question_0_custom":{"type":"string"}},"required":["question_0"]}`
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		_, effects := r.Ask("7", "elicitation/create", `{"sessionId":"s-1","mode":"form","message":"m","requestedSchema":`+schema+`}`)
		x := acptest.One(t, effects, acptest.Opened)
		if x.Type != abi.InteractionForm || string(x.Schema) != schema || x.Text != "m" || x.Turn != "t1" {
			t.Errorf("interaction %+v", x)
		}
		reply := acptest.One(t, r.Answer(x.Key, abi.Reply{Action: abi.ActionAccept, Content: abi.Raw(`{"question_0":"a"}`)}), acptest.Reply)
		if string(reply.Result) != `{"action":"accept","content":{"question_0":"a"}}` {
			t.Errorf("reply %s", reply.Result)
		}
		_, effects = r.Ask("8", "elicitation/create", `{"sessionId":"s-1","mode":"url","message":"sign in","url":"https://x.example/?a=1","elicitationId":"e1"}`)
		x = acptest.One(t, effects, acptest.Opened)
		if x.Type != abi.InteractionURL || x.URL != "https://x.example/?a=1" || x.Scope != abi.ScopeTurn {
			t.Errorf("interaction %+v", x)
		}
		// Its end is told out of band.
		if c := acptest.One(t, r.Notify("elicitation/complete", `{"elicitationId":"e1"}`), acptest.Closed); c.Key != x.Key || c.Disposition != abi.DispositionAnswered {
			t.Errorf("closed %+v", c)
		}
		acptest.None(t, r.Notify("elicitation/complete", `{"elicitationId":"e1"}`), acptest.Closed)
		// The agent waits for its reply all the same, which the host gives (A3).
		if reply := acptest.One(t, r.Answer(x.Key, abi.Reply{Action: abi.ActionAccept}), acptest.Reply); string(reply.Result) != `{"action":"accept"}` {
			t.Errorf("reply %s", reply.Result)
		}
		// One that belongs to no session, or a URL outside of a turn, is the session's.
		r.Result("session/prompt", endTurn)
		for _, params := range []string{`{"requestId":"1","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}`,
			`{"sessionId":"s-1","mode":"url","message":"m","url":"https://x.example/","elicitationId":"e2"}`} {
			_, effects = r.Ask("9", "elicitation/create", params)
			if x := acptest.One(t, effects, acptest.Opened); x.Scope != abi.ScopeSession || x.Turn != "" {
				t.Errorf("%s: %+v", params, x)
			}
		}
		_, effects = r.Ask("10", "elicitation/create", `{"sessionId":"s-1","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}`)
		if x := acptest.One(t, effects, acptest.Opened); x.Scope != abi.ScopeTurn {
			t.Errorf("a form of a session outside of a turn: %+v", x)
		}
	})
}

func TestToolCallsAreMergedByID(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Write a","kind":"edit","status":"pending","rawInput":{"path":"a"}}`))
		r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","content":[{"type":"diff","path":"a","oldText":"","newText":"x"}],"locations":[{"path":"a"}],"title":null,"kind":null,"status":null}`))
		i := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`)), acptest.Item)
		if i.Title != "Write a" || i.Type != abi.ItemEdit || i.Status != abi.ItemCompleted || i.Turn != "t1" ||
			!strings.Contains(string(i.Data), `"rawInput":{"path":"a"}`) || !strings.Contains(string(i.Data), `"newText":"x"`) || !strings.Contains(string(i.Data), `"locations"`) {
			t.Errorf("item %+v data %s", i, i.Data)
		}
		// What says nothing new is not told again.
		if e := r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`)); len(e) != 0 {
			t.Errorf("told again: %s", abi.AppendEffects(nil, e))
		}
	})
}

func TestARefusedToolCallIsShownAsDeclined(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		r.Notify("session/update", toolCall("c1", "execute", "pending"))
		_, effects := r.Ask("7", "session/request_permission", permission("c1", "execute"))
		r.Answer(acptest.One(t, effects, acptest.Opened).Key, abi.Reply{Decision: "no"})
		if i := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed"}`)), acptest.Item); i.Status != abi.ItemDeclined {
			t.Errorf("item %+v", i)
		}
	})
}

func TestAnInteractionThatIsRaisedAgainAfterALoadIsARestoredReview(t *testing.T) {
	r := grokAgent.restored(t)
	_, effects := r.Ask("1", "_x.ai/exit_plan_mode", `{"sessionId":"s-1","toolCallId":"c1","planContent":"the plan"}`)
	x := acptest.One(t, effects, acptest.Opened)
	if x.Type != abi.InteractionReview || x.Scope != abi.ScopeRestored || x.Turn != "" {
		t.Errorf("interaction %+v", x)
	}
	if p := acptest.One(t, effects, acptest.Proposal); p.Key != x.Key || p.Text != "the plan" {
		t.Errorf("proposal %+v", p)
	}
	c := claudeAgent.restored(t)
	c.Replay("session/update", updateParams(`{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"switch_mode","rawInput":{"plan":"old"}}`))
	_, effects = c.Ask("1", "session/request_permission", exitPlan("c1", `{"plan":"the plan"}`, "0.101.0"))
	if x := acptest.One(t, effects, acptest.Opened); x.Type != abi.InteractionReview || x.Scope != abi.ScopeRestored {
		t.Errorf("interaction %+v", x)
	}
	// An ordinary permission is not: nobody is there to answer it.
	_, effects = c.Ask("2", "session/request_permission", permission("c2", "execute"))
	if x := acptest.One(t, effects, acptest.Opened); x.Scope != abi.ScopeTurn {
		t.Errorf("interaction %+v", x)
	}
}

func TestP1_AReviewThatIsRaisedAgainHasThePlanThatTheHistoryTold(t *testing.T) {
	replay := func(r *acptest.Rig, params string) []abi.Effect { return r.Replay("session/update", params) }
	late := func(r *acptest.Rig, params string) []abi.Effect { return r.Notify("session/update", params) }
	for name, tell := range map[string]func(*acptest.Rig, string) []abi.Effect{"while it loads": replay, "after its answer": late} {
		t.Run(name, func(t *testing.T) {
			r := claudeAgent.rig(t)
			r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = session, true, 2 })
			r.Result("initialize", claudeAgent.initialize)
			if name == "after its answer" {
				r.Result("session/load", claudeAgent.session)
			}
			acptest.None(t, tell(r, updateParams(`{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"switch_mode","status":"pending","title":"Approve Plan","rawInput":{}}`)), acptest.Item)
			acptest.None(t, tell(r, updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","rawInput":{"plan":"the plan"}}`)), acptest.Item)
			// What has ended is of no more use.
			tell(r, updateParams(`{"sessionUpdate":"tool_call","toolCallId":"c0","kind":"execute","status":"pending","title":"ls","rawInput":{"command":"ls"}}`))
			tell(r, updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c0","status":"completed"}`))
			if name == "while it loads" {
				r.Result("session/load", claudeAgent.session)
			}
			if saved := string(r.Save()); strings.Contains(saved, `"c0"`) {
				t.Error("an ended call of the history is kept")
			}
			_, effects := r.Ask("1", "session/request_permission", exitPlan("c1", `{}`, "0.101.0"))
			if p := acptest.One(t, effects, acptest.Proposal); p.Text != "the plan" {
				t.Errorf("proposal %+v", p)
			}
		})
	}
}

// exitPlan is the review of a version of the Claude adapter.
func exitPlan(id, input, version string) string {
	options := `{"kind":"allow_always","name":"Bypass","optionId":"bypassPermissions"},{"kind":"allow_always","name":"Auto","optionId":"auto"},{"kind":"allow_always","name":"Edits","optionId":"acceptEdits"},{"kind":"allow_once","name":"Manual","optionId":"default"},{"kind":"reject_once","name":"No","optionId":"plan"}`
	if version == "0.101.0" {
		options = `{"optionId":"exit-plan-clear-auto","name":"Clear","kind":"allow_always"},{"optionId":"exit-plan-default","name":"Manual","kind":"allow_once"},{"optionId":"exit-plan-auto","name":"Auto","kind":"allow_always"},{"optionId":"exit-plan-bypass","name":"Bypass","kind":"allow_always"},{"optionId":"reject","name":"No","kind":"reject_once"}`
	}
	return `{"sessionId":"s-1","toolCall":{"toolCallId":"` + id + `","title":"Approve Plan","kind":"switch_mode","rawInput":` + input + `,"content":[]},"options":[` + options + `]}`
}
