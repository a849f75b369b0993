package acp_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

func TestS1_AStopWhileSettingsAreBeingAppliedSendsNothingMore(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.ready(t)
		r.Submit("t1", abi.Settings{Mode: "plan"})
		effects := r.Stop("t1")
		if e := acptest.One(t, effects, acptest.Ended); e.Turn != "t1" || e.Status != abi.TurnInterrupted {
			t.Errorf("ended %+v", e)
		}
		acptest.None(t, effects, acptest.Note)
		// The next message waits for the setter that is under way, then sets its own.
		before := len(r.All)
		r.Submit("t2", abi.Settings{Mode: "default", Permission: abi.PermissionDefault})
		if sent := r.Sent(before); sent != "" {
			t.Fatalf("two setters at once:\n%s", sent)
		}
		grant(t, r, a.clone())
		if d := r.Waits("session/prompt").Delivers; d != "t2" {
			t.Errorf("the prompt delivers %s", d)
		}
		if sent := r.Sent(before); !strings.Contains(sent, "default") {
			t.Errorf("the mode of the stopped turn stays:\n%s", sent)
		}
	})
}

func TestS1_StoppingTwiceCancelsOnceAndALateStopHitsNothing(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		n := acptest.One(t, r.Stop("t1"), acptest.Note)
		if n.Method != "session/cancel" || member(t, n.Params, "sessionId") != session {
			t.Errorf("notified %+v", n)
		}
		if e := r.Stop("t1"); len(e) != 0 {
			t.Errorf("a second stop: %s", abi.AppendEffects(nil, e))
		}
		if e := acptest.One(t, r.Result("session/prompt", `{"stopReason":"cancelled"}`), acptest.Ended); e.Status != abi.TurnInterrupted || e.Turn != "t1" {
			t.Errorf("ended %+v", e)
		}
		r.Submit("t2", abi.Settings{})
		if e := r.Stop("t1"); len(e) != 0 {
			t.Errorf("a late stop: %s", abi.AppendEffects(nil, e))
		}
	})
}

func TestS2_WhateverACancelledPromptEndsWithItIsInterruptedOnce(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		for _, end := range []func(r *acptest.Rig) []abi.Effect{
			func(r *acptest.Rig) []abi.Effect { return r.Result("session/prompt", endTurn) },
			func(r *acptest.Rig) []abi.Effect { return r.Result("session/prompt", `{"stopReason":"novel"}`) },
			func(r *acptest.Rig) []abi.Effect { return r.Result("session/prompt", `null`) },
			func(r *acptest.Rig) []abi.Effect {
				return r.Fail("session/prompt", abi.CallError{Code: -32603, Message: "aborted"})
			},
			func(r *acptest.Rig) []abi.Effect {
				return r.Fail("session/prompt", abi.CallError{Local: "oversize"})
			},
		} {
			r := begin(t, a, abi.Settings{})
			r.Notify("session/update", chunk("half"))
			r.Stop("t1")
			// Late updates still belong to the turn.
			if d := acptest.One(t, r.Notify("session/update", chunk(" more")), acptest.Delta); d.Turn != "t1" {
				t.Errorf("delta %+v", d)
			}
			if e := acptest.One(t, end(r), acptest.Ended); e.Status != abi.TurnInterrupted || e.Turn != "t1" {
				t.Errorf("ended %+v", e)
			}
		}
	})
}

func TestS3_ACancelThatTheAgentCarriesOverIsNotASuccess(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		r.Stop("t1")
		r.Result("session/prompt", `{"stopReason":"cancelled"}`)
		r.Submit("t2", abi.Settings{})
		e := acptest.One(t, r.Result("session/prompt", `{"stopReason":"cancelled"}`), acptest.Ended)
		if e.Status != abi.TurnFailed || e.Code != "cancelled_unasked" || e.Message == "" || e.Turn != "t2" {
			t.Errorf("ended %+v", e)
		}
	})
}

