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
	asked := 0
	for {
		l, err := f.tryLock()
		if err != nil {
			return asked != 0, err
		}
		if l != nil {
			return asked != 0, l.release()
		}
		// A daemon that was just started has not signed yet.
		if i, ok := f.holder(); ok && i.PID != asked {
			if err := terminate(i.PID); err != nil {
				return false, &host.Error{Code: host.CodeStoreLocked, Detail: fmt.Sprintf("%s is the daemon and cannot be ended: %v.", processName(i.PID), err), Err: err}
			}
			asked = i.PID
		}
		if err := pause(ctx, pollInterval); err != nil {
			return asked != 0, f.busyError()
		}
	}
}
