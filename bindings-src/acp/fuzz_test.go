package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

// busy is the state of a session in a turn with streamed text, a tool call and open
// requests.
func busy(t testing.TB, a *agent) []byte {
	t.Helper()
	r := acptest.NewRig(t, a.new)
	r.Open(nil)
	r.Result("initialize", a.initialize)
	r.Result("session/new", a.session)
	r.Submit("t1", abi.Settings{Mode: "plan", Model: "m-2"})
	grant(t, r, a.clone())
	r.Notify("session/update", chunk("hello"))
	r.Notify("session/update", toolCall("c1", "execute", "pending"))
	r.Notify("session/update", updateParams(`{"sessionUpdate":"tool_call","toolCallId":"k1","title":"questionnaire","status":"in_progress","rawInput":{"questions":[{"id":"a","prompt":"A?","type":"text"},{"id":"b","prompt":"B?","type":"text"}]}}`))
	r.Ask("5", "session/request_permission", permission("c1", "execute"))
	r.Ask("6", "elicitation/create", `{"sessionId":"s-1","mode":"form","message":"A?","requestedSchema":{"type":"object","properties":{"value":{"type":"string"}}}}`)
	return r.Save()
}

func load(t testing.TB, a *agent, state []byte) *guest.Machine {
	t.Helper()
	m := guest.NewMachine(a.new())
	if err := m.Load(state); err != nil {
		t.Fatal(err)
	}
	return m
}

func step(t testing.TB, m *guest.Machine, ev *abi.Event) string {
	t.Helper()
	out, err := m.Step(abi.AppendEvent(nil, ev))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out) {
		t.Fatalf("the effects are no JSON: %s", out)
	}
	if _, err := abi.DecodeEffects(out); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return string(out)
}

// FuzzWhatAnAgentSendsNeverPanics: any message in the middle of a turn leaves a session
// that goes on, and that goes on in the same way after it was saved and loaded.
func FuzzWhatAnAgentSendsNeverPanics(f *testing.F) {
	for kind := range byte(12) {
		f.Add(kind, "session/update", "", chunk("x"))
		f.Add(kind, "session/update", "", toolCall("c1", "edit", "completed"))
		f.Add(kind, "session/update", "", optionsUpdate(f, claudeAgent.session))
		f.Add(kind, "session/request_permission", "", exitPlan("c9", `{"plan":"p"}`, "0.101.0"))
		f.Add(kind, "elicitation/create", "", `{"sessionId":"s-1","mode":"form","message":"Execute?","requestedSchema":{"properties":{"value":{"oneOf":[{"const":"Execute"},{"const":"Rework"}]}}}}`)
		f.Add(kind, "_x.ai/exit_plan_mode", "", `{"method":"x.ai/exit_plan_mode","params":{"sessionId":"s-1","planContent":7}}`)
		f.Add(kind, "_x.ai/session_notification", "", `{"sessionId":"s-1","update":{"sessionUpdate":"turn_completed","prompt_id":"client-t1"}}`)
		f.Add(kind, "", "prompt/t1", `{"stopReason":"end_turn","usage":{"inputTokens":-1}}`)
		f.Add(kind, "", "set/1", claudeAgent.session)
	}
	var states [][]byte
	for _, a := range agents {
		states = append(states, busy(f, a))
	}
	f.Fuzz(func(t *testing.T, kind byte, method, token, payload string) {
		if !json.Valid([]byte(payload)) {
			// The transport delivers nothing that is no JSON; inside an event it would
			// break the event itself.
			return
		}
		a := agents[int(kind/4)%len(agents)]
		m := abi.Message{Method: method, Token: token, ID: abi.Raw("5"), Replay: kind >= 128}
		switch kind % 4 {
		case 0:
			m.Type, m.Params = abi.MessageNotification, abi.Raw(payload)
		case 1:
			m.Type, m.Params = abi.MessageRequest, abi.Raw(payload)
		case 2:
			m.Type, m.Result = abi.MessageResult, abi.Raw(payload)
		default:
			m.Type, m.Error = abi.MessageError, &abi.CallError{Code: -32000, Message: payload, Data: abi.Raw(payload)}
		}
		machine := load(t, a, states[int(kind/4)%len(agents)])
		step(t, machine, &abi.Event{Now: 5, Message: &m})
		saved := append([]byte(nil), machine.Save()...)
		again := load(t, a, saved)
		if got := again.Save(); string(got) != string(saved) {
			t.Fatalf("saving what was loaded differs:\n%s\n%s", saved, got)
		}
		for _, ev := range []*abi.Event{
			{Now: 6, Answer: &abi.Answer{Key: "request/q1", Reply: abi.Reply{Decision: "no", Feedback: "f"}}},
			{Now: 6, Answer: &abi.Answer{Key: "request/q2", Reply: abi.Reply{Fields: []abi.FieldAnswer{{Field: "a", State: abi.StateAnswered, HasOther: true, Other: "z", Selected: []int64{-1, 9}}}}}},
			{Now: 6, Answer: &abi.Answer{Key: "request/" + token, Permission: abi.PermissionAuto, Reply: abi.Reply{Decision: "Execute"}}},
			{Now: 6, Withdraw: &abi.Withdraw{Key: "request/" + token, Reason: abi.WithdrawStop}},
			{Now: 7, Timer: &abi.Timer{Name: "evidence"}},
			{Now: 7, Timer: &abi.Timer{Name: "result"}},
			{Now: 7, Stop: &abi.Stop{Turn: "t1"}},
			{Now: 8, Message: &abi.Message{Type: abi.MessageResult, Token: "prompt/t1", Result: abi.Raw(endTurn)}},
			{Now: 9, Submit: &abi.Submit{Turn: "t2", ClientID: "c2", Content: []abi.Content{{Type: abi.ContentText, Text: "x"}}}},
			{Now: 9, Timer: &abi.Timer{Name: "quiet"}},
			{Now: 9, Close: &abi.Close{}},
		} {
			one, two := step(t, machine, ev), step(t, again, ev)
			if one != two {
				t.Fatalf("a loaded session differs:\n%s\n%s", one, two)
			}
		}
	})
}

