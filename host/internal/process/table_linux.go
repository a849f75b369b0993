package process

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// bootShift leaves the lower 40 bits of a start time for clock ticks since boot,
// 348 years at the kernel's 100 a second, and the 22 above for the boot: after a
// reboot the same pid can come with the same ticks.
const bootShift = 40

var boot = sync.OnceValue(func() int64 {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write(id)
	return int64(h.Sum32() >> 10)
})

func sameBoot(a, b int64) bool { return a>>bootShift == b>>bootShift }

// list reads the process table.
func list() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return nil, err
	}
	var all []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, ok, err := inspect(pid)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("/proc shows no processes")
	}
	return all, nil
}

// inspect reads one row; false means that there is no such process.
func inspect(pid int) (proc, bool, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return proc{}, false, nil
	}
	if err != nil {
		return proc{}, false, err
	}
	p, err := parseStat(b)
	return p, err == nil, err
}

// parseStat reads a line of proc_pid_stat(5). The command in field 2 may hold
// spaces and parentheses, so the fields are counted from its last one.
func parseStat(b []byte) (proc, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return proc{}, fmt.Errorf("unreadable process status %q", b)
	}
	f := bytes.Fields(b[end+1:])
	const first, state, ppid, session, start = 3, 3, 4, 6, 22
	if len(f) <= start-first || len(f[state-first]) != 1 {
		return proc{}, fmt.Errorf("unreadable process status %q", b)
	}
	var err error
	number := func(s []byte) int64 {
		n, e := strconv.ParseInt(string(s), 10, 64)
		err = errors.Join(err, e)
		return n
	}
	p := proc{
		pid:     int(number(bytes.TrimSpace(b[:open]))),
		ppid:    int(number(f[ppid-first])),
		session: int(number(f[session-first])),
		start:   boot()<<bootShift | number(f[start-first]),
	}
	switch f[state-first][0] {
	case 'Z', 'X', 'x':
		p.dead = true
	}
	return p, err
}

// signalExactly signals the process only if it is still the one with that start
// time. The pidfd is taken before the comparison, so the signal cannot reach a
// later owner of the pid. A process that is gone already is what was wanted.
func signalExactly(pid int, start int64, sig syscall.Signal) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	} else if errors.Is(err, unix.ESRCH) {
		return
	}
	if p, ok, inspectErr := inspect(pid); inspectErr != nil || !ok || p.start != start {
		return
	}
	if err == nil && unix.PidfdSendSignal(fd, sig, nil, 0) == nil {
		return
	}
	// Kernels before 5.3 and some sandboxes have no pidfd.
	_ = syscall.Kill(pid, sig)
}
