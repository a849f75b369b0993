package host_test

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cost is what a stretch of work costs this process, without the child: time says
// little on a machine that is shared.
type cost struct {
	start   time.Time
	rss     float64
	cpu     time.Duration
	written float64
}

func newCost() *cost {
	debug.FreeOSMemory()                                      // what benchmarks before this one left would hide the growth
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // resets the peak
	return &cost{time.Now(), readStatus("/proc/self/status", "VmRSS:"), cpuTime(), readStatus("/proc/self/io", "write_bytes:")}
}

// report adds the metrics: how many units a second, the memory the process grew by at
// its peak, and per unit its processor time and the bytes it had the disk write.
func (c *cost) report(b *testing.B, unit string) {
	b.ReportMetric((readStatus("/proc/self/status", "VmHWM:")-c.rss)/1024, "MiB-growth")
	if unit == "" {
		return
	}
	n := float64(b.N)
	b.ReportMetric(n/time.Since(c.start).Seconds(), unit+"s/s")
	b.ReportMetric(float64((cpuTime()-c.cpu).Nanoseconds())/n, "cpu-ns/"+unit)
	b.ReportMetric((readStatus("/proc/self/io", "write_bytes:")-c.written)/n, "disk-B/"+unit)
}

// readStatus reads a number of the process, 0 where there is no /proc.
func readStatus(file, field string) float64 {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n
		}
	}
	return 0
}

// cpuTime is the processor time of this process so far, in steps of 10 ms.
func cpuTime() time.Duration {
	text, _ := os.ReadFile("/proc/self/stat")
	// The name in parentheses may hold spaces; user and system time are the 12th and
	// 13th field after it, in hundredths of a second (proc_pid_stat(5)).
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
