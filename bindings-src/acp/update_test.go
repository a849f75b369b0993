package acp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

func TestInitializeOffersFormsAndURLsAndNoFilesOrTerminal(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.rig(t)
		r.Open(nil)
		want := `{"protocolVersion":1,"clientInfo":{"name":"ao-host","title":"ao-host","version":"0.1.0"},"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"elicitation":{"form":{},"url":{}}}}`
		if c := r.Waits("initialize"); string(c.Params) != want {
			t.Errorf("params %s", c.Params)
		}
		r.Result("initialize", a.initialize)
		if c := r.Waits("session/new"); string(c.Params) != `{"cwd":"/workspace","mcpServers":[]}` {
			t.Errorf("params %s", c.Params)
		}
		ready := acptest.One(t, r.Result("session/new", a.session), acptest.Ready)
		if want := map[string]string{"claude": "0.101.0", "grok": "1.0.41"}[a.name]; ready.ProviderVersion != want {
			t.Errorf("version %q, want %q", ready.ProviderVersion, want)
		}
		if ready.Restored != abi.RestoredNew || !ready.Capabilities.Resume || ready.Capabilities.Steering != abi.SteeringCancelAndPrompt || ready.Capabilities.Images == (a == kimchiAgent) {
			t.Errorf("ready %+v", ready)
		}
		// Nothing authenticates unless it is asked for.
		for _, c := range acptest.Only(r.All, acptest.Call) {
			if c.Method == "authenticate" {
				t.Error("authenticated without being asked")
			}
		}
	})
}

func TestAnotherProtocolVersionIsSaidAndNothingStarts(t *testing.T) {
	r := claudeAgent.rig(t)
	r.Open(nil)
	p := acptest.One(t, r.Result("initialize", `{"protocolVersion":2,"agentCapabilities":{}}`), acptest.Problem)
	if p.Code != "protocol_version" || !strings.Contains(p.Message, "version 2") || len(r.Calls) != 0 {
		t.Errorf("problem %+v, calls %+v", p, r.Calls)
	}
	r = claudeAgent.rig(t)
	r.Open(nil)
	if p := acptest.One(t, r.Fail("initialize", abi.CallError{Code: -32603, Message: "boom"}), acptest.Problem); p.Code != "initialize_failed" {
		t.Errorf("problem %+v", p)
	}
	r = claudeAgent.rig(t)
	r.Open(nil)
	r.Result("initialize", claudeAgent.initialize)
	if p := acptest.One(t, r.Fail("session/new", abi.CallError{Code: -32602, Message: "no such folder"}), acptest.Problem); p.Code != "session_failed" || !strings.Contains(p.Message, "no such folder") {
		t.Errorf("problem %+v", p)
	}
}

func TestT6_C3_UpdatesBeforeTheSessionHasAnIDAreHeldAndAppliedInOrder(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.rig(t)
		r.Open(nil)
		r.Result("initialize", a.initialize)
		commands := updateParams(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"old"}]}`)
		newer := updateParams(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"d","input":{"hint":"h"}},{"name":"x","input":null},{"description":"no name"}]}`)
		for _, u := range []string{commands, newer, chunk("early"), strings.ReplaceAll(chunk("stranger"), `"s-1"`, `"s-2"`),
			updateParams(`{"sessionUpdate":"session_info_update","title":"T"}`)} {
			if e := r.Notify("session/update", u); len(e) != 0 {
				t.Errorf("%s", abi.AppendEffects(nil, e))
			}
		}
		effects := r.Result("session/new", a.session)
		if effects[0].Ready == nil {
			t.Errorf("ready is not first: %s", abi.AppendEffects(nil, effects))
		}
		c := acptest.One(t, effects, acptest.Commands)
		if diff := cmp.Diff([]abi.Command{{Name: "compact", Description: "d", Hint: "h"}, {Name: "x"}}, c.Commands); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if i := acptest.One(t, effects, acptest.SessionInfo); i.Title != "T" {
			t.Errorf("info %+v", i)
		}
		if d := acptest.One(t, effects, acptest.Delta); d.Text != "early" {
			t.Errorf("delta %+v", d)
		}
		// The list that an agent repeats with every step is told once.
		acptest.None(t, r.Notify("session/update", newer), acptest.Commands)
		acptest.One(t, r.Notify("session/update", commands), acptest.Commands)
	})
}

