package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// Reducer is the state machine of one Codex session. Create it with [New].
type Reducer struct {
	state

	// What follows is scratch space: it never changes what a step returns.
	dec      jsonwire.Decoder
	buf      []byte
	text     []byte
	lastItem string
}

var _ guest.Reducer = (*Reducer)(nil)

// New returns a reducer that waits for its first open event.
func New() *Reducer { return &Reducer{} }

// Step handles one event.
func (r *Reducer) Step(ev *abi.Event, out *guest.Effects) {
	switch {
	case ev.Message != nil:
		r.message(ev.Now, ev.Message, out)
	case ev.Open != nil:
		r.start(ev.Open, out)
	case ev.Submit != nil:
		r.submit(ev.Submit, out)
	case ev.Answer != nil:
		r.answer(ev.Answer, out)
	case ev.Withdraw != nil:
		r.withdraw(ev.Withdraw, out)
	case ev.Steer != nil:
		r.steer(ev.Steer, out)
	case ev.Stop != nil:
		r.stop(ev.Stop, out)
	case ev.Exited != nil:
		// What was running is for the host to settle; a new process starts with
		// an open event, which resets the state.
		r.phase = phaseStuck
	}
	// A timer is never set and Codex needs no farewell before its pipe closes.
}

// message routes a frame of the child.
func (r *Reducer) message(now int64, m *abi.Message, out *guest.Effects) {
	switch m.Type {
	case abi.MessageNotification:
		r.notification(m, out)
	case abi.MessageRequest:
		r.request(now, m, out)
	case abi.MessageResult:
		r.result(m, out)
	case abi.MessageError:
		r.failure(m, out)
	}
}

// result handles the answer to one of our calls.
func (r *Reducer) result(m *abi.Message, out *guest.Effects) {
	switch m.Token {
	case tokenInitialize:
		r.initialized(m.Result, out)
	case tokenAccount:
		r.readAccount(m.Result)
		r.opened(waitAccount, out)
	case tokenModels:
		if !r.readModels(m.Result, out) {
			r.opened(waitModels, out)
		}
	case tokenModes:
		r.readModes(m.Result, out)
		r.opened(waitModes, out)
	case tokenBaseline:
		r.readBaseline(m.Result, out)
		r.opened(waitBaseline, out)
	case tokenResume, tokenStart:
		r.readSession(m.Token, m.Result, out)
	case tokenHistory:
		r.readItemsPage(m.Result, out)
	case tokenHistoryTurns:
		r.readTurnsPage(m.Result, out)
	case tokenHistoryRead:
		r.readWholeThread(m.Result, out)
	default:
		if id, ok := cut(m.Token, tokenTurn); ok {
			r.startAnswered(id, m.Result, out)
		} else if id, ok := cut(m.Token, tokenSteer); ok {
			r.steerAnswered(id, nil, out)
		}
		// The answers to turn/interrupt and thread/unsubscribe say nothing.
	}
}

// failure handles an error answer to one of our calls, local ones included.
func (r *Reducer) failure(m *abi.Message, out *guest.Effects) {
	err := m.Error
	if err == nil {
		err = &abi.CallError{}
	}
	switch m.Token {
	case tokenInitialize:
		r.phase = phaseStuck
		r.problem(out, abi.Problem{Code: "initialize_failed", Message: "Codex refused to start a session: " + err.Message})
	case tokenAccount:
		// Older or stricter servers may not tell; the first turn will.
		r.opened(waitAccount, out)
	case tokenModels:
		r.warn(out, "models_unavailable", "Codex did not list its models: "+err.Message)
		r.opened(waitModels, out)
	case tokenModes:
		r.warn(out, "modes_unavailable", "Codex did not list its working modes: "+err.Message)
		r.opened(waitModes, out)
	case tokenBaseline:
		r.baselineUnknown(reasonOf(err), out)
		r.opened(waitBaseline, out)
	case tokenResume:
		r.resumeFailed(err, out)
	case tokenStart:
		r.startFailed(err, out)
	case tokenHistory:
		r.historyFailed(out)
	case tokenHistoryTurns, tokenHistoryRead:
		r.historyDone(false, out)
	default:
		if id, ok := cut(m.Token, tokenTurn); ok {
			r.startRefused(id, err, out)
		} else if id, ok := cut(m.Token, tokenSteer); ok {
			r.steerAnswered(id, err, out)
		} else if id, ok := cut(m.Token, tokenInterrupt); ok {
			r.interruptRefused(id, err, out)
		}
	}
}

// Tokens of our calls. Those with a slash at the end are followed by an id.
const (
	tokenInitialize   = "open/initialize"
	tokenAccount      = "open/account"
	tokenModels       = "open/models"
	tokenModes        = "open/modes"
	tokenBaseline     = "open/baseline"
	tokenRelease      = "release/"
	tokenResume       = "open/resume"
	tokenStart        = "open/start"
	tokenHistory      = "open/history"
	tokenHistoryTurns = "open/history-turns"
	tokenHistoryRead  = "open/history-read"
	tokenTurn         = "turn/"
	tokenSteer        = "steer/"
	tokenInterrupt    = "interrupt/"
)

// cut returns what follows prefix.
func cut(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return "", false
}

// warn shows a warning once in a session, however often the provider repeats it.
func (r *Reducer) warn(out *guest.Effects, code, message string) {
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
			r.problems[i] = p
			out.Problem(&p)
			return
		}
	}
	r.problems = append(r.problems, p)
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

// Bounds of what is remembered only to avoid saying things twice.
const (
	maxWarnings    = 64
	maxWarningMark = 512
	maxAsked       = 64
	maxSettled     = 64
	maxRecent      = 16
	maxEdits       = 64
	maxEditBytes   = 256 << 10
	maxEditsBytes  = 2 << 20
	maxEditPaths   = 2 << 10
)

// keepLast drops the oldest elements beyond n.
func keepLast[T any](s []T, n int) []T {
	if len(s) <= n {
		return s
	}
	return append(s[:0], s[len(s)-n:]...)
}
