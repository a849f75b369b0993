package host

import (
	"context"
	"slices"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// Where a harness has no permission of its own for what the user wants, the host
// stands in: it answers the harness's permission requests for tools by the
// weakest decision that lets them through, once. It never answers questions,
// forms, URLs or reviews, and what it did is journalled as automatic.

// standIn returns the decision that the permission in force, that of the running
// turn, gives to a request by itself, and the name of the rule.
func (c *conversation) standIn(k *card) (decision, rule string) {
	if c.catalog == nil || k.ask.Type != abi.InteractionPermission || k.ask.Route != abi.RouteNative {
		return "", ""
	}
	var settings abi.Settings
	switch {
	case c.running != nil:
		settings = c.running.inForce()
	case c.sess.adopted != nil:
		settings = *c.sess.adopted
	default:
		return "", ""
	}
	want := settings.Permission
	i := slices.IndexFunc(c.catalog.Permissions, func(p abi.PermissionChoice) bool { return p.Permission == want })
	if i < 0 || c.catalog.Permissions[i].Support != abi.SupportStandIn {
		return "", ""
	}
	if c.planning(settings.Mode) {
		// While planning the execution permission is remembered, not in force.
		return "", ""
	}
	switch want {
	case abi.PermissionAcceptEdits:
		if k.ask.Tool != "edit" {
			return "", ""
		}
	case abi.PermissionBypass:
	default:
		return "", ""
	}
	j := slices.IndexFunc(k.ask.Decisions, func(d abi.Decision) bool { return d.Kind == abi.AllowOnce })
	if j < 0 {
		return "", ""
	}
	return k.ask.Decisions[j].ID, string(want)
}

// plansIn reports whether the live catalog confirms a mode to be planning.
func (c *conversation) plansIn(mode string) bool {
	return c.catalog != nil && mode != "" && slices.ContainsFunc(c.catalog.Modes, func(m abi.ModeChoice) bool {
		return m.ID == mode && m.Meaning == abi.MeaningPlanning
	})
}

// planning reports whether the agent plans now: by what the provider says is in
// force, else by what the turn asked for.
func (c *conversation) planning(mode string) bool {
	if c.observed != nil && c.observed.Mode != "" {
		mode = c.observed.Mode
	}
	return c.plansIn(mode)
}

// answerAutomatically claims a card for a rule and answers it after this step.
func (c *conversation) answerAutomatically(k *card, reply abi.Reply, rule string) {
	k.State, k.Reply, k.Automatic = store.InteractionClaimed, reply.AppendJSON(nil), rule
	row := k.Interaction
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateInteraction(ctx, row) })
	c.journalCard(k)
	c.sess.queue(abi.Event{Answer: &abi.Answer{Key: k.nativeKey(), Reply: reply}}, k.ask.Token)
}