func TestT6_OptionsToldBeforeTheAnswerOfSessionNewAreNewerThanIt(t *testing.T) {
	for _, a := range []*agent{claudeAgent, kimchiAgent} {
		r := a.rig(t)
		r.Open(nil)
		r.Result("initialize", a.initialize)
		r.Notify("session/update", optionsUpdate(t, withOption(t, a.session, "model", "m-2")))
		effects := r.Result("session/new", a.session)
		if o := acptest.One(t, effects, acptest.Observed); o.Model != "m-2" {
			t.Errorf("%s: observed %+v", a, o)
		}
	}
}

func TestT6_UpdatesAfterATurnsEndBelongToIt(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		r.Notify("session/update", chunk("one"))
		r.Notify("session/update", toolCall("c1", "execute", "in_progress"))
		r.Result("session/prompt", endTurn)
		effects := r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`))
		if i := acptest.One(t, effects, acptest.Item); i.Turn != "t1" || i.Status != abi.ItemCompleted || i.Title != "c1" {
			t.Errorf("item %+v", i)
		}
		acptest.None(t, effects, acptest.Started)
		effects = r.Notify("session/update", chunk(" late"))
		if i := acptest.One(t, effects, acptest.Item); i.Turn != "t1" || i.Text != " late" {
			t.Errorf("item %+v", i)
		}
		acptest.None(t, effects, acptest.Delta)
		acptest.None(t, effects, acptest.Started)
		// Also while the next turn runs: it is no proof that its prompt arrived.
		r.Submit("t2", abi.Settings{})
		effects = r.Notify("session/update", chunk(" later"))
		acptest.None(t, effects, acptest.Delivery)
	})
}

func TestT3_UnknownAndMisshapenUpdatesChangeNothing(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		for _, u := range []string{
			updateParams(`{"sessionUpdate":"novel_update","x":[1,{}]}`),
			updateParams(`{"sessionUpdate":7}`), updateParams(`null`), updateParams(`[]`), updateParams(`{}`),
			`null`, `[]`, `7`, `{}`, `{"sessionId":7,"update":{"sessionUpdate":"agent_message_chunk"}}`,
			updateParams(`{"sessionUpdate":"agent_message_chunk","content":null}`),
			updateParams(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"x"}}`),
			updateParams(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":null}}`),
			updateParams(`{"sessionUpdate":"tool_call"}`),
			updateParams(`{"sessionUpdate":"tool_call","toolCallId":null}`),
			updateParams(`{"sessionUpdate":"current_mode_update","currentModeId":7}`),
			updateParams(`{"sessionUpdate":"session_info_update","title":null}`),
			updateParams(`{"sessionUpdate":"usage_update","used":"many","size":null,"cost":{"amount":"x","currency":"USD"}}`),
			updateParams(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"mine"}}`),
		} {
			if e := r.Notify("session/update", u); len(e) != 0 {
				t.Errorf("%s: %s", u, abi.AppendEffects(nil, e))
			}
		}
		for _, method := range []string{"novel/notification", "_x.ai/novel", "elicitation/complete", "$/cancel_request", "_auth/status_update"} {
			if e := r.Notify(method, `{"a":1}`); len(e) != 0 {
				t.Errorf("%s: %s", method, abi.AppendEffects(nil, e))
			}
		}
		// Other spellings that agents use are read.
		if d := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"agent_message_chunk","content":"bare"}`)), acptest.Delta); d.Text != "bare" {
			t.Errorf("delta %+v", d)
		}
		if d := acptest.One(t, r.Notify("session/update", updateParams(`{"content":{"type":"text","text":" kind last"},"sessionUpdate":"agent_message_chunk"}`)), acptest.Delta); d.Text != " kind last" {
			t.Errorf("delta %+v", d)
		}
		if o := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"current_mode_update","modeId":"plan"}`)), acptest.Observed); o.Mode != "plan" {
			t.Errorf("observed %+v", o)
		}
	})
}

func TestT7_AFailureOfTheProviderIsNoEmptySuccess(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		for _, late := range []bool{false, true} {
			r := begin(t, a, abi.Settings{})
			if late {
				r.Notify("session/update", chunk("API Error"))
			}
			effects := r.Fail("session/prompt", abi.CallError{Code: -32603, Message: "Internal error", Data: abi.Raw(`{"message":"API error (status 500): boom"}`)})
			e := acptest.One(t, effects, acptest.Ended)
			if e.Status != abi.TurnFailed || !e.Outage || e.Code == "" || !strings.Contains(e.Message, "boom") {
				t.Errorf("ended %+v", e)
			}
		}
		r := begin(t, a, abi.Settings{})
		if e := acptest.One(t, r.Result("session/prompt", `{"stopReason":"refusal"}`), acptest.Ended); e.Status != abi.TurnFailed || e.Code != "refusal" || e.Outage {
			t.Errorf("ended %+v", e)
		}
		for _, reason := range []string{"max_tokens", "max_turn_requests"} {
			r := begin(t, a, abi.Settings{})
			effects := r.Result("session/prompt", `{"stopReason":"`+reason+`"}`)
			if e := acptest.One(t, effects, acptest.Ended); e.Status != abi.TurnCompleted || e.StopReason != reason {
				t.Errorf("ended %+v", e)
			}
			acptest.One(t, effects, acptest.Warning)
		}
	})
}

func TestT7_GrokTellsWhyATurnFailedAndThatItTriesAgain(t *testing.T) {
	r := begin(t, grokAgent, abi.Settings{})
	retry := `{"sessionId":"s-1","update":{"sessionUpdate":"retry_state","type":"retrying","attempt":1,"reason":"API error (status 500): boom"}}`
	if w := acptest.One(t, r.Notify("_x.ai/session_notification", retry), acptest.Warning); !strings.Contains(w.Message, "boom") {
		t.Errorf("warning %+v", w)
	}
	acptest.None(t, r.Notify("_x.ai/session_notification", retry), acptest.Warning)
	r.Notify("_x.ai/session_notification", `{"sessionId":"s-1","update":{"sessionUpdate":"turn_completed","prompt_id":"client-t1","stop_reason":"rate_limit","agent_result":"slow down"}}`)
	e := acptest.One(t, r.Timer("result"), acptest.Ended)
	if e.Status != abi.TurnFailed || !e.Outage || e.Message != "slow down" {
		t.Errorf("ended %+v", e)
	}
}

func TestDeliveryIsSettledByEvidence(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		if c := r.Waits("session/prompt"); c.Delivers != "t1" || c.TimeoutMS != 0 {
			t.Errorf("call %+v", c)
		}
		acptest.None(t, r.All, acptest.Delivery)
		// What is no part of a turn proves nothing.
		effects := r.Notify("session/update", updateParams(`{"sessionUpdate":"usage_update","used":1,"size":2}`))
		acptest.None(t, effects, acptest.Delivery)
		effects = r.Notify("session/update", chunk("x"))
		if d := acptest.One(t, effects, acptest.Delivery); d.Status != abi.DeliveryAccepted || d.Evidence == "" {
			t.Errorf("delivery %+v", d)
		}
		acptest.One(t, effects, acptest.Started)
		acptest.None(t, r.Result("session/prompt", endTurn), acptest.Delivery)
		for _, c := range []struct {
			err  abi.CallError
			want abi.DeliveryStatus
		}{
			{abi.CallError{Code: -32600, Message: "a prompt is already in progress"}, abi.DeliveryRejected},
			{abi.CallError{Code: -32602, Message: "Invalid params"}, abi.DeliveryRejected},
			{abi.CallError{Code: -32002, Message: "Resource not found"}, abi.DeliveryRejected},
			{abi.CallError{Local: "schema"}, abi.DeliveryNotSent},
			{abi.CallError{Local: "refused"}, abi.DeliveryNotSent},
			{abi.CallError{Local: "lost"}, abi.DeliveryUnknown},
		} {
			r := begin(t, a, abi.Settings{})
			effects := r.Fail("session/prompt", c.err)
			if d := acptest.One(t, effects, acptest.Delivery); d.Status != c.want {
				t.Errorf("%+v: delivery %+v", c.err, d)
			}
			acptest.None(t, effects, acptest.Ended)
			r.Submit("t2", abi.Settings{})
			if r.Waits("session/prompt") == nil {
				t.Errorf("%+v: the next one waits", c.err)
			}
		}
		// A process that is gone is the host's to settle.
		r = begin(t, a, abi.Settings{})
		if e := r.Fail("session/prompt", abi.CallError{Local: "exited"}); len(e) != 0 {
			t.Errorf("%s", abi.AppendEffects(nil, e))
		}
	})
}

func TestOnlyOneTurnIsSentAtATimeToAgentsThatQueueByThemselves(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		before := len(r.All)
		if d := acptest.One(t, r.Submit("t2", abi.Settings{}), acptest.Delivery); d.Status != abi.DeliveryNotSent || d.Code != "turn_running" || d.Turn != "t2" {
			t.Errorf("delivery %+v", d)
		}
		if sent := r.Sent(before); sent != "" {
			t.Errorf("sent %s", sent)
		}
	})
}

func TestC1_ImagesGoOnlyToAgentsThatTakeThem(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := a.ready(t)
		effects := r.Step("submit", abi.Event{Submit: &abi.Submit{Turn: "t1", ClientID: "c", Content: []abi.Content{{Type: abi.ContentText, Text: "look"}, {Type: abi.ContentImage, Media: "image/png", Data: "ao-blob-1"}}}})
		if a == kimchiAgent {
			if d := acptest.One(t, effects, acptest.Delivery); d.Status != abi.DeliveryNotSent || d.Code != "images_unsupported" {
				t.Errorf("delivery %+v", d)
			}
			return
		}
		grant(t, r, a.clone())
		if p := string(r.Waits("session/prompt").Params); !strings.Contains(p, `"prompt":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":"ao-blob-1"}]`) {
			t.Errorf("params %s", p)
		}
		effects = r.Step("submit", abi.Event{Submit: &abi.Submit{Turn: "t2", Content: []abi.Content{{Type: abi.ContentFile}}}})
		acptest.One(t, effects, acptest.Delivery)
	})
}

