package daemon

import (
	"context"
	"fmt"
	"os"

	"github.com/aoagents/ao-host/host"
)

// Stop asks the daemon of a data folder to end, waits until it has, and reports
// whether there was one.
func Stop(ctx context.Context, dir string) (bool, error) {
	f, found, err := findFolder(dir)
	if err != nil || !found {
		return false, err
	}
	if _, err := os.Lstat(f.path(lockName)); err != nil {
		return false, nil
	}
	l, was, err := f.endHolder(ctx)
	if err != nil {
		return was, err
	}
	return was, l.release()
}

// takeOver ends the daemon that runs and takes its lock.
func (f folder) takeOver(ctx context.Context) (*lock, error) {
	l, _, err := f.endHolder(ctx)
	if err != nil && ctx.Err() != nil {
		// It was told to end itself while it waited.
		err = ctx.Err()
	}
	return l, err
}

// endHolder asks whoever has the lock to end, each process once, until it has the
// lock itself. It reports whether there was somebody.
func (f folder) endHolder(ctx context.Context) (*lock, bool, error) {
	asked := 0
	for {
		l, err := f.tryLock()
		if l != nil || err != nil {
			return l, asked != 0, err
		}
		// A daemon that was just started has not signed yet.
		if i, ok := f.holder(); ok && i.PID != asked {
			if err := terminate(i.PID); err != nil {
				return nil, false, &host.Error{Code: host.CodeStoreLocked, Detail: fmt.Sprintf("%s is the daemon and cannot be ended: %v.", processName(i.PID), err), Err: err}
			}
			asked = i.PID
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nil, asked != 0, f.busyError()
		}
	}
}