func TestS3_TheEndOfAnOlderPromptDoesNotEndTheNewOne(t *testing.T) {
	r := begin(t, grokAgent, abi.Settings{})
	r.Stop("t1")
	r.Result("session/prompt", `{"stopReason":"cancelled"}`)
	r.Submit("t2", abi.Settings{})
	for _, late := range []string{`{"sessionId":"s-1","promptId":"client-t1","stopReason":"cancelled"}`} {
		if e := r.Notify("_x.ai/session/prompt_complete", late); len(e) != 0 {
			t.Errorf("%s", abi.AppendEffects(nil, e))
		}
	}
	if e := r.Notify("_x.ai/session_notification", `{"sessionId":"s-1","update":{"sessionUpdate":"turn_completed","prompt_id":"client-t1","stop_reason":"cancelled"}}`); len(e) != 0 {
		t.Errorf("%s", abi.AppendEffects(nil, e))
	}
	acptest.One(t, r.Result("session/prompt", endTurn), acptest.Ended)
}

func TestQ5_GroksTurnEndCountsOnceWhateverComesFirst(t *testing.T) {
	completed := `{"sessionId":"s-1","update":{"sessionUpdate":"turn_completed","prompt_id":"client-t1","stop_reason":"end_turn"}}`
	// The answer follows.
	r := begin(t, grokAgent, abi.Settings{})
	effects := r.Notify("_x.ai/session_notification", completed)
	acptest.None(t, effects, acptest.Ended)
	acptest.One(t, effects, acptest.TimerSet)
	r.Notify("_x.ai/session/prompt_complete", `{"sessionId":"s-1","promptId":"client-t1","stopReason":"end_turn"}`)
	acptest.One(t, r.Result("session/prompt", endTurn), acptest.Ended)
	if e := r.Timer("result"); len(e) != 0 {
		t.Errorf("%s", abi.AppendEffects(nil, e))
	}
	// The answer never comes.
	r = begin(t, grokAgent, abi.Settings{})
	r.Notify("_x.ai/session_notification", completed)
	if e := acptest.One(t, r.Timer("result"), acptest.Ended); e.Status != abi.TurnCompleted {
		t.Errorf("ended %+v", e)
	}
	// It comes after that, and after the next turn began.
	r.Submit("t2", abi.Settings{})
	if e := r.Result("session/prompt", endTurn); len(e) != 0 {
		t.Errorf("%s", abi.AppendEffects(nil, e))
	}
	acptest.One(t, r.Result("session/prompt", endTurn), acptest.Ended)
}

func TestS4_AfterALoadTheRememberedTupleIsAppliedWhateverTheAgentTells(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		for _, loaded := range []string{"as wished", "reset", "null"} {
			result := a.session
			switch loaded {
			case "as wished":
				if a.setMode != "" {
					result = withOption(t, withOption(t, a.session, a.setMode, "plan"), "model", "m-2")
				}
			case "null":
				result = "null"
			}
			r := a.rig(t)
			r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = session, true, 2 })
			r.Result("initialize", a.initialize)
			if c := r.Waits("session/load"); c == nil || !c.Restores || c.TimeoutMS != 0 {
				t.Fatalf("calls %+v", r.Calls)
			}
			ready := acptest.One(t, r.Result("session/load", result), acptest.Ready)
			if ready.Restored != abi.RestoredResumed || ready.NativeSession != session {
				t.Errorf("ready %+v", ready)
			}
			before := len(r.All)
			s := abi.Settings{Mode: "plan", Model: "m-2"}
			if loaded == "null" && a == grokAgent {
				s.Model = ""
			}
			r.Submit("t1", s)
			b := a.clone()
			if loaded != "null" {
				b.session = result
			}
			grant(t, r, b)
			sent := r.Sent(before)
			if s.Model != "" && !strings.Contains(sent, `"value":"m-2"`) || !strings.Contains(sent, `"plan"}`) {
				t.Errorf("%s: sent\n%s", loaded, sent)
			}
		}
	})
}

