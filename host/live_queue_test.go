package host_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

func TestLiveQ2_T7_AProviderFailureIsAFailedTurnWithItsReasonAndHoldsTheQueueOnAnOutage(t *testing.T) {
	limit := model.Action{HTTP: &model.HTTPError{Status: 429, Body: []byte(`{"error":{"type":"usage_limit_reached","message":"limit","plan_type":"plus","resets_at":1796009999}}`)}}
	for _, c := range []struct {
		name   string
		action model.Action
		says   string
	}{
		{"500", model.Status(500, "boom"), ""},
		{"503", model.Status(503, "busy"), ""},
		{"429", limit, "limit"},
		{"disconnect", model.Action{Disconnect: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachCodex(t, func(t *testing.T, version string) {
				l := newLive(t, version, liveOptions{codex: lab.CodexOptions{NoRetries: true}},
					on("First", model.Step{Reply: []model.Action{c.action}}),
					on("Second", says("Two.")), on("Third", says("Three.")))
				first, second := l.send("First"), l.send("Second")
				third := l.send("Third")
				got := l.untilTurn(first.ID, host.TurnFailed)
				if got.Code == "" || got.Message == "" || !strings.Contains(got.Message, c.says) {
					t.Fatalf("turn %+v", got)
				}
				q := l.controls().Queue
				if !q.Held || q.Reason != host.CodeHoldProviderOutage || len(q.Turns) != 2 {
					t.Fatalf("queue %+v after %s: %s", q, got.Code, got.Message)
				}
				if n := len(l.model.AgentRequests()); n != 1 {
					t.Fatalf("%d requests: the queue drained into the outage", n)
				}
				if _, err := l.h.ResumeQueue(t.Context(), l.conv); err != nil {
					t.Fatal(err)
				}
				l.untilTurn(second.ID, host.TurnCompleted)
				l.untilTurn(third.ID, host.TurnCompleted)
				if g := l.generation(); g != 1 {
					t.Fatalf("generation %d: the process was replaced", g)
				}
			})
		})
	}
}

func TestLiveT7_AFailureThatIsRetriedIsToldAndTheTurnGoesOn(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Go", model.Step{Reply: []model.Action{{Disconnect: true}}}), on("Go", says("Done.")))
		turn := l.send("Go")
		l.untilTurn(turn.ID, host.TurnCompleted)
		told := 0
		for _, w := range bodies[abi.Warning](l.rig, host.EventWarning) {
			if w.Code == "provider_retry" {
				told++
			}
		}
		if told != 1 {
			t.Fatalf("told %d times that the provider is asked again", told)
		}
	})
}

func TestLiveQ5_QuickTurnsAreDispatchedOnceAndInOrder(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, always(says("Quick.")))
		texts := []string{"A", "B", "C", "D", "E", "F"}
		var turns []host.Turn
		for _, s := range texts {
			turns = append(turns, l.send(s))
		}
		for _, turn := range turns {
			l.untilTurn(turn.ID, host.TurnCompleted)
			if n := l.inHistory(turn.ClientID); n != 1 {
				t.Errorf("message %s is in Codex's history %d times", turn.Content[0].Text, n)
			}
		}
		var order []string
		for _, r := range l.model.AgentRequests() {
			order = append(order, r.LastUser)
		}
		if strings.Join(order, "") != "ABCDEF" {
			t.Fatalf("the model was asked in the order %q", order)
		}
	})
}

func TestLiveQ3_A7_AChildAgentsEndIsNotTheTurnsEndAndItsApprovalIsAnswered(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{},
			model.Step{Match: model.Match{LastUser: "lab-child"}, Reply: []model.Action{model.Call("call_k", "exec_command",
				`{"cmd":"echo child > child.txt","sandbox_permissions":"require_escalated","justification":"the child needs it"}`)}},
			model.Step{Match: model.Match{LastUser: "lab-child", Result: "call_k"}, Reply: []model.Action{model.Text("Child done.")}},
			on("Delegate", model.Step{Reply: []model.Action{{Call: &model.ToolCall{ID: "call_s", Namespace: "multi_agent_v1", Name: "spawn_agent", Arguments: []byte(`{"message":"lab-child"}`)}}}}),
			on("Next", says("Second.")),
			// Codex tells the parent of its child's end as a message of the user.
			on("<subagent_notification>", says("Parent done.")),
			after("call_s", model.Step{Reply: []model.Action{model.Wait("parent"), model.Text("Waiting for the child.")}}))
		first, second := l.send("Delegate"), l.send("Next")
		card := l.untilInput()
		if card.Turn != first.ID || card.Ask.Text != "the child needs it" {
			t.Fatalf("card %+v", card)
		}
		l.answer(card.ID, host.Answer{Decision: "accept"})
		l.until("the child to end", func() bool { return strings.Contains(strings.Join(l.texts(abi.ItemMessage), "|"), "Child done.") })
		if s := l.turn(first.ID).State; s != host.TurnRunning {
			t.Fatalf("the turn is %s although its parent still works", s)
		}
		if s := l.turn(second.ID).State; s != host.TurnQueued {
			t.Fatalf("the queue drained early: %s", s)
		}
		if got := l.file("child.txt"); got != "child\n" {
			t.Fatalf("the child's command wrote %q", got)
		}
		l.model.Release("parent")
		l.untilTurn(first.ID, host.TurnCompleted)
		l.untilTurn(second.ID, host.TurnCompleted)
	})
}

