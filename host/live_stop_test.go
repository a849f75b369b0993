package host_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/model"
)

// hangs is a reply that begins and never ends.
func hangs(text string) model.Step {
	return model.Step{Reply: []model.Action{model.Text(text), {Hang: true}}}
}

func TestLiveS1_StoppingTwiceHangsNothingAndTheNextTurnRunsInTheSameProcess(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Work", hangs("Working.")), on("Go on", says("Done.")))
		first := l.send("Work")
		l.until("the first words", func() bool { return len(bodies[any](l.rig, host.EventDelta)) > 0 })
		pid := l.controls().Session.PID
		queued := l.send("Go on")
		l.stop(host.StopOptions{Turn: first.ID})
		// The second one may come before or after the end.
		if _, err := l.h.Stop(t.Context(), l.conv, host.StopOptions{Turn: first.ID}); err != nil {
			wantCode(t, err, host.CodeTurnNotRunning)
		}
		l.untilTurn(first.ID, host.TurnInterrupted)
		_, err := l.h.Stop(t.Context(), l.conv, host.StopOptions{})
		wantCode(t, err, host.CodeNothingRunning)
		// Q1: what was queued is kept and held, not dropped.
		c := l.controls()
		if !c.Queue.Held || c.Queue.Reason != host.CodeHoldStopped || len(c.Queue.Turns) != 1 {
			t.Fatalf("queue %+v", c.Queue)
		}
		// What was streamed before the stop is kept.
		if got := l.texts("message"); len(got) != 1 || got[0] != "Working." {
			t.Fatalf("kept %q", got)
		}
		if _, err := l.h.ResumeQueue(t.Context(), l.conv); err != nil {
			t.Fatal(err)
		}
		l.untilTurn(queued.ID, host.TurnCompleted)
		if c := l.controls(); c.Session.PID != pid || c.Session.Generation != 1 {
			t.Fatalf("the process was replaced: %+v", c.Session)
		}
	})
}

func TestLiveS1_AStopRightAfterTheSendEndsThatTurnAndNoOther(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, always(on("Never mind", hangs("Working."))), always(on("Go on", says("Done."))))
		if _, err := l.h.Probe(t.Context(), l.conv); err != nil {
			t.Fatal(err)
		}
		// At several distances, because the interesting ones are microseconds wide:
		// before the frame is written, before Codex names the turn, before it runs it.
		for _, wait := range []time.Duration{0, 0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond} {
			turn := l.send("Never mind")
			time.Sleep(wait)
			l.stop(host.StopOptions{Turn: turn.ID})
			// One that does not reach Codex ends with its process, after the grace time.
			l.untilTurn(turn.ID, host.TurnInterrupted, host.TurnNotSent)
			next := l.send("Go on")
			l.untilTurn(next.ID, host.TurnCompleted)
		}
		if g := l.generation(); g != 1 {
			t.Fatalf("generation %d: a stop ended the process", g)
		}
		if n := len(l.asked("Go on")); n != 6 {
			t.Fatalf("the model was asked %d times to go on, want 6", n)
		}
	})
}

func TestLiveS1_AStopWhileTheHarnessStartsKeepsTheMessage(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Go", says("Done.")))
		turn := l.send("Go")
		l.stop(host.StopOptions{})
		l.until("the start to be given up", func() bool { return l.controls().Session.State == host.SessionNone })
		if got := l.turn(turn.ID); got.State != host.TurnQueued {
			t.Fatalf("the message is %s", got.State)
		}
		if c := l.controls(); !c.Queue.Held || c.Queue.Reason != host.CodeStartAborted {
			t.Fatalf("queue %+v", c.Queue)
		}
		if _, err := l.h.ResumeQueue(t.Context(), l.conv); err != nil {
			t.Fatal(err)
		}
		l.untilTurn(turn.ID, host.TurnCompleted)
		if n := len(l.asked("Go")); n != 1 {
			t.Fatalf("the model was asked %d times", n)
		}
	})
}

func TestLiveL4_ClosingTheHostInATurnLeavesNoProcess(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{},
			on("Go on", says("Done.")),
			on("Work", calls("call_s", "exec_command", `{"cmd":"sleep 1000","yield_time_ms":60000}`)), after("call_s", hangs("It is still running.")))
		first := l.send("Work")
		l.until("the command to run", func() bool {
			return slices.ContainsFunc(bodies[abi.Item](l.rig, host.EventItem), func(it abi.Item) bool { return it.Type == abi.ItemCommand })
		})
		pid := l.controls().Session.PID
		l.close()
		if alive(pid) {
			t.Fatalf("the harness %d lives after Close", pid)
		}
		l.open()
		if got := l.turn(first.ID); got.State != host.TurnInterrupted {
			t.Fatalf("the turn is %s", got.State)
		}
		next := l.send("Go on")
		l.untilTurn(next.ID, host.TurnCompleted)
	})
}
