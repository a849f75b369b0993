package host

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/aoagents/ao-host/store"
)

// PruneRequest says what of a journal may go. One of its members is given.
type PruneRequest struct {
	// Before is the number of an event: what was over before it may go.
	Before uint64 `json:"before,omitempty"`
	// BeforeTime is a moment: what was over before it may go.
	BeforeTime *time.Time `json:"before_time,omitempty"`
}

// Pruned says where a journal begins.
type Pruned struct {
	// Floor is the number of the last event that is gone, 0 when none is.
	Floor uint64 `json:"floor"`
}

// Prune shortens a journal from its beginning: the events of turns that had ended
// before a number or a time are removed. The journal then begins after Pruned.Floor,
// which is the end of such a turn: never does anything go of a turn that is not
// finished, of an open card or an open plan, nor of what came after the beginning of the
// turn that they are of. Pruning less than before changes nothing.
//
// The turns themselves stay, with what was sent, and so do cards and plans; what the
// agent said and did is gone. Reading from before the floor is refused with resync, as
// is going on with a reader that had not come so far. A turn of which something was
// removed counts as one that used tools, see Retry.
//
// It returns once nothing of what was removed is left in the data file and its log; when
// ctx ends before, the rest goes by itself. The room is used again; the file does not get
// shorter.
//
// Errors: unknown_conversation, invalid_argument.
func (h *Host) Prune(ctx context.Context, conversation string, r PruneRequest) (Pruned, error) {
	if (r.Before == 0) == (r.BeforeTime == nil) {
		return Pruned{}, failField(CodeInvalidArgument, "before", "Give either the number of an event or a time.")
	}
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Pruned{}, err
	}
	ends, err := h.endings(ctx, conversation, r)
	if err != nil {
		return Pruned{}, err
	}
	floor, err := ask(ctx, c, func() (uint64, error) { return c.prune(ctx, ends) })
	if err != nil {
		return Pruned{}, err
	}
	return Pruned{Floor: floor}, storeError(h.store.Removed(ctx, conversation))
}

// endingsPage is how many events are read at once; each has a message in it.
const endingsPage = 50

// endings are the numbers in a journal at which a turn ended and none was under way,
// among those that a request allows.
func (h *Host) endings(ctx context.Context, conversation string, r PruneRequest) ([]uint64, error) {
	var ends []uint64
	under := map[string]bool{}
	for after := uint64(0); ; {
		page, err := h.store.EventsOfType(ctx, conversation, string(EventTurn), after, endingsPage)
		if err != nil || len(page) == 0 {
			return ends, storeError(err)
		}
		for _, ev := range page {
			after = ev.Seq
			if r.Before > 0 && ev.Seq >= r.Before || r.BeforeTime != nil && !ev.At.Before(*r.BeforeTime) {
				return ends, nil
			}
			var t struct {
				ID    string    `json:"id"`
				State TurnState `json:"state"`
			}
			if err := json.Unmarshal(ev.Body, &t); err != nil {
				return nil, fail(CodeStoreCorrupt, "Event %d cannot be read: %v.", ev.Seq, err)
			}
			switch {
			case t.State.Ended():
				delete(under, t.ID)
				if len(under) == 0 {
					ends = append(ends, ev.Seq)
				}
			case t.State != TurnQueued:
				under[t.ID] = true
			default:
				// It may have been put back into the queue.
				delete(under, t.ID)
			}
		}
	}
}

// prune raises the floor to the last of some numbers that leaves what is open whole, and
// returns where it is.
func (c *conversation) prune(ctx context.Context, ends []uint64) (uint64, error) {
	if c.closing {
		return 0, &Error{Code: CodeClosed}
	}
	limit, err := c.firstOpen(ctx)
	if err != nil {
		return 0, err
	}
	i := len(ends) - 1
	for i >= 0 && ends[i] > limit {
		i--
	}
	if i < 0 || ends[i] <= c.row.JournalFloor {
		return c.row.JournalFloor, nil
	}
	err = c.transact(ctx, func() error {
		c.row.JournalFloor = ends[i]
		c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.Prune(ctx, c.id, ends[i]) })
		return nil
	})
	return c.row.JournalFloor, err
}

// firstOpen is the number of the last event before the turns that are unfinished, or
// that cards or plans are open of.
func (c *conversation) firstOpen(ctx context.Context) (uint64, error) {
	limit := uint64(math.MaxUint64)
	var turns []string
	for _, t := range c.live {
		turns = append(turns, t.ID)
	}
	for _, k := range c.cards {
		turns = append(turns, k.TurnID)
	}
	for _, p := range c.plans {
		turns = append(turns, p.TurnID)
	}
	slices.Sort(turns)
	for _, id := range slices.Compact(turns) {
		if id == "" {
			// Asked outside of any turn: where is not recorded, so all of it stays.
			return 0, nil
		}
		from, err := c.h.store.JournalFrom(ctx, id)
		if err != nil {
			return 0, storeError(err)
		}
		limit = min(limit, from)
	}
	return limit, nil
}
