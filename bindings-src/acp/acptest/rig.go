// Package acptest plays the host and an agent around a reducer of package acp, for the
// tests of the bindings that speak the Agent Client Protocol.
package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
)

// Cwd is the working directory of every session.
const Cwd = "/workspace"

// Rig encodes events, decodes effects and remembers the calls that have no answer yet.
// After every event the reducer is saved and loaded, so that every test also checks
// that nothing it needs is lost, unless Keep is set.
type Rig struct {
	T   testing.TB
	New func() guest.Reducer
	// Keep: the reducer is not saved and loaded.
	Keep bool
	// Schemas checks what is sent, when it is set.
	Schemas *Schemas

	// Calls are those without an answer, Log every event's label with its effects, All
	// the effects.
	Calls []*abi.Call
	Log   []byte
	All   []abi.Effect

	machine  *guest.Machine
	now      int64
	requests int
	asked    map[string]string
}

// NewRig starts a rig.
func NewRig(t testing.TB, reducer func() guest.Reducer) *Rig {
	return &Rig{T: t, New: reducer, machine: guest.NewMachine(reducer()), now: 1_795_998_657_000, asked: map[string]string{}}
}

// Step gives one event to the reducer.
func (r *Rig) Step(label string, ev abi.Event) []abi.Effect {
	r.T.Helper()
	r.now++
	ev.Now = r.now
	out, err := r.machine.Step(abi.AppendEvent(nil, &ev))
	if err != nil {
		r.T.Fatalf("%s: %v", label, err)
	}
	r.Log = append(r.Log, "# "+label+"\n"...)
	var lines []json.RawMessage
	if err := json.Unmarshal(out, &lines); err != nil {
		r.T.Fatalf("%s: the effects are no JSON: %v\n%s", label, err, out)
	}
	for _, l := range lines {
		r.Log = append(append(r.Log, l...), '\n')
	}
	effects, err := abi.DecodeEffects(bytes.Clone(out))
	if err != nil {
		r.T.Fatalf("%s: %v", label, err)
	}
	for i := range effects {
		switch e := &effects[i]; {
		case e.Call != nil:
			if !json.Valid(e.Call.Params) {
				r.T.Fatalf("%s: call with broken parameters: %s", label, e.Call.Params)
			}
			r.Calls = append(r.Calls, e.Call)
		case e.Notify != nil && !json.Valid(e.Notify.Params):
			r.T.Fatalf("%s: notification with broken parameters: %s", label, e.Notify.Params)
		case e.Reply != nil && e.Reply.Error == nil && !json.Valid(e.Reply.Result):
			r.T.Fatalf("%s: reply with a broken result: %s", label, e.Reply.Result)
		}
	}
	r.All = append(r.All, effects...)
	if r.Schemas != nil {
		r.Schemas.check(r, label, effects)
	}
	if !r.Keep {
		r.reload(label)
	}
	return effects
}

func (r *Rig) reload(label string) {
	r.T.Helper()
	next := guest.NewMachine(r.New())
	state := bytes.Clone(r.machine.Save())
	if err := next.Load(state); err != nil {
		r.T.Fatalf("%s: load: %v\n%s", label, err, state)
	}
	if again := next.Save(); !bytes.Equal(again, state) {
		r.T.Fatalf("%s: saving what was loaded differs:\n%s\n%s", label, state, again)
	}
	// The loaded state must not depend on the bytes it came from.
	clear(state)
	r.machine = next
}

// Save is the state of the reducer.
func (r *Rig) Save() []byte { return bytes.Clone(r.machine.Save()) }

// Open starts a generation; change may alter the event.
func (r *Rig) Open(change func(*abi.Open)) []abi.Effect {
	r.T.Helper()
	o := &abi.Open{Generation: 1, Cwd: Cwd, Client: abi.ClientInfo{Name: "ao-host", Version: "0.1.0"}}
	if change != nil {
		change(o)
	}
	return r.Step("open", abi.Event{Open: o})
}

