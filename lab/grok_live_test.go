package lab_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

// writePlan writes the file that Grok shows as the plan; only Grok knows where it is.
func writePlan(id, old, text string) model.Step {
	return model.Step{Capture: `(/[^" ]+/plan\.md)`, Reply: []model.Action{model.Call(id, "search_replace",
		`{"file_path":"{{captured}}","old_string":"`+old+`","new_string":"`+text+`"}`)}}
}

func (a *acp) mode(id string) {
	a.t.Helper()
	if f := a.Call("session/set_mode", obj{"sessionId": a.session, "modeId": id}); f.Error != nil || string(f.Result) != "{}" {
		a.t.Errorf("set_mode %s: %s", id, f.Raw)
	}
}

func (a *acp) modeSeen(id string) {
	a.t.Helper()
	if f := a.update("current_mode_update"); text(a.t, f, "update.currentModeId") != id {
		a.t.Errorf("want the mode %s: %s", id, f.Raw)
	}
}

func TestLiveGrokPlanQuestionAnswerReviewImplement(t *testing.T) {
	a := startGrok(t, lab.GrokOptions{},
		calls("call_ask", "ask_user_question", `{"questions":[{"question":"Which colour?","multi_select":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cool"}]}]}`),
		writePlan("call_write", "", `# Plan\n1. Write colour.txt`), calls("call_exit", "exit_plan_mode", `{}`),
		writePlan("call_edit", "Write colour.txt", "Write colour.txt, carefully"), calls("call_exit2", "exit_plan_mode", `{}`),
		calls("call_run", "run_terminal_command", `{"command":"echo blue > colour.txt","description":"write"}`), says("Implemented."))
	f := a.open()
	if text(t, f, "modes") != "" || text(t, f, "models.currentModelId") != "mock-model" || value(t, f.Result, "model") != "mock-model" {
		t.Errorf("%s", f.Raw)
	}
	a.mode("plan")
	p := a.prompt("plan it", obj{"_meta": obj{"promptId": "p-1"}})
	a.modeSeen("plan")
	ask := a.Await("_x.ai/ask_user_question")
	if text(t, ask, "mode") != "plan" || text(t, ask, "toolCallId") != "call_ask" {
		t.Errorf("%s", ask.Raw)
	}
	a.Reply(ask, obj{"outcome": "accepted", "answers": obj{"Which colour?": []string{"Other"}}, "annotations": obj{"Which colour?": obj{"notes": "Green"}}})
	done := a.update("tool_call_update", func(f *lab.Frame) bool { return text(t, *f, "update.status") == "completed" })
	if !strings.Contains(text(t, done, "update.content"), `\"Which colour?\"=\"Other\" user notes: Green`) {
		t.Errorf("%s", done.Raw)
	}
	if text(t, done, "_meta.promptId") != "p-1" && text(t, done, "update._meta.promptId") != "p-1" {
		t.Errorf("the update does not name its prompt: %s", done.Raw)
	}
	review := a.Await("_x.ai/exit_plan_mode")
	if got := text(t, review, "planContent"); got != "# Plan\n1. Write colour.txt" {
		t.Errorf("planContent %q", got)
	}
	a.Reply(review, obj{"outcome": "cancelled", "feedback": "carefully"})
	review = a.Await("_x.ai/exit_plan_mode") // the same turn goes on
	if got := text(t, review, "planContent"); got != "# Plan\n1. Write colour.txt, carefully" {
		t.Errorf("planContent %q", got)
	}
	a.Reply(review, obj{"outcome": "approved"})
	a.modeSeen("default")
	tool := a.Await("session/request_permission")
	if got := options(t, tool); !slices.Contains(got, "allow-once") || !slices.Contains(got, "reject-once") {
		t.Errorf("offered %q", got)
	}
	a.Reply(tool, selected("allow-once"))
	ended := a.Await("_x.ai/session_notification", func(f *lab.Frame) bool { return text(t, *f, "update.sessionUpdate") == "turn_completed" })
	if text(t, ended, "update.prompt_id") != "p-1" || text(t, ended, "update.stop_reason") != "end_turn" {
		t.Errorf("%s", ended.Raw)
	}
	if f := a.ended(p, "end_turn"); text(t, f, "_meta.promptId") != "p-1" {
		t.Errorf("%s", f.Raw)
	}
	if b, err := os.ReadFile(filepath.Join(a.dir, "colour.txt")); err != nil || string(b) != "blue\n" {
		t.Errorf("the command did not run: %q, %v", b, err)
	}
	feedback := false
	for _, r := range a.model.AgentRequests() {
		feedback = feedback || slices.Equal(r.Results, []string{"call_exit"}) && strings.Contains(string(r.Body), "carefully")
	}
	if left := a.model.Remaining(); len(left) != 0 || !feedback {
		t.Errorf("left %v; the feedback reached the model: %v", left, feedback)
	}
}

