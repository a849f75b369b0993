package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// card is an interaction that is open or claimed.
type card struct {
	store.Interaction
	ask abi.Interaction
	// longKey is the binding's key where it is too long to be kept, which ends with the
	// process that asked.
	longKey string
	// outID is the outbox id of the reply.
	outID        uint64
	notWritten   bool
	maybeWritten bool
	// withdrawn is set when the host took the card back, for this reason.
	withdrawn abi.WithdrawReason
}

// nativeKey is the key by which the binding knows the card.
func (k *card) nativeKey() string {
	if k.longKey != "" {
		return k.longKey
	}
	return k.Key
}

// cardByKey finds the open card of a key: of this generation for the native
// route, of any for the follow-up route (rule 13).
func (c *conversation) cardByKey(key string) *card {
	if key == "" {
		return nil
	}
	for _, id := range sortedKeys(c.cards) {
		k := c.cards[id]
		if k.Key != key {
			continue
		}
		if k.ask.Route == abi.RouteNative && (c.sess == nil || k.Generation != c.sess.gen) {
			continue
		}
		return k
	}
	return nil
}

// cardByToken finds the card of a pending request.
func (c *conversation) cardByToken(token string) *card {
	for _, k := range c.cards {
		if k.ask.Token == token && c.sess != nil && k.Generation == c.sess.gen {
			return k
		}
	}
	return nil
}

// onInteractionOpened shows a card, or declines at once what nobody is there to
// answer (rule 14).
func (c *conversation) onInteractionOpened(a *abi.Interaction) {
	ask := *a
	// Raw members alias the instance's memory.
	ask.Schema, ask.Detail = slices.Clone(ask.Schema), slices.Clone(ask.Detail)
	ask.Key = boundID(a.Key)
	if c.cardByKey(ask.Key) != nil {
		return
	}
	if ask.Route == abi.RouteFollowUp {
		// Known from an earlier generation, or from the item's start.
		if _, err := c.h.store.InteractionByKey(c.ctx, c.id, ask.Key, 0); err == nil {
			return
		}
	}
	k := &card{ask: ask}
	if ask.Key != a.Key {
		k.longKey = a.Key
	}
	k.Interaction = store.Interaction{
		ID: c.h.cfg.IDs(), ConversationID: c.id, Key: ask.Key, Generation: c.sess.gen, TurnID: ask.Turn,
		Type: string(ask.Type), Route: string(ask.Route), Blocking: ask.Blocking, State: store.InteractionOpen,
		Body: ask.AppendJSON(nil), OpenedAt: c.h.now(),
	}
	if ask.Turn == "" && c.running != nil && ask.Scope == abi.ScopeTurn && !c.sess.agentRuns {
		k.TurnID = c.running.ID
	}
	unsolicited := ask.Route == abi.RouteNative && ask.Scope == abi.ScopeTurn && c.running == nil && c.sess.adopted == nil
	stopped := ask.Route == abi.RouteNative && ask.Scope == abi.ScopeTurn && c.stop != nil
	if unsolicited || stopped {
		why := abi.WithdrawUnsolicited
		if stopped {
			why = abi.WithdrawStop
		}
		c.sess.queue(abi.Event{Withdraw: &abi.Withdraw{Key: k.nativeKey(), Reason: why}}, ask.Token)
		return
	}
	c.cards[k.ID] = k
	c.sess.log.Info("the agent asks", "interaction", k.ID, "turn", k.TurnID)
	row := k.Interaction
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.InsertInteraction(ctx, row) })
	c.keepPlace(k.TurnID)
	c.journalCard(k)
	for _, id := range sortedKeys(c.plans) {
		if p := c.plans[id]; p.Key == k.Key && c.reviewOf(p) {
			c.savePlan(p)
		}
	}
	if reply, rule := c.continued(k); rule != "" {
		c.answerAutomatically(k, reply, rule)
	} else if decision, rule := c.standIn(k); rule != "" {
		c.answerAutomatically(k, abi.Reply{Decision: decision}, rule)
	}
}

func (c *conversation) journalCard(k *card) {
	c.journalValue(EventInteraction, k.TurnID, interactionView(k.Interaction))
	c.dirty = true
	c.tx.urgent = true
}