// Waits reports whether a call of a method has no answer.
func (r *Rig) Waits(method string) *abi.Call {
	for _, c := range r.Calls {
		if c.Method == method {
			return c
		}
	}
	return nil
}

// take removes the oldest call of a method.
func (r *Rig) take(method string) *abi.Call {
	r.T.Helper()
	for i, c := range r.Calls {
		if c.Method == method {
			r.Calls = append(r.Calls[:i:i], r.Calls[i+1:]...)
			return c
		}
	}
	r.T.Fatalf("no call of %s waits for an answer; there are: %s", method, methods(r.Calls))
	return nil
}

func methods(calls []*abi.Call) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.Method)
	}
	return strings.Join(names, ", ")
}

// Result answers the oldest call of a method.
func (r *Rig) Result(method, result string) []abi.Effect {
	r.T.Helper()
	c := r.take(method)
	return r.Step("result "+method, abi.Event{Message: &abi.Message{Type: abi.MessageResult, Method: method, Token: c.Token, Result: abi.Raw(result)}})
}

// Fail answers the oldest call of a method with an error.
func (r *Rig) Fail(method string, e abi.CallError) []abi.Effect {
	r.T.Helper()
	c := r.take(method)
	return r.Step("error "+method, abi.Event{Message: &abi.Message{Type: abi.MessageError, Method: method, Token: c.Token, Error: &e}})
}

// Notify sends a notification of the agent.
func (r *Rig) Notify(method, params string) []abi.Effect {
	r.T.Helper()
	return r.notify(method, params, false)
}

// Replay sends a notification while a session is being restored.
func (r *Rig) Replay(method, params string) []abi.Effect {
	r.T.Helper()
	return r.notify(method, params, true)
}

func (r *Rig) notify(method, params string, replay bool) []abi.Effect {
	r.T.Helper()
	return r.Step("notification "+method, abi.Event{Message: &abi.Message{Type: abi.MessageNotification, Method: method, Params: abi.Raw(params), Replay: replay}})
}

// Ask sends a request of the agent; its token is "q1", "q2", …
func (r *Rig) Ask(id, method, params string) (token string, effects []abi.Effect) {
	r.T.Helper()
	r.requests++
	token = fmt.Sprintf("q%d", r.requests)
	r.asked[token] = method
	return token, r.Step("request "+method, abi.Event{Message: &abi.Message{Type: abi.MessageRequest, Method: method, Token: token, ID: abi.Raw(id), Params: abi.Raw(params)}})
}

// Submit submits a text.
func (r *Rig) Submit(turn string, s abi.Settings) []abi.Effect {
	r.T.Helper()
	return r.Step("submit "+turn, abi.Event{Submit: &abi.Submit{Turn: turn, ClientID: "client-" + turn, Origin: abi.OriginUser, Settings: s,
		Content: []abi.Content{{Type: abi.ContentText, Text: "do " + turn}}}})
}

// Answer answers an interaction.
func (r *Rig) Answer(key string, reply abi.Reply) []abi.Effect {
	r.T.Helper()
	return r.Step("answer", abi.Event{Answer: &abi.Answer{Key: key, Reply: reply}})
}

// Approve answers a review, with the remembered permission.
func (r *Rig) Approve(key, decision string, p abi.Permission) []abi.Effect {
	r.T.Helper()
	return r.Step("approve", abi.Event{Answer: &abi.Answer{Key: key, Reply: abi.Reply{Decision: decision}, Permission: p}})
}

// Withdraw takes an interaction back.
func (r *Rig) Withdraw(key string, why abi.WithdrawReason) []abi.Effect {
	r.T.Helper()
	return r.Step("withdraw "+string(why), abi.Event{Withdraw: &abi.Withdraw{Key: key, Reason: why}})
}

// Stop stops a turn.
func (r *Rig) Stop(turn string) []abi.Effect {
	r.T.Helper()
	return r.Step("stop", abi.Event{Stop: &abi.Stop{Turn: turn}})
}