func TestAMessageIsStreamedAndItsItemHasTheWholeText(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		thought := updateParams(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"},"messageId":"m1"}`)
		r.Notify("session/update", thought)
		r.Notify("session/update", chunk("a"))
		r.Notify("session/update", chunk("b"))
		r.Notify("session/update", toolCall("c1", "execute", "pending"))
		r.Notify("session/update", chunk("c"))
		r.Result("session/prompt", endTurn)
		var got []string
		for _, i := range acptest.Only(r.All, acptest.Item) {
			if i.Type == abi.ItemMessage || i.Type == abi.ItemReasoning {
				got = append(got, string(i.Type)+" "+i.Text)
			}
		}
		if diff := cmp.Diff([]string{"reasoning hm", "message ab", "message c"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		ids := map[string]bool{}
		for _, i := range acptest.Only(r.All, acptest.Item) {
			if i.Type != abi.ItemCommand && ids[i.ID] {
				t.Errorf("the id %s is used twice", i.ID)
			}
			ids[i.ID] = true
		}
		for _, d := range acptest.Only(r.All, acptest.Delta) {
			if !ids[d.Item] {
				t.Errorf("the delta of %s has no item", d.Item)
			}
		}
	})
}

func TestALongMessageGoesOnInAnotherItemAndLosesNothing(t *testing.T) {
	r := begin(t, kimchiAgent, abi.Settings{})
	r.Keep = true
	piece := strings.Repeat("x", 30_000)
	for range 30 {
		r.Notify("session/update", chunk(piece))
	}
	r.Result("session/prompt", endTurn)
	total, items := 0, 0
	for _, i := range acptest.Only(r.All, acptest.Item) {
		total += len(i.Text)
		items++
	}
	if total != 30*len(piece) || items < 3 {
		t.Errorf("%d bytes in %d items", total, items)
	}
	if n := len(r.Save()); n > 20_000 {
		t.Errorf("the state has %d bytes after the turn", n)
	}
}

func TestPlanEntriesAreTheChecklist(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		entries := `[{"content":"a","priority":"high","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"novel"},7,{"status":"pending"}]`
		want := []abi.ProgressStep{{Text: "a", Status: "completed"}, {Text: "b", Status: "running"}, {Text: "c", Status: "pending"}}
		for _, u := range []string{`{"sessionUpdate":"plan","entries":` + entries + `}`, `{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":` + entries + `}}`} {
			p := acptest.One(t, r.Notify("session/update", updateParams(u)), acptest.Progress)
			if diff := cmp.Diff(want, p.Entries); diff != "" || p.Turn != "t1" {
				t.Errorf("%s (-want +got):\n%s", u, diff)
			}
		}
		if i := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"# P"}}`)), acptest.Item); i.Type != abi.ItemPlan || i.Text != "# P" {
			t.Errorf("item %+v", i)
		}
		if p := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"plan_removed","planId":"p"}`)), acptest.Progress); len(p.Entries) != 0 {
			t.Errorf("progress %+v", p)
		}
	})
}

