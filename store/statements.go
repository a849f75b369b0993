package store

import (
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// statements are the writer's own: transaction control, and the rows that are
// written for every streamed delta. Using SQLite directly saves six allocations a
// row, and an eighth of the time (1.9 µs against 2.2 µs measured).
type statements struct {
	begin, commit, rollback           *sqlite3.Stmt
	savepoint, release, undo          *sqlite3.Stmt
	head, event, input, outbox, moved *sqlite3.Stmt
}

func (s *statements) all() []struct {
	stmt  **sqlite3.Stmt
	query string
} {
	return []struct {
		stmt  **sqlite3.Stmt
		query string
	}{
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.commit, `COMMIT`},
		{&s.rollback, `ROLLBACK`},
		{&s.savepoint, `SAVEPOINT closure`},
		{&s.release, `RELEASE closure`},
		{&s.undo, `ROLLBACK TO closure`},
		{&s.head, `SELECT last_seq FROM conversation WHERE id = ? AND deleted = 0`},
		{&s.event, `INSERT INTO event (conversation_id, seq, at, type, turn_id, body) VALUES (?, ?, ?, ?, ?, ?)`},
		{&s.input, `INSERT INTO input (conversation_id, generation, seq, now, kind, body) VALUES (?, ?, ?, ?, ?, ?)`},
		{&s.outbox, `INSERT INTO outbox (conversation_id, generation, id, turn_id, interaction_id, frame, written_at) VALUES (?, ?, ?, ?, ?, ?, ?)`},
		{&s.moved, `UPDATE conversation SET last_seq = ?1,
			updated_at = CASE WHEN updated_at >= ?2 THEN updated_at ELSE ?2 END WHERE id = ?3`},
	}
}

func (s *statements) prepare(c *sqlite3.Conn) error {
	for _, e := range s.all() {
		stmt, _, err := c.PrepareFlags(e.query, sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return errors.Join(err, s.close())
		}
		*e.stmt = stmt
	}
	return nil
}

func (s *statements) close() error {
	var errs []error
	for _, e := range s.all() {
		errs = append(errs, (*e.stmt).Close())
		*e.stmt = nil
	}
	return errors.Join(errs...)
}

// row binds and runs one row; the first failed binding makes run fail.
type row struct {
	stmt *sqlite3.Stmt
	n    int
	err  error
}

func (r *row) text(s string) {
	r.n++
	if r.err == nil {
		r.err = r.stmt.BindText(r.n, s)
	}
}

func (r *row) int(n int64) {
	r.n++
	if r.err == nil {
		r.err = r.stmt.BindInt64(r.n, n)
	}
}

func (r *row) time(t time.Time) {
	if !t.IsZero() {
		r.int(t.UnixNano())
		return
	}
	r.n++
	if r.err == nil {
		r.err = r.stmt.BindNull(r.n)
	}
}

func (r *row) blob(b []byte) {
	r.n++
	if r.err == nil {
		r.err = r.stmt.BindBlob(r.n, blob(b))
	}
}

func (r *row) run() error {
	if r.stmt.Conn().GetAutocommit() {
		return errLost()
	}
	err := r.err
	if err == nil {
		err = r.stmt.Exec()
	}
	// Bound bodies are not kept in memory until the next row.
	return errors.Join(err, r.stmt.ClearBindings())
}
