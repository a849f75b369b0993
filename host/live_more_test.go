package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab"
)

func TestLiveA6_AQuestionInOneConversationBlocksNoOther(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Ask", calls("call_q", "request_user_input", whichName)), after("call_q", says("Thanks.")), on("Work", says("Done.")))
		l.configure(host.SettingsPatch{Mode: ptr("plan")})
		asking := l.send("Ask")
		card := l.untilInput()
		other, err := l.h.Create(t.Context(), host.NewConversation{Harness: "codex", Cwd: l.cwd})
		if err != nil {
			t.Fatal(err)
		}
		second := &live{rig: &rig{t: t, h: l.h, conv: other.ID, cfg: l.cfg}, model: l.model, home: l.home}
		turn := second.send("Work")
		second.untilTurn(turn.ID, host.TurnCompleted)
		if s := l.turn(asking.ID).State; s != host.TurnRunning {
			t.Fatalf("the turn that asks is %s", s)
		}
		if a, b := l.controls().Session, second.controls().Session; a.PID == b.PID || a.NativeSession == b.NativeSession {
			t.Fatalf("two conversations share a session: %+v %+v", a, b)
		}
		if planning(l.asked("Work")[0]) {
			t.Fatal("the mode of one conversation is in force in the other")
		}
		l.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("name", 0)}})
		l.untilTurn(asking.ID, host.TurnCompleted)
	})
}

func TestLiveTheChecklistIsProgressAndNoPlanToReview(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Go", calls("call_p", "update_plan",
			`{"explanation":"why","plan":[{"step":"one","status":"completed"},{"step":"two","status":"in_progress"},{"step":"three","status":"pending"}]}`)), after("call_p", says("Done.")))
		turn := l.send("Go")
		l.untilTurn(turn.ID, host.TurnCompleted)
		list := bodies[abi.Progress](l.rig, host.EventProgress)
		if len(list) != 1 || list[0].Note != "why" || len(list[0].Entries) != 3 || list[0].Entries[0].Status != "completed" || list[0].Entries[1].Status != "running" || list[0].Entries[2].Text != "three" {
			t.Fatalf("progress %+v", list)
		}
		if plans, err := l.h.Plans(t.Context(), l.conv); err != nil || len(plans) != 0 {
			t.Fatalf("plans %+v, %v", plans, err)
		}
	})
}

func TestLiveC8_TheCommandOfAnApprovalIsWholeAndItsBytesAreUnchanged(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		// A right-to-left override and a zero-width space, which a display must show.
		const name = "a\u202egpj\u200b.txt"
		command := "touch '" + name + "' # " + strings.Repeat("long ", 400) + "end"
		l := newLive(t, version, liveOptions{}, on("Go", escalates("call_a", command)), after("call_a", says("Done.")))
		turn := l.send("Go")
		card := l.untilInput()
		if !strings.Contains(card.Ask.Command, name) || !strings.Contains(card.Ask.Command, "long end") {
			t.Fatalf("command %q", card.Ask.Command)
		}
		l.answer(card.ID, host.Answer{Decision: "accept"})
		l.untilTurn(turn.ID, host.TurnCompleted)
		if _, err := os.Stat(filepath.Join(l.cwd, name)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLiveAHarnessThatRefusesItsConfigurationKeepsTheMessageAndSaysWhy(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		// A value that both versions once took and now end with. (A file that is no TOML
		// at all they only warn of, and go on without it.)
		l := newLive(t, version, liveOptions{codex: lab.CodexOptions{ApprovalPolicy: "untrusted"}}, on("Go", says("Done.")))
		turn := l.send("Go")
		l.until("the reason", func() bool { return len(l.controls().Problems) > 0 && l.controls().Queue.Held })
		c := l.controls()
		if p := c.Problems[0]; p.Code != string(host.CodeHarnessExited) || !strings.Contains(p.Message, "approval_policy") {
			t.Fatalf("problem %+v", p)
		}
		if got := l.turn(turn.ID); got.State != host.TurnQueued || len(c.Queue.Turns) != 1 {
			t.Fatalf("the message is %s", got.State)
		}
		config := filepath.Join(l.home.Dir, "config.toml")
		b, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config, []byte(strings.Replace(string(b), `approval_policy = "untrusted"`, "", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := l.h.ResumeQueue(t.Context(), l.conv); err != nil {
			t.Fatal(err)
		}
		l.untilTurn(turn.ID, host.TurnCompleted)
		if p := l.controls().Problems; len(p) != 0 {
			t.Fatalf("the problem stays: %+v", p)
		}
	})
}
