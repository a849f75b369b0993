//go:build linux || darwin

package process

import (
	"context"
	"fmt"
	"strings"
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

// family is a child, its session, and what else descends from it. The session is
// found in the process table even after the child is gone. Descendants that made
// a session of their own, as a harness does for the commands it runs in a
// terminal, are found while they still have their parent, and remembered.
type family struct {
	root  int
	start int64
	// known holds the start times of members seen, by pid.
	known map[int]int64
}

// group returns the living processes of the child's session, its group among
// them.
//
// A pid is not reused while a group or session has that number. So if another
// process has the child's pid, nothing of the old session is left.
func (f *family) group() ([]proc, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	return f.inGroup(all), nil
}

func (f *family) inGroup(all []proc) []proc {
	var out []proc
	for _, p := range all {
		if p.pid == f.root && p.start != f.start {
			return nil
		}
		if p.session == f.root && !p.dead && sameBoot(p.start, f.start) && p.start >= f.start {
			out = append(out, p)
		}
	}
	return out
}

// members returns all living processes of the family.
func (f *family) members() ([]proc, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	byPID := make(map[int]proc, len(all))
	for _, p := range all {
		byPID[p.pid] = p
	}
	member := make(map[int]bool)
	for _, p := range f.inGroup(all) {
		member[p.pid] = true
	}
	for pid, start := range f.known {
		if p, ok := byPID[pid]; ok && p.start == start && !p.dead {
			member[pid] = true
		} else {
			delete(f.known, pid)
		}
	}
	var out []proc
	for _, p := range all {
		if !p.dead && descends(p, byPID, member) {
			member[p.pid] = true
			out = append(out, p)
			if f.known == nil {
				f.known = make(map[int]int64)
			}
			f.known[p.pid] = p.start
		}
	}
	return out, nil
}

// descends reports whether p or one of its ancestors is a member. A process is
// never older than its parent; where it seems so, the table changed while it was
// read and the parent's pid belongs to somebody else.
func descends(p proc, byPID map[int]proc, member map[int]bool) bool {
	for range len(byPID) {
		if member[p.pid] {
			return true
		}
		parent, ok := byPID[p.ppid]
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
	killWaitCancelled = time.Second

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
	for delay := firstPoll; ; delay = min(2*delay, lastPoll) {
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
			return errorf(CodeExitUnproven, ctx.Err(), "Processes of the harness are still running after SIGKILL (pid %s). End them by hand before the conversation goes on.", pids(left))
		}
		if left, err = f.members(); err != nil || len(left) == 0 {
			return tableError(err)
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
