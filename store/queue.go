package store

import "sync"

// queue holds the closures that wait for the writer, in call order. It does not
// block those who add to it; they bound themselves by what they wait for.
type queue struct {
	mu     sync.Mutex
	items  []*Pending
	closed bool
	// wake has a token when there may be something to do.
	wake chan struct{}
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// add reports whether the queue was still open.
func (q *queue) add(p *Pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.items = append(q.items, p)
	q.signal()
	return true
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take hands out all that waits, into the emptied slice it is given, and reports
// whether the queue was closed.
func (q *queue) take(into []*Pending) ([]*Pending, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	clear(into)
	q.items = into[:0]
	return items, q.closed
}
