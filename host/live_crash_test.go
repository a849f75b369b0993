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
			// Found in Codex's history, or proven not to be there and sent now.
			name: "written", warm: true, settle: []host.TurnState{host.TurnInterrupted, host.TurnCompleted},
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
				if n := l.inHistory("m1"); n > 1 || n == 0 && turn.State != host.TurnUncertain {
					t.Errorf("Codex took the message %d times", n)
				}
				// The model sees it at most once in the thread, whatever was asked before.
				body := string(l.asked("And now")[0].Body)
				if n := strings.Count(body, `"text":"Do it"`); n > 1 || n == 0 && turn.State != host.TurnUncertain {
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
