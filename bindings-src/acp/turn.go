package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

// turn is a turn of the session. Its id is ours, empty when the agent began it by
// itself; native identifies its prompt where the agent tells that.
type turn struct {
	id, client, native string
	permission         abi.Permission
	// model is the one that was wished for it.
	model string
	// accepted: delivery was reported. started: the agent works on it.
	accepted, started bool
	// stop: a stop came. cancelled: session/cancel was sent, which is done once.
	stop, cancelled bool
	// rejected: a person rejected the plan of a review, upon which some agents end
	// the turn as cancelled.
	rejected bool
	// reviewed: the agent goes on in it from a review that was raised again after a
	// restore and that a person decided.
	reviewed bool
	// done: its end was told before the answer to the prompt (Q5).
	done            bool
	reason, message string
	// retried: the person was told that the provider is being retried.
	retried bool
	// said is the last message of the agent, where a plan is no more than that.
	said string
	// shown: the agent said, did or asked something.
	shown bool
}

func (t *turn) walk(w *savedstate.Walker) {
	w.Str("id", &t.id)
	w.Str("client", &t.client)
	w.Str("native", &t.native)
	savedstate.Text(w, "permission", &t.permission)
	w.Str("model", &t.model)
	w.Bool("accepted", &t.accepted)
	w.Bool("started", &t.started)
	w.Bool("stop", &t.stop)
	w.Bool("cancelled", &t.cancelled)
	w.Bool("rejected", &t.rejected)
	w.Bool("reviewed", &t.reviewed)
	w.Bool("done", &t.done)
	w.Str("reason", &t.reason)
	w.Str("message", &t.message)
	w.Bool("retried", &t.retried)
	w.Str("said", &t.said)
	w.Bool("shown", &t.shown)
}

// current is the turn that interactions and children belong to.
func (r *Reducer) current() string {
	if r.cur != nil {
		return r.cur.id
	}
	return ""
}

// begin tells once that a turn runs, which also proves that its prompt arrived.
func (r *Reducer) begin(t *turn, evidence string, out *guest.Effects) {
	if t == r.cur {
		r.accept(evidence, out)
	}
	if !t.started {
		t.started = true
		out.TurnStarted(&abi.TurnStarted{Turn: t.id, NativeTurn: t.native, NativeSession: r.session})
	}
}

// accept reports the delivery of our turn once.
func (r *Reducer) accept(evidence string, out *guest.Effects) {
	if r.cur.accepted {
		return
	}
	r.cur.accepted = true
	out.Delivery(&abi.Delivery{Turn: r.cur.id, Status: abi.DeliveryAccepted, Evidence: evidence})
}

// promptAnswered handles the answer to session/prompt: the end of the turn. It can
// come after the end was told in another way, and for a turn that ended already.
func (r *Reducer) promptAnswered(id string, result []byte, err *abi.CallError, out *guest.Effects) {
	t := r.cur
	if t == nil || t.id != id {
		return
	}
	if err == nil {
		reason := Text(result, FieldStopReason)
		if reason != "" {
			t.reason = reason
		}
		r.accept(MethodSessionPrompt, out)
		r.turnUsage(result, out)
		r.end(t, out)
		return
	}
	if err.Local == localExited {
		// The host settles what was running.
		return
	}
	if d := r.undelivered(t, err, out); d != nil {
		r.flush(out)
		r.cur = nil
		out.TimerClear(&abi.TimerClear{Name: timerResult})
		out.Delivery(d)
		r.observe(out)
		return
	}
	r.accept(MethodSessionPrompt, out)
	if err.Local == localSize {
		// It ended; only how was too long to read.
		t.reason = EnumStopReasonEndTurn
		r.end(t, out)
		return
	}
	t.reason, t.message = EnumIdleStateUpdateStopReasonError, errorText(err)
	if err.Code == codeAuthRequired {
		r.signInProblem(out, t.message)
	}
	r.end(t, out)
}

