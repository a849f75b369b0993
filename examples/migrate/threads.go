package migrate

import (
	"context"
	"database/sql"
)

// Schema is all that the product keeps of its chat. Messages, the queue, approvals,
// sessions and settings were tables too.
const Schema = `CREATE TABLE IF NOT EXISTS thread (
	id     TEXT PRIMARY KEY, -- also the id of the conversation
	folder TEXT NOT NULL,
	title  TEXT NOT NULL,
	pinned INTEGER NOT NULL DEFAULT 0,
	seen   INTEGER NOT NULL DEFAULT 0
)`

// SQLThreads is the port Threads on the product's own SQLite file.
type SQLThreads struct{ DB *sql.DB }

var _ Threads = SQLThreads{}

// Add adds a thread; one that is there stays as it is.
func (s SQLThreads) Add(ctx context.Context, t Thread) error {
	_, err := s.DB.ExecContext(ctx, `INSERT INTO thread (id, folder, title) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, t.ID, t.Folder, t.Title)
	return err
}

// Seen is the number of the last event that was shown.
func (s SQLThreads) Seen(ctx context.Context, thread string) (seq uint64, err error) {
	err = s.DB.QueryRowContext(ctx, `SELECT seen FROM thread WHERE id = ?`, thread).Scan(&seq)
	return seq, err
}

// SetSeen remembers it; a smaller number changes nothing.
func (s SQLThreads) SetSeen(ctx context.Context, thread string, seq uint64) error {
	_, err := s.DB.ExecContext(ctx, `UPDATE thread SET seen = max(seen, ?) WHERE id = ?`, seq, thread)
	return err
}
