package host

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// stopping is a stop under way.
type stopping struct {
	// turn is what is being stopped.
	turn     string
	deadline time.Time
	// steer: the stop makes way for a steering message, so nothing is held.
	steer bool
	// overdue: the grace time passed without an end.
	overdue bool
	// released: a person sent, resumed, steered or answered since, so what waits is
	// not held when the turn ends.
	released bool
}

// Stop ends the running turn: what the agent asked is withdrawn, the harness is
// asked to cancel, and after 4 seconds its process is ended where the manifest
// says so. Queued turns stay queued and are held (rule 22, Q1). It returns once
// the request is committed, not when the turn has ended. Stopping twice is
// harmless; a second stop after the grace time ends the process. A start under
// way is aborted.
//
// Errors: nothing_running, turn_not_running.
func (h *Host) Stop(ctx context.Context, conversation string, o StopOptions) (Controls, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Controls{}, err
	}
	return askUrgent(ctx, c, func() (Controls, error) {
		if err := c.stopRunning(o); err != nil {
			return Controls{}, err
		}
		c.commit()
		return c.controlsAfter(c.trouble)
	})
}

func (c *conversation) stopRunning(o StopOptions) error {
	if t := c.running; t != nil {
		if o.Turn != "" && o.Turn != t.ID {
			return failField(CodeTurnNotRunning, "turn", "Turn %s runs.", t.ID)
		}
		if c.trouble != nil {
			return c.stopUnrecorded(CodeHoldStopped)
		}
		c.cancelTurn(t, abi.WithdrawStop, false)
		return nil
	}
	if o.Turn != "" {
		return failField(CodeTurnNotRunning, "turn", "No turn runs.")
	}
	if c.trouble != nil {
		return c.trouble
	}
	if c.launch != nil || c.sess != nil && c.sess.state == SessionStarting {
		c.abortStart()
		return nil
	}
	if s := c.sess; s != nil && (s.agentRuns || s.adopted != nil) && s.ending == "" {
		c.stopAgent(s)
		return nil
	}
	return &Error{Code: CodeNothingRunning}
}

// stopAgent stops a turn that the agent began by itself. Messages of ours do not wait
// for its end, so it is no stop of a turn.
func (c *conversation) stopAgent(s *session) {
	if !s.agentStopped {
		s.agentStopped, s.agentStop = true, time.Now().Add(c.h.cfg.StopGrace)
		c.withdrawAll(abi.WithdrawStop)
		c.step(&abi.Event{Stop: &abi.Stop{}}, "")
		return
	}
	if s.agentStop.IsZero() {
		c.endProcess("stop")
	}
}

// agentOverdue is called when a turn of the agent's own has not ended in time after
// a stop.
func (c *conversation) agentOverdue(s *session) {
	s.agentStop = time.Time{}
	if c.running == nil && s.binding.info.Manifest.Launch.StopEndsProcess {
		c.endProcess("stop")
	}
}

// stopUnrecorded ends the process while the store takes nothing: no request of
// ours can be written to it before it is committed, but a person must be able to
// stop an agent also on a full disk. What it means for the turn is settled and
// told once there is room.
func (c *conversation) stopUnrecorded(why Code) error {
	s := c.sess
	if s == nil {
		return c.trouble
	}
	if s.ending == "" {
		s.ending, s.state = "stop", SessionStopping
		if c.stale == nil {
			c.hold(why)
		}
	}
	// Its end may have been decided already and wait to be recorded.
	c.endNow(s)
	return c.trouble
}

// cancelTurn withdraws what the agent asked and asks it to cancel the turn, once.
func (c *conversation) cancelTurn(t *turn, why abi.WithdrawReason, steer bool) {
	if c.stop != nil {
		c.stop.steer = c.stop.steer && steer
		if c.stop.overdue {
			c.endProcess("stop")
		}
		if !steer {
			c.stop.released = false
			c.holdWaiting(t)
		}
		return
	}
	c.stop = &stopping{turn: t.ID, deadline: time.Now().Add(c.h.cfg.StopGrace), steer: steer}
	c.dirty = true
	c.withdrawAll(why)
	c.step(&abi.Event{Stop: &abi.Stop{Turn: t.ID}}, "")
	if !steer {
		c.holdWaiting(t)
	}
	c.tx.urgent = true
}

// holdWaiting holds what waits behind a turn that is stopped.
func (c *conversation) holdWaiting(t *turn) {
	if slices.ContainsFunc(c.live, func(o *turn) bool { return o != t && o.State == store.TurnQueued }) {
		c.hold(c.stopReason())
	}
}

// stopReason says who stopped what runs: a host that closes does it as a person
// does (rule 22), and who reads why the queue waits must not be told that it was
// them.
func (c *conversation) stopReason() Code {
	if c.closing {
		return c.closeHold
	}
	return CodeHoldStopped
}

// stopOverdue is called when a stopped turn has not ended in time.
func (c *conversation) stopOverdue() {
	c.stop.deadline = time.Time{}
	c.stop.overdue = true
	s := c.sess
	if s == nil {
		return
	}
	if s.binding.info.Manifest.Launch.StopEndsProcess {
		c.endProcess("stop")
		return
	}
	c.journalValue(EventWarning, c.stop.turn, abi.Warning{Code: string(CodeStopUnanswered), Message: codeTexts[CodeStopUnanswered]})
	c.tx.urgent = true
}

