package transport

import "sync"

// reporter calls OnWritten, one call at a time, in the order frames were
// settled, and never on the goroutine of Send: the session may post the outcome
// to itself. It runs only while there is something to report, so an outcome is
// told even after Close.
type reporter struct {
	call func(id uint64, err error)

	mu      sync.Mutex
	idle    sync.Cond
	waiting []settled
	running bool
}

type settled struct {
	id  uint64
	err error
}

func newReporter(call func(uint64, error)) *reporter {
	r := &reporter{call: call}
	r.idle.L = &r.mu
	return r
}

func (r *reporter) report(id uint64, err error) {
	if r.call == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, settled{id, err})
	if !r.running {
		r.running = true
		go r.run()
	}
}

func (r *reporter) run() {
	for {
		r.mu.Lock()
		todo := r.waiting
		r.waiting = nil
		if len(todo) == 0 {
			r.running = false
			r.idle.Broadcast()
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		for _, o := range todo {
			r.call(o.id, o.err)
		}
	}
}

// wait returns when everything was reported.
func (r *reporter) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.running {
		r.idle.Wait()
	}
}
