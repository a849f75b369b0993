package host

import (
	"context"
	"slices"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// A review is a plan whose agent waits inside a request of its own (rule 18):
// deciding it answers that request, no turn is added.

// strength orders permissions from the most careful to the least.
func strength(p abi.Permission) int {
	switch p {
	case abi.PermissionAcceptEdits:
		return 1
	case abi.PermissionAuto:
		return 2
	case abi.PermissionBypass:
		return 3
	}
	return 0
}

func allows(d abi.Decision) bool { return d.Kind == abi.AllowOnce || d.Kind == abi.AllowAlways }

// approving picks the decision that equals the remembered permission, else one that
// names none and so leaves it alone, else the nearest weaker one. exact says that
// the remembered permission is not weakened by it.
func approving(list []abi.Decision, want abi.Permission) (d abi.Decision, exact, ok bool) {
	equal, silent, weaker := -1, -1, -1
	for i, o := range list {
		switch {
		case !allows(o):
		case o.Permission == "":
			if silent < 0 {
				silent = i
			}
		case strength(o.Permission) == strength(want):
			if equal < 0 {
				equal = i
			}
		case strength(o.Permission) < strength(want):
			if weaker < 0 || strength(o.Permission) > strength(list[weaker].Permission) {
				weaker = i
			}
		}
	}
	for _, i := range []int{equal, silent, weaker} {
		if i >= 0 {
			return list[i], i != weaker, true
		}
	}
	return abi.Decision{}, false, false
}

func rejecting(list []abi.Decision) (abi.Decision, bool) {
	i := slices.IndexFunc(list, func(d abi.Decision) bool { return d.Kind == abi.RejectOnce })
	if i < 0 {
		i = slices.IndexFunc(list, func(d abi.Decision) bool { return d.Kind == abi.RejectAlways || d.Kind == abi.DecisionCancel })
	}
	if i < 0 {
		return abi.Decision{}, false
	}
	return list[i], true
}

// decideReview takes a decision on a plan whose agent waits.
func (c *conversation) decideReview(ctx context.Context, p *plan, d PlanDecision, origin abi.Origin) (Turn, error) {
	k := c.cards[p.InteractionID]
	if k == nil {
		return Turn{}, failField(CodeInteractionStale, "proposal", "The agent no longer waits for this review.")
	}
	if _, err := c.openCard(ctx, k.ID); err != nil {
		return Turn{}, err
	}
	if origin == abi.OriginImplement {
		choice, exact, ok := approving(k.ask.Decisions, c.settings.Permission)
		if !ok {
			return Turn{}, failField(CodeAnswerOption, "proposal", "The review offers no decision that is at most as permissive as %q.", c.settings.Permission)
		}
		t, err := c.answerReview(ctx, p, k, abi.Reply{Decision: choice.ID}, permissionOf(c.settings.Permission), store.ProposalImplemented, nil)
		if err == nil && !exact {
			e := fail(CodePermissionDiffers, "The permission in force is %q.", choice.Permission)
			c.setProblem(abi.Problem{Code: string(e.Code), Field: "permission", Message: e.Error()})
		}
		return t, err
	}
	choice, ok := rejecting(k.ask.Decisions)
	if !ok {
		return Turn{}, failField(CodeAnswerOption, "proposal", "The review offers no way to reject the plan.")
	}
	if p.body.FeedbackInReview && choice.Feedback {
		return c.answerReview(ctx, p, k, abi.Reply{Decision: choice.ID, Feedback: d.Feedback}, "", store.ProposalChangesRequested, nil)
	}
	return c.answerReview(ctx, p, k, abi.Reply{Decision: choice.ID}, "", store.ProposalChangesRequested, &d)
}

// resolveReview takes a decision given on the review's card.
func (c *conversation) resolveReview(ctx context.Context, k *card, reply abi.Reply) (Interaction, error) {
	var p *plan
	for _, q := range c.plans {
		if q.InteractionID == k.ID {
			p = q
		}
	}
	i := slices.IndexFunc(k.ask.Decisions, func(d abi.Decision) bool { return d.ID == reply.Decision })
	state, permission := store.ProposalChangesRequested, abi.Permission("")
	if allows(k.ask.Decisions[i]) {
		state = store.ProposalImplemented
		if k.ask.Decisions[i].Permission == "" {
			// The decision says nothing about it, so the remembered one stays.
			permission = permissionOf(c.settings.Permission)
		}
	}
	if _, err := c.answerReview(ctx, p, k, reply, permission, state, nil); err != nil {
		return Interaction{}, err
	}
	return interactionView(k.Interaction), nil
}

// answerReview claims the review and the plan in one transaction, with the
// change of the remembered mode, and gives the answer to the binding. With
// feedback that the review cannot carry, the turn is cancelled and the feedback
// submitted in planning mode, as one operation. The binding puts permission in
// force after the review where the decision does not.
func (c *conversation) answerReview(ctx context.Context, p *plan, k *card, reply abi.Reply, permission abi.Permission, state store.ProposalState, feedback *PlanDecision) (Turn, error) {
	running, goesOn := c.running, c.settings
	if running != nil {
		goesOn = running.inForce()
	}
	var follow *turn
	err := c.claim(ctx, k, reply, "", func() error {
		cont := k.TurnID
		if state == store.ProposalImplemented && p != nil && p.body.ExecutionMode != "" && c.settings.Mode != p.body.ExecutionMode {
			next := c.settings
			next.Mode = p.body.ExecutionMode
			c.remember(next, SettingsEvent{Cause: causeImplement, Proposal: p.ID, ReplacedMode: c.settings.Mode})
		}
		if feedback != nil {
			settings := c.settings
			settings.Mode = p.body.PlanningMode
			follow = c.accept(newSubmission{clientID: feedback.ClientID, origin: abi.OriginFeedback,
				content: []abi.Content{{Type: abi.ContentText, Text: feedback.Feedback}}, settings: settings, rev: c.row.SettingsRev, proposalID: p.ID})
			cont = follow.ID
			c.unblock()
		}
		if p != nil {
			c.claimPlan(p, p.Revision, state, cont)
		}
		if state == store.ProposalImplemented && running != nil && p != nil {
			// The turn records what it continued as.
			running.ProposalID = p.ID
			c.saveTurn(running)
		}
		return nil
	})
	if err != nil {
		return Turn{}, err
	}
	if state == store.ProposalImplemented {
		goesOn = afterReview(goesOn, p, k, reply, permission)
		if running != nil && k.TurnID == running.ID {
			running.goesOn = &goesOn
		}
	}
	c.step(&abi.Event{Answer: &abi.Answer{Key: k.nativeKey(), Reply: reply, Permission: permission}}, k.ask.Token)
	if follow != nil {
		if c.running != nil && c.running == running {
			c.cancelTurn(running, abi.WithdrawSteer, true)
		}
		return turnView(follow.Turn), nil
	}
	if running == nil {
		// A review that was raised again after a restore: no turn of ours runs, and
		// what the agent asks while it goes on is for the person who decided.
		if c.sess != nil {
			c.sess.adopted = &goesOn
		}
		return Turn{}, nil
	}
	return turnView(running.Turn), nil
}

// afterReview is what an agent goes on under once a plan is approved: the plan's
// execution mode and the permission of the decision, or the one to put in force after
// it. Model, effort and options stay those of the turn (rule 1).
func afterReview(was abi.Settings, p *plan, k *card, reply abi.Reply, permission abi.Permission) abi.Settings {
	was.Mode = ""
	if p != nil {
		was.Mode = p.body.ExecutionMode
	}
	if permission == "" {
		i := slices.IndexFunc(k.ask.Decisions, func(d abi.Decision) bool { return d.ID == reply.Decision })
		permission = k.ask.Decisions[i].Permission
	}
	was.Permission = permission
	return was
}

// reviewOf ties a plan to the review that its agent waits in. Either of the two can
// be told first.
func (c *conversation) reviewOf(p *plan) bool {
	if p.body.Route != abi.RouteNative {
		return false
	}
	k := c.cardByKey(p.Key)
	if k == nil || k.ask.Type != abi.InteractionReview || p.InteractionID == k.ID {
		return false
	}
	p.InteractionID = k.ID
	return true
}

// implementText continues a plan by a message where the binding wrote none, because
// the agent was to wait for its review.
const implementText = "Implement the plan."

// reviewLost keeps a plan whose agent waits no longer, because its process is gone:
// it is still what the person was asked about, so from now on a message continues it.
func (c *conversation) reviewLost(k *card) {
	for _, id := range sortedKeys(c.plans) {
		if p := c.plans[id]; p.InteractionID == k.ID && p.body.ExecutionMode != "" {
			c.byMessage(p)
			c.savePlan(p)
		}
	}
}

func (c *conversation) byMessage(p *plan) {
	p.InteractionID, p.body.Route = "", abi.RouteFollowUp
	if p.body.ImplementText == "" {
		p.body.ImplementText = implementText
	}
	p.Body = p.body.AppendJSON(nil)
}

// reviewUndelivered offers a plan again whose decision provably never reached the
// agent, and takes back what was remembered with it (rule 18). A decision that goes
// on as a message of its own is not lost.
func (c *conversation) reviewUndelivered(k *card) {
	if t := c.liveTurn(k.TurnID); t != nil {
		t.goesOn = nil
	}
	if len(c.plans) > 0 {
		return
	}
	row, err := c.h.store.ProposalByKey(c.ctx, c.id, k.Key)
	if err != nil || row.InteractionID != k.ID || row.State == store.ProposalOpen || row.ContinuationID != k.TurnID {
		return
	}
	p := &plan{Proposal: row, body: decodeOwn[abi.Proposal](row.Body)}
	if p.body.ExecutionMode == "" {
		return
	}
	c.takeBackMode(p)
	c.byMessage(p)
	p.State, p.ContinuationID, p.ClosedAt = store.ProposalOpen, "", time.Time{}
	c.plans[p.ID] = p
	c.savePlan(p)
}

// reviewClosed expires a plan whose review ended without a decision of ours.
func (c *conversation) reviewClosed(k *card, d abi.Disposition) {
	for _, id := range sortedKeys(c.plans) {
		if p := c.plans[id]; p.InteractionID == k.ID {
			if d == abi.DispositionAnswered {
				c.closePlan(p, store.ProposalSuperseded)
			} else {
				c.closePlan(p, store.ProposalExpired)
			}
		}
	}
}
