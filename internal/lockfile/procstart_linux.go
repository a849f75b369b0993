package lockfile

import (
	"bytes"
	"os"
	"strconv"
)

// ProcessStart returns the start time of a process in clock ticks since boot:
// field 22 of /proc/PID/stat, see proc_pid_stat(5). The command in field 2 may
// hold spaces and parentheses, so fields count from the last parenthesis.
func ProcessStart(pid int) (int64, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return 0, false
	}
	start, err := strconv.ParseInt(string(fields[19]), 10, 64)
	return start, err == nil
}
