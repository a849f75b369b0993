package scripted_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab/scripted"
)

func eachProfile(t *testing.T, test func(t *testing.T, profile string)) {
	for _, p := range scripted.Profiles {
		t.Run(p, func(t *testing.T) { test(t, p) })
	}
}

// settle answers what the agent asks until the prompt ends; approve decides reviews.
func (a *agent) settle(prompt string, approve bool) string {
	a.t.Helper()
	for {
		f := a.find(true, "a request or the end", func(f *frame) bool { return f.ID != nil && (f.Method != "" || string(f.ID) == prompt) })
		switch f.Method {
		case "":
			return a.ends(prompt)
		case "session/request_permission":
			a.reply(f, selected(a.choose(f, approve || field(a.t, f.Params, "toolCall.kind") != "switch_mode")))
		case "_x.ai/ask_user_question":
			a.reply(f, obj{"outcome": "accepted", "answers": obj{"In which language should the greeting be?": []string{"German"}}})
		case "_x.ai/exit_plan_mode":
			a.reply(f, map[bool]obj{true: {"outcome": "approved"}, false: {"outcome": "cancelled", "feedback": "Shorter"}}[approve])
		case "elicitation/create":
			a.reply(f, obj{"action": "accept", "content": a.fill(f, approve)})
		default:
			a.t.Fatalf("asked %s", f.raw)
		}
	}
}

// choose picks the first decision that allows, or that rejects.
func (a *agent) choose(f frame, allow bool) string {
	a.t.Helper()
	var p struct {
		Options []struct{ OptionID, Kind string }
	}
	if err := json.Unmarshal(f.Params, &p); err != nil {
		a.t.Fatal(err)
	}
	want := map[bool]string{true: "allow_once", false: "reject_once"}[allow]
	for _, o := range p.Options {
		if o.Kind == want {
			return o.OptionID
		}
	}
	a.t.Fatalf("nothing to choose in %s", f.raw)
	return ""
}

// fill answers a form: the question about the language, or what to do with a plan.
func (a *agent) fill(f frame, approve bool) obj {
	a.t.Helper()
	if strings.Contains(f.raw, "Execute") {
		return obj{"value": map[bool]string{true: "Execute", false: "Rework"}[approve]}
	}
	switch {
	case strings.Contains(f.raw, `"question_0_custom"`):
		return obj{"question_0": "German"}
	case strings.Contains(f.raw, `"language"`):
		return obj{"language": "German"}
	}
	return obj{"value": "German"}
}

func TestTheDemoPlansAsksReviewsAndWritesInEveryProfile(t *testing.T) {
	eachProfile(t, func(t *testing.T, profile string) {
		s, err := json.Marshal(scripted.ACPDemo())
		if err != nil {
			t.Fatal(err)
		}
		a := startACP(t, profile, string(s), t.TempDir())
		a.open()
		a.enterPlan(profile)
		if stop := a.settle(a.prompt("plan it"), false); stop != map[bool]string{true: "cancelled", false: "end_turn"}[profile == scripted.ProfileClaude101] {
			t.Errorf("the rejected review ended %s", stop)
		}
		if _, err := os.Stat(filepath.Join(a.dir, "greeting.txt")); err == nil {
			t.Error("a rejected plan was implemented")
		}
		if stop := a.settle(a.prompt("shorter"), true); stop != "end_turn" {
			t.Errorf("the approved review ended %s", stop)
		}
		if b, err := os.ReadFile(filepath.Join(a.dir, "greeting.txt")); err != nil || string(b) != "A greeting in German\n" {
			t.Errorf("%q, %v", b, err)
		}
	})
}

// acpRefusal is an entry of testdata/scripts/acp-refusals.json, which lab's live tests hold the real agents against.
type acpRefusal struct {
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Code    int
	Message string
	Data    any
}

func TestAnACPAgentRefusesWhatTheRealOneRefusesInItsWords(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "scripts", "acp-refusals.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]acpRefusal
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for harness, profile := range map[string]string{"claude 0.101.0": scripted.ProfileClaude101, "claude 0.49.0": scripted.ProfileClaude049, "grok 1.0.41": scripted.ProfileGrok} {
		t.Run(profile, func(t *testing.T) {
			a := startACP(t, profile, `{}`, t.TempDir())
			a.open()
			fill := strings.NewReplacer("$SESSION", a.session, "$DIR", a.dir)
			if len(all[harness]) < 10 {
				t.Fatal("hardly anything is listed")
			}
			for _, r := range all[harness] {
				f := a.call(r.Method, json.RawMessage(fill.Replace(string(r.Params))))
				var got any
				if f.Error != nil && f.Error.Data != nil && json.Unmarshal(f.Error.Data, &got) != nil {
					t.Fatalf("%s", f.raw)
				}
				if r.Result != nil && string(f.Result) != strings.ReplaceAll(string(r.Result), " ", "") && !strings.HasPrefix(string(f.Result), `{"sessions":[`) ||
					r.Result == nil && (f.Error == nil || f.Error.Code != r.Code || f.Error.Message != r.Message || !reflect.DeepEqual(got, r.Data)) {
					t.Errorf("%s %s:\n got %.400s\nwant %d %s %v", r.Method, r.Params, f.raw, r.Code, r.Message, r.Data)
				}
			}
		})
	}
}