// closeCard gives a card its one disposition (rule 12).
func (c *conversation) closeCard(k *card, d abi.Disposition, evidence string) {
	delete(c.cards, k.ID)
	k.State, k.Disposition, k.Evidence, k.ClosedAt = store.InteractionClosed, string(d), evidence, c.h.now()
	c.generationLog(k.Generation).Info("a card is closed", "interaction", k.ID, "disposition", string(d))
	row := k.Interaction
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateInteraction(ctx, row) })
	c.journalCard(k)
	if k.ask.Type == abi.InteractionReview {
		c.reviewClosed(k, d)
	}
}

// RuleElsewhere is the rule by which a URL consent is accepted that the person gave
// elsewhere: only the agent's reply is still missing then.
const RuleElsewhere = "elsewhere"

// onInteractionClosed takes the provider's word for how a card ended. An answer
// that was claimed before is not contradicted.
func (c *conversation) onInteractionClosed(e *abi.InteractionClosed) {
	k := c.cardByKey(e.Key)
	if k == nil {
		return
	}
	if k.State == store.InteractionOpen && k.withdrawn == "" {
		if k.ask.Type == abi.InteractionURL && k.ask.Route == abi.RouteNative && e.Disposition == abi.DispositionAnswered {
			// The consent was given elsewhere, and the agent waits for its reply (A3).
			c.answerAutomatically(k, abi.Reply{Action: abi.ActionAccept}, RuleElsewhere)
			return
		}
		// Nothing waits for a reply any more.
		c.sess.dropRequest(k.ask.Token)
	}
	if k.State == store.InteractionClaimed && e.Disposition != abi.DispositionAnswered && k.withdrawn == "" {
		// Our answer and the provider's closing crossed: the reply that was
		// written late could not count.
		c.closeCard(k, e.Disposition, e.Evidence)
		return
	}
	d := e.Disposition
	switch {
	case k.withdrawn != "" && d == abi.DispositionAnswered:
		d = abi.DispositionCancelled
	case k.State == store.InteractionClaimed && d == abi.DispositionAnswered:
		d = answerDisposition(k.Interaction)
	}
	c.closeCard(k, d, e.Evidence)
}

// withdrawAll takes back every native card that nobody claimed; an answer
// claimed before is still delivered (rule 14).
func (c *conversation) withdrawAll(why abi.WithdrawReason) {
	for _, id := range sortedKeys(c.cards) {
		k := c.cards[id]
		if k == nil || k.ask.Route != abi.RouteNative || k.State != store.InteractionOpen || k.ask.Scope == abi.ScopeSession {
			continue
		}
		c.withdraw(k, why)
	}
}

func (c *conversation) withdraw(k *card, why abi.WithdrawReason) {
	k.withdrawn = why
	if c.sess != nil && k.Generation == c.sess.gen {
		c.step(&abi.Event{Withdraw: &abi.Withdraw{Key: k.nativeKey(), Reason: why}}, k.ask.Token)
	}
	if c.cards[k.ID] == nil {
		return
	}
	d := abi.DispositionCancelled
	if why == abi.WithdrawExpired {
		d = abi.DispositionExpired
	}
	if c.closing {
		c.reviewLost(k)
	}
	c.closeCard(k, d, "withdrawn: "+string(why))
}

// expireCards closes the native cards of a turn that has ended (A4). The binding
// still replies, so that no request stays unanswered.
func (c *conversation) expireCards(turnID string) {
	s := c.sess
	for _, id := range sortedKeys(c.cards) {
		k := c.cards[id]
		if k.ask.Route != abi.RouteNative || k.TurnID != turnID || k.ask.Scope != abi.ScopeTurn || k.State != store.InteractionOpen {
			continue
		}
		if s != nil && k.Generation == s.gen && s.ending == "" {
			s.queue(abi.Event{Withdraw: &abi.Withdraw{Key: k.nativeKey(), Reason: abi.WithdrawExpired}}, k.ask.Token)
		}
		if s == nil || s.exited == nil {
			// Not the agent ended the turn, its process did.
			c.reviewLost(k)
		}
		c.closeCard(k, abi.DispositionExpired, "the turn ended")
	}
}

