package scripted_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab/scripted"
	"github.com/google/go-cmp/cmp"
)

// looseACP are frames that the real agents send whenever they like: they are not part of
// the order that is compared, but the scripted agent has to send those that are true.
var looseACP = map[string]bool{
	"available_commands_update": true, "usage_update": true, "session_info_update": false, "response_completed": true, "last_turn_summary": true,
	"session_summary_generated": false, "_kimchi.dev/pi_notify": true, "_auth/status_update": true, "_x.ai/session/setup": true,
	"_x.ai/queue/changed": true, "_x.ai/sessions/changed": false, "_x.ai/mcp/servers_updated": true, "_x.ai/mcp_initialized": true, "_x.ai/models/update": true,
}

// looseName is what looseACP has of a frame; "" of one whose place is compared.
func looseName(t *testing.T, f *frame) string {
	kind := updateKind(t, f)
	for _, name := range []string{kind, f.Method} {
		if _, loose := looseACP[name]; loose {
			return name
		}
	}
	if f.Params != nil && field(t, f.Params, "update._meta.claudeCode.kind") == "informational" {
		return "a warning about the gateway"
	}
	return ""
}

// keyACP is what must agree about a frame.
func keyACP(t *testing.T, n ids, f *frame, asked string) string {
	t.Helper()
	if f.Method == "" {
		if f.Error != nil {
			return fmt.Sprintf("error of %s: %d %s %s", asked, f.Error.Code, f.Error.Message, f.Error.Data)
		}
		said := []string{"result of " + asked, n.label("session", field(t, f.Result, "sessionId"))}
		for _, path := range []string{"stopReason", "protocolVersion", "agentCapabilities.loadSession", "agentCapabilities.promptCapabilities", "agentInfo", "authMethods",
			"modes", "models", "usage", "_meta.promptId"} {
			if v := field(t, f.Result, path); v != "" {
				said = append(said, path+"="+v)
			}
		}
		return strings.Join(append(said, options(t, f.Result)), " ")
	}
	said := []string{f.Method, updateKind(t, f), n.label("session", field(t, f.Params, "sessionId"))}
	for _, path := range []string{"update.toolCallId", "update.tool_call_id", "toolCallId", "toolCall.toolCallId"} {
		said = append(said, n.label("tool", field(t, f.Params, path)))
	}
	for _, path := range []string{"update.status", "update.kind", "update.title", "update.rawInput", "update.content", "update.currentModeId", "update.name",
		"update.stop_reason", "update.prompt_id", "update._meta.claudeCode.toolName", "update._meta.claudeCode.nonExecutionKind", "update.locations",
		"toolCall.kind", "toolCall.title", "toolCall.rawInput", "toolCall.content", "mode", "message", "requestedSchema", "questions", "planContent", "promptId", "stopReason"} {
		if v := field(t, f.Params, path); v != "" {
			v, _, _ = strings.Cut(v, "Plan file: ") // where it lies is the machine's
			said = append(said, path+"="+v)
		}
	}
	if text := field(t, f.Params, "update.rawOutput"); text != "" && !strings.HasPrefix(text, "{") {
		said = append(said, "rawOutput="+head(text))
	}
	if f.ID != nil {
		said = append(said, "id="+string(f.ID), offers(t, f.Params))
	}
	return strings.Join(append(said, options(t, f.Params)), " ")
}

// head is enough of a long output to know it: paths of the machine come later.
func head(text string) string { return text[:min(len(text), 60)] }

// options are the config options of a result or an update, in order, with their choices.
func options(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	type list []struct {
		ID           string
		CurrentValue any
		Options      []struct{ Value string }
	}
	var p struct {
		ConfigOptions list
		Update        struct{ ConfigOptions list }
	}
	if json.Unmarshal(raw, &p) != nil {
		return ""
	}
	if all := append(p.ConfigOptions, p.Update.ConfigOptions...); len(all) > 0 {
		return fmt.Sprintf("%v", all)
	}
	return ""
}

