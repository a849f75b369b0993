package host

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// maxPartial bounds the text kept of an item that has not ended, in bytes;
// maxPartialBytes that of all of them, and maxPartials their number.
const (
	maxPartial      = 4 << 20
	maxPartialBytes = 16 << 20
	maxPartials     = 4096
	// maxSparePartial is the largest buffer kept for the next item.
	maxSparePartial = 512 << 10
)

// partial is the streamed text of an item that has not ended.
type partial struct {
	turn    string
	child   string
	channel abi.Channel
	text    []byte
	// seq orders the items by when they began to stream.
	seq uint64
	// placed: the item has its place in the journal, see keepPlace.
	placed bool
}

// onItem journals an item; a finished one replaces its deltas at the turn's end.
func (c *conversation) onItem(it *abi.Item) {
	if it.Status != abi.ItemRunning {
		c.dropPartial(it.ID)
	}
	c.noteBackground(it)
	c.sess.secrets.scrubItem(it)
	c.journal(EventItem, it.Turn, it.AppendJSON(make([]byte, 0, len(it.Text)+len(it.Text)/8+256)))
}

// keepPartial remembers streamed text, so that an item cut off by the turn's end
// is not lost when its deltas are replaced. child is whose it is.
func (c *conversation) keepPartial(d *abi.Delta, child string) {
	p := c.partials[d.Item]
	if p == nil {
		if len(c.partials) >= maxPartials {
			return
		}
		c.partialSeq++
		p = &partial{turn: d.Turn, child: child, channel: d.Channel, text: c.sparePartial, seq: c.partialSeq}
		c.sparePartial = nil
		c.partials[d.Item] = p
	}
	room := min(maxPartial-len(p.text), maxPartialBytes-c.partialBytes)
	if room <= 0 {
		return
	}
	text := d.Text[:min(len(d.Text), room)]
	p.text = append(p.text, text...)
	c.partialBytes += len(text)
}

func (c *conversation) dropPartial(item string) {
	if p := c.partials[item]; p != nil {
		c.partialBytes -= len(p.text)
		delete(c.partials, item)
		if cap(p.text) <= maxSparePartial {
			c.sparePartial = p.text[:0]
		}
	}
}

var channelItem = map[abi.Channel]abi.ItemType{
	abi.ChannelText: abi.ItemMessage, abi.ChannelReasoning: abi.ItemReasoning, abi.ChannelPlan: abi.ItemPlan, abi.ChannelOutput: abi.ItemCommand,
}

// partialsOf names the items of a turn that still stream, in the order they began.
func (c *conversation) partialsOf(turnID string) []string {
	var ids []string
	for id, p := range c.partials {
		if p.turn == turnID {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(c.partials[a].seq, c.partials[b].seq) })
	return ids
}

// journalPartial journals what has come of an item.
func (c *conversation) journalPartial(id string, p *partial, status abi.ItemStatus, badUTF8 string) {
	it := abi.Item{Turn: p.turn, ID: id, Type: channelItem[p.channel], Status: status, Child: p.child, Text: strings.ToValidUTF8(string(p.text), badUTF8)}
	if c.sess != nil {
		c.sess.secrets.scrubItem(&it)
	}
	c.journal(EventItem, p.turn, it.AppendJSON(nil))
}

// keepPlace journals the texts of a turn that still stream, as items that run, before
// a card or a plan. Their deltas go at the turn's end, and the finished items alone
// would stand behind what they led to: who reads later would be told another order.
func (c *conversation) keepPlace(turnID string) {
	for _, id := range c.partialsOf(turnID) {
		p := c.partials[id]
		if p.placed || p.channel != abi.ChannelText && p.channel != abi.ChannelReasoning {
			continue
		}
		p.placed = true
		// A rune of which only a part has come is told with the rest.
		c.journalPartial(id, p, abi.ItemRunning, "")
	}
}

// compact replaces a turn's deltas by its items.
func (c *conversation) compact(turnID string) {
	for _, id := range c.partialsOf(turnID) {
		p := c.partials[id]
		c.journalPartial(id, p, abi.ItemIncomplete, "\uFFFD")
		c.dropPartial(id)
	}
	c.flushDelta()
	c.tx.do(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CompactDeltas(ctx, c.id, turnID, []string{string(EventDelta)}, math.MaxInt64)
		return err
	})
}

