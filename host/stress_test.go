package host_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// stressScript has a turn of each kind; the text of a message chooses it.
const stressScript = `{"methods":{"turn/interrupt":[{"delay_ms":20}]},"turns":[
 {"when":{"text":"kind=ask"},"repeat":true,"steps":[{"ask":{"id":"q","questions":[{"id":"x","header":"X","question":"Which?","options":[{"label":"A"},{"label":"B"}],"other":true}]}},{"say":"got {{answer.x}}"}]},
 {"when":{"text":"kind=async"},"repeat":true,"steps":[{"ask_async":{"id":"call","questions":[{"title":"Which?","options":["A","B"]}]}},{"say":"Asked."}]},
 {"when":{"text":"kind=run"},"repeat":true,"steps":[{"run":{"command":"make","approve":true}},{"say":"decision={{decision}}"}]},
 {"when":{"text":"kind=plan"},"repeat":true,"steps":[{"plan":"# Plan {{turn}}\n"}]},
 {"when":{"text":"kind=wait"},"repeat":true,"steps":[{"say":"Waiting."},{"wait_interrupt":true}]},
 {"when":{"text":"kind=slow"},"repeat":true,"steps":[{"say":"One two three four","chunks":4},{"delay_ms":30},{"say":"Done."}]},
 {"when":{"text":"kind=fail"},"repeat":true,"steps":[{"fail":{"code":"other","message":"failed on purpose"}}]},
 {"when":{"text":"kind=exit"},"repeat":true,"steps":[{"say":"Bye."},{"exit":3}]},
 {"when":{"text":"kind=end"},"repeat":true,"respond":"after_end","steps":[{"say":"Quick."}]},
 {"repeat":true,"steps":[{"say":"Done."}]}]}`

var stressKinds = []string{"ask", "async", "run", "plan", "wait", "slow", "slow", "fail", "exit", "end", "say", "say", "say"}

// stress is a run of random actions on one host, from many goroutines.
type stress struct {
	*rig
	convs []string
	seed  uint64
	// gate is held for writing while the host is closed and opened again.
	gate     sync.RWMutex
	mu       sync.Mutex
	accepted map[string]string // client id → conversation
	seq      atomic.Int64
}

// stressEnv and stressTimeEnv choose another seed and a longer run.
const (
	stressEnv     = "AO_STRESS_SEED"
	stressTimeEnv = "AO_STRESS_TIME"
)

func newStress(t *testing.T) (s *stress, length time.Duration) {
	t.Helper()
	s = &stress{rig: newRig(t, stressScript, func(c *host.Config) { c.StopGrace, c.EndGrace = time.Second, time.Second }), seed: uint64(time.Now().UnixNano()), accepted: map[string]string{}}
	length = 2 * time.Second
	if testing.Short() {
		length = time.Second
	}
	if v := os.Getenv(stressEnv); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s.seed = n
	}
	if v := os.Getenv(stressTimeEnv); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatal(err)
		}
		length = d
	}
	t.Logf("%s=%d", stressEnv, s.seed)
	s.convs = []string{s.conv}
	c, err := s.h.Create(t.Context(), host.NewConversation{Harness: "codex", Cwd: s.cwd})
	if err != nil {
		t.Fatal(err)
	}
	s.convs = append(s.convs, c.ID)
	return s, length
}

// expected are the refusals that a client in a race must be ready for.
func expected(err error) bool {
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch host.CodeOf(err) {
	case host.CodeNothingRunning, host.CodeTurnNotRunning, host.CodeInteractionAnswered, host.CodeInteractionStale,
		host.CodeProposalClosed, host.CodeTurnNotQueued, host.CodeTurnNotRetryable, host.CodeRetryRepeatsWork, host.CodeStaleRevision,
		host.CodeHarnessExited, host.CodeHoldStopped, host.CodeStartAborted:
		return true
	}
	return false
}

