package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/host/internal/engine"
	"github.com/aoagents/ao-host/host/internal/replay"
	"github.com/aoagents/ao-host/host/internal/transport"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/store"
)

const (
	// saveEvery is how many bytes of input may follow a saved state.
	saveEvery = 4 << 20
	// keptBuffer is the largest buffer kept for the next step or transaction.
	keptBuffer = 2 << 20
)

// frames hands what the child printed to the binding, in order.
func (c *conversation) frames(fs []frame) {
	for i := range fs {
		s := c.sess
		if s == nil {
			return
		}
		c.frame(&fs[i])
		c.tx.ack = fs[i].N
		if c.tx.urgent {
			c.commit()
			c.pump()
		}
		c.maybeFlush()
	}
	if c.tx.empty() && c.tx.ack > 0 && c.sess != nil {
		// Nothing to commit: skipped lines only.
		c.sess.conn.Ack(c.tx.ack)
		c.tx.ack = 0
	}
}

func (c *conversation) frame(f *frame) {
	s := c.sess
	if s.log.Enabled(c.ctx, slog.LevelDebug) {
		s.log.Debug("from the harness", "kind", f.Kind.String(), "method", f.Method, "bytes", f.Size)
	}
	if s.ending == string(CodeBindingFault) {
		return
	}
	if f.Oversize {
		c.oversize(f)
		return
	}
	switch f.Kind {
	case transport.Request:
		c.violation(f.Method, f.Check)
		c.request(f)
	case transport.Notification:
		c.violation(f.Method, f.Check)
		c.step(&abi.Event{Message: &abi.Message{Type: abi.MessageNotification, Method: f.Method, Params: f.Payload, Replay: s.replaying}}, "")
	case transport.Result, transport.Error:
		c.response(f)
	default:
		c.countDropped("junk")
		c.once("junk", func() {
			c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeLineSkipped), Message: codeTexts[CodeLineSkipped] + " " + f.Note})
		})
	}
}

// once does fn the first time something is seen in this generation, so that a
// babbling child does not fill the journal.
func (c *conversation) once(what string, fn func()) {
	if !c.sess.seen[what] {
		c.sess.seen[what] = true
		fn()
	}
}

// violation records that an inbound frame does not fit its schema; it is used
// all the same (DESIGN §8).
func (c *conversation) violation(method string, err error) {
	if err == nil {
		return
	}
	c.countViolation("inbound")
	c.once("violation "+method, func() {
		c.sess.log.Debug("schema violation", "method", method, "error", err)
		c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeSchemaViolation), Message: fmt.Sprintf("%s Method %s: %v", codeTexts[CodeSchemaViolation], method, err)})
	})
}

// oversize deals with a line that was skipped: a call it answers fails, a
// request it makes is declined, anything else is told.
func (c *conversation) oversize(f *frame) {
	c.countDropped("oversize")
	c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeLineSkipped),
		Message: fmt.Sprintf("The harness printed a line of %d bytes; at most %d are taken. It was skipped.", f.Size, c.h.cfg.MaxLine)})
	switch f.Kind {
	case transport.Request:
		c.sendReply(f.ID, nil, &abi.CallError{Code: -32600, Message: "the request is too long"}, "")
	case transport.Result, transport.Error:
		if id, ok := ourID(f.ID); ok {
			c.failCall(id, "oversize", "The answer was too long and was skipped.")
		}
	}
}

// Bounds of what is open in a session: requests of the child that wait for their
// answers, calls of the binding that wait for theirs, and its timers.
const (
	maxRequests = 1000
	// maxRequestBytes bounds the parameters of the requests together: a binding keeps
	// what it needs to answer them, and its memory and saved state are limited. One
	// alone may be of any length.
	maxRequestBytes = 8 << 20
	maxCalls        = 1000
	maxTimers       = 1000
	// maxCaused bounds the events that one event causes, most of them refused calls: a
	// binding that repeats each of them would go on for ever.
	maxCaused = 10_000
)

