package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// turn is a turn of the session's own thread. Its id is ours, empty when the
// agent began it by itself; native is the provider's, empty until it is known.
type turn struct {
	id, client, native string
	// mode is the collaboration mode it was started in.
	mode string
	// starting: turn/start has no answer yet. accepted: delivery was reported.
	starting, accepted bool
	// started: the provider runs it, so it can be interrupted and steered.
	started bool
	// stop: a stop came. interrupted: turn/interrupt was sent, which is done once:
	// 0.153.4 never answers a second one.
	stop, interrupted bool
	// retried: the person was told that the provider is being retried.
	retried bool
	// shown: the agent said, did or asked something.
	shown bool
	// done: its end came before it was certain that it is ours (Q5).
	done   bool
	status string
	// failure is what ended it, retry the last reason for which Codex retried.
	failure, retry fault
}

// current is the turn that interactions and children belong to.
func (r *Reducer) current() string {
	if r.cur != nil {
		return r.cur.id
	}
	return ""
}

// turnID is our id for a native turn of the session's thread, empty when the
// agent began it.
func (r *Reducer) turnID(native []byte) string {
	if t := r.running(native); t != nil {
		return t.id
	}
	id := lists.ID(string(native))
	for i := len(r.recent) - 1; i >= 0; i-- {
		if r.recent[i].native == id {
			return r.recent[i].turn
		}
	}
	if r.cur != nil && r.cur.native == "" {
		// Updates before the answer that names the turn (T6).
		return r.cur.id
	}
	return ""
}

// running is the turn that runs under a native id, or nil.
func (r *Reducer) running(native []byte) *turn {
	if r.cur != nil && r.cur.native != "" && r.cur.native == string(native) {
		return r.cur
	}
	if r.own != nil && r.own.native == string(native) {
		return r.own
	}
	return nil
}

// shows notes that the turn with our id shows something of the agent.
func (r *Reducer) shows(id string) {
	if r.cur != nil && r.cur.id == id {
		r.cur.shown = true
	} else if r.own != nil && r.own.id == id {
		r.own.shown = true
	}
}

func (r *Reducer) isRecent(native string) bool {
	native = lists.ID(native)
	for i := range r.recent {
		if r.recent[i].native == native {
			return true
		}
	}
	return false
}

// turnStarted handles turn/started of the session's thread.
func (r *Reducer) turnStarted(native string, out *guest.Effects) {
	if native == "" || r.isRecent(native) {
		return
	}
	t := r.running([]byte(native))
	if t == nil {
		if r.cur != nil && r.cur.native == "" {
			// The turn that our pending turn/start asks for. Should the agent have
			// begun another at that very moment, the answer corrects it.
			r.cur.native = native
			t = r.cur
		} else {
			r.own = &turn{native: native}
			t = r.own
		}
	}
	r.begin(t, out)
}

// begin tells once that a turn runs, and sends what waited for it.
func (r *Reducer) begin(t *turn, out *guest.Effects) {
	if !t.started {
		t.started = true
		r.tellStarted(t, out)
	}
	if t.stop {
		r.interrupt(t, out)
	}
	if t == r.cur {
		r.sendSteers(out)
	}
}

func (r *Reducer) tellStarted(t *turn, out *guest.Effects) {
	out.TurnStarted(&abi.TurnStarted{Turn: t.id, NativeTurn: t.native, NativeSession: r.session})
}

// accept reports the delivery of our turn once.
func (r *Reducer) accept(evidence string, out *guest.Effects) {
	if r.cur.accepted {
		return
	}
	r.cur.accepted = true
	out.Delivery(&abi.Delivery{Turn: r.cur.id, Status: abi.DeliveryAccepted, Evidence: evidence})
}

// startAnswered handles the answer to turn/start.
func (r *Reducer) startAnswered(id string, result []byte, out *guest.Effects) {
	if r.cur == nil || r.cur.id != id || !r.cur.starting {
		return
	}
	native := ""
	r.dec.Reset(result)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		if string(k) == FieldTurn {
			native = readTurn(d).id
		} else {
			d.Skip()
		}
	})
	t := r.cur
	t.starting = false
	switch {
	case native == "" || native == t.native:
	case r.own != nil && r.own.native == native:
		// The message joined the turn that the agent runs by itself (rule 24).
		r.join(out)
	default:
		r.release(t, out)
		t.native = native
	}
	r.accept(MethodTurnStart, out)
	if r.cur.done {
		r.end(r.cur, out)
	}
}

// join makes the agent's own turn ours: our message is part of it.
func (r *Reducer) join(out *guest.Effects) {
	own, t := r.own, r.cur
	out.TurnEnded(&abi.TurnEnded{Status: abi.TurnCompleted, StopReason: "joined"})
	t.native, t.failure, t.retry, t.started, t.shown = own.native, own.failure, own.retry, false, own.shown
	t.interrupted = t.interrupted || own.interrupted
	r.own = nil
	r.begin(t, out)
}

// startRefused handles the error answer to turn/start.
func (r *Reducer) startRefused(id string, err *abi.CallError, out *guest.Effects) {
	if r.cur == nil || r.cur.id != id || !r.cur.starting {
		return
	}
	t := r.cur
	t.starting = false
	if t.accepted {
		// Its message is in the thread, so the error is about something else; the
		// turn's own end follows.
		out.Log(&abi.Log{Text: "turn/start was refused after its message arrived: " + err.Message})
		return
	}
	d := abi.Delivery{Turn: t.id, Message: err.Message}
	switch err.Local {
	case "":
		d.Status, d.Code = abi.DeliveryRejected, "turn_refused"
		if needsSignIn(err.Message) {
			d.Code = codeSignIn
			r.signInProblem(out, err.Message)
		}
	case localSchema:
		d.Status, d.Code = abi.DeliveryNotSent, err.Local
	default:
		// The message may have been written.
		d.Status, d.Code = abi.DeliveryUnknown, err.Local
	}
	r.cur = nil
	r.dropSteers(out)
	out.Delivery(&d)
	r.release(t, out)
}

