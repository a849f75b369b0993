package codex_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/codex"
)

// FuzzStepNeverPanics feeds one message of any shape to a session in the middle
// of a turn with an open question, then saves and loads. Whatever comes, the
// effects are well-formed, the state survives and the session takes the next
// event (T3).
func FuzzStepNeverPanics(f *testing.F) {
	seen := map[string]bool{}
	for _, name := range recordings(f) {
		for _, x := range readRecording(f, name) {
			p := string(x.Frame.Params)
			if x.Dir != "out" || x.Frame.Method == "" || seen[x.Frame.Method] {
				continue
			}
			seen[x.Frame.Method] = true
			kind := byte(0)
			if x.Frame.ID != nil {
				kind = 1
			}
			f.Add(kind, x.Frame.Method, "tok", p)
		}
	}
	for _, token := range []string{"open/initialize", "open/models", "open/resume", "open/start", "open/history", "turn/t1", "steer/s1", "interrupt/n1"} {
		f.Add(byte(2), "turn/start", token, `{"turn":{"id":"n1"},"data":[{"item":{"clientId":"a"}}],"thread":{"id":"x"}}`)
		f.Add(byte(3), "turn/start", token, `{"turn":null}`)
	}
	f.Add(byte(0), "turn/completed", "", failedTurn(`{"httpConnectionFailed":{"httpStatusCode":"502"}}`))
	f.Add(byte(0), "item/started", "", `{"threadId":"thread-1","turnId":"n1","item":{"type":[],"id":{},"questions":7,"delivery":"async"}}`)
	f.Add(byte(1), "item/commandExecution/requestApproval", "", command)
	f.Add(byte(1), "mcpServer/elicitation/request", "", `{"mode":"url","url":"\ud800"}`)

	state := openTurn(f)
	f.Fuzz(func(t *testing.T, kind byte, method, token, payload string) {
		if !json.Valid([]byte(payload)) {
			// The transport delivers nothing that is no JSON; inside an event it
			// would break the event itself.
			return
		}
		m := abi.Message{Method: method, Token: token, ID: abi.Raw("5")}
		switch kind % 4 {
		case 0:
			m.Type, m.Params = abi.MessageNotification, abi.Raw(payload)
		case 1:
			m.Type, m.Params = abi.MessageRequest, abi.Raw(payload)
		case 2:
			m.Type, m.Result = abi.MessageResult, abi.Raw(payload)
		default:
			m.Type, m.Error = abi.MessageError, &abi.CallError{Code: -1, Message: payload, Data: abi.Raw(payload)}
		}
		machine := load(t, state)
		m.Replay = kind&4 != 0
		step(t, machine, &abi.Event{Now: 5, Message: &m})
		saved := machine.Save()
		again := load(t, saved)
		if got := again.Save(); string(got) != string(saved) {
			t.Fatalf("saving what was loaded differs:\n%s\n%s", saved, got)
		}
		for _, ev := range []*abi.Event{
			{Now: 6, Answer: &abi.Answer{Key: "request/q1", Reply: abi.Reply{Decision: "accept"}}},
			{Now: 6, Withdraw: &abi.Withdraw{Key: "request/" + token, Reason: abi.WithdrawStop}},
			{Now: 7, Stop: &abi.Stop{}},
			{Now: 8, Message: &abi.Message{Type: abi.MessageNotification, Method: "turn/completed", Params: abi.Raw(`{"threadId":"thread-1","turn":{"id":"n1","status":"completed"}}`)}},
			{Now: 9, Submit: &abi.Submit{Turn: "t2", ClientID: "c2", Content: []abi.Content{{Type: abi.ContentText, Text: "x"}}}},
		} {
			a, b := step(t, machine, ev), step(t, again, ev)
			if a != b {
				t.Fatalf("a loaded session differs:\n%s\n%s", a, b)
			}
		}
	})
}

// FuzzLoadNeverPanics: a state that was damaged is refused or loaded, and a
// loaded one works.
func FuzzLoadNeverPanics(f *testing.F) {
	state := openTurn(f)
	f.Add(string(state))
	f.Add(strings.Replace(string(state), `"version":1`, `"version":2`, 1))
	f.Add(`{"version":1,"cur":{},"requests":[{}],"steers":[7],"models":null}`)
	f.Fuzz(func(t *testing.T, saved string) {
		machine := guest.NewMachine(codex.New())
		if err := machine.Load([]byte(saved)); err != nil {
			if got, fresh := machine.Save(), guest.NewMachine(codex.New()).Save(); string(got) != string(fresh) {
				t.Fatalf("a refused state left something behind: %s", got)
			}
		}
		step(t, machine, &abi.Event{Now: 1, Stop: &abi.Stop{}})
		step(t, machine, &abi.Event{Now: 2, Open: openEvent()})
	})
}

// openTurn is the state of a session in a turn with an open question.
func openTurn(t testing.TB) []byte {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{Mode: "plan"})
	r.ask("5", "item/tool/requestUserInput", questions)
	return append([]byte(nil), r.machine.Save()...)
}

func load(t testing.TB, state []byte) *guest.Machine {
	t.Helper()
	machine := guest.NewMachine(codex.New())
	if err := machine.Load(state); err != nil {
		t.Fatal(err)
	}
	return machine
}

func step(t testing.TB, machine *guest.Machine, ev *abi.Event) string {
	t.Helper()
	out, err := machine.Step(abi.AppendEvent(nil, ev))
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

func TestADamagedStateIsRefused(t *testing.T) {
	for _, saved := range []string{``, `null`, `[]`, `{}`, `{"version":2}`, `{"version":1`, `{"version":1}x`} {
		if err := guest.NewMachine(codex.New()).Load([]byte(saved)); err == nil {
			t.Errorf("%q was loaded", saved)
		}
	}
}
