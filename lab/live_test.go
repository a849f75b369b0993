package lab_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

type obj = map[string]any

// live is a real harness in its lab, spoken to without a host.
type live struct {
	*lab.Lines
	t     *testing.T
	model *model.Server
	home  lab.Home
	dir   string
}

// each runs a test with every pinned Codex.
func each(t *testing.T, test func(t *testing.T, version string)) {
	for _, v := range lab.CodexVersions {
		t.Run(v, func(t *testing.T) { test(t, v) })
	}
}

func start(t *testing.T, version string, opts lab.CodexOptions, steps ...model.Step) *live {
	t.Helper()
	return startScript(t, version, opts, model.Script{Steps: steps})
}

func startScript(t *testing.T, version string, opts lab.CodexOptions, script model.Script) *live {
	t.Helper()
	h := lab.Require(t, "codex", version)
	srv := model.Start(t, script)
	l := &live{t: t, model: srv, home: lab.CodexHome(t, h, srv.URL()+"/v1", opts), dir: t.TempDir()}
	l.connect()
	return l
}

// connect starts the process and initializes it.
func (l *live) connect() {
	l.t.Helper()
	l.Lines = lab.StartLines(l.t, l.home, l.dir)
	f := l.Call("initialize", obj{"clientInfo": obj{"name": "ao-host", "title": "ao-host", "version": "0.1.0"}, "capabilities": obj{"experimentalApi": true}})
	if !strings.Contains(string(f.Result), "ao-host/"+l.home.Harness.Version+" ") {
		l.t.Fatalf("initialize: %s", f.Raw)
	}
	l.Notify("initialized")
}

func (l *live) thread(more obj) string {
	l.t.Helper()
	p := obj{"cwd": l.dir}
	for k, v := range more {
		p[k] = v
	}
	f := l.Call("thread/start", p)
	return text(l.t, f, "thread.id")
}

func (l *live) turn(thread, mode, message string, more obj) string {
	l.t.Helper()
	p := obj{"threadId": thread, "input": []obj{{"type": "text", "text": message}}, "clientUserMessageId": "client-" + message,
		"approvalPolicy": "on-request", "approvalsReviewer": "user", "sandboxPolicy": obj{"type": "readOnly"},
		"collaborationMode": obj{"mode": mode, "settings": obj{"model": lab.MockModel, "reasoning_effort": "high", "developer_instructions": nil}}}
	for k, v := range more {
		p[k] = v
	}
	f := l.Call("turn/start", p)
	if f.Error != nil {
		l.t.Fatalf("turn/start: %s", f.Raw)
	}
	return text(l.t, f, "turn.id")
}

// done waits for the end of a turn of a thread.
func (l *live) done(thread string) lab.Frame {
	l.t.Helper()
	return l.Await("turn/completed", func(f *lab.Frame) bool { return text(l.t, *f, "threadId") == thread })
}

func (l *live) item(kind string) lab.Frame {
	l.t.Helper()
	return l.Await("item/completed", func(f *lab.Frame) bool { return text(l.t, *f, "item.type") == kind })
}

