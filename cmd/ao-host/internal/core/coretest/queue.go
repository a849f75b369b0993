package coretest

import (
	"context"
	"slices"

	"github.com/aoagents/ao-host/host"
)

// Turn returns one turn. Error: unknown_turn.
func (f *Fake) Turn(_ context.Context, _, id string) (host.Turn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.turns {
		if t.ID == id {
			return t, nil
		}
	}
	return host.Turn{}, &host.Error{Code: host.CodeUnknownTurn}
}

// CancelQueued takes a turn out of the queue.
func (f *Fake) CancelQueued(ctx context.Context, id, turn string, of ...host.QueuedCancel) (host.Turn, error) {
	var version int64
	for _, o := range of {
		version = o.Version
	}
	return f.requeue(ctx, "CancelQueued", id, turn, version, func(t *host.Turn) { t.State = host.TurnCancelled })
}

// EditQueued gives a queued message other content.
func (f *Fake) EditQueued(ctx context.Context, id, turn string, e host.QueuedEdit) (host.Turn, error) {
	return f.requeue(ctx, "EditQueued", id, turn, e.Version, func(t *host.Turn) { t.Content = e.Content })
}

// MoveQueued puts a turn elsewhere among all of them.
func (f *Fake) MoveQueued(ctx context.Context, id, turn string, m host.QueuedMove) (host.Turn, error) {
	t, err := f.requeue(ctx, "MoveQueued", id, turn, m.Version, func(*host.Turn) {})
	if err != nil || m.Before == turn {
		return t, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turns = slices.DeleteFunc(f.turns, func(o host.Turn) bool { return o.ID == turn })
	at := slices.IndexFunc(f.turns, func(o host.Turn) bool { return o.ID == m.Before })
	if at < 0 {
		at = len(f.turns)
	}
	f.turns = slices.Insert(f.turns, at, t)
	return t, nil
}

// requeue changes a turn that is queued; version 0 fits every turn.
func (f *Fake) requeue(ctx context.Context, method, id, turn string, version int64, change func(*host.Turn)) (host.Turn, error) {
	if err := f.called(method, turn); err != nil {
		return host.Turn{}, err
	}
	t, err := f.Turn(ctx, id, turn)
	switch {
	case err != nil:
		return t, err
	case t.State != host.TurnQueued:
		return t, &host.Error{Code: host.CodeTurnNotQueued}
	case version != 0 && version != t.Version:
		return t, &host.Error{Code: host.CodeTurnChanged}
	}
	f.Become(turn, t.State, func(t *host.Turn) { t.Version++; change(t) })
	return f.Turn(ctx, id, turn)
}
