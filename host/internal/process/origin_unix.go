//go:build linux || darwin

package process

import (
	"errors"
	"fmt"
	"os"
)

// Origin is what is known of where a process comes from.
type Origin struct {
	// Child: it is a child that [Start] started, or descends from one, as far as the
	// process table and the sessions of the children show.
	Child bool
	// Own: it descends from this very process, in whatever way. Where this process
	// starts nothing but harnesses and adopts what they leave behind (see [Adopt]),
	// that says the same and cannot be escaped by detaching.
	Own bool
}

// OriginOf tells where a living process comes from: its ancestors are looked up in
// the process table, and their sessions among those of the children, because a
// process whose parent has ended shows no other trace. The error says that it
// cannot be told: the process has ended or is not visible from here.
func OriginOf(pid int) (Origin, error) {
	var err error
	for range originTries {
		var line []proc
		if line, err = ancestry(pid); err == nil {
			return judge(line, listed()), nil
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	return Origin{}, err
}

const (
	// originTries is how often the ancestors are looked up when one of them ends
	// meanwhile and its children get another parent.
	originTries = 10
	// maxAncestors bounds a walk; the kernel's own bound on nesting is lower than
	// what a shell can do, but nobody has that many.
	maxAncestors = 10_000
)

var errMoved = errors.New("its ancestors changed while they were looked up")

// ancestry returns a process and its ancestors up to this process or the first one.
func ancestry(pid int) ([]proc, error) {
	if pid <= 0 {
		return nil, errors.New("it is not visible from here")
	}
	var line []proc
	for range maxAncestors {
		p, ok, err := inspect(pid)
		switch {
		case err != nil:
			return nil, err
		case !ok && len(line) == 0:
			return nil, fmt.Errorf("process %d has ended", pid)
		case !ok, len(line) > 0 && p.start > line[len(line)-1].start:
			// A process is never older than its parent: that one has ended.
			return nil, errMoved
		}
		line = append(line, p)
		if p.ppid <= 0 || p.pid == os.Getpid() && len(line) > 1 {
			return line, nil
		}
		pid = p.ppid
	}
	return nil, errors.New("it has too many ancestors")
}

// judge compares a process and its ancestors with the children of this process.
func judge(line []proc, children []*family) Origin {
	var o Origin
	for i, p := range line {
		if i > 0 && p.pid == os.Getpid() {
			o.Own = true
			break
		}
		for _, f := range children {
			if f.holds(p) {
				o.Child = true
			}
		}
	}
	return o
}

// holds reports whether a process is the child, or belongs to a session of it. The
// number of a session is given to no new process while one of the session lives, so
// a member that is no older than the child belongs to the child's session.
func (f *family) holds(p proc) bool {
	if !sameBoot(p.start, f.start) || p.start < f.start {
		return false
	}
	if p.pid == f.root {
		return p.start == f.start
	}
	if p.session == f.root {
		leader, ok, err := inspect(f.root)
		return err != nil || !ok || leader.start == f.start
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.sessions[p.session]
	return ok
}