// cardsAfterExit settles the native cards of a generation that is gone.
func (c *conversation) cardsAfterExit(s *session) {
	for _, id := range sortedKeys(c.cards) {
		k := c.cards[id]
		if k.ask.Route != abi.RouteNative {
			continue
		}
		switch {
		case k.State == store.InteractionClaimed && (k.maybeWritten || k.outID != 0 && !k.notWritten):
			c.closeCard(k, abi.DispositionUncertain, "the process ended while the answer was under way")
		case k.State == store.InteractionClaimed:
			c.reviewUndelivered(k)
			c.closeCard(k, abi.DispositionExpired, "the process ended before the answer was written")
		default:
			c.reviewLost(k)
			c.closeCard(k, abi.DispositionExpired, "the process ended")
		}
	}
}

// answerDelivered closes the follow-up card whose answer reached the agent.
func (c *conversation) answerDelivered(t *turn) {
	if k := c.cards[t.InteractionID]; k != nil {
		c.closeCard(k, answerDisposition(k.Interaction), t.Evidence)
	}
}

// followUpEnded settles a card or plan whose follow-up turn ended: one that was
// provably not delivered may be decided again.
func (c *conversation) followUpEnded(t *turn) {
	undelivered := t.State == store.TurnNotSent || t.State == store.TurnCancelled
	if k := c.cards[t.InteractionID]; k != nil && k.AnswerTurnID == t.ID {
		switch {
		case undelivered:
			k.State, k.Reply, k.AnswerTurnID = store.InteractionOpen, nil, ""
			row := k.Interaction
			c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateInteraction(ctx, row) })
			c.journalCard(k)
		case t.State == store.TurnUncertain:
			c.closeCard(k, abi.DispositionUncertain, "the delivery of the answer is uncertain")
		default:
			c.closeCard(k, answerDisposition(k.Interaction), t.Evidence)
		}
	}
	if t.ProposalID != "" && undelivered {
		c.reopenPlan(t, false)
	}
}

// expireFollowUps closes the follow-up cards and plans of a native session that
// was replaced (rule 13). What waits to answer or continue one of them is not sent:
// the fresh session knows neither question nor plan.
func (c *conversation) expireFollowUps(native string) {
	c.expiring = native
	defer func() { c.expiring = "" }()
	for _, t := range slices.Clone(c.live) {
		if t.State == store.TurnQueued && !t.claimed && c.belongsTo(t, native) {
			c.endTurn(t, store.TurnNotSent, string(CodeSessionReplaced), "The session that it belongs to could not be restored.")
		}
	}
	for _, id := range sortedKeys(c.cards) {
		if k := c.cards[id]; k.ask.Route == abi.RouteFollowUp && k.ask.NativeSession == native && k.State == store.InteractionOpen {
			c.closeCard(k, abi.DispositionExpired, "the session was replaced")
		}
	}
	for _, id := range sortedKeys(c.plans) {
		if p := c.plans[id]; p.body.NativeSession == native {
			c.closePlan(p, store.ProposalExpired)
		}
	}
}

// belongsTo reports whether a turn answers a card or continues a plan of a native
// session.
func (c *conversation) belongsTo(t *turn, native string) bool {
	if k := c.cards[t.InteractionID]; k != nil {
		return k.ask.NativeSession == native
	}
	if t.ProposalID == "" {
		return false
	}
	row, err := c.h.store.Proposal(c.ctx, t.ProposalID)
	return err == nil && decodeOwn[abi.Proposal](row.Body).NativeSession == native
}

// Inputs lists the cards that wait for an answer, oldest first.
func (h *Host) Inputs(ctx context.Context, conversation string) ([]Interaction, error) {
	if _, err := h.store.Conversation(ctx, conversation); err != nil {
		return nil, notFound(err, CodeUnknownConversation, "conversation", conversation)
	}
	rows, err := h.store.Interactions(ctx, conversation, true)
	if err != nil {
		return nil, storeError(err)
	}
	var out []Interaction
	for _, r := range rows {
		if r.State == store.InteractionOpen {
			out = append(out, interactionView(r))
		}
	}
	return out, nil
}

// ResolveInput answers a card. The claim of the answer decides between racing
// clients: the loser is told with interaction_answered. It returns once the
// claim is committed; the journal tells when the answer was delivered.
//
// Errors: unknown_interaction, interaction_stale, interaction_answered,
// answer_shape, answer_option, secret_follow_up.
func (h *Host) ResolveInput(ctx context.Context, conversation, interaction string, a Answer) (Interaction, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Interaction{}, err
	}
	return ask(ctx, c, func() (Interaction, error) { return c.resolve(ctx, interaction, a) })
}

