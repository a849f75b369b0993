package host_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host"
)

// BenchmarkPipeline measures the whole way of a streamed delta of 100 bytes: from
// the line on the pipe through schema check, sandboxed step and input log to the
// committed journal. The child is a real process that shares the two cores.
func BenchmarkPipeline(b *testing.B) {
	pipeline(b, "delta", func(b *testing.B, script string) *rig { return newBenchRig(b, script) })
}

// pipeline streams b.N chunks of each size in one turn.
func pipeline(b *testing.B, unit string, open func(*testing.B, string) *rig) {
	for _, size := range []int{100, 4096} {
		b.Run(fmt.Sprintf("%s=%dB", unit, size), func(b *testing.B) {
			r := open(b, `{"turns":[{"repeat":true,"steps":[`+burst(b.N, size)+`]}]}`)
			if _, err := r.h.Probe(b.Context(), r.conv); err != nil {
				b.Fatal(err)
			}
			c := newCost()
			b.ResetTimer()
			turn := r.send("Go")
			r.untilTurnSoon(turn.ID)
			b.StopTimer()
			c.report(b, unit)
		})
	}
}

// newBenchRig is newRig for benchmarks.
func newBenchRig(b *testing.B, script string, opts ...func(*host.Config)) *rig {
	return newRig(b, script, opts...)
}

// untilTurnSoon waits for the end without a deadline worth measuring.
func (r *rig) untilTurnSoon(id string) {
	r.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		s := r.turn(id)
		if s.State == host.TurnCompleted {
			return
		}
		if s.State.Ended() || time.Now().After(deadline) {
			r.t.Fatalf("turn %s: %s %s", s.State, s.Code, s.Message)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// BenchmarkSend measures a message that the child answers at once: acceptance,
// dispatch, the agent's answer and the end of the turn, each committed.
func BenchmarkSend(b *testing.B) {
	r := newBenchRig(b, echo)
	if _, err := r.h.Probe(b.Context(), r.conv); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		turn := r.send("Go")
		r.untilTurnSoon(turn.ID)
	}
}

// BenchmarkBurst measures what the memory of the host grows by while a child
// prints 100,000 deltas as fast as it can.
func BenchmarkBurst(b *testing.B) {
	r := newBenchRig(b, `{"turns":[{"repeat":true,"steps":[`+burst(100_000, 100)+`]}]}`)
	if _, err := r.h.Probe(b.Context(), r.conv); err != nil {
		b.Fatal(err)
	}
	c := newCost()
	for b.Loop() {
		turn := r.send("Go")
		r.untilTurnSoon(turn.ID)
	}
	c.report(b, "")
}

// BenchmarkHugeLine measures the same for one line of 64 MiB, which is skipped and
// reported; the session goes on.
func BenchmarkHugeLine(b *testing.B) {
	r := newBenchRig(b, `{"turns":[{"repeat":true,"steps":[{"huge":{"bytes":67108864,"kind":"delta"}},{"say":"Done."}]}]}`)
	if _, err := r.h.Probe(b.Context(), r.conv); err != nil {
		b.Fatal(err)
	}
	c := newCost()
	for b.Loop() {
		turn := r.send("Go")
		r.untilTurnSoon(turn.ID)
	}
	if len(r.warnings(string(host.CodeLineSkipped))) == 0 {
		b.Fatal("the skipped line was not told")
	}
	c.report(b, "")
}
