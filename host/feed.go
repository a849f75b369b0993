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
	last   map[string]uint64
	wait   map[string]chan struct{}
	closed bool
}

func newFeed() *feed {
	return &feed{last: map[string]uint64{}, wait: map[string]chan struct{}{}}
}

// advance is called by the store after a commit; it never blocks.
func (f *feed) advance(conv string, seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq > f.last[conv] {
		f.last[conv] = seq
	}
	if ch, ok := f.wait[conv]; ok {
		close(ch)
		delete(f.wait, conv)
	}
}

// newest returns the newest number that was committed since the host was opened.
func (f *feed) newest(conv string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last[conv]
}

// newer returns the newest number that was committed and, when that is not after
// seq, a channel that is closed when there may be more. It is nil when the host
// is closed.
func (f *feed) newer(conv string, seq uint64) (last uint64, wait <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last = f.last[conv]
	if f.closed || last > seq {
		return last, nil
	}
	ch, ok := f.wait[conv]
	if !ok {
		ch = make(chan struct{})
		f.wait[conv] = ch
	}
	return last, ch
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for k, ch := range f.wait {
		close(ch)
		delete(f.wait, k)
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
// items there are gaps. The error is unknown_conversation, or resync when the
// journal does not go back that far, or does not reach as far as that number, as
// of a data folder that was restored from a backup.
func (h *Host) Events(ctx context.Context, conversation string, after uint64) iter.Seq2[Event, error] {
	return h.events(ctx, conversation, after, true)
}

func (h *Host) events(ctx context.Context, conversation string, after uint64, live bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := h.canFollow(ctx, conversation, after); err != nil {
			yield(Event{}, err)
			return
		}
		for {
			last, wait := h.feed.newer(conversation, after)
			page, err := h.store.Events(ctx, conversation, after, feedPage)
			if err != nil {
				if ctx.Err() == nil && !h.feed.over() {
					yield(Event{}, storeError(err))
				}
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

// canFollow says why the journal cannot be read from a number on.
func (h *Host) canFollow(ctx context.Context, conversation string, after uint64) error {
	row, err := h.store.Conversation(ctx, conversation)
	if err != nil {
		return notFound(err, CodeUnknownConversation, "conversation", conversation)
	}
	if after < row.JournalFloor {
		return fail(CodeResync, "The journal begins after event %d.", row.JournalFloor)
	}
	if after > row.LastSeq {
		// Silence until it has grown past that number would look like nothing to tell.
		return fail(CodeResync, "The journal ends with event %d, so number %d is of another one.", row.LastSeq, after)
	}
	return nil
}

// Export writes the journal of a conversation as JSON lines, oldest first.
func (h *Host) Export(ctx context.Context, conversation string, w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for ev, err := range h.events(ctx, conversation, 0, false) {
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
