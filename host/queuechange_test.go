package host_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// hears keeps its first turn running until it is interrupted and repeats what it
// hears afterwards.
const hears = `{"turns":[
 {"when":{"turn":1},"steps":[{"say":"Working."},{"wait_interrupt":true}]},
 {"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`

func (r *rig) edit(turn host.Turn, version int64, text string) (host.Turn, error) {
	return r.h.EditQueued(r.t.Context(), r.conv, turn.ID, host.QueuedEdit{Version: version, Content: host.Text(text)})
}

func (r *rig) move(turn host.Turn, version int64, before string) (host.Turn, error) {
	return r.h.MoveQueued(r.t.Context(), r.conv, turn.ID, host.QueuedMove{Version: version, Before: before})
}

// busy starts a turn that runs until it is stopped.
func (r *rig) busy() host.Turn {
	t := r.send("Work")
	r.untilTurn(t.ID, host.TurnRunning)
	return t
}

// goOn stops what runs and lets the queue run.
func (r *rig) goOn(running host.Turn) {
	r.t.Helper()
	if _, err := r.h.Stop(r.t.Context(), r.conv, host.StopOptions{}); err != nil {
		r.t.Fatal(err)
	}
	r.untilTurn(running.ID, host.TurnInterrupted)
	if _, err := r.h.ResumeQueue(r.t.Context(), r.conv); err != nil {
		r.t.Fatal(err)
	}
}

func TestRule02_AnEditedMessageIsSentWithTheSettingsItWasAcceptedWith(t *testing.T) {
	t.Parallel()
	r := newRig(t, hears)
	running := r.busy()
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	queued := r.send("before")
	r.configure(host.SettingsPatch{Mode: ptr("default")})
	got, err := r.edit(queued, queued.Version, "after")
	if err != nil {
		t.Fatal(err)
	}
	if queued.Version != 1 || got.Version != 2 || got.Content[0].Text != "after" || got.Settings.Mode != "plan" || got.Revision != queued.Revision {
		t.Fatalf("version %d became %+v", queued.Version, got)
	}
	if told := bodies[host.Turn](r, host.EventTurn); told[len(told)-1].Content[0].Text != "after" {
		t.Errorf("the journal's newest turn is %+v", told[len(told)-1])
	}
	r.goOn(running)
	r.untilTurn(queued.ID, host.TurnCompleted)
	if said := r.texts(abi.ItemMessage); said[len(said)-1] != "I heard after." {
		t.Errorf("the agent said %q", said)
	}
	if o := r.controls().Observed; o == nil || o.Mode != "plan" {
		t.Errorf("observed %+v, want plan", o)
	}
}

func TestAnEditOrMoveOfAMessageThatSomebodyChangedIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, hears)
	r.busy()
	a, b := r.send("a"), r.send("b")
	if _, err := r.edit(a, a.Version, "mine"); err != nil {
		t.Fatal(err)
	}
	_, err := r.edit(a, a.Version, "theirs")
	wantCode(t, err, host.CodeTurnChanged)
	_, err = r.move(a, a.Version, "")
	wantCode(t, err, host.CodeTurnChanged)
	if got := r.turn(a.ID); got.Content[0].Text != "mine" || got.Version != 2 {
		t.Errorf("the turn is %+v", got)
	}
	if got := r.controls().Queue.Turns; !slices.Equal(got, []string{a.ID, b.ID}) {
		t.Errorf("the queue is %q", got)
	}
	// What is so already may be asked for again.
	again, err := r.edit(a, a.Version, "mine")
	if err != nil || again.Version != 2 {
		t.Errorf("a repeated edit gave %+v, %v", again, err)
	}
	stays, err := r.move(a, a.Version, b.ID)
	if err != nil || stays.Version != 2 {
		t.Errorf("a move to its own place gave %+v, %v", stays, err)
	}
}