func TestLiveRule24_ASteerGoesIntoTheRunningTurn(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{},
			on("Go straight on", model.Step{Reply: []model.Action{model.Text("Going."), model.Wait("turn")}}),
			on("Turn left", says("Left it is.")), on("Later", says("Later.")))
		first := l.send("Go straight on")
		l.untilAsked("Go straight on", 1)
		later := l.send("Later")
		steer, err := l.h.Steer(t.Context(), l.conv, host.Message{Content: host.Text("Turn left")})
		if err != nil {
			t.Fatal(err)
		}
		l.untilTurn(steer.ID, host.TurnCompleted)
		l.model.Release("turn")
		l.untilTurn(first.ID, host.TurnCompleted)
		l.untilTurn(later.ID, host.TurnCompleted)
		var order []string
		for _, r := range l.model.AgentRequests() {
			order = append(order, r.LastUser)
		}
		if strings.Join(order, "|") != "Go straight on|Turn left|Later" {
			t.Fatalf("the model was asked in the order %q", order)
		}
		if n := l.inHistory(steer.ClientID); n != 1 {
			t.Fatalf("the steer is in Codex's history %d times", n)
		}
	})
}

func TestLiveRule24_ASteerThatComesTooLateIsAnOrdinaryMessage(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, always(on("Quick", says("Done."))), always(on("Left", says("Left it is."))))
		// Some come in time, some after the end: each is delivered exactly once.
		for range 5 {
			turn := l.send("Quick")
			steer, err := l.h.Steer(t.Context(), l.conv, host.Message{Content: host.Text("Left")})
			if err != nil {
				t.Fatal(err)
			}
			l.untilTurn(turn.ID, host.TurnCompleted)
			l.untilTurn(steer.ID, host.TurnCompleted)
			if n := l.inHistory(steer.ClientID); n != 1 {
				t.Fatalf("the steer is in Codex's history %d times", n)
			}
		}
	})
}

func TestLiveT2_ALongStreamArrivesWholeAndInOrder(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		var b strings.Builder
		for i := range 3000 {
			b.WriteString(strings.Repeat("ä", i%5))
			b.WriteString("word ")
		}
		long := b.String()
		l := newLive(t, version, liveOptions{}, model.Step{Reply: []model.Action{model.Chunked(long, 3000)}})
		turn := l.send("Tell me")
		l.untilTurn(turn.ID, host.TurnCompleted)
		if got := l.texts(abi.ItemMessage); len(got) != 1 || got[0] != long {
			t.Fatalf("%d messages, the first of %d bytes, want %d", len(got), len(got[0]), len(long))
		}
		if n := len(bodies[any](l.rig, host.EventDelta)); n != 0 {
			t.Fatalf("%d deltas are left after the turn", n)
		}
		// D7: the gauge is a gauge.
		if u := l.controls().Usage; u == nil || len(u.Gauges) == 0 || len(u.Counters) == 0 {
			t.Fatalf("usage %+v", u)
		}
	})
}

func TestLiveP10_Q7_AnEffortThatTheModelDoesNotHaveIsNotSent(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Go on", says("Done.")))
		// Saved at rest, where nobody can know yet (rule 9).
		l.configure(host.SettingsPatch{Model: ptr(lab.MockPlainModel), Effort: ptr("high")})
		turn := l.send("Go")
		got := l.untilTurn(turn.ID, host.TurnNotSent)
		c := l.controls()
		if got.Code != string(host.CodeUnknownEffort) || len(c.Problems) != 1 || c.Problems[0].Field != "effort" || len(l.model.AgentRequests()) != 0 {
			t.Fatalf("turn %+v, problems %+v", got, c.Problems)
		}
		for _, bad := range []struct {
			patch host.SettingsPatch
			code  host.Code
		}{
			{host.SettingsPatch{Mode: ptr("nope")}, host.CodeUnknownMode},
			{host.SettingsPatch{Model: ptr("nope")}, host.CodeUnknownModel},
			{host.SettingsPatch{Effort: ptr("ultra")}, host.CodeUnknownEffort},
		} {
			_, err := l.h.ConfigureNextTurn(t.Context(), l.conv, c.Revision, bad.patch)
			wantCode(t, err, bad.code)
		}
		var names []string
		for _, m := range c.Catalog.Models {
			names = append(names, m.ID)
		}
		if len(c.Catalog.Modes) != 2 || strings.Join(names[:3], " ") != "mock-model mock-plain mock-hidden" || !c.Catalog.Models[2].Hidden {
			t.Fatalf("catalog %+v", c.Catalog)
		}
		l.configure(host.SettingsPatch{Effort: ptr("low")})
		next := l.send("Go on")
		l.untilTurn(next.ID, host.TurnCompleted)
		if r := l.asked("Go on"); r[0].Model != lab.MockPlainModel || r[0].Effort != "low" {
			t.Fatalf("ran with %s %s", r[0].Model, r[0].Effort)
		}
		if p := l.controls().Problems; len(p) != 0 {
			t.Fatalf("the problem stays after another choice: %+v", p)
		}
	})
}
