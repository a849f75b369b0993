package process

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the new parent of what its descendants leave behind,
// instead of the first process: so every process that descends from it shows that
// in the process table, however it detached itself (PR_SET_CHILD_SUBREAPER, see
// prctl(2)). What is adopted this way is collected when it ends. It is for a
// process that starts nothing but by [Start].
func Adopt() (stop func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-ended:
			case <-done:
				return
			}
			collect()
			// Many can end at once; one look at the table is enough for them.
			select {
			case <-time.After(collectInterval):
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(ended)
		close(done)
		<-gone
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}), nil
}

const collectInterval = 100 * time.Millisecond

// collect takes the exits of adopted processes. Those of our own children are
// waited for by [Process].
func collect() {
	// No start may be under way: its child is in no list yet.
	children.starting.Lock()
	defer children.starting.Unlock()
	rows, err := list()
	if err != nil {
		return
	}
	children.mu.Lock()
	defer children.mu.Unlock()
	for _, p := range rows {
		if !p.dead || p.ppid != os.Getpid() {
			continue
		}
		if f := children.byID[p.pid]; f != nil && f.start == p.start {
			continue
		}
		_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
	}
}