func (s *stress) check(what string, err error) {
	if !expected(err) {
		s.t.Errorf("%s: %v (code %q)", what, err, host.CodeOf(err))
	}
}

// accept notes an acceptance that a client holds.
func (s *stress) accept(conv, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted[id] = conv
}

func pick[T any](rnd *rand.Rand, list []T) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	return list[rnd.IntN(len(list))], true
}

// act does one random thing.
func (s *stress) act(rnd *rand.Rand) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	h, conv := s.h, s.convs[rnd.IntN(len(s.convs))]
	ctx := context.Background()
	if rnd.IntN(5) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(8000))*time.Microsecond)
		defer cancel()
	}
	send := func(do func(context.Context, string, host.Message) (host.Turn, error), what string) {
		kind, _ := pick(rnd, stressKinds)
		id := fmt.Sprintf("m-%d-%s", s.seq.Add(1), kind)
		t, err := do(ctx, conv, host.Message{ClientID: id, Content: host.Text("kind=" + kind)})
		s.check(what, err)
		if err == nil {
			if t.ClientID != id {
				s.t.Errorf("%s of %s was answered with %+v", what, id, t)
			}
			s.accept(conv, id)
		}
	}
	turns := func() []host.Turn {
		list, err := h.Turns(ctx, conv)
		s.check("turns", err)
		return list
	}
	switch n := rnd.IntN(100); {
	case n < 30:
		send(h.Send, "send")
	case n < 36:
		send(h.Steer, "steer")
	case n < 46:
		_, err := h.Stop(ctx, conv, host.StopOptions{})
		s.check("stop", err)
	case n < 52:
		_, err := h.ResumeQueue(ctx, conv)
		s.check("resume", err)
	case n < 72:
		inputs, err := h.Inputs(ctx, conv)
		s.check("inputs", err)
		if in, ok := pick(rnd, inputs); ok {
			_, err := h.ResolveInput(ctx, conv, in.ID, someAnswer(rnd, in))
			s.check("answer", err)
		}
	case n < 80:
		plans, err := h.Plans(ctx, conv)
		s.check("plans", err)
		if p, ok := pick(rnd, plans); ok {
			d := host.PlanDecision{Proposal: p.ID, Revision: p.Revision, Feedback: "kind=plan"}
			if rnd.IntN(2) == 0 {
				_, err = h.ContinuePlan(ctx, conv, d)
			} else {
				_, err = h.RequestChanges(ctx, conv, d)
			}
			s.check("plan", err)
		}
	case n < 86:
		if t, ok := pick(rnd, turns()); ok {
			_, err := h.CancelQueued(ctx, conv, t.ID)
			s.check("cancel", err)
		}
	case n < 90:
		c, err := h.Controls(ctx, conv)
		s.check("controls", err)
		_, err = h.ConfigureNextTurn(ctx, conv, c.Revision, host.SettingsPatch{Permission: ptr(abi.PermissionDefault)})
		s.check("configure", err)
	case n < 94:
		if t, ok := pick(rnd, turns()); ok {
			id := fmt.Sprintf("r-%d", s.seq.Add(1))
			_, err := h.Retry(ctx, conv, t.ID, host.RetryRequest{ClientID: id})
			s.check("retry", err)
			if err == nil {
				s.accept(conv, id)
			}
		}
	case n < 97:
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err := h.Probe(short, conv)
		s.check("probe", err)
	default:
		c, err := h.Controls(ctx, conv)
		s.check("controls", err)
		if c.Session.PID > 1 {
			_ = syscall.Kill(c.Session.PID, syscall.SIGKILL)
		}
	}
}

func someAnswer(rnd *rand.Rand, in host.Interaction) host.Answer {
	if len(in.Ask.Decisions) > 0 {
		d, _ := pick(rnd, in.Ask.Decisions)
		return host.Answer{Decision: d.ID}
	}
	var a host.Answer
	for _, f := range in.Ask.Fields {
		a.Fields = append(a.Fields, answered(f.ID, int64(rnd.IntN(len(f.Options)))))
	}
	return a
}

