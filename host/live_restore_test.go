package host_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab"
)

// rollouts are the files in which Codex keeps its sessions.
func (l *live) rollouts() []string {
	l.t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join(l.home.Dir, "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), "rollout-") {
			out = append(out, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	return out
}

// inHistory counts the user messages in Codex's own files that carry a client id.
func (l *live) inHistory(clientID string) (n int) {
	l.t.Helper()
	for _, path := range l.rollouts() {
		b, err := os.ReadFile(path)
		if err != nil {
			l.t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var row struct {
				Payload struct {
					Type string `json:"type"`
					Item struct {
						Type     string `json:"type"`
						ClientID string `json:"client_id"`
					} `json:"item"`
				} `json:"payload"`
			}
			if json.Unmarshal(line, &row) == nil && row.Payload.Type == "item_completed" && row.Payload.Item.Type == "UserMessage" && row.Payload.Item.ClientID == clientID {
				n++
			}
		}
	}
	return n
}

func TestLiveS4_S5_ARestartRepeatsNoHistoryAndTheRememberedSettingsAreInForceAgain(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("One", says("First.")), on("Two", says("Second.")), on("Three", says("Third.")))
		l.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionBypass), Effort: ptr("high")})
		one := l.send("One")
		l.untilTurn(one.ID, host.TurnCompleted)
		before := l.controls()
		l.restart()
		if o := l.controls(); o.CatalogState != host.CatalogUnread || o.Observed != nil {
			t.Fatalf("at rest %+v", o)
		}
		c, err := l.h.Probe(t.Context(), l.conv)
		if err != nil {
			t.Fatal(err)
		}
		if c.Session.NativeSession != before.Session.NativeSession || c.Session.Generation != 2 {
			t.Fatalf("session %+v after %+v", c.Session, before.Session)
		}
		two := l.send("Two")
		l.untilTurn(two.ID, host.TurnCompleted)
		if o := l.controls().Observed; o == nil || o.Mode != "plan" || o.Permission != abi.PermissionBypass || o.Effort != "high" || o.Model != lab.MockModel {
			t.Fatalf("in force after the restart: %+v", o)
		}
		r := l.asked("Two")
		if len(r) != 1 || !planning(r[0]) || r[0].Effort != "high" || sandbox(r[0]) != "danger-full-access" {
			t.Fatalf("the turn after the restart ran with effort %s, sandbox %s, planning %v", r[0].Effort, sandbox(r[0]), planning(r[0]))
		}
		// The agent remembers, the journal does not repeat.
		if !bytes.Contains(r[0].Body, []byte("First.")) {
			t.Fatal("the agent lost its memory")
		}
		if got := strings.Join(l.texts(abi.ItemMessage), "|"); got != "First.|Second." {
			t.Fatalf("the journal has %q", got)
		}
		// Another wish after one more restart is in force too (S4).
		l.restart()
		l.configure(host.SettingsPatch{Mode: ptr("default"), Permission: ptr(abi.PermissionDefault), Effort: ptr("low")})
		three := l.send("Three")
		l.untilTurn(three.ID, host.TurnCompleted)
		if o := l.observedAfter(three.ID); o.Mode != "default" || o.Permission != abi.PermissionDefault || o.Effort != "low" {
			t.Fatalf("in force: %+v", o)
		}
		if r := l.asked("Three"); planning(r[0]) || sandbox(r[0]) != "read-only" {
			t.Fatalf("sandbox %s, planning %v", sandbox(r[0]), planning(r[0]))
		}
	})
}

