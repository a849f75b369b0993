package host

import (
	"context"
	"math"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/store"
)

// recallPartials takes the text of the items that have not ended from the journal,
// where memory of it is lost or wrong: their deltas are about to be replaced, and what
// a person has seen must not go with them. It is bounded as while they stream.
func (c *conversation) recallPartials(ctx context.Context) error {
	after, err := c.uncompactedFrom(ctx)
	if err != nil {
		return err
	}
	clear(c.partials)
	c.partialBytes = 0
	if after == math.MaxUint64 {
		return nil
	}
	children := map[string]string{}
	for {
		page, err := c.h.store.Events(ctx, c.id, after, feedPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			after = e.Seq
			if e.TurnID != "" && c.liveTurn(e.TurnID) == nil {
				continue
			}
			var d jsonwire.Decoder
			d.Reset(e.Body)
			switch EventType(e.Type) {
			case EventDelta:
				var delta abi.Delta
				delta.DecodeJSON(&d)
				c.keepPartial(&delta, children[delta.Item])
			case EventItem:
				var it abi.Item
				it.DecodeJSON(&d)
				if it.Status != abi.ItemRunning {
					c.dropPartial(it.ID)
				} else if it.Child != "" && len(children) < maxBackground {
					children[it.ID] = it.Child
				}
			}
		}
	}
}

// uncompactedFrom is the number after which there may be deltas that wait for the end
// of their turn, math.MaxUint64 when there are none.
func (c *conversation) uncompactedFrom(ctx context.Context) (uint64, error) {
	// The agent's own turns have no row that would say where they begin.
	first, err := c.h.store.EventsOfType(ctx, c.id, string(EventDelta), c.row.JournalFloor, 1)
	if err != nil || len(first) == 0 {
		return math.MaxUint64, err
	}
	from := first[0].Seq - 1
	for _, t := range c.live {
		if t.State == store.TurnQueued {
			continue
		}
		began, err := c.h.store.JournalFrom(ctx, t.ID)
		if err != nil {
			return 0, err
		}
		// Whose an item is was told when it began, before its first delta.
		from = min(from, began)
	}
	return max(from, c.row.JournalFloor), nil
}
