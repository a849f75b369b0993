package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/aoagents/ao-host/store/internal/db"
)

// compactionBytes is how much of the journal one transaction removes. SQLite keeps
// in memory what a transaction changes beside others, so all the deltas of a turn of
// some hundred megabytes in one transaction would end the process.
const compactionBytes = 2 << 20

// CompactDeltas removes the events of a turn that have one of the types and a
// number below before, and returns how many it removed. Their numbers stay unused.
// Of a long turn it removes the beginning and records the rest, which the store
// removes by itself afterwards, also after a crash.
func (tx *Tx) CompactDeltas(_ context.Context, conversation, turn string, types []string, before uint64) (int64, error) {
	from, err := tx.q.JournalFrom(context.Background(), turn)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, translate(err, "turn")
	}
	// What comes later may belong to another turn of the same name: the agent's own
	// turns have none.
	h, err := tx.head(conversation)
	if err != nil {
		return 0, err
	}
	before = min(before, h.last+1)
	n, upTo, err := tx.compact(conversation, turn, types, from, signed(before))
	if err != nil || upTo == 0 {
		return n, err
	}
	list, err := json.Marshal(types)
	if err != nil {
		return n, err
	}
	tx.uncompacted = true
	return n, tx.wrote(tx.q.InsertCompaction(context.Background(), db.InsertCompactionParams{
		ConversationID: conversation, TurnID: turn, Types: string(list), AfterSeq: upTo, BeforeSeq: signed(before),
	}), "compaction")
}

// compact removes events between two numbers, as many as a transaction takes. upTo
// is the number after which there may be more, 0 when all are removed.
func (tx *Tx) compact(conversation, turn string, types []string, after, before int64) (removed, upTo int64, err error) {
	ctx := context.Background()
	list, err := tx.q.CompactibleEvents(ctx, db.CompactibleEventsParams{
		ConversationID: conversation, AfterSeq: after, BeforeSeq: before, TurnID: turn, Types: types,
	})
	if err != nil || len(list) == 0 {
		return 0, 0, translate(err, "event")
	}
	n, size := fitting(len(list), func(i int) int64 { return list[i].Size }, compactionBytes)
	last := list[n-1].Seq
	if n < len(list) || n == compactionRows {
		upTo = last
	}
	removed, err = tx.q.CompactDeltas(ctx, db.CompactDeltasParams{
		ConversationID: conversation, AfterSeq: after, BeforeSeq: last + 1, TurnID: turn, Types: types,
	})
	tx.rows += int(size / pageBytes)
	return removed, upTo, tx.wrote(err, "event")
}

// compactionRows is the limit of the queries CompactibleEvents and OldInputs.
const compactionRows = 4096

// fitting is how many of the first rows have a size of at most most together, at
// least one, and that size.
func fitting(rows int, sizeOf func(i int) int64, most int64) (n int, size int64) {
	for n < rows && (n == 0 || size+sizeOf(n) <= most) {
		size += sizeOf(n)
		n++
	}
	return n, size
}

// hasCompactions reports whether a compaction is left from before the store was
// opened.
func hasCompactions(c *sqlite3.Conn) (bool, error) {
	s, _, err := c.Prepare(`SELECT EXISTS (SELECT 1 FROM compaction)`)
	if err != nil {
		return false, err
	}
	found := s.Step() && s.ColumnBool(0)
	return found, errors.Join(s.Err(), s.Close())
}

// compactMore goes on with the oldest compaction that is not finished. It sets
// tx.uncompacted as long as there is more.
func (tx *Tx) compactMore() error {
	ctx := context.Background()
	c, err := tx.q.NextCompaction(ctx)
	tx.uncompacted = err == nil
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return translate(err, "compaction")
	}
	var types []string
	if err := json.Unmarshal([]byte(c.Types), &types); err != nil {
		return translate(err, "compaction")
	}
	_, upTo, err := tx.compact(c.ConversationID, c.TurnID, types, c.AfterSeq, c.BeforeSeq)
	if err != nil {
		return err
	}
	if upTo != 0 {
		return tx.wrote(tx.q.AdvanceCompaction(ctx, upTo, c.Ordinal), "compaction")
	}
	return tx.wrote(tx.q.DropCompaction(ctx, c.Ordinal), "compaction")
}
