package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/aoagents/ao-host/host"
)

// Waits between attempts to reach a host that has gone.
const (
	firstWait = 50 * time.Millisecond
	longWait  = 2 * time.Second
)

var (
	errLeft   = errors.New("the caller has left the loop")
	errSilent = errors.New("the stream was silent for too long")
	errClosed = errors.New("the host was closed")
	// errUnreadable would come again with the next connection.
	errUnreadable = errors.New("an event cannot be read")
)

// Events yields the journal of a conversation after the given number, then live,
// until ctx ends or the caller stops. When the connection breaks, or the host is
// closed and opened again, it goes on after the last event it yielded: none is
// lost and none comes twice. After Options.Patience without reaching the host the
// error is host_unreachable. Other errors are those of host.Host: unknown_conversation,
// conversation_deleted and resync.
func (c *Client) Events(ctx context.Context, conversation string, after uint64) iter.Seq2[host.Event, error] {
	return func(yield func(host.Event, error) bool) {
		f := &follower{c: c, conversation: conversation, after: after, yield: yield, wait: firstWait}
		f.heard()
		for {
			err := f.follow(ctx)
			var refused *host.Error
			switch {
			case errors.Is(err, errLeft), ctx.Err() != nil:
				return
			case errors.As(err, &refused) && refused.Code != host.CodeClosed:
				yield(host.Event{}, err)
				return
			case errors.Is(err, errTooLong):
				yield(host.Event{}, &host.Error{Code: host.CodeInvalidArgument, Field: "MaxEvent", Detail: sentence(err), Err: err})
				return
			case errors.Is(err, errUnreadable):
				yield(host.Event{}, unreachable(err))
				return
			}
			if time.Now().After(f.giveUp) {
				yield(host.Event{}, unreachable(err))
				return
			}
			select {
			case <-time.After(f.wait):
			case <-ctx.Done():
				return
			}
			f.wait = min(2*f.wait, longWait)
		}
	}
}

// follower is one run of Events, over as many connections as it takes.
type follower struct {
	c            *Client
	conversation string
	after        uint64
	yield        func(host.Event, error) bool
	giveUp       time.Time
	wait         time.Duration
}

// heard notes that the host lives.
func (f *follower) heard() { f.giveUp = time.Now().Add(f.c.opts.Patience) }

// follow reads one connection until it ends, which is always an error.
func (f *follower) follow(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	silence := time.AfterFunc(f.c.opts.Silence, func() { cancel(errSilent) })
	defer silence.Stop()
	rt := f.c.routes["streamEvents"]
	res, err := f.c.send(ctx, &rt, "", nil, "?after="+strconv.FormatUint(f.after, 10), []string{f.conversation})
	if err != nil {
		return errors.Join(err, silent(ctx))
	}
	defer func() { _ = res.Body.Close() }()
	in := &reader{r: bufio.NewReader(res.Body), max: f.c.opts.MaxEvent, alive: func() {
		silence.Reset(f.c.opts.Silence)
		f.heard()
	}}
	for {
		m, err := in.next()
		if err != nil {
			return errors.Join(err, silent(ctx))
		}
		switch {
		case m.event == host.EndOfStream:
			var end host.EndEvent
			if err := json.Unmarshal(m.data, &end); err == nil && end.Code != "" && end.Code != host.CodeClosed {
				return &host.Error{Code: end.Code}
			}
			return errClosed
		case len(m.data) == 0:
			continue
		}
		var ev host.Event
		if err := json.Unmarshal(m.data, &ev); err != nil {
			return fmt.Errorf("%w: %w", errUnreadable, err)
		}
		if ev.Seq <= f.after {
			continue
		}
		f.after, f.wait = ev.Seq, firstWait
		// The caller may take its time; the stream is not silent meanwhile.
		silence.Stop()
		if !f.yield(ev, nil) {
			return errLeft
		}
		silence.Reset(f.c.opts.Silence)
	}
}

// silent is errSilent when that is why a connection was given up.
func silent(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return nil
}