func TestLiveGrokP9_AnUnknownModeIsAnsweredAndNothingChanges(t *testing.T) {
	a := startGrok(t, lab.GrokOptions{}, says("done"))
	a.open()
	a.mode("nonsense")
	a.ended(a.prompt("go"), "end_turn")
	for _, f := range a.Frames() {
		if f.Method == "session/update" && text(t, f, "update.sessionUpdate") == "current_mode_update" {
			t.Errorf("%s", f.Raw)
		}
	}
}

func TestLiveGrokRule14_WhatEndsAReview(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(a *acp, review lab.Frame)
		stop   string
		mode   string // after it
		more   []model.Step
	}{
		"cancelled stays in plan and goes on": {func(a *acp, f lab.Frame) { a.Reply(f, obj{"outcome": "cancelled"}) }, "end_turn", "plan", []model.Step{says("still planning")}},
		"unreadable counts as cancelled":      {func(a *acp, f lab.Frame) { a.Reply(f, obj{"outcome": 7}) }, "end_turn", "plan", []model.Step{says("still planning")}},
		"abandoned leaves plan":               {func(a *acp, f lab.Frame) { a.Reply(f, obj{"outcome": "abandoned"}) }, "end_turn", "default", []model.Step{says("given up")}},
		"an error ends the turn cancelled":    {func(a *acp, f lab.Frame) { a.Refuse(f, -32603, "no") }, "cancelled", "plan", nil},
		"cancel and then cancelled":           {func(a *acp, f lab.Frame) { a.cancel(); a.Reply(f, obj{"outcome": "cancelled"}) }, "cancelled", "plan", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := startGrok(t, lab.GrokOptions{}, append([]model.Step{calls("call_exit", "exit_plan_mode", `{}`)}, c.more...)...)
			a.open()
			a.mode("plan")
			p := a.prompt("plan")
			review := a.Await("_x.ai/exit_plan_mode")
			if text(t, review, "planContent") != "" {
				t.Errorf("a plan that was not written: %s", review.Raw)
			}
			c.answer(a, review)
			a.ended(p, c.stop)
			mode := ""
			for _, f := range a.Frames() {
				if f.Method == "session/update" && text(t, f, "update.sessionUpdate") == "current_mode_update" {
					mode = text(t, f, "update.currentModeId")
				}
			}
			if mode != c.mode {
				t.Errorf("mode %s, want %s", mode, c.mode)
			}
		})
	}
}

func TestLiveGrokQueuesASecondPromptAndCancelEndsTheFirst(t *testing.T) {
	a := startGrok(t, lab.GrokOptions{}, model.Step{Match: model.Match{LastUser: "one"}, Reply: []model.Action{model.Text("a"), {Hang: true}}},
		model.Step{Match: model.Match{LastUser: "two"}, Reply: []model.Action{model.Text("b")}})
	a.open()
	one := a.prompt("one", obj{"_meta": obj{"promptId": "p-1"}})
	a.update("agent_message_chunk")
	two := a.prompt("two", obj{"_meta": obj{"promptId": "p-2"}})
	queued := a.Await("_x.ai/queue/changed")
	if text(t, queued, "runningPromptId") != "p-1" || !strings.Contains(queued.Raw, `"id":"p-2"`) {
		t.Errorf("%s", queued.Raw)
	}
	a.cancel()
	a.ended(one, "cancelled")
	a.ended(two, "end_turn")
}

func TestLiveGrokComesBackAfterARestartInPlanMode(t *testing.T) {
	a := startGrok(t, lab.GrokOptions{}, calls("call_read", "list_dir", `{"target_directory":"."}`), says("one"), says("two"))
	a.open()
	a.mode("plan")
	a.ended(a.prompt("first", obj{"_meta": obj{"promptId": "p-1"}}), "end_turn")
	a.Stop()
	a.connect()
	f := a.Call("session/load", obj{"sessionId": a.session, "cwd": a.dir, "mcpServers": []any{}})
	if f.Error != nil || text(t, f, "models.currentModelId") != "mock-model" {
		t.Fatalf("%s", f.Raw)
	}
	var replayed []string
	for _, f := range a.Frames() {
		if f.Method != "session/update" || text(t, f, "update._meta.isReplay") != "true" && text(t, f, "_meta.isReplay") != "true" {
			continue
		}
		replayed = append(replayed, text(t, f, "update.sessionUpdate"))
	}
	if want := []string{"current_mode_update", "user_message_chunk", "tool_call", "agent_message_chunk"}; !slices.Equal(replayed, want) {
		t.Errorf("replayed %q, want %q", replayed, want)
	}
	a.Stop()
	a.connect()
	before := len(a.Frames())
	if f := a.Call("session/resume", obj{"sessionId": a.session, "cwd": a.dir, "mcpServers": []any{}}); f.Error != nil {
		t.Fatalf("%s", f.Raw)
	}
	a.ended(a.prompt("second"), "end_turn")
	for _, f := range a.Frames()[before:] {
		if f.Method == "session/update" && text(t, f, "update.sessionUpdate") == "user_message_chunk" {
			t.Errorf("resume replays: %s", f.Raw)
		}
	}
	requests := a.model.AgentRequests()
	if last := requests[len(requests)-1]; !strings.Contains(string(last.Body), "Plan mode is active") {
		t.Error("the mode is not plan after the restart")
	}
}

