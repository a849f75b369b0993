package host

import (
	"context"
	"slices"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// plan is an open proposal.
type plan struct {
	store.Proposal
	body abi.Proposal
}

// onProposal offers a plan for review. A newer plan supersedes the open ones; the
// same plan with another text is a new revision of it.
func (c *conversation) onProposal(e *abi.Proposal) {
	body := *e
	for _, id := range sortedKeys(c.plans) {
		p := c.plans[id]
		if p.Key != body.Key {
			c.closePlan(p, store.ProposalSuperseded)
			continue
		}
		changed := p.body.Text != body.Text
		p.body, p.Body = body, body.AppendJSON(nil)
		if changed {
			p.Revision++
		}
		if c.reviewOf(p) || changed {
			c.savePlan(p)
		}
		return
	}
	if _, err := c.h.store.ProposalByKey(c.ctx, c.id, body.Key); err == nil {
		// Decided before, and told again while the session was restored.
		return
	}
	p := &plan{body: body, Proposal: store.Proposal{
		ID: c.h.cfg.IDs(), ConversationID: c.id, Key: body.Key, Revision: 1, TurnID: body.Turn,
		State: store.ProposalOpen, Body: body.AppendJSON(nil), OpenedAt: c.h.now(),
	}}
	c.reviewOf(p)
	c.plans[p.ID] = p
	row := p.Proposal
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.InsertProposal(ctx, row) })
	c.keepPlace(p.TurnID)
	c.journalValue(EventProposal, p.TurnID, proposalView(row))
	c.dirty, c.tx.urgent = true, true
}

func (c *conversation) savePlan(p *plan) {
	row := p.Proposal
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateProposal(ctx, row) })
	c.journalValue(EventProposal, p.TurnID, proposalView(row))
	c.dirty, c.tx.urgent = true, true
}

func (c *conversation) closePlan(p *plan, state store.ProposalState) {
	delete(c.plans, p.ID)
	p.State, p.ClosedAt = state, c.h.now()
	c.savePlan(p)
}

// reopenPlan offers a plan again whose continuation provably never reached the
// agent, unless a newer plan took its place or its session is being replaced, and takes
// back what was remembered with it (rules 17, 18). Where later messages ran meanwhile
// late is set: they have made the mode that of the conversation.
func (c *conversation) reopenPlan(t *turn, late bool) {
	rows, err := c.h.store.Proposals(c.ctx, c.id)
	i := slices.IndexFunc(rows, func(r store.Proposal) bool { return r.ID == t.ProposalID })
	if err != nil || i < 0 || rows[i].ContinuationID != t.ID {
		return
	}
	newest := rows[len(rows)-1]
	if newest.ID != t.ProposalID && newest.State == store.ProposalImplemented {
		// The mode is the one of that decision.
		return
	}
	p := &plan{Proposal: rows[i], body: decodeOwn[abi.Proposal](rows[i].Body)}
	if c.expiring != "" && p.body.NativeSession == c.expiring {
		// There is nothing left that could be planned on.
		c.closePlan(p, store.ProposalExpired)
		return
	}
	native := p.body.Route == abi.RouteNative
	reopened := newest.ID == p.ID && len(c.plans) == 0 && (!native || p.body.ExecutionMode != "")
	if !late && (reopened || len(c.plans) > 0) {
		c.takeBackMode(p)
	}
	if !reopened {
		return
	}
	if native {
		// Its review has ended with the rejection.
		c.byMessage(p)
	}
	p.State, p.ContinuationID, p.ClosedAt = store.ProposalOpen, "", time.Time{}
	c.plans[p.ID] = p
	c.savePlan(p)
}

// causeImplement is the cause of a SettingsEvent.
const causeImplement = "implement"

// takeBackMode remembers the mode again that implementing p replaced, unless a person
// or another plan's decision has named one since, be it the same.
func (c *conversation) takeBackMode(p *plan) {
	if p.State != store.ProposalImplemented || c.settings.Mode != p.body.ExecutionMode {
		return
	}
	last := c.lastModeEvent()
	if last.Cause != causeImplement || last.Proposal != p.ID || last.ReplacedMode == c.settings.Mode {
		return
	}
	back := c.settings
	back.Mode = last.ReplacedMode
	c.remember(back, SettingsEvent{Cause: "reopened", Proposal: p.ID})
}

