package host_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func (r *rig) steer(text string) host.Turn {
	r.t.Helper()
	t, err := r.h.Steer(r.t.Context(), r.conv, host.Message{Content: host.Text(text)})
	if err != nil {
		r.t.Fatalf("steer: %v", err)
	}
	return t
}

func TestRule24_WithoutNativeSteeringTheTurnIsCancelledOnceAndTheLastSteerRuns(t *testing.T) {
	t.Parallel()
	gate, letGo := newGate(t)
	r := newRogueRig(t, fmt.Sprintf(`{"methods":{"turn/interrupt":[{"wait_file":%q}]},
	 "turns":[{"when":{"text":"steering"},"steps":[{"say":"First."},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`, gate))
	turn := r.send("steering cancel-and-prompt")
	r.until("the first words", func() bool { return len(r.texts(abi.ItemMessage)) == 1 })
	if got := r.controls().Session.Capabilities.Steering; got != abi.SteeringCancelAndPrompt {
		t.Fatalf("steering is %q", got)
	}
	older := r.send("older")
	// An image is refused while it is known that it would be stripped (C1).
	_, err := r.h.Steer(t.Context(), r.conv, host.Message{Content: []host.Content{{Type: abi.ContentImage, Media: "image/png", Bytes: []byte("x")}}})
	wantCode(t, err, host.CodeContentUnsupported)
	var steers []host.Turn
	for _, text := range []string{"one", "two", "three"} {
		steers = append(steers, r.steer(text))
	}
	letGo()
	r.untilTurn(turn.ID, host.TurnInterrupted)
	r.untilTurn(older.ID, host.TurnCompleted)
	last := steers[len(steers)-1]
	for _, s := range steers {
		want := host.TurnSuperseded
		if s.ID == last.ID {
			want = host.TurnCompleted
		}
		if got := r.turn(s.ID); got.State != want {
			t.Errorf("the steer %s is %s, want %s", s.Content[0].Text, got.State, want)
		}
	}
	said := r.texts(abi.ItemMessage)
	if n := len(said); n != 3 || said[n-1] != "I heard older." || said[n-2] != "I heard three." {
		t.Fatalf("the agent said %q", said)
	}
}

func TestRule24_WhereNothingCanSteerTheMessageWaitsForTheEndOfTheTurn(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, `{"turns":[{"when":{"text":"steering"},"steps":[{"ask":{"id":"q","questions":[{"id":"a","question":"Which?","options":[{"label":"x","description":""}]}]}},{"say":"First."}]},
	 {"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`)
	turn := r.send("steering none")
	card := r.untilInput()
	older := r.send("older")
	steer := r.steer("now")
	if got := r.controls().Running; got == nil || got.Turn != turn.ID || got.Stopping {
		t.Fatalf("the running turn is %+v", got)
	}
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	r.untilTurn(turn.ID, host.TurnCompleted)
	r.untilTurn(steer.ID, host.TurnCompleted)
	r.untilTurn(older.ID, host.TurnCompleted)
	if said := r.texts(abi.ItemMessage); len(said) != 3 || said[0] != "First." || said[1] != "I heard now." || said[2] != "I heard older." {
		t.Fatalf("the agent said %q", said)
	}
}

func TestRule14_ASteerTakesBackWhatTheAgentAskedAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]string{
		"a question":         `{"ask":{"id":"q","questions":[{"id":"a","question":"Which?","options":[{"label":"x","description":""}]}]}}`,
		"an approval":        `{"run":{"command":"make install","approve":true}}`,
		"a child's approval": `{"child":{"prompt":"Look","steps":[{"run":{"command":"make install","approve":true}},{"say":"Looked."}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[`+ask+`,{"say":"Went on."},{"wait_steer":true},{"say":"I heard {{text}}."}]}]}`)
			turn := r.send("Go")
			card := r.untilInput()
			steer := r.steer("never mind")
			r.untilTurn(steer.ID, host.TurnCompleted)
			if got := r.turn(steer.ID).Evidence; got != "steered into "+turn.ID {
				t.Errorf("the steer is %q", got)
			}
			r.untilTurn(turn.ID, host.TurnCompleted)
			if said := r.texts(abi.ItemMessage); !slices.Contains(said, "Went on.") || said[len(said)-1] != "I heard never mind." {
				t.Errorf("the agent said %q", said)
			}
			if open, err := r.h.Inputs(t.Context(), r.conv); err != nil || len(open) != 0 {
				t.Errorf("still asked: %+v, %v", open, err)
			}
			if got := r.closed(card.ID); got.Disposition != abi.DispositionCancelled {
				t.Errorf("the card is %+v", got)
			}
			_, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Decision: "accept"})
			wantCode(t, err, host.CodeInteractionStale)
		})
	}
}