// text reads a member of a frame's params or result at a dotted path, as text.
func text(t *testing.T, f lab.Frame, path string) string {
	t.Helper()
	var v any
	if err := f.Decode(&v); err != nil {
		t.Fatalf("%s: %v", f.Raw, err)
	}
	for _, name := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

func says(text string) model.Step { return model.Step{Reply: []model.Action{model.Text(text)}} }

func calls(id, name, arguments string) model.Step {
	return model.Step{Reply: []model.Action{model.Call(id, name, arguments)}}
}

const colourQuestion = `{"questions":[{"id":"color","header":"Color","question":"Which color?","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cool"}]}]}`

func TestLivePlanQuestionAnswerPlanImplement(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		script, err := model.Load(filepath.Join("..", "testdata", "scripts", "model", "plan-implement.json"))
		if err != nil {
			t.Fatal(err)
		}
		l := startScript(t, version, lab.CodexOptions{}, script)
		thread := l.thread(nil)
		l.turn(thread, "plan", "plan", nil)
		q := l.Await("item/tool/requestUserInput")
		if text(t, q, "isBlocking") != "true" {
			t.Errorf("the question does not block: %s", q.Raw)
		}
		l.Reply(q, obj{"answers": obj{"color": obj{"answers": []string{"Blue"}}}})
		l.Await("serverRequest/resolved")
		if p := l.item("plan"); text(t, p, "item.text") != "# Plan\n1. Write color.txt\n" {
			t.Errorf("plan: %s", p.Raw)
		}
		l.done(thread)
		l.turn(thread, "default", "implement", obj{"sandboxPolicy": obj{"type": "workspaceWrite"}})
		if f := l.done(thread); text(t, f, "turn.status") != "completed" {
			t.Errorf("%s", f.Raw)
		}
		if b, err := os.ReadFile(filepath.Join(l.dir, "color.txt")); err != nil || string(b) != "blue" {
			t.Errorf("the command did not work in the workspace-write sandbox: %q, %v", b, err)
		}
		requests := l.model.AgentRequests()
		if len(requests) != 4 || len(l.model.Remaining()) != 0 {
			t.Fatalf("%d requests, left %v", len(requests), l.model.Remaining())
		}
		for i, r := range requests {
			planning := strings.LastIndex(r.Instructions, "# Plan Mode") > strings.LastIndex(r.Instructions, "# Collaboration Mode: Default")
			if r.Model != lab.MockModel || r.Effort != "high" || planning != (i < 2) {
				t.Errorf("request %d: model %s, effort %s, planning %v", r.N, r.Model, r.Effort, planning)
			}
			for name := range r.Header {
				if slices.Contains([]string{"Authorization", "Cookie"}, name) {
					t.Errorf("request %d: %s was kept", r.N, name)
				}
			}
		}
		if !strings.Contains(string(requests[1].Body), "Blue") {
			t.Error("the answer did not reach the model")
		}
	})
}

// refusal is an entry of testdata/scripts/refusals.json, which the scripted harness is held against too.
type refusal struct {
	Before, Method string
	Params         json.RawMessage
	Code           int
	Message        string
}

func TestLiveRefusals(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "scripts", "refusals.json"))
	if err != nil {
		t.Fatal(err)
	}
	var refusals []refusal
	if err := json.Unmarshal(data, &refusals); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, version string) {
		h := lab.Require(t, "codex", version)
		home := lab.CodexHome(t, h, "http://127.0.0.1:1/v1", lab.CodexOptions{})
		l := lab.StartLines(t, home, t.TempDir())
		thread, ready := "", false
		for _, r := range refusals {
			if r.Before == "" && !ready {
				ready = true
				l.Call("initialize", obj{"clientInfo": obj{"name": "t", "version": "1"}, "capabilities": obj{"experimentalApi": true}})
				l.Notify("initialized")
				thread = text(t, l.Call("thread/start", obj{"cwd": t.TempDir()}), "thread.id")
			}
			fill := strings.NewReplacer("$UNKNOWN", "0199a229-0000-7000-8000-000000000000", "$THREAD", thread)
			f := l.Call(r.Method, json.RawMessage(fill.Replace(string(r.Params))))
			if f.Error == nil || f.Error.Code != r.Code || !strings.HasPrefix(f.Error.Message, fill.Replace(r.Message)) {
				t.Errorf("%s %s:\n got %.300s\nwant %d %s", r.Method, r.Params, f.Raw, r.Code, r.Message)
			}
		}
	})
}

func TestLiveASecondInterrupt(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		l := start(t, version, lab.CodexOptions{},
			model.Step{Reply: []model.Action{model.Text("one"), {Hang: true}}},
			calls("", "request_user_input", colourQuestion))
		thread := l.thread(nil)
		id := l.turn(thread, "default", "go", nil)
		l.Await("item/agentMessage/delta")
		if f := l.Call("turn/interrupt", obj{"threadId": thread, "turnId": "0199a229-0000-7000-8000-000000000000"}); f.Error == nil || f.Error.Code != -32600 {
			t.Errorf("wrong turn: %s", f.Raw)
		}
		a := l.Post("turn/interrupt", obj{"threadId": thread, "turnId": id})
		b := l.Post("turn/interrupt", obj{"threadId": thread, "turnId": id})
		for _, n := range []int{a, b} {
			if f := l.Response(n); string(f.Result) != "{}" {
				t.Errorf("%s", f.Raw)
			}
		}
		if f := l.done(thread); text(t, f, "turn.status") != "interrupted" {
			t.Errorf("%s", f.Raw)
		}
		again := l.Post("turn/interrupt", obj{"threadId": thread, "turnId": id})
		l.Call("collaborationMode/list", obj{})
		answered := func() *lab.Frame {
			for _, f := range l.Frames() {
				if f.Method == "" && string(f.ID) == fmt.Sprint(again) {
					return &f
				}
			}
			return nil
		}
		if version == "0.171.0" {
			if f := l.Response(again); f.Error == nil || f.Error.Message != "no active turn to interrupt" {
				t.Errorf("%s", f.Raw)
			}
		} else {
			time.Sleep(300 * time.Millisecond)
			if f := answered(); f != nil {
				t.Errorf("answered: %s", f.Raw)
			}
		}
		// A question that is pending when its turn is interrupted is resolved after the end.
		next := l.turn(thread, "plan", "ask", nil)
		q := l.Await("item/tool/requestUserInput")
		l.Call("turn/interrupt", obj{"threadId": thread, "turnId": next})
		l.done(thread)
		if f := l.Await("serverRequest/resolved"); text(t, f, "requestId") != string(q.ID) {
			t.Errorf("%s", f.Raw)
		}
		if f := l.Response(again); version == "0.153.4" && string(f.Result) != "{}" {
			t.Errorf("the late answer: %s", f.Raw)
		}
	})
}

