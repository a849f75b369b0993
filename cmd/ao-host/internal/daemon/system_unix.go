//go:build unix

package daemon

import (
	"io/fs"
	"os"
	"syscall"
)

func ownedByUs(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// detached gives a process a session of its own: it has no terminal, and neither
// Ctrl-C nor the end of the terminal reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// terminate asks a process to end.
func terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }
