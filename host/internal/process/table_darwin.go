package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// stateZombie is SZOMB of sys/proc.h.
const stateZombie = 5

// sameBoot: start times are absolute, so a different boot has different ones.
func sameBoot(_, _ int64) bool { return true }

// list reads the process table.
func list() ([]proc, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	all := make([]proc, 0, len(infos))
	for i := range infos {
		all = append(all, rowOf(&infos[i]))
	}
	return all, nil
}

// inspect reads one row; false means that there is no such process.
func inspect(pid int) (proc, bool, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.pid", pid)
	if err != nil {
		return proc{}, false, err
	}
	for i := range infos {
		if p := rowOf(&infos[i]); p.pid == pid {
			return p, true, nil
		}
	}
	return proc{}, false, nil
}

func rowOf(info *unix.KinfoProc) proc {
	pid := int(info.Proc.P_pid)
	// The table has the session only as a kernel address. A zombie has none to ask
	// for; it counts as dead anyway.
	session, err := unix.Getsid(pid)
	if err != nil {
		session = -1
	}
	t := info.Proc.P_starttime
	return proc{
		pid:     pid,
		ppid:    int(info.Eproc.Ppid),
		session: session,
		start:   t.Sec*1e6 + int64(t.Usec),
		dead:    info.Proc.P_stat == stateZombie,
	}
}

// signalExactly signals the process only if it is still the one with that start
// time. Darwin has no pidfd; between the look and the signal lie microseconds,
// and pids are given out in turn.
func signalExactly(pid int, start int64, sig syscall.Signal) {
	if p, ok, err := inspect(pid); err == nil && ok && p.start == start {
		_ = syscall.Kill(pid, sig)
	}
}
