package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/store"
)

// crashEnv makes the test binary a host of its own that can be killed: its value
// is the folder with the data, the project and the harness's home.
const crashEnv = "AO_TEST_CRASH"

// cacheEnv hands the shared cache to that process.
const cacheEnv = "AO_TEST_CACHE"

func crashConfig(dir string) host.Config {
	self, _ := os.Executable()
	home := filepath.Join(dir, "home")
	cfg := host.Config{
		Dir: filepath.Join(dir, "data"), CacheDir: filepath.Join(os.Getenv(cacheEnv), "cache"), DigestDir: filepath.Join(os.Getenv(cacheEnv), "digests"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home},
		Launch: map[string]host.Launch{"codex": {
			Argv: []string{self, "app-server"}, Env: []string{scriptedEnv + "=1"},
		}},
		EndGrace: 2 * time.Second,
	}
	patient(&cfg)
	return cfg
}

// crashRig is the configuration of the host after the crash.
func crashRig(dir string) host.Config {
	cfg := crashConfig(dir)
	cfg.CacheDir, cfg.DigestDir = filepath.Join(cacheDir, "cache"), filepath.Join(cacheDir, "digests")
	return cfg
}

// crashDir is a folder for crashMain whose harness follows a script.
func crashDir(t testing.TB, script string) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"home", "project"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "home", "scripted.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// recovered opens a host on what a killed one left in such a folder.
func recovered(t testing.TB, dir string) *rig {
	t.Helper()
	r := &rig{t: t, dir: filepath.Join(dir, "data"), cwd: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), cfg: crashRig(dir), conv: "c1"}
	r.open()
	t.Cleanup(r.close)
	return r
}

