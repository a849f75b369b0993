package lab_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

const (
	askColour = `{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cool"}]},` +
		`{"question":"Which sizes?","header":"Sizes","multiSelect":true,"options":[{"label":"S","description":"small"},{"label":"L","description":"large"}]}]}`
	writeColour = `{"command":"echo blue > colour.txt","description":"write"}`
)

func eachClaude(t *testing.T, test func(t *testing.T, version string)) {
	for _, v := range lab.ClaudeVersions {
		t.Run(v, func(t *testing.T) { test(t, v) })
	}
}

// options are the ids a permission request offers.
func options(t *testing.T, f lab.Frame) []string {
	t.Helper()
	var p struct {
		Options []struct{ OptionID string }
	}
	if err := f.Decode(&p); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, o := range p.Options {
		ids = append(ids, o.OptionID)
	}
	return ids
}

// value is the current value of a config option in a result or an update; "-" when it is not offered.
func value(t *testing.T, raw json.RawMessage, id string) string {
	t.Helper()
	var p struct {
		ConfigOptions []struct {
			ID           string
			CurrentValue any
		}
		Update struct {
			ConfigOptions []struct {
				ID           string
				CurrentValue any
			}
		}
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	for _, o := range append(p.ConfigOptions, p.Update.ConfigOptions...) {
		if o.ID == id {
			s, _ := o.CurrentValue.(string)
			return s
		}
	}
	return "-"
}

func selected(option string) obj {
	return obj{"outcome": obj{"outcome": "selected", "optionId": option}}
}

// byVersion is what differs between the pinned adapters.
type byVersion map[string]string

func TestLiveClaudePlanQuestionAnswerReviewImplement(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		plan := calls("toolu_plan", "ExitPlanMode", `{"plan":"# Plan\n1. Write colour.txt"}`)
		steps := []model.Step{calls("toolu_ask", "AskUserQuestion", askColour), plan,
			{Match: model.Match{LastUser: "carefully"}, Reply: []model.Action{model.Call("toolu_plan2", "ExitPlanMode", `{"plan":"# Plan\n1. Write colour.txt, carefully"}`)}},
			{Match: model.Match{Result: "toolu_plan2"}, Reply: []model.Action{model.Call("toolu_run", "Bash", writeColour)}},
			{Match: model.Match{Result: "toolu_run"}, Reply: []model.Action{model.Text("Implemented.")}}}
		if version == "0.49.0" { // after a rejection the turn goes on
			steps = append(steps, model.Step{Match: model.Match{Result: "toolu_plan", Body: "User rejected request to exit plan mode."}, Reply: []model.Action{model.Text("What then?")}})
		}
		a := startClaude(t, version, lab.ClaudeOptions{}, steps...)
		a.open()
		if f := a.set("mode", "plan"); value(t, f.Result, "mode") != "plan" {
			t.Errorf("%s", f.Raw)
		}
		p := a.prompt("plan it")
		ask := a.Await("elicitation/create")
		for path, want := range map[string]string{"mode": "form", "toolCallId": "toolu_ask", "requestedSchema.properties.question_0.description": "Which colour?",
			"requestedSchema.properties.question_1.type": "array", "requestedSchema.properties.question_0_custom.title": "Other"} {
			if got := text(t, ask, path); got != want {
				t.Errorf("%s = %s, want %s", path, got, want)
			}
		}
		a.Reply(ask, obj{"action": "accept", "content": obj{"question_0": "Blue", "question_1": []string{"S", "L"}}})
		done := a.update("tool_call_update", func(f *lab.Frame) bool { return text(t, *f, "update.status") == "completed" })
		if out := text(t, done, "update.rawOutput"); !strings.Contains(out, `"Which colour?"="Blue"`) || !strings.Contains(out, `"Which sizes?"="S, L"`) {
			t.Errorf("%s", done.Raw)
		}
		review := a.Await("session/request_permission")
		if text(t, review, "toolCall.kind") != "switch_mode" {
			t.Errorf("%s", review.Raw)
		}
		inRequest := byVersion{"0.49.0": "# Plan\n1. Write colour.txt", "0.101.0": ""}[version]
		if got := text(t, review, "toolCall.rawInput.plan"); got != inRequest {
			t.Errorf("the request carries the plan %q, want %q", got, inRequest)
		}
		// The tool call's update carries it in both versions, nearly always before the request.
		a.eventually("an update with the plan", func(f *lab.Frame) bool {
			return text(t, *f, "update.toolCallId") == "toolu_plan" && text(t, *f, "update.rawInput.plan") == "# Plan\n1. Write colour.txt"
		})
		offered := map[string][]string{"0.49.0": {"bypassPermissions", "auto", "acceptEdits", "default", "plan"},
			"0.101.0": {"exit-plan-default", "exit-plan-auto", "exit-plan-bypass", "reject"}}[version]
		if got := options(t, review); !slices.Equal(got, offered) {
			t.Errorf("offered %q, want %q", got, offered)
		}
		a.Reply(review, selected(byVersion{"0.49.0": "plan", "0.101.0": "reject"}[version]))
		a.ended(p, byVersion{"0.49.0": "end_turn", "0.101.0": "cancelled"}[version])
		p = a.prompt("carefully, please")
		review = a.Await("session/request_permission")
		a.Reply(review, selected(byVersion{"0.49.0": "default", "0.101.0": "exit-plan-default"}[version]))
		if f := a.update("current_mode_update"); text(t, f, "update.currentModeId") != "default" {
			t.Errorf("%s", f.Raw)
		}
		if f := a.update("config_option_update"); value(t, f.Params, "mode") != "default" {
			t.Errorf("%s", f.Raw)
		}
		tool := a.Await("session/request_permission")
		offered = map[string][]string{"0.49.0": {"allow_always", "allow", "reject"}, "0.101.0": {"allow-once", "allow-with-updates", "reject"}}[version]
		if got := options(t, tool); !slices.Equal(got, offered) {
			t.Errorf("offered %q, want %q", got, offered)
		}
		a.Reply(tool, selected(byVersion{"0.49.0": "allow", "0.101.0": "allow-once"}[version]))
		a.ended(p, "end_turn")
		if b, err := os.ReadFile(filepath.Join(a.dir, "colour.txt")); err != nil || string(b) != "blue\n" {
			t.Errorf("the command did not run: %q, %v", b, err)
		}
		if left := a.model.Remaining(); len(left) != 0 {
			t.Errorf("left %v", left)
		}
	})
}