// FuzzLoadNeverPanics: a state that was damaged is refused or loaded, and a loaded one
// works.
func FuzzLoadNeverPanics(f *testing.F) {
	for _, a := range agents {
		f.Add(string(busy(f, a)))
	}
	f.Add(`{"version":1,"cur":{},"requests":[{"kind":"chain","at":9}],"chain":{"own":7},"tools":null,"call":{"kind":"option"},"job":{}}`)
	f.Fuzz(func(t *testing.T, saved string) {
		for _, a := range agents {
			m := guest.NewMachine(a.new())
			if err := m.Load([]byte(saved)); err != nil {
				if got, fresh := m.Save(), guest.NewMachine(a.new()).Save(); string(got) != string(fresh) {
					t.Fatalf("a refused state left something behind: %s", got)
				}
			}
			step(t, m, &abi.Event{Now: 1, Message: &abi.Message{Type: abi.MessageNotification, Method: "session/update", Params: abi.Raw(optionsUpdate(t, claudeAgent.session))}})
			step(t, m, &abi.Event{Now: 1, Message: &abi.Message{Type: abi.MessageRequest, Token: "q", Method: "elicitation/create", Params: abi.Raw(`{"sessionId":"s-1","mode":"form","message":"A?","requestedSchema":{"properties":{"value":{"type":"string"}}}}`)}})
			step(t, m, &abi.Event{Now: 1, Answer: &abi.Answer{Key: "", Reply: abi.Reply{Decision: "x"}}})
			step(t, m, &abi.Event{Now: 1, Stop: &abi.Stop{}})
			step(t, m, &abi.Event{Now: 2, Open: &abi.Open{Generation: 1, Cwd: "/w", Client: abi.ClientInfo{Name: "n", Version: "1"}}})
		}
	})
}

func TestADamagedStateIsRefused(t *testing.T) {
	for _, saved := range []string{``, `null`, `[]`, `{}`, `{"version":2}`, `{"version":1`, `{"version":1}x`, strings.Repeat(`[`, 600)} {
		if err := guest.NewMachine(claudeAgent.new()).Load([]byte(saved)); err == nil {
			t.Errorf("%q was loaded", saved)
		}
	}
}