// rest waits until nothing moves: no turn runs, and what is queued is held for a
// reason that is told. On the way it answers cards and stops waits when told to.
func (s *stress) rest(conv string, act bool) {
	s.t.Helper()
	s.conv = conv
	s.until("conversation "+conv+" to come to rest", func() bool {
		c := s.controls()
		if c.Running == nil && c.Session.State != host.SessionStarting && (len(c.Queue.Turns) == 0 || c.Queue.Held) {
			return true
		}
		if !act || c.Running == nil {
			return false
		}
		inputs, err := s.h.Inputs(s.t.Context(), conv)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, in := range inputs {
			if in.Ask.Route == abi.RouteNative && in.Turn == c.Running.Turn {
				_, err := s.h.ResolveInput(s.t.Context(), conv, in.ID, someAnswer(rand.New(rand.NewPCG(1, 1)), in))
				s.check("answer", err)
				return false
			}
		}
		if t := s.turn(c.Running.Turn); len(t.Content) > 0 && t.Content[0].Text == "kind=wait" && t.State == host.TurnRunning {
			_, err := s.h.Stop(s.t.Context(), conv, host.StopOptions{Turn: t.ID})
			s.check("stop", err)
		}
		return false
	})
}

// drain lets everything that is queued run.
func (s *stress) drain(conv string) {
	s.t.Helper()
	for {
		s.rest(conv, true)
		if len(s.controls().Queue.Turns) == 0 {
			return
		}
		if _, err := s.h.ResumeQueue(s.t.Context(), conv); err != nil {
			s.t.Fatal(err)
		}
	}
}

// verify holds a conversation at rest to the rules.
func (s *stress) verify(conv string) {
	s.t.Helper()
	s.conv = conv
	turns, err := s.h.Turns(s.t.Context(), conv)
	if err != nil {
		s.t.Fatal(err)
	}
	byClient := map[string]host.Turn{}
	for _, t := range turns {
		if _, twice := byClient[t.ClientID]; twice {
			s.t.Errorf("client id %s has two turns", t.ClientID)
		}
		byClient[t.ClientID] = t
		n := inHistory(s.t, s.home, t.ClientID)
		if t.Origin == abi.OriginSteer && n == 0 {
			// Taken into a turn that was killed before the harness wrote it down.
			continue
		}
		switch t.State {
		case host.TurnCompleted, host.TurnInterrupted, host.TurnFailed:
			if n != 1 {
				s.t.Errorf("turn %s %s (%s, %s) was delivered %d times", t.ID, t.ClientID, t.State, t.Evidence, n)
			}
		case host.TurnUncertain:
			if n > 1 {
				s.t.Errorf("uncertain turn %s was delivered %d times", t.ID, n)
			}
		case host.TurnNotSent, host.TurnCancelled, host.TurnSuperseded:
			if n != 0 {
				s.t.Errorf("turn %s (%s, %s %s) was delivered %d times", t.ClientID, t.State, t.Code, t.Evidence, n)
			}
		default:
			s.t.Errorf("turn %s is left %s", t.ID, t.State)
		}
	}
	s.mu.Lock()
	for id, c := range s.accepted {
		if _, ok := byClient[id]; c == conv && !ok {
			s.t.Errorf("accepted message %s is lost", id)
		}
	}
	s.mu.Unlock()

	var seq uint64
	var rev int64
	closed := map[string]abi.Disposition{}
	ended := map[string]host.TurnState{}
	for _, ev := range s.journal() {
		if ev.Seq <= seq {
			s.t.Errorf("event %d comes after %d", ev.Seq, seq)
		}
		seq = ev.Seq
		switch ev.Type {
		case host.EventSettings:
			var b host.SettingsEvent
			decode(s.t, ev.Body, &b)
			if b.Revision <= rev {
				s.t.Errorf("settings revision %d comes after %d (rule 5)", b.Revision, rev)
			}
			rev = b.Revision
		case host.EventInteraction:
			var in host.Interaction
			decode(s.t, ev.Body, &in)
			was, before := closed[in.ID]
			if before && was != in.Disposition && was != abi.DispositionUncertain {
				s.t.Errorf("card %s was %s and is %s %s (rule 12)", in.ID, was, in.State, in.Disposition)
			}
			if in.State == host.InteractionClosed {
				closed[in.ID] = in.Disposition
			}
		case host.EventTurn:
			var t host.Turn
			decode(s.t, ev.Body, &t)
			was, before := ended[t.ID]
			if before && was != t.State && was != host.TurnUncertain {
				s.t.Errorf("turn %s was %s and is %s", t.ID, was, t.State)
			}
			if t.State.Ended() {
				ended[t.ID] = t.State
			} else {
				delete(ended, t.ID)
			}
		}
	}
	inputs, err := s.h.Inputs(s.t.Context(), conv)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, in := range inputs {
		if in.Ask.Route == abi.RouteNative && in.Ask.Scope == abi.ScopeTurn {
			s.t.Errorf("card %s is open and nobody waits for it", in.ID)
		}
	}
}

