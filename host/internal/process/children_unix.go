//go:build linux || darwin

package process

import (
	"os"
	"sync"
)

// children are the processes that [Start] started and that may still have
// descendants. Starting holds the lock for reading from before the fork until the
// child is in the list; so whoever takes it for writing sees every child that was
// running before.
var children = struct {
	starting sync.RWMutex

	mu   sync.Mutex
	byID map[int]*family
}{byID: map[int]*family{}}

// begin starts a program and lists it.
func begin(program string, argv []string, attr *os.ProcAttr) (*os.Process, *family, error) {
	children.starting.RLock()
	defer children.starting.RUnlock()
	started, err := os.StartProcess(program, argv, attr)
	if err != nil {
		return nil, nil, err
	}
	// The child cannot vanish before it is waited for, so this reads the child's
	// own start time and nobody else's.
	self, ok, err := inspect(started.Pid)
	if err != nil || !ok {
		_ = started.Kill()
		_, _ = started.Wait()
		return nil, nil, &unreadable{started.Pid, err}
	}
	f := &family{root: started.Pid, start: self.start}
	children.mu.Lock()
	defer children.mu.Unlock()
	children.byID[f.root] = f
	return started, f, nil
}

// forget takes a family from the list of which nothing is left.
func forget(f *family) {
	children.mu.Lock()
	defer children.mu.Unlock()
	if children.byID[f.root] == f {
		delete(children.byID, f.root)
	}
}

// listed returns the children as they are now.
func listed() []*family {
	// Wait for starts under way.
	children.starting.Lock()
	//nolint:staticcheck // the lock is a barrier, there is nothing to do under it
	children.starting.Unlock()
	children.mu.Lock()
	defer children.mu.Unlock()
	out := make([]*family, 0, len(children.byID))
	for _, f := range children.byID {
		out = append(out, f)
	}
	return out
}

// unreadable: the process table does not show a child.
type unreadable struct {
	pid int
	err error
}

func (u *unreadable) Error() string { return "the process table does not show it" }
func (u *unreadable) Unwrap() error { return u.err }