func TestAMessageThatSomebodyChangedIsNotCancelledByWhoHasNotReadIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, hears)
	r.busy()
	a, b := r.send("a"), r.send("b")
	edited, err := r.edit(a, a.Version, "mine")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.h.CancelQueued(t.Context(), r.conv, a.ID, host.QueuedCancel{Version: a.Version})
	wantCode(t, err, host.CodeTurnChanged)
	if got := r.turn(a.ID); got.State != host.TurnQueued || got.Content[0].Text != "mine" {
		t.Errorf("the turn is %+v", got)
	}
	if got, err := r.h.CancelQueued(t.Context(), r.conv, a.ID, host.QueuedCancel{Version: edited.Version}); err != nil || got.State != host.TurnCancelled {
		t.Errorf("the message as it was read: %+v, %v", got, err)
	}
	// What is cancelled already may be cancelled again, whatever was read.
	if got, err := r.h.CancelQueued(t.Context(), r.conv, a.ID, host.QueuedCancel{Version: a.Version}); err != nil || got.State != host.TurnCancelled {
		t.Errorf("a repeated cancel: %+v, %v", got, err)
	}
	// Without a version it is whatever it says by now.
	if _, err := r.move(b, b.Version, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := r.h.CancelQueued(t.Context(), r.conv, b.ID); err != nil || got.State != host.TurnCancelled {
		t.Errorf("a cancel without a version: %+v, %v", got, err)
	}
}

func TestMovedMessagesRunInTheirNewOrderAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, hears)
	r.busy()
	a, b, c, d := r.send("a"), r.send("b"), r.send("c"), r.send("d")
	moved, err := r.move(d, d.Version, b.ID)
	if err != nil || moved.Version != 2 {
		t.Fatalf("%+v, %v", moved, err)
	}
	if _, err := r.move(a, a.Version, ""); err != nil {
		t.Fatal(err)
	}
	want := []string{d.ID, b.ID, c.ID, a.ID}
	if got := r.controls().Queue.Turns; !slices.Equal(got, want) {
		t.Errorf("the queue is %q, want %q", got, want)
	}
	if told := bodies[host.Queue](r, host.EventQueue); len(told) == 0 || !slices.Equal(told[len(told)-1].Turns, want) {
		t.Errorf("the journal tells the queues %+v", told)
	}
	r.restart()
	if got := r.controls().Queue.Turns; !slices.Equal(got, want) {
		t.Errorf("after a restart the queue is %q, want %q", got, want)
	}
	// The harness is a new process, whose first turn would be interrupted.
	r.script(`{"turns":[{"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`)
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(a.ID, host.TurnCompleted)
	said := r.texts(abi.ItemMessage)
	if said = said[1:]; !slices.Equal(said, []string{"I heard d.", "I heard b.", "I heard c.", "I heard a."}) {
		t.Errorf("the agent said %q", said)
	}
}

func TestRule21b_WhatGoesToTheFrontIsNeitherMovedNorMovedBehind(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, `{"turns":[{"when":{"text":"steering"},"steps":[{"ask":{"id":"q","questions":[{"id":"a","question":"Which?","options":[{"label":"x","description":""}]}]}},{"say":"First."}]},
	 {"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`)
	turn := r.send("steering none")
	card := r.untilInput()
	one, two := r.send("one"), r.send("two")
	steer := r.steer("now")
	_, err := r.move(steer, steer.Version, "")
	wantCode(t, err, host.CodeTurnFixed)
	_, err = r.move(two, two.Version, steer.ID)
	wantCode(t, err, host.CodeTurnFixed)
	if _, err := r.move(two, two.Version, one.ID); err != nil {
		t.Fatal(err)
	}
	if got, want := r.controls().Queue.Turns, []string{steer.ID, two.ID, one.ID}; !slices.Equal(got, want) {
		t.Fatalf("the queue is %q, want %q", got, want)
	}
	// Its words are the person's own and may change.
	if _, err := r.edit(steer, steer.Version, "now, please"); err != nil {
		t.Fatal(err)
	}
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	r.untilTurn(turn.ID, host.TurnCompleted)
	r.untilTurn(one.ID, host.TurnCompleted)
	if said := r.texts(abi.ItemMessage); !slices.Equal(said, []string{"First.", "I heard now, please.", "I heard two.", "I heard one."}) {
		t.Errorf("the agent said %q", said)
	}
}