func TestGrokNeverAnswersASetterForAnUnknownSession(t *testing.T) {
	a := startACP(t, scripted.ProfileGrok, `{}`, "")
	a.open()
	id := a.post("session/set_mode", obj{"sessionId": "nobody", "modeId": "plan"})
	a.call("session/list", obj{})
	a.unanswered(id)
}

func (a *agent) unanswered(id string) {
	a.t.Helper()
	for _, f := range a.all() {
		if f.Method == "" && string(f.ID) == id {
			a.t.Errorf("answered %s", f.raw)
		}
	}
}

func TestKimchiIsPreciseAboutItsErrors(t *testing.T) {
	a := startACP(t, scripted.ProfileKimchi, `{"turns":[{"steps":[{"wait_interrupt":true}]},{"steps":[{"ask":{"questions":[{"id":"q","question":"Why?","other":true,"options":[{"label":"A","description":""}]}]}},{"say":"{{answer.q}} in {{mode}}"}]}]}`, "")
	f := a.open()
	if f.Result == nil || field(t, f.Result, "modes") != "" || field(t, f.Result, "models.currentModelId") != "multi-model" {
		t.Errorf("%s", f.raw)
	}
	for _, c := range []struct {
		method string
		params obj
		code   int
		text   string
	}{
		{"session/set_mode", obj{"sessionId": a.session, "modeId": "plan"}, -32601, `"Method not found": session/set_mode`},
		{"session/resume", obj{"sessionId": a.session, "cwd": a.dir, "mcpServers": []any{}}, -32601, `"Method not found": session/resume`},
		{"session/new", obj{"cwd": a.dir, "mcpServers": []any{obj{"name": "x", "command": "y", "args": []any{}, "env": []any{}}}}, -32602, "Invalid params"},
		{"session/set_config_option", obj{"sessionId": a.session, "configId": "permissions-mode", "value": "nope"}, -32602, "Invalid params: invalid mode nope"},
		{"session/set_config_option", obj{"sessionId": a.session, "configId": "effort", "value": "high"}, -32602, "Invalid params"},
	} {
		if f := a.call(c.method, c.params); f.Error == nil || f.Error.Code != c.code || !strings.HasPrefix(f.Error.Message, c.text) {
			t.Errorf("%s: %s", c.method, f.raw)
		}
	}
	p := a.prompt("one")
	if f := a.call("session/prompt", obj{"sessionId": a.session, "prompt": []obj{{"type": "text", "text": "two"}}}); f.Error == nil || f.Error.Code != -32600 {
		t.Errorf("a second prompt: %s", f.raw)
	}
	if f := a.set("model", "fake/basic"); f.Error == nil || f.Error.Code != -32600 {
		t.Errorf("a model change while a prompt runs: %s", f.raw)
	}
	if f := a.set("permissions-mode", "auto"); f.Error != nil {
		t.Errorf("a mode change while a prompt runs: %s", f.raw)
	}
	a.cancel()
	if stop := a.ends(p); stop != "cancelled" {
		t.Error(stop)
	}
	a.set("permissions-mode", "default")
	p = a.prompt("ask me")
	form := a.await("elicitation/create")
	if field(t, form.Params, "requestId") == "" || field(t, form.Params, "sessionId") != a.session {
		t.Errorf("%s", form.raw)
	}
	a.reply(form, obj{"action": "accept", "content": obj{"value": "Type your own answer"}})
	own := a.await("elicitation/create")
	if strings.Contains(own.raw, "oneOf") {
		t.Errorf("the second form is no free text: %s", own.raw)
	}
	a.reply(own, obj{"action": "accept", "content": obj{"value": "Because"}})
	a.ends(p)
	if text := a.said(); text != "Because in plan" { // a questionnaire promotes default to plan
		t.Errorf("said %q", text)
	}
}

// said is the text of all message chunks so far.
func (a *agent) said() string {
	var b strings.Builder
	for _, f := range a.all() {
		if updateKind(a.t, &f) == "agent_message_chunk" {
			b.WriteString(field(a.t, f.Params, "update.content.text"))
		}
	}
	return b.String()
}

func TestKimchiAsksAClientWithoutFormsByAPermission(t *testing.T) {
	a := startACP(t, scripted.ProfileKimchi, `{"turns":[{"steps":[{"ask":{"questions":[{"id":"q","question":"Which?","options":[{"label":"A","description":""},{"label":"B","description":""}]}]}},{"say":"{{answer.q}}"}]}]}`, "")
	a.call("initialize", obj{"protocolVersion": 1, "clientCapabilities": obj{}})
	a.session = field(t, a.call("session/new", obj{"cwd": a.dir, "mcpServers": []any{}}).Result, "sessionId")
	p := a.prompt("x")
	f := a.await("session/request_permission")
	if !strings.HasPrefix(field(t, f.Params, "toolCall.toolCallId"), "pi-ui-") {
		t.Errorf("%s", f.raw)
	}
	a.reply(f, selected("choice-1"))
	a.ends(p)
	if a.said() != "B" {
		t.Errorf("said %q", a.said())
	}
}

