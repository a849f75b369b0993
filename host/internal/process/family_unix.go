//go:build linux || darwin

package process

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"
)

// proc is one row of the process table.
type proc struct {
	pid, ppid, session int
	// start identifies the process together with its pid.
	start int64
	// dead: it has exited and waits to be collected.
	dead bool
}

// family is a child, its session, and what else descends from it. A session is
// found in the process table even after its leader is gone. Descendants that made
// a session of their own, as a harness does for every command it runs, are found
// while they still have their parent; their sessions are remembered.
type family struct {
	root  int
	start int64

	mu sync.Mutex
	// sessions holds the start time of the leader of every session of the family
	// but the child's own, 0 where the leader had ended before it was seen.
	sessions map[int]int64
}

// table is the process table at one moment.
type table struct {
	rows  []proc
	byPID map[int]proc
}

func readTable() (table, error) {
	rows, err := list()
	t := table{rows: rows, byPID: make(map[int]proc, len(rows))}
	for _, p := range rows {
		t.byPID[p.pid] = p
	}
	return t, err
}

// inSession returns the living processes of a session whose leader had that start
// time. The system gives the number to no new process while one of the session
// lives; so if it belongs to another process now, nothing of the session is left.
func (t table) inSession(session int, leader, notBefore int64) []proc {
	if p, ok := t.byPID[session]; ok && p.start != leader {
		return nil
	}
	var out []proc
	for _, p := range t.rows {
		if p.session == session && !p.dead && sameBoot(p.start, notBefore) && p.start >= notBefore {
			out = append(out, p)
		}
	}
	return out
}

// group returns the living processes of the child's own session, its process
// group among them.
func (f *family) group() ([]proc, error) {
	t, err := readTable()
	if err != nil {
		return nil, err
	}
	return t.inSession(f.root, f.start, f.start), nil
}

// members returns all living processes of the family and remembers their
// sessions.
func (f *family) members() ([]proc, error) {
	t, err := readTable()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	member := make(map[int]bool)
	adopt := func(procs []proc) {
		for _, p := range procs {
			member[p.pid] = true
		}
	}
	adopt(t.inSession(f.root, f.start, f.start))
	for known := -1; known != len(member); {
		known = len(member)
		for session, leader := range f.sessions {
			adopt(t.inSession(session, leader, f.start))
		}
		for _, p := range t.rows {
			if !p.dead && t.descends(p, member) {
				member[p.pid] = true
				f.remember(t, p.session)
			}
		}
	}
	var out []proc
	living := make(map[int]bool)
	for _, p := range t.rows {
		if member[p.pid] {
			out = append(out, p)
			living[p.session] = true
		}
	}
	for session := range f.sessions {
		if !living[session] {
			delete(f.sessions, session)
		}
	}
	return out, nil
}

func (f *family) remember(t table, session int) {
	if _, ok := f.sessions[session]; ok || session == f.root {
		return
	}
	if f.sessions == nil {
		f.sessions = make(map[int]int64)
	}
	f.sessions[session] = t.byPID[session].start
}

// descends reports whether p or one of its ancestors is a member. A process is
// never older than its parent; where it seems so, the table changed while it was
// read and the parent's pid belongs to somebody else.
func (t table) descends(p proc, member map[int]bool) bool {
	for range len(t.rows) {
		if member[p.pid] {
			return true
		}
		parent, ok := t.byPID[p.ppid]
		if !ok || parent.start > p.start {
			return false
		}
		p = parent
	}
	return false
}

const (
	// killWait is how long the processes may take to vanish after SIGKILL, and
	// killWaitCancelled how long when the caller's context has ended.
	killWait          = 5 * time.Second
	killWaitCancelled = 3 * time.Second

	firstPoll = 2 * time.Millisecond
	lastPoll  = 50 * time.Millisecond
)

// end signals the family until nothing of it is left. signalGroup, if given,
// reaches the whole group in one step, which a process that keeps forking cannot
// escape.
func (f *family) end(ctx context.Context, grace time.Duration, signalGroup func(syscall.Signal)) error {
	left, err := f.members()
	if err != nil || len(left) == 0 {
		return tableError(err)
	}
	signal := func(sig syscall.Signal) {
		if signalGroup != nil {
			signalGroup(sig)
		}
		for _, p := range left {
			signalExactly(p.pid, p.start, sig)
		}
	}
	signal(syscall.SIGTERM)
	// A stopped process acts on SIGTERM only when it goes on.
	signal(syscall.SIGCONT)

	killAt := time.NewTimer(grace)
	defer killAt.Stop()
	cancelled := ctx.Done()
	var giveUp <-chan time.Time
	killing := false
	kill := func(wait time.Duration) {
		killing = true
		signal(syscall.SIGKILL)
		giveUp = time.After(wait)
	}
	for delay, over := firstPoll, false; ; delay = min(2*delay, lastPoll) {
		select {
		case <-time.After(delay):
		case <-killAt.C:
			if !killing {
				kill(killWait)
				delay = firstPoll
			}
		case <-cancelled:
			cancelled = nil
			kill(killWaitCancelled)
			delay = firstPoll
		case <-giveUp:
			// This process may have been the slow one, so they are looked at once more.
			over = true
		}
		if left, err = f.members(); err != nil || len(left) == 0 {
			return tableError(err)
		}
		if over {
			return errorf(CodeExitUnproven, ctx.Err(), "Processes of the harness are still running after SIGKILL (pid %s). End them by hand before the conversation goes on.", pids(left))
		}
		if killing {
			signal(syscall.SIGKILL)
		}
	}
}

func tableError(err error) error {
	if err == nil {
		return nil
	}
	return errorf(CodeExitUnproven, err, "The process table cannot be read, so the exit of the harness cannot be proven: %v.", err)
}

func pids(procs []proc) string {
	var out []string
	for _, p := range procs {
		out = append(out, fmt.Sprint(p.pid))
	}
	return strings.Join(out, ", ")
}
