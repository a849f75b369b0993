package host_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// A caller that gives up in the middle may find its message accepted or not, but
// an error never comes as a success, and what was committed is not forgotten.
func TestRule19_ACallerThatGivesUpNeverHoldsAFalseAcceptanceAndLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	r.untilTurn(r.send("Start").ID, host.TurnCompleted)
	const senders, each = 4, 25
	var wg sync.WaitGroup
	for s := range senders {
		rnd := rand.New(rand.NewPCG(uint64(s), 1))
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("given-up-%d-%d", s, i)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.IntN(4000))*time.Microsecond)
				turn, err := r.h.Send(ctx, r.conv, host.Message{ClientID: id, Content: host.Text(id)})
				cancel()
				if err == nil && turn.ClientID != id {
					t.Errorf("message %s was accepted as %+v", id, turn)
				}
			}
		})
	}
	wg.Wait()
	r.until("everything accepted to run", func() bool {
		turns, err := r.h.Turns(t.Context(), r.conv)
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range turns {
			if turn.State != host.TurnCompleted {
				return false
			}
		}
		return true
	})
	// Whether it was accepted then or only now, it runs once.
	for s := range senders {
		for i := range each {
			id := fmt.Sprintf("given-up-%d-%d", s, i)
			turn, err := r.h.Send(t.Context(), r.conv, host.Message{ClientID: id, Content: host.Text(id)})
			if err != nil {
				t.Fatal(err)
			}
			r.untilTurn(turn.ID, host.TurnCompleted)
			if n := inHistory(t, r.home, id); n != 1 {
				t.Errorf("message %s was delivered %d times", id, n)
			}
		}
	}
}