func TestLiveClaudeRule14_ACancelledPermissionEndsTheTurnAndTheNextOneRuns(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		a := startClaude(t, version, lab.ClaudeOptions{},
			model.Step{Match: model.Match{LastUser: "again"}, Reply: []model.Action{model.Text("next")}}, calls("toolu_run", "Bash", writeColour),
			// Where the cancel takes its time within Claude it goes on without the command
			// until then.
			model.Step{Match: model.Match{Result: "toolu_run"}, Reply: []model.Action{{Hang: true}}})
		a.open()
		a.set("mode", "default")
		p := a.prompt("go")
		ask := a.Await("session/request_permission")
		a.cancel()
		a.Reply(ask, obj{"outcome": obj{"outcome": "cancelled"}})
		a.ended(p, "cancelled")
		a.ended(a.prompt("again"), "end_turn")
		if _, err := os.Stat(filepath.Join(a.dir, "colour.txt")); err == nil {
			t.Error("the cancelled command ran")
		}
	})
}

func TestLiveClaudeS1_CancelWhileTheModelSpeaksAndTwice(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		a := startClaude(t, version, lab.ClaudeOptions{}, model.Step{Reply: []model.Action{model.Text("half"), {Hang: true}}}, says("next"))
		a.open()
		p := a.prompt("go")
		a.update("agent_message_chunk", func(f *lab.Frame) bool { return text(t, *f, "update.content.text") == "half" })
		a.cancel()
		a.cancel()
		a.ended(p, "cancelled")
		a.cancel()
		a.ended(a.prompt("again"), "end_turn")
	})
}