// abortStart gives up a start, launch resolution included (rule 22).
func (c *conversation) abortStart() {
	c.hold(CodeStartAborted)
	c.blocked = true
	if c.launch != nil {
		c.launch.abort(c.h.cfg.EndGrace)
	}
	if c.sess != nil {
		c.endProcess("stop")
	}
}

// Steer sends a message into the running turn, and takes back what the agent asked
// and nobody has answered (rule 14): natively where the harness can,
// else by cancelling the turn once and sending the message next; of several
// waiting steers the last one runs and the others end superseded (rule 24). Where the
// harness cannot be steered at all, the message waits for the turn's end in front of
// the queue. While nothing of ours runs it is an ordinary Send. Natively it runs under
// the settings of the turn that it joins, else, also where the harness refuses it, under
// those that an ordinary Send would have frozen (rules 1, 2).
func (h *Host) Steer(ctx context.Context, conversation string, m Message) (Turn, error) {
	content, blobs, err := h.content(m.Content)
	if err != nil {
		return Turn{}, err
	}
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Turn{}, err
	}
	return ask(ctx, c, func() (Turn, error) { return c.steer(ctx, m, content, blobs) })
}

func (c *conversation) steer(ctx context.Context, m Message, content []abi.Content, blobs []store.Blob) (Turn, error) {
	running := c.running
	if running == nil || c.sess == nil || c.closing {
		return c.sendMessage(ctx, m, content, blobs, abi.OriginUser)
	}
	if t, done, err := c.repeated(ctx, m.ClientID, abi.OriginSteer, abi.OriginUser); done || err != nil {
		return t, err
	}
	if why := c.unsupported(content); why != "" {
		return Turn{}, &Error{Code: CodeContentUnsupported, Field: "content", Detail: why}
	}
	native := c.caps.Steering == abi.SteeringNative && c.stop == nil
	// Also a native steer can become an ordinary message, so these are frozen.
	settings := c.settings
	if m.Settings != nil {
		var err error
		if settings, err = c.patched(settings, *m.Settings); err != nil {
			return Turn{}, err
		}
	}
	var t *turn
	err := c.transact(ctx, func() error {
		t = c.accept(newSubmission{clientID: m.ClientID, origin: abi.OriginSteer, content: content, blobs: blobs, settings: settings, rev: c.row.SettingsRev})
		t.links = c.linksOf(ctx)
		c.unblock()
		if !native {
			for _, o := range append([]*turn(nil), c.live...) {
				if o != t && o.Origin == string(abi.OriginSteer) && o.State == store.TurnQueued && !o.claimed {
					c.endTurn(o, store.TurnSuperseded, "", "")
				}
			}
		}
		return nil
	})
	if err != nil {
		return Turn{}, err
	}
	if c.running == nil || c.running.ID != running.ID {
		return turnView(t.Turn), nil
	}
	switch {
	case native:
		t.steerOf = running
		t.claimed = true
		t.Generation = c.sess.gen
		c.watchTurn(t)
		// The turn must not wait for an answer to what the message has made pointless.
		c.withdrawAll(abi.WithdrawSteer)
		c.step(&abi.Event{Steer: &abi.Steer{Turn: running.ID, Steer: t.ID, ClientID: t.ClientID, Content: withPlaceholders(t.content), Settings: running.settings}}, "")
	case c.caps.Steering != abi.SteeringNone:
		c.cancelTurn(c.running, abi.WithdrawSteer, true)
	}
	return turnView(t.Turn), nil
}

// steeredInto begins the evidence of a steer that the harness took into the running
// turn, whose id follows.
const steeredInto = "steered into "

// joined is the id of the turn that a native steer went into, or "".
func joined(t store.Turn) string {
	if t.Origin != string(abi.OriginSteer) || t.State != store.TurnCompleted || !t.StartedAt.IsZero() {
		return ""
	}
	id, _ := strings.CutPrefix(t.Evidence, steeredInto)
	return id
}

// steerRefused makes an ordinary message of a steer the harness did not take:
// the turn it was meant for had ended.
func (c *conversation) steerRefused(t *turn) {
	c.requeue(t, "the running turn could not be steered")
}

// supersedeSteers does what is left to do when a turn ends whose native steers
// were not answered.
func (c *conversation) supersedeSteers(ended *turn) {
	for _, t := range append([]*turn(nil), c.live...) {
		if t.steerOf == nil || t.steerOf.ID != ended.ID {
			continue
		}
		if t.State == store.TurnQueued {
			c.steerRefused(t)
		} else {
			// Its answer may come behind the end of the turn.
			t.steerDue = time.Now().Add(c.h.cfg.StopGrace)
		}
	}
}

// steerUnanswered is called when the turn that a native steer was sent into has been
// over for a while and nothing tells whether the agent has the message: nothing will,
// and it must not stay under way for ever (rule 20).
func (c *conversation) steerUnanswered(s *session, t *turn) {
	t.steerDue = time.Time{}
	if s.ending != "" {
		// The exit settles it.
		return
	}
	for _, id := range sortedKeys(s.calls) {
		if k := s.calls[id]; k != nil && k.delivers == t.ID {
			c.failCall(id, "timeout", noAnswer)
		}
	}
	if t.steerOf != nil && c.liveTurn(t.ID) == t {
		c.onDelivery(&abi.Delivery{Turn: t.ID, Status: abi.DeliveryUnknown, Message: noAnswer})
	}
}
