package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/host/internal/process"
)

func TestRule21_AnAbortedStartWhoseProcessCannotBeKilledIsNotForgotten(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var started []*process.Process
	began, aborted := make(chan bool, 1), make(chan bool)
	r := newRig(t, echo, func(c *host.Config) {
		c.WithProcesses(func(spec process.Spec) (*process.Process, error) {
			p, err := process.Start(spec)
			mu.Lock()
			defer mu.Unlock()
			if started = append(started, p); len(started) == 1 {
				began <- true
				<-aborted
			}
			return p, err
		}, func(context.Context, *process.Process, time.Duration) error {
			return errors.New("it hangs in the kernel")
		})
	})
	turn := r.send("Go")
	<-began
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	close(aborted)
	r.until("the start to be given up", func() bool { return r.controls().Session.State == host.SessionNone })
	left := started[0]
	t.Cleanup(func() { _ = left.End(context.Background(), time.Second) })
	if !alive(left.PID()) {
		t.Fatal("the process ended by itself; there is nothing to prove")
	}
	st := r.crashed()
	g, err := st.Generation(t.Context(), r.conv, 1)
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	if g.PID != int64(left.PID()) || g.PIDStart != left.StartTime() || !g.ExitedAt.IsZero() {
		t.Fatalf("process %d is left, and kept is %+v", left.PID(), g)
	}
	if s := r.turn(turn.ID).State; s != host.TurnQueued {
		t.Fatalf("the turn is %s", s)
	}
	// Nothing is started before it is gone.
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(turn.ID, host.TurnCompleted)
	if alive(left.PID()) {
		t.Fatalf("two harnesses run: %d is left", left.PID())
	}
	if n := inHistory(t, r.home, turn.ClientID); n != 1 {
		t.Fatalf("the turn was delivered %d times", n)
	}
}
