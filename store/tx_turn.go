package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/aoagents/ao-host/store/internal/db"
)

// InsertTurn adds a turn; its Position comes from [Tx.NextPosition] or
// [Tx.FrontPosition]. A client id names one turn of a conversation. Errors:
// conflict, not_found when there is no such conversation.
func (tx *Tx) InsertTurn(_ context.Context, t Turn) error {
	if err := fits("turn", t.Content, t.Settings, t.Reply); err != nil {
		return err
	}
	h, err := tx.head(t.ConversationID)
	if err != nil {
		return err
	}
	return tx.wrote(tx.q.InsertTurn(context.Background(), db.InsertTurnParams{
		ID: t.ID, ConversationID: t.ConversationID, Position: t.Position, State: string(t.State),
		ClientID: t.ClientID, Origin: t.Origin,
		Content: blob(t.Content), Settings: blob(t.Settings), SettingsRev: t.SettingsRev,
		InteractionID: t.InteractionID, ProposalID: t.ProposalID, RetryOf: t.RetryOf,
		Reply: blob(t.Reply), Generation: t.Generation, NativeTurn: t.NativeTurn, Evidence: t.Evidence,
		StopReason: t.StopReason, ErrorCode: t.ErrorCode, ErrorMessage: t.ErrorMessage,
		AcceptedAt: stamp(t.AcceptedAt), DispatchedAt: stamp(t.DispatchedAt),
		StartedAt: stamp(t.StartedAt), EndedAt: stamp(t.EndedAt),
		JournalFrom: signed(h.last), Version: t.Version,
	}), "turn")
}

// UpdateTurn writes every column but the conversation and the position, so that
// a copy from before a move does not move the turn back. Error: not_found.
func (tx *Tx) UpdateTurn(_ context.Context, t Turn) error {
	if err := fits("turn", t.Content, t.Settings, t.Reply); err != nil {
		return err
	}
	n, err := tx.q.UpdateTurn(context.Background(), db.UpdateTurnParams{
		ID: t.ID, State: string(t.State), ClientID: t.ClientID, Origin: t.Origin,
		Content: blob(t.Content), Settings: blob(t.Settings), SettingsRev: t.SettingsRev,
		InteractionID: t.InteractionID, ProposalID: t.ProposalID, RetryOf: t.RetryOf,
		Reply: blob(t.Reply), Generation: t.Generation, NativeTurn: t.NativeTurn, Evidence: t.Evidence,
		StopReason: t.StopReason, ErrorCode: t.ErrorCode, ErrorMessage: t.ErrorMessage,
		AcceptedAt: stamp(t.AcceptedAt), DispatchedAt: stamp(t.DispatchedAt),
		StartedAt: stamp(t.StartedAt), EndedAt: stamp(t.EndedAt), Version: t.Version,
	})
	return tx.changed(n, err, "turn", t.ID)
}

// MoveTurn gives a turn another position: one from [Tx.NextPosition] or
// [Tx.FrontPosition], or that of a turn that is moved too. Error: not_found.
func (tx *Tx) MoveTurn(_ context.Context, id string, position int64) error {
	n, err := tx.q.MoveTurn(context.Background(), position, id)
	return tx.changed(n, err, "turn", id)
}

// NextPosition returns the position behind all turns of a conversation.
func (tx *Tx) NextPosition(_ context.Context, conversation string) (int64, error) {
	last, err := tx.q.LastPosition(context.Background(), conversation)
	return last + 1, translate(err, "queue")
}

// FrontPosition returns the position before all queued turns of a conversation
// and behind those that left the queue at its front. It makes room by moving the
// queued turns and what is between them back by one, so each position is to be
// used once.
func (tx *Tx) FrontPosition(ctx context.Context, conversation string) (int64, error) {
	first, err := tx.q.FirstQueuedPosition(context.Background(), conversation)
	if errors.Is(err, sql.ErrNoRows) {
		return tx.NextPosition(ctx, conversation)
	}
	if err != nil {
		return 0, translate(err, "queue")
	}
	return first, tx.wrote(tx.q.ShiftTurns(context.Background(), conversation, first), "queue")
}