// lastModeEvent is the newest event that changed or named the remembered mode; the zero
// event when it is not known.
func (c *conversation) lastModeEvent() (last SettingsEvent) {
	const page = 100
	for now, after, first := "", uint64(0), true; ; {
		events, err := c.h.store.EventsOfType(c.ctx, c.id, string(EventSettings), after, page)
		if err != nil {
			return SettingsEvent{}
		}
		if len(events) == 0 {
			return last
		}
		for _, ev := range events {
			v := decodeOwn[SettingsEvent](ev.Body)
			if first || v.ModeChosen || v.Cause == causeImplement || v.Settings.Mode != now {
				last = v
			}
			now, after, first = v.Settings.Mode, ev.Seq, false
		}
	}
}

// Plans lists the plans of a conversation, oldest first, decided ones included.
func (h *Host) Plans(ctx context.Context, conversation string) ([]Proposal, error) {
	if _, err := h.store.Conversation(ctx, conversation); err != nil {
		return nil, notFound(err, CodeUnknownConversation, "conversation", conversation)
	}
	rows, err := h.store.Proposals(ctx, conversation)
	if err != nil {
		return nil, storeError(err)
	}
	out := make([]Proposal, 0, len(rows))
	for _, r := range rows {
		out = append(out, proposalView(r))
	}
	return out, nil
}

// ContinuePlan implements a plan: one execution submission with the remembered
// permission, and the remembered mode leaves planning in the same transaction
// (rule 17). Where the agent waits in its own review the review is answered
// instead and no turn is added (rule 18): the result is the turn that waits in it,
// and empty for a review that was raised again after a restart. Repeating it, with
// the same client id or none, returns the first result.
//
// Errors: unknown_proposal, proposal_closed, client_id_reused.
func (h *Host) ContinuePlan(ctx context.Context, conversation string, d PlanDecision) (Turn, error) {
	return h.decide(ctx, conversation, d, abi.OriginImplement)
}

// RequestChanges sends feedback on a plan, in planning mode. Repeating it, with the
// same client id or with none and the same words, returns the first result; of two
// people who ask for different changes the second gets proposal_closed.
//
// Errors: unknown_proposal, proposal_closed, empty_message, client_id_reused.
func (h *Host) RequestChanges(ctx context.Context, conversation string, d PlanDecision) (Turn, error) {
	if d.Feedback == "" {
		return Turn{}, failField(CodeEmptyMessage, "feedback", "Changes were requested without saying which.")
	}
	if len(d.Feedback) > h.cfg.MaxMessage {
		return Turn{}, failField(CodeMessageTooLarge, "feedback", "The feedback has more than %d bytes.", h.cfg.MaxMessage)
	}
	return h.decide(ctx, conversation, d, abi.OriginFeedback)
}

func (h *Host) decide(ctx context.Context, conversation string, d PlanDecision, origin abi.Origin) (Turn, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Turn{}, err
	}
	return ask(ctx, c, func() (Turn, error) { return c.decidePlan(ctx, d, origin) })
}

func (c *conversation) decidePlan(ctx context.Context, d PlanDecision, origin abi.Origin) (Turn, error) {
	state := decisionState(origin)
	p := c.plans[d.Proposal]
	if p == nil {
		return c.decided(ctx, d, state)
	}
	if p.Revision != d.Revision {
		return Turn{}, failField(CodeProposalClosed, "revision", "Revision %d was given, the plan is at %d.", d.Revision, p.Revision)
	}
	if c.closing {
		return Turn{}, &Error{Code: CodeClosed}
	}
	// The plan is open, so no turn that exists is the one this decision makes.
	if t, used, err := c.repeated(ctx, d.ClientID); used || err != nil {
		return t, err
	}
	if p.body.Route == abi.RouteNative {
		return c.decideReview(ctx, p, d, origin)
	}
	text := p.body.ImplementText
	if origin == abi.OriginFeedback {
		text = d.Feedback
	}
	var t *turn
	err := c.transact(ctx, func() error {
		settings := c.settingsOf(p, origin)
		t = c.accept(newSubmission{clientID: d.ClientID, origin: origin, content: []abi.Content{{Type: abi.ContentText, Text: text}},
			settings: settings, rev: c.row.SettingsRev, proposalID: p.ID})
		c.claimPlan(p, d.Revision, state, t.ID)
		c.unblock()
		return nil
	})
	if err != nil {
		return Turn{}, err
	}
	return turnView(t.Turn), nil
}

