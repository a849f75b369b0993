package tui_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/tui"
	"github.com/aoagents/ao-host/host"
)

const conversation = "conversation-1"

// composing is the composer with the keys and nothing in it.
const composing = "› █Write a message"

// rig is a person at a chat with a host in memory.
type rig struct {
	*tui.Person
	t testing.TB
	f *coretest.Fake
	h *shaped
	// started is how often the host was started from the chat.
	started int
}

// sit begins a chat in plan mode; before sets the host up.
func sit(t testing.TB, before func(f *coretest.Fake)) *rig {
	t.Helper()
	f := coretest.New()
	mode, perm := "plan", abi.PermissionAuto
	if _, err := f.Create(t.Context(), host.NewConversation{Harness: "echo", Cwd: "/home/me/project", Settings: host.SettingsPatch{Mode: &mode, Permission: &perm}}); err != nil {
		t.Fatal(err)
	}
	if before != nil {
		before(f)
	}
	return again(t, f)
}

// shaped is the host in memory with the controls of a test.
type shaped struct {
	*coretest.Fake
	// shape changes the controls that are read.
	shape func(*host.Controls)
	// sent are the client ids of all attempts to send.
	sent []string
}

func (s *shaped) Controls(ctx context.Context, id string) (host.Controls, error) {
	c, err := s.Fake.Controls(ctx, id)
	if s.shape != nil {
		s.shape(&c)
	}
	return c, err
}

func (s *shaped) ConfigureNextTurn(ctx context.Context, id string, revision int64, p host.SettingsPatch) (host.Controls, error) {
	if _, err := s.Fake.ConfigureNextTurn(ctx, id, revision, p); err != nil {
		return host.Controls{}, err
	}
	return s.Controls(ctx, id)
}

func (s *shaped) Send(ctx context.Context, id string, m host.Message) (host.Turn, error) {
	s.sent = append(s.sent, m.ClientID)
	return s.Fake.Send(ctx, id, m)
}

// again begins another chat on the same host.
func again(t testing.TB, f *coretest.Fake) *rig {
	t.Helper()
	return withAttached(t, f)
}

