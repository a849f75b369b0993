package store_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/store"
)

// queueModel is the queue as a plain list: what turns there are, in order, and
// which of them still wait.
type queueModel struct {
	s      *store.Store
	conv   string
	order  []string
	state  map[string]store.TurnState
	copies map[string]store.Turn // as the host read them, maybe long ago
	next   int
}

func (m *queueModel) firstQueued() int {
	return slices.IndexFunc(m.order, func(id string) bool { return m.state[id] == store.TurnQueued })
}

func (m *queueModel) insertAt(i int, id string) {
	if i < 0 {
		i = len(m.order)
	}
	m.order = slices.Insert(m.order, i, id)
}

func (m *queueModel) remove(id string) {
	m.order = slices.Delete(m.order, slices.Index(m.order, id), slices.Index(m.order, id)+1)
}

func (m *queueModel) pick(t *rapid.T) string {
	if len(m.order) == 0 {
		t.Skip("no turn yet")
	}
	return rapid.SampledFrom(slices.Sorted(slices.Values(m.order))).Draw(t, "turn")
}

func (m *queueModel) write(t *rapid.T, fn func(tx *store.Tx) error) {
	if err := m.s.Write(ctx, fn); err != nil {
		t.Fatal(err)
	}
}

func position(tx *store.Tx, conv string, front bool) (int64, error) {
	if front {
		return tx.FrontPosition(ctx, conv)
	}
	return tx.NextPosition(ctx, conv)
}

func (m *queueModel) submit(t *rapid.T, front bool) {
	id := fmt.Sprintf("%s-t%d", m.conv, m.next)
	m.next++
	m.write(t, func(tx *store.Tx) error {
		p, err := position(tx, m.conv, front)
		if err != nil {
			return err
		}
		turn := store.Turn{ID: id, ConversationID: m.conv, Position: p, State: store.TurnQueued}
		m.copies[id] = turn
		return tx.InsertTurn(ctx, turn)
	})
	if front {
		m.insertAt(m.firstQueued(), id)
	} else {
		m.insertAt(-1, id)
	}
	m.state[id] = store.TurnQueued
}

func (m *queueModel) move(t *rapid.T, front bool) {
	id := m.pick(t)
	m.write(t, func(tx *store.Tx) error {
		p, err := position(tx, m.conv, front)
		if err != nil {
			return err
		}
		return tx.MoveTurn(ctx, id, p)
	})
	if first := m.firstQueued(); front && first >= 0 {
		before := m.order[first]
		m.remove(id)
		if before == id {
			m.insertAt(first, id)
		} else {
			m.insertAt(slices.Index(m.order, before), id)
		}
		return
	}
	m.remove(id)
	m.insertAt(-1, id)
}

func (m *queueModel) setState(t *rapid.T) {
	id := m.pick(t)
	state := rapid.SampledFrom([]store.TurnState{
		store.TurnQueued, store.TurnDispatched, store.TurnRunning, store.TurnCompleted, store.TurnCancelled,
	}).Draw(t, "state")
	turn := m.copies[id] // its position may be out of date
	turn.State = state
	m.write(t, func(tx *store.Tx) error { return tx.UpdateTurn(ctx, turn) })
	m.state[id] = state
}

func (m *queueModel) check(t *rapid.T) {
	turns, err := m.s.Turns(ctx, m.conv)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(turns, func(x store.Turn) string { return x.ID }); !slices.Equal(got, m.order) {
		t.Fatalf("turns are %v, want %v", got, m.order)
	}
	for i := 1; i < len(turns); i++ {
		if turns[i].Position <= turns[i-1].Position {
			t.Fatalf("two turns share position %d", turns[i].Position)
		}
	}
	live, err := m.s.LiveTurns(ctx, m.conv)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, id := range m.order {
		switch m.state[id] {
		case store.TurnQueued, store.TurnDispatched, store.TurnRunning:
			want = append(want, id)
		}
	}
	if got := ids(live, func(x store.Turn) string { return x.ID }); !slices.Equal(got, want) {
		t.Fatalf("live turns are %v, want %v", got, want)
	}
}

func TestRule21b_TheQueueKeepsItsOrderWhateverIsPutInFront(t *testing.T) {
	s := withConversations(t, store.Options{}, "bystander")
	write(t, s, func(tx *store.Tx) error {
		return tx.InsertTurn(ctx, store.Turn{ID: "b", ConversationID: "bystander", Position: 1, State: store.TurnQueued})
	})
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		m := &queueModel{
			s: s, conv: fmt.Sprintf("c%d", runs),
			state: map[string]store.TurnState{}, copies: map[string]store.Turn{},
		}
		m.write(t, func(tx *store.Tx) error { return tx.InsertConversation(ctx, newConversation(m.conv)) })
		t.Repeat(map[string]func(*rapid.T){
			"send":         func(t *rapid.T) { m.submit(t, false) },
			"answer":       func(t *rapid.T) { m.submit(t, true) },
			"move to back": func(t *rapid.T) { m.move(t, false) },
			"move front":   func(t *rapid.T) { m.move(t, true) },
			"advance":      m.setState,
			"":             m.check,
		})
	})
	b, err := s.Turn(ctx, "b")
	equal(t, b.Position, err, 1)
}
