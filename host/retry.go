package host

import (
	"context"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/store"
)

// RetryRequest sends the content of an ended turn again.
type RetryRequest struct {
	ClientID string `json:"client_id,omitempty"`
	// RepeatWork says that what the turn did with its tools may be done again.
	// Without it the retry of a turn that used tools is refused.
	RepeatWork bool `json:"repeat_work,omitempty"`
}

// Retry sends the content of an ended turn again, as a new submission with the
// settings of now (rule 2). A turn that ran commands, changed files or called
// tools is sent again only with RepeatWork: the agent may do the same once more,
// and only a person can say that this is meant. It is else refused with
// retry_repeats_work.
func (h *Host) Retry(ctx context.Context, conversation, turnID string, r RetryRequest) (Turn, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Turn{}, err
	}
	return ask(ctx, c, func() (Turn, error) {
		if c.closing {
			return Turn{}, &Error{Code: CodeClosed}
		}
		if t, done, err := c.repeated(ctx, r.ClientID, abi.OriginRetry); done || err != nil {
			return t, err
		}
		old, err := h.store.Turn(ctx, turnID)
		if err != nil || old.ConversationID != c.id {
			return Turn{}, notFoundOr(err, CodeUnknownTurn, "turn", turnID)
		}
		if !TurnState(old.State).Ended() {
			return Turn{}, failField(CodeTurnNotRetryable, "turn", "The turn is %s.", old.State)
		}
		o, err := newTurn(old)
		if err != nil {
			return Turn{}, err
		}
		content := o.content
		if len(content) == 0 {
			return Turn{}, failField(CodeTurnNotRetryable, "turn", "The turn was an answer; answer the card instead.")
		}
		if !r.RepeatWork {
			did, err := h.workOf(ctx, old)
			if err != nil {
				return Turn{}, err
			}
			if did != nil {
				return Turn{}, failField(CodeRetryRepeatsWork, "turn", "It did at least this: %s %q.", did.Type, did.Title)
			}
		}
		var t *turn
		err = c.transact(ctx, func() error {
			t = c.accept(newSubmission{clientID: r.ClientID, origin: abi.OriginRetry, content: content, settings: c.settings, rev: c.row.SettingsRev, retryOf: old.ID})
			t.links = c.linksOf(ctx)
			c.release()
			return nil
		})
		if err != nil {
			return Turn{}, err
		}
		return turnView(t.Turn), nil
	})
}

// workOf returns the first thing a turn did with a tool, or nil. A search reads
// only, so it may be done again.
func (h *Host) workOf(ctx context.Context, t store.Turn) (*abi.Item, error) {
	after, err := h.store.JournalFrom(ctx, t.ID)
	if err != nil {
		return nil, storeError(err)
	}
	for {
		events, err := h.store.Events(ctx, t.ConversationID, after, 0)
		if err != nil || len(events) == 0 {
			return nil, storeError(err)
		}
		for _, ev := range events {
			after = ev.Seq
			if EventType(ev.Type) != EventItem || ev.TurnID != t.ID {
				continue
			}
			var it abi.Item
			var d jsonwire.Decoder
			d.Reset(ev.Body)
			if it.DecodeJSON(&d); d.Err() != nil {
				continue
			}
			switch it.Type {
			case abi.ItemCommand, abi.ItemEdit, abi.ItemTool:
				return &it, nil
			}
		}
	}
}