// request hands over an inbound request; one the manifest does not name is
// answered as unknown.
func (c *conversation) request(f *frame) {
	s := c.sess
	var known, interactive bool
	for _, r := range s.binding.info.Manifest.Requests {
		if r.Method == f.Method {
			known, interactive = true, r.Interactive
		}
	}
	if !known {
		c.sess.log.Debug("unknown request", "method", f.Method)
		c.sendReply(f.ID, nil, &abi.CallError{Code: -32601, Message: "method not found"}, "")
		return
	}
	if len(s.requests) >= maxRequests || len(s.requests) > 0 && s.requestBytes+len(f.Payload) > maxRequestBytes {
		c.once("too many requests", func() {
			c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeTooManyRequests), Message: codeTexts[CodeTooManyRequests]})
		})
		c.sendReply(f.ID, nil, &abi.CallError{Code: -32603, Message: "too many requests are open"}, "")
		return
	}
	s.requestSeq++
	token := fmt.Sprintf("r%d.%d", s.gen, s.requestSeq)
	s.requests[token] = &request{size: len(f.Payload), id: append([]byte(nil), f.ID...), method: f.Method, interactive: interactive}
	s.requestBytes += len(f.Payload)
	c.step(&abi.Event{Message: &abi.Message{Type: abi.MessageRequest, Method: f.Method, Token: token, ID: f.ID, Params: f.Payload, Replay: s.replaying}}, "")
}

// response matches an answer to its call; one that answers nothing of ours, or
// the same call twice, is dropped and never answered (T4, T5).
func (c *conversation) response(f *frame) {
	s := c.sess
	id, ok := ourID(f.ID)
	k := s.calls[id]
	if !ok || k == nil {
		c.sess.log.Debug("an answer to no call of ours was dropped")
		return
	}
	delete(s.calls, id)
	m := &abi.Message{Type: abi.MessageResult, Method: k.method, Token: k.token, Result: f.Payload}
	if f.Kind == transport.Error {
		m.Type, m.Result, m.Error = abi.MessageError, nil, decodeCallError(f.Payload)
	} else {
		c.violation(k.method, s.validator.result(k.method, f.Payload))
	}
	m.Replay = s.replaying
	if k.restores {
		s.replaying = false
	}
	c.step(&abi.Event{Message: m}, "")
}

// failCall ends a call without an answer from the child.
func (c *conversation) failCall(id, local, why string) {
	s := c.sess
	k := s.calls[id]
	if k == nil {
		return
	}
	delete(s.calls, id)
	if k.restores {
		s.replaying = false
	}
	c.step(&abi.Event{Message: &abi.Message{Type: abi.MessageError, Method: k.method, Token: k.token, Error: &abi.CallError{Message: why, Local: local}}}, "")
}

func (c *conversation) fireTimer(name string) {
	delete(c.sess.timers, name)
	gen := c.sess.gen
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.ClearTimer(ctx, c.id, gen, name) })
	c.step(&abi.Event{Timer: &abi.Timer{Name: name}}, "")
}

// step gives one event to the binding and applies its effects. allow is the token
// of the interactive request that this step may reply to.
func (c *conversation) step(ev *abi.Event, allow string) {
	s := c.sess
	if s == nil || s.ending == string(CodeBindingFault) {
		return
	}
	// Time never decreases for a binding.
	s.lastNow = max(s.lastNow, c.h.now().UnixMilli())
	ev.Now = s.lastNow
	s.eventBuf = abi.AppendEvent(s.eventBuf[:0], ev)
	in := s.eventBuf
	s.inputSeq++
	s.sinceSave += len(in)
	s.inst.SetNow(ev.Now)
	var began time.Time
	if s.watch != nil {
		began = time.Now()
	}
	out, fuel, err := s.inst.Step(c.ctx, in)
	if s.watch != nil {
		c.watchStep(s, ev, len(in), began, fuel, err != nil)
	}
	var effects []abi.Effect
	if err == nil {
		if effects, err = s.effects.Decode(out); err != nil {
			err = &engine.Fault{Kind: engine.FaultProtocol, Message: "the output is no list of effects: " + err.Error(), Stderr: s.inst.Stderr()}
		}
	}
	if err != nil {
		// What the binding did with it is never asked again.
		c.tx.input(s.gen, s.inputSeq, ev.Now, in, 0)
		c.fault(err, false)
		return
	}
	c.tx.input(s.gen, s.inputSeq, ev.Now, in, replay.Digest(out))
	if cap(in) > keptBuffer {
		s.eventBuf = nil
	}
	seq := s.inputSeq
	for i := range effects {
		c.apply(&effects[i], seq, i, allow)
		if c.sess != s || s.ending == string(CodeBindingFault) {
			return
		}
	}
	// No other step may reply to it, so what was not replied to never is.
	s.dropRequest(allow)
	if s.saveDue {
		s.saveDue = false
		c.save(true)
	} else if s.sinceSave >= saveEvery {
		c.save(false)
	}
	if s.draining {
		return
	}
	// What the step itself caused comes after it, and what that caused after that.
	s.draining = true
	for n := 0; len(s.queued) > 0 && c.sess == s; n++ {
		if n == maxCaused {
			c.fault(&engine.Fault{Kind: engine.FaultProtocol, Message: fmt.Sprintf("one event caused more than %d others: it repeats what the host refuses", maxCaused)}, false)
		}
		next := s.queued[0]
		s.queued = s.queued[1:]
		c.step(&next.event, next.allow)
	}
	s.draining = false
	if s.endAfter != "" {
		c.endProcess(s.endAfter)
	}
}