func TestLiveGrokS7_WithoutAKeyANewSessionNeedsSignIn(t *testing.T) {
	t.Parallel()
	h := lab.Require(t, "grok", "1.0.41")
	srv := model.Start(t, model.Script{})
	a := &acp{t: t, model: srv, home: lab.GrokHome(t, h, srv.URL()+"/v1", lab.GrokOptions{NoKey: true}), dir: t.TempDir()}
	if f := a.connect(); strings.Contains(text(t, f, "authMethods"), "xai.api_key") {
		t.Errorf("offers a key that is not there: %s", f.Raw)
	}
	if f := a.Call("session/new", obj{"cwd": a.dir, "mcpServers": []any{}}); f.Error == nil || f.Error.Code != -32000 {
		t.Errorf("%s", f.Raw)
	}
}

func TestLiveGrokT7_FailuresOfTheProvider(t *testing.T) {
	for name, c := range map[string]struct {
		action     model.Action
		code       int
		stop, data string
	}{
		"400": {model.Status(400, "bad"), -32603, "error", `"http_status":400`},
		"401": {model.Status(401, "who"), -32603, "error", "Unauthorized (401)"},
		"429": {model.Status(429, "slow"), -32003, "rate_limit", "slow"},
	} {
		t.Run(name, func(t *testing.T) {
			a := startGrok(t, lab.GrokOptions{}, model.Step{Repeat: true, Reply: []model.Action{c.action}})
			a.open()
			f := a.Response(a.prompt("go", obj{"_meta": obj{"promptId": "p-1"}}))
			if f.Error == nil || f.Error.Code != c.code || !strings.Contains(string(f.Error.Data), c.data) {
				t.Errorf("%s", f.Raw)
			}
			ended := a.Await("_x.ai/session_notification", func(f *lab.Frame) bool { return text(t, *f, "update.sessionUpdate") == "turn_completed" })
			if text(t, ended, "update.stop_reason") != c.stop {
				t.Errorf("%s", ended.Raw)
			}
		})
	}
	t.Run("500 is tried again for minutes", func(t *testing.T) {
		a := startGrok(t, lab.GrokOptions{}, model.Step{Repeat: true, Reply: []model.Action{model.Status(500, "boom")}})
		a.open()
		p := a.prompt("go")
		retry := a.Await("_x.ai/session_notification", func(f *lab.Frame) bool { return text(t, *f, "update.sessionUpdate") == "retry_state" })
		if text(t, retry, "update.type") != "retrying" || text(t, retry, "update.max_retries") != "15" {
			t.Errorf("%s", retry.Raw)
		}
		a.cancel()
		begun := time.Now()
		a.ended(p, "cancelled")
		if time.Since(begun) > time.Minute {
			t.Errorf("the cancel took %v", time.Since(begun))
		}
	})
}

func TestLiveGrokPermissionIsAMatterOfTheLaunch(t *testing.T) {
	a := startGrok(t, lab.GrokOptions{Args: []string{"--always-approve"}},
		calls("call_run", "run_terminal_command", `{"command":"echo blue > colour.txt","description":"write"}`), says("done"))
	a.open()
	a.ended(a.prompt("go"), "end_turn")
	for _, f := range a.Frames() {
		if f.Method == "session/request_permission" {
			t.Errorf("asks: %s", f.Raw)
		}
	}
	if _, err := os.Stat(filepath.Join(a.dir, "colour.txt")); err != nil {
		t.Error(err)
	}
}

func TestLiveGrokRefusals(t *testing.T) {
	a := startGrok(t, lab.GrokOptions{})
	a.open()
	a.refused()
	if f := a.Call("session/new", obj{"cwd": "/does/not/exist", "mcpServers": []any{}}); f.Error != nil {
		t.Errorf("a directory that is not there: %s", f.Raw)
	}
}
