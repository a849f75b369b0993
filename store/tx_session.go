package store

import (
	"context"
	"fmt"
	"time"

	"github.com/aoagents/ao-host/store/internal/db"
)

// InsertGeneration adds a generation. Errors: conflict, not_found when there is
// no such conversation.
func (tx *Tx) InsertGeneration(_ context.Context, g Generation) error {
	if err := fits("generation", g.Exit); err != nil {
		return err
	}
	return tx.wrote(tx.q.InsertGeneration(context.Background(), db.InsertGenerationParams{
		ConversationID: g.ConversationID, Number: g.Number, Pid: g.PID, PidStart: g.PIDStart,
		BindingDigest: g.BindingDigest, BindingVersion: g.BindingVersion, ProviderVersion: g.ProviderVersion,
		NativeSession: g.NativeSession,
		StartedAt:     stamp(g.StartedAt), ExitedAt: stamp(g.ExitedAt), Exit: blob(g.Exit),
	}), "generation")
}

// UpdateGeneration writes every column of a generation. Error: not_found.
func (tx *Tx) UpdateGeneration(_ context.Context, g Generation) error {
	if err := fits("generation", g.Exit); err != nil {
		return err
	}
	n, err := tx.q.UpdateGeneration(context.Background(), db.UpdateGenerationParams{
		ConversationID: g.ConversationID, Number: g.Number, Pid: g.PID, PidStart: g.PIDStart,
		BindingDigest: g.BindingDigest, BindingVersion: g.BindingVersion, ProviderVersion: g.ProviderVersion,
		NativeSession: g.NativeSession,
		StartedAt:     stamp(g.StartedAt), ExitedAt: stamp(g.ExitedAt), Exit: blob(g.Exit),
	})
	return tx.changed(n, err, "generation", fmt.Sprint(g.Number))
}

// AppendInput adds a consumed input. Errors: conflict, not_found when there is no
// such conversation.
func (tx *Tx) AppendInput(_ context.Context, i Input) error {
	if err := fits("input", i.Body); err != nil {
		return err
	}
	r := row{stmt: tx.st.input}
	r.text(i.ConversationID)
	r.int(i.Generation)
	r.int(signed(i.Seq))
	r.int(i.Now)
	r.text(i.Kind)
	r.blob(i.Body)
	tx.weighs(i.Body)
	return tx.wrote(r.run(), "input")
}

// DropInputs removes the inputs of a generation up to and including a number.
func (tx *Tx) DropInputs(_ context.Context, conversation string, generation int64, upTo uint64) error {
	_, err := tx.q.DropInputs(context.Background(), conversation, generation, signed(upTo))
	return tx.wrote(err, "input")
}

// DropSessions removes what only a live session needs, its inputs, saved state,
// timers and frames, of the generations before a number. Of many inputs it removes
// the oldest, and the store goes on with the rest by itself; a crash before that
// leaves them to the next call.
func (tx *Tx) DropSessions(_ context.Context, conversation string, before int64) error {
	ctx := context.Background()
	for _, drop := range []func(context.Context, string, int64) (int64, error){
		tx.q.DropOldOutbox, tx.q.DropOldTimers, tx.q.DropOldStates,
	} {
		if _, err := drop(ctx, conversation, before); err != nil {
			return tx.wrote(err, "session")
		}
	}
	return tx.dropOldInputs(conversation, before)
}

// dropOldInputs removes as many inputs as a transaction takes.
func (tx *Tx) dropOldInputs(conversation string, before int64) error {
	ctx := context.Background()
	list, err := tx.q.OldInputs(ctx, conversation, before)
	if err != nil || len(list) == 0 {
		return tx.wrote(err, "session")
	}
	n, size := fitting(len(list), func(i int) int64 { return list[i].Size }, compactionBytes)
	last := list[n-1]
	if _, err := tx.q.DropOldInputs(ctx, conversation, last.Generation, last.Seq); err != nil {
		return tx.wrote(err, "session")
	}
	tx.rows += int(size / pageBytes)
	if n < len(list) || n == compactionRows {
		tx.later = append(tx.later, func(tx *Tx) error { return tx.dropOldInputs(conversation, before) })
	}
	return tx.wrote(nil, "session")
}

// InsertOutbox adds a frame for the child. Errors: conflict, not_found when there
// is no such conversation.
func (tx *Tx) InsertOutbox(_ context.Context, o Outbox) error {
	if err := fits("outbox frame", o.Frame); err != nil {
		return err
	}
	r := row{stmt: tx.st.outbox}
	r.text(o.ConversationID)
	r.int(o.Generation)
	r.int(signed(o.ID))
	r.text(o.TurnID)
	r.text(o.InteractionID)
	r.blob(o.Frame)
	r.time(o.WrittenAt)
	tx.weighs(o.Frame)
	return tx.wrote(r.run(), "outbox frame")
}

// MarkOutboxWritten records that a frame was handed to the child in full. Error:
// not_found.
func (tx *Tx) MarkOutboxWritten(_ context.Context, conversation string, generation int64, id uint64, at time.Time) error {
	n, err := tx.q.MarkOutboxWritten(context.Background(), stamp(at), conversation, generation, signed(id))
	return tx.changed(n, err, "outbox frame", fmt.Sprint(id))
}

// DropOutbox removes the frames of a generation up to and including an id,
// written or not; math.MaxUint64 removes all.
func (tx *Tx) DropOutbox(_ context.Context, conversation string, generation int64, upTo uint64) error {
	_, err := tx.q.DropOutbox(context.Background(), conversation, generation, signed(upTo))
	return tx.wrote(err, "outbox frame")
}

// SetTimer sets a named timer of a generation, replacing the one of that name.
func (tx *Tx) SetTimer(_ context.Context, t Timer) error {
	return tx.wrote(tx.q.SetTimer(context.Background(), t.ConversationID, t.Generation, t.Name, stamp(t.Due)), "timer")
}

// ClearTimer removes a timer; one that is not there is fine.
func (tx *Tx) ClearTimer(_ context.Context, conversation string, generation int64, name string) error {
	_, err := tx.q.ClearTimer(context.Background(), conversation, generation, name)
	return tx.wrote(err, "timer")
}

// SaveState replaces the saved state of a generation.
func (tx *Tx) SaveState(_ context.Context, s SavedState) error {
	if err := fits("saved state", s.State); err != nil {
		return err
	}
	return tx.wrote(tx.q.SaveState(context.Background(), db.SaveStateParams{
		ConversationID: s.ConversationID, Generation: s.Generation, InputSeq: signed(s.InputSeq),
		StateVersion: s.StateVersion, State: blob(s.State),
	}), "saved state")
}