func TestWhatManyClientsDoAtOnceLosesNothingAndDeliversNothingTwice(t *testing.T) {
	t.Parallel()
	s, length := newStress(t)
	deadline := time.Now().Add(length)
	var wg sync.WaitGroup
	for g := range 6 {
		rnd := rand.New(rand.NewPCG(s.seed, uint64(g)))
		wg.Go(func() {
			for time.Now().Before(deadline) {
				s.act(rnd)
				time.Sleep(time.Duration(rnd.IntN(4000)) * time.Microsecond)
			}
		})
	}
	// Someone restarts the host now and then while all that goes on.
	rnd := rand.New(rand.NewPCG(s.seed, 99))
	for time.Now().Before(deadline) {
		time.Sleep(time.Duration(300+rnd.IntN(1200)) * time.Millisecond)
		s.gate.Lock()
		s.restart()
		s.gate.Unlock()
	}
	wg.Wait()
	for _, conv := range s.convs {
		s.rest(conv, true)
		s.drain(conv)
	}
	for _, conv := range s.convs {
		s.verify(conv)
	}
}

// What is under way when the host is closed is told that it is, nothing of the
// host is left, and the next host finds everything that was accepted.
func TestClosingWhileEverybodyIsAtWorkReturnsAndLeavesNoProcess(t *testing.T) {
	t.Parallel()
	s, _ := newStress(t)
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for g := range 4 {
			rnd := rand.New(rand.NewPCG(s.seed, uint64(10*round+g)))
			wg.Go(func() {
				for ctx.Err() == nil {
					conv := s.convs[rnd.IntN(len(s.convs))]
					kind, _ := pick(rnd, stressKinds)
					id := fmt.Sprintf("c-%d-%s", s.seq.Add(1), kind)
					_, err := s.h.Send(ctx, conv, host.Message{ClientID: id, Content: host.Text("kind=" + kind)})
					switch {
					case err == nil:
						s.accept(conv, id)
					case host.CodeOf(err) != host.CodeClosed:
						t.Errorf("send: %v", err)
					}
					if _, err := s.h.Stop(ctx, conv, host.StopOptions{}); !expected(err) && host.CodeOf(err) != host.CodeClosed {
						t.Errorf("stop: %v", err)
					}
					if err != nil {
						return
					}
					// Everything is run in the end: a quick machine must not send ever more.
					time.Sleep(time.Duration(rnd.IntN(80)) * time.Millisecond)
				}
			})
			watched := s.convs[g%len(s.convs)]
			wg.Go(func() {
				for _, err := range s.h.Events(ctx, watched, 0) {
					if err != nil && host.CodeOf(err) != host.CodeClosed {
						t.Errorf("events: %v", err)
					}
				}
			})
		}
		pids := map[int]bool{}
		for end := time.Now().Add(time.Duration(200+rand.New(rand.NewPCG(s.seed, uint64(round))).IntN(500)) * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			for _, conv := range s.convs {
				s.conv = conv
				pids[s.controls().Session.PID] = true
			}
		}
		short, done := context.WithTimeout(t.Context(), 3*time.Second)
		closed := make(chan error, 1)
		go func() { closed <- s.h.Close(short) }()
		select {
		case err := <-closed:
			if err != nil {
				t.Errorf("close: %v", err)
			}
		case <-time.After(patience):
			t.Fatal("the host does not close")
		}
		done()
		wg.Wait()
		cancel()
		for pid := range pids {
			if pid != 0 && alive(pid) {
				t.Errorf("harness %d outlived its host", pid)
			}
		}
		s.open()
	}
	for _, conv := range s.convs {
		s.rest(conv, true)
		s.drain(conv)
		s.verify(conv)
	}
}

