package host

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// RuleContinued is the rule by which a card is answered with what a person said
// on an earlier card of the same turn.
const RuleContinued = "continued"

// maxContinued bounds how many requests one answer can hold for, so that a
// binding cannot stretch it without end.
const maxContinued = 64

// continued returns the reply of the card that k is the rest of. A harness may ask
// one question in several requests; the person answers it once. Only questions and
// forms are answered so, never what allows something: permissions, URLs and
// reviews are shown each time.
func (c *conversation) continued(k *card) (abi.Reply, string) {
	switch k.ask.Type {
	case abi.InteractionQuestion, abi.InteractionForm:
	default:
		return abi.Reply{}, ""
	}
	if k.ask.Continues == "" || k.ask.Continues == k.Key || k.ask.Route != abi.RouteNative {
		return abi.Reply{}, ""
	}
	first := c.answered(k.ask.Continues, k.Generation)
	if first == nil || first.Automatic != "" || first.TurnID != k.TurnID || len(first.Reply) == 0 {
		return abi.Reply{}, ""
	}
	s := c.sess
	if s.continued == nil {
		s.continued = map[string]int{}
	}
	if s.continued[first.Key]++; s.continued[first.Key] > maxContinued {
		return abi.Reply{}, ""
	}
	return decodeOwn[abi.Reply](first.Reply), RuleContinued
}

// answered finds the card of a key that a person has answered in a generation.
func (c *conversation) answered(key string, generation int64) *store.Interaction {
	if k := c.cardByKey(key); k != nil {
		if k.State != store.InteractionClaimed || k.withdrawn != "" {
			return nil
		}
		return &k.Interaction
	}
	row, err := c.h.store.InteractionByKey(c.ctx, c.id, key, generation)
	if err != nil || !byPerson(row) && row.State != store.InteractionClaimed {
		return nil
	}
	return &row
}