func TestS4_WhatIsResetAfterARestartGoesBackToTheAgentsOwn(t *testing.T) {
	restored := func(a *agent, own *abi.Settings) *acptest.Rig {
		r := a.rig(t)
		r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation, o.Own = session, true, 2, own })
		r.Result("initialize", a.initialize)
		r.Result("session/load", a.session)
		return r
	}
	submitted := func(r *acptest.Rig, a *agent, s abi.Settings) string {
		before := len(r.All)
		r.Submit("t1", s)
		grant(t, r, a.clone())
		return r.Sent(before)
	}
	eachAgent(t, func(t *testing.T, a *agent) {
		a = a.clone()
		a.session = withOption(t, a.session, "model", "m-2")
		own := &abi.Settings{Model: "m-1"}
		if sent := submitted(restored(a, own), a, abi.Settings{}); !strings.Contains(sent, `"value":"m-1"`) {
			t.Errorf("the model stays:\n%s", sent)
		}
		// What is still wished is no reset, and what a person chose in the agent itself,
		// where we never set anything, is the agent's own.
		if sent := submitted(restored(a, own), a, abi.Settings{Model: "m-2"}); strings.Contains(sent, `"value":"m-1"`) {
			t.Errorf("the wished model was put back:\n%s", sent)
		}
		if sent := submitted(restored(a, nil), a, abi.Settings{}); strings.Contains(sent, `"configId":"model"`) {
			t.Errorf("a model that was never ours was changed:\n%s", sent)
		}
	})
	kept := func(id, v string) *agent {
		a := claudeAgent.clone()
		a.session = withOption(t, a.session, id, v)
		return a
	}
	for _, c := range []struct {
		id, kept string
		own      abi.Settings
		want     string
	}{
		{"effort", "high", abi.Settings{Effort: "default"}, `"value":"default"`},
		{"fast", "on", abi.Settings{Options: []abi.OptionValue{{ID: "fast", Value: "off"}}}, `"value":"off"`},
	} {
		a := kept(c.id, c.kept)
		if sent := submitted(restored(a, &c.own), a, abi.Settings{}); !strings.Contains(sent, `"configId":"`+c.id+`"`) || !strings.Contains(sent, c.want) {
			t.Errorf("%s stays:\n%s", c.id, sent)
		}
	}
	// A value that the agent offers no more leaves it as it is.
	a := kept("model", "m-2")
	if sent := submitted(restored(a, &abi.Settings{Model: "gone"}), a, abi.Settings{}); strings.Contains(sent, `"configId":"model"`) {
		t.Errorf("sent:\n%s", sent)
	}
}

func TestS4_ARestoredAgentThatTellsNothingAndTakesNoOptionIsSentWhatNeedsNone(t *testing.T) {
	for _, a := range []*agent{claudeAgent, kimchiAgent} {
		for name, fail := range map[string]func(r *acptest.Rig){
			"refused": func(r *acptest.Rig) {
				r.Fail("session/set_config_option", abi.CallError{Code: -32601, Message: "no"})
			},
			"no answer": func(r *acptest.Rig) {
				r.Fail("session/set_config_option", abi.CallError{Local: "timeout"})
			},
			"taken and not told": func(r *acptest.Rig) {
				r.Result("session/set_config_option", "{}")
				r.Timer("evidence")
			},
		} {
			t.Run(a.name+" "+name, func(t *testing.T) {
				r := a.rig(t)
				r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = session, true, 2 })
				r.Result("initialize", a.initialize)
				r.Result("session/load", "null")
				r.Submit("t1", abi.Settings{Mode: "plan"})
				fail(r)
				d := acptest.Only(r.All, acptest.Delivery)
				if len(d) != 1 || d[0].Status != abi.DeliveryNotSent || d[0].Code != "unknown_mode" || r.Waits("session/prompt") != nil {
					t.Fatalf("plan: deliveries %+v", d)
				}
				// It is tried once.
				r.Submit("t2", abi.Settings{})
				if r.Waits("session/prompt") == nil {
					t.Errorf("no prompt:\n%s", r.Log)
				}
			})
		}
	}
}

