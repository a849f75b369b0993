package store

import (
	"context"
	"fmt"
)

// Pending is a closure on its way to its commit.
type Pending struct {
	fn func(*Tx) error
	// ctx ends the wait of a Write; a closure whose turn has not come then is not
	// run.
	ctx context.Context
	// now: the commit is not put off for company.
	now  bool
	done chan struct{}

	// Set before done is closed.
	err      error
	panicked *closurePanic
}

// closurePanic carries a panic from the writer's goroutine to the caller's.
type closurePanic struct {
	value any
	stack []byte
}

func (p *closurePanic) String() string {
	return fmt.Sprintf("%v\n\n%s", p.value, p.stack)
}

func newPending(ctx context.Context, now bool, fn func(*Tx) error) *Pending {
	return &Pending{fn: fn, ctx: ctx, now: now, done: make(chan struct{})}
}

// Done is closed once the closure is committed or has failed.
func (p *Pending) Done() <-chan struct{} { return p.done }

func (p *Pending) finished() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait waits for the commit and returns the error of the closure or of the
// commit, or that of ctx if it ends first: the write then goes on and may still
// be committed. Wait panics with what the closure panicked with.
func (p *Pending) Wait(ctx context.Context) error {
	if p.finished() {
		return p.result()
	}
	select {
	case <-p.done:
		return p.result()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Pending) result() error {
	if p.panicked != nil {
		panic(p.panicked.String())
	}
	return p.err
}

func (p *Pending) finish(err error) {
	p.err = err
	close(p.done)
}
