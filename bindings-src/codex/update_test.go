package codex_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
)

func TestDeltasNameTheirTurnItemAndChannel(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	for method, channel := range map[string]abi.Channel{
		"item/agentMessage/delta":           abi.ChannelText,
		"item/reasoning/textDelta":          abi.ChannelReasoning,
		"item/reasoning/summaryTextDelta":   abi.ChannelReasoning,
		"item/plan/delta":                   abi.ChannelPlan,
		"item/commandExecution/outputDelta": abi.ChannelOutput,
	} {
		params := `{"delta":"a\n\"b\"","itemId":"i\u0031","turnId":"n1","threadId":"thread-1"}`
		want := &abi.Delta{Turn: "t1", Item: "i1", Channel: channel, Text: "a\n\"b\""}
		if diff := cmp.Diff(want, one(t, r.notify(method, params), delta)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", method, diff)
		}
	}
	child := one(t, r.notify("item/agentMessage/delta", `{"threadId":"child-1","turnId":"n1","itemId":"i1","delta":"x"}`), delta)
	if child.Item != "child-1/i1" || child.Turn != "t1" {
		t.Errorf("delta of a child = %+v", child)
	}
	part := one(t, r.notify("item/reasoning/summaryPartAdded", `{"threadId":"thread-1","turnId":"n1","itemId":"i1","summaryIndex":1}`), delta)
	if part.Text != "\n\n" || part.Channel != abi.ChannelReasoning {
		t.Errorf("part = %+v", part)
	}
	for _, first := range []string{`{"threadId":"thread-1","turnId":"n1","itemId":"i1","summaryIndex":0}`, `{"threadId":"child-1","turnId":"n1","itemId":"i1","summaryIndex":1}`} {
		none(t, r.notify("item/reasoning/summaryPartAdded", first), delta)
	}
}

func TestItemsAreMappedAndUnknownOnesKeepTheirData(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	for _, c := range []struct {
		native string
		want   abi.Item
	}{
		{`{"type":"agentMessage","id":"i","text":"hi","phase":"commentary"}`, abi.Item{Type: abi.ItemMessage, Text: "hi", Data: abi.Raw(`{"phase":"commentary"}`)}},
		{`{"type":"reasoning","id":"i","summary":["a","b"],"content":["c"]}`, abi.Item{Type: abi.ItemReasoning, Text: "a\n\nb"}},
		{`{"type":"reasoning","id":"i","summary":[],"content":["c"]}`, abi.Item{Type: abi.ItemReasoning, Text: "c"}},
		{`{"type":"commandExecution","id":"i","command":"ls","cwd":"/w","status":"failed","aggregatedOutput":"no","exitCode":2,"durationMs":5,"commandActions":null}`,
			abi.Item{Type: abi.ItemCommand, Status: abi.ItemFailed, Title: "ls", Text: "no", Data: abi.Raw(`{"cwd":"/w","exitCode":2,"durationMs":5}`)}},
		{`{"type":"fileChange","id":"i","status":"declined","changes":[{"path":"a","diff":"x"},{"path":"b","diff":"y"}]}`,
			abi.Item{Type: abi.ItemEdit, Status: abi.ItemDeclined, Title: "a, b", Data: abi.Raw(`{"changes":[{"path":"a","diff":"x"},{"path":"b","diff":"y"}]}`)}},
		{`{"type":"mcpToolCall","id":"i","server":"s","tool":"t","status":"completed","arguments":{"q":1},"result":{"content":[]},"error":null}`,
			abi.Item{Type: abi.ItemTool, Title: "s/t", Data: abi.Raw(`{"arguments":{"q":1},"result":{"content":[]}}`)}},
		{`{"type":"webSearch","id":"i","query":"go"}`, abi.Item{Type: abi.ItemSearch, Title: "go", Data: abi.Raw(`{"type":"webSearch","id":"i","query":"go"}`)}},
		{`{"type":"collabAgentToolCall","id":"i","tool":"spawnAgent","status":"interrupted"}`,
			abi.Item{Type: abi.ItemTool, Status: abi.ItemFailed, Title: "spawnAgent", Data: abi.Raw(`{"type":"collabAgentToolCall","id":"i","tool":"spawnAgent","status":"interrupted"}`)}},
		{`{"type":"userMessage","id":"i","clientId":null,"content":[{"type":"text","text":"from elsewhere"}]}`, abi.Item{Type: abi.ItemOther, Text: "from elsewhere"}},
		{`{"status":7,"id":"i","x":[1],"type":"hologram"}`, abi.Item{Type: abi.ItemOther, Title: "hologram", Data: abi.Raw(`{"status":7,"id":"i","x":[1],"type":"hologram"}`)}},
	} {
		got := one(t, r.item("completed", "n1", c.native), anItem)
		c.want.ID, c.want.Turn = "i", "t1"
		c.want.Native, _ = at(t, []byte(c.native), "type").(string)
		if c.want.Status == "" {
			c.want.Status = abi.ItemCompleted
		}
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.native, diff)
		}
	}
	if got := one(t, r.item("started", "n1", `{"type":"sleep","id":"i"}`), anItem); got.Status != abi.ItemRunning {
		t.Errorf("a started item = %+v", got)
	}
}