func TestP10_AListToldWhileASessionLoadsIsNewerThanTheAnswer(t *testing.T) {
	r := claudeAgent.rig(t)
	r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = session, true, 2 })
	r.Result("initialize", claudeAgent.initialize)
	r.Replay("session/update", optionsUpdate(t, withOption(t, claudeAgent.session, "model", "m-2")))
	if o := acptest.One(t, r.Result("session/load", claudeAgent.session), acptest.Observed); o.Model != "m-2" {
		t.Errorf("observed %+v", o)
	}
}

func TestS4_GroksModeIsProvedByAChangeAfterARestore(t *testing.T) {
	for _, wish := range []string{"plan", "default"} {
		r := grokAgent.restored(t)
		before := len(r.All)
		r.Submit("t1", abi.Settings{Mode: wish})
		// It comes back in a mode that it does not tell, and tells changes only (seen).
		mode := "plan"
		for r.Waits("session/prompt") == nil {
			next := member(t, r.Waits("session/set_mode").Params, "modeId")
			r.Result("session/set_mode", "{}")
			if next != mode {
				r.Notify("session/update", modeUpdate(next))
				mode = next
			}
		}
		if mode != wish || strings.Count(r.Sent(before), "set_mode") != 2 {
			t.Errorf("mode %s, want %s:\n%s", mode, wish, r.Sent(before))
		}
	}
}

func TestS5_ReplayStaysOutOfTheTimelineExceptUsage(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.rig(t)
		r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = session, true, 2 })
		r.Result("initialize", a.initialize)
		replay := []string{chunk("old"), toolCall("c1", "execute", "completed"),
			updateParams(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"mine"}}`),
			updateParams(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`),
			updateParams(`{"sessionUpdate":"plan","entries":[{"content":"a","status":"pending"}]}`)}
		for _, u := range replay {
			if e := r.Replay("session/update", u); len(e) != 0 {
				t.Errorf("%s: %s", u, abi.AppendEffects(nil, e))
			}
		}
		u := acptest.One(t, r.Replay("session/update", updateParams(`{"sessionUpdate":"usage_update","used":5,"size":10}`)), acptest.Usage)
		if len(u.Gauges) != 2 || u.Gauges[0].Value != 5 {
			t.Errorf("usage %+v", u)
		}
		effects := r.Result("session/load", a.session)
		acptest.None(t, effects, acptest.Item)
		// Some replay on after the answer, and some mark what they replay.
		for _, u := range replay {
			if e := r.Notify("session/update", u); len(e) != 0 {
				t.Errorf("after the answer, %s: %s", u, abi.AppendEffects(nil, e))
			}
		}
		r.Submit("t1", abi.Settings{})
		grant(t, r, a.clone())
		marked := strings.TrimSuffix(chunk("old"), "}") + `,"_meta":{"isReplay":true,"promptId":"client-t1"}}`
		if e := r.Notify("session/update", marked); len(e) != 0 {
			t.Errorf("marked: %s", abi.AppendEffects(nil, e))
		}
		if d := acptest.One(t, r.Notify("session/update", chunk("new")), acptest.Delta); d.Turn != "t1" {
			t.Errorf("delta %+v", d)
		}
	})
}

