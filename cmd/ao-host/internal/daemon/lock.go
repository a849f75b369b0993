package daemon

import (
	"errors"
	"os"
	"time"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/internal/lockfile"
)

const lockName = "daemon.lock"

// Info is what a daemon says about itself in its lock file.
type Info struct {
	lockfile.Holder
	Version string `json:"version"`
	// Socket is the path of the unix socket, Address the one of TCP if it listens
	// there.
	Socket  string `json:"socket"`
	Address string `json:"address,omitempty"`
	// Ending: it was told to end.
	Ending bool `json:"ending,omitempty"`
}

// lock is the lock of a folder's daemon.
type lock struct{ file *os.File }

// tryLock takes the lock without waiting; nil means another process has it.
func (f folder) tryLock() (*lock, error) {
	file, err := f.openPrivate(lockName, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	ok, err := lockfile.Take(file)
	if err != nil || !ok {
		_ = file.Close()
		if err != nil {
			err = folderError(f.dir, err)
		}
		return nil, err
	}
	return &lock{file}, nil
}

// write records who has the lock.
func (l *lock) write(version, socket, address string, now time.Time) (Info, error) {
	i := Info{Holder: lockfile.Self(now), Version: version, Socket: socket, Address: address}
	return i, lockfile.Write(l.file, i)
}

// end records that its holder was told to end: who ends it at once from here on, or
// whose machine goes down with it, has wanted that.
func (l *lock) end(i Info) error {
	i.Ending = true
	return lockfile.Write(l.file, i)
}

// lost reports whether the folder was moved, removed or replaced, so that another
// daemon may have the place.
func (l *lock) lost(f folder) bool { return lockfile.Lost(l.file, f.path(lockName)) }

// release gives the lock up. What the file says is taken back first: nobody reads
// about a daemon that is gone.
func (l *lock) release() error { return errors.Join(l.file.Truncate(0), lockfile.Release(l.file)) }

// holder returns what the lock file says, if a living process wrote it.
func (f folder) holder() (Info, bool) {
	file, err := os.Open(f.path(lockName))
	if err != nil {
		return Info{}, false
	}
	defer func() { _ = file.Close() }()
	var i Info
	if !lockfile.Read(file, &i) || !i.Alive() {
		return Info{}, false
	}
	return i, true
}

// Crashed reports whether the last daemon of a data folder ended without having been
// told to: it was killed, or failed. Whoever needs it may start it again unasked.
func Crashed(dir string) bool {
	f, found, err := findFolder(dir)
	if err != nil || !found {
		return false
	}
	file, err := os.Open(f.path(lockName))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	var i Info
	return lockfile.Read(file, &i) && i.PID > 0 && !i.Ending && !i.Alive()
}

// busyError says that the folder belongs to somebody who does not answer.
func (f folder) busyError() error {
	who := "Another process"
	if i, ok := f.holder(); ok {
		who = processName(i.PID)
	}
	return &host.Error{Code: host.CodeStoreLocked, Detail: who + " is the daemon of " + f.dir + " and does not answer."}
}