func decisionState(origin abi.Origin) store.ProposalState {
	if origin == abi.OriginFeedback {
		return store.ProposalChangesRequested
	}
	return store.ProposalImplemented
}

// settingsOf are those of the message that decides on a plan; an implementation's mode
// is remembered, in the running transaction (rule 17).
func (c *conversation) settingsOf(p *plan, origin abi.Origin) abi.Settings {
	settings := c.settings
	if origin == abi.OriginFeedback {
		settings.Mode = p.body.PlanningMode
		return settings
	}
	settings.Mode = p.body.ExecutionMode
	if c.settings.Mode != settings.Mode {
		c.remember(settings, SettingsEvent{Cause: causeImplement, Proposal: p.ID, ReplacedMode: c.settings.Mode})
	}
	return settings
}

// claimPlan closes a plan in the running transaction; the first client wins.
func (c *conversation) claimPlan(p *plan, revision int64, state store.ProposalState, continuation string) {
	c.tx.do(func(ctx context.Context, tx *store.Tx) error {
		won, err := tx.ClaimProposal(ctx, p.ID, revision, state, continuation)
		if err == nil && !won {
			err = &Error{Code: CodeProposalClosed, Field: "proposal"}
		}
		return err
	})
	delete(c.plans, p.ID)
	p.State, p.ContinuationID, p.ClosedAt = state, continuation, c.h.now()
	row := p.Proposal
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateProposal(ctx, row) })
	c.journalValue(EventProposal, p.TurnID, proposalView(row))
	c.dirty = true
}

// decided answers a repeated decision with its first result. Another one is told that
// it comes too late: of two clients only one has decided (rules 13, 17).
func (c *conversation) decided(ctx context.Context, d PlanDecision, want store.ProposalState) (Turn, error) {
	row, err := c.h.store.Proposal(ctx, d.Proposal)
	if err != nil || row.ConversationID != c.id {
		return Turn{}, notFoundOr(err, CodeUnknownProposal, "proposal", d.Proposal)
	}
	if row.State != want {
		return Turn{}, failField(CodeProposalClosed, "proposal", "The plan is %s.", row.State)
	}
	var t store.Turn
	if row.ContinuationID != "" {
		if t, err = c.h.store.Turn(ctx, row.ContinuationID); err != nil {
			return Turn{}, storeError(err)
		}
	}
	same, err := c.sameDecision(ctx, d, row, t)
	if err != nil {
		return Turn{}, err
	}
	if !same || row.Revision != d.Revision {
		return Turn{}, failField(CodeProposalClosed, "proposal", "The plan is %s, by another decision.", row.State)
	}
	if t.ID == "" {
		// It was decided in a review outside of any turn of ours.
		return Turn{}, nil
	}
	return turnView(t), nil
}

// sameDecision reports whether a decision is the one that a plan was closed by, with the
// continuation t. A turn that was made for it has the client id; where none is given, or
// the agent's own review was answered, which keeps none, the words count.
func (c *conversation) sameDecision(ctx context.Context, d PlanDecision, row store.Proposal, t store.Turn) (bool, error) {
	words := ""
	if o := abi.Origin(t.Origin); t.ProposalID == row.ID && t.ID != row.TurnID && (o == abi.OriginImplement || o == abi.OriginFeedback) {
		if d.ClientID != "" {
			return d.ClientID == t.ClientID, nil
		}
		for _, b := range decodeOwn[[]abi.Content](t.Content) {
			words += b.Text
		}
	} else if row.InteractionID != "" {
		k, err := c.h.store.Interaction(ctx, row.InteractionID)
		if err != nil {
			return false, storeError(err)
		}
		words = decodeOwn[abi.Reply](k.Reply).Feedback
	}
	return row.State == store.ProposalImplemented || words == d.Feedback, nil
}
