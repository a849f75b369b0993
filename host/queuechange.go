package host

import (
	"bytes"
	"context"
	"slices"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// QueuedEdit gives a queued message other content. Its settings stay as they were
// frozen (rule 2).
type QueuedEdit struct {
	// Version is the turn's version that was read; another one is refused.
	Version int64 `json:"version"`
	// Content replaces the whole content. A block with a Digest and no Bytes keeps
	// the attachment of the turn that has this digest.
	Content []Content `json:"content"`
}

// QueuedMove moves a message within the queue.
type QueuedMove struct {
	// Version is the turn's version that was read; another one is refused.
	Version int64 `json:"version"`
	// Before is the queued turn that it is to run directly before; empty means
	// behind all others.
	Before string `json:"before,omitempty"`
}

// QueuedCancel says of which version a queued message is cancelled.
type QueuedCancel struct {
	// Version is the turn's version that was read; another one is refused. 0 cancels
	// whatever it says by now.
	Version int64 `json:"version,omitempty"`
}

// queued returns a turn that waits and that nobody has begun to hand over; field
// names where its id came from. Errors: unknown_turn, turn_not_queued.
func (c *conversation) queued(ctx context.Context, id, field string) (*turn, error) {
	t := c.liveTurn(id)
	if t == nil {
		old, err := c.h.store.Turn(ctx, id)
		if err != nil || old.ConversationID != c.id {
			return nil, notFoundOr(err, CodeUnknownTurn, field, id)
		}
		return nil, failField(CodeTurnNotQueued, field, "The turn is %s.", old.State)
	}
	switch {
	case t.State != store.TurnQueued:
		return nil, failField(CodeTurnNotQueued, field, "The turn is %s.", t.State)
	case t.claimed:
		return nil, failField(CodeTurnNotQueued, field, "The turn is being handed to the harness.")
	}
	return t, nil
}

// EditQueued gives a queued message other content; place and settings stay. An
// edit to the content that the turn has already changes nothing, so that
// repeating one is safe.
//
// Errors: unknown_turn, turn_not_queued, turn_fixed, turn_changed, and those of
// the content as of Send.
func (h *Host) EditQueued(ctx context.Context, conversation, turnID string, e QueuedEdit) (Turn, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Turn{}, err
	}
	return ask(ctx, c, func() (Turn, error) {
		t, err := c.queued(ctx, turnID, "turn")
		if err != nil {
			return Turn{}, err
		}
		if o := abi.Origin(t.Origin); o == abi.OriginAnswer || o == abi.OriginImplement {
			return Turn{}, failField(CodeTurnFixed, "turn", "The turn is of the kind %q.", o)
		}
		content, blobs, err := h.edited(t, e.Content)
		if err != nil {
			return Turn{}, err
		}
		raw := mustJSON(content)
		if bytes.Equal(raw, t.Content) {
			return turnView(t.Turn), nil
		}
		if err := t.expect(e.Version); err != nil {
			return Turn{}, err
		}
		if c.sess != nil && c.sess.state == SessionReady {
			if why := c.unsupported(content); why != "" {
				return Turn{}, &Error{Code: CodeContentUnsupported, Field: "content", Detail: why}
			}
		}
		err = c.transact(ctx, func() error {
			t.Content, t.content, t.Version = raw, content, t.Version+1
			c.tx.do(func(ctx context.Context, tx *store.Tx) error {
				for _, b := range blobs {
					if err := tx.PutBlob(ctx, c.id, b); err != nil {
						return err
					}
				}
				return nil
			})
			c.saveTurn(t)
			return nil
		})
		if err != nil {
			return Turn{}, err
		}
		return turnView(t.Turn), nil
	})
}

// expect refuses a change of another version than the one that was read.
func (t *turn) expect(version int64) error {
	if version == t.Version {
		return nil
	}
	return failField(CodeTurnChanged, "version", "Version %d was given, the turn is at %d.", version, t.Version)
}

// CancelQueued takes a turn out of the queue. With a version, one that somebody has
// edited or moved since is left there: what they wrote is not thrown away unread.
// Cancelling twice is harmless.
//
// Errors: unknown_turn, turn_not_queued, also of a turn that is being handed to the
// harness, turn_changed.
func (h *Host) CancelQueued(ctx context.Context, conversation, turnID string, of ...QueuedCancel) (Turn, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Turn{}, err
	}
	return ask(ctx, c, func() (Turn, error) {
		if old, err := h.store.Turn(ctx, turnID); err == nil && old.ConversationID == c.id && old.State == store.TurnCancelled {
			return turnView(old), nil
		}
		t, err := c.queued(ctx, turnID, "turn")
		if err != nil {
			return Turn{}, err
		}
		for _, q := range of {
			if q.Version == 0 {
				continue
			}
			if err := t.expect(q.Version); err != nil {
				return Turn{}, err
			}
		}
		err = c.transact(ctx, func() error {
			c.endTurn(t, store.TurnCancelled, "", "")
			return nil
		})
		if err != nil {
			return Turn{}, err
		}
		return turnView(t.Turn), nil
	})
}

// MoveQueued moves a message within the queue. Answers, decisions about plans and
// steering messages stay in front (rule 21b): they neither move nor are moved
// behind. A move to where the turn stands already changes nothing.
//
// Errors: unknown_turn, turn_not_queued (also of the turn named by Before, when it
// was dispatched meanwhile), turn_fixed, turn_changed.
func (h *Host) MoveQueued(ctx context.Context, conversation, turnID string, m QueuedMove) (Turn, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Turn{}, err
	}
	return ask(ctx, c, func() (Turn, error) {
		t, err := c.movable(ctx, turnID, "turn")
		if err != nil {
			return Turn{}, err
		}
		if m.Before != "" && m.Before != t.ID {
			if _, err := c.movable(ctx, m.Before, "before"); err != nil {
				return Turn{}, err
			}
		}
		var was []*turn
		for _, o := range c.live {
			if o.State == store.TurnQueued && !o.claimed && !inFront(o.Origin) {
				was = append(was, o)
			}
		}
		next := moved(was, t, m.Before)
		if slices.Equal(was, next) {
			return turnView(t.Turn), nil
		}
		if err := t.expect(m.Version); err != nil {
			return Turn{}, err
		}
		err = c.transact(ctx, func() error {
			// The places are handed out anew among those that move, so no numbers
			// are needed between two neighbours.
			places := make([]int64, len(was))
			for i, o := range was {
				places[i] = o.Position
			}
			for i, o := range next {
				if o.Position == places[i] {
					continue
				}
				o.Position = places[i]
				c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.MoveTurn(ctx, o.ID, places[i]) })
			}
			c.sortQueue()
			t.Version++
			c.saveTurn(t)
			c.journalQueue()
			return nil
		})
		if err != nil {
			return Turn{}, err
		}
		return turnView(t.Turn), nil
	})
}

// movable is queued for a turn whose place is not fixed.
func (c *conversation) movable(ctx context.Context, id, field string) (*turn, error) {
	t, err := c.queued(ctx, id, field)
	if err == nil && inFront(t.Origin) {
		return nil, failField(CodeTurnFixed, field, "The turn is of the kind %q, which runs before the messages that wait.", t.Origin)
	}
	return t, err
}

// moved is the order after t was put directly before the turn with that id, or at
// the end.
func moved(order []*turn, t *turn, before string) []*turn {
	if before == t.ID {
		return order
	}
	out := slices.DeleteFunc(slices.Clone(order), func(o *turn) bool { return o == t })
	at := len(out)
	for i, o := range out {
		if o.ID == before {
			at = i
		}
	}
	return slices.Insert(out, at, t)
}