func TestAChildsItemsAreMarkedAndKeptApart(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{Mode: "plan"})
	effects := r.notify("item/completed", `{"threadId":"child-1","turnId":"n1","item":{"type":"plan","id":"p","text":"x"}}`)
	if got := one(t, effects, anItem); got.Turn != "t1" || got.Child != "child-1" || got.ID != "child-1/p" {
		t.Errorf("item = %+v", got)
	}
	none(t, effects, proposal)
}

func TestTheProvidersOwnReviewIsShown(t *testing.T) {
	r := running(t)
	params := func(thread, status string) string {
		return `{"threadId":"` + thread + `","turnId":"n1","reviewId":"r1","targetItemId":"i1","startedAtMs":1,"review":{"status":"` + status + `","riskLevel":"low","rationale":"fine"},"action":{"type":"command"}}`
	}
	for status, want := range map[string]abi.ItemStatus{"inProgress": abi.ItemRunning, "approved": abi.ItemCompleted, "denied": abi.ItemDeclined, "timedOut": abi.ItemFailed} {
		got := one(t, r.notify("item/autoApprovalReview/completed", params("thread-1", status)), anItem)
		if got.Turn != "t1" || got.ID != "r1" || got.Status != want || got.Text != "fine" || at(t, got.Data, "targetItemId") != "i1" || at(t, got.Data, "review.riskLevel") != "low" {
			t.Errorf("%s: item = %+v", status, got)
		}
	}
	for _, bad := range []string{`{"threadId":"thread-1","review":{}}`, `{"threadId":null,"reviewId":"r1"}`} {
		if got := r.notify("item/autoApprovalReview/completed", bad); len(got) != 0 {
			t.Errorf("%s gave %s", bad, abi.AppendEffects(nil, got))
		}
	}
	if got := one(t, r.notify("item/autoApprovalReview/started", params("child-1", "inProgress")), anItem); got.Child != "child-1" || got.ID != "child-1/r1" || got.Turn != "t1" {
		t.Errorf("item of a child = %+v", got)
	}
}

func TestAPlanIsProposedOnlyByATurnThatRanInPlanMode(t *testing.T) {
	plan := `{"type":"plan","id":"p1","text":"# Plan\n"}`
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{Mode: "plan"})
	none(t, r.item("started", "n1", plan), proposal)
	want := &abi.Proposal{
		Key: "thread-1/n1/p1", Turn: "t1", NativeSession: threadID, NativeTurn: "n1", NativeItem: "p1", Text: "# Plan\n",
		Route: abi.RouteFollowUp, ImplementText: "Implement the plan.", ExecutionMode: "default", PlanningMode: "plan",
	}
	if diff := cmp.Diff(want, one(t, r.item("completed", "n1", plan), proposal)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.completed("n1", "completed")
	none(t, r.item("completed", "n1", plan), proposal)
	r.begin("t2", "n2", abi.Settings{})
	none(t, r.item("completed", "n2", plan), proposal)
}

func TestTheChecklistIsProgressAndNoProposal(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{Mode: "plan"})
	effects := r.notify("turn/plan/updated", `{"threadId":"thread-1","turnId":"n1","explanation":"why","plan":[{"step":"a","status":"completed"},{"step":"b","status":"inProgress"},{"step":"c","status":"someday"}]}`)
	want := &abi.Progress{Turn: "t1", Note: "why", Entries: []abi.ProgressStep{{Text: "a", Status: "completed"}, {Text: "b", Status: "running"}, {Text: "c", Status: "pending"}}}
	if diff := cmp.Diff(want, one(t, effects, progress)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none(t, effects, proposal)
}

func TestD7_ContextIsAGaugeAndTotalsAreCounters(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	params := `{"threadId":"thread-1","turnId":"n1","tokenUsage":{"total":{"totalTokens":240,"inputTokens":200},"last":{"totalTokens":120},"modelContextWindow":1000}}`
	want := &abi.Usage{Turn: "t1",
		Gauges:   []abi.Metric{{Name: "context_tokens", Value: 120}, {Name: "context_window", Value: 1000}},
		Counters: []abi.Metric{{Name: "total_tokens", Value: 240}, {Name: "input_tokens", Value: 200}}}
	if diff := cmp.Diff(want, one(t, r.notify("thread/tokenUsage/updated", params), usage)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none(t, r.notify("thread/tokenUsage/updated", `{"threadId":"child-1","tokenUsage":{"last":{"totalTokens":9}}}`), usage)
}

func TestRule05_ObservedTellsThePermissionOrTheProvidersWords(t *testing.T) {
	update := func(policy, reviewer, sandbox string) string {
		return `{"threadId":"thread-1","threadSettings":{"approvalPolicy":"` + policy + `","approvalsReviewer":"` + reviewer + `","sandboxPolicy":` + sandbox + `,"model":"m","effort":null,"collaborationMode":{"mode":"plan"}}}`
	}
	workspace := `{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}`
	for _, c := range []struct {
		params string
		want   abi.Observed
	}{
		{update("on-request", "user", `{"type":"workspaceWrite"}`), abi.Observed{Permission: abi.PermissionAcceptEdits}},
		{update("on-request", "auto_review", workspace), abi.Observed{Permission: abi.PermissionAuto}},
		{update("never", "user", `{"type":"dangerFullAccess"}`), abi.Observed{Permission: abi.PermissionBypass}},
		{update("on-request", "user", `{"type":"readOnly"}`), abi.Observed{Permission: abi.PermissionDefault}},
		{update("never", "user", workspace), abi.Observed{Native: "approvals never, reviewed by user, sandbox workspaceWrite"}},
		{update("on-request", "user", `{"type":"workspaceWrite","networkAccess":true}`), abi.Observed{Native: "approvals on-request, reviewed by user, sandbox workspaceWrite with network"}},
	} {
		r := ready(t)
		c.want.Mode, c.want.Model = "plan", "m"
		if diff := cmp.Diff(&c.want, one(t, r.notify("thread/settings/updated", c.params), observed)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.params, diff)
		}
		none(t, r.notify("thread/settings/updated", c.params), observed)
	}
}

