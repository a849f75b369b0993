//go:build !unix

package lab

import (
	"os"
	"syscall"
)

// ownGroup: no process groups here, and no pinned harness either.
func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(pid int, _ syscall.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