// save keeps the binding's state; with drop, inputs before it are not needed any
// more because their turn has ended.
func (c *conversation) save(drop bool) {
	s := c.sess
	s.sinceSave = 0
	state, err := s.inst.Save(c.ctx)
	if err != nil {
		c.fault(err, true)
		return
	}
	c.endBatch()
	row := store.SavedState{ConversationID: c.id, Generation: s.gen, InputSeq: s.inputSeq,
		StateVersion: s.binding.info.Manifest.StateVersion, State: append([]byte(nil), state...)}
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.SaveState(ctx, row) })
	s.inputMarks = append(s.inputMarks, s.inputSeq)
	if !drop {
		return
	}
	marks, gen := s.inputMarks, s.gen
	s.inputMarks = nil
	c.tx.then(func() { c.dropInputs(gen, marks) })
}

// dropInputs deletes the inputs up to each mark, a few megabytes at a time: one
// statement over a long turn would hold all its pages in memory.
func (c *conversation) dropInputs(gen int64, marks []uint64) {
	for _, seq := range marks {
		c.h.store.Submit(func(tx *store.Tx) error { return tx.DropInputs(c.ctx, c.id, gen, seq) })
	}
}

// fault stops a binding that trapped, ran out of fuel or said something
// unreadable. The verdict is recorded and never decided again; the input it is
// about is the one recorded before it.
func (c *conversation) fault(err error, saving bool) {
	s := c.sess
	f := &engine.Fault{Kind: engine.FaultTrap, Message: err.Error()}
	errors.As(err, &f)
	if f.Kind == engine.FaultCancelled || f.Kind == engine.FaultClosed || errors.Is(err, context.Canceled) {
		// We are closing; that is no fault of the binding.
		c.endProcess("closed")
		s.ending = string(CodeBindingFault)
		return
	}
	// What the module printed can hold what the harness said.
	s.log.Error("binding fault", "harness", c.row.Harness, "kind", f.Kind, "binding", s.binding.info.Digest)
	s.log.Debug("binding fault", "error", err, "printed", f.Stderr)
	c.countFault(f.Kind)
	c.h.bindings.faulted(s.binding.info.Digest)
	stderr := tail(f.Stderr, 4000)
	s.inputSeq++
	row := store.Input{ConversationID: c.id, Generation: s.gen, Seq: s.inputSeq, Now: s.lastNow, Kind: replay.KindFault,
		Body: replay.Verdict{Kind: f.Kind, Message: tail(err.Error(), 1000), Stderr: stderr, Save: saving}.Append(nil)}
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.AppendInput(ctx, row) })
	e := &Error{Code: CodeBindingFault, Detail: sentence(tail(err.Error(), 1000))}
	if stderr != "" {
		e.Detail += " It printed: " + sentence(tail(stderr, 1000))
	}
	c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeBindingFault), Message: e.Detail + " " + e.Advice()})
	c.setProblem(abi.Problem{Code: string(CodeBindingFault), Field: "session", Message: e.Error()})
	c.hold(CodeBindingFault)
	c.endProcess(string(CodeBindingFault))
	s.ending = string(CodeBindingFault)
	c.tx.urgent = true
}

