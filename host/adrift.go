package host

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aoagents/ao-host/host/internal/process"
	"github.com/aoagents/ao-host/store"
)

// launching is a start that is under way on another goroutine.
type launching struct {
	cancel context.CancelFunc
	slowAt time.Time
	gen    int64
	began  time.Time
	// aborted: who comes now waits for the next one.
	aborted bool
	// adriftAt is when it is given up for good, zero before it is aborted.
	adriftAt time.Time

	// What follows is guarded by the host's mutex: it came back, or was given up before.
	back, adrift bool
	// landed is closed when one that was given up came back and what is left of it is
	// recorded.
	landed chan struct{}
	// pid is the process that is left and not recorded, or zero.
	pid atomic.Int64
}

// abort ends a start (rule 22). No context ends a look at a program or a working
// directory on a file system that does not answer, so what has not come back after a
// grace time is given up.
func (l *launching) abort(grace time.Duration) {
	l.cancel()
	if !l.aborted {
		l.aborted, l.adriftAt = true, time.Now().Add(grace)
	}
}

// setAdrift gives up a start that was aborted and does not come back. Its generation
// stays open, and nothing is started before it has landed: it may have a process by now
// that nobody knows (rule 21).
func (c *conversation) setAdrift() {
	l := c.launch
	l.adriftAt = time.Time{}
	if !c.h.setAdrift(c.id, l) {
		// What it made is on its way.
		return
	}
	c.launch = nil
	c.log.Warn("an aborted start does not come back", "generation", l.gen)
	c.watchNoStart(l.began, l.gen, CodeStartAborted)
	c.journalSession()
	c.startForNext(l.gen, &Error{Code: CodeStartAborted})
	c.tx.urgent = true
}

// land ends what a start made that was given up, and records what is left of it. A
// process that is left and not recorded keeps the next start waiting (rule 21).
func (c *conversation) land(lc *launching, l launched) {
	row := store.Generation{ConversationID: c.id, Number: lc.gen, StartedAt: lc.began, ExitedAt: c.h.now(), Exit: mustJSON(exitRecord{Code: string(CodeStartAborted)})}
	if l.proc != nil && !c.discard(lc.gen, l) {
		row.PID, row.PIDStart, row.ExitedAt = int64(l.proc.PID()), l.proc.StartTime(), time.Time{}
	}
	ctx := context.WithoutCancel(c.ctx)
	record := func() error {
		return c.h.store.Write(ctx, func(tx *store.Tx) error { return tx.UpdateGeneration(ctx, row) })
	}
	err := record()
	if err != nil {
		c.log.Error("the end of an aborted start could not be recorded", "generation", lc.gen, "pid", row.PID, "error", err)
	}
	lc.pid.Store(row.PID)
	for err != nil && row.PID != 0 {
		select {
		case <-time.After(recordPause):
		case <-c.h.over:
			return
		}
		err = record()
	}
	c.log.Info("an aborted start came back", "generation", lc.gen)
	c.h.landed(c.id, lc)
}

// recordPause lies between attempts to record a process that is left.
const recordPause = time.Second

// cameBack reports whether what a start made is still wanted by its conversation.
func (h *Host) cameBack(l *launching) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.back = true
	return !l.adrift
}

func (h *Host) setAdrift(conv string, l *launching) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.back {
		return false
	}
	l.adrift, l.landed = true, make(chan struct{})
	h.adrift[conv] = append(h.adrift[conv], l)
	return true
}

func (h *Host) landed(conv string, l *launching) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.adrift[conv] = slices.DeleteFunc(h.adrift[conv], func(o *launching) bool { return o == l })
	if len(h.adrift[conv]) == 0 {
		delete(h.adrift, conv)
		if c := h.actors[conv]; c != nil {
			// Before the start that waited for it can have a problem of its own.
			c.tell(func() {
				c.dropProblem(CodeExitUnproven)
				c.tx.urgent = true
			})
		}
	}
	close(l.landed)
}

// drifting returns a start of a conversation that was given up and has not come back,
// or nil.
func (h *Host) drifting(conv string) *launching {
	h.mu.Lock()
	defer h.mu.Unlock()
	if list := h.adrift[conv]; len(list) > 0 {
		return list[0]
	}
	return nil
}

// awaitLanding waits for the starts of a conversation that were given up. Like every
// start that has no time limit and can be aborted (rule 22).
func (h *Host) awaitLanding(ctx context.Context, conv string) error {
	for {
		l := h.drifting(conv)
		if l == nil {
			return nil
		}
		select {
		case <-l.landed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// driftError tells of a start that nobody can end; it is nil where there is none.
func (h *Host) driftError(conv string) *Error {
	l := h.drifting(conv)
	if l == nil {
		return nil
	}
	if pid := l.pid.Load(); pid != 0 {
		return fail(CodeExitUnproven, "Process %d did not end, which could not be recorded.", pid)
	}
	return &Error{Code: CodeExitUnproven, complete: true, Detail: "A start of conversation " + conv + " was given up and has not come back: the system still waits for the file that holds its program, or for its working directory. Mend that file system, or restart the machine."}
}

// lookLimit is how long a turn waits for a look at the program.
const lookLimit = time.Second

// programIsReplaced looks at the program behind a session without waiting for a file
// system that does not answer; until it does the program counts as unchanged.
func (s *session) programIsReplaced(look func(process.Program) bool) bool {
	if s.looked != nil {
		// One look at a time: each may hold a thread.
		select {
		case replaced := <-s.looked:
			s.looked = nil
			if replaced {
				return true
			}
		default:
			return false
		}
	}
	looked := make(chan bool, 1)
	program := s.proc.Program()
	go func() { looked <- look(program) }()
	select {
	case replaced := <-looked:
		return replaced
	case <-time.After(lookLimit):
		s.looked = looked
		s.log.Warn("the file of the harness's program cannot be looked at")
		return false
	}
}
