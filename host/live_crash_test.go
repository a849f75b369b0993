package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
	"github.com/aoagents/ao-host/store"
)

// crashLiveEnv makes the host that is killed use a real harness; its value is a
// crashLaunch as JSON.
const crashLiveEnv = "AO_TEST_CRASH_LIVE"

type crashLaunch struct {
	Harness   string
	Argv, Env []string
	// Warm runs a turn before the message, so that the session is kept.
	Warm bool
}

// crashLive puts the real harness into the configuration.
func crashLive(cfg *host.Config, launch string) (warm bool, err error) {
	var l crashLaunch
	if err := json.Unmarshal([]byte(launch), &l); err != nil {
		return false, err
	}
	cfg.Env, cfg.Launch = l.Env, map[string]host.Launch{l.Harness: {Argv: l.Argv}}
	return l.Warm, nil
}

// warmUp runs a first turn to its end.
func warmUp(ctx context.Context, h *host.Host, conv string) error {
	turn, err := h.Send(ctx, conv, host.Message{ClientID: "m0", Content: host.Text("Warm up")})
	if err != nil {
		return err
	}
	for _, err := range h.Events(ctx, conv, 0) {
		if err != nil {
			return err
		}
		t, err := h.Turn(ctx, conv, turn.ID)
		if err != nil {
			return err
		}
		if t.State == host.TurnCompleted {
			return nil
		}
		if t.State.Ended() {
			return fmt.Errorf("the first turn ended %s: %s", t.State, t.Message)
		}
	}
	return errors.New("the journal ended")
}

func TestLiveRule20_KillingTheHostLosesNothingAcceptedAndSendsNothingTwice(t *testing.T) {
	for _, p := range []struct {
		name string
		warm bool
		see  func(line string) bool
		// settle is what the turn must come to after the restart.
		settle []host.TurnState
	}{
		{
			name: "accepted", settle: []host.TurnState{host.TurnCompleted},
			see: func(l string) bool { return strings.Contains(l, `"accepted"`) },
		},
		{
			// Found in Codex's history, or proven not to be there and sent now, or
			// neither when the process ended while it wrote its history.
			name: "written", warm: true, settle: []host.TurnState{host.TurnInterrupted, host.TurnCompleted, host.TurnUncertain},
			see: func(l string) bool {
				return strings.Contains(l, `"client_id":"m1"`) && strings.Contains(l, `"state":"dispatched"`)
			},
		},
		{
			// In a session that may not have been kept yet nothing may be provable.
			name: "written first", settle: []host.TurnState{host.TurnInterrupted, host.TurnCompleted, host.TurnUncertain},
			see: func(l string) bool {
				return strings.Contains(l, `"client_id":"m1"`) && strings.Contains(l, `"state":"dispatched"`)
			},
		},
		{
			name: "streaming", settle: []host.TurnState{host.TurnInterrupted},
			see: func(l string) bool { return strings.Contains(l, `"type":"delta"`) },
		},
	} {
		t.Run(p.name, func(t *testing.T) {
			eachCodex(t, func(t *testing.T, version string) {
				srv := model.Start(t, model.Script{Steps: []model.Step{
					on("Warm up", says("Warm.")),
					// The first request hangs until the old process is gone.
					always(on("Do it", model.Step{Reply: []model.Action{model.Text("Doing it."), model.Wait("restarted")}})),
					on("And now", says("Done."))}})
				home := lab.CodexHome(t, lab.Require(t, "codex", version), srv.URL()+"/v1", lab.CodexOptions{})
				dir := t.TempDir()
				if err := os.Mkdir(filepath.Join(dir, "project"), 0o700); err != nil {
					t.Fatal(err)
				}
				launch, err := json.Marshal(crashLaunch{Harness: home.Harness.ID, Argv: home.Argv, Env: home.Env, Warm: p.warm})
				if err != nil {
					t.Fatal(err)
				}
				killAt(t, dir, p.see, crashLiveEnv+"="+string(launch))

				l := &live{model: srv, home: home, version: version}
				l.rig = &rig{t: t, dir: filepath.Join(dir, "data"), cwd: filepath.Join(dir, "project"), home: home.Dir, conv: "c1"}
				l.cfg = liveConfig(l.dir, home)
				l.open()
				srv.Release("restarted")
				t.Cleanup(l.close)
				t.Cleanup(l.honest)
				turn := l.byClientID("m1")
				l.until("the turn to be settled", func() bool {
					turn = l.turn(turn.ID)
					return turn.State.Ended() && (turn.State != host.TurnUncertain || l.controls().Session.State == host.SessionReady)
				})
				ok := false
				for _, s := range p.settle {
					ok = ok || turn.State == s
				}
				if !ok {
					l.dump()
					t.Fatalf("the turn came to %s (%s), want %v", turn.State, turn.Evidence, p.settle)
				}
				t.Logf("settled as %s: %s", turn.State, turn.Evidence)
				again, err := l.h.Send(t.Context(), "c1", host.Message{ClientID: "m1", Content: host.Text("Do it")})
				if err != nil || again.ID != turn.ID {
					t.Fatalf("the repeated message is %v, %v; want the first", again.ID, err)
				}
				next := l.send("And now")
				l.untilTurn(next.ID, host.TurnCompleted)
				// Once where it ran to its end or was found, and never twice. A Codex that is
				// ended right after its answer to turn/start may have kept nothing (seen).
				must := turn.State == host.TurnCompleted || strings.Contains(turn.Evidence, "history")
				if n := l.inHistory("m1"); n > 1 || n == 0 && must {
					t.Errorf("Codex took the message %d times", n)
				}
				body := string(l.asked("And now")[0].Body)
				if n := strings.Count(body, `"text":"Do it"`); n > 1 || n == 0 && must {
					t.Errorf("the thread has the message %d times", n)
				}
			})
		})
	}
}

