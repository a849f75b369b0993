package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aoagents/ao-host/host"
)

const (
	socketName = "ao-host.sock"
	// newName is where a socket is made, before it gets its name.
	newName = "ao-host.new"
)

// socketPath is where the daemon of a folder listens: in the folder, unless that
// path does not fit into the address of a socket, which the kernel would call an
// "invalid argument" (D1). Then it is a short path made of the user and the folder
// alone, so that a client finds it whatever its environment. The folder it is in
// belongs to the user alone, see [privateFolder].
func (f folder) socketPath() string {
	if p := f.path(socketName); len(p) <= maxSocketPath {
		return p
	}
	sum := sha256.Sum256([]byte(f.dir))
	return filepath.Join(shortFolder(), hex.EncodeToString(sum[:8])+".sock")
}

// shortFolder is the same for every process of a user: $TMPDIR and the like differ
// between a desktop and a terminal.
func shortFolder() string {
	return filepath.Join(shortParent, "ao-host-"+strconv.Itoa(os.Geteuid()))
}

// shortParent is where the folder of short paths is; tests have one of their own.
var shortParent = "/tmp"

// checkPlace says why the socket's folder must not be used by a client: outside of
// the data folder anybody could have made it.
func (f folder) checkPlace() error {
	if f.path(socketName) == f.socketPath() {
		return nil
	}
	return privateFolder(shortFolder(), false)
}

// privateFolder makes sure that the folder of a socket is the user's own and closed
// to others. Anybody can make a folder in /tmp, so what is there is looked at.
func privateFolder(dir string, create bool) error {
	if create {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return socketError(dir, err)
		} else if err == nil {
			// The umask can only have taken bits away.
			if err := os.Chmod(dir, 0o700); err != nil {
				return socketError(dir, err)
			}
		}
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return socketError(dir, err)
	}
	switch {
	case !fi.IsDir():
		return socketError(dir, errors.New("it is no folder"))
	case !ownedByUs(fi):
		return socketError(dir, errors.New("it belongs to another user"))
	case fi.Mode().Perm()&0o077 != 0:
		return socketError(dir, fmt.Errorf("its mode is %#o, and others may enter it", fi.Mode().Perm()))
	}
	return nil
}

func socketError(path string, err error) error {
	return &host.Error{Code: host.CodeSocketUnusable, Detail: fmt.Sprintf("%s cannot be used: %v.", path, err), Err: err}
}

// listen makes the socket with mode 0600 under any umask. It gets its name only
// when it is ready, in place of what a daemon that was killed has left. The lock
// must be held.
func listen(path string) (net.Listener, error) {
	if err := privateFolder(filepath.Dir(path), filepath.Dir(path) == shortFolder()); err != nil {
		return nil, err
	}
	tmp := filepath.Join(filepath.Dir(path), newName)
	if filepath.Dir(path) == shortFolder() {
		// Daemons of several folders share it.
		tmp = path[:len(path)-len(".sock")] + ".new"
	}
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, socketError(tmp, err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: tmp, Net: "unix"})
	if err != nil {
		return nil, socketError(path, err)
	}
	// It is ours to remove, under its final name.
	ln.SetUnlinkOnClose(false)
	if err = os.Chmod(tmp, 0o600); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return nil, errors.Join(socketError(path, err), ln.Close())
	}
	return ln, nil
}