func TestWhereTwoPermissionsAreTheSameTheChosenOneIsObserved(t *testing.T) {
	r := newRig(t)
	r.read(openEvent())
	r.result("thread/start", `{"thread":{"id":"thread-1"},"model":"model-a","approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"workspaceWrite"}}`)
	r.submit("t1", abi.Settings{Permission: abi.PermissionAcceptEdits})
	got := one(t, r.notify("thread/settings/updated", `{"threadId":"thread-1","threadSettings":{"approvalPolicy":"on-request","approvalsReviewer":"user","sandboxPolicy":{"type":"workspaceWrite"},"model":"model-a"}}`), observed)
	if got.Permission != abi.PermissionAcceptEdits {
		t.Errorf("observed = %+v", got)
	}
}

func TestWarningsAreShownOnce(t *testing.T) {
	r := ready(t)
	for _, c := range [][3]string{
		{"warning", `{"threadId":null,"message":"w"}`, "provider_warning"},
		{"guardianWarning", `{"threadId":"thread-1","message":"g"}`, "review_warning"},
		{"configWarning", `{"summary":"c","details":"more"}`, "config_warning"},
		{"deprecationNotice", `{"summary":"d","details":null}`, "deprecation"},
		{"mcpServer/startupStatus/updated", `{"name":"x","status":"failed","error":"gone"}`, "mcp_server_failed"},
	} {
		if got := one(t, r.notify(c[0], c[1]), warning); got.Code != c[2] {
			t.Errorf("%s: %+v", c[0], got)
		}
		none(t, r.notify(c[0], c[1]), warning)
	}
	none(t, r.notify("mcpServer/startupStatus/updated", `{"name":"x","status":"ready","error":null}`), warning)
}

func TestAReroutedModelIsObservedAndSaid(t *testing.T) {
	r := ready(t)
	effects := r.notify("model/rerouted", `{"threadId":"thread-1","turnId":"n","fromModel":"model-a","toModel":"model-z"}`)
	if got := one(t, effects, observed); got.Model != "model-z" {
		t.Errorf("observed = %+v", got)
	}
	one(t, effects, warning)
	if got := r.notify("model/rerouted", `{"threadId":"child-1","turnId":"n","fromModel":"model-a","toModel":"model-y"}`); len(got) != 0 {
		t.Errorf("a child's model gave %s", abi.AppendEffects(nil, got))
	}
}

func TestTheTitleIsToldWhenItChanges(t *testing.T) {
	r := ready(t)
	params := `{"threadId":"thread-1","threadName":"Colors"}`
	if got := one(t, r.notify("thread/name/updated", params), sessionInfo); got.Title != "Colors" {
		t.Errorf("session_info = %+v", got)
	}
	none(t, r.notify("thread/name/updated", params), sessionInfo)
}

func TestT3_WhatIsNotKnownMeansNothing(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	for _, c := range [][2]string{
		{"thread/dreams/updated", `{"threadId":"thread-1"}`},
		{"item/agentMessage/delta", `null`},
		{"item/agentMessage/delta", `{"threadId":7,"turnId":null,"itemId":[],"delta":{}}`},
		{"item/started", `{"threadId":"thread-1","turnId":"n1","item":null}`},
		{"item/started", `[]`},
		{"turn/completed", `{"threadId":"thread-1","turn":null}`},
		{"turn/started", `{"threadId":"thread-1"}`},
		{"thread/tokenUsage/updated", `{"threadId":"thread-1","tokenUsage":"many"}`},
		{"serverRequest/resolved", `{"requestId":null}`},
		{"error", `{}`},
	} {
		if got := r.notify(c[0], c[1]); len(got) != 0 {
			t.Errorf("%s %s gave %s", c[0], c[1], abi.AppendEffects(nil, got))
		}
	}
	wantKinds(t, r.completed("n1", "completed"), "ended t1 completed")
}