func TestLiveATurnStartJoinsARunningTurnAndSteerDoesToo(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		l := start(t, version, lab.CodexOptions{},
			model.Step{Reply: []model.Action{model.Text("one"), model.Wait("gate")}},
			// Both messages go to the model at once, or one after the other on a busy
			// machine.
			model.Step{Repeat: true, Reply: []model.Action{model.Text("two")}})
		thread := l.thread(nil)
		id := l.turn(thread, "default", "go", nil)
		l.item("userMessage")
		if joined := l.turn(thread, "default", "join", nil); joined != id {
			t.Errorf("a second turn began")
		}
		f := l.Call("turn/steer", obj{"threadId": thread, "expectedTurnId": id, "clientUserMessageId": "steer", "input": []obj{{"type": "text", "text": "left"}}})
		if text(t, f, "turnId") != id {
			t.Errorf("%s", f.Raw)
		}
		f = l.Call("turn/steer", obj{"threadId": thread, "expectedTurnId": "0199a229-0000-7000-8000-000000000000", "input": []obj{{"type": "text", "text": "left"}}})
		if f.Error == nil || f.Error.Message != "expected active turn id `0199a229-0000-7000-8000-000000000000` but found `"+id+"`" {
			t.Errorf("%s", f.Raw)
		}
		l.model.Release("gate")
		for _, want := range []string{"client-join", "steer"} {
			if f := l.item("userMessage"); text(t, f, "item.clientId") != want || text(t, f, "turnId") != id {
				t.Errorf("%s", f.Raw)
			}
		}
		l.done(thread)
	})
}

func TestLiveApprovals(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		outside := filepath.Join(t.TempDir(), "outside")
		l := start(t, version, lab.CodexOptions{},
			model.Step{Reply: []model.Action{{Custom: &model.CustomCall{ID: "call_p", Name: "apply_patch",
				Input: "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"}}}},
			calls("call_x", "exec_command", `{"cmd":"touch `+outside+`","sandbox_permissions":"require_escalated","justification":"need it"}`),
			calls("call_y", "exec_command", `{"cmd":"touch `+outside+`","sandbox_permissions":"require_escalated","justification":"really"}`))
		thread := l.thread(nil)
		l.turn(thread, "default", "go", nil)
		f := l.Await("item/fileChange/requestApproval")
		l.Reply(f, obj{"decision": "accept"})
		if f := l.item("fileChange"); text(t, f, "item.status") != "completed" {
			t.Errorf("%s", f.Raw)
		}
		if b, err := os.ReadFile(filepath.Join(l.dir, "new.txt")); err != nil || string(b) != "hello\n" {
			t.Errorf("%q %v", b, err)
		}
		f = l.Await("item/commandExecution/requestApproval")
		var asked struct {
			AvailableDecisions []json.RawMessage
		}
		if err := f.Decode(&asked); err != nil || len(asked.AvailableDecisions) != 3 || string(asked.AvailableDecisions[0]) != `"accept"` || string(asked.AvailableDecisions[2]) != `"cancel"` {
			t.Errorf("%s", f.Raw)
		}
		l.Reply(f, obj{"decision": "decline"})
		if f := l.item("commandExecution"); text(t, f, "item.status") != "declined" {
			t.Errorf("%s", f.Raw)
		}
		l.Reply(l.Await("item/commandExecution/requestApproval"), obj{"decision": "cancel"})
		if f := l.done(thread); text(t, f, "turn.status") != "interrupted" {
			t.Errorf("cancel did not interrupt: %s", f.Raw)
		}
		if _, err := os.Stat(outside); err == nil {
			t.Error("a declined command ran")
		}
	})
}