func TestATurnThatLeftTheQueueIsNeitherEditedNorMovedNorMovedBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, hears)
	running := r.busy()
	queued, gone := r.send("queued"), r.send("gone")
	if _, err := r.h.CancelQueued(t.Context(), r.conv, gone.ID); err != nil {
		t.Fatal(err)
	}
	for _, left := range []host.Turn{running, gone} {
		_, err := r.edit(left, left.Version, "other")
		wantCode(t, err, host.CodeTurnNotQueued)
		_, err = r.move(left, left.Version, queued.ID)
		wantCode(t, err, host.CodeTurnNotQueued)
		_, err = r.move(queued, queued.Version, left.ID)
		wantCode(t, err, host.CodeTurnNotQueued)
	}
	_, err := r.edit(host.Turn{ID: "nothing"}, 1, "other")
	wantCode(t, err, host.CodeUnknownTurn)
	_, err = r.move(queued, queued.Version, "nothing")
	wantCode(t, err, host.CodeUnknownTurn)
	if got := r.turn(queued.ID); got.Version != 1 {
		t.Errorf("a refused move made version %d", got.Version)
	}
}

func TestAnAnswerThatWaitsKeepsItsWords(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"plan":"# P"}]},{"when":{"turn":2},"steps":[{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	r.untilTurn(r.send("Plan").ID, host.TurnCompleted)
	p := r.untilPlan()
	r.untilTurn(r.send("Work").ID, host.TurnRunning)
	it, err := r.h.ContinuePlan(t.Context(), r.conv, host.PlanDecision{Proposal: p.ID, Revision: p.Revision})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.edit(it, it.Version, "something else")
	wantCode(t, err, host.CodeTurnFixed)
}

func TestAnEditKeepsAttachmentsByTheirDigest(t *testing.T) {
	t.Parallel()
	r := newRig(t, hears)
	r.busy()
	queued, err := r.h.Send(t.Context(), r.conv, host.Message{Content: []host.Content{
		{Type: abi.ContentText, Text: "Look"}, {Type: abi.ContentImage, Media: "image/png", Name: "a.png", Bytes: []byte("picture")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	image := queued.Content[1]
	got, err := r.h.EditQueued(t.Context(), r.conv, queued.ID, host.QueuedEdit{Version: 1, Content: []host.Content{
		{Type: abi.ContentImage, Digest: image.Digest}, {Type: abi.ContentText, Text: "Look again"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 2 || got.Content[0].Digest != image.Digest || got.Content[0].Name != "a.png" || got.Content[0].Media != "image/png" || got.Content[1].Text != "Look again" {
		t.Errorf("the content is %+v", got.Content)
	}
	_, err = r.h.EditQueued(t.Context(), r.conv, queued.ID, host.QueuedEdit{Version: 2, Content: []host.Content{{Type: abi.ContentImage, Digest: "sha256:00"}}})
	wantCode(t, err, host.CodeInvalidArgument)
	for _, empty := range [][]host.Content{nil, host.Text("")} {
		_, err = r.h.EditQueued(t.Context(), r.conv, queued.ID, host.QueuedEdit{Version: 2, Content: empty})
		wantCode(t, err, host.CodeEmptyMessage)
	}
	if got := r.turn(queued.ID); got.Version != 2 {
		t.Errorf("refused edits made version %d", got.Version)
	}
}

func TestRule19_AnEditThatIsAcceptedIsWhatTheAgentHears(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"say":"I heard {{text}}."}]}]}`)
	edited := 0
	var want []string
	for i := range 20 {
		first, second := fmt.Sprintf("first %d", i), fmt.Sprintf("second %d", i)
		ahead := r.send("ahead")
		turn := r.send(first)
		var editing sync.WaitGroup
		var err error
		editing.Go(func() {
			// Half of them race the hand-over, half of them come before it.
			if i%2 == 0 {
				r.untilTurn(ahead.ID, host.TurnCompleted)
			}
			_, err = r.edit(turn, turn.Version, second)
		})
		editing.Wait()
		switch host.CodeOf(err) {
		case "":
			edited++
			want = append(want, "I heard "+second+".")
		case host.CodeTurnNotQueued:
			want = append(want, "I heard "+first+".")
		default:
			t.Fatal(err)
		}
		r.untilTurn(turn.ID, host.TurnCompleted)
	}
	said := slices.DeleteFunc(r.texts(abi.ItemMessage), func(s string) bool { return s == "I heard ahead." })
	if !slices.Equal(said, want) {
		t.Errorf("the agent said %q, want %q", said, want)
	}
	t.Logf("%d of 20 edits came in time", edited)
}