// inHistory counts how often the scripted harness took a message, by its own
// durable history.
func inHistory(t testing.TB, home, clientID string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(home, "scripted"), func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // a temporary file that was moved into its place
		}
		n += strings.Count(string(b), `"clientId":"`+clientID+`"`) + strings.Count(string(b), `"clientId": "`+clientID+`"`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// newSlowStop opens a host on an agent whose first turn goes on after it was
// interrupted, until it is let go.
func newSlowStop(t *testing.T) (r *rig, letGo func()) {
	t.Helper()
	gate, letGo := newGate(t)
	return newRig(t, fmt.Sprintf(`{"methods":{"turn/interrupt":[{"wait_file":%q,"times":1}]},"turns":[
 {"when":{"turn":1},"steps":[{"say":"Working."},{"wait_interrupt":true}]},
 {"repeat":true,"steps":[{"say":"Done."}]}]}`, gate)), letGo
}

func TestRule22_AMessageSentAfterAStopReleasesTheQueueAlthoughTheTurnHasNotEndedYet(t *testing.T) {
	t.Parallel()
	r, letGo := newSlowStop(t)
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	older := r.send("Older")
	r.stop(host.StopOptions{})
	newer := r.send("Newer")
	if s := r.turn(first.ID).State; s != host.TurnRunning {
		t.Fatalf("the stopped turn is %s before the agent has ended it", s)
	}
	letGo()
	r.untilTurn(first.ID, host.TurnInterrupted)
	r.untilTurn(newer.ID, host.TurnCompleted)
	r.untilTurn(older.ID, host.TurnCompleted)
}

func TestRule21b_ASteerSentAfterAStopRunsAlthoughOlderTurnsAreHeld(t *testing.T) {
	t.Parallel()
	r, letGo := newSlowStop(t)
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	older := r.send("Older")
	r.stop(host.StopOptions{})
	steer, err := r.h.Steer(t.Context(), r.conv, host.Message{Content: host.Text("Instead")})
	if err != nil {
		t.Fatal(err)
	}
	letGo()
	r.untilTurn(first.ID, host.TurnInterrupted)
	r.untilTurn(steer.ID, host.TurnCompleted)
	if s := r.turn(older.ID).State; s != host.TurnQueued || !r.controls().Queue.Held {
		t.Fatalf("the older turn is %s, the queue %+v", s, r.controls().Queue)
	}
}

func TestRule22_AMessageSentWhileAnAbortedStartEndsIsNotHeldWithIt(t *testing.T) {
	gate, open := newGate(t)
	shell := filepath.Join(t.TempDir(), "shell")
	if err := os.WriteFile(shell, []byte("#!/bin/sh\n"+untilFile(gate)+"exec /bin/sh \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHELL", shell)
	home := ""
	r := newRig(t, echo, func(c *host.Config) {
		// The start is in the login shell for a while, where no child exists yet.
		for _, kv := range c.Env {
			if v, ok := strings.CutPrefix(kv, "HOME="); ok {
				home = v
			}
		}
		c.Env = nil
		l := c.Launch["codex"]
		l.Env = append(l.Env, "HOME="+home, "CODEX_HOME="+home)
		c.Launch["codex"] = l
	})
	first := r.send("First")
	r.until("the start", func() bool { return r.controls().Session.State == host.SessionStarting })
	r.stop(host.StopOptions{})
	second := r.send("Second")
	open()
	r.untilTurn(first.ID, host.TurnCompleted)
	r.untilTurn(second.ID, host.TurnCompleted)
}

// untilFile is what waits for a file in a script of the shell. It has no PATH to rely on.
func untilFile(path string) string {
	return "while [ ! -e " + path + " ]; do /bin/sleep 0.02; done\n"
}

func TestRule22_StartsThatAPersonAbortsAreNoFaultsOfTheBinding(t *testing.T) {
	t.Parallel()
	// It never comes to life. The binding may not be compiled yet: then all of them wait
	// for that when they end.
	r := newRig(t, `{"methods":{"initialize":[{"hang":true}]},"turns":[]}`)
	for range 4 {
		c, err := r.h.Create(t.Context(), host.NewConversation{Harness: "codex", Cwd: r.cwd})
		if err != nil {
			t.Fatal(err)
		}
		r.conv = c.ID
		r.send("Hello")
		r.until("the start", func() bool { return r.controls().Session.State == host.SessionStarting })
		r.stop(host.StopOptions{})
	}
	r.until("the abort", func() bool { return r.controls().Session.State == host.SessionNone })
	r.script(echo)
	last := r.send("Now really")
	r.untilTurn(last.ID, host.TurnCompleted)
}

func TestAnAbortedStartDoesNotReplaceTheLoginEnvironmentForGood(t *testing.T) {
	dir := t.TempDir()
	shell := filepath.Join(dir, "shell")
	asked := filepath.Join(dir, "asked")
	gate, open := newGate(t)
	if err := os.WriteFile(shell, []byte("#!/bin/sh\n: >"+asked+"\n"+untilFile(gate)+"export CODEX_HOME="+dir+"/login-home\nexec /bin/sh \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "login-home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(echo), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHELL", shell)
	t.Setenv("CODEX_HOME", filepath.Join(dir, "nowhere"))
	r := newRig(t, echo, func(c *host.Config) { c.Env = nil })
	r.send("First")
	r.until("the shell to be asked", func() bool { _, err := os.Stat(asked); return err == nil })
	r.stop(host.StopOptions{})
	r.until("the abort", func() bool { return r.controls().Session.State == host.SessionNone })
	open()
	second := r.send("Second")
	r.untilTurn(second.ID, host.TurnCompleted)
	if n := inHistory(t, home, second.ClientID); n != 1 {
		t.Fatal("the harness was not started with the login shell's environment")
	}
}

// deafEnv makes the scripted harness close its input for good once it has read a
// line that holds the value; it lives on.
const deafEnv = "AO_TEST_DEAF"

// deafInput is an input that ends its pipe and then blocks.
type deafInput struct {
	f    *os.File
	mark string
	line []byte
}

func (d *deafInput) Read(p []byte) (int, error) {
	if strings.HasSuffix(string(d.line), "\n") {
		if strings.Contains(string(d.line), d.mark) {
			_ = d.f.Close()
			select {}
		}
		d.line = d.line[:0]
	}
	n, err := io.ReadFull(d.f, p[:1])
	d.line = append(d.line, p[:n]...)
	return n, err
}

func TestRule21_AMessageThatCannotBeWrittenBecauseTheHarnessClosedItsInputIsNotStuck(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo, func(c *host.Config) {
		l := c.Launch["codex"]
		l.Env = append(l.Env, deafEnv+"=Hear no more")
		c.Launch["codex"] = l
	})
	last := r.send("Hear no more")
	r.untilTurn(last.ID, host.TurnCompleted)
	lost := r.send("Anybody there")
	r.until("the deaf harness to be ended", func() bool { return r.controls().Session.State == host.SessionNone })
	if got := r.turn(lost.ID); got.State != host.TurnQueued {
		t.Fatalf("the turn that was never written is %s (%s)", got.State, got.Message)
	}
	if q := r.controls().Queue; !q.Held || q.Reason != host.CodeHarnessExited {
		t.Fatalf("queue %+v", q)
	}
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(lost.ID, host.TurnCompleted)
	if n := inHistory(t, r.home, lost.ClientID); n != 1 {
		t.Fatalf("it was delivered %d times", n)
	}
}

func TestAnImplementationUnderAUsedClientIDIsRefusedAndThePlanStaysOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t, primary)
	r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionAuto)})
	first := r.send("Take notes")
	card := r.untilInput()
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("name", 0)}})
	r.untilTurn(first.ID, host.TurnCompleted)
	plan := r.untilPlan()
	d := host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision, ClientID: first.ClientID, Feedback: "More"}
	_, err := r.h.ContinuePlan(t.Context(), r.conv, d)
	wantCode(t, err, host.CodeClientIDReused)
	_, err = r.h.RequestChanges(t.Context(), r.conv, d)
	wantCode(t, err, host.CodeClientIDReused)
	if again := r.untilPlan(); again.ID != plan.ID {
		t.Fatalf("the open plan is %s", again.ID)
	}
	d.ClientID = "fresh"
	impl, err := r.h.ContinuePlan(t.Context(), r.conv, d)
	if err != nil {
		t.Fatal(err)
	}
	r.untilTurn(impl.ID, host.TurnCompleted)
}