func TestLiveAutoReviewAsksAModelInThePlaceOfTheUser(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		allowed := filepath.Join(t.TempDir(), "allowed")
		l := start(t, version, lab.CodexOptions{},
			calls("call_a", "exec_command", `{"cmd":"touch `+allowed+`1","sandbox_permissions":"require_escalated","justification":"one"}`),
			calls("call_b", "exec_command", `{"cmd":"touch `+allowed+`2","sandbox_permissions":"require_escalated","justification":"two"}`),
			says("end"),
			model.Step{Name: "denies", Match: model.Match{Kind: model.KindReview}, Reply: []model.Action{model.Verdict(false, "not today")}},
			model.Step{Name: "allows", Match: model.Match{Kind: model.KindReview}, Reply: []model.Action{model.Verdict(true, "fine")}})
		thread := l.thread(nil)
		l.turn(thread, "default", "go", obj{"approvalsReviewer": "auto_review", "sandboxPolicy": obj{"type": "workspaceWrite"}})
		for _, want := range []string{"denied", "approved"} {
			l.Await("item/autoApprovalReview/started")
			f := l.Await("item/autoApprovalReview/completed")
			if text(t, f, "review.status") != want {
				t.Errorf("%s", f.Raw)
			}
		}
		l.done(thread)
		_, first := os.Stat(allowed + "1")
		_, second := os.Stat(allowed + "2")
		if first == nil || second != nil {
			t.Errorf("denied ran: %v, allowed ran: %v", first == nil, second == nil)
		}
		for _, f := range l.Frames() {
			if f.IsRequest() {
				t.Errorf("the user was asked: %s", f.Raw)
			}
		}
		reviews := 0
		for _, r := range l.model.Requests() {
			if r.Kind == model.KindReview {
				reviews++
				if r.Model != "codex-auto-review" {
					t.Errorf("the review asked the model %s", r.Model)
				}
			}
		}
		if reviews != 2 {
			t.Errorf("%d reviews", reviews)
		}
	})
}

func TestLiveT7_FailuresOfTheProviderFailTheTurn(t *testing.T) {
	limit := model.Action{HTTP: &model.HTTPError{Status: 429, Body: []byte(`{"error":{"type":"usage_limit_reached","message":"limit","plan_type":"plus","resets_at":1796009999}}`)}}
	for _, c := range []struct {
		name   string
		action model.Action
		info   map[string]string // by version; "" for both
	}{
		{"500", model.Status(500, "boom"), map[string]string{"": "internalServerError"}},
		{"400", model.Status(400, "bad"), map[string]string{"": "other"}},
		{"401", model.Status(401, "who"), map[string]string{"0.171.0": `{"httpConnectionFailed":{"httpStatusCode":401}}`, "0.153.4": "other"}},
		{"429", model.Status(429, "slow"), map[string]string{"": `{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`}},
		{"usage limit", limit, map[string]string{"": "usageLimitExceeded"}},
		{"context", model.Action{Fail: &model.Failure{Code: "context_length_exceeded", Message: "too long"}}, map[string]string{"": "contextWindowExceeded"}},
		{"quota", model.Action{Fail: &model.Failure{Code: "insufficient_quota", Message: "none left"}}, map[string]string{"": "usageLimitExceeded"}},
		{"disconnect", model.Action{Disconnect: true}, map[string]string{"": "other"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, version string) {
				l := start(t, version, lab.CodexOptions{NoRetries: true}, model.Step{Repeat: true, Reply: []model.Action{c.action}})
				thread := l.thread(nil)
				l.turn(thread, "default", "go", nil)
				f := l.Await("error")
				if text(t, f, "willRetry") != "false" {
					t.Errorf("%s", f.Raw)
				}
				f = l.done(thread)
				want := c.info[""]
				if want == "" {
					want = c.info[version]
				}
				if text(t, f, "turn.status") != "failed" || text(t, f, "turn.error.codexErrorInfo") != want {
					t.Errorf("want %s: %s", want, f.Raw)
				}
			})
		})
	}
}

