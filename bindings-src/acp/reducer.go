package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// Reducer is the state machine of one session. Create it with [New].
type Reducer struct {
	d Dialect
	state

	// What follows is scratch space: it never changes what a step returns.
	dec  jsonwire.Decoder
	buf  []byte
	text []byte
}

var _ guest.Reducer = (*Reducer)(nil)

// New returns a reducer of a dialect that waits for its first open event.
func New(d Dialect) *Reducer {
	r := &Reducer{d: d}
	r.dec.Intern()
	return r
}

// Step handles one event.
func (r *Reducer) Step(ev *abi.Event, out *guest.Effects) {
	switch {
	case ev.Message != nil:
		r.message(ev.Message, out)
	case ev.Open != nil:
		r.start(ev.Open, out)
	case ev.Submit != nil:
		r.submit(ev.Submit, out)
	case ev.Answer != nil:
		r.answer(ev.Answer, out)
	case ev.Withdraw != nil:
		r.withdraw(ev.Withdraw, out)
	case ev.Stop != nil:
		r.stop(ev.Stop, out)
	case ev.Timer != nil:
		r.timer(ev.Timer.Name, out)
	case ev.Close != nil:
		r.close(out)
	case ev.Exited != nil:
		// What was running is for the host to settle; a new process starts with an
		// open event, which resets the state.
		r.phase = phaseStuck
	}
	// Steering is by cancel and prompt, so no steer event comes.
}

func (r *Reducer) message(m *abi.Message, out *guest.Effects) {
	switch m.Type {
	case abi.MessageNotification:
		r.notification(m, out)
	case abi.MessageRequest:
		r.request(m, out)
	case abi.MessageResult, abi.MessageError:
		err := m.Error
		if m.Type == abi.MessageError && err == nil {
			err = &abi.CallError{}
		}
		if m.Type == abi.MessageResult {
			err = nil
		}
		r.answered(m, err, out)
	}
}

// answered handles the end of one of our calls; err is nil for a result.
func (r *Reducer) answered(m *abi.Message, err *abi.CallError, out *guest.Effects) {
	switch m.Token {
	case tokenInitialize:
		r.initialized(m.Result, err, out)
	case tokenAuth:
		r.authenticated(err, out)
	case tokenNew:
		r.sessionNew(m.Result, err, out)
	case tokenRestore:
		r.sessionRestored(m.Result, err, out)
	case tokenList:
		r.listed(m.Result, err, out)
	default:
		if id, ok := cut(m.Token, tokenPrompt); ok {
			r.promptAnswered(id, m.Result, err, out)
		} else if r.call != nil && r.call.token == m.Token {
			r.setterAnswered(m.Result, err, out)
		}
		// The answer to session/close says nothing.
	}
}

// notification routes a notification. Unknown ones mean nothing to us (T3).
func (r *Reducer) notification(m *abi.Message, out *guest.Effects) {
	switch m.Method {
	case MethodSessionUpdate:
		r.update(m, out)
	case MethodElicitationComplete:
		r.elicitationCompleted(m.Params, out)
	case MethodCancelRequest:
		r.requestCancelled(m.Params, out)
	default:
		if r.d.Notification != nil {
			r.d.Notification(r, m, out)
		}
	}
}

// Tokens of our calls. Those with a slash at the end are followed by an id.
const (
	tokenInitialize = "open/initialize"
	tokenAuth       = "open/authenticate"
	tokenNew        = "open/new"
	tokenRestore    = "open/restore"
	tokenList       = "open/list"
	tokenPrompt     = "prompt/"
	tokenSet        = "set/"
	tokenClose      = "close"
)

// Names of timers.
const (
	timerEvidence = "evidence"
	timerQuiet    = "quiet"
	timerResult   = "result"
	timerTool     = "tool"
)

func (r *Reducer) timer(name string, out *guest.Effects) {
	switch name {
	case timerEvidence:
		r.evidenceOverdue(out)
	case timerQuiet:
		r.quietElapsed(out)
	case timerResult:
		r.resultOverdue(out)
	case timerTool:
		r.release(everyForm, out)
	}
}

// cut returns what follows prefix.
func cut(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return "", false
}

// send sends a call whose parameters were built in the reducer's buffer.
func (r *Reducer) send(out *guest.Effects, c *abi.Call) {
	r.buf = c.Params
	out.Call(c)
}

// Warn shows a warning once in a session, however often the agent repeats it.
func (r *Reducer) Warn(out *guest.Effects, code, message string) {
	if message == "" {
		return
	}
	mark := code + "\x00" + message
	if len(mark) > maxWarningMark {
		mark = mark[:maxWarningMark]
	}
	for _, w := range r.warned {
		if w == mark {
			return
		}
	}
	r.warned = keepLast(append(r.warned, mark), maxWarnings)
	out.Warning(&abi.Warning{Code: code, Message: message})
}

// problem reports a problem and remembers it, so that it can be taken back.
func (r *Reducer) problem(out *guest.Effects, p abi.Problem) {
	for i := range r.problems {
		if r.problems[i].Code == p.Code && r.problems[i].Field == p.Field {
			if r.problems[i] != p {
				r.problems[i] = p
				out.Problem(&p)
			}
			return
		}
	}
	r.problems = keepLast(append(r.problems, p), maxProblems)
	out.Problem(&p)
}

// resolve takes back the problems that match.
func (r *Reducer) resolve(out *guest.Effects, match func(*abi.Problem) bool) {
	kept := r.problems[:0]
	for _, p := range r.problems {
		if match(&p) {
			out.Problem(&abi.Problem{Code: p.Code, Field: p.Field, Resolved: true})
		} else {
			kept = append(kept, p)
		}
	}
	r.problems = kept
}

// Bounds of what is remembered.
const (
	maxWarnings    = 64
	maxWarningMark = 512
	maxProblems    = 64
	maxRecent      = 16
	maxMessages    = 32
	maxTools       = 32
	maxToolBytes   = 256 << 10
	maxToolsBytes  = 2 << 20
	maxToolPaths   = 2 << 10
	maxKnownPaths  = 4 << 10
	maxEarly       = 256
	maxEarlyBytes  = 1 << 20
	// maxStream is the length at which a streamed text is closed and goes on under
	// another id, so that the state stays small.
	maxStream = 256 << 10
)

// keepLast drops the oldest elements beyond n.
func keepLast[T any](s []T, n int) []T {
	if len(s) <= n {
		return s
	}
	return append(s[:0], s[len(s)-n:]...)
}

// EachKey calls visit for every member of an object; visit consumes the value. The
// key is valid until visit uses the decoder.
func EachKey(d *jsonwire.Decoder, visit func(k []byte, d *jsonwire.Decoder)) {
	if !d.BeginObject() {
		return
	}
	for {
		k, ok := d.NextKey()
		if !ok {
			return
		}
		visit(k, d)
	}
}

// Member returns the raw value of a member of an object, or nil.
func Member(raw []byte, name string) (v []byte) {
	var d jsonwire.Decoder
	d.Reset(raw)
	EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		if string(k) == name {
			v = d.Raw()
		} else {
			d.Skip()
		}
	})
	return v
}

// Text returns a member that is a string, or "".
func Text(raw []byte, name string) string {
	var d jsonwire.Decoder
	d.Reset(Member(raw, name))
	return d.String()
}

// present reports whether a raw value is there and not null.
func present(raw []byte) bool { return len(raw) > 0 && string(raw) != "null" }
