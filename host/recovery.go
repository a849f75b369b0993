package host

import (
	"context"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// recover settles what a crash of the host left behind, before anything new is
// accepted, and lets conversations with work go on.
func (h *Host) recover(ctx context.Context) error {
	rows, err := h.store.Conversations(ctx)
	if err != nil {
		return storeError(err)
	}
	open, err := h.store.OpenGenerations(ctx)
	if err != nil {
		return storeError(err)
	}
	crashed := map[string]bool{}
	for _, g := range open {
		crashed[g.ConversationID] = true
	}
	for _, row := range rows {
		if live, err := h.store.LiveTurns(ctx, row.ID); err != nil {
			return storeError(err)
		} else if len(live) == 0 && !crashed[row.ID] {
			continue
		}
		c, err := loadConversation(ctx, h, row.ID)
		if err != nil {
			return err
		}
		work := c.next() != nil
		if crashed[row.ID] {
			if err := h.proveExits(ctx, row.ID); err != nil {
				c.log.Error("a process of the crashed host may be left", "error", err)
			}
		}
		uncertain, err := c.settleCrash(ctx)
		c.cancel()
		if err != nil {
			return err
		}
		if (work || uncertain) && !h.cfg.LeaveIdle {
			a, err := h.actor(ctx, row.ID)
			if err != nil {
				return err
			}
			if uncertain {
				a.tell(func() {
					a.holdUnsettled = true
					a.start(true)
				})
			}
		}
	}
	return nil
}

// settleCrash gives what was under way when the host died its honest state. It
// reports whether a delivery is uncertain.
func (c *conversation) settleCrash(ctx context.Context) (uncertain bool, err error) {
	answered := map[string]bool{}
	if c.row.Generation > 0 {
		out, err := c.h.store.Outbox(ctx, c.id, c.row.Generation)
		if err != nil {
			return false, storeError(err)
		}
		for _, o := range out {
			if o.InteractionID != "" {
				answered[o.InteractionID] = true
			}
		}
	}
	if err := c.recallPartials(ctx); err != nil {
		return false, storeError(err)
	}
	for _, t := range append([]*turn(nil), c.live...) {
		if t.State == store.TurnDispatched || t.State == store.TurnRunning {
			// A steer that was under way ends beside the turn it went into.
			c.running = t
		}
		switch t.State {
		case store.TurnDispatched:
			uncertain = true
			c.endTurn(t, store.TurnUncertain, string(CodeUncertainDelivery), "The host ended while the message was under way.")
		case store.TurnRunning:
			t.StopReason = "host ended"
			c.endTurn(t, store.TurnInterrupted, "", "")
		}
	}
	c.running = nil
	if len(c.partials) > 0 {
		// What the agent said in a turn of its own.
		c.compact("")
	}
	if uncertain {
		// Until it is settled or a person decides, also when that takes another start.
		c.hold(CodeUncertainDelivery)
	}
	for _, id := range sortedKeys(c.cards) {
		k := c.cards[id]
		if k == nil || k.ask.Route != abi.RouteNative {
			continue
		}
		switch {
		case k.State == store.InteractionClaimed && answered[k.ID]:
			c.closeCard(k, abi.DispositionUncertain, "the host ended while the answer was under way")
		case k.State == store.InteractionClaimed:
			c.reviewUndelivered(k)
			c.closeCard(k, abi.DispositionExpired, "the host ended before the answer was written")
		default:
			c.reviewLost(k)
			c.closeCard(k, abi.DispositionExpired, "the host ended")
		}
	}
	if c.tx.empty() {
		return uncertain, nil
	}
	fn, _ := c.seal()
	return uncertain, storeError(c.h.store.Write(ctx, fn))
}

// shutdown cancels what runs, ends the process and stops the goroutine. When ctx
// ends first the process is ended at once, and what then goes on for too long is left
// to itself. It reports whether the goroutine ended, and what is left.
func (c *conversation) shutdown(ctx context.Context) (ended bool, left error) {
	c.tell(func() { c.beginClose(CodeHoldClosed) })
	select {
	case <-c.done:
		return true, c.left()
	case <-ctx.Done():
	}
	close(c.giveUp)
	c.tell(func() { c.endProcess("closed") })
	select {
	case <-c.done:
		return true, c.left()
	case <-time.After(c.h.cfg.EndGrace + c.h.cfg.closeGrace):
	}
	c.log.Error("the conversation did not close in time")
	c.cancel()
	c.tell(func() { c.quit = true })
	select {
	case <-c.done:
		return true, c.left()
	case <-time.After(lastMoment):
		return false, fail(CodeExitUnproven, "Conversation %s did not close: its process, if there is one, could not be proven to be gone.", c.id)
	}
}

// lastMoment is how long a goroutine that was told to leave everything may take.
const lastMoment = time.Second

// left tells what a conversation whose goroutine has ended left behind.
func (c *conversation) left() error {
	if s := c.sess; s != nil {
		return fail(CodeExitUnproven, "Process %d did not end.", s.proc.PID())
	}
	if err := c.h.driftError(c.id); err != nil {
		return err
	}
	return nil
}

// beginClose has the conversation end; hold is why its queue waits then.
func (c *conversation) beginClose(hold Code) {
	c.closing, c.closeHold = true, hold
	if t := c.running; t != nil && c.sess != nil {
		c.cancelTurn(t, abi.WithdrawStop, false)
	}
	if c.launch != nil {
		c.launch.abort(c.h.cfg.EndGrace)
	}
}

// closeStep goes on with closing as far as it can.
func (c *conversation) closeStep() {
	switch {
	case c.launch != nil:
	case c.sess != nil:
		if c.sess.ending != "" || c.running != nil && c.stop != nil && !c.stop.overdue {
			return
		}
		c.withdrawAll(abi.WithdrawClosed)
		c.step(&abi.Event{Close: &abi.Close{}}, "")
		c.endProcess("closed")
	default:
		c.hold(c.closeHold)
		c.commit()
		// A deletion may have been called off meanwhile.
		c.quit = c.closing
	}
}