func TestLiveP8_TheUsersOwnDefaultsAreThePermissionDefaultAlsoAfterABypassTurnAndARestart(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{codex: lab.CodexOptions{ApprovalPolicy: "never", SandboxMode: "workspace-write"}},
			on("One", says("First.")), on("Two", says("Second.")))
		l.configure(host.SettingsPatch{Permission: ptr(abi.PermissionBypass)})
		one := l.send("One")
		l.untilTurn(one.ID, host.TurnCompleted)
		l.restart()
		l.configure(host.SettingsPatch{Permission: ptr(abi.PermissionDefault)})
		two := l.send("Two")
		l.untilTurn(two.ID, host.TurnCompleted)
		if o := l.observedAfter(two.ID); o.Permission != abi.PermissionDefault {
			t.Fatalf("in force %+v", o)
		}
		if a, b := sandbox(l.asked("One")[0]), sandbox(l.asked("Two")[0]); a != "danger-full-access" || b != "workspace-write" {
			t.Fatalf("sandboxes %s, %s", a, b)
		}
		const never = "Approval policy is currently never"
		if r := l.asked("Two")[0].Instructions; !strings.Contains(r[strings.LastIndex(r, "`sandbox_mode`"):], never) {
			t.Errorf("the user's approval policy is not in force: %s", tailOf(r, 2000))
		}
	})
}

func TestLiveRule23_ADeletedSessionIsReplacedWithOneWarning(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{},
			on("Ask", calls("call_q", "request_user_input_async", asksLater)), after("call_q", says("Working on.")),
			on("Go on", says("Fresh.")), on("And on", says("Still.")))
		l.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionAuto)})
		first := l.send("Ask")
		l.untilTurn(first.ID, host.TurnCompleted)
		card := l.untilInput()
		old := l.controls().Session.NativeSession
		l.close()
		files := l.rollouts()
		if len(files) == 0 {
			t.Fatal("Codex kept no session")
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
		l.open()
		next := l.send("Go on")
		l.untilTurn(next.ID, host.TurnCompleted)
		if now := l.controls().Session.NativeSession; now == old || now == "" {
			t.Fatalf("session %q after %q", now, old)
		}
		// The wish goes along.
		if r := l.asked("Go on"); len(r) != 1 || !planning(r[0]) || sandbox(r[0]) != "workspace-write" {
			t.Fatalf("%d requests in the fresh session", len(r))
		}
		_, err := l.h.ResolveInput(t.Context(), l.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 0)}})
		wantCode(t, err, host.CodeInteractionStale)
		l.restart()
		again := l.send("And on")
		l.untilTurn(again.ID, host.TurnCompleted)
		n := 0
		for _, w := range bodies[abi.Warning](l.rig, host.EventWarning) {
			if w.Code == string(host.CodeSessionReplaced) {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%d warnings that the session was replaced, want 1", n)
		}
	})
}

func TestLiveRule23_ASessionThatWasNeverUsedIsReplacedSilently(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Go", says("Done.")))
		if _, err := l.h.Probe(t.Context(), l.conv); err != nil {
			t.Fatal(err)
		}
		l.restart()
		turn := l.send("Go")
		l.untilTurn(turn.ID, host.TurnCompleted)
		for _, w := range bodies[abi.Warning](l.rig, host.EventWarning) {
			if w.Code == string(host.CodeSessionReplaced) {
				t.Fatalf("warned: %s", w.Message)
			}
		}
	})
}

func TestLiveRule21_AHarnessThatIsKilledInATurnFailsItAndTheNextMessageContinues(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Work", hangs("Working.")), on("Go on", says("Done.")))
		first := l.send("Work")
		l.until("the first words", func() bool { return len(bodies[any](l.rig, host.EventDelta)) > 0 })
		p, err := os.FindProcess(l.controls().Session.PID)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		got := l.untilTurn(first.ID, host.TurnFailed)
		if got.Code != string(host.CodeHarnessExited) || !strings.Contains(got.Message, "signal") {
			t.Fatalf("turn %+v", got)
		}
		next := l.send("Go on")
		l.untilTurn(next.ID, host.TurnCompleted)
		if r := l.asked("Go on"); len(r) != 1 || !bytes.Contains(r[0].Body, []byte("Work")) {
			t.Fatalf("the session was not continued")
		}
		if got := strings.Join(l.texts(abi.ItemMessage), "|"); got != "Working.|Done." {
			t.Fatalf("the journal has %q", got)
		}
		if n := l.inHistory(first.ClientID); n != 1 {
			t.Fatalf("the first message is in Codex's history %d times", n)
		}
	})
}