// undelivered is the verdict on a prompt that was refused before anything ran, or nil
// when the agent has it: an error of another kind ends a turn that ran.
func (r *Reducer) undelivered(t *turn, err *abi.CallError, out *guest.Effects) *abi.Delivery {
	if t.accepted {
		return nil
	}
	d := &abi.Delivery{Turn: t.id, Message: errorText(err)}
	switch err.Local {
	case "":
	case localSchema, localRefused:
		d.Status, d.Code = abi.DeliveryNotSent, err.Local
		return d
	case localSize:
		return nil
	default:
		// The message may have been written.
		d.Status, d.Code = abi.DeliveryUnknown, err.Local
		return d
	}
	switch err.Code {
	case codeAuthRequired:
		d.Status, d.Code = abi.DeliveryRejected, codeSignIn
		r.signInProblem(out, d.Message)
	case codeInvalidRequest, codeInvalidParams, codeMethodNotFound, codeNotFound:
		d.Status, d.Code = abi.DeliveryRejected, "prompt_refused"
	default:
		return nil
	}
	return d
}

// resultTimeoutMS is how long the answer to a prompt may take after the agent has
// told the end of its turn in another way.
const resultTimeoutMS = 2_000

// PromptEnded notes the end of the turn of a prompt, told beside the protocol. The
// answer to the prompt says more and is waited for a little. An end of another prompt
// is that of a turn the agent began by itself, or is over (S3).
func (r *Reducer) PromptEnded(native, reason, message string, out *guest.Effects) {
	native = lists.ID(native)
	if t := r.cur; t != nil && native != "" && t.native == native {
		if t.done {
			return
		}
		r.begin(t, "turn end", out)
		t.done, t.reason, t.message = true, reason, message
		out.TimerSet(&abi.TimerSet{Name: timerResult, AfterMS: resultTimeoutMS})
		return
	}
	if t := r.own; t != nil && (t.native == native || t.native == "") {
		r.endOwn(reason, out)
	}
}

func (r *Reducer) resultOverdue(out *guest.Effects) {
	if t := r.cur; t != nil && t.done {
		r.end(t, out)
	}
}

// PromptRuns notes that the agent works on a prompt, told beside the protocol.
func (r *Reducer) PromptRuns(native string, out *guest.Effects) {
	if t := r.cur; t != nil && native != "" && t.native == native {
		r.begin(t, "the agent runs it", out)
	}
}

// Retrying tells once in a turn that the provider is being retried, and why.
func (r *Reducer) Retrying(message string, out *guest.Effects) {
	t := r.cur
	if t == nil || message == "" {
		return
	}
	t.message = message
	if !t.retried {
		t.retried = true
		out.Warning(&abi.Warning{Code: "provider_retry", Message: message})
	}
}

// end reports the end of our turn, whatever word the agent has for it (S2).
func (r *Reducer) end(t *turn, out *guest.Effects) {
	r.begin(t, MethodSessionPrompt, out)
	r.release(everyForm, out)
	r.flush(out)
	if t.done {
		out.TimerClear(&abi.TimerClear{Name: timerResult})
	}
	e := abi.TurnEnded{Turn: t.id, Status: abi.TurnCompleted, StopReason: t.reason}
	switch {
	case t.stop:
		e.Status = abi.TurnInterrupted
	case t.reason == EnumStopReasonEndTurn, t.reason == "":
		if !t.shown {
			// Some agents tell a failure of their model so (T7).
			out.Warning(&abi.Warning{Code: "empty_turn", Message: r.d.Title + " ended the turn without saying or doing anything; its model may have failed. Send the message again if you expected an answer."})
		}
	case t.reason == EnumStopReasonMaxTokens:
		r.Warn(out, t.reason, r.d.Title+" stopped because the model reached its limit of tokens; its answer may be cut off.")
	case t.reason == EnumStopReasonMaxTurnRequests:
		r.Warn(out, t.reason, r.d.Title+" stopped because the turn reached its limit of requests; tell it to go on.")
	case t.reason == EnumStopReasonRefusal:
		e.Status, e.Code, e.Message = abi.TurnFailed, t.reason, "The model refused to answer."
	case t.reason == EnumStopReasonCancelled && t.rejected:
		// The person rejected the plan; that is how this agent stays in planning.
	case t.reason == EnumStopReasonCancelled:
		// Nobody stopped this turn: the agent carried an older cancel over (S3).
		e.Status, e.Code = abi.TurnFailed, "cancelled_unasked"
		e.Message = r.d.Title + " ended the turn as cancelled although nobody stopped it; send the message again."
	case t.reason == EnumIdleStateUpdateStopReasonError:
		e.Status, e.Code, e.Message, e.Outage = abi.TurnFailed, "provider_failed", t.message, true
		if e.Message == "" {
			e.Message = r.d.Title + " ended the turn with an error and gave no reason."
		}
	}
	if e.Status == abi.TurnCompleted {
		r.resolve(out, func(p *abi.Problem) bool { return p.Code == codeSignIn })
	}
	if t.native != "" {
		r.recent = keepLast(append(r.recent, ended{native: t.native, turn: t.id}), maxRecent)
	}
	r.closeTools(t.id, t.stop)
	r.cur, r.mend, r.chain, r.rejected = nil, "", nil, ""
	out.TurnEnded(&e)
	r.observe(out)
}

