package host

import (
	"context"
	"time"

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
// settings of now (rule 2). A decision on a plan that never reached the agent is made
// again, where the plan is open: the turn has its origin then (rule 17). A turn that ran commands, changed files or called
// tools is sent again only with RepeatWork: the agent may do the same once more,
// and only a person can say that this is meant. It is else refused with
// retry_repeats_work.
func (h *Host) Retry(ctx context.Context, conversation, turnID string, r RetryRequest) (Turn, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Turn{}, err
	}
	var was past
	if !r.RepeatWork {
		// It is read here, so that the conversation goes on meanwhile.
		if was, err = h.pastOf(ctx, turnID); err != nil {
			return Turn{}, err
		}
	}
	return ask(ctx, c, func() (Turn, error) {
		if c.closing {
			return Turn{}, &Error{Code: CodeClosed}
		}
		if t, done, err := c.repeated(ctx, r.ClientID, abi.OriginRetry, abi.OriginImplement, abi.OriginFeedback); done || err != nil {
			if err == nil && t.Origin != abi.OriginRetry && t.RetryOf != turnID {
				return Turn{}, failField(CodeClientIDReused, "client_id", "The id %q belongs to a request of the kind %q.", r.ClientID, t.Origin)
			}
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
		if !r.RepeatWork && !was.ended.Equal(old.EndedAt) {
			return Turn{}, failField(CodeTurnNotRetryable, "turn", "It ended only while this was asked; read it and ask again.")
		}
		if was.joined != "" && was.did == nil {
			return Turn{}, failField(CodeTurnNotRetryable, "turn", "It was steered into turn %s, which runs.", was.joined)
		}
		if was.did != nil {
			return Turn{}, failField(CodeRetryRepeatsWork, "turn", "It did at least this: %s %q.", was.did.Type, was.did.Title)
		}
		if !r.RepeatWork && !old.DispatchedAt.IsZero() && was.from < c.row.JournalFloor {
			// What is not known is not nothing, but of a turn that never left the queue.
			return Turn{}, failField(CodeRetryRepeatsWork, "turn", "What it did is not in the journal any more.")
		}
		p, err := c.planOfRetry(old)
		if err != nil {
			return Turn{}, err
		}
		var t *turn
		err = c.transact(ctx, func() error {
			n := newSubmission{clientID: r.ClientID, origin: abi.OriginRetry, content: content, settings: c.settings, retryOf: old.ID}
			if p != nil {
				n.origin, n.proposalID = abi.Origin(old.Origin), p.ID
				n.settings = c.settingsOf(p, n.origin)
			}
			n.rev = c.row.SettingsRev
			t = c.accept(n)
			if p != nil {
				c.claimPlan(p, p.Revision, decisionState(n.origin), t.ID)
			}
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

// planOfRetry is the open plan that sending a turn again decides anew: its decision never
// reached the agent. Without one, nil, it is sent as an ordinary message.
func (c *conversation) planOfRetry(old store.Turn) (*plan, error) {
	implements := abi.Origin(old.Origin) == abi.OriginImplement
	if old.State != store.TurnNotSent && old.State != store.TurnCancelled || !implements && abi.Origin(old.Origin) != abi.OriginFeedback {
		return nil, nil
	}
	p := c.plans[old.ProposalID]
	switch {
	case p != nil && p.body.Route != abi.RouteNative:
		return p, nil
	case implements && len(c.plans) > 0:
		return nil, failField(CodeTurnNotRetryable, "turn", "It implements a plan that another one took the place of; decide on that one.")
	}
	return nil, nil
}

// past is what the journal says of a turn that ended.
type past struct {
	ended time.Time
	// from is the number after which its events are.
	from uint64
	// did is the first thing that it did with a tool, or nil. A search reads only, so
	// it may be done again.
	did *abi.Item
	// joined is the turn that a steer went into, as long as that one runs.
	joined string
}

// pastOf reads the journal from the turn's acceptance to its end; of a turn that has
// not ended, or is not there, it tells nothing. What a steer led to is done by the turn
// that it went into.
func (h *Host) pastOf(ctx context.Context, turnID string) (p past, err error) {
	t, err := h.store.Turn(ctx, turnID)
	if isNotFound(err) || err == nil && !TurnState(t.State).Ended() {
		return p, nil
	}
	if err != nil {
		return p, storeError(err)
	}
	p.ended = t.EndedAt
	last := t
	if id := joined(t); id != "" {
		if last, err = h.store.Turn(ctx, id); err != nil {
			return p, storeError(err)
		}
		if !TurnState(last.State).Ended() {
			p.joined = id
		}
	}
	after, err := h.store.JournalFrom(ctx, t.ID)
	if err != nil {
		return p, storeError(err)
	}
	p.from = after
	for {
		events, err := h.store.Events(ctx, t.ConversationID, after, 0)
		if err != nil || len(events) == 0 {
			return p, storeError(err)
		}
		for _, ev := range events {
			after = ev.Seq
			if ev.TurnID != last.ID {
				continue
			}
			switch EventType(ev.Type) {
			case EventItem:
				if p.did = workOf(ev.Body); p.did != nil {
					return p, nil
				}
			case EventTurn:
				// A turn that is proven never to have arrived can run, and end, once more.
				if v := decodeOwn[Turn](ev.Body); v.State.Ended() && v.EndedAt != nil && v.EndedAt.Equal(last.EndedAt) {
					return p, nil
				}
			}
		}
	}
}

// workOf returns the item of an event if it is work done with a tool, else nil.
func workOf(body []byte) *abi.Item {
	var it abi.Item
	var d jsonwire.Decoder
	d.Reset(body)
	if it.DecodeJSON(&d); d.Err() != nil {
		return nil
	}
	switch it.Type {
	case abi.ItemCommand, abi.ItemEdit, abi.ItemTool:
		return &it
	}
	return nil
}
