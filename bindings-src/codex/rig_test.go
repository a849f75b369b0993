package codex_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/codex"
)

// Values that most tests share.
const (
	threadID   = "thread-1"
	model      = "model-a"
	smallModel = "model-b"
)

// rig plays the host around a reducer: it encodes events, decodes effects and
// remembers the calls that have no answer yet.
type rig struct {
	t       testing.TB
	machine *guest.Machine
	now     int64
	// reload saves and loads into a new reducer after every event.
	reload bool
	calls  []*abi.Call
	// log has every event's kind and its effects, for golden files.
	log []byte
	// all has every effect.
	all      []abi.Effect
	requests int
	// asked are the methods of the child's requests by token.
	asked map[string]string
	// newer: the provider is newer than the bundled schemas.
	newer bool
}

// newRig saves and loads after every event, so that every test also checks that
// nothing it needs is lost.
func newRig(t testing.TB) *rig {
	return &rig{t: t, reload: true, machine: guest.NewMachine(codex.New()), now: 1_795_998_657_000, asked: map[string]string{}}
}

func (r *rig) step(label string, ev abi.Event) []abi.Effect {
	r.t.Helper()
	r.now++
	ev.Now = r.now
	out, err := r.machine.Step(abi.AppendEvent(nil, &ev))
	if err != nil {
		r.t.Fatalf("%s: %v", label, err)
	}
	r.log = append(r.log, "# "+label+"\n"...)
	var lines []json.RawMessage
	if err := json.Unmarshal(out, &lines); err != nil {
		r.t.Fatalf("%s: the effects are no JSON: %v\n%s", label, err, out)
	}
	for _, l := range lines {
		r.log = append(append(r.log, l...), '\n')
	}
	effects, err := abi.DecodeEffects(append([]byte(nil), out...))
	if err != nil {
		r.t.Fatalf("%s: %v", label, err)
	}
	for i := range effects {
		if c := effects[i].Call; c != nil {
			if !json.Valid(c.Params) {
				r.t.Fatalf("%s: call with broken parameters: %s", label, c.Params)
			}
			r.calls = append(r.calls, c)
		}
	}
	r.all = append(r.all, effects...)
	if !r.newer {
		r.checkOutbound(label, effects)
	}
	if r.reload {
		next := guest.NewMachine(codex.New())
		state := append([]byte(nil), r.machine.Save()...)
		if err := next.Load(state); err != nil {
			r.t.Fatalf("%s: load: %v\n%s", label, err, state)
		}
		if again := next.Save(); string(again) != string(state) {
			r.t.Fatalf("%s: saving what was loaded differs:\n%s\n%s", label, state, again)
		}
		// The loaded state must not depend on the bytes it came from.
		clear(state)
		r.machine = next
	}
	return effects
}

// take removes and returns the oldest unanswered call of a method, or nil.
func (r *rig) take(method string) *abi.Call {
	for i, c := range r.calls {
		if c.Method == method {
			r.calls = append(r.calls[:i:i], r.calls[i+1:]...)
			return c
		}
	}
	return nil
}

func (r *rig) result(method, result string) []abi.Effect {
	r.t.Helper()
	c := r.take(method)
	if c == nil {
		r.t.Fatalf("no call of %s waits for an answer", method)
	}
	return r.step("result "+method, abi.Event{Message: &abi.Message{Type: abi.MessageResult, Method: method, Token: c.Token, Result: abi.Raw(result)}})
}

func (r *rig) fail(method string, e abi.CallError) []abi.Effect {
	r.t.Helper()
	c := r.take(method)
	if c == nil {
		r.t.Fatalf("no call of %s waits for an answer", method)
	}
	return r.step("error "+method, abi.Event{Message: &abi.Message{Type: abi.MessageError, Method: method, Token: c.Token, Error: &e}})
}

func (r *rig) notify(method, params string) []abi.Effect {
	r.t.Helper()
	return r.step("notification "+method, abi.Event{Message: &abi.Message{Type: abi.MessageNotification, Method: method, Params: abi.Raw(params)}})
}

// ask sends a request of the child; its token is "q1", "q2", …
func (r *rig) ask(id, method, params string) (token string, effects []abi.Effect) {
	r.t.Helper()
	r.requests++
	token = fmt.Sprintf("q%d", r.requests)
	r.asked[token] = method
	return token, r.step("request "+method, abi.Event{Message: &abi.Message{Type: abi.MessageRequest, Method: method, Token: token, ID: abi.Raw(id), Params: abi.Raw(params)}})
}

func (r *rig) submit(turn string, s abi.Settings) []abi.Effect {
	r.t.Helper()
	return r.send(abi.Submit{Turn: turn, Settings: s})
}

func (r *rig) send(s abi.Submit) []abi.Effect {
	r.t.Helper()
	if s.ClientID == "" {
		s.ClientID = "client-" + s.Turn
	}
	if s.Content == nil && s.Reply == nil {
		s.Content = []abi.Content{{Type: abi.ContentText, Text: "do " + s.Turn}}
	}
	if s.Origin == "" {
		s.Origin = abi.OriginUser
	}
	return r.step("submit "+s.Turn, abi.Event{Submit: &s})
}

func (r *rig) stop(turn string) []abi.Effect {
	r.t.Helper()
	return r.step("stop", abi.Event{Stop: &abi.Stop{Turn: turn}})
}