func TestS6_ASessionThatCannotBeRestoredIsReplacedOnceAndSaysWhy(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		for _, c := range []struct {
			err    abi.CallError
			result string
			reason string
		}{
			{err: abi.CallError{Code: -32002, Message: "Resource not found"}, reason: "Resource not found"},
			{err: abi.CallError{Code: -32603, Message: "Path not found.", Data: abi.Raw(`{"detail":"No such file","code":"FS_NOT_FOUND"}`)}, reason: "No such file"},
			{err: abi.CallError{Code: -32602, Message: "Invalid params", Data: abi.Raw(`"unknown session id"`)}, reason: "unknown session id"},
			{err: abi.CallError{Code: -32603, Message: "Internal error", Data: abi.Raw(`{"details":"--resume requires a valid session ID"}`)}, reason: "requires a valid"},
			{err: abi.CallError{Local: "oversize"}, reason: "oversize"},
			{result: `{"sessionId":"another"}`, reason: "another session"},
		} {
			r := a.rig(t)
			r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = "lost", true, 2 })
			r.Result("initialize", a.initialize)
			if c.result != "" {
				r.Result("session/load", c.result)
			} else {
				r.Fail("session/load", c.err)
			}
			if r.Waits("session/list") != nil {
				r.Result("session/list", `{"sessions":[{"sessionId":"other","cwd":"/workspace"}]}`)
			}
			ready := acptest.One(t, r.Result("session/new", a.session), acptest.Ready)
			if ready.Restored != abi.RestoredReplaced || !strings.Contains(ready.Reason, c.reason) || ready.NativeSession != session {
				t.Errorf("ready %s %q", ready.Restored, ready.Reason)
			}
			acptest.None(t, r.All, acptest.Problem)
		}
		// One that was never used is replaced silently (rule 23).
		r := a.rig(t)
		r.Open(func(o *abi.Open) { o.NativeSession, o.Generation = "lost", 2 })
		r.Result("initialize", a.initialize)
		r.Fail("session/load", abi.CallError{Code: -32002})
		if ready := acptest.One(t, r.Result("session/new", a.session), acptest.Ready); ready.Restored != abi.RestoredNew || ready.Reason != "" {
			t.Errorf("ready %s %q", ready.Restored, ready.Reason)
		}
	})
}

func TestS6_TheListTellsWhetherTheSessionStillExists(t *testing.T) {
	for list, want := range map[string]string{
		`{"sessions":[{"sessionId":"lost","cwd":"/workspace"}]}`: "still listed",
		`{"sessions":[]}`: "not listed any more",
		`{"sessions":[{"sessionId":"x","cwd":"/workspace"}],"nextCursor":"more"}`: "boom",
	} {
		r := claudeAgent.rig(t)
		r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = "lost", true, 2 })
		r.Result("initialize", claudeAgent.initialize)
		r.Fail("session/load", abi.CallError{Code: -32603, Message: "boom"})
		r.Result("session/list", list)
		ready := acptest.One(t, r.Result("session/new", claudeAgent.session), acptest.Ready)
		if !strings.Contains(ready.Reason, want) {
			t.Errorf("reason %q, want %q", ready.Reason, want)
		}
	}
}

func TestAnAgentThatOnlyResumesIsResumedAndOneThatRestoresNothingSaysSo(t *testing.T) {
	a := claudeAgent.clone()
	a.initialize = `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`
	r := a.rig(t)
	r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = session, true, 2 })
	r.Result("initialize", a.initialize)
	if c := r.Waits("session/resume"); c == nil || !c.Restores {
		t.Fatalf("calls %+v", r.Calls)
	}
	if ready := acptest.One(t, r.Result("session/resume", a.session), acptest.Ready); ready.Restored != abi.RestoredResumed {
		t.Errorf("ready %+v", ready)
	}
	a.initialize = `{"protocolVersion":1,"agentCapabilities":{"loadSession":false}}`
	r = a.rig(t)
	r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = session, true, 2 })
	r.Result("initialize", a.initialize)
	if ready := acptest.One(t, r.Result("session/new", a.session), acptest.Ready); ready.Restored != abi.RestoredReplaced || !strings.Contains(ready.Reason, "cannot restore") || ready.Capabilities.Resume {
		t.Errorf("ready %+v", ready)
	}
}

