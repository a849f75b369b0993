package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// The versions that the scripted agent can tell.
const (
	olderVersion = "0.153.4"
	newerVersion = "0.171.0"
)

// updated is a rig whose harness is a program that an update can replace.
type updated struct {
	*rig
	program string
}

func newUpdated(t *testing.T, script string, opts ...func(*host.Config)) *updated {
	t.Helper()
	u := &updated{program: filepath.Join(t.TempDir(), "harness")}
	u.install(t, olderVersion)
	opts = append(opts, func(c *host.Config) {
		l := c.Launch["codex"]
		l.Argv = []string{u.program}
		c.Launch["codex"] = l
	})
	u.rig = newRig(t, script, opts...)
	return u
}

// install puts a version in place of the one before, as a package manager does it.
func (u *updated) install(t *testing.T, version string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u.write(t, fmt.Sprintf("#!/bin/sh\nexec %q app-server --provider-version %s\n", self, version))
}

func (u *updated) write(t *testing.T, program string) {
	t.Helper()
	next := u.program + ".new"
	if err := os.WriteFile(next, []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, u.program); err != nil {
		t.Fatal(err)
	}
}

// wantOneUpdate checks that the change was told once, with both versions.
func (u *updated) wantOneUpdate() {
	u.t.Helper()
	got := u.warnings(string(host.CodeHarnessReplaced))
	if len(got) != 1 || !strings.Contains(got[0], "was version "+olderVersion+" and is version "+newerVersion) {
		u.t.Fatalf("the update was told: %q", got)
	}
}

func (u *updated) wantOnce(turns ...host.Turn) {
	u.t.Helper()
	for _, turn := range turns {
		if n := inHistory(u.t, u.home, turn.ClientID); n != 1 {
			u.t.Fatalf("turn %s was delivered %d times", turn.ID, n)
		}
	}
}

// asks waits for an answer in its first turn and waits to be stopped in one that says so.
const asks = `{"turns":[{"when":{"turn":1},"steps":[{"ask":{"id":"q","questions":[{"id":"a","question":"Which?","options":[{"label":"x","description":""}]}]}},{"say":"One."}]},
 {"when":{"text":"hang"},"repeat":true,"steps":[{"say":"Working."},{"wait_interrupt":true}]},
 {"repeat":true,"steps":[{"say":"Done."}]}]}`

func TestL5_AProgramThatIsReplacedWhileItRunsIsDrainedAndStartedAnewWithoutRunningATurnTwice(t *testing.T) {
	t.Parallel()
	u := newUpdated(t, asks)
	first := u.send("Go")
	card := u.untilInput()
	u.install(t, newerVersion)
	second := u.send("And now")
	// Never in a running turn.
	if s := u.controls().Session; s.Generation != 1 || s.ProviderVersion != olderVersion {
		t.Fatalf("the session while the turn runs: %+v", s)
	}
	u.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	u.untilTurn(first.ID, host.TurnCompleted)
	u.untilTurn(second.ID, host.TurnCompleted)
	if s := u.controls().Session; s.Generation != 2 || s.ProviderVersion != newerVersion {
		t.Fatalf("the next turn ran in %+v", s)
	}
	third := u.send("Again")
	u.untilTurn(third.ID, host.TurnCompleted)
	if s := u.controls().Session; s.Generation != 2 {
		t.Fatalf("what was replaced once was started anew twice: %+v", s)
	}
	u.wantOnce(first, second, third)
	u.wantOneUpdate()
	var told []bool
	for _, p := range bodies[abi.Problem](u.rig, host.EventProblem) {
		if p.Code == string(host.CodeRelaunch) {
			told = append(told, p.Resolved)
		}
	}
	if !slices.Equal(told, []bool{false, true}) {
		t.Fatalf("the relaunch was told and taken back: %v", told)
	}
	if got := u.warnings(string(host.CodeSessionReplaced)); len(got) != 0 {
		t.Fatalf("the session was lost: %q", got)
	}
}