func TestD7_GaugesAndCountersAreApart(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		usage := func(cost string) *abi.Usage {
			t.Helper()
			return acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"usage_update","used":120,"size":64000,"cost":{"amount":`+cost+`,"currency":"USD"}}`)), acptest.Usage)
		}
		u := usage("0.0024000000000000002")
		want := &abi.Usage{Turn: "t1", Gauges: []abi.Metric{{Name: "context_tokens", Value: 120}, {Name: "context_window", Value: 64000}}, Counters: []abi.Metric{{Name: "cost_micro_usd", Value: 2400}}}
		if diff := cmp.Diff(want, u); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if u := usage("1.5"); u.Counters[0].Value != 1_500_000 {
			t.Errorf("usage %+v", u)
		}
		// A total never shrinks, however the agent counts.
		r.Notify("session/update", updateParams(`{"sessionUpdate":"usage_update","used":1,"size":64000,"cost":{"amount":2e-7,"currency":"USD"}}`))
		if u := usage("0.5"); u.Counters[0].Value != 1_500_000 {
			t.Errorf("usage %+v", u)
		}
		for range 2 {
			r.Result("session/prompt", `{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":2,"totalTokens":12}}`)
			r.Submit("t2", abi.Settings{})
		}
		all := acptest.Only(r.All, acptest.Usage)
		if last := all[len(all)-1]; len(last.Counters) != 3 || last.Counters[0].Value != 20 || len(last.Gauges) != 0 {
			t.Errorf("usage %+v", last)
		}
	})
}