// onDelivery settles what became of a turn's content.
func (c *conversation) onDelivery(d *abi.Delivery) {
	t := c.liveTurn(d.Turn)
	if t == nil {
		return
	}
	status := d.Status
	if status == abi.DeliveryNotSent && t.State == store.TurnDispatched && !t.notWritten && t.steerOf == nil {
		// The frame is on its way: only the provider's word can undo that (rule 20).
		c.sess.log.Warn("a binding said not_sent of a turn that was dispatched", "turn", t.ID)
		status = abi.DeliveryUnknown
	}
	switch status {
	case abi.DeliveryAccepted:
		c.delivered(t, d.Evidence)
	case abi.DeliveryRejected, abi.DeliveryNotSent:
		if t.steerOf != nil {
			c.steerRefused(t)
			return
		}
		if len(c.sess.signIns) > 0 && (c.closing || c.stop == nil || c.stop.turn != t.ID) {
			// Nothing of it ran, and only a sign-in stands in its way (L6, rule 20).
			c.requeue(t, "refused until somebody signs in")
			c.hold(CodeSignInNeeded)
			return
		}
		c.endTurn(t, store.TurnNotSent, d.Code, d.Message)
		reason := CodeNotSent
		if status == abi.DeliveryRejected {
			reason = CodeDeliveryRejected
		}
		if codeTexts[Code(d.Code)] != "" {
			reason = Code(d.Code)
		}
		c.hold(reason)
	case abi.DeliveryUnknown:
		c.endTurn(t, store.TurnUncertain, string(CodeUncertainDelivery), d.Message)
		c.hold(CodeUncertainDelivery)
	}
}

// delivered records that the agent has the turn's content.
func (c *conversation) delivered(t *turn, evidence string) {
	if into := t.steerOf; into != nil {
		t.Evidence = steeredInto + into.ID
		t.settings, t.Settings, t.SettingsRev = into.settings, into.Settings, into.SettingsRev
		c.endTurn(t, store.TurnCompleted, "", "")
		return
	}
	if t.State != store.TurnDispatched {
		return
	}
	t.State, t.Evidence = store.TurnRunning, evidence
	if t.StartedAt.IsZero() {
		t.StartedAt = c.h.now()
	}
	c.sess.log.Info("the agent has the message", "turn", t.ID)
	// Nobody waits for this commit: it may go with what the agent says next.
	urgent := c.tx.urgent
	c.saveTurn(t)
	c.tx.urgent = urgent
	c.setProblem(abi.Problem{Code: string(CodePermissionDiffers), Field: "permission", Resolved: true})
	c.answerDelivered(t)
}

func (c *conversation) onTurnStarted(e *abi.TurnStarted) {
	s := c.sess
	if e.Turn == "" {
		s.agentTurn, s.agentRuns = e.NativeTurn, true
		c.journalValue(EventAgentTurn, "", AgentTurn{NativeTurn: e.NativeTurn, Running: true})
		return
	}
	t := c.liveTurn(e.Turn)
	if t == nil {
		return
	}
	t.NativeTurn = e.NativeTurn
	switch t.State {
	case store.TurnDispatched:
		c.delivered(t, "turn started")
	case store.TurnRunning:
		row := t.Turn
		c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateTurn(ctx, row) })
	}
}

func (c *conversation) onTurnEnded(e *abi.TurnEnded) {
	s := c.sess
	if e.Turn == "" {
		s.agentRuns, s.adopted, s.agentStopped, s.agentStop = false, nil, false, time.Time{}
		c.journalValue(EventAgentTurn, "", AgentTurn{NativeTurn: s.agentTurn, Status: e.Status})
		c.expireCards("")
		c.compact("")
		s.saveDue = true
		return
	}
	t := c.liveTurn(e.Turn)
	if t == nil {
		return
	}
	if t.State == store.TurnDispatched {
		// Its end proves that it arrived (Q5).
		c.delivered(t, "turn ended")
	}
	if t.State == store.TurnQueued && c.closing && e.Status == abi.TurnInterrupted {
		// Nothing was sent, and no person took it back.
		c.requeue(t, "nothing was sent before the host ended")
		c.hold(c.closeHold)
		return
	}
	t.StopReason = e.StopReason
	// A steer makes way for a message, and after a stop a person may have sent one.
	goOn := c.stop != nil && (c.stop.steer || c.stop.released)
	state := store.TurnCompleted
	switch e.Status {
	case abi.TurnInterrupted:
		state = store.TurnInterrupted
	case abi.TurnFailed:
		state = store.TurnFailed
	}
	if t.State == store.TurnQueued {
		// Ended before anything was sent, by a stop.
		state = store.TurnNotSent
	}
	c.endTurn(t, state, e.Code, e.Message)
	switch {
	case state == store.TurnFailed && len(s.signIns) > 0:
		c.hold(CodeSignInNeeded)
	case e.Outage:
		c.hold(CodeHoldProviderOutage)
	case goOn:
	case state == store.TurnInterrupted || state == store.TurnNotSent:
		c.hold(c.stopReason())
	}
}

