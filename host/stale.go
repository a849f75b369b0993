package host

import (
	"context"
	"time"

	"github.com/aoagents/ao-host/abi"
)

// refresh takes the durable state from the store, because what is remembered
// includes a change that was not committed. Where the store cannot be read either,
// the conversation is stale: see recall.
func (c *conversation) refresh(ctx context.Context) {
	err := c.reload(ctx)
	if c.stale = storeError(err); err != nil {
		c.log.Error("the conversation could not be read again", "error", err)
	}
}

// recall reads a stale conversation until that succeeds. Meanwhile it is as while a
// step cannot be written (see persist): nothing is taken from the child, accepted or
// dispatched, because all of it would follow from what never was. Requests of clients
// fail with the store's error, and a stop ends the process.
func (c *conversation) recall() {
	wait := 10 * time.Millisecond
	retry := time.NewTimer(wait)
	defer retry.Stop()
	c.trouble = c.stale
	c.setProblem(abi.Problem{Code: string(CodeOf(c.stale)), Field: "store", Message: c.stale.Error()})
	c.publish()
	before := c.ending()
	c.tellTrouble()
	stopped := c.ending() != before
	for c.stale != nil {
		select {
		case q := <-c.inbox:
			q.refuse(c.trouble)
			continue
		case q := <-c.urgent:
			before := c.ending()
			q.do()
			stopped = stopped || c.ending() != before
			continue
		case <-retry.C:
		case <-c.giveUp:
			c.log.Error("a conversation that could not be read was given up at close", "error", c.stale)
			return
		case <-c.ctx.Done():
			c.log.Error("a conversation that could not be read was given up at close", "error", c.stale)
			return
		}
		if c.stale = storeError(c.reload(c.ctx)); c.stale != nil {
			c.trouble = c.stale
		}
		wait = min(2*wait, time.Second)
		retry.Reset(wait)
	}
	c.trouble, c.dirty = nil, true
	c.dropProblems("store")
	if stopped {
		c.hold(CodeHoldStopped)
	}
}

// ending is why the process is being ended, "" while it is not.
func (c *conversation) ending() string {
	if c.sess == nil {
		return ""
	}
	return c.sess.ending
}