func TestRule08_AProfileOffersAndServesWhatItSaysOnly(t *testing.T) {
	for _, c := range []struct {
		profile                string
		config, modes, models  bool
		setOption, mode, model bool // served
	}{
		{scripted.ProfileModern, true, false, false, true, false, false},
		{scripted.ProfileLegacy, false, true, true, false, true, true},
		{scripted.ProfileBoth, true, true, true, true, true, true},
		{scripted.ProfileClaude101, true, true, false, true, true, false},
		{scripted.ProfileGrok, true, false, true, true, true, true},
		{scripted.ProfileGrokLegacy, false, false, true, false, true, true},
		{scripted.ProfileKimchi, true, false, true, true, false, false},
	} {
		t.Run(c.profile, func(t *testing.T) {
			a := startACP(t, c.profile, `{}`, "")
			f := a.open()
			for member, want := range map[string]bool{"configOptions": c.config, "modes": c.modes, "models": c.models} {
				if got := field(t, f.Result, member) != ""; got != want {
					t.Errorf("%s offered: %v", member, got)
				}
			}
			for method, want := range map[string]bool{"session/set_config_option": c.setOption, "session/set_mode": c.mode, "session/set_model": c.model} {
				f := a.call(method, obj{"sessionId": a.session, "configId": "x", "value": "x", "modeId": "plan", "modelId": "x"})
				if got := f.Error == nil || f.Error.Code != -32601; got != want {
					t.Errorf("%s served: %v (%s)", method, got, f.raw)
				}
			}
		})
	}
}

func TestAnOlderGrokTakesTheEffortWithTheModel(t *testing.T) {
	a := startACP(t, scripted.ProfileGrokLegacy, `{"turns":[{"repeat":true,"steps":[{"say":"{{model}} {{effort}} "}]}]}`, "")
	f := a.open()
	if !strings.Contains(f.raw, `"category":"mode"`) {
		t.Errorf("efforts are not called modes: %s", f.raw)
	}
	a.call("session/set_model", obj{"sessionId": a.session, "modelId": "mock-model", "_meta": obj{"reasoningEffort": "high"}})
	a.ends(a.prompt("x"))
	a.call("session/set_model", obj{"sessionId": a.session, "modelId": "mock-plain"})
	a.ends(a.prompt("x"))
	if a.said() != "mock-model high mock-plain  " {
		t.Errorf("said %q", a.said())
	}
}