// release gives the native turn that was taken for t back: what began while
// turn/start had no answer was a turn of the agent's own.
func (r *Reducer) release(t *turn, out *guest.Effects) {
	if t.native == "" {
		return
	}
	if t.done {
		r.remember(t.native, "")
	} else {
		r.own = &turn{native: t.native, failure: t.failure, retry: t.retry, retried: t.retried, shown: t.shown}
		r.begin(r.own, out)
	}
	t.native, t.started, t.done, t.interrupted, t.shown = "", false, false, false, false
	t.failure, t.retry = fault{}, fault{}
}

// turnCompleted handles turn/completed of the session's thread.
func (r *Reducer) turnCompleted(n *nativeTurn, out *guest.Effects) {
	t := r.running([]byte(n.id))
	if t == nil {
		if n.id == "" || r.isRecent(n.id) || r.cur == nil || r.cur.native != "" {
			return
		}
		r.cur.native = n.id
		t = r.cur
	}
	t.done, t.status = true, n.status
	if n.fault != (fault{}) {
		t.failure = n.fault
	}
	if t == r.cur && t.starting && !t.accepted {
		// Nothing proves yet that this turn is ours. The answer to turn/start does.
		return
	}
	r.end(t, out)
}

// end reports the end of a turn.
func (r *Reducer) end(t *turn, out *guest.Effects) {
	if !t.started {
		t.started = true
		r.tellStarted(t, out)
	}
	r.expireRequests(t.native, out)
	e := abi.TurnEnded{Turn: t.id, Status: abi.TurnCompleted, StopReason: t.status}
	switch {
	case t.stop, t.status == EnumTurnStatusInterrupted:
		// A stop is no failure of the provider, whatever Codex calls its end (S2).
		e.Status = abi.TurnInterrupted
	case t.status == EnumTurnStatusFailed, t.failure != (fault{}):
		// A provider's failure must not look like an empty success (T7).
		e.Status = abi.TurnFailed
	}
	switch e.Status {
	case abi.TurnFailed:
		r.explain(t, &e, out)
	case abi.TurnCompleted:
		if !t.shown && t.id != "" {
			// A model that fails can look so, too (T7).
			out.Warning(&abi.Warning{Code: "empty_turn", Message: "Codex ended the turn without saying or doing anything; its model may have failed. Send the message again if you expected an answer."})
		}
		r.resolve(out, func(p *abi.Problem) bool { return p.Code == codeSignIn })
	}
	r.remember(t.native, t.id)
	if t == r.own {
		r.own = nil
	} else {
		r.cur = nil
		r.dropSteers(out)
	}
	out.TurnEnded(&e)
}

// explain says why a turn failed.
func (r *Reducer) explain(t *turn, e *abi.TurnEnded, out *guest.Effects) {
	f := t.failure
	if f.vague() && !t.retry.vague() {
		// Codex forgets the reason after its last retry (seen: "other").
		f.code, f.http = t.retry.code, t.retry.http
	}
	e.Code, e.Message, e.Outage = f.code, f.message, f.outage()
	if e.Code == "" {
		e.Code = EnumCodexErrorInfoOther
	}
	if e.Message == "" {
		e.Message = "Codex ended the turn as failed and gave no reason."
	}
	if f.unauthorized() && r.needsAuth {
		r.signInProblem(out, f.message)
	}
}

func (r *Reducer) remember(native, id string) {
	r.recent = keepLast(append(r.recent, ended{native: lists.ID(native), turn: id}), maxRecent)
}

// stop cancels the running turn with one turn/interrupt.
func (r *Reducer) stop(s *abi.Stop, out *guest.Effects) {
	t := r.cur
	if t == nil && s.Turn == "" {
		t = r.own
	}
	// A late stop must not hit a newer turn (S1).
	if t == nil || s.Turn != "" && s.Turn != t.id {
		return
	}
	t.stop = true
	if t.started {
		r.interrupt(t, out)
	}
	// Else turn/started sends it: before that Codex answers "no active turn to
	// interrupt" although it has named the turn, and runs it (seen on both).
}

// interruptTimeoutMS: an interrupt may stay without an answer.
const interruptTimeoutMS = 5_000

func (r *Reducer) interrupt(t *turn, out *guest.Effects) {
	if t.interrupted || t.native == "" {
		return
	}
	t.interrupted = true
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldThreadID, r.session)
	p = jsonwire.AppendField(p, FieldTurnID, t.native)
	p = append(p, '}')
	r.call(out, &abi.Call{Token: tokenInterrupt + t.native, Method: MethodTurnInterrupt, Params: p, TimeoutMS: interruptTimeoutMS})
}

// interruptRefused notes why an interrupt failed; the turn's end, or the host's
// patience, decides what follows.
func (r *Reducer) interruptRefused(native string, err *abi.CallError, out *guest.Effects) {
	if r.running([]byte(native)) == nil {
		return
	}
	out.Log(&abi.Log{Text: "turn/interrupt failed: " + reasonOf(err)})
}

// nativeTurn is what is read of a Turn object.
type nativeTurn struct {
	id, status string
	fault      fault
}

func readTurn(d *jsonwire.Decoder) (n nativeTurn) {
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldID:
			n.id = d.String()
		case FieldStatus:
			n.status = d.String()
		case FieldError:
			n.fault = readFault(d)
		default:
			d.Skip()
		}
	})
	return n
}