func TestRule14_AnAnswerGivenBeforeASteerIsStillDelivered(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoQuestions)
	turn := r.send("Ask")
	card := r.untilInput()
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0), answered("b", 0)}})
	r.steer("quickly")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := r.closed(card.ID); got.Disposition != abi.DispositionAnswered {
		t.Fatalf("the card is %+v", got)
	}
}

// What a client can tell before it sends is what sending would say.
func TestC1_ASessionRefusesWhatSendWouldRefuseAndNothingBeforeItIsReady(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	image := host.Content{Type: abi.ContentImage, Media: "image/png", Bytes: []byte("x")}
	file := host.Content{Type: abi.ContentFile, Media: "text/plain", Bytes: []byte("x")}
	if err := r.controls().Session.Refuses([]host.Content{file}); err != nil {
		t.Errorf("without a session: %v", err)
	}
	if _, err := r.h.Probe(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	if err := r.controls().Session.Refuses(append(host.Text("x"), image)); err != nil {
		t.Errorf("an image: %v", err)
	}
	err := r.controls().Session.Refuses([]host.Content{image, file})
	wantCode(t, err, host.CodeContentUnsupported)
	if _, said := r.h.Send(t.Context(), r.conv, host.Message{Content: []host.Content{image, file}}); said == nil || said.Error() != err.Error() {
		t.Errorf("sending says %v, the session %v", said, err)
	}
}

// The turn that is steered goes to the front, so it is settled before the steer.
func TestRule24_ASteerThatCouldNotBeWrittenWaitsAndRunsAsATurnOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[
	 {"when":{"mode":"plan"},"steps":[{"plan":"# Plan\n1. Do it\n"}]},
	 {"when":{"text":"Implement"},"steps":[{"say":"Implementing."},{"hang":true}]},
	 {"repeat":true,"steps":[{"say":"I heard {{text}}."},{"wait_interrupt":true}]}]}`, func(c *host.Config) {
		l := c.Launch["codex"]
		l.Env = append(l.Env, deafEnv+"=Implement")
		c.Launch["codex"] = l
	})
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	r.untilTurn(r.send("Plan it").ID, host.TurnCompleted)
	plan := r.untilPlan()
	impl, err := r.h.ContinuePlan(t.Context(), r.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision})
	if err != nil {
		t.Fatal(err)
	}
	r.until("the first words", func() bool { return slices.Contains(r.texts(abi.ItemMessage), "Implementing.") })
	steer := r.steer("left")
	r.untilTurn(impl.ID, host.TurnFailed)
	r.until("the deaf harness to be ended", func() bool { return r.controls().Session.State == host.SessionNone })
	if got := r.controls().Queue.Turns; !slices.Equal(got, []string{steer.ID}) {
		t.Errorf("the queue is %q, want the steer %s", got, steer.ID)
	}
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.until("the answer", func() bool { return slices.Contains(r.texts(abi.ItemMessage), "I heard left.") })
	if got := r.turn(steer.ID); got.State != host.TurnRunning {
		t.Errorf("the agent works on it and the turn is %s (%s)", got.State, got.Evidence)
	}
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{}); err != nil {
		t.Errorf("what runs cannot be stopped: %v", err)
	}
	r.untilTurn(steer.ID, host.TurnInterrupted)
}

func TestRule02_ASteerThatTheHarnessRefusesRunsUnderTheSettingsOfItsRevision(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"methods":{"turn/steer":[{"error":{"code":-32600,"message":"no active turn to steer"}}]},"turns":[
	 {"when":{"mode":"default"},"steps":[{"say":"Working."},{"wait_interrupt":true}]},
	 {"repeat":true,"steps":[{"say":"In {{mode}}."}]}]}`)
	r.configure(host.SettingsPatch{Mode: ptr("default"), Permission: ptr(abi.PermissionBypass)})
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	now := r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionDefault)})
	steer := r.steer("Only think about it")
	r.until("the refusal", func() bool { return r.turn(steer.ID).Evidence != "" })
	got := r.turn(steer.ID)
	if got.Revision != now.Revision || got.Settings.Mode != "plan" || got.Settings.Permission != abi.PermissionDefault {
		t.Errorf("it waits as an ordinary message of revision %d under %+v; revision %d is %+v", got.Revision, got.Settings, now.Revision, now.Settings)
	}
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(first.ID, host.TurnInterrupted)
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(steer.ID, host.TurnCompleted)
	if said := r.texts(abi.ItemMessage); said[len(said)-1] != "In plan." {
		t.Errorf("the agent said %q", said)
	}
}

