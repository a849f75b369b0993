package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/host/internal/process"
)

// hung is a rig whose first start hangs as in the kernel: looking at a program or a
// working directory on a network file system that does not answer, where no context
// ends it.
type hung struct {
	*rig
	answers chan struct{}
	// probed is what the probe is told that asked for it.
	probed chan error
	// late is the process of that start, once the file system has answered.
	late atomic.Pointer[process.Process]
	// early counts the others that began before, beside those that began while it ran.
	early, beside atomic.Int32
	// stuck: no late process can be ended; tried is closed once that was met.
	stuck atomic.Bool
	tried chan struct{}
}

func newHung(t *testing.T, opts ...func(*host.Config)) (*hung, host.Turn) {
	t.Helper()
	u := &hung{answers: make(chan struct{}), tried: make(chan struct{})}
	began := make(chan struct{})
	var starts atomic.Int32
	u.rig = newRig(t, echo, append([]func(*host.Config){func(c *host.Config) {
		c.EndGrace = 100 * time.Millisecond
		c.WithProcesses(func(spec process.Spec) (*process.Process, error) {
			if starts.Add(1) > 1 {
				if p := u.late.Load(); p == nil {
					u.early.Add(1)
				} else if alive(p.PID()) {
					u.beside.Add(1)
				}
				return process.Start(spec)
			}
			close(began)
			<-u.answers
			p, err := process.Start(spec)
			u.late.Store(p)
			return p, err
		}, func(ctx context.Context, p *process.Process, grace time.Duration) error {
			if u.stuck.CompareAndSwap(true, false) {
				close(u.tried)
				return errors.New("it hangs in the kernel")
			}
			return p.End(ctx, grace)
		})
	}}, opts...)...)
	u.probed = make(chan error, 1)
	go func() {
		_, err := u.h.Probe(t.Context(), u.conv)
		u.probed <- err
	}()
	<-began
	return u, u.send("Go")
}

// answer lets the file system answer, and waits until nothing is left of the start.
func (u *hung) answer() {
	u.t.Helper()
	close(u.answers)
	u.until("the late process to be ended", func() bool {
		p := u.late.Load()
		return p != nil && !alive(p.PID())
	})
}

func TestRule22_AStartThatHangsInTheKernelCanBeGivenUpAndTheNextOneWaitsForIt(t *testing.T) {
	t.Parallel()
	u, turn := newHung(t)
	u.stop(host.StopOptions{})
	u.until("the start to be given up", func() bool { return u.controls().Session.State == host.SessionNone })
	// Two processes of one conversation must never be (rule 21).
	next := u.send("And now")
	u.until("the next start", func() bool { return u.controls().Session.State == host.SessionStarting })
	// It can be given up as well.
	u.stop(host.StopOptions{})
	u.until("the next start to be given up", func() bool { return u.controls().Session.State == host.SessionNone })
	if _, err := u.h.ResumeQueue(t.Context(), u.conv); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if n := u.early.Load(); n != 0 {
		t.Fatalf("%d processes were started beside one that is on its way", n)
	}
	u.answer()
	u.untilTurn(turn.ID, host.TurnCompleted)
	u.untilTurn(next.ID, host.TurnCompleted)
	if n := inHistory(t, u.home, turn.ClientID); n != 1 {
		t.Fatalf("the message was delivered %d times", n)
	}
	wantCode(t, <-u.probed, host.CodeStartAborted)
	st := u.crashed()
	defer func() { _ = st.Close() }()
	g, err := st.Generation(t.Context(), u.conv, 1)
	if err != nil || g.ExitedAt.IsZero() {
		t.Fatalf("the generation that was given up: %+v, %v", g, err)
	}
}

func TestRule22_AStartThatWaitsForOneThatHangsSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	u, turn := newHung(t, func(c *host.Config) { c.StartSlow = 500 * time.Millisecond })
	u.stop(host.StopOptions{})
	u.until("the start to be given up", func() bool { return u.controls().Session.State == host.SessionNone })
	if _, err := u.h.ResumeQueue(t.Context(), u.conv); err != nil {
		t.Fatal(err)
	}
	told := func(code host.Code) bool {
		return slices.ContainsFunc(u.controls().Problems, func(p abi.Problem) bool {
			return p.Code == string(code) && strings.Contains(p.Message, "Mend that file system")
		})
	}
	u.until("what it waits for", func() bool { return told(host.CodeExitUnproven) })
	u.until("why it takes long", func() bool { return told(host.CodeStartSlow) })
	u.answer()
	u.until("that to be over", func() bool { return !told(host.CodeExitUnproven) })
	u.untilTurn(turn.ID, host.TurnCompleted)
}

// The disk is full just when the process is there that nothing can end.
func TestRule21_ALateProcessThatCanBeNeitherEndedNorRecordedIsNotForgotten(t *testing.T) {
	disk := onFaultyDisk(t)
	u, turn := newHung(t)
	u.stuck.Store(true)
	u.stop(host.StopOptions{})
	u.until("the start to be given up", func() bool { return u.controls().Session.State == host.SessionNone })
	if _, err := u.h.ResumeQueue(t.Context(), u.conv); err != nil {
		t.Fatal(err)
	}
	u.until("the next start", func() bool { return u.controls().Session.State == host.SessionStarting })
	disk.Fail(0, errDiskFull)
	close(u.answers)
	<-u.tried
	time.Sleep(200 * time.Millisecond)
	disk.Heal()
	u.untilTurn(turn.ID, host.TurnCompleted)
	if n := u.beside.Load(); n != 0 {
		t.Fatalf("%d processes were started beside one that nobody had ended", n)
	}
	if p := u.late.Load(); alive(p.PID()) {
		t.Fatalf("two harnesses run: %d is left", p.PID())
	}
}