func TestLiveRule20_TheHistoryProvesWhatWasDelivered(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		l := start(t, version, lab.CodexOptions{}, says("one"),
			model.Step{Reply: []model.Action{model.Text("two"), {Hang: true}}})
		thread := l.thread(nil)
		l.turn(thread, "plan", "first", obj{"approvalPolicy": "never", "approvalsReviewer": "auto_review", "sandboxPolicy": obj{"type": "dangerFullAccess"}})
		l.done(thread)
		l.turn(thread, "plan", "second", obj{"approvalPolicy": "never", "approvalsReviewer": "auto_review", "sandboxPolicy": obj{"type": "dangerFullAccess"}})
		l.Await("item/agentMessage/delta")
		l.Kill()
		l.connect()
		f := l.Call("thread/resume", obj{"threadId": thread, "excludeTurns": true})
		sandbox := map[string]string{"0.171.0": "dangerFullAccess", "0.153.4": "readOnly"}[version]
		for path, want := range map[string]string{"thread.turns": "[]", "approvalPolicy": "never", "approvalsReviewer": "auto_review", "sandbox.type": sandbox} {
			if got := text(t, f, path); got != want {
				t.Errorf("%s = %s, want %s", path, got, want)
			}
		}
		var ids []string
		cursor := any(nil)
		for {
			f := l.Call("thread/items/list", obj{"threadId": thread, "limit": 2, "cursor": cursor})
			var page struct {
				Data       []struct{ Item struct{ ClientID string } }
				NextCursor *string
			}
			if err := f.Decode(&page); err != nil {
				t.Fatal(err)
			}
			for _, d := range page.Data {
				if d.Item.ClientID != "" {
					ids = append(ids, d.Item.ClientID)
				}
			}
			if page.NextCursor == nil {
				break
			}
			cursor = *page.NextCursor
		}
		if got := strings.Join(ids, " "); got != "client-first client-second" {
			t.Errorf("client ids %s", got)
		}
	})
}

func TestLiveAThreadWithoutATurnIsNotKept(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		l := start(t, version, lab.CodexOptions{})
		thread := l.thread(nil)
		l.Stop()
		l.connect()
		if f := l.Call("thread/resume", obj{"threadId": thread, "excludeTurns": true}); f.Error == nil || f.Error.Message != "no rollout found for thread id "+thread {
			t.Errorf("%s", f.Raw)
		}
	})
}

func TestLiveAnEphemeralThreadTellsTheUsersOwnSettings(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		l := start(t, version, lab.CodexOptions{ApprovalPolicy: "never", SandboxMode: "workspace-write", ApprovalsReviewer: "auto_review"})
		f := l.Call("thread/start", obj{"cwd": l.dir, "ephemeral": true})
		for path, want := range map[string]string{"approvalPolicy": "never", "sandbox.type": "workspaceWrite", "approvalsReviewer": "auto_review",
			"model": lab.MockModel, "thread.ephemeral": "true", "thread.path": ""} {
			if got := text(t, f, path); got != want {
				t.Errorf("%s = %s, want %s", path, got, want)
			}
		}
	})
}

func TestLiveElicitationsOfAToolServer(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		tool := func(id, name, arguments string) model.Step {
			return model.Step{Reply: []model.Action{{Call: &model.ToolCall{ID: id, Namespace: "mcp__lab", Name: name, Arguments: []byte(arguments)}}}}
		}
		l := start(t, version, lab.CodexOptions{Extra: "[mcp_servers.lab]\ncommand = " + strconv.Quote(exe) + "\nargs = [\"serve-mcp\"]"},
			tool("call_a", "form", `{"message":"Fill in","schema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`),
			tool("call_b", "url", `{"message":"Visit","url":"https://example.com/x"}`),
			says("end"))
		thread := l.thread(nil)
		l.turn(thread, "default", "go", nil)
		f := l.Await("mcpServer/elicitation/request")
		if text(t, f, "mode") != "form" || text(t, f, "serverName") != "lab" || text(t, f, "requestedSchema.required") != `["name"]` {
			t.Errorf("%s", f.Raw)
		}
		l.Reply(f, obj{"action": "accept", "content": obj{"name": "Ada"}, "_meta": nil})
		if f := l.item("mcpToolCall"); !strings.Contains(f.Raw, `{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}`) {
			t.Errorf("%s", f.Raw)
		}
		f = l.Await("mcpServer/elicitation/request")
		if text(t, f, "mode") != "url" || text(t, f, "url") != "https://example.com/x" || text(t, f, "elicitationId") == "" {
			t.Errorf("%s", f.Raw)
		}
		l.Reply(f, obj{"action": "decline", "content": nil, "_meta": nil})
		l.done(thread)
	})
}