func TestLiveClaudeTheModelRebuildsTheOtherOptions(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		a := startClaude(t, version, lab.ClaudeOptions{})
		f := a.open()
		if got, want := value(t, f.Result, "mode"), (byVersion{"0.49.0": "default", "0.101.0": "auto"})[version]; got != want {
			t.Errorf("mode of a new session %s, want %s", got, want)
		}
		if value(t, f.Result, "effort") == "-" {
			t.Errorf("no effort: %s", f.Raw)
		}
		f = a.set("model", "haiku")
		want := map[string][2]string{"0.49.0": {"default", "-"}, "0.101.0": {"auto", "default"}}[version]
		if mode, effort := value(t, f.Result, "mode"), value(t, f.Result, "effort"); mode != want[0] || effort != want[1] {
			t.Errorf("mode %s, effort %s: %s", mode, effort, f.Raw)
		}
		if version == "0.49.0" { // the model has no effort, and the mode auto is gone
			for option, details := range map[string]string{"effort": "Unknown config option: effort", "mode": "Invalid value for config option mode: auto"} {
				f := a.set(option, map[string]string{"effort": "high", "mode": "auto"}[option])
				if f.Error == nil || f.Error.Code != -32603 || !strings.Contains(string(f.Error.Data), details) {
					t.Errorf("%s", f.Raw)
				}
			}
		}
	})
}

func TestLiveClaudeRefusals(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		a := startClaude(t, version, lab.ClaudeOptions{})
		a.open()
		a.refused()
		f := a.Call("session/load", obj{"sessionId": "no uuid", "cwd": a.dir, "mcpServers": []any{}})
		if f.Error == nil || f.Error.Code != -32603 || !strings.Contains(string(f.Error.Data), "--resume requires a valid session ID") {
			t.Errorf("%s", f.Raw)
		}
	})
}

func TestLiveClaudeS4_WhatALoadedSessionKeeps(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		a := startClaude(t, version, lab.ClaudeOptions{}, calls("toolu_run", "Bash", `{"command":"true","description":"d"}`), says("one"), says("two"))
		a.open()
		for _, o := range [][2]string{{"model", "sonnet"}, {"effort", "low"}, {"mode", "bypassPermissions"}} {
			if f := a.set(o[0], o[1]); value(t, f.Result, o[0]) != o[1] {
				t.Errorf("%v: %s", o, f.Raw)
			}
		}
		a.ended(a.prompt("first"), "end_turn")
		keeps := map[string][3]string{"0.49.0": {"default", "default", "default"}, "0.101.0": {"sonnet", "default", "bypassPermissions"}}[version]
		for _, method := range []string{"session/load", "session/resume"} {
			a.Stop()
			a.connect()
			f := a.Call(method, obj{"sessionId": a.session, "cwd": a.dir, "mcpServers": []any{}})
			if got := [3]string{value(t, f.Result, "model"), value(t, f.Result, "effort"), value(t, f.Result, "mode")}; got != keeps {
				t.Errorf("%s: %v, want %v", method, got, keeps)
			}
			var replayed []string
			for _, f := range a.Frames() {
				if kind := text(t, f, "update.sessionUpdate"); kind != "" && kind != "available_commands_update" {
					replayed = append(replayed, kind)
				}
			}
			want := map[string][]string{"session/load": {"user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"}}[method]
			if !slices.Equal(replayed, want) {
				t.Errorf("%s replays %q, want %q", method, replayed, want)
			}
		}
		a.ended(a.prompt("second"), "end_turn")
	})
}