// apply does one effect.
func (c *conversation) apply(e *abi.Effect, seq uint64, index int, allow string) {
	s := c.sess
	boundIDs(e)
	switch {
	case e.Delta != nil:
		c.addDelta(e.Delta)
		c.keepPartial(e.Delta, s.background[e.Delta.Item].child)
	case e.Item != nil:
		c.onItem(e.Item)
	case e.Call != nil:
		c.doCall(e.Call, seq, index)
	case e.Notify != nil:
		c.doNotify(e.Notify)
	case e.Reply != nil:
		c.doReply(e.Reply, allow)
	case e.Ready != nil:
		c.onReady(e.Ready)
	case e.Catalog != nil:
		cat := *e.Catalog
		c.catalog, c.dirty = &cat, true
		c.journal(EventCatalog, "", nil)
	case e.Observed != nil:
		o := *e.Observed
		c.observed, c.dirty = &o, true
		c.checkInForce()
		c.journalValue(EventObserved, "", o)
	case e.Delivery != nil:
		c.onDelivery(e.Delivery)
	case e.TurnStarted != nil:
		c.onTurnStarted(e.TurnStarted)
	case e.TurnEnded != nil:
		c.onTurnEnded(e.TurnEnded)
	case e.Progress != nil:
		c.journal(EventProgress, e.Progress.Turn, e.Progress.AppendJSON(nil))
	case e.InteractionOpened != nil:
		c.onInteractionOpened(e.InteractionOpened)
	case e.InteractionClosed != nil:
		c.onInteractionClosed(e.InteractionClosed)
	case e.Proposal != nil:
		c.onProposal(e.Proposal)
	case e.Usage != nil:
		c.onUsage(e.Usage)
	case e.Commands != nil:
		c.journal(EventCommands, "", e.Commands.AppendJSON(nil))
	case e.SessionInfo != nil:
		c.onSessionInfo(e.SessionInfo)
	case e.Warning != nil:
		c.journal(EventWarning, "", e.Warning.AppendJSON(nil))
	case e.Problem != nil:
		c.onProblem(*e.Problem)
	case e.Relaunch != nil:
		c.tellRelaunch(e.Relaunch.Reason)
		s.relaunch = true
	case e.History != nil:
		c.onHistory(e.History)
	case e.TimerSet != nil:
		c.setTimer(e.TimerSet)
	case e.TimerClear != nil:
		name, gen := e.TimerClear.Name, s.gen
		delete(s.timers, name)
		c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.ClearTimer(ctx, c.id, gen, name) })
	case e.Log != nil:
		c.sess.log.Debug("binding", "text", e.Log.Text)
	}
}

func (c *conversation) setTimer(t *abi.TimerSet) {
	if _, moved := c.sess.timers[t.Name]; !moved && len(c.sess.timers) >= maxTimers {
		c.once("too many timers", func() {
			c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeTooManyCalls), Message: codeTexts[CodeTooManyCalls] + " It is a timer that was not set."})
		})
		return
	}
	after := time.Duration(max(0, t.AfterMS)) * time.Millisecond
	c.sess.timers[t.Name] = time.Now().Add(after)
	row := store.Timer{ConversationID: c.id, Generation: c.sess.gen, Name: t.Name, Due: c.h.now().Add(after)}
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.SetTimer(ctx, row) })
}

// doCall sends a request to the child, once the step is committed.
func (c *conversation) doCall(k *abi.Call, seq uint64, index int) {
	s := c.sess
	refuse := func(local, why string) {
		s.queue(abi.Event{Message: &abi.Message{Type: abi.MessageError, Method: k.Method, Token: k.Token, Error: &abi.CallError{Message: why, Local: local}}}, "")
	}
	if !contains(s.binding.info.Manifest.Calls, k.Method) {
		c.journalValue(EventWarning, k.Delivers, abi.Warning{Code: string(CodeCallRefused), Message: codeTexts[CodeCallRefused] + " Method: " + k.Method})
		refuse("refused", "the manifest does not declare "+k.Method)
		return
	}
	if err := s.validator.outbound(schemas.Request, k.Method, k.Params); err != nil {
		c.countViolation("outbound")
		c.setProblem(abi.Problem{Code: string(CodeOutboundSchema), Field: k.Method, Message: fmt.Sprintf("%s %v", codeTexts[CodeOutboundSchema], err)})
		refuse("schema", err.Error())
		return
	}
	if k.Delivers != "" && !c.mayDeliver(k.Delivers) {
		refuse("refused", "turn "+k.Delivers+" does not wait for delivery")
		return
	}
	if len(s.calls) >= maxCalls {
		c.once("too many calls", func() {
			c.journalValue(EventWarning, k.Delivers, abi.Warning{Code: string(CodeTooManyCalls), Message: codeTexts[CodeTooManyCalls] + " Method: " + k.Method})
		})
		refuse("refused", "too many calls wait for their answers")
		return
	}
	// Never reused: generation, input number and effect index name it.
	id := fmt.Sprintf("%d.%d.%d", s.gen, seq, index)
	p := &call{token: k.Token, method: k.Method, delivers: k.Delivers, restores: k.Restores}
	if k.TimeoutMS > 0 {
		p.deadline = time.Now().Add(time.Duration(k.TimeoutMS) * time.Millisecond)
	}
	s.calls[id] = p
	if k.Restores {
		s.replaying = true
	}
	line := transport.AppendRequest(nil, s.binding.info.Manifest.Framing.JSONRPC, []byte(`"`+id+`"`), k.Method, k.Params)
	out := c.send(line, k.Delivers, "")
	if k.Delivers != "" {
		c.dispatched(k.Delivers, out)
	}
}