func (l *live) byClientID(id string) host.Turn {
	l.t.Helper()
	turns, err := l.h.Turns(l.t.Context(), l.conv)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, turn := range turns {
		if turn.ClientID == id {
			return turn
		}
	}
	l.t.Fatalf("the accepted message %s is lost; turns %+v", id, turns)
	return host.Turn{}
}

// Codex writes a message for its model before the item that carries our client id.
// A process that ends between the two leaves a thread that knows the text and does
// not list it: its absence is no proof, and sending it again would double it.
func TestLiveRule20_AMessageOfWhichCodexKeptOnlyTheTextIsNotSentAgain(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{host: func(c *host.Config) { c.LeaveIdle = true }},
			on("Warm up", says("Warm.")), on("Do it", says("Doing it.")), on("Look first", says("I see.")))
		warm := l.send("Warm up")
		l.untilTurn(warm.ID, host.TurnCompleted)
		torn := l.send("Do it")
		l.untilTurn(torn.ID, host.TurnCompleted)
		l.close()
		l.tear(torn.ClientID)
		l.uncertain(torn.ID)

		l.open()
		waiting := l.byClientID(torn.ClientID)
		if _, err := l.h.Probe(t.Context(), l.conv); err != nil {
			t.Fatal(err)
		}
		if got := l.turn(waiting.ID); got.State != host.TurnUncertain {
			t.Fatalf("the message is %s (%s) although Codex may have it", got.State, got.Evidence)
		}
		next := l.send("Look first")
		l.untilTurn(next.ID, host.TurnCompleted)
		if n := strings.Count(string(l.asked("Look first")[0].Body), `"text":"Do it"`); n != 1 {
			t.Fatalf("the thread has the message %d times", n)
		}
		if got := l.turn(waiting.ID); got.State != host.TurnUncertain {
			t.Fatalf("the message became %s", got.State)
		}
	})
}

// tear cuts Codex's file where a process would have ended that wrote the text of a
// message and not yet the item with its client id.
func (l *live) tear(clientID string) {
	l.t.Helper()
	files := l.rollouts()
	if len(files) != 1 {
		l.t.Fatalf("Codex keeps %d sessions", len(files))
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		l.t.Fatal(err)
	}
	at := strings.Index(string(b), `"client_id":"`+clientID+`"`)
	if at < 0 {
		l.t.Fatal("Codex's file does not have the message")
	}
	end := strings.LastIndex(string(b[:at]), "\n") + 1
	if err := os.WriteFile(files[0], b[:end], 0o600); err != nil {
		l.t.Fatal(err)
	}
	// Its index of the file is made anew when it is not there.
	index, err := filepath.Glob(filepath.Join(l.home.Dir, "thread_history_*"))
	if err != nil || len(index) == 0 {
		l.t.Fatalf("Codex has no index of its history: %v", err)
	}
	for _, path := range index {
		if err := os.Remove(path); err != nil {
			l.t.Fatal(err)
		}
	}
}

// uncertain leaves a turn in the store as a host does that dies after the write.
func (l *live) uncertain(id string) {
	l.t.Helper()
	l.stored(undo(id, store.TurnDispatched), reopen(id))
}
