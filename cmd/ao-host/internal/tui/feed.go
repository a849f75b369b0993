package tui

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

// gather is how long events are collected before they are shown together: the
// screen is drawn some thirty times a second however fast an agent streams.
const gather = 30 * time.Millisecond

// batchLimit bounds the events of one batch.
const batchLimit = 2000

// firstWait and longWait are the waits between attempts to reach a host again.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 2 * time.Second
)

// What the feed reports.
type (
	batchMsg struct{ events []host.Event }
	// connectedMsg: the host answers; controls are as it says now.
	connectedMsg struct{ controls host.Controls }
	// lostMsg: the host cannot be reached, and it is tried again.
	lostMsg struct{ err error }
	// endedMsg: the conversation cannot be followed any more.
	endedMsg struct{ err error }
	// restartMsg: the journal does not go back to where the story stands; it is
	// told again from what is there.
	restartMsg struct{ story *story }
)

// ErrEnded says that a person ended the host: it is not started again before the
// person at the chat wants that.
var ErrEnded = errors.New("the host was ended")

// connection is the host that is talked to; it is replaced when the daemon was
// started again.
type connection struct {
	mu   sync.Mutex
	core core.Core
	// connect finds the host again. With start one that was ended is started, else
	// only one that died.
	connect func(ctx context.Context, start bool) (core.Core, error)
	// started is told when the host was started from here.
	started chan struct{}
}

func newConnection(c core.Core, connect func(context.Context, bool) (core.Core, error)) *connection {
	return &connection{core: c, connect: connect, started: make(chan struct{}, 1)}
}

func (c *connection) get() core.Core {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core
}

// again finds the host after it was lost.
func (c *connection) again(ctx context.Context) error {
	if c.connect == nil {
		return nil
	}
	next, err := c.connect(ctx, false)
	if err != nil {
		return err
	}
	c.mu.Lock()
	old := c.core
	c.core = next
	c.mu.Unlock()
	return old.Close(ctx)
}

// start starts the host that was ended.
func (c *connection) start(ctx context.Context) error {
	if c.connect == nil {
		return nil
	}
	next, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	c.hurry()
	return next.Close(ctx)
}

// hurry lets the feed look for the host now.
func (c *connection) hurry() {
	select {
	case c.started <- struct{}{}:
	default:
	}
}

// feed follows the journal for as long as ctx lasts, over as many connections as
// it takes: every event is reported once, in order.
type feed struct {
	conn  *connection
	id    string
	after uint64
	send  func(tea.Msg)
	// wait is the time until the host is looked for again.
	wait time.Duration
}

func (f *feed) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.follow(ctx, func() { f.wait = firstWait })
		switch {
		case ctx.Err() != nil:
			return
		case host.CodeOf(err) == host.CodeResync:
			if s, err := f.snapshot(ctx); err == nil {
				f.after = s.seq
				f.send(restartMsg{s})
				continue
			}
		case final(err):
			f.send(endedMsg{err})
			return
		}
		f.send(lostMsg{err})
		if !f.find(ctx) {
			return
		}
	}
}

// find looks for the host until it is there, and reports whether it is.
func (f *feed) find(ctx context.Context) bool {
	for {
		f.wait = max(f.wait, firstWait)
		select {
		case <-time.After(f.wait):
		case <-f.conn.started:
		case <-ctx.Done():
			return false
		}
		f.wait = min(2*f.wait, longWait)
		switch err := f.conn.again(ctx); {
		case ctx.Err() != nil:
			return false
		case err == nil:
			return true
		case final(err):
			f.send(endedMsg{err})
			return false
		default:
			f.send(lostMsg{err})
		}
	}
}

// final reports an error that trying again cannot mend.
func final(err error) bool {
	switch host.CodeOf(err) {
	case host.CodeUnknownConversation, host.CodeConversationDeleted, host.CodeVersionMismatch, host.CodeStoreNewer, host.CodeStoreCorrupt, host.CodeInvalidArgument:
		return true
	}
	return false
}

var errEnded = errors.New("the stream of events ended")

// follow reads one stream until it ends, which is always an error.
func (f *feed) follow(ctx context.Context, alive func()) error {
	c := f.conn.get()
	controls, err := c.Controls(ctx, f.id)
	if err != nil {
		return err
	}
	alive()
	f.send(connectedMsg{controls})
	ctx, cancel := context.WithCancel(ctx)
	in := make(chan item)
	var reader sync.WaitGroup
	reader.Go(func() { pump(ctx, c.Events(ctx, f.id, f.after), in) })
	defer reader.Wait()
	defer cancel()
	for {
		first, ok := <-in
		if !ok {
			return errEnded
		}
		if first.err != nil {
			return first.err
		}
		events, err := collect(first.ev, in)
		f.after = events[len(events)-1].Seq
		f.send(batchMsg{events})
		if err != nil {
			return err
		}
	}
}

type item struct {
	ev  host.Event
	err error
}

func pump(ctx context.Context, events iter.Seq2[host.Event, error], out chan<- item) {
	defer close(out)
	for ev, err := range events {
		select {
		case out <- item{ev, err}:
		case <-ctx.Done():
			return
		}
	}
}

// collect takes what comes shortly after an event.
func collect(first host.Event, in <-chan item) ([]host.Event, error) {
	events := []host.Event{first}
	timer := time.NewTimer(gather)
	defer timer.Stop()
	for len(events) < batchLimit {
		select {
		case next, ok := <-in:
			if !ok {
				return events, errEnded
			}
			if next.err != nil {
				return events, next.err
			}
			events = append(events, next.ev)
		case <-timer.C:
			return events, nil
		}
	}
	return events, nil
}

const beginsLater = "What was said before this moment is not in the journal any more."

// snapshot begins the story anew, for a journal that does not go back far enough: with
// what it still has, or, when the number was not of this journal, from what the host
// has now.
func (f *feed) snapshot(ctx context.Context) (*story, error) {
	c := f.conn.get()
	s := newStory()
	var err error
	if s.conv, err = c.Conversation(ctx, f.id); err != nil {
		return nil, err
	}
	s.seq, s.queue = s.conv.LastSeq, s.conv.Queue
	turns, err := c.Turns(ctx, f.id)
	if err != nil {
		return nil, err
	}
	if f.after < s.conv.JournalFloor {
		// What is there still tells all that is open; the numbers go on.
		s.seq = s.conv.JournalFloor
		for _, t := range turns {
			s.number("turn", t.ID)
		}
		plans, err := c.Plans(ctx, f.id)
		for _, p := range plans {
			s.number("plan", p.ID)
		}
		s.notice("*", beginsLater)
		return s, err
	}
	cards, err := c.Inputs(ctx, f.id)
	if err != nil {
		return nil, err
	}
	plans, err := c.Plans(ctx, f.id)
	if err != nil {
		return nil, err
	}
	for _, t := range turns {
		s.turn(t)
	}
	for _, p := range plans {
		s.proposal(p)
	}
	for _, i := range cards {
		s.interaction(i)
	}
	s.notice("*", beginsLater)
	return s, nil
}