func TestS7_SignInIsTriedOnceWithWhatTheMachineHasThenFailsClearly(t *testing.T) {
	required := abi.CallError{Code: -32000, Message: "Authentication required"}
	signedIn := func(o *abi.Open) { o.Facts = []abi.Fact{{Name: "api_key", Set: true}} }
	// Tried, and it works: new and load.
	for _, native := range []string{"", session} {
		r := grokAgent.rig(t)
		r.Open(func(o *abi.Open) { signedIn(o); o.NativeSession, o.Used = native, native != "" })
		r.Result("initialize", grokAgent.initialize)
		method := "session/new"
		if native != "" {
			method = "session/load"
		}
		r.Fail(method, required)
		if c := r.Waits("authenticate"); c == nil || string(c.Params) != `{"methodId":"xai.api_key"}` {
			t.Fatalf("calls %+v", r.Calls)
		}
		r.Result("authenticate", "{}")
		acptest.One(t, r.Result(method, grokAgent.session), acptest.Ready)
	}
	// Tried, and the next call still says so.
	r := grokAgent.rig(t)
	r.Open(signedIn)
	r.Result("initialize", grokAgent.initialize)
	r.Fail("session/new", required)
	r.Result("authenticate", "{}")
	effects := r.Fail("session/new", required)
	if p := acptest.One(t, effects, acptest.Problem); p.Needs != abi.NeedsSignIn || !strings.Contains(p.Message, "grok login") {
		t.Errorf("problem %+v", p)
	}
	if len(r.Calls) != 0 {
		t.Errorf("tried again: %+v", r.Calls)
	}
	// Refused.
	r = grokAgent.rig(t)
	r.Open(signedIn)
	r.Result("initialize", grokAgent.initialize)
	r.Fail("session/new", required)
	acptest.One(t, r.Fail("authenticate", abi.CallError{Code: -32603, Message: "no"}), acptest.Problem)
	// Nothing that the machine has: a browser is never opened, and a session that only
	// needs a sign-in is not replaced (rule 23).
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.rig(t)
		r.Open(func(o *abi.Open) { o.NativeSession, o.Used = session, true })
		r.Result("initialize", a.initialize)
		effects := r.Fail("session/load", required)
		if p := acptest.One(t, effects, acptest.Problem); p.Needs != abi.NeedsSignIn || p.Message == "" {
			t.Errorf("problem %+v", p)
		}
		acptest.None(t, r.All, acptest.Ready)
		if len(r.Calls) != 0 {
			t.Errorf("calls %+v", r.Calls)
		}
	})
	// What an earlier sign-in left is used.
	r = grokAgent.rig(t)
	r.Open(nil)
	r.Result("initialize", strings.ReplaceAll(grokAgent.initialize, `"grok.com"`, `"cached_token"`))
	r.Fail("session/new", required)
	if c := r.Waits("authenticate"); c == nil || string(c.Params) != `{"methodId":"cached_token"}` {
		t.Errorf("calls %+v", r.Calls)
	}
}

func TestL6_APromptThatNeedsASignInIsRejectedWithTheProblem(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		effects := r.Fail("session/prompt", abi.CallError{Code: -32000, Message: "Authentication required"})
		if d := acptest.One(t, effects, acptest.Delivery); d.Status != abi.DeliveryRejected || d.Code != "sign_in_required" {
			t.Errorf("delivery %+v", d)
		}
		if p := acptest.One(t, effects, acptest.Problem); p.Needs != abi.NeedsSignIn {
			t.Errorf("problem %+v", p)
		}
		// A turn that works takes it back.
		r.Submit("t2", abi.Settings{})
		resolved := false
		for _, p := range acptest.Only(r.Result("session/prompt", endTurn), acptest.Problem) {
			resolved = resolved || p.Code == "sign_in_required" && p.Resolved
		}
		if !resolved {
			t.Error("the problem stays")
		}
	})
}