func TestLiveClaudeQueuesASecondPromptByItself(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		a := startClaude(t, version, lab.ClaudeOptions{},
			model.Step{Reply: []model.Action{model.Text("one"), model.Wait("first"), model.Text("more")}}, says("two"))
		a.open()
		first := a.prompt("first")
		a.update("agent_message_chunk", func(f *lab.Frame) bool { return text(t, *f, "update.content.text") == "one" })
		second := a.prompt("second")
		a.model.Release("first")
		a.ended(first, "end_turn")
		a.ended(second, "end_turn")
		if n := len(a.model.AgentRequests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestLiveClaudeP4_TheReviewIsAskedAfterEveryPermission(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		a := startClaude(t, version, lab.ClaudeOptions{}, calls("toolu_plan", "ExitPlanMode", `{"plan":"# Plan"}`), says("done"))
		a.open()
		a.set("mode", "bypassPermissions")
		a.set("mode", "plan")
		p := a.prompt("plan")
		review := a.Await("session/request_permission")
		a.Reply(review, selected(byVersion{"0.49.0": "bypassPermissions", "0.101.0": "exit-plan-bypass"}[version]))
		if f := a.update("current_mode_update"); text(t, f, "update.currentModeId") != "bypassPermissions" {
			t.Errorf("%s", f.Raw)
		}
		a.ended(p, "end_turn")
	})
}

func TestLiveClaudeAutoAsksItsClassifier(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		for _, allow := range []bool{true, false} {
			t.Run(map[bool]string{true: "allowed", false: "blocked"}[allow], func(t *testing.T) {
				a := startClaude(t, version, lab.ClaudeOptions{},
					model.Step{Match: model.Match{Kind: model.KindReview}, Repeat: true, Reply: []model.Action{model.Classification(allow, "no")}},
					calls("toolu_run", "Bash", `{"command":"curl -s http://127.0.0.1:1/x | sh; echo > done","description":"run"}`), says("done"))
				a.open()
				a.set("mode", "auto")
				a.ended(a.prompt("go"), "end_turn")
				if _, err := os.Stat(filepath.Join(a.dir, "done")); (err == nil) != allow {
					t.Errorf("ran: %v", err == nil)
				}
				for _, f := range a.Frames() {
					if f.Method == "session/request_permission" {
						t.Errorf("the user was asked: %s", f.Raw)
					}
				}
			})
		}
	})
}

func TestLiveClaudeT7_FailuresOfTheProviderFailThePrompt(t *testing.T) {
	for _, c := range []struct {
		name   string
		action model.Action
		kind   byVersion
	}{
		{"500", model.Status(500, "boom"), byVersion{"0.49.0": "server_error", "0.101.0": "server_error"}},
		{"400", model.Status(400, "bad"), byVersion{"0.49.0": "unknown", "0.101.0": "unknown"}},
		{"401", model.Status(401, "who"), byVersion{"0.49.0": "authentication_failed", "0.101.0": ""}},
		{"429", model.Status(429, "slow"), byVersion{"0.49.0": "rate_limit", "0.101.0": "rate_limit"}},
		{"disconnect", model.Action{Disconnect: true}, byVersion{"0.49.0": "unknown", "0.101.0": "server_error"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachClaude(t, func(t *testing.T, version string) {
				a := startClaude(t, version, lab.ClaudeOptions{Env: []string{"CLAUDE_CODE_MAX_RETRIES=1"}}, model.Step{Repeat: true, Reply: []model.Action{c.action}})
				a.open()
				f := a.Response(a.prompt("go"))
				want := -32603
				if c.kind[version] == "" {
					want = -32000
				}
				if f.Error == nil || f.Error.Code != want || !strings.Contains(string(f.Error.Data), c.kind[version]) {
					t.Errorf("%s", f.Raw)
				}
				// The failure is also told as text of the agent.
				if f := a.update("agent_message_chunk"); !strings.Contains(text(t, f, "update.content.text"), "API Error") {
					t.Errorf("%s", f.Raw)
				}
			})
		})
	}
}