// stop cancels the running turn. One that is still being prepared ends at once; one
// that is over stays so: a late stop must not hit the next turn (S1).
func (r *Reducer) stop(s *abi.Stop, out *guest.Effects) {
	if j := r.job; j != nil && (s.Turn == j.turn) {
		r.job = nil
		out.TurnEnded(&abi.TurnEnded{Turn: j.turn, Status: abi.TurnInterrupted, StopReason: "not sent"})
		r.observe(out)
		return
	}
	t := r.cur
	if s.Turn == "" {
		t = r.own
	}
	if t == nil || t.id != s.Turn {
		return
	}
	t.stop = true
	// The host takes back what is shown while it stops a turn.
	r.release(everyForm, out)
	r.cancel(t, out)
}

// cancel asks the agent to cancel, once in a turn.
func (r *Reducer) cancel(t *turn, out *guest.Effects) {
	if t.cancelled {
		return
	}
	t.cancelled = true
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldSessionID, r.session)
	r.buf = append(p, '}')
	out.Notify(&abi.Notify{Method: MethodSessionCancel, Params: r.buf})
}

// quietMS is how long a turn that the agent began by itself may be silent before it
// counts as ended, where the agent does not tell its end.
const quietMS = 30_000

// ownTurn is the turn the agent runs by itself, begun if there is none.
func (r *Reducer) ownTurn(native string, out *guest.Effects) *turn {
	if r.own != nil && native != "" && r.own.native != "" && r.own.native != native {
		r.endOwn(EnumStopReasonEndTurn, out)
	}
	if r.own == nil {
		r.flush(out)
		r.own = &turn{native: native}
		r.begin(r.own, "", out)
		out.TimerSet(&abi.TimerSet{Name: timerQuiet, AfterMS: quietMS})
	}
	r.quiet = false
	return r.own
}

func (r *Reducer) quietElapsed(out *guest.Effects) {
	switch {
	case r.own == nil:
	case !r.quiet || r.ownWaits():
		r.quiet = true
		out.TimerSet(&abi.TimerSet{Name: timerQuiet, AfterMS: quietMS})
	default:
		r.endOwn("silent", out)
	}
}

// ownWaits reports whether what goes on from a restored review is silent because it
// waits for a person or a command: its end would make its next request one that nobody
// asked for.
func (r *Reducer) ownWaits() bool {
	if !r.own.reviewed || r.own.stop {
		return false
	}
	for i := range r.tools {
		if t := &r.tools[i]; t.own && !finished(t.status) {
			return true
		}
	}
	return len(r.requests) > 0
}

func (r *Reducer) endOwn(reason string, out *guest.Effects) {
	t := r.own
	r.flush(out)
	e := abi.TurnEnded{Status: abi.TurnCompleted, StopReason: reason}
	if t.stop || reason == EnumStopReasonCancelled && !t.rejected {
		e.Status = abi.TurnInterrupted
	}
	if t.native != "" {
		r.recent = keepLast(append(r.recent, ended{native: t.native}), maxRecent)
	}
	for i := range r.tools {
		r.tools[i].own = false
	}
	r.own, r.quiet = nil, false
	if r.cur == nil {
		r.mend = ""
	}
	out.TimerClear(&abi.TimerClear{Name: timerQuiet})
	out.TurnEnded(&e)
	r.observe(out)
}