func TestS8_NothingIsSentOnADeadConnection(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		r.Step("exited", abi.Event{Exited: &abi.Exited{Code: 1}})
		before := len(r.All)
		d := acptest.One(t, r.Submit("t2", abi.Settings{}), acptest.Delivery)
		if d.Status != abi.DeliveryNotSent {
			t.Errorf("delivery %+v", d)
		}
		r.Step("close", abi.Event{Close: &abi.Close{}})
		if sent := r.Sent(before); sent != "" {
			t.Errorf("sent:\n%s", sent)
		}
		// An open starts from nothing.
		r.Calls = nil
		r.Open(nil)
		r.Result("initialize", a.initialize)
		acptest.One(t, r.Result("session/new", a.session), acptest.Ready)
	})
}

func TestRule22_ClosingCancelsAndClosesTheSession(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		before := len(r.All)
		r.Step("close", abi.Event{Close: &abi.Close{}})
		if got, want := r.Sent(before), "notify session/cancel {\"sessionId\":\"s-1\"}\ncall session/close {\"sessionId\":\"s-1\"}\n"; got != want {
			t.Errorf("sent\n%s", got)
		}
	})
}

func TestRule24_AMessageGoesAtOnceWhileTheAgentRunsATurnOfItsOwn(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		r.Notify("session/update", chunk("mine"))
		r.Result("session/prompt", endTurn)
		own := strings.ReplaceAll(chunk("own"), `"m1"`, `"m2"`)
		if a == grokAgent {
			own = strings.TrimSuffix(own, "}") + `,"_meta":{"promptId":"auto-1"}}`
		}
		effects := r.Notify("session/update", own)
		if s := acptest.One(t, effects, acptest.Started); s.Turn != "" {
			t.Errorf("started %+v", s)
		}
		if d := acptest.One(t, effects, acptest.Delta); d.Turn != "" {
			t.Errorf("delta %+v", d)
		}
		effects = r.Submit("t2", abi.Settings{})
		acptest.None(t, effects, acptest.Note)
		if r.Waits("session/prompt") == nil {
			t.Fatal("the message waits")
		}
		if a == grokAgent {
			// Its prompt's name tells the two apart.
			acptest.None(t, effects, acptest.Ended)
			if d := acptest.One(t, r.Notify("session/update", own), acptest.Delta); d.Turn != "" {
				t.Errorf("delta %+v", d)
			}
			if e := acptest.One(t, r.Notify("_x.ai/session/prompt_complete", `{"sessionId":"s-1","promptId":"auto-1","stopReason":"end_turn"}`), acptest.Ended); e.Turn != "" {
				t.Errorf("ended %+v", e)
			}
		} else {
			acptest.One(t, effects, acptest.Ended)
		}
		acptest.One(t, r.Result("session/prompt", endTurn), acptest.Ended)
	})
}

func TestATurnOfTheAgentsOwnCanBeStoppedAndEndsWhenItIsSilent(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.ready(t)
		r.Notify("session/update", chunk("own"))
		acptest.One(t, r.Stop(""), acptest.Note)
		if e := r.Timer("quiet"); len(acptest.Only(e, acptest.Ended)) != 0 {
			t.Errorf("ended while it spoke: %s", abi.AppendEffects(nil, e))
		}
		r.Notify("session/update", chunk(" more"))
		acptest.None(t, r.Timer("quiet"), acptest.Ended)
		effects := r.Timer("quiet")
		if e := acptest.One(t, effects, acptest.Ended); e.Turn != "" || e.Status != abi.TurnInterrupted {
			t.Errorf("ended %+v", e)
		}
		if i := acptest.One(t, effects, acptest.Item); i.Text != "own more" {
			t.Errorf("item %+v", i)
		}
	})
}

func TestClaudesOwnTurnEndsWithTheUsageOfItsCycle(t *testing.T) {
	r := claudeAgent.ready(t)
	r.Notify("session/update", chunk("the task is done"))
	acptest.None(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"usage_update","used":1,"size":2}`)), acptest.Ended)
	e := r.Notify("session/update", updateParams(`{"sessionUpdate":"usage_update","used":2,"size":2,"_meta":{"_claude/origin":{"kind":"task-notification"}}}`))
	acptest.One(t, e, acptest.Ended)
}