func TestRule21_L4_AHostThatEndsNamesALateProcessThatItCouldNeitherEndNorRecord(t *testing.T) {
	disk := onFaultyDisk(t)
	u, _ := newHung(t, func(c *host.Config) { c.WithCloseGrace(100 * time.Millisecond) })
	u.stuck.Store(true)
	u.stop(host.StopOptions{})
	u.until("the start to be given up", func() bool { return u.controls().Session.State == host.SessionNone })
	disk.Fail(0, errDiskFull)
	close(u.answers)
	<-u.tried
	late := u.late.Load()
	defer func() { _ = late.End(context.Background(), time.Second) }()
	time.Sleep(200 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := u.h.Close(ctx)
	u.h = nil
	wantCode(t, err, host.CodeExitUnproven)
	if !strings.Contains(err.Error(), fmt.Sprintf("Process %d did not end", late.PID())) {
		t.Fatalf("process %d is left, and told is: %v", late.PID(), err)
	}
}

func TestRule09_AProbeThatComesWhileAStartIsBeingAbortedIsForTheNextOne(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]time.Duration{"and comes back": patience, "and does not come back": 500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, _ := newHung(t, func(c *host.Config) { c.EndGrace = grace })
			u.stop(host.StopOptions{})
			probed := make(chan error, 1)
			go func() {
				_, err := u.h.Probe(t.Context(), u.conv)
				probed <- err
			}()
			time.Sleep(50 * time.Millisecond)
			if grace != patience {
				u.until("the next start", func() bool { return u.controls().Session.Generation == 2 })
			}
			u.answer()
			wantCode(t, <-u.probed, host.CodeStartAborted)
			if err := <-probed; err != nil {
				t.Fatalf("nobody stopped what it asked for: %v", err)
			}
			if s := u.controls().Session; s.State != host.SessionReady || s.Generation != 2 {
				t.Fatalf("the session is %+v", s)
			}
		})
	}
}

func TestRule22_L4_AHostEndsAlthoughAStartHangsInTheKernelAndSaysSo(t *testing.T) {
	t.Parallel()
	u, turn := newHung(t)
	h := u.h
	closed := make(chan error, 1)
	go func() { closed <- h.Close(t.Context()) }()
	select {
	case err := <-closed:
		wantCode(t, err, host.CodeExitUnproven)
	case <-time.After(patience):
		t.Fatal("the host did not close")
	}
	u.answer()
	u.open()
	if _, err := u.h.ResumeQueue(t.Context(), u.conv); err != nil {
		t.Fatal(err)
	}
	u.untilTurn(turn.ID, host.TurnCompleted)
	if n := inHistory(t, u.home, turn.ClientID); n != 1 {
		t.Fatalf("the message was delivered %d times", n)
	}
}

func TestRule21_AConversationWhoseStartHangsInTheKernelIsNotDeleted(t *testing.T) {
	t.Parallel()
	u, turn := newHung(t)
	wantCode(t, u.h.Delete(t.Context(), u.conv, host.DeleteRequest{Unfinished: true}), host.CodeExitUnproven)
	if s := u.turn(turn.ID).State; s != host.TurnQueued {
		t.Fatalf("the message is %s", s)
	}
	u.answer()
	u.until("the conversation to be deleted", func() bool {
		return u.h.Delete(t.Context(), u.conv, host.DeleteRequest{Unfinished: true}) == nil
	})
}

// Its ids stand for what an embedder's hook, or the kernel, never gives back.
func TestL4_AHostEndsAlthoughAConversationHangsAndSaysSo(t *testing.T) {
	t.Parallel()
	var hangs atomic.Bool
	hanging, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, echo, func(c *host.Config) {
		c.EndGrace = 100 * time.Millisecond
		c.WithCloseGrace(100 * time.Millisecond)
		c.IDs = func() string {
			if hangs.CompareAndSwap(true, false) {
				close(hanging)
				<-release
			}
			return uuid.NewString()
		}
	})
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	pid := r.controls().Session.PID
	hangs.Store(true)
	refused := make(chan error, 1)
	go func() {
		_, err := r.h.Send(context.Background(), r.conv, host.Message{Content: host.Text("And now")})
		refused <- err
	}()
	<-hanging
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- r.h.Close(ctx) }()
	select {
	case err := <-closed:
		wantCode(t, err, host.CodeExitUnproven)
	case <-time.After(patience):
		t.Error("the host did not close")
	}
	close(release)
	wantCode(t, <-refused, host.CodeClosed)
	r.open()
	r.untilTurn(r.send("Go on").ID, host.TurnCompleted)
	r.until("the first harness to be gone", func() bool { return !alive(pid) })
}

func TestL5_AProgramThatCannotBeLookedAtIsUsedOn(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	answers := make(chan bool)
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"say":"Hi."}]}]}`, func(c *host.Config) {
		c.WithReplaced(func(process.Program) bool {
			looks.Add(1)
			return <-answers
		})
	})
	for range 2 {
		r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	}
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	if n := looks.Load(); n != 1 {
		t.Fatalf("%d looks wait for the file system", n)
	}
	answers <- true
	close(answers)
	// A turn that comes before the answer does is not held up either.
	turns := 3
	r.until("a turn in the program that replaced it", func() bool {
		r.untilTurn(r.send("Again").ID, host.TurnCompleted)
		turns++
		return r.controls().Session.Generation == 2
	})
	if said := r.texts(abi.ItemMessage); len(said) != turns {
		t.Fatalf("the agent said %q in %d turns", said, turns)
	}
}
