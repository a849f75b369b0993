package lockfile

import "golang.org/x/sys/unix"

// ProcessStart returns the start time of a process in microseconds since 1970.
func ProcessStart(pid int) (int64, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, false
	}
	t := k.Proc.P_starttime
	return t.Sec*1e6 + int64(t.Usec), true
}