func TestRule21b_AnAnswerStaysInFrontOfOlderMessagesAfterARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[
 {"when":{"text":"Work"},"steps":[{"ask_async":{"id":"q","questions":[{"title":"Which?","options":["Red","Blue"]}]}},{"say":"Working."},{"wait_interrupt":true}]},
 {"repeat":true,"steps":[{"say":"got {{text}}"}]}]}`, func(c *host.Config) { c.LeaveIdle = true })
	first := r.send("Work")
	card := r.untilInput()
	older := r.send("Older")
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 0)}})
	var answer string
	r.until("the answer's turn", func() bool {
		turns, err := r.h.Turns(t.Context(), r.conv)
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range turns {
			if turn.Origin == abi.OriginAnswer {
				answer = turn.ID
			}
		}
		return answer != ""
	})
	r.restart()
	if got := r.turn(first.ID).State; got != host.TurnInterrupted {
		t.Fatalf("the running turn is %s", got)
	}
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(older.ID, host.TurnCompleted)
	a, o := r.untilTurn(answer, host.TurnCompleted), r.turn(older.ID)
	if !a.StartedAt.Before(*o.StartedAt) {
		t.Fatalf("the answer started at %v, the older message at %v", a.StartedAt, o.StartedAt)
	}
}

func TestATurnThatABindingFaultLeftWaitingIsShownAsHeld(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	bad := r.send("trap")
	r.until("the fault to be told", func() bool { return len(r.warnings(string(host.CodeBindingFault))) == 1 })
	r.until("the harness to be ended", func() bool { return r.controls().Session.State == host.SessionNone })
	if got := r.turn(bad.ID).State; got != host.TurnQueued {
		t.Fatalf("the turn is %s", got)
	}
	if q := r.controls().Queue; !q.Held || q.Reason != host.CodeBindingFault || len(q.Turns) != 1 {
		t.Fatalf("nothing runs the turn and the queue says %+v", q)
	}
}

func TestRule22_ATurnStoppedBeforeAnythingWasSentDoesNotStartAnewWithTheNextProcess(t *testing.T) {
	t.Parallel()
	r := newRogueRigWith(t, echo, []func(*host.Config){func(c *host.Config) { c.StopGrace = 200 * time.Millisecond }})
	r.untilTurn(r.send("hello").ID, host.TurnCompleted)
	// The binding never sends it, so the stop has to end the process.
	quiet := r.send("silent")
	r.until("the turn to be handed over", func() bool { c := r.controls(); return c.Running != nil && c.Running.Turn == quiet.ID })
	r.stop(host.StopOptions{Turn: quiet.ID})
	r.untilTurn(quiet.ID, host.TurnNotSent)
	next := r.send("hello again")
	r.untilTurn(next.ID, host.TurnCompleted)
	if n := inHistory(t, r.home, quiet.ClientID); n != 0 {
		t.Fatalf("the stopped message was delivered %d times", n)
	}
}

func TestWhoChangedSomethingSeesItInWhatIsReturned(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	rev := r.controls().Revision
	for i := range 300 {
		c, err := r.h.ConfigureNextTurn(t.Context(), r.conv, rev, host.SettingsPatch{Model: ptr(fmt.Sprint("m", i%2))})
		if err != nil {
			t.Fatalf("change %d on revision %d: %v", i, rev, err)
		}
		if c.Revision != rev+1 {
			t.Fatalf("change %d returned revision %d, want %d", i, c.Revision, rev+1)
		}
		rev = c.Revision
	}
}