// The answers of a provider with one listed model that has efforts and images
// and one that has neither.
const (
	signedIn = `{"account":null,"requiresOpenaiAuth":false}`
	models   = `{"data":[` +
		`{"id":"a","model":"model-a","displayName":"A","description":"big","hidden":false,"isDefault":true,"defaultReasoningEffort":"medium","inputModalities":["text","image"],"supportedReasoningEfforts":[{"reasoningEffort":"low","description":"l"},{"reasoningEffort":"medium","description":"m"},{"reasoningEffort":"high","description":"h"}]},` +
		`{"id":"b","model":"model-b","displayName":"B","description":"small","hidden":true,"isDefault":false,"defaultReasoningEffort":"none","inputModalities":["text"],"supportedReasoningEfforts":[]}` +
		`],"nextCursor":null}`
	modes = `{"data":[{"name":"Plan","mode":"plan","model":null,"reasoning_effort":"medium"},{"name":"Default","mode":"default","model":null,"reasoning_effort":null}]}`
)

func threadResult(id string) string {
	return `{"thread":{"id":"` + id + `","name":null,"turns":[]},"model":"` + model + `","modelProvider":"p","reasoningEffort":null,` +
		`"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false}}`
}

func openEvent() *abi.Open {
	return &abi.Open{Generation: 1, Cwd: "/workspace", Client: abi.ClientInfo{Name: "ao-host", Version: "0.1.0"}}
}

// read answers what a session asks for before it starts a thread.
func (r *rig) read(o *abi.Open) {
	r.t.Helper()
	r.step("open", abi.Event{Open: o})
	r.result("initialize", `{"userAgent":"ao-host/0.171.0 (Debian 12.0.0; x86_64) xterm (ao-host; 0.1.0)"}`)
	r.result("account/read", signedIn)
	r.result("model/list", models)
	if o.NativeSession != "" {
		r.result("thread/start", threadResult("baseline-1"))
		r.result("thread/unsubscribe", `{"status":"unsubscribed"}`)
	}
	r.result("collaborationMode/list", modes)
}

// ready opens a new session.
func ready(t testing.TB) *rig {
	t.Helper()
	r := newRig(t)
	r.read(openEvent())
	r.result("thread/start", threadResult(threadID))
	return r
}

// begin runs a turn up to turn/started.
func (r *rig) begin(turn, native string, s abi.Settings) {
	r.t.Helper()
	r.submit(turn, s)
	r.result("turn/start", turnResult(native))
	r.started(native)
}

func turnResult(native string) string {
	return `{"turn":{"id":"` + native + `","status":"inProgress"}}`
}

func (r *rig) started(native string) []abi.Effect {
	r.t.Helper()
	return r.notify("turn/started", `{"threadId":"`+threadID+`","turn":{"id":"`+native+`","status":"inProgress"}}`)
}

func (r *rig) completed(native, status string) []abi.Effect {
	r.t.Helper()
	return r.notify("turn/completed", `{"threadId":"`+threadID+`","turn":{"id":"`+native+`","status":"`+status+`","error":null}}`)
}

func (r *rig) item(phase, native, item string) []abi.Effect {
	r.t.Helper()
	return r.notify("item/"+phase, `{"threadId":"`+threadID+`","turnId":"`+native+`","item":`+item+`}`)
}

// only returns the effects of one kind.
func only[T any](effects []abi.Effect, pick func(*abi.Effect) *T) (found []*T) {
	for i := range effects {
		if x := pick(&effects[i]); x != nil {
			found = append(found, x)
		}
	}
	return found
}

// one returns the single effect of one kind.
func one[T any](t testing.TB, effects []abi.Effect, pick func(*abi.Effect) *T) *T {
	t.Helper()
	found := only(effects, pick)
	if len(found) != 1 {
		t.Fatalf("want one %T, got %d in:\n%s", *new(T), len(found), abi.AppendEffects(nil, effects))
	}
	return found[0]
}

func none[T any](t testing.TB, effects []abi.Effect, pick func(*abi.Effect) *T) {
	t.Helper()
	if found := only(effects, pick); len(found) != 0 {
		t.Fatalf("want no %T, got:\n%s", *new(T), abi.AppendEffects(nil, effects))
	}
}

func call(e *abi.Effect) *abi.Call                { return e.Call }
func reply(e *abi.Effect) *abi.ReplyTo            { return e.Reply }
func isReady(e *abi.Effect) *abi.Ready            { return e.Ready }
func observed(e *abi.Effect) *abi.Observed        { return e.Observed }
func delivery(e *abi.Effect) *abi.Delivery        { return e.Delivery }
func turnEnded(e *abi.Effect) *abi.TurnEnded      { return e.TurnEnded }
func delta(e *abi.Effect) *abi.Delta              { return e.Delta }
func anItem(e *abi.Effect) *abi.Item              { return e.Item }
func progress(e *abi.Effect) *abi.Progress        { return e.Progress }
func opened(e *abi.Effect) *abi.Interaction       { return e.InteractionOpened }
func closed(e *abi.Effect) *abi.InteractionClosed { return e.InteractionClosed }
func proposal(e *abi.Effect) *abi.Proposal        { return e.Proposal }
func problem(e *abi.Effect) *abi.Problem          { return e.Problem }
func warning(e *abi.Effect) *abi.Warning          { return e.Warning }
func history(e *abi.Effect) *abi.History          { return e.History }
func usage(e *abi.Effect) *abi.Usage              { return e.Usage }
func sessionInfo(e *abi.Effect) *abi.SessionInfo  { return e.SessionInfo }

// at reads a value out of JSON by a dotted path.
func at(t testing.TB, raw []byte, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	for _, k := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}