// Timer fires a timer.
func (r *Rig) Timer(name string) []abi.Effect {
	r.T.Helper()
	return r.Step("timer "+name, abi.Event{Timer: &abi.Timer{Name: name}})
}

// Sent lists what was sent to the agent since the log had n effects, one line each:
// calls, notifications and replies.
func (r *Rig) Sent(from int) string {
	var b strings.Builder
	for i := range r.All[from:] {
		switch e := &r.All[from+i]; {
		case e.Call != nil:
			fmt.Fprintf(&b, "call %s %s\n", e.Call.Method, e.Call.Params)
		case e.Notify != nil:
			fmt.Fprintf(&b, "notify %s %s\n", e.Notify.Method, e.Notify.Params)
		case e.Reply != nil && e.Reply.Error != nil:
			fmt.Fprintf(&b, "error %d %s\n", e.Reply.Error.Code, e.Reply.Error.Message)
		case e.Reply != nil:
			fmt.Fprintf(&b, "reply %s\n", e.Reply.Result)
		}
	}
	return b.String()
}

// Only returns the effects of one kind.
func Only[T any](effects []abi.Effect, pick func(*abi.Effect) *T) (found []*T) {
	for i := range effects {
		if x := pick(&effects[i]); x != nil {
			found = append(found, x)
		}
	}
	return found
}

// One returns the single effect of one kind.
func One[T any](t testing.TB, effects []abi.Effect, pick func(*abi.Effect) *T) *T {
	t.Helper()
	found := Only(effects, pick)
	if len(found) != 1 {
		t.Fatalf("want one %T, got %d in:\n%s", *new(T), len(found), abi.AppendEffects(nil, effects))
	}
	return found[0]
}

// None fails if there is an effect of one kind.
func None[T any](t testing.TB, effects []abi.Effect, pick func(*abi.Effect) *T) {
	t.Helper()
	if found := Only(effects, pick); len(found) != 0 {
		t.Fatalf("want no %T, got:\n%s", *new(T), abi.AppendEffects(nil, effects))
	}
}

// Pickers of the kinds of effects.
func Call(e *abi.Effect) *abi.Call                { return e.Call }
func Note(e *abi.Effect) *abi.Notify              { return e.Notify }
func Reply(e *abi.Effect) *abi.ReplyTo            { return e.Reply }
func Ready(e *abi.Effect) *abi.Ready              { return e.Ready }
func Catalog(e *abi.Effect) *abi.Catalog          { return e.Catalog }
func Observed(e *abi.Effect) *abi.Observed        { return e.Observed }
func Delivery(e *abi.Effect) *abi.Delivery        { return e.Delivery }
func Started(e *abi.Effect) *abi.TurnStarted      { return e.TurnStarted }
func Ended(e *abi.Effect) *abi.TurnEnded          { return e.TurnEnded }
func Delta(e *abi.Effect) *abi.Delta              { return e.Delta }
func Item(e *abi.Effect) *abi.Item                { return e.Item }
func Progress(e *abi.Effect) *abi.Progress        { return e.Progress }
func Opened(e *abi.Effect) *abi.Interaction       { return e.InteractionOpened }
func Closed(e *abi.Effect) *abi.InteractionClosed { return e.InteractionClosed }
func Proposal(e *abi.Effect) *abi.Proposal        { return e.Proposal }
func Problem(e *abi.Effect) *abi.Problem          { return e.Problem }
func Warning(e *abi.Effect) *abi.Warning          { return e.Warning }
func History(e *abi.Effect) *abi.History          { return e.History }
func Usage(e *abi.Effect) *abi.Usage              { return e.Usage }
func Commands(e *abi.Effect) *abi.Commands        { return e.Commands }
func SessionInfo(e *abi.Effect) *abi.SessionInfo  { return e.SessionInfo }
func TimerSet(e *abi.Effect) *abi.TimerSet        { return e.TimerSet }