func TestNoticesAreWarningsAndNoAgentsWords(t *testing.T) {
	r := begin(t, claudeAgent, abi.Settings{})
	info := updateParams(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"heads up"},"_meta":{"claudeCode":{"kind":"informational","level":"warning"}}}`)
	effects := r.Notify("session/update", info)
	if w := acptest.One(t, effects, acptest.Warning); w.Message != "heads up" {
		t.Errorf("warning %+v", w)
	}
	acptest.None(t, effects, acptest.Delta)
	acptest.None(t, effects, acptest.Delivery)
	acptest.None(t, r.Notify("session/update", info), acptest.Warning)
	if w := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"notice","severity":"error","title":"T","description":"D"}`)), acptest.Warning); w.Message != "T: D" {
		t.Errorf("warning %+v", w)
	}
	acptest.None(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"notice","severity":"info","title":"I"}`)), acptest.Warning)
}

func TestAClaudeSubagentsWorkIsMarkedAsAChilds(t *testing.T) {
	r := begin(t, claudeAgent, abi.Settings{})
	i := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call","toolCallId":"c2","kind":"read","status":"pending","_meta":{"claudeCode":{"toolName":"Read","parentToolUseId":"task-1"}}}`)), acptest.Item)
	if i.Child != "task-1" || i.Native != "Read" {
		t.Errorf("item %+v", i)
	}
	r.Notify("session/update", updateParams(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"sub"},"_meta":{"claudeCode":{"parentToolUseId":"task-1"}}}`))
	if i := acptest.Only(r.Notify("session/update", chunk("main")), acptest.Item); len(i) != 1 || i[0].Child != "task-1" || i[0].Text != "sub" {
		t.Errorf("items %+v", i)
	}
}

func TestRule20_HistoryProvesWhatTheAgentNames(t *testing.T) {
	unsettled := func(o *abi.Open) {
		o.NativeSession, o.Used, o.Unsettled = session, true, []string{"lost", "client-1", "client-2"}
	}
	r := grokAgent.rig(t)
	r.Open(unsettled)
	r.Result("initialize", grokAgent.initialize)
	r.Replay("session/update", strings.TrimSuffix(chunk("old"), "}")+`,"_meta":{"promptId":"client-1","isReplay":true}}`)
	r.Replay("_x.ai/session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"turn_completed","prompt_id":"client-2","stop_reason":"end_turn"}}`)
	r.Replay("_x.ai/session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"turn_completed","prompt_id":"client-0","stop_reason":"end_turn"}}`)
	effects := r.Result("session/load", grokAgent.session)
	h := acptest.One(t, effects, acptest.History)
	if diff := cmp.Diff(&abi.History{Found: []string{"client-1", "client-2"}}, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if effects[0].History == nil {
		t.Error("the history comes after ready")
	}
	// The others name no message of ours: nothing is proven, absence neither.
	for _, a := range []*agent{claudeAgent, kimchiAgent} {
		r := a.rig(t)
		r.Open(unsettled)
		r.Result("initialize", a.initialize)
		r.Replay("session/update", chunk("old"))
		if h := acptest.One(t, r.Result("session/load", a.session), acptest.History); len(h.Found) != 0 || h.Complete {
			t.Errorf("%s: history %+v", a, h)
		}
	}
}

func TestT7_ATurnWithoutAWordIsSaidToBeEmptyAndNoOtherIs(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		if w := acptest.One(t, r.Result("session/prompt", endTurn), acptest.Warning); w.Code != "empty_turn" {
			t.Errorf("warning %+v", w)
		}
		for name, shows := range map[string]func(){
			"says": func() {
				r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}`)
			},
			"does": func() {
				r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}}`)
			},
			"asks": func() {
				token, _ := r.Ask("9", "elicitation/create", `{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}},"sessionId":"s-1"}`)
				r.Answer("request/"+token, abi.Reply{Action: abi.ActionDecline})
			},
		} {
			r.Submit("t-"+name, abi.Settings{})
			shows()
			acptest.None(t, r.Result("session/prompt", endTurn), acptest.Warning)
		}
	})
}