// openCard finds a card that can be answered now, or says why it cannot.
func (c *conversation) openCard(ctx context.Context, id string) (*card, error) {
	k := c.cards[id]
	if k == nil {
		row, err := c.h.store.Interaction(ctx, id)
		if err != nil || row.ConversationID != c.id {
			return nil, notFoundOr(err, CodeUnknownInteraction, "interaction", id)
		}
		if byPerson(row) {
			return nil, failField(CodeInteractionAnswered, "interaction", "The card was %s.", row.Disposition)
		}
		return nil, failField(CodeInteractionStale, "interaction", "The card is %s.", row.Disposition)
	}
	if k.State != store.InteractionOpen {
		return nil, failField(CodeInteractionAnswered, "interaction", "The answer is on its way.")
	}
	if k.withdrawn != "" || k.ask.Route == abi.RouteNative && (c.sess == nil || c.sess.gen != k.Generation || c.sess.ending != "") {
		return nil, failField(CodeInteractionStale, "interaction", "The process that asked is gone.")
	}
	return k, nil
}

func (c *conversation) resolve(ctx context.Context, id string, a Answer) (Interaction, error) {
	k, err := c.openCard(ctx, id)
	if err != nil {
		return Interaction{}, err
	}
	reply, secrets, err := checkAnswer(&k.ask, a)
	if err != nil {
		return Interaction{}, err
	}
	if k.ask.Route == abi.RouteFollowUp {
		return c.resolveByMessage(ctx, k, reply)
	}
	if k.ask.Type == abi.InteractionReview {
		// A review is also a plan: its decision is taken the same way.
		return c.resolveReview(ctx, k, reply)
	}
	if err := c.claim(ctx, k, reply, "", nil); err != nil {
		return Interaction{}, err
	}
	c.sess.secrets.add(secrets)
	c.step(&abi.Event{Answer: &abi.Answer{Key: k.nativeKey(), Reply: reply}}, k.ask.Token)
	return interactionView(k.Interaction), nil
}

// claim commits that this answer won; carrier is the turn that carries it, if it
// goes by message.
func (c *conversation) claim(ctx context.Context, k *card, reply abi.Reply, carrier string, also func() error) error {
	body := reply.AppendJSON(nil)
	return c.transact(ctx, func() error {
		k.State, k.Reply, k.AnswerTurnID = store.InteractionClaimed, body, carrier
		c.tx.do(func(ctx context.Context, tx *store.Tx) error {
			won, err := tx.ClaimInteraction(ctx, k.ID, body)
			if err == nil && !won {
				err = failField(CodeInteractionAnswered, "interaction", "Another client was first.")
			}
			return err
		})
		if carrier != "" {
			row := k.Interaction
			c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateInteraction(ctx, row) })
		}
		c.journalCard(k)
		if also != nil {
			return also()
		}
		return nil
	})
}

// resolveByMessage answers through the queue: in front, under the settings of
// the turn that asked (rule 21b).
func (c *conversation) resolveByMessage(ctx context.Context, k *card, reply abi.Reply) (Interaction, error) {
	settings, rev := c.settings, c.row.SettingsRev
	if k.TurnID != "" {
		asked, err := c.h.store.Turn(ctx, k.TurnID)
		if err != nil && !isNotFound(err) {
			return Interaction{}, storeError(err)
		}
		if err == nil {
			if err := json.Unmarshal(asked.Settings, &settings); err != nil {
				return Interaction{}, fail(CodeStoreCorrupt, "The settings of turn %s cannot be read: %v.", asked.ID, err)
			}
			rev = asked.SettingsRev
		}
	}
	carrier := c.h.cfg.IDs()
	err := c.claim(ctx, k, reply, carrier, func() error {
		c.acceptAs(carrier, newSubmission{origin: abi.OriginAnswer, settings: settings, rev: rev, reply: reply.AppendJSON(nil), interactionID: k.ID})
		c.unblock()
		return nil
	})
	if err != nil {
		return Interaction{}, err
	}
	return interactionView(c.cards[k.ID].Interaction), nil
}
