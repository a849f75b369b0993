//go:build linux || darwin

package process

import (
	"context"
	"time"
)

// Gone reports whether the exit of a child of an earlier host is proven (rule
// 21a): the process with that pid and start time is gone, and nothing is left in
// its group and session. Both values were recorded from [Process.PID] and
// [Process.StartTime].
func Gone(pid int, start int64) (bool, error) {
	if err := checkIdentity(pid, start); err != nil {
		return false, err
	}
	f := family{root: pid, start: start}
	left, err := f.group()
	return err == nil && len(left) == 0, tableError(err)
}

// EndOrphan ends what is left of a child of an earlier host and returns nil when
// its exit is proven; see [Process.End] for grace, ctx and the error.
//
// Every process is signalled by pid and start time, on Linux through a pidfd, so
// a reused pid is never hit. What is taken for a leftover is decided by the
// session number: the system gives that number to no new process while one of the
// session lives.
func EndOrphan(ctx context.Context, pid int, start int64, grace time.Duration) error {
	if err := checkIdentity(pid, start); err != nil {
		return err
	}
	f := family{root: pid, start: start}
	return f.end(ctx, grace, nil)
}

// checkIdentity refuses values that no child of ours can have had. Session 0 and
// the first process are the system's.
func checkIdentity(pid int, start int64) error {
	if pid <= 1 || start <= 0 {
		return errorf(CodeExitUnproven, nil, "Process %d with start time %d was never started by this program; nothing is ended. The record of the last run is damaged.", pid, start)
	}
	return nil
}