// withAttached begins a chat with what the command line attached.
func withAttached(t testing.TB, f *coretest.Fake, attached ...host.Content) *rig {
	t.Helper()
	ids := 0
	r := &rig{t: t, f: f, h: &shaped{Fake: f}}
	connect := func(_ context.Context, start bool) (core.Core, error) {
		if start {
			r.started++
		}
		return r.h, nil
	}
	var err error
	r.Person, err = tui.Sit(context.Background(), tui.Config{Core: r.h, Connect: connect, Conversation: conversation, Attached: attached, IDs: func() string { ids++; return fmt.Sprint("client-", ids) }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// read lets the chat read the journal.
func (r *rig) read() {
	r.t.Helper()
	if err := r.Read(); err != nil {
		r.t.Fatal(err)
	}
}

// sees wants texts on the screen of 80 by 24.
func (r *rig) sees(texts ...string) {
	r.t.Helper()
	r.read()
	screen := r.Screen(80, 24)
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			r.t.Fatalf("%q is not on the screen:\n%s", text, screen)
		}
	}
}

// seesNot wants texts to be elsewhere.
func (r *rig) seesNot(texts ...string) {
	r.t.Helper()
	r.read()
	screen := r.Screen(80, 24)
	for _, text := range texts {
		if strings.Contains(screen, text) {
			r.t.Fatalf("%q is on the screen:\n%s", text, screen)
		}
	}
}

// calls are the calls that change something, after the creation.
func (r *rig) calls() []string {
	var out []string
	for _, c := range r.f.Calls() {
		if !strings.HasPrefix(c, "Create") {
			out = append(out, c)
		}
	}
	return out
}

// send sends a message and lets the agent begin with it.
func (r *rig) send(text string) string {
	r.t.Helper()
	r.Type(text)
	r.Press("enter")
	turns, err := r.f.Turns(r.t.Context(), conversation)
	if err != nil || len(turns) == 0 {
		r.t.Fatalf("nothing was sent: %v", err)
	}
	id := turns[len(turns)-1].ID
	r.f.Become(id, host.TurnRunning, nil)
	r.read()
	return id
}

func TestTheFirstScreenSaysWhatIsRememberedAndHowToGoOn(t *testing.T) {
	r := sit(t, nil)
	golden(t, "first-80x24", r.Screen(80, 24))
	golden(t, "first-120x40", r.Screen(120, 40))
	golden(t, "first-40x12", r.Screen(40, 12))
}

func TestAnAnswerStreamsAndIsLaidOutAsMarkdown(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("Explain *this*")
	r.f.Emit(host.EventDelta, turn, abi.Delta{Turn: turn, Item: "m", Channel: abi.ChannelText, Text: "# An ans"})
	r.sees("An ans")
	r.f.Emit(host.EventDelta, turn, abi.Delta{Turn: turn, Item: "m", Channel: abi.ChannelText, Text: "wer\n\n1. `one`\n2. **two**\n"})
	r.f.Emit(host.EventItem, turn, abi.Item{Turn: turn, ID: "m", Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: "# An answer\n\n1. `one`\n2. **two**\n"})
	r.f.Emit(host.EventItem, turn, abi.Item{Turn: turn, ID: "c", Type: abi.ItemCommand, Status: abi.ItemRunning, Title: "go test ./..."})
	r.f.Emit(host.EventProgress, turn, abi.Progress{Turn: turn, Entries: []abi.ProgressStep{{Text: "Look", Status: "completed"}, {Text: "Test", Status: "running"}, {Text: "Write", Status: "pending"}}})
	r.read()
	golden(t, "streaming-80x24", r.Screen(80, 24))
	r.f.Emit(host.EventItem, turn, abi.Item{Turn: turn, ID: "c", Type: abi.ItemCommand, Status: abi.ItemFailed, Title: "go test ./...", Text: "FAIL\tx\n"})
	r.f.Become(turn, host.TurnCompleted, nil)
	r.Press("f5")
	r.read()
	golden(t, "completed-80x24", r.Screen(80, 24))
}

func TestRule02_AMessageThatWaitsShowsTheSettingsItWasFrozenWith(t *testing.T) {
	r := sit(t, nil)
	r.send("First")
	r.Type("Second")
	r.Press("enter")
	mode := "default"
	if _, err := r.f.ConfigureNextTurn(t.Context(), conversation, 1, host.SettingsPatch{Mode: &mode}); err != nil {
		t.Fatal(err)
	}
	r.f.Emit(host.EventSettings, "", host.SettingsEvent{Settings: abi.Settings{Mode: "default", Permission: abi.PermissionAuto}, Revision: 2, Cause: "user"})
	r.Type("Third")
	r.Press("enter")
	r.read()
	golden(t, "queue-80x24", r.Screen(80, 24))
	r.sees("1. Second · mode plan, permission auto", "2. Third · mode default, permission auto", "next: mode default")
}

func TestAQueuedMessageIsEditedMovedAndCancelled(t *testing.T) {
	r := sit(t, nil)
	r.send("First")
	for _, text := range []string{"Second", "Third", "Fourth"} {
		r.Type(text)
		r.Press("enter")
	}
	r.read()
	r.Press("f3")
	golden(t, "queue-panel-80x24", r.Screen(80, 24))
	r.Press("down", "enter")
	r.sees("> Third", "Its settings stay as they are.")
	r.Type(", really")
	r.Press("enter")
	r.sees("2 Third, really")
	r.Press("x")
	r.sees("2 Fourth", "taken out of the queue")
	r.Press("1", "J")
	if got := r.calls(); !cmpEqualTail(got, "EditQueued turn-4", "CancelQueued turn-4", "MoveQueued turn-3") {
		t.Errorf("calls %q", got)
	}
}

func cmpEqualTail(got []string, want ...string) bool {
	return len(got) >= len(want) && strings.Join(got[len(got)-len(want):], "|") == strings.Join(want, "|")
}

func TestAnEditThatCameTooLateIsToldAndItsTextIsKept(t *testing.T) {
	r := sit(t, nil)
	r.send("First")
	r.Type("Second")
	r.Press("enter")
	r.read()
	r.Press("f3", "enter")
	r.Type("!")
	r.f.Fail["EditQueued"] = &host.Error{Code: host.CodeTurnNotQueued}
	r.Press("enter", "esc")
	if got := r.Composer(); got != "Second!" {
		t.Errorf("the composer has %q", got)
	}
}

func TestQ1_AHeldQueueSaysWhyAndIsResumed(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("First")
	r.Type("Second")
	r.Press("enter")
	r.f.Hold(host.CodeHoldStopped)
	r.f.Become(turn, host.TurnInterrupted, nil)
	r.sees("The queue waits because you stopped a turn", "queue held", "1. Second")
	r.Press("f3", "r")
	r.sees("The queue goes on.")
	r.seesNot("queue held")
}

func TestTheFirstCtrlCStopsTheTurnAndTheSecondLeaves(t *testing.T) {
	for _, key := range []string{"ctrl+c", "esc"} {
		r := sit(t, nil)
		r.send("Go")
		r.Press(key)
		r.sees("Stopping the turn. Again to leave")
		if r.Left() {
			t.Fatal("the first key left")
		}
		r.Press(key)
		if !r.Left() || !cmpEqualTail(r.calls(), "Stop conversation-1") {
			t.Errorf("%s: left %v, calls %q", key, r.Left(), r.calls())
		}
		if got := r.Result(); !got.Active {
			t.Errorf("%s: what goes on is not told: %+v", key, got)
		}
	}
}

func TestAStopThatWasDoneIsNoStepTowardsLeaving(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("Go")
	r.Press("ctrl+c")
	r.f.Become(turn, host.TurnInterrupted, nil)
	r.read()
	r.seesNot("Stopping the turn")
	r.Press("ctrl+c")
	if r.Left() {
		t.Error("it left")
	}
	r.sees("Nothing runs. Again to leave.")
}

func TestD07_TheContextIsAGauge(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("Go")
	for _, n := range []int64{9000, 5000} {
		r.f.Emit(host.EventUsage, turn, abi.Usage{Turn: turn, Gauges: []abi.Metric{{Name: "context_tokens", Value: n}, {Name: "context_window", Value: 20000}}})
	}
	r.sees("context 25% · turn 1 running")
}

func TestAnotherKeyBetweenTwoCtrlCKeepsTheChat(t *testing.T) {
	r := sit(t, nil)
	r.Press("ctrl+c")
	r.sees("Nothing runs. Again to leave.")
	r.Press("x", "ctrl+c")
	if r.Left() {
		t.Error("it left")
	}
	r.Press("backspace", "ctrl+d")
	if !r.Left() {
		t.Error("Ctrl+D did not leave")
	}
}

func TestLeavingDoesNotStopAndNothingWrittenIsLost(t *testing.T) {
	r := sit(t, nil)
	r.send("Go")
	r.Type("half a thought")
	r.Press("ctrl+c", "ctrl+c")
	if got := r.Result(); len(got.Unsent) != 1 || got.Unsent[0] != "half a thought" {
		t.Errorf("unsent %q", got.Unsent)
	}
}

// What was pasted is sent byte for byte; a tab only looks like spaces.
func TestAPastedMakefileIsSentWithItsTabs(t *testing.T) {
	makefile := "all: build\n\ngofmt\t:=\tgofmt -l\nbuild:\n\tgo build ./...\n\t@echo done\n"
	r := sit(t, nil)
	r.Paste(makefile)
	golden(t, "pasted-80x24", r.Screen(80, 24))
	// Each tab is one character: two keys take the line break and the last letter.
	r.Press("backspace", "backspace")
	r.Type("e")
	if got, want := r.Composer(), strings.TrimSuffix(makefile, "\n"); got != want {
		t.Errorf("the composer has %q, want %q", got, want)
	}
	r.Press("enter")
	turns, err := r.f.Turns(t.Context(), conversation)
	if err != nil || len(turns) != 1 || turns[0].Content[0].Text != strings.TrimSuffix(makefile, "\n") {
		t.Errorf("%+v %v", turns, err)
	}
}

func TestARefusedTextComesBackWithItsTabs(t *testing.T) {
	r := sit(t, nil)
	r.f.Fail["Send"] = &host.Error{Code: host.CodeStoreFull}
	r.Paste("a\tb\r\nc")
	r.Press("enter")
	if got := r.Composer(); got != "a\tb\nc" {
		t.Errorf("the composer has %q", got)
	}
	x, y, _ := r.Cursor()
	r.Press("up", "home", "end")
	if x2, y2, ok := r.Cursor(); !ok || y2 != y-1 || x2 != x+len("a  b")-len("c") {
		t.Errorf("the cursor is at %d,%d, before at %d,%d", x2, y2, x, y)
	}
}

func TestRule24_AMessageSteersTheRunningTurn(t *testing.T) {
	r := sit(t, nil)
	r.send("Go")
	r.Type("Left, please")
	r.Press("ctrl+s")
	if !cmpEqualTail(r.calls(), "Steer conversation-1 Left, please") {
		t.Errorf("calls %q", r.calls())
	}
}

func TestARefusedMessageIsInTheComposerAgain(t *testing.T) {
	r := sit(t, nil)
	r.f.Fail["Send"] = &host.Error{Code: host.CodeMessageTooLarge}
	r.Type("long")
	r.Press("enter")
	r.sees("The message is larger than this host accepts", "› long")
}

func TestRule19_AMessageWhoseFateIsUnknownIsTriedAgainUnderTheSameId(t *testing.T) {
	r := sit(t, nil)
	r.f.Fail["Send"] = &host.Error{Code: host.CodeUnreachable}
	r.Type("Hello")
	r.Press("enter")
	r.Lose(&host.Error{Code: host.CodeUnreachable})
	r.Type("next tho")
	screen := r.Screen(80, 24)
	golden(t, "reconnecting-80x24", screen)
	delete(r.f.Fail, "Send")
	r.Find()
	r.Resend()
	r.sees("next tho")
	r.seesNot("Reconnecting", "sending")
	if len(r.h.sent) != 2 || r.h.sent[0] != r.h.sent[1] || r.h.sent[0] == "" {
		t.Errorf("client ids %q", r.h.sent)
	}
}

func TestAChatWhoseDaemonWasEndedSaysSoAndEnterStartsIt(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("Go")
	r.f.Become(turn, host.TurnInterrupted, nil)
	r.read()
	r.Lose(tui.ErrEnded)
	golden(t, "ended-80x24", r.Screen(80, 24))
	// Nothing else than what the person wants done starts it.
	r.Press("f1", "esc", "tab", "tab", "up", "ctrl+c")
	if r.started != 0 {
		t.Fatalf("it was started %d times", r.started)
	}
	r.Press("x", "backspace", "enter")
	r.sees("Starting the daemon.")
	if r.started != 1 {
		t.Errorf("it was started %d times", r.started)
	}
	r.Find()
	r.seesNot("not connected", "Starting the daemon.")
	// While it answers the key does nothing.
	r.Press("enter")
	if r.started != 1 {
		t.Errorf("it was started %d times", r.started)
	}
	r.Lose(tui.ErrEnded)
	r.Type("Hello")
	r.Press("enter")
	if !cmpEqualTail(r.calls(), "Send conversation-1 Hello") {
		t.Errorf("calls %q", r.calls())
	}
}

func TestC8_WhatAnAgentWritesCannotDrawOnTheScreen(t *testing.T) {
	evil := "\x1b[2J\x1b]0;gone\x07a\u202eb&#27;[2J"
	r := sit(t, nil)
	turn := r.send("Go")
	r.f.Say(turn, "m", evil)
	r.f.Emit(host.EventDelta, turn, abi.Delta{Turn: turn, Item: "t", Channel: abi.ChannelReasoning, Text: evil + "\n" + evil})
	r.f.Emit(host.EventItem, turn, abi.Item{Turn: turn, ID: "c", Type: abi.ItemCommand, Status: abi.ItemCompleted, Title: evil, Text: evil, Data: abi.Raw(`{"x":"\u001b[2J\u202e"}`)})
	r.f.Emit(host.EventProgress, turn, abi.Progress{Turn: turn, Entries: []abi.ProgressStep{{Text: evil, Status: "running"}}})
	r.f.Emit(host.EventWarning, turn, abi.Warning{Code: evil, Message: evil})
	r.f.Emit(host.EventProblem, turn, abi.Problem{Code: evil, Field: evil, Message: evil})
	r.f.Emit(host.EventSessionInfo, turn, abi.SessionInfo{Title: evil})
	r.f.Propose(host.Proposal{Revision: 1, Turn: turn, Route: abi.RouteFollowUp, Text: evil})
	r.f.Ask(turn, abi.Interaction{Type: abi.InteractionPermission, Route: abi.RouteNative, Title: evil, Text: evil, Command: evil, Cwd: evil, URL: evil, Detail: abi.Raw(`{"x":"` + "\u202e" + `"}`),
		Decisions: []abi.Decision{{ID: evil, Label: evil, Kind: abi.DecisionKind(evil)}}})
	r.f.Ask(turn, abi.Interaction{Type: abi.InteractionQuestion, Route: abi.RouteNative, Title: evil, Fields: []abi.Field{{ID: evil, Header: evil, Text: evil, Options: []abi.Option{{Label: evil, Description: evil, Preview: evil}}}}})
	r.read()
	check := func(where string) {
		t.Helper()
		for _, l := range r.Styled(100, 40) {
			for _, bad := range []string{"\x1b[2J", "\x1b]", "\u202e", "\x07", "\x9b"} {
				if strings.Contains(l, bad) {
					t.Fatalf("%s: %q is in %q", where, bad, l)
				}
			}
		}
	}
	check("permission")
	r.Press("1", "f5")
	check("permission chosen")
	r.Press("esc")
	check("question")
	r.Press("1", "esc")
	check("plan")
	r.Press("esc", "tab")
	for range 6 {
		r.Press("enter")
		check("story")
		r.Press("up")
	}
	r.Press("esc", "f2")
	check("settings")
}
