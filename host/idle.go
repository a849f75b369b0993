package host

import (
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// endingIdle is why a session ended that nobody needed: its process and its binding
// instance cost memory, and the next message restores it.
const endingIdle = "idle"

// endingRelaunch is why one ended whose place another process takes.
const endingRelaunch = "relaunch"

// maxBackground bounds the items that are remembered as running on.
const maxBackground = 1000

// awake notes that something happened, so that the time without anything begins
// anew.
func (c *conversation) awake() { c.lastActive = time.Now() }

// idleDeadline is when the session is to end because nothing happens, zero while
// something does or can.
func (c *conversation) idleDeadline() time.Time {
	if c.h.cfg.IdleSession <= 0 || !c.mayRest() {
		return time.Time{}
	}
	return c.lastActive.Add(c.h.cfg.IdleSession)
}

// mayRest reports whether the session could end and nobody would notice but by the
// catalog, which is read again when it starts (rule 9).
func (c *conversation) mayRest() bool {
	s := c.sess
	switch {
	case s == nil || s.state != SessionReady || s.ending != "" || s.endAfter != "" || c.closing:
		return false
	case c.running != nil || c.stop != nil || c.next() != nil || len(c.unsettled) > 0 || len(c.probes) > 0:
		return false
	case s.agentRuns || s.adopted != nil || len(s.background) > 0:
		return false
	case len(s.calls)+len(s.requests)+len(s.timers)+len(s.queued) > 0:
		// Something is asked, or goes on in a moment.
		return false
	case c.row.NativeUsed && !c.caps.Resume:
		// What was said would be lost.
		return false
	}
	for _, k := range c.cards {
		if k.ask.Route == abi.RouteNative {
			return false
		}
	}
	for _, t := range c.live {
		if t.State != store.TurnQueued {
			return false
		}
	}
	return true
}

// rest ends the session in order.
func (c *conversation) rest() {
	c.sess.log.Info("a session ends because nothing happens in it", "after", c.h.cfg.IdleSession)
	c.step(&abi.Event{Close: &abi.Close{}}, "")
	c.endProcess(endingIdle)
}

// runningItem is an item that has begun: the turn it belongs to, and the native
// session of the child agent whose it is.
type runningItem struct{ turn, child string }

// noteBackground remembers what goes on in the harness: a command may outlive the
// turn that began it.
func (c *conversation) noteBackground(it *abi.Item) {
	s := c.sess
	if s == nil {
		return
	}
	if it.Status != abi.ItemRunning {
		delete(s.background, it.ID)
	} else if len(s.background) < maxBackground {
		s.background[it.ID] = runningItem{turn: it.Turn, child: it.Child}
	}
}

// dropBackground forgets what a turn that was cut short had begun.
func (c *conversation) dropBackground(turn string) {
	if c.sess == nil {
		return
	}
	for id, it := range c.sess.background {
		if it.turn == turn {
			delete(c.sess.background, id)
		}
	}
}