func TestOptionsOfEveryShapeAndWhatDependsOnTheModel(t *testing.T) {
	a := startACPLax(t, scripted.ProfileModern, `{"options":[
		{"id":"mode","category":"mode","default":"default","values":[{"value":"default"},{"value":"auto","models":["big"]}]},
		{"id":"model","default":"big","values":[{"value":"big","group":"Large"},{"value":"small","group":"Little"}]},
		{"id":"effort","default":"high","models":["big"],"values":[{"value":"high"}]},
		{"id":"fast","type":"boolean","default":false},
		{"id":"odd","type":"slider","category":"_x","default":7}]}`, "", true)
	f := a.open()
	for _, part := range []string{`{"group":"Large","name":"Large","options":[{"name":"big","value":"big"}]}`, `"type":"boolean"`, `"type":"slider"`, `"currentValue":7`} {
		if !strings.Contains(f.raw, part) {
			t.Errorf("no %s in %s", part, f.raw)
		}
	}
	a.set("mode", "auto")
	a.set("fast", true)
	if f := a.set("fast", "yes"); f.Error == nil {
		t.Errorf("a text for a boolean: %s", f.raw)
	}
	got := current(t, a.set("model", "small").Result)
	if want := (map[string]string{"mode": "default", "model": "small", "fast": "true", "odd": "7"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestP10_SettersThatMisbehave(t *testing.T) {
	for how, check := range map[string]func(t *testing.T, a *agent){
		"ignored": func(t *testing.T, a *agent) {
			if f := a.set("mode", "plan"); string(f.Result) != "{}" {
				t.Errorf("%s", f.raw)
			}
			a.ends(a.prompt("x"))
			if a.said() != "default" {
				t.Errorf("the mode is %s", a.said())
			}
		},
		"silent": func(t *testing.T, a *agent) {
			if f := a.set("mode", "plan"); current(t, f.Result)["mode"] != "plan" {
				t.Errorf("%s", f.raw)
			}
			for _, f := range a.all() {
				if updateKind(t, &f) == "current_mode_update" {
					t.Errorf("%s", f.raw)
				}
			}
		},
		"late": func(t *testing.T, a *agent) {
			f := a.set("mode", "plan")
			if current(t, f.Result)["mode"] != "default" {
				t.Errorf("the response is new: %s", f.raw)
			}
			if u := a.update("config_option_update"); current(t, u.Params)["mode"] != "plan" {
				t.Errorf("%s", u.raw)
			}
			a.ends(a.prompt("x"))
			if a.said() != "plan" {
				t.Errorf("the mode is %s", a.said())
			}
		},
		"never": func(t *testing.T, a *agent) {
			id := a.post("session/set_config_option", obj{"sessionId": a.session, "configId": "mode", "value": "plan"})
			a.ends(a.prompt("x"))
			a.unanswered(id)
			if a.said() != "default" {
				t.Errorf("the mode is %s", a.said())
			}
		},
		"refused": func(t *testing.T, a *agent) {
			if f := a.set("mode", "plan"); f.Error == nil {
				t.Errorf("%s", f.raw)
			}
			if f := a.set("model", "small"); f.Error != nil {
				t.Errorf("another option: %s", f.raw)
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			a := startACPLax(t, scripted.ProfileBoth, `{"behaviour":{"setters":{"mode":"`+how+`"}},"turns":[{"repeat":true,"steps":[{"say":"{{mode}}"}]}]}`, "", how == "ignored")
			a.open()
			check(t, a)
		})
	}
}

func TestT6_UpdatesBeforeTheSessionsAnswerAndAfterThePrompts(t *testing.T) {
	a := startACP(t, scripted.ProfileModern, `{"behaviour":{"early_updates":[{"sessionUpdate":"available_commands_update","availableCommands":[]}]},
		"turns":[{"steps":[{"say":"a"}],"after":[{"say":"late"},{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"later"}}}]}]}`, "")
	answer := a.open()
	frames := a.all()
	early := slices.IndexFunc(frames, func(f frame) bool { return updateKind(t, &f) == "available_commands_update" })
	at := slices.IndexFunc(frames, func(f frame) bool { return f.raw == answer.raw })
	if early < 0 || early > at {
		t.Errorf("the update is at %d, the answer at %d", early, at)
	}
	p := a.prompt("x")
	a.ends(p)
	a.find(false, "what comes later", func(f *frame) bool { return strings.Contains(f.raw, `"later"`) })
	frames = a.all()
	at = slices.IndexFunc(frames, func(f frame) bool { return f.Method == "" && string(f.ID) == p })
	late := slices.IndexFunc(frames, func(f frame) bool { return strings.Contains(f.raw, `"text":"late"`) })
	if late < at {
		t.Errorf("late at %d, answer at %d", late, at)
	}
}

func TestS2_HowACancelledPromptCanEnd(t *testing.T) {
	for name, c := range map[string]struct{ end, want string }{
		"as it should":  {`{}`, "cancelled"},
		"end_turn":      {`{"on_cancel":{"stop_reason":"end_turn"}}`, "end_turn"},
		"another":       {`{"on_cancel":{"stop_reason":"refusal"}}`, "refusal"},
		"an error":      {`{"on_cancel":{"error":{"code":-32603,"message":"aborted"}}}`, "error -32603 aborted"},
		"late":          {`{"on_cancel":{"stop_reason":"cancelled","delay_ms":100}}`, "cancelled"},
		"not at all":    {`{"on_cancel":{"never":true}}`, ""},
		"never, always": {`{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			respond := map[bool]string{true: `"respond":"never",`}[name == "never, always"]
			a := startACP(t, scripted.ProfileModern, `{"behaviour":`+c.end+`,"turns":[{`+respond+`"steps":[{"say":"a"},{"wait_interrupt":true}]},{"steps":[{"say":"next"}]}]}`, "")
			a.open()
			p := a.prompt("x")
			a.update("agent_message_chunk")
			a.cancel()
			if c.want != "" {
				if stop := a.ends(p); stop != c.want {
					t.Errorf("ended %s", stop)
				}
			}
			// S3: what a cancel did is not seen on the next prompt, which is taken at once or refused until the first has ended.
			var stop string
			for deadline := time.Now().Add(time.Minute); stop != "end_turn" && time.Now().Before(deadline); {
				stop = a.ends(a.prompt("y"))
			}
			if stop != "end_turn" {
				t.Errorf("the next prompt ended %s", stop)
			}
			if c.want == "" {
				a.unanswered(p)
			}
		})
	}
}

func TestAnAgentsOwnWayWithASecondPrompt(t *testing.T) {
	for how, want := range map[string]string{"": "refused", "queue": "queued", "never": "dropped"} {
		a := startACP(t, scripted.ProfileModern, `{"behaviour":{"second_prompt":"`+how+`"},"turns":[{"steps":[{"wait_interrupt":true}]},{"steps":[{"say":"{{text}}"}]}]}`, "")
		a.open()
		one := a.prompt("one")
		two := a.prompt("two")
		a.call("session/list", obj{})
		a.cancel()
		a.ends(one)
		switch want {
		case "refused":
			if stop := a.ends(two); !strings.HasPrefix(stop, "error -32600") {
				t.Errorf("%s: %s", how, stop)
			}
		case "queued":
			if stop := a.ends(two); stop != "end_turn" || a.said() != "two" {
				t.Errorf("%s: %s, said %q", how, stop, a.said())
			}
		case "dropped":
			a.call("session/list", obj{})
			a.unanswered(two)
		}
	}
}

func TestATurnThatTheAgentBeginsByItself(t *testing.T) {
	for _, profile := range []string{scripted.ProfileModern, scripted.ProfileGrok} {
		a := startACP(t, profile, `{"turns":[{"steps":[{"self_turn":[{"say":"by myself"}]},{"say":"first"}]}]}`, "")
		a.open()
		p := a.prompt("x")
		a.ends(p)
		a.find(false, "the turn of its own", func(f *frame) bool { return strings.Contains(f.raw, "by myself") })
		frames := a.all()
		at := slices.IndexFunc(frames, func(f frame) bool { return f.Method == "" && string(f.ID) == p })
		own := slices.IndexFunc(frames, func(f frame) bool { return strings.Contains(f.raw, "by myself") })
		if own < at {
			t.Errorf("%s: its own turn comes before the answer", profile)
		}
		if profile == scripted.ProfileGrok {
			a.find(false, "two ends", func(f *frame) bool {
				return updateKind(t, f) == "turn_completed" && field(t, f.Params, "update.prompt_id") != "" && f.raw != frames[0].raw
			})
		}
	}
}

func TestS5_WhatALoadedSessionReplays(t *testing.T) {
	for _, profile := range []string{scripted.ProfileClaude101, scripted.ProfileClaude049, scripted.ProfileGrok, scripted.ProfileKimchi, scripted.ProfileModern} {
		t.Run(profile, func(t *testing.T) {
			home := t.TempDir()
			script := `{"behaviour":{"replay":{"count":3,"bytes":10}},"turns":[{"steps":[{"run":{"command":"true","approve":false}},{"say":"one"}]}]}`
			a := startACP(t, profile, script, home)
			a.open()
			a.ends(a.prompt("first"))
			a.stop()
			b := startACP(t, profile, script, home)
			b.hello()
			if f := b.reopen("session/load", a.session); f.Error != nil {
				t.Fatalf("%s", f.raw)
			}
			var replayed []string
			for _, f := range b.all() {
				if f.Method == "session/update" && !looseACP[updateKind(t, &f)] && updateKind(t, &f) != "config_option_update" {
					replayed = append(replayed, updateKind(t, &f))
					if marked := field(t, f.Params, "_meta.isReplay") == "true"; profile == scripted.ProfileGrok && !marked && !strings.Contains(f.raw, "xxxxxxxxxx") {
						t.Errorf("not marked: %s", f.raw)
					}
				}
			}
			want := []string{"user_message_chunk", "tool_call", "agent_message_chunk"}
			if strings.HasPrefix(profile, "claude") {
				want = []string{"user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"}
			}
			if want = append(want, "agent_message_chunk", "agent_message_chunk", "agent_message_chunk"); !slices.Equal(replayed, want) {
				t.Errorf("replayed %q, want %q", replayed, want)
			}
			if profile == scripted.ProfileKimchi {
				return // has no resume
			}
			c := startACP(t, profile, script, home)
			c.hello()
			c.reopen("session/resume", a.session)
			for _, f := range c.all() {
				if updateKind(t, &f) == "user_message_chunk" {
					t.Errorf("resume replays %s", f.raw)
				}
			}
		})
	}
}

func TestS4_WhatALoadedSessionKeeps(t *testing.T) {
	for _, c := range []struct{ profile, behaviour, want string }{
		{scripted.ProfileClaude101, `{}`, "acceptEdits sonnet default"},
		{scripted.ProfileClaude049, `{}`, "default default default"},
		{scripted.ProfileModern, `{}`, "accept-edits large high"},
		{scripted.ProfileModern, `{"keeps":[]}`, "default large medium"},
		{scripted.ProfileModern, `{"keeps":["effort"]}`, "default large high"},
	} {
		home := t.TempDir()
		script := `{"behaviour":` + c.behaviour + `,"turns":[{"repeat":true,"steps":[{"say":"{{mode}} {{model}} {{effort}}"}]}]}`
		a := startACP(t, c.profile, script, home)
		a.open()
		model, mode := "large", "accept-edits"
		if c.profile != scripted.ProfileModern {
			model, mode = "sonnet", "acceptEdits"
		}
		for _, o := range [][2]string{{"model", model}, {"effort", "high"}, {"mode", mode}} {
			if f := a.set(o[0], o[1]); f.Error != nil {
				t.Fatalf("%s", f.raw)
			}
		}
		a.ends(a.prompt("x"))
		a.stop()
		b := startACP(t, c.profile, script, home)
		b.hello()
		f := b.reopen("session/load", a.session)
		got := current(t, f.Result)
		if kept := got["mode"] + " " + got["model"] + " " + got["effort"]; kept != c.want {
			t.Errorf("%s %s keeps %s, want %s", c.profile, c.behaviour, kept, c.want)
		}
	}
}

func TestGrokKeepsTheModeOverARestartAndASessionWithoutAPrompt(t *testing.T) {
	home := t.TempDir()
	a := startACP(t, scripted.ProfileGrok, `{}`, home)
	a.open()
	a.enterPlan(scripted.ProfileGrok)
	a.call("session/list", obj{})
	a.stop()
	b := startACP(t, scripted.ProfileGrok, `{"turns":[{"steps":[{"say":"{{mode}}"}]}]}`, home)
	b.hello()
	if f := b.reopen("session/resume", a.session); f.Error != nil {
		t.Fatalf("%s", f.raw)
	}
	b.ends(b.prompt("x"))
	if b.said() != "plan" {
		t.Errorf("the mode is %s", b.said())
	}
}

func TestS6_ASessionThatIsNotThere(t *testing.T) {
	for name, c := range map[string]struct{ behaviour, want string }{
		"by the book":            {`{}`, "-32002 Resource not found"},
		"inside an internal one": {`{"missing_session":{"code":-32603,"message":"Internal error","data":{"details":"Session not found"}}}`, "-32603 Internal error"},
		"as an invalid param":    {`{"missing_session":{"code":-32602,"message":"Invalid params","data":"unknown session id"}}`, "-32602 Invalid params"},
	} {
		a := startACP(t, scripted.ProfileModern, `{"behaviour":`+c.behaviour+`}`, t.TempDir())
		a.hello()
		for _, id := range []string{"nobody", "../escape"} {
			if f := a.reopen("session/load", id); f.Error == nil || fmt.Sprint(f.Error.Code, " ", f.Error.Message) != c.want {
				t.Errorf("%s: %s", name, f.raw)
			}
		}
	}
	// A session that never had a prompt is not kept.
	home := t.TempDir()
	a := startACP(t, scripted.ProfileClaude101, `{}`, home)
	a.open()
	a.stop()
	b := startACP(t, scripted.ProfileClaude101, `{}`, home)
	b.hello()
	if f := b.reopen("session/load", a.session); f.Error == nil || f.Error.Code != -32002 {
		t.Errorf("%s", f.raw)
	}
}

func TestALoadAnsweredWithNullAndAResumeThatReplays(t *testing.T) {
	home := t.TempDir()
	script := `{"behaviour":{"load_null":true,"replay_on_resume":true},"turns":[{"repeat":true,"steps":[{"say":"turn"}]}]}`
	a := startACP(t, scripted.ProfileModern, script, home)
	a.open()
	a.ends(a.prompt("first"))
	a.stop()
	b := startACPLax(t, scripted.ProfileModern, script, home, true)
	b.hello()
	if f := b.reopen("session/load", a.session); f.Error != nil || string(f.Result) != "null" {
		t.Errorf("%s", f.raw)
	}
	if stop := b.ends(b.prompt("second")); stop != "end_turn" {
		t.Errorf("the session is not there: %s", stop)
	}
	before := len(b.all())
	b.reopen("session/resume", a.session)
	if n := len(b.all()) - before; n < 4 {
		t.Errorf("resume sent %d frames", n)
	}
}

func TestAReviewThatWasOpenIsRaisedAgainAfterALoad(t *testing.T) {
	for _, profile := range []string{scripted.ProfileGrok, scripted.ProfileClaude101, scripted.ProfileModern} {
		t.Run(profile, func(t *testing.T) {
			home := t.TempDir()
			script := `{"behaviour":{"reraise_review":true,"keeps":["*"]},"turns":[{"steps":[{"plan":"# Plan"}]}]}`
			a := startACP(t, profile, script, home)
			a.open()
			a.enterPlan(profile)
			a.prompt("plan")
			review := "session/request_permission"
			if profile == scripted.ProfileGrok {
				review = "_x.ai/exit_plan_mode"
			}
			first := a.await(review)
			a.stop() // the process ends with the review open
			b := startACP(t, profile, script, home)
			b.hello()
			b.reopen("session/load", a.session)
			again := b.await(review)
			for _, path := range []string{"toolCallId", "toolCall.toolCallId", "planContent"} {
				if x, y := field(t, first.Params, path), field(t, again.Params, path); x != y {
					t.Errorf("%s is %q, was %q", path, y, x)
				}
			}
			if profile == scripted.ProfileGrok {
				b.reply(again, obj{"outcome": "approved"})
			} else {
				b.reply(again, selected(b.choose(again, true)))
			}
			if profile == scripted.ProfileModern { // has no modes to tell of
				b.update("config_option_update")
			} else {
				b.update("current_mode_update")
			}
		})
	}
}

func TestS7_AuthenticationOnceAndForEver(t *testing.T) {
	newSession := func(a *agent) int {
		f := a.call("session/new", obj{"cwd": a.dir, "mcpServers": []any{}})
		if f.Error == nil {
			return 0
		}
		return f.Error.Code
	}
	for _, profile := range []string{scripted.ProfileModern, scripted.ProfileGrok, scripted.ProfileKimchi, scripted.ProfileClaude049} {
		a := startACP(t, profile, `{"behaviour":{"auth":"once"}}`, "")
		f := a.hello()
		var list struct{ AuthMethods []struct{ ID string } }
		if err := json.Unmarshal(f.Result, &list); err != nil || len(list.AuthMethods) == 0 {
			t.Fatalf("%s offers no sign-in: %s", profile, f.raw)
		}
		if code := newSession(a); code != -32000 {
			t.Errorf("%s: %d before the sign-in", profile, code)
		}
		if f := a.call("authenticate", obj{"methodId": list.AuthMethods[0].ID}); f.Error != nil {
			t.Errorf("%s: %s", profile, f.raw)
		}
		if code := newSession(a); code != 0 {
			t.Errorf("%s: %d after the sign-in", profile, code)
		}
		b := startACP(t, profile, `{"behaviour":{"auth":"always"}}`, "")
		b.hello()
		b.call("authenticate", obj{"methodId": list.AuthMethods[0].ID})
		if code := newSession(b); code != -32000 {
			t.Errorf("%s: %d though nothing helps", profile, code)
		}
	}
}

func TestA7_AChildAsksForAPermissionInASessionOfItsOwn(t *testing.T) {
	for early, script := range map[bool]string{
		false: `{"turns":[{"steps":[{"child":{"prompt":"look","steps":[{"run":{"command":"rm x","approve":true}},{"say":"child"}]}},{"say":"parent"}]}]}`,
		true:  `{"turns":[{"steps":[{"child":{"prompt":"look","early":true,"background":true,"steps":[{"run":{"command":"rm x","approve":true}}]}},{"say":"parent"}]}]}`,
	} {
		a := startACP(t, scripted.ProfileModern, script, "")
		a.open()
		p := a.prompt("x")
		ask := a.await("session/request_permission")
		if id := field(t, ask.Params, "sessionId"); id == a.session || id == "" {
			t.Errorf("the child's session is %q", id)
		}
		if early {
			a.ends(p) // the parent does not wait
		}
		a.reply(ask, selected("allow-once"))
		if stop := a.ends(p); stop != "end_turn" {
			t.Errorf("%s", stop)
		}
	}
}

func TestRequestsAsALeaderPassesThemOn(t *testing.T) {
	for how, inner := range map[string]string{"underscore": "_x.ai/ask_user_question", "plain": "x.ai/ask_user_question"} {
		a := startACPLax(t, scripted.ProfileGrok, `{"behaviour":{"wrapped":"`+how+`"},"turns":[{"steps":[{"ask":{"questions":[{"id":"q","question":"Which?","options":[{"label":"A","description":""}]}]}},{"say":"{{answer.q}}"}]}]}`, "", true)
		a.open()
		p := a.prompt("x")
		f := a.await("_x.ai/ask_user_question")
		if field(t, f.Params, "method") != inner || field(t, f.Params, "params.sessionId") != a.session {
			t.Errorf("%s: %s", how, f.raw)
		}
		a.reply(f, obj{"outcome": "accepted", "answers": obj{"Which?": []string{"A"}}})
		a.ends(p)
		if a.said() != "A" {
			t.Errorf("%s: said %q", how, a.said())
		}
	}
}

func TestT2_ABurstAndAReplayOfManyUpdates(t *testing.T) {
	home := t.TempDir()
	const many = 20000
	script := fmt.Sprintf(`{"behaviour":{"replay":{"count":%d,"bytes":100}},"turns":[{"steps":[{"burst":{"count":%d,"bytes":100}}]}]}`, many, many)
	count := func(a *agent) int {
		n := 0
		for _, f := range a.all() {
			if strings.Contains(f.raw, strings.Repeat("x", 100)) {
				if f.Method != "session/update" || field(t, f.Params, "sessionId") != a.session {
					t.Fatalf("%s", f.raw)
				}
				n++
			}
		}
		return n
	}
	a := startACPLax(t, scripted.ProfileModern, script, home, true)
	a.open()
	a.ends(a.prompt("x"))
	if n := count(a); n != many {
		t.Errorf("%d chunks of the burst", n)
	}
	a.stop()
	b := startACPLax(t, scripted.ProfileModern, script, home, true)
	b.hello()
	b.reopen("session/load", a.session)
	if n := count(b); n != many {
		t.Errorf("%d chunks of the replay", n)
	}
}

func TestT7_FailuresOfTheModelInEachProfile(t *testing.T) {
	for _, c := range []struct{ profile, fail, want string }{
		{scripted.ProfileClaude101, `{"code":"server_error","message":"500 boom"}`, "error -32603 Internal error: API Error: 500 boom"},
		{scripted.ProfileClaude101, `{"code":"authentication_failed","message":"401"}`, "error -32000 Authentication required"},
		{scripted.ProfileClaude049, `{"code":"authentication_failed","message":"401"}`, "error -32603 Internal error: API Error: 401"},
		{scripted.ProfileGrok, `{"code":"api","message":"bad","http":400,"retries":2}`, "error -32603 Internal error"},
		{scripted.ProfileGrok, `{"code":"rate_limit","message":"slow"}`, "error -32003 Rate limited"},
		{scripted.ProfileKimchi, `{"code":"x","message":"boom"}`, "end_turn"}, // looks like an empty turn that went well
		{scripted.ProfileModern, `{"code":"x","message":"boom"}`, "error -32603 boom"},
	} {
		a := startACP(t, c.profile, `{"turns":[{"steps":[{"fail":`+c.fail+`}]},{"steps":[{"end":{"stop_reason":"max_tokens"}}]}]}`, "")
		a.open()
		if stop := a.ends(a.prompt("x")); stop != c.want {
			t.Errorf("%s: %s, want %s", c.profile, stop, c.want)
		}
		if stop := a.ends(a.prompt("y")); stop != "max_tokens" {
			t.Errorf("%s: the next prompt ended %s", c.profile, stop)
		}
		if c.profile == scripted.ProfileGrok && strings.Contains(c.fail, "retries") {
			if n := len(slices.DeleteFunc(a.all(), func(f frame) bool { return updateKind(t, &f) != "retry_state" })); n != 2 {
				t.Errorf("%d retries told", n)
			}
		}
	}
}

func TestFormsURLsAndRequestsAsTheyStand(t *testing.T) {
	a := startACPLax(t, scripted.ProfileModern, `{"turns":[{"steps":[
		{"form":{"message":"Fill in","schema":{"type":"object","properties":{"name":{"type":"string"}}}}},{"say":"{{action}} {{content}};"},
		{"url":{"message":"Visit","url":"https://example.com/x"}},{"say":"{{action}};"},
		{"request":{"method":"_odd/request","params":{"x":1}}},{"say":"{{content}};"},
		{"notify":{"method":"_odd/notice"}},
		{"reason":"hm"},
		{"checklist":[{"step":"one","status":"inProgress"}]},
		{"usage":{"input":5,"output":1,"window":1000}},
		{"huge":{"bytes":70000,"kind":"delta"}},
		{"raw":"not JSON"}]}]}`, "", true)
	a.open()
	p := a.prompt("x")
	form := a.await("elicitation/create")
	if field(t, form.Params, "mode") != "form" || !strings.Contains(form.raw, `"requestedSchema":{"type":"object"`) {
		t.Errorf("%s", form.raw)
	}
	a.reply(form, obj{"action": "accept", "content": obj{"name": "Ada"}})
	consent := a.await("elicitation/create")
	if field(t, consent.Params, "url") != "https://example.com/x" || field(t, consent.Params, "elicitationId") == "" {
		t.Errorf("%s", consent.raw)
	}
	a.reply(consent, obj{"action": "decline"})
	if done := a.await("elicitation/complete"); field(t, done.Params, "elicitationId") != field(t, consent.Params, "elicitationId") {
		t.Errorf("%s", done.raw)
	}
	odd := a.await("_odd/request")
	if field(t, odd.Params, "x") != "1" || field(t, odd.Params, "sessionId") != a.session {
		t.Errorf("%s", odd.raw)
	}
	a.reply(odd, obj{"y": 2})
	a.ends(p)
	if said := a.said(); !strings.HasPrefix(said, `accept {"name":"Ada"};decline;{"y":2};`) || len(said) < 70000 {
		t.Errorf("said %.100q", said)
	}
	a.await("_odd/notice")
	if f := a.update("plan"); field(t, f.Params, "update.entries") != `[{"content":"one","priority":"medium","status":"in_progress"}]` {
		t.Errorf("%s", f.raw)
	}
	if !slices.ContainsFunc(a.all(), func(f frame) bool { return f.raw == "not JSON" }) {
		t.Error("no junk")
	}
}

func TestT4_OddLinesOfTheClientDoNotStopAnACPAgent(t *testing.T) {
	a := startACP(t, scripted.ProfileModern, `{}`, "")
	for _, line := range []string{"hello", `[]`, `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":null,"method":"session/list"}`,
		`{"jsonrpc":"2.0","method":"_unknown/notice"}`, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}`, `{"jsonrpc":"2.0","method":"session/cancel","params":7}`} {
		a.line(line)
	}
	a.open()
	if n := len(a.all()); n > 3 {
		t.Errorf("%d frames", n)
	}
}

func TestACPScriptsThatMeanNothingAreRefused(t *testing.T) {
	for name, script := range map[string]string{
		"not JSON":           `{`,
		"unknown member":     `{"turnz":[]}`,
		"text after the end": `{} {}`,
		"unknown profile":    `{"profile":"x"}`,
		"unknown setter":     `{"behaviour":{"setters":{"mode":"x"}}}`,
		"unknown prompt":     `{"behaviour":{"second_prompt":"x"}}`,
		"unknown auth":       `{"behaviour":{"auth":"x"}}`,
		"unknown wrapping":   `{"behaviour":{"wrapped":"x"}}`,
		"two ends":           `{"behaviour":{"on_cancel":{"never":true,"stop_reason":"x"}}}`,
		"no end":             `{"turns":[{"on_cancel":{},"steps":[]}]}`,
		"a step of Codex":    `{"turns":[{"steps":[{"warn":"x"}]}]}`,
		"no end in a step":   `{"turns":[{"steps":[{"end":{}}]}]}`,
		"unknown respond":    `{"turns":[{"respond":"after_end","steps":[]}]}`,
		"turn step at start": `{"start":[{"say":"a"}]}`,
		"nested after":       `{"turns":[{"steps":[],"after":[{}]}]}`,
	} {
		if _, err := scripted.ParseACP([]byte(script)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := scripted.Parse([]byte(`{"turns":[{"steps":[{"end":{"stop_reason":"x"}}]}]}`)); err == nil {
		t.Error("Codex takes a step of ACP agents")
	}
}

func TestTheProgramOfAnACPAgent(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
	for name, c := range map[string]struct {
		args []string
		env  []string
		code int
		out  string
	}{
		"by its profile":      {[]string{"--profile", "kimchi", "--mode", "acp"}, nil, 0, "Kimchi Login"},
		"as Grok is started":  {[]string{"agent", "--no-leader", "--always-approve", "stdio"}, []string{"AO_SCRIPTED_PROFILE=grok"}, 0, `"agentVersion":"1.0.41"`},
		"as Claude is":        {[]string{"/x/dist/index.js"}, []string{"AO_SCRIPTED_PROFILE=claude-0.49"}, 0, `"version":"0.49.0"`},
		"by the one Main":     {[]string{"acp", "--profile", "claude-0.101"}, nil, 0, `"version":"0.101.0"`},
		"version":             {[]string{"acp", "--version"}, nil, 0, "1.0.0 (scripted)"},
		"unknown":             {[]string{"acp", "--frobnicate"}, nil, 2, ""},
		"no value":            {[]string{"acp", "--profile"}, nil, 2, ""},
		"unknown profile":     {[]string{"acp", "--profile", "x"}, nil, 2, ""},
		"no such script":      {[]string{"acp", "--script", "/does/not/exist.json"}, nil, 2, ""},
		"script by the home":  {[]string{"acp"}, []string{"GROK_HOME=$HOME"}, 0, `"version":"0.101.0"`},
		"home by an argument": {[]string{"acp", "--home", "$HOME"}, []string{"GROK_HOME=/nowhere"}, 0, `"version":"0.101.0"`},
	} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(`{"profile":"claude-0.101"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		fill := func(list []string) []string {
			out := slices.Clone(list)
			for i := range out {
				out[i] = strings.ReplaceAll(out[i], "$HOME", home)
			}
			return out
		}
		run := scripted.MainACP
		if len(c.args) > 0 && c.args[0] == "acp" {
			run = scripted.Main
		}
		var out, errs strings.Builder
		if code := run(fill(c.args), strings.NewReader(in), &out, &errs, fill(c.env)); code != c.code || !strings.Contains(out.String(), c.out) {
			t.Errorf("%s: code %d, output %.300s, errors %q", name, code, out.String(), errs.String())
		}
		if (c.code != 0) != (errs.String() != "") {
			t.Errorf("%s: errors %q", name, errs.String())
		}
	}
}