func (c *conversation) doNotify(n *abi.Notify) {
	s := c.sess
	m := s.binding.info.Manifest
	if !contains(m.Notifies, n.Method) {
		c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeCallRefused), Message: codeTexts[CodeCallRefused] + " Method: " + n.Method})
		return
	}
	if err := s.validator.outbound(schemas.Notification, n.Method, n.Params); err != nil {
		c.countViolation("outbound")
		c.setProblem(abi.Problem{Code: string(CodeOutboundSchema), Field: n.Method, Message: fmt.Sprintf("%s %v", codeTexts[CodeOutboundSchema], err)})
		return
	}
	c.send(transport.AppendNotification(nil, m.Framing.JSONRPC, n.Method, n.Params), "", "")
}

// doReply answers a request of the child. One that a person must answer is
// answered only in the step that handles the answer or the withdrawal.
func (c *conversation) doReply(r *abi.ReplyTo, allow string) {
	s := c.sess
	q := s.requests[r.Token]
	if q == nil {
		c.sess.log.Debug("a reply to no open request was dropped", "token", r.Token)
		return
	}
	if q.interactive && allow != r.Token {
		c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeReplyRefused), Message: codeTexts[CodeReplyRefused] + " Method: " + q.method})
		return
	}
	k := c.cardByToken(r.Token)
	s.dropRequest(r.Token)
	result, cerr := r.Result, r.Error
	if cerr == nil {
		if err := s.validator.outbound(schemas.Result, q.method, result); err != nil {
			c.countViolation("outbound")
			c.setProblem(abi.Problem{Code: string(CodeOutboundSchema), Field: q.method, Message: fmt.Sprintf("%s %v", codeTexts[CodeOutboundSchema], err)})
			result, cerr = nil, &abi.CallError{Code: -32603, Message: "the answer could not be encoded"}
			if k != nil && k.State == store.InteractionClaimed {
				// The agent hears that there is no answer, so there was none.
				c.reviewUndelivered(k)
				c.closeCard(k, abi.DispositionCancelled, "the answer did not fit the provider's schema and was not sent")
				k = nil
			}
		}
	}
	cardID := ""
	if k != nil {
		cardID = k.ID
	}
	out := c.sendReply(q.id, result, cerr, cardID)
	if k != nil {
		k.outID = out
		s.cardByOut[out] = k.ID
	}
}

// sendReply queues a response frame.
func (c *conversation) sendReply(id []byte, result abi.Raw, cerr *abi.CallError, cardID string) uint64 {
	rpc := c.sess.binding.info.Manifest.Framing.JSONRPC
	if cerr != nil {
		return c.send(transport.AppendError(nil, rpc, id, cerr.Code, cerr.Message, cerr.Data), "", cardID)
	}
	return c.send(transport.AppendResult(nil, rpc, id, result), "", cardID)
}

// send puts a frame into the outbox. It is written after the transaction that
// holds its row is committed (rule 19).
func (c *conversation) send(line []byte, turnID, cardID string) uint64 {
	s := c.sess
	s.outSeq++
	id := s.outSeq
	if s.log.Enabled(c.ctx, slog.LevelDebug) {
		s.log.Debug("to the harness", "frame", id, "bytes", len(line))
	}
	row := store.Outbox{ConversationID: c.id, Generation: s.gen, ID: id, TurnID: turnID, InteractionID: cardID, Frame: line}
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.InsertOutbox(ctx, row) })
	c.tx.then(func() { s.conn.Send(id, line) })
	return id
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// ourID returns the id inside the quotes: all ids of ours are strings, so an
// answer to a number answers nothing (T4).
func ourID(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return string(raw[1 : len(raw)-1]), true
}

func decodeCallError(raw []byte) *abi.CallError {
	var d jsonwire.Decoder
	d.Reset(raw)
	e := &abi.CallError{}
	e.DecodeJSON(&d)
	return e
}