// chaosEnv makes the test binary a host that acts at random until it is killed.
const chaosEnv = "AO_TEST_CHAOS"

// chaosMain runs a host in the folder and prints the client id of each message
// that was accepted, after the acceptance.
func chaosMain(dir string) int {
	seed, err := strconv.ParseUint(os.Getenv(chaosEnv), 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	h, err := host.Open(context.Background(), crashConfig(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c, err := h.Create(context.Background(), host.NewConversation{ID: "c1", Harness: "codex", Cwd: filepath.Join(dir, "project")})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	for i := 0; ; i++ {
		switch n := rnd.IntN(10); {
		case n < 4:
			kind, _ := pick(rnd, []string{"ask", "async", "run", "plan", "slow", "say", "end", "exit"})
			id := fmt.Sprintf("k-%d-%d-%s", seed, i, kind)
			if _, err := h.Send(ctx, c.ID, host.Message{ClientID: id, Content: host.Text("kind=" + kind)}); err == nil {
				fmt.Println(id)
			}
		case n < 8:
			if inputs, err := h.Inputs(ctx, c.ID); err == nil {
				if in, ok := pick(rnd, inputs); ok {
					_, _ = h.ResolveInput(ctx, c.ID, in.ID, someAnswer(rnd, in))
				}
			}
		case n < 9:
			if plans, err := h.Plans(ctx, c.ID); err == nil {
				if p, ok := pick(rnd, plans); ok {
					_, _ = h.ContinuePlan(ctx, c.ID, host.PlanDecision{Proposal: p.ID, Revision: p.Revision})
				}
			}
		default:
			_, _ = h.Stop(ctx, c.ID, host.StopOptions{})
		}
		time.Sleep(time.Duration(rnd.IntN(20)) * time.Millisecond)
	}
}

// roundsEnv is how often the host is killed.
const roundsEnv = "AO_STRESS_ROUNDS"

func TestRule20_KillingTheHostAtAnyMomentLosesNothingAcceptedAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	s, _ := newStress(t)
	s.close()
	base := crashDir(t, stressScript)
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv(roundsEnv)); err == nil {
		rounds = n
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(s.seed, 7))
	for round := range rounds {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), crashEnv+"="+base, cacheEnv+"="+cacheDir, fmt.Sprintf("%s=%d", chaosEnv, s.seed+uint64(round)))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(300+rnd.IntN(1200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		for {
			var id string
			if _, err := fmt.Fscanln(out, &id); err != nil {
				break
			}
			s.accept("c1", id)
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("round %d: the host ended by itself: %v", round, err)
		}
	}
	s.dir, s.cwd, s.home, s.cfg = filepath.Join(base, "data"), filepath.Join(base, "project"), filepath.Join(base, "home"), crashRig(base)
	s.conv = "c1"
	s.open()
	s.rest("c1", true)
	s.drain("c1")
	s.verify("c1")
	t.Logf("%d messages accepted in %d rounds", len(s.accepted), rounds)
}
