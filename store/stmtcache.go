package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// preparer is what a *sql.DB and a *sql.Conn have in common.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// stmtCache runs queries through statements that are prepared at their first
// use and kept, whose number is bounded by that of the generated queries.
type stmtCache struct {
	on preparer

	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

func newStmtCache(on preparer) *stmtCache {
	return &stmtCache{on: on, stmts: map[string]*sql.Stmt{}}
}

func (c *stmtCache) stmt(query string) (*sql.Stmt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	// Preparing is not part of the caller's request, so that a caller who gives
	// up leaves a usable statement behind.
	s, err := c.on.PrepareContext(context.Background(), query) //nolint:sqlclosecheck // kept until close
	if err == nil {
		c.stmts[query] = s
	}
	return s, err
}

func (c *stmtCache) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := c.stmt(query) //nolint:sqlclosecheck // kept until close
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

func (c *stmtCache) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return c.on.PrepareContext(ctx, query)
}

func (c *stmtCache) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := c.stmt(query) //nolint:sqlclosecheck // kept until close
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

func (c *stmtCache) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := c.stmt(query) //nolint:sqlclosecheck // kept until close
	if err != nil {
		return c.on.QueryRowContext(ctx, query, args...) // carries the error in the row
	}
	return s.QueryRowContext(ctx, args...)
}

func (c *stmtCache) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := make([]error, 0, len(c.stmts))
	for q, s := range c.stmts {
		errs = append(errs, s.Close())
		delete(c.stmts, q)
	}
	return errors.Join(errs...)
}

// insideOnly refuses to write when no transaction is open: after SQLite rolled one
// back by itself, a closure that goes on would write rows that nobody undoes.
type insideOnly struct {
	*stmtCache
	conn *sqlite3.Conn
}

func (c insideOnly) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if c.conn.GetAutocommit() {
		return nil, errLost()
	}
	return c.stmtCache.ExecContext(ctx, query, args...)
}
