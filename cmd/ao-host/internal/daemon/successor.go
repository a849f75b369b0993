package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/internal/lockfile"
)

// successorPatience is how long a client whose daemon has gone waits for another
// process to begin to take its place; tests wait less. Between the two nobody has
// the lock: the command that replaces a daemon ends it, then starts a process.
var successorPatience = 3 * time.Second

// awaitDaemon waits until a daemon answers, and says who it is. As long as a process has the daemon's
// lock one ends or begins, and it is waited for; after that for another moment of
// patience. Then the error is [ErrNotRunning].
func (f folder) awaitDaemon(ctx context.Context, patience time.Duration) (Info, error) {
	// Only the pauses are counted: while a busy machine takes its time for a look, the
	// daemon that is waited for gets no further either.
	var held, free time.Duration
	for {
		c, info, err := f.connect(ctx)
		if err == nil {
			err = c.Close(ctx)
		}
		if !errors.Is(err, ErrNotRunning) {
			return info, err
		}
		switch somebody := f.held(); {
		case somebody && held >= lockPatience:
			return info, f.busyError()
		case somebody:
			held += pollInterval
			free = 0
		case free >= patience:
			return info, err
		default:
			free += pollInterval
		}
		if err := pause(ctx, pollInterval); err != nil {
			return info, err
		}
	}
}

// held reports whether a process has the daemon's lock.
func (f folder) held() bool {
	file, err := os.Open(f.path(lockName))
	if err != nil {
		return false
	}
	ok, err := lockfile.Take(file)
	if !ok || err != nil {
		_ = file.Close()
		return err == nil
	}
	// What the file says stays: it tells how the last daemon ended.
	_ = lockfile.Release(file)
	return false
}

// WhileLocked does what opens a data folder, again as long as another process has
// it for a moment: a command that is about to end, or a daemon that takes another
// one's place.
func WhileLocked[T any](ctx context.Context, open func() (T, error)) (T, error) {
	for waited := time.Duration(0); ; waited += pollInterval {
		v, err := open()
		if host.CodeOf(err) != host.CodeStoreLocked || waited >= openPatience {
			return v, err
		}
		if err := pause(ctx, pollInterval); err != nil {
			return v, err
		}
	}
}

// openPatience is how long a command that is about to end is waited for; tests wait
// less.
var openPatience = 3 * time.Second
