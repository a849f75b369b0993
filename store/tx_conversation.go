package store

import (
	"context"

	"github.com/aoagents/ao-host/store/internal/db"
)

// InsertConversation adds a conversation. Errors: conflict,
// native_session_taken.
func (tx *Tx) InsertConversation(_ context.Context, c Conversation) error {
	if err := fits("conversation", c.Settings, c.Own); err != nil {
		return err
	}
	return tx.wrote(tx.q.InsertConversation(context.Background(), db.InsertConversationParams{
		ID: c.ID, Harness: c.Harness, Cwd: c.Cwd, RealCwd: c.RealCwd, Title: c.Title,
		CreatedAt: stamp(c.CreatedAt), UpdatedAt: stamp(c.UpdatedAt),
		Settings: blob(c.Settings), SettingsRev: c.SettingsRev,
		NativeSession: c.NativeSession, NativeUsed: c.NativeUsed, Generation: c.Generation,
		Held: c.Held, HoldReason: c.HoldReason,
		LastSeq: signed(c.LastSeq), JournalFloor: signed(c.JournalFloor), Own: blob(c.Own),
	}), "conversation")
}

// UpdateConversation writes every column but LastSeq, which only
// [Tx.AppendEvent] moves. Read the row in the same closure, so that nothing that
// was written in between is undone. Errors: not_found, native_session_taken.
func (tx *Tx) UpdateConversation(_ context.Context, c Conversation) error {
	if err := fits("conversation", c.Settings, c.Own); err != nil {
		return err
	}
	n, err := tx.q.UpdateConversation(context.Background(), db.UpdateConversationParams{
		ID: c.ID, Harness: c.Harness, Cwd: c.Cwd, RealCwd: c.RealCwd, Title: c.Title,
		CreatedAt: stamp(c.CreatedAt), UpdatedAt: stamp(c.UpdatedAt),
		Settings: blob(c.Settings), SettingsRev: c.SettingsRev,
		NativeSession: c.NativeSession, NativeUsed: c.NativeUsed, Generation: c.Generation,
		Held: c.Held, HoldReason: c.HoldReason, JournalFloor: signed(c.JournalFloor), Own: blob(c.Own),
	})
	return tx.changed(n, err, "conversation", c.ID)
}

// UpdateSettings replaces the remembered settings and raises their revision by
// one, if the revision is still expected; it reports whether it was. Error:
// not_found.
func (tx *Tx) UpdateSettings(ctx context.Context, conversation string, expected int64, settings []byte) (bool, error) {
	if err := fits("settings", settings); err != nil {
		return false, err
	}
	n, err := tx.q.UpdateSettings(context.Background(), blob(settings), stamp(tx.now()), conversation, expected)
	if err = tx.wrote(err, "settings"); err != nil || n > 0 {
		return n > 0, err
	}
	_, err = tx.Conversation(ctx, conversation)
	return false, err
}
