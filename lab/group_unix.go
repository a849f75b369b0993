//go:build unix

package lab

import "syscall"

// ownGroup makes the harness the head of a process group, so that what it started can be ended with it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int, sig syscall.Signal) error { return syscall.Kill(-pid, sig) }