func TestL5_AnUpdateWhileTheHostIsClosedIsToldOnceAndRunsWhatWaitsOnce(t *testing.T) {
	t.Parallel()
	u := newUpdated(t, asks)
	u.answerFirst()
	cut := u.send("hang")
	u.untilTurn(cut.ID, host.TurnRunning)
	waiting := u.send("Later")
	u.close()
	u.install(t, newerVersion)
	u.open()
	if _, err := u.h.ResumeQueue(t.Context(), u.conv); err != nil {
		t.Fatal(err)
	}
	u.untilTurn(waiting.ID, host.TurnCompleted)
	if s := u.turn(cut.ID).State; s != host.TurnInterrupted {
		t.Fatalf("the turn that was cut off is %s", s)
	}
	u.restart()
	last := u.send("Once more")
	u.untilTurn(last.ID, host.TurnCompleted)
	u.wantOnce(cut, waiting, last)
	u.wantOneUpdate()
}

func (u *updated) answerFirst() {
	u.t.Helper()
	first := u.send("Go")
	u.answer(u.untilInput().ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	u.untilTurn(first.ID, host.TurnCompleted)
}

func TestL5_AHarnessThatAnUpdateKillsIsReplacedWithoutSendingItsTurnAgain(t *testing.T) {
	t.Parallel()
	// The binding was made for the older version only.
	shipped, err := os.ReadFile(filepath.Join("..", "bindings-wasm", "codex.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	older := repack(t, shipped, func(m *abi.Manifest) { m.Provider.Max = "0.153.x" })
	u := newUpdated(t, asks, func(c *host.Config) { c.Bindings = [][]byte{older} })
	u.answerFirst()
	cut := u.send("hang")
	u.untilTurn(cut.ID, host.TurnRunning)
	waiting := u.send("Later")
	// The update has begun: there is no program to start.
	if err := os.Remove(u.program); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(u.controls().Session.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	u.untilTurn(cut.ID, host.TurnFailed)
	u.until("the session to end", func() bool { return u.controls().Session.State == host.SessionNone })
	for _, broken := range []host.Code{host.CodeHarnessNotFound, host.CodeHarnessExited} {
		if broken == host.CodeHarnessExited {
			u.write(t, "#!/bin/sh\necho half an update >&2\nexit 3\n")
		}
		if _, err := u.h.ResumeQueue(t.Context(), u.conv); err != nil {
			t.Fatal(err)
		}
		u.until("the start to fail", func() bool { c := u.controls(); return c.Queue.Held && c.Queue.Reason == broken })
	}
	u.install(t, newerVersion)
	if _, err := u.h.ResumeQueue(t.Context(), u.conv); err != nil {
		t.Fatal(err)
	}
	u.untilTurn(waiting.ID, host.TurnCompleted)
	u.wantOnce(cut, waiting)
	u.wantOneUpdate()
	if msg := u.problem(host.CodeProviderVersion); !strings.Contains(msg, newerVersion) {
		t.Fatalf("problem %q", msg)
	}
}

func TestL5_AProgramThatIsGoneForNowIsUsedOn(t *testing.T) {
	t.Parallel()
	u := newUpdated(t, asks)
	u.answerFirst()
	if err := os.Remove(u.program); err != nil {
		t.Fatal(err)
	}
	u.untilTurn(u.send("And now").ID, host.TurnCompleted)
	if s := u.controls().Session; s.Generation != 1 {
		t.Fatalf("the turn ran in %+v", s)
	}
	u.install(t, newerVersion)
	u.untilTurn(u.send("Again").ID, host.TurnCompleted)
	if s := u.controls().Session; s.Generation != 2 || s.ProviderVersion != newerVersion {
		t.Fatalf("the turn ran in %+v", s)
	}
	u.wantOneUpdate()
}
