package host

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"sync"

	"github.com/aoagents/ao-host/store"
)

// feed wakes the readers of a conversation's journal after each commit. It holds
// no events: a reader takes them from the store at its own pace, so a slow one
// costs nothing to others.
type feed struct {
	mu     sync.Mutex
	topics map[string]*topic
	closed bool
}

// topic is one journal. That of a conversation which was deleted is not that of a later
// one with the same id.
type topic struct {
	// last is the newest number that was committed since the host was opened.
	last uint64
	// floor is the number up to which events were taken away since then; deleted: all.
	floor   uint64
	deleted bool
	// wait is closed when something has changed; nil when nobody waits.
	wait chan struct{}
}

func newFeed() *feed { return &feed{topics: map[string]*topic{}} }

// of returns the topic of a conversation; the lock must be held.
func (f *feed) of(conv string) *topic {
	t := f.topics[conv]
	if t == nil {
		t = &topic{}
		f.topics[conv] = t
	}
	return t
}

func (t *topic) changed() {
	if t.wait != nil {
		close(t.wait)
		t.wait = nil
	}
}

// advance is called by the store after a commit; it never blocks.
func (f *feed) advance(conv string, seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.of(conv)
	t.last = max(t.last, seq)
	t.changed()
}

// cut is called by the store before it removes events that no reader may be shown any
// more; it never blocks.
func (f *feed) cut(c store.Cut) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.of(c.Conversation)
	t.floor, t.deleted = max(t.floor, c.UpTo), c.Deleted
	if c.Deleted {
		delete(f.topics, c.Conversation)
	}
	t.changed()
}

// newest returns the newest number that was committed since the host was opened.
func (f *feed) newest(conv string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.topics[conv]; t != nil {
		return t.last
	}
	return 0
}

// follow returns the topic of a conversation that is to be read.
func (f *feed) follow(conv string) *topic {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of(conv)
}

// forget drops a topic that turned out to be of nothing.
func (f *feed) forget(conv string, t *topic) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.topics[conv] == t && t.last == 0 && t.wait == nil {
		delete(f.topics, conv)
	}
}

// newer returns the newest number that was committed and, when that is not after
// seq, a channel that is closed when there may be more. It is nil when the host
// is closed.
func (f *feed) newer(t *topic, seq uint64) (last uint64, wait <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || t.last > seq {
		return t.last, nil
	}
	if t.wait == nil {
		t.wait = make(chan struct{})
	}
	return t.last, t.wait
}

// lost says why a reader that has read up to seq cannot go on, nil if it can. What it
// took from the store before it asked is whole if it can.
func (f *feed) lost(t *topic, seq uint64) *Error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case t.deleted:
		return &Error{Code: CodeConversationDeleted}
	case seq < t.floor:
		return beginsAfter(t.floor)
	}
	return nil
}

func beginsAfter(floor uint64) *Error {
	return fail(CodeResync, "The journal begins after event %d.", floor)
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, t := range f.topics {
		t.changed()
	}
}

// over reports whether the host is closed, or about to be: then reading may fail.
func (f *feed) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

const feedPage = 500

// Events yields the journal of a conversation after the given number: first
// everything since, then live, until ctx ends, the host is closed, or the caller
// stops. Numbers only grow; where a finished turn's deltas were replaced by its
// items there are gaps. The error is unknown_conversation, conversation_deleted when that
// happens meanwhile, or resync when the
// journal does not go back that far, or does not reach as far as that number, as
// of a data folder that was restored from a backup.
func (h *Host) Events(ctx context.Context, conversation string, after uint64) iter.Seq2[Event, error] {
	return h.events(ctx, conversation, after, true)
}

func (h *Host) events(ctx context.Context, conversation string, after uint64, live bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		t, err := h.follow(ctx, conversation, after)
		if err != nil {
			yield(Event{}, err)
			return
		}
		for {
			last, wait := h.feed.newer(t, after)
			page, err := h.store.Events(ctx, conversation, after, feedPage)
			if err != nil {
				if ctx.Err() == nil && !h.feed.over() {
					yield(Event{}, storeError(err))
				}
				return
			}
			if lost := h.feed.lost(t, after); lost != nil {
				yield(Event{}, lost)
				return
			}
			for _, e := range page {
				after = e.Seq
				if !yield(eventView(e), nil) {
					return
				}
			}
			switch {
			case len(page) > 0:
				continue
			case last > after:
				// All that was new had been compacted away already.
				after = last
				continue
			case !live || wait == nil:
				return
			}
			select {
			case <-wait:
			case <-ctx.Done():
				return
			}
		}
	}
}

// follow returns the topic of a journal that can be read from a number on, or says why
// it cannot. What is taken away after that the topic tells.
func (h *Host) follow(ctx context.Context, conversation string, after uint64) (*topic, error) {
	t := h.feed.follow(conversation)
	row, err := h.store.Conversation(ctx, conversation)
	switch {
	case err != nil:
		h.feed.forget(conversation, t)
		return nil, notFound(err, CodeUnknownConversation, "conversation", conversation)
	case after < row.JournalFloor:
		return nil, beginsAfter(row.JournalFloor)
	case after > row.LastSeq:
		// Silence until it has grown past that number would look like nothing to tell.
		return nil, fail(CodeResync, "The journal ends with event %d, so number %d is of another one.", row.LastSeq, after)
	}
	return t, nil
}

// Export writes the journal of a conversation as JSON lines, oldest first: all of it, or
// what was not pruned.
func (h *Host) Export(ctx context.Context, conversation string, w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	row, err := h.store.Conversation(ctx, conversation)
	if err != nil {
		return notFound(err, CodeUnknownConversation, "conversation", conversation)
	}
	for ev, err := range h.events(ctx, conversation, row.JournalFloor, false) {
		if err != nil {
			return err
		}
		if err := enc.Encode(ev); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func eventView(e store.Event) Event {
	return Event{Seq: e.Seq, At: e.At, Type: EventType(e.Type), Turn: e.TurnID, Body: e.Body}
}