// stored changes the store of a host that is closed.
func (r *rig) stored(changes ...func(context.Context, *store.Tx) error) {
	r.t.Helper()
	ctx := r.t.Context()
	st, err := store.Open(ctx, r.dir, store.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	err = st.Write(ctx, func(tx *store.Tx) error {
		for _, change := range changes {
			if err := change(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, st.Close()); err != nil {
		r.t.Fatal(err)
	}
}

func rewrite(turn string, change func(*store.Turn)) func(context.Context, *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.Turn(ctx, turn)
		if err != nil {
			return err
		}
		change(&row)
		return tx.UpdateTurn(ctx, row)
	}
}

// undo makes a turn one that has not begun.
func undo(turn string, state store.TurnState) func(context.Context, *store.Tx) error {
	return rewrite(turn, func(row *store.Turn) {
		row.State, row.StartedAt, row.EndedAt, row.Evidence = state, time.Time{}, time.Time{}, ""
	})
}

// unseen makes a turn one that is not in the harness's history.
func unseen(turn string) func(context.Context, *store.Tx) error {
	return rewrite(turn, func(row *store.Turn) { row.ClientID = "never-seen" })
}

// reopen leaves the generation of a turn open, as when the host dies.
func reopen(turn string) func(context.Context, *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.Turn(ctx, turn)
		if err != nil {
			return err
		}
		g, err := tx.Generation(ctx, row.ConversationID, row.Generation)
		if err != nil {
			return err
		}
		g.ExitedAt, g.Exit = time.Time{}, nil
		return tx.UpdateGeneration(ctx, g)
	}
}

// crashMain opens the host, sends one message with the client id "m1" and prints
// each journal event, until it is killed.
func crashMain(dir string) int {
	ctx := context.Background()
	cfg := crashConfig(dir)
	warm := false
	if launch := os.Getenv(crashLiveEnv); launch != "" {
		var err error
		if warm, err = crashLive(&cfg, launch); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c, err := h.Create(ctx, host.NewConversation{ID: "c1", Harness: "codex", Cwd: filepath.Join(dir, "project")})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if warm {
		if err := warmUp(ctx, h, c.ID); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	go func() {
		for {
			if _, err := h.Send(ctx, c.ID, host.Message{ClientID: "m1", Content: host.Text("Do it")}); err == nil {
				fmt.Println(`{"type":"accepted"}`)
				return
			}
		}
	}()
	enc := json.NewEncoder(os.Stdout)
	for ev, err := range h.Events(ctx, c.ID, 0) {
		if os.Getenv(crashEraseEnv) != "" && (err != nil || ev.Type == host.EventDelta) {
			return crashErase(ctx, h, c.ID)
		}
		if err != nil || enc.Encode(ev) != nil {
			return 1
		}
	}
	return 0
}

// killAt runs a host in a process of its own and kills it with SIGKILL when see
// says so of a line it printed.
func killAt(t *testing.T, dir string, see func(line string) bool, env ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), crashEnv+"="+dir, cacheEnv+"="+cacheDir), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(out)
	deadline := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	seen := false
	for {
		var line json.RawMessage
		if err := dec.Decode(&line); err != nil {
			if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "unexpected EOF") {
				t.Logf("reading the host's output: %v", err)
			}
			break
		}
		if see(string(line)) {
			seen = true
			break
		}
	}
	deadline.Stop()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !seen {
		t.Fatal("the host never reached the point where it was to be killed")
	}
}

// delivered counts how often the scripted harness took the message, by its own
// durable history.
func delivered(t *testing.T, dir, clientID string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(dir, "home"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "scripted.json" {
			return err
		}
		b, err := os.ReadFile(path)
		for _, line := range strings.Split(string(b), "\n") {
			if strings.Contains(line, `"clientId":"`+clientID+`"`) || strings.Contains(line, `"clientId": "`+clientID+`"`) {
				n++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRule20_KillingTheHostLosesNothingAcceptedAndSendsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, p := range []struct {
		name   string
		script string
		see    func(string) bool
		// settle is what the turn must come to after the restart.
		settle []host.TurnState
	}{
		{
			// The harness hangs in initialize, so nothing can have been written.
			name: "accepted", script: `{"methods":{"initialize":[{"hang":true,"times":1}]},"turns":[{"repeat":true,"steps":[{"say":"Done."}]}]}`,
			see:    func(l string) bool { return strings.Contains(l, `"accepted"`) },
			settle: []host.TurnState{host.TurnCompleted},
		},
		{
			// turn/start is never answered: the frame is on the pipe and no more is known.
			name: "written", script: `{"turns":[{"respond":"never","steps":[{"say":"Working."}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`,
			see: func(l string) bool { return strings.Contains(l, `"state":"dispatched"`) },
			// Proven by the harness's history either way; where the harness had not
			// even kept the session there is no history, and it stays uncertain.
			settle: []host.TurnState{host.TurnInterrupted, host.TurnCompleted, host.TurnUncertain},
		},
		{
			name: "streaming", script: `{"turns":[{"steps":[{"say":"One two three four five six seven eight nine ten.","chunks":10},{"hang":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`,
			see:    func(l string) bool { return strings.Contains(l, `"type":"delta"`) },
			settle: []host.TurnState{host.TurnInterrupted},
		},
	} {
		t.Run(p.name, func(t *testing.T) {
			dir := crashDir(t, p.script)
			killAt(t, dir, p.see)

			if p.name == "accepted" {
				// The second process of the harness does not hang.
				p.script = echo
				if err := os.WriteFile(filepath.Join(dir, "home", "scripted.json"), []byte(p.script), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := recovered(t, dir)
			turns, err := r.h.Turns(t.Context(), "c1")
			if err != nil || len(turns) != 1 {
				t.Fatalf("turns after the crash: %+v, %v", turns, err)
			}
			var got host.Turn
			r.until("the turn to be settled", func() bool {
				got = r.turn(turns[0].ID)
				return got.State.Ended() && (got.State != host.TurnUncertain || r.controls().Session.State == host.SessionReady)
			})
			ok := false
			for _, s := range p.settle {
				ok = ok || got.State == s
			}
			if !ok {
				r.dump()
				t.Fatalf("the turn came to %s (%s), want %v", got.State, got.Evidence, p.settle)
			}
			// The same client id is still the same message.
			again, err := r.h.Send(t.Context(), "c1", host.Message{ClientID: "m1", Content: host.Text("Do it")})
			if err != nil || again.ID != turns[0].ID {
				t.Fatalf("the repeated message is %v, %v; want the first", again.ID, err)
			}
			next := r.send("And now")
			r.untilTurn(next.ID, host.TurnCompleted)
			if n := delivered(t, dir, "m1"); n > 1 || n == 0 && got.State != host.TurnUncertain {
				t.Fatalf("the harness took the message %d times, want %d", n, 1)
			}
		})
	}
}

// Rule 20: the state a crash leaves is made by hand, because between the write and
// the first sign of life there are only microseconds.
func TestRule20_AnUncertainDeliveryIsSettledByTheHarnessesHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo, func(c *host.Config) { c.LeaveIdle = true })
	kept := r.send("Kept")
	r.untilTurn(kept.ID, host.TurnCompleted)
	lost := r.send("Lost")
	r.untilTurn(lost.ID, host.TurnCompleted)
	r.close()
	r.stored(undo(kept.ID, store.TurnDispatched), undo(lost.ID, store.TurnDispatched), unseen(lost.ID), reopen(kept.ID))

	r.open()
	for _, id := range []string{kept.ID, lost.ID} {
		if s := r.turn(id).State; s != host.TurnUncertain {
			t.Fatalf("after the crash the turn is %s", s)
		}
	}
	if _, err := r.h.Probe(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	if got := r.turn(kept.ID); got.State != host.TurnInterrupted || !strings.Contains(got.Evidence, "history") {
		t.Fatalf("the delivered turn is %s (%s)", got.State, got.Evidence)
	}
	// Proven never to have arrived: it was accepted, so it runs now, once.
	r.untilTurn(lost.ID, host.TurnCompleted)
	if n := found(t, r.home, "never-seen"); n == 0 {
		t.Fatal("the requeued turn never reached the harness")
	}
}

func TestRule20_WhatWaitsBehindAnUncertainDeliveryIsHeldAcrossStartsThatSettleNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	sent := r.send("Sent")
	waits := r.send("Waits")
	r.untilTurn(sent.ID, host.TurnCompleted)
	r.untilTurn(waits.ID, host.TurnCompleted)
	r.close()
	r.stored(undo(sent.ID, store.TurnDispatched), undo(waits.ID, store.TurnQueued), reopen(sent.ID))
	r.cfg.LeaveIdle = true
	r.open()
	if q := r.controls().Queue; !q.Held || q.Reason != host.CodeUncertainDelivery {
		t.Fatalf("the queue after the crash: %+v", q)
	}
	r.close()
	r.cfg.LeaveIdle = false
	r.open()
	// Nothing runs before a person decides, or the harness's history has.
	time.Sleep(300 * time.Millisecond)
	if s := r.turn(waits.ID).State; s != host.TurnQueued {
		t.Fatalf("the waiting turn is %s", s)
	}
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(waits.ID, host.TurnCompleted)
	if s := r.turn(sent.ID).State; s != host.TurnInterrupted {
		t.Fatalf("the uncertain turn is %s", s)
	}
}

func TestRule20_ASteerInFlightAtExitIsSettledByTheHistoryAsEveryDelivery(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"methods":{"turn/steer":[{"exit":3}]},"turns":[{"when":{"turn":1},"steps":[{"say":"Working."},{"hang":true}]},
	 {"repeat":true,"steps":[{"say":"I heard {{text}} in {{mode}}."}]}]}`)
	turn := r.send("Work")
	r.until("the first words", func() bool { return len(r.texts(abi.ItemMessage)) == 1 })
	// What runs in its place runs under what was remembered when it was accepted (rule 2).
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	steer := r.steer("left")
	r.configure(host.SettingsPatch{Mode: ptr("default")})
	r.untilTurn(turn.ID, host.TurnFailed)
	r.untilTurn(steer.ID, host.TurnUncertain)
	next := r.send("And now")
	r.untilTurn(next.ID, host.TurnCompleted)
	// The history is read and does not have it, so it was put back and ran in front.
	if got := r.turn(steer.ID); got.State != host.TurnCompleted {
		t.Fatalf("the steer is %s (%s)", got.State, got.Evidence)
	}
	if got := r.texts(abi.ItemMessage); len(got) != 3 || got[1] != "I heard left in plan." || got[2] != "I heard And now in default." {
		t.Fatalf("the agent said %q", got)
	}
}

func TestRule20_ATurnTheAgentBeganIsNotRunAgainForBeingAbsentFromTheHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	begun := r.send("Begun")
	r.untilTurn(begun.ID, host.TurnCompleted)
	r.close()
	// As a fault of the binding leaves it, and the history has lost it.
	r.stored(rewrite(begun.ID, func(row *store.Turn) {
		row.State, row.ErrorCode = store.TurnUncertain, string(host.CodeBindingFault)
	}), unseen(begun.ID))
	r.open()
	next := r.send("And now")
	r.untilTurn(next.ID, host.TurnCompleted)
	if got := r.turn(begun.ID); got.State != host.TurnUncertain {
		t.Fatalf("the turn is %s (%s)", got.State, got.Evidence)
	}
	if n := inHistory(t, r.home, "never-seen"); n != 0 {
		t.Fatal("it was sent again")
	}
}

func TestRule21a_AfterACrashTheOldHarnessIsGoneBeforeANewOneStarts(t *testing.T) {
	t.Parallel()
	// This one ignores both SIGTERM and the end of its input.
	script := `{"turns":[{"when":{"turn":1},"steps":[{"ignore_sigterm":true},{"ignore_eof":true},{"say":"Still here."},{"hang":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`
	dir := crashDir(t, script)
	pid := 0
	killAt(t, dir, func(l string) bool {
		var ev struct {
			Type string `json:"type"`
			Body struct {
				PID int `json:"pid"`
			} `json:"body"`
		}
		if json.Unmarshal([]byte(l), &ev) == nil && ev.Type == "session" && ev.Body.PID > 0 {
			pid = ev.Body.PID
		}
		return strings.Contains(l, `Still here`)
	})
	if !alive(pid) {
		t.Fatal("the harness died with its host; there is nothing to prove")
	}
	r := recovered(t, dir)
	next := r.send("Go on")
	r.untilTurn(next.ID, host.TurnCompleted)
	if alive(pid) {
		t.Fatalf("the old harness %d still lives", pid)
	}
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(after, "Z")
}

// With ACP an item comes only when its text is whole, so this may be all that an agent
// said in minutes.
func TestTextThatWasSeenOfAnUnfinishedItemSurvivesACrashOfTheHost(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]string{
		"in a turn":                    `{"huge":{"bytes":4000,"kind":"delta"}},{"hang":true}`,
		"in a turn of the agent's own": `{"say":"Done."},{"self_turn":[{"huge":{"bytes":4000,"kind":"delta"}},{"hang":true}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, d := range []string{"home", "project"} {
				if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			script := `{"turns":[{"steps":[` + steps + `]},{"repeat":true,"steps":[{"say":"Done."}]}]}`
			if err := os.WriteFile(filepath.Join(dir, "home", "scripted.json"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			var seen abi.Delta
			killAt(t, dir, func(l string) bool {
				var ev host.Event
				decode(t, []byte(l), &ev)
				if ev.Type == host.EventDelta {
					seen = abi.Delta{}
					decode(t, ev.Body, &seen)
				}
				return len(seen.Text) > 1000
			})
			r := &rig{t: t, dir: filepath.Join(dir, "data"), cwd: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), cfg: crashRig(dir), conv: "c1"}
			r.open()
			t.Cleanup(r.close)
			// Also where another session has come and gone since.
			r.untilTurn(r.send("And now").ID, host.TurnCompleted)
			r.restart()
			var kept []abi.Item
			for _, it := range bodies[abi.Item](r, host.EventItem) {
				if it.ID == seen.Item {
					kept = append(kept, it)
				}
			}
			if len(kept) == 0 || kept[len(kept)-1].Status != abi.ItemIncomplete || kept[len(kept)-1].Turn != seen.Turn || !strings.HasPrefix(kept[len(kept)-1].Text, seen.Text) {
				r.dump()
				t.Fatalf("of the item %s that was seen this is kept: %+v", seen.Item, kept)
			}
			for _, d := range bodies[abi.Delta](r, host.EventDelta) {
				if d.Item == seen.Item {
					t.Fatal("its deltas were not replaced")
				}
			}
		})
	}
}