func TestTheIdOfACallThatAStopCutOffIsAnotherCallInTheNextTurn(t *testing.T) {
	for _, asked := range []bool{false, true} {
		eachAgent(t, func(t *testing.T, a *agent) {
			r := begin(t, a, abi.Settings{})
			r.Notify("session/update", toolCall("c1", "execute", "pending"))
			r.Stop("t1")
			r.Result("session/prompt", `{"stopReason":"cancelled"}`)
			r.Submit("t2", abi.Settings{})
			grant(t, r, a.clone())
			if asked {
				r.Ask("7", "session/request_permission", permission("c1", "execute"))
			}
			call := toolCall("c1", "execute", "in_progress")
			if a == grokAgent {
				call = strings.Replace(call, `"sessionId":"s-1",`, `"sessionId":"s-1","_meta":{"promptId":"client-t2"},`, 1)
			}
			if i := acptest.One(t, r.Notify("session/update", call), acptest.Item); i.Turn != "t2" {
				t.Errorf("asked %v: item %+v", asked, i)
			}
			// One that a stop did not cut off goes on where it began (T6).
			r.Notify("session/update", toolCall("c2", "execute", "pending"))
			r.Result("session/prompt", endTurn)
			if i := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"completed"}`)), acptest.Item); i.Turn != "t2" {
				t.Errorf("asked %v: item %+v", asked, i)
			}
		})
	}
}

func TestTheSessionOfAChildHasIdsOfItsOwn(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		r := begin(t, a, abi.Settings{})
		child := func(params string) string {
			return strings.Replace(params, `"sessionId":"s-1"`, `"sessionId":"s-2"`, 1)
		}
		r.Notify("session/update", child(toolCall("c1", "execute", "pending")))
		ours := acptest.One(t, r.Notify("session/update", toolCall("c1", "edit", "pending")), acptest.Item)
		if ours.Child != "" || ours.ID != "c1" {
			t.Errorf("our call %+v", ours)
		}
		theirs := acptest.One(t, r.Notify("session/update", child(updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`))), acptest.Item)
		if theirs.Child != "s-2" || theirs.ID != "s-2/c1" || theirs.Type != abi.ItemCommand {
			t.Errorf("the child's call %+v", theirs)
		}
		// A refusal counts for the call it is about.
		_, effects := r.Ask("7", "session/request_permission", child(permission("c1", "execute")))
		r.Answer(acptest.One(t, effects, acptest.Opened).Key, abi.Reply{Decision: "no"})
		if i := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed"}`)), acptest.Item); i.Status != abi.ItemFailed {
			t.Errorf("our call %+v", i)
		}
		r.Notify("session/update", child(chunk("child words")))
		r.Notify("session/update", chunk("our words"))
		for _, i := range acptest.Only(r.Result("session/prompt", endTurn), acptest.Item) {
			if i.Child != "" || i.Text != "our words" {
				t.Errorf("our message %+v", i)
			}
		}
	})
}

func TestT3_AListOfOptionsThatCannotBeReadLeavesWhatIsKnown(t *testing.T) {
	for _, list := range []string{`null`, `"x"`, `[{}]`, `{}`} {
		r := claudeAgent.ready(t)
		if e := r.Notify("session/update", updateParams(`{"sessionUpdate":"config_option_update","configOptions":`+list+`}`)); len(e) != 0 {
			t.Errorf("%s: %s", list, abi.AppendEffects(nil, e))
		}
		r.Submit("t1", abi.Settings{Mode: "plan"})
		grant(t, r, claudeAgent.clone())
	}
	// An empty list is one.
	r := claudeAgent.ready(t)
	if c := acptest.One(t, r.Notify("session/update", updateParams(`{"sessionUpdate":"config_option_update","configOptions":[]}`)), acptest.Catalog); len(c.Models) != 0 {
		t.Errorf("catalog %+v", c)
	}
}