func TestRule01_ASteerThatJoinedTheRunningTurnIsRecordedUnderTheSettingsOfThatTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[{"say":"Working."},{"wait_steer":true},{"say":"In {{mode}}."}]}]}`)
	before := r.configure(host.SettingsPatch{Mode: ptr("default"), Permission: ptr(abi.PermissionBypass)})
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionDefault)})
	steer := r.steer("Go on")
	r.untilTurn(steer.ID, host.TurnCompleted)
	got := r.turn(steer.ID)
	if got.Revision != before.Revision || got.Settings.Mode != "default" || got.Settings.Permission != abi.PermissionBypass {
		t.Errorf("it is recorded as of revision %d under %+v", got.Revision, got.Settings)
	}
	r.untilTurn(first.ID, host.TurnCompleted)
	if said := r.texts(abi.ItemMessage); said[len(said)-1] != "In default." {
		t.Errorf("the agent said %q", said)
	}
}

// Else it would be under way for ever: nothing could stop it or take it back, and the
// session would never rest.
func TestRule20_ASteerThatIsNeverAnsweredIsUncertainOnceItsTurnIsOverAndSettledByTheHistory(t *testing.T) {
	gate, letGo := newGate(t)
	r := newRig(t, fmt.Sprintf(`{"methods":{"turn/steer":[{"hang":true}]},"turns":[
	 {"when":{"turn":1},"steps":[{"say":"Working."},{"wait_file":%q},{"say":"Finished."}]},
	 {"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`, gate), restsAfter(50*time.Millisecond), func(c *host.Config) { c.StopGrace = 300 * time.Millisecond })
	first := r.send("Work")
	r.until("the first words", func() bool { return len(r.texts(abi.ItemMessage)) == 1 })
	steer := r.steer("left")
	if got := r.turn(steer.ID); got.State.Ended() {
		t.Fatalf("the steer is %s while the turn runs", got.State)
	}
	letGo()
	r.untilTurn(first.ID, host.TurnCompleted)
	r.untilTurn(steer.ID, host.TurnUncertain)
	if got := r.turn(steer.ID); got.Code != string(host.CodeUncertainDelivery) {
		t.Errorf("the steer has the code %q", got.Code)
	}
	r.untilRest()
	r.untilTurn(r.send("And now").ID, host.TurnCompleted)
	if got := r.turn(steer.ID); got.State != host.TurnCompleted {
		t.Fatalf("the steer is %s (%s)", got.State, got.Evidence)
	}
	if said := r.texts(abi.ItemMessage); !slices.Equal(said[2:], []string{"I heard left.", "I heard And now."}) {
		t.Errorf("the agent said %q", said)
	}
}

func TestRule24_ASteerIsSettledByAnAnswerThatComesBehindTheEndOfItsTurn(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{"taken": `"result":{"turnId":"any"}`, "refused": `"error":{"code":-32600,"message":"no active turn to steer"}`} {
		t.Run(name, func(t *testing.T) {
			gate, letGo := newGate(t)
			ended, answer := newGate(t)
			r := newRig(t, fmt.Sprintf(`{"methods":{"turn/steer":[{"wait_file":%q,%s}]},"turns":[
			 {"when":{"turn":1},"steps":[{"say":"Working."},{"wait_file":%q}]},
			 {"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`, ended, says, gate), func(c *host.Config) { c.StopGrace = time.Minute })
			first := r.send("Work")
			r.until("the first words", func() bool { return len(r.texts(abi.ItemMessage)) == 1 })
			steer := r.steer("late")
			letGo()
			r.untilTurn(first.ID, host.TurnCompleted)
			answer()
			r.untilTurn(steer.ID, host.TurnCompleted)
			if got := r.turn(steer.ID); strings.HasPrefix(got.Evidence, "steered into ") != (name == "taken") {
				t.Errorf("the steer is settled by %q", got.Evidence)
			}
		})
	}
}