// endTurn gives a turn its final state and settles what hung on it.
func (c *conversation) endTurn(t *turn, state store.TurnState, code, message string) {
	wasRunning := c.running == t
	t.State, t.ErrorCode, t.ErrorMessage = state, code, tail(message, 8000)
	t.EndedAt, t.claimed = c.h.now(), false
	for i, o := range c.live {
		if o == t {
			c.live = append(c.live[:i:i], c.live[i+1:]...)
			break
		}
	}
	if wasRunning {
		c.running = nil
		c.lastMode = ""
		if state == store.TurnCompleted {
			c.lastMode = t.settings.Mode
		}
		for _, field := range []string{"mode", "permission", "model", "effort"} {
			c.tellInForce(field, "", "")
		}
		c.expireCards(t.ID)
		c.compact(t.ID)
		c.supersedeSteers(t)
		if state != store.TurnCompleted {
			c.dropBackground(t.ID)
		}
		if c.sess != nil {
			c.sess.saveDue = true
			c.observeFamily()
		}
	}
	c.unwatchTurn(t)
	c.generationLog(t.Generation).Info("a turn ended", "turn", t.ID, "state", string(state), "code", knownCode(code))
	c.saveTurn(t)
	if c.stop != nil && c.stop.turn == t.ID {
		c.stop = nil
	}
	c.followUpEnded(t)
}

// observeEvery is how often the process table is read for what a harness started.
const observeEvery = time.Second

// observeFamily notes what the harness started in this turn, so that it is found
// and ended even when the harness crashes later (L4). Turns that follow each other
// quickly are looked at together.
func (c *conversation) observeFamily() {
	s := c.sess
	if s.observing {
		return
	}
	s.observing = true
	time.AfterFunc(time.Until(s.observedAt.Add(observeEvery)), func() {
		_ = s.proc.Observe()
		c.tell(func() { s.observing, s.observedAt = false, time.Now() })
	})
}

// requeue puts a turn back that is proven never to have reached the agent.
func (c *conversation) requeue(t *turn, evidence string) {
	t.State, t.Evidence = store.TurnQueued, evidence
	// A steer that waits again is an ordinary message.
	t.claimed, t.outID, t.notWritten, t.steerOf = false, 0, false, nil
	t.steerDue = time.Time{}
	if c.running == t {
		c.running = nil
	}
	c.unwatchTurn(t)
	c.generationLog(t.Generation).Info("a turn waits again", "turn", t.ID)
	c.saveTurn(t)
	if c.blocked {
		// It was running when that was decided, and waits only now.
		c.hold(c.blockedBy)
	}
}

// settleAfterExit decides what the end of the process means for what was under
// way: a send in flight is uncertain, waiting ones were never sent (rule 21).
func (c *conversation) settleAfterExit(s *session, cause *Error) {
	for _, t := range append([]*turn(nil), c.live...) {
		switch {
		case t.State == store.TurnQueued && t.steerOf != nil:
			c.requeue(t, "the running turn ended before it was steered")
		case t.State == store.TurnQueued && t.claimed && c.stop != nil && c.stop.turn == t.ID && !c.closing:
			// A person stopped it before anything was sent: it must not start anew.
			c.endTurn(t, store.TurnNotSent, string(CodeHoldStopped), "")
		case t.State == store.TurnQueued && t.claimed:
			c.requeue(t, "nothing was sent before the process ended")
		case t.State == store.TurnDispatched && t.notWritten:
			c.requeue(t, "the pipe was closed before it was written")
		case t.State == store.TurnDispatched:
			c.endTurn(t, store.TurnUncertain, string(CodeUncertainDelivery), cause.Detail)
			c.hold(CodeUncertainDelivery)
		case t.State == store.TurnRunning && (c.stop != nil || cause.Code == CodeHoldStopped):
			t.StopReason = "process ended"
			c.endTurn(t, store.TurnInterrupted, "", "")
		case t.State == store.TurnRunning && cause.Code == CodeBindingFault:
			// The agent may have gone on without us, or even have ended it.
			c.endTurn(t, store.TurnUncertain, string(cause.Code), "What became of the turn is not known.")
		case t.State == store.TurnRunning:
			c.endTurn(t, store.TurnFailed, string(cause.Code), cause.Detail)
		}
	}
	c.compact("")
	// What a binding told of turns that are none of ours goes with it.
	clear(c.partials)
	c.partialBytes = 0
	c.cardsAfterExit(s)
	switch s.ending {
	case "", "output_closed", "input_closed":
		c.setProblem(abi.Problem{Code: string(cause.Code), Field: "session", Message: cause.Error()})
		c.hold(cause.Code)
	case "closed":
		c.hold(c.closeHold)
	default:
		// Ended on purpose: the queue was held when that was decided, and a person
		// may have acted since.
	}
}