func TestLiveAnAsyncQuestionIsAMessageTwice(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		l := start(t, version, lab.CodexOptions{},
			calls("call_q", "request_user_input_async", `{"questions":[{"title":"Which?","options":["A","B"]},{"title":"Why?"}]}`), says("going on"))
		thread := l.thread(nil)
		l.turn(thread, "default", "go", nil)
		const questions = `[{"options":["A","B"],"title":"Which?"},{"options":null,"title":"Why?"}]`
		async := func(f *lab.Frame) bool { return text(t, *f, "item.delivery") == "async" }
		for _, method := range []string{"item/started", "item/completed"} {
			if f := l.Await(method, async); text(t, f, "item.id") != "call_q" || text(t, f, "item.questions") != questions {
				t.Errorf("%s", f.Raw)
			}
		}
		l.done(thread)
	})
}

func TestLiveQ3_AChildThreadAsksForItselfAndMayOutliveTheTurn(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		l := start(t, version, lab.CodexOptions{},
			model.Step{Match: model.Match{LastUser: "lab-child"}, Reply: []model.Action{model.Call("call_k", "exec_command",
				`{"cmd":"true","sandbox_permissions":"require_escalated","justification":"need it"}`)}},
			model.Step{Match: model.Match{LastUser: "lab-child"}, Reply: []model.Action{model.Text("child done")}},
			model.Step{Reply: []model.Action{{Call: &model.ToolCall{ID: "call_s", Namespace: "multi_agent_v1", Name: "spawn_agent", Arguments: []byte(`{"message":"lab-child"}`)}}}},
			model.Step{Repeat: true, Reply: []model.Action{model.Text("parent done")}})
		thread := l.thread(nil)
		l.turn(thread, "default", "go", nil)
		spawn := l.item("collabAgentToolCall")
		if text(t, spawn, "threadId") != thread || text(t, spawn, "item.tool") != "spawnAgent" {
			t.Errorf("%s", spawn.Raw)
		}
		l.done(thread)
		var ask lab.Frame
		for ask.Method == "" { // it may come before or after the parent's end
			for _, f := range l.Frames() {
				if f.Method == "item/commandExecution/requestApproval" {
					ask = f
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		child := text(t, ask, "threadId")
		if child == thread || !strings.Contains(text(t, spawn, "item.receiverThreadIds"), child) {
			t.Errorf("child %s: %s", child, spawn.Raw)
		}
		l.Reply(ask, obj{"decision": "decline"})
		l.done(child)
	})
}

func TestLiveTheChecklistIsNotAPlan(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		l := start(t, version, lab.CodexOptions{},
			calls("call_p", "update_plan", `{"explanation":"why","plan":[{"step":"one","status":"in_progress"},{"step":"two","status":"pending"}]}`), says("end"))
		thread := l.thread(nil)
		l.turn(thread, "default", "go", nil)
		f := l.Await("turn/plan/updated")
		if text(t, f, "plan") != `[{"status":"inProgress","step":"one"},{"status":"pending","step":"two"}]` || text(t, f, "explanation") != "why" {
			t.Errorf("%s", f.Raw)
		}
		l.done(thread)
		for _, f := range l.Frames() {
			if strings.HasPrefix(f.Method, "item/") && text(t, f, "item.type") == "plan" {
				t.Errorf("%s", f.Raw)
			}
		}
	})
}

func TestLiveTheCatalogOfTheLab(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		l := start(t, version, lab.CodexOptions{})
		var models []string
		cursor := any(nil)
		for pages := 1; ; pages++ {
			f := l.Call("model/list", obj{"limit": 2, "includeHidden": true, "cursor": cursor})
			var page struct {
				Data []struct {
					ID                        string
					Hidden, IsDefault         bool
					SupportedReasoningEfforts []struct{ ReasoningEffort string }
				}
				NextCursor *string
			}
			if err := f.Decode(&page); err != nil {
				t.Fatal(err)
			}
			for _, m := range page.Data {
				var efforts []string
				for _, e := range m.SupportedReasoningEfforts {
					efforts = append(efforts, e.ReasoningEffort)
				}
				models = append(models, fmt.Sprintf("%s %v %v %v", m.ID, efforts, m.Hidden, m.IsDefault))
			}
			if page.NextCursor == nil {
				if pages != 2 {
					t.Errorf("%d pages", pages)
				}
				break
			}
			cursor = *page.NextCursor
		}
		want := []string{"mock-model [low medium high] false true", "mock-plain [low] false false", "mock-hidden [low medium] true false", "codex-auto-review [low medium high] true false"}
		if !slices.Equal(models, want) {
			t.Errorf("%q", models)
		}
	})
}
