package transport

import "sync"

// window bounds the bytes of frames that were delivered and are not yet
// committed. When it is full the reader stops reading, the pipe fills and the
// child waits: a burst slows the child down and never ends the session
// (DESIGN §6).
type window struct {
	mu    sync.Mutex
	open  sync.Cond
	limit int
	used  int
	// acked are the bytes that were released since the start.
	acked int64
	// costs[head:] belong to the frames first, first+1, …
	costs  []int
	head   int
	first  uint64
	closed bool
}

func newWindow(limit int) *window {
	w := &window{limit: limit, first: 1}
	w.open.L = &w.mu
	return w
}

func (w *window) fits(cost int) bool { return w.used == 0 || w.used+cost <= w.limit }

func (w *window) take(cost int) {
	w.used += cost
	w.costs = append(w.costs, cost)
}

// tryEnter accounts for the next frame if there is room. A frame larger than the
// window has room when nothing else is outstanding.
func (w *window) tryEnter(cost int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || !w.fits(cost) {
		return false
	}
	w.take(cost)
	return true
}

// enter is tryEnter that waits; false means the connection was closed.
func (w *window) enter(cost int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed && !w.fits(cost) {
		w.open.Wait()
	}
	if w.closed {
		return false
	}
	w.take(cost)
	return true
}

// ack releases all frames up to n.
func (w *window) ack(n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.head < len(w.costs) && w.first <= n {
		w.used -= w.costs[w.head]
		w.acked += int64(w.costs[w.head])
		w.head++
		w.first++
	}
	if w.head > 64 && w.head > len(w.costs)/2 {
		w.costs = w.costs[:copy(w.costs, w.costs[w.head:])]
		w.head = 0
	}
	w.open.Broadcast()
}

func (w *window) progress() (acked int64, used int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked, w.used
}

func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.open.Broadcast()
}