// offers are the decisions of a permission request: their ids and kinds, in order.
func offers(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var p struct {
		Options []struct{ OptionID, Kind string }
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v", p.Options)
}

// looseMembers are parts of frames that say something about the machine, the account or
// the run, or that only the real agent can know.
var looseMembers = []string{"agentCapabilities._meta", "result._meta", "params._meta", "rawOutput", "toolResponse", "commands", "model_usage", "amount", "modelUsage", "description", "params.toolCall.locations"}

func shapeACP(raw json.RawMessage) []string {
	var out []string
	for _, path := range shape(raw) {
		if !slices.ContainsFunc(looseMembers, func(l string) bool { return strings.Contains(path+".", "."+l) || strings.Contains(path, "."+l) }) {
			out = append(out, path)
		}
	}
	return out
}

func TestTheClientSideOfAnACPRecordingGetsTheSameFramesAsFromTheRealAgent(t *testing.T) {
	for _, c := range []struct{ recording, profile, script string }{
		{"claude/plan-primary", scripted.ProfileClaude049, "claude-plan-primary"},
		{"claude/plan-after-accept-edits", scripted.ProfileClaude049, "claude-plan-after-accept-edits"},
		{"claude/plan-reject", scripted.ProfileClaude049, "claude-plan-reject"},
		{"claude/cancel-mid-turn", scripted.ProfileClaude049, "claude-cancel-mid-turn"},
		{"claude/config-options", scripted.ProfileClaude049, "claude-config-options"},
		{"claude-0.101/plan-primary", scripted.ProfileClaude101, "claude-plan-primary"},
		{"claude-0.101/plan-reject", scripted.ProfileClaude101, "claude-plan-reject"},
		{"claude-0.101/cancel-mid-turn", scripted.ProfileClaude101, "claude-cancel-mid-turn"},
		{"claude-0.101/config-options", scripted.ProfileClaude101, "claude-config-options-falls-back"},
		{"grok/plan-primary", scripted.ProfileGrok, "grok-plan-primary"},
		{"grok/plan-request-changes", scripted.ProfileGrok, "grok-plan-request-changes"},
		{"grok/plan-abandoned", scripted.ProfileGrok, "grok-plan-abandoned"},
		{"grok/cancel-and-second-prompt", scripted.ProfileGrok, "grok-cancel-and-second-prompt"},
		{"kimchi/plan-questionnaire", scripted.ProfileKimchi, "kimchi-plan-questionnaire"},
		{"kimchi/deny-with-feedback", scripted.ProfileKimchi, "kimchi-deny-with-feedback"},
		{"kimchi/cancel-mid-turn", scripted.ProfileKimchi, "kimchi-cancel-mid-turn"},
	} {
		t.Run(c.recording, func(t *testing.T) { replayACP(t, c.recording, c.profile, c.script) })
	}
}

// replayACP plays the client's side of a recording against the scripted agent.
func replayACP(t *testing.T, recording, profile, script string) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "scripts", "scripted", "acp", script+".json"))
	if err != nil {
		t.Fatal(err)
	}
	a := startACP(t, profile, string(data), t.TempDir())
	replaced := map[string]string{"/workspace": a.dir}
	back := strings.NewReplacer(a.dir, "/workspace")
	theirs, ours, asked := ids{}, ids{}, map[string]string{}
	var want, got []string
	sent, has := map[string]bool{}, map[string]bool{}
	position := 0
	next := func() *frame {
		for {
			deadline := time.Now().Add(time.Minute)
			wake := time.AfterFunc(time.Minute, a.cond.Broadcast)
			a.mu.Lock()
			for position >= len(a.frames) && !a.eof && time.Now().Before(deadline) {
				a.cond.Wait()
			}
			wake.Stop()
			if position >= len(a.frames) {
				a.mu.Unlock()
				t.Fatalf("the agent sends no more; compared so far:\n%s", cmp.Diff(want, got))
			}
			f := a.frames[position]
			position++
			a.mu.Unlock()
			if name := looseName(t, &f); name != "" {
				has[name] = true
				continue
			}
			return &f
		}
	}
	for _, l := range readRecording(t, filepath.Join("..", "..", "testdata", "recordings", recording+".ndjson")) {
		switch l.Dir {
		case "in":
			text := string(l.Frame)
			for from, to := range replaced {
				text = strings.ReplaceAll(text, from, to)
			}
			if m := field(t, l.Frame, "method"); m != "" {
				asked[field(t, l.Frame, "id")] = m
				a.mu.Lock()
				a.asked[field(t, l.Frame, "id")] = m
				a.mu.Unlock()
			}
			a.line(text)
		case "out":
			var f frame
			if err := json.Unmarshal(l.Frame, &f); err != nil {
				t.Fatal(err)
			}
			if name := looseName(t, &f); name != "" {
				sent[name] = true
				continue
			}
			mine := next()
			raw := back.Replace(mine.raw)
			mine = &frame{} // the old one shares its bytes with the log
			if err := json.Unmarshal([]byte(raw), mine); err != nil {
				t.Fatal(err)
			}
			mine.raw = raw
			want = append(want, keyACP(t, theirs, &f, asked[string(f.ID)]))
			got = append(got, keyACP(t, ours, mine, asked[string(mine.ID)]))
			if id := field(t, l.Frame, "result.sessionId"); id != "" {
				replaced[id] = field(t, json.RawMessage(mine.raw), "result.sessionId")
			}
			if got[len(got)-1] == want[len(want)-1] {
				if a, b := shapeACP(l.Frame), shapeACP(json.RawMessage(mine.raw)); !slices.Equal(a, b) {
					t.Errorf("members of %.80s (-real +scripted):\n%s", got[len(got)-1], cmp.Diff(a, b))
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames of %s (-real +scripted):\n%s", recording, diff)
	}
	// Frames that may come late are still waited for.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, f := range a.all() {
			if name := looseName(t, &f); name != "" {
				has[name] = true
			}
		}
		complete := true
		for name := range sent {
			complete = complete && (has[name] || !looseACP[name])
		}
		if complete {
			return
		}
	}
	for name := range sent {
		if looseACP[name] && !has[name] {
			t.Errorf("the real agent sends %s, the scripted one never does", name)
		}
	}
}
