package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/chat"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/console"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/host"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
	for i, line := range strings.Split(got, "\n") {
		if n := len([]rune(line)); n > 80 && !strings.HasPrefix(line, "  |") {
			t.Errorf("%s line %d has %d columns", file, i+1, n)
		}
	}
}

// run sends a message to a fake host and follows it with the given typed lines.
type run struct {
	fake     *coretest.Fake
	input    io.Reader
	piped    bool
	json     bool
	settings host.SettingsPatch
	stop     chan struct{}
	message  string
	// before happens after the message was sent and before it is followed.
	before func(f *coretest.Fake)
	// shown is where the output goes, for an agent that waits for it.
	shown *shown
	// core, if not nil, stands between the fake and the run.
	core core.Core
}

// shown is what a person has seen.
type shown struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *shown) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *shown) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// await waits for a text, for as long as a run may take.
func (s *shown) await(t *testing.T, text string) {
	t.Helper()
	for giveUp := time.Now().Add(patience); !strings.Contains(s.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(giveUp) {
			t.Errorf("%q was not shown", text)
			return
		}
	}
}

// patience only delays failures.
const patience = 2 * time.Minute

func (r run) do(t *testing.T) (string, chat.Outcome, error) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := r.fake.Create(ctx, host.NewConversation{Harness: "echo", Cwd: "/project", Settings: r.settings})
	if err != nil {
		t.Fatal(err)
	}
	if r.message == "" {
		r.message = "Greet the world"
	}
	if _, err := r.fake.Send(ctx, c.ID, host.Message{Content: host.Text(r.message)}); err != nil {
		t.Fatal(err)
	}
	if r.before != nil {
		r.before(r.fake)
	}
	if r.shown == nil {
		r.shown = new(shown)
	}
	if r.input == nil {
		r.input = strings.NewReader("")
	}
	con := console.New(r.input, r.shown)
	con.Interactive = !r.piped
	defer con.Close()
	if r.core == nil {
		r.core = r.fake
	}
	s := &chat.Session{Core: r.core, Conversation: c.ID, After: c.LastSeq, Console: con, JSON: r.json, Interrupt: r.stop}
	got, err := s.Run(ctx)
	if ctx.Err() != nil {
		t.Fatalf("the run did not end; so far:\n%s", r.shown.String())
	}
	if err := r.fake.Close(ctx); err != nil {
		t.Error(err)
	}
	if p, ok := r.input.(*io.PipeReader); ok {
		_ = p.Close()
	}
	return r.shown.String(), got, err
}

func patch(mode string, p abi.Permission) host.SettingsPatch {
	return host.SettingsPatch{Mode: &mode, Permission: &p}
}

func wantOutcome(t *testing.T, got chat.Outcome, err error, want chat.Outcome) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("outcome %v, error %v; want %v", got, err, want)
	}
}

// mutations are the calls that answer or change something.
func mutations(f *coretest.Fake) []string {
	return slices.DeleteFunc(f.Calls(), func(c string) bool {
		return strings.HasPrefix(c, "Create") || strings.HasPrefix(c, "Send") || strings.HasPrefix(c, "Close")
	})
}

func TestARunShowsTextToolsChecklistAndTheStateOfEachTurn(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnDispatched, nil)
		f.Become(u.ID, host.TurnRunning, nil)
		f.Emit(host.EventItem, u.ID, abi.Item{Turn: u.ID, ID: "r", Type: abi.ItemReasoning, Status: abi.ItemCompleted, Text: "not shown"})
		f.Say(u.ID, "m1", "I will look ", "first.\x1b[", "31m Then I write\u200b.\n\n- one\n- two")
		f.Emit(host.EventProgress, u.ID, abi.Progress{Entries: []abi.ProgressStep{
			{Text: "Look at what the project has in it, however long the description of that step may be", Status: "running"}, {Text: "Write", Status: "pending"}}})
		f.Emit(host.EventItem, u.ID, abi.Item{ID: "c1", Type: abi.ItemCommand, Status: abi.ItemRunning, Title: "ls -la"})
		f.Emit(host.EventItem, u.ID, abi.Item{ID: "c1", Type: abi.ItemCommand, Status: abi.ItemCompleted, Title: "ls -la"})
		f.Emit(host.EventItem, u.ID, abi.Item{ID: "c2", Type: abi.ItemCommand, Status: abi.ItemFailed, Title: "go test ./... && " + strings.Repeat("very-long ", 12)})
		f.Emit(host.EventItem, u.ID, abi.Item{ID: "e", Type: abi.ItemEdit, Status: abi.ItemCompleted, Title: "/project/hello.txt"})
		f.Emit(host.EventItem, u.ID, abi.Item{ID: "k", Type: abi.ItemTool, Status: abi.ItemCompleted, Title: "look something up", Child: "thread-2"})
		f.Emit(host.EventItem, u.ID, abi.Item{ID: "old", Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: "history", Replay: true})
		f.Emit(host.EventWarning, u.ID, abi.Warning{Code: string(host.CodeSessionReplaced)})
		f.Emit(host.EventObserved, u.ID, abi.Observed{Mode: "default", Permission: abi.PermissionAuto})
		f.Emit("a_type_of_the_future", u.ID, map[string]string{"x": "y"})
		// After the turn's end the items stand for the deltas.
		f.Emit(host.EventItem, u.ID, abi.Item{ID: "m2", Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: "Done."})
		f.Become(u.ID, host.TurnCompleted, nil)
	}
	out, got, err := run{fake: f, piped: true, settings: patch("plan", abi.PermissionAuto)}.do(t)
	wantOutcome(t, got, err, chat.Done)
	golden(t, "timeline", out)
}

func TestAPlanIsAskedReviewedChangedAndImplemented(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		f.Ask(u.ID, question())
	}
	f.OnAnswer = func(f *coretest.Fake, i host.Interaction, _ host.Answer) {
		f.Propose(host.Proposal{ID: "p", Revision: 1, Turn: i.Turn, Route: abi.RouteFollowUp, Text: "# Greeting\n1. Write hello.txt"})
		f.Become(i.Turn, host.TurnCompleted, nil)
	}
	f.OnPlan = func(f *coretest.Fake, p host.Proposal, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		if u.Origin == abi.OriginFeedback {
			f.Propose(host.Proposal{ID: "p2", Revision: 1, Turn: u.ID, Route: abi.RouteFollowUp, Text: "# Greeting\n1. Write hello.txt, in capitals"})
		} else {
			f.Emit(host.EventSettings, "", host.SettingsEvent{Settings: u.Settings, Cause: "implement"})
			f.Emit(host.EventItem, u.ID, abi.Item{ID: "e", Type: abi.ItemEdit, Status: abi.ItemCompleted, Title: "hello.txt"})
		}
		f.Become(u.ID, host.TurnCompleted, nil)
	}
	out, got, err := run{fake: f, settings: patch("plan", abi.PermissionAuto), input: strings.NewReader("2\n2\nin capitals, please\n1\n")}.do(t)
	wantOutcome(t, got, err, chat.Done)
	golden(t, "plan", out)
	want := []string{
		`ResolveInput {"fields":[{"field":"colour","state":"answered","selected":[1]}]}`,
		`RequestChanges revision 1 in capitals, please`,
		`ContinuePlan revision 1 `,
	}
	if diff := cmp.Diff(want, mutations(f)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func question() abi.Interaction {
	return abi.Interaction{Type: abi.InteractionQuestion, Route: abi.RouteNative, Blocking: true, Fields: []abi.Field{{
		ID: "colour", Header: "Colour", Text: "Which one?", Required: true,
		Options: []abi.Option{{Label: "Red", Description: "warm"}, {Label: "Blue, or green", Description: "cold"}},
	}}}
}

func TestRule10_EveryKindOfFieldIsAskedAndUnclearInputIsAskedAgain(t *testing.T) {
	opts := []abi.Option{{Label: "A", Preview: "func A() {\u200b}\n"}, {Label: "B"}, {Label: "B"}}
	fields := []abi.Field{
		{ID: "one", Text: "One of three", Options: opts, Required: true},
		{ID: "other", Text: "One, or your own", Options: opts, Other: true},
		{ID: "many", Text: "Several", Options: opts, MultiSelect: true, Other: true},
		{ID: "none", Text: "None of them", Options: opts, MultiSelect: true},
		{ID: "beside", Text: "With a note", Options: opts, OtherBeside: true},
		{ID: "text", Text: "A text"},
		{ID: "slash", Text: "A path"},
		{ID: "secret", Text: "The token", Secret: true, Required: true},
		{ID: "skip", Text: "Skipped", Options: opts},
	}
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		f.Ask(u.ID, abi.Interaction{Type: abi.InteractionQuestion, Route: abi.RouteNative, Blocking: true, Title: "A few things", Text: "Please.", Fields: fields})
	}
	f.OnAnswer = func(f *coretest.Fake, i host.Interaction, _ host.Answer) { f.Become(i.Turn, host.TurnCompleted, nil) }
	input := strings.Join([]string{
		"", "4", "x", "/skip", "/none", "1 2", "3", // one: six that are refused
		"4", "", "my own", // other
		"3, 1 4", "and mine", // many
		"/none",
		"2", "a note", // beside
		"/unknown", "free text",
		"//etc/x",
		"s3cret \u202e",
		"/skip",
	}, "\n") + "\n"
	out, got, err := run{fake: f, input: strings.NewReader(input)}.do(t)
	wantOutcome(t, got, err, chat.Done)
	golden(t, "fields", out)
	if strings.Contains(out, "s3cret") {
		t.Error("the secret was shown")
	}
	var a host.Answer
	raw, _ := strings.CutPrefix(mutations(f)[0], "ResolveInput ")
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		t.Fatal(err)
	}
	want := []abi.FieldAnswer{
		{Field: "one", State: abi.StateAnswered, Selected: []int64{2}},
		{Field: "other", State: abi.StateAnswered, HasOther: true, Other: "my own"},
		{Field: "many", State: abi.StateAnswered, Selected: []int64{0, 2}, HasOther: true, Other: "and mine"},
		{Field: "none", State: abi.StateAnswered},
		{Field: "beside", State: abi.StateAnswered, Selected: []int64{1}, HasOther: true, Other: "a note"},
		{Field: "text", State: abi.StateAnswered, HasOther: true, Other: "free text"},
		{Field: "slash", State: abi.StateAnswered, HasOther: true, Other: "/etc/x"},
		{Field: "secret", State: abi.StateAnswered, HasOther: true, Other: "s3cret \u202e"},
		{Field: "skip", State: abi.StateSkipped},
	}
	if diff := cmp.Diff(want, a.Fields); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestC8_APermissionRequestShowsTheWholeCommandWithNothingHidden(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		f.Ask(u.ID, abi.Interaction{
			Type: abi.InteractionPermission, Route: abi.RouteNative, Blocking: true, Tool: "execute",
			Text: "To tidy up\x1b[2J", Cwd: "/project/\u202etxt",
			Command: "ls \u200b-la " + strings.Repeat("x", 200) + "\n" + strings.Repeat("\n", 60) + "\x1b[8mrm -rf /\x1b[0m",
			Detail:  abi.Raw(`{"rule":["ls"]}`),
			Decisions: []abi.Decision{
				{ID: "yes", Label: "Yes", Kind: abi.AllowOnce}, {ID: "amend", Label: "Yes, and \u202ealways", Kind: abi.AllowAlways},
				{ID: "no", Label: "No", Kind: abi.RejectOnce, Feedback: true},
			},
		})
	}
	f.OnAnswer = func(f *coretest.Fake, i host.Interaction, _ host.Answer) { f.Become(i.Turn, host.TurnCompleted, nil) }
	out, got, err := run{fake: f, input: strings.NewReader("0\nyes\n3\nlist only\n")}.do(t)
	wantOutcome(t, got, err, chat.Done)
	golden(t, "permission", out)
	if diff := cmp.Diff([]string{`ResolveInput {"decision":"no","feedback":"list only"}`}, mutations(f)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestRule15_AFormIsShownAsItIsAndFilledInAsJSON(t *testing.T) {
	for _, c := range []struct {
		name, input, want string
	}{
		{"accept", "1\nnot json\n[1]\n{\"n\": 1}\n", `ResolveInput {"action":"accept","content":{"n":1}}`},
		{"decline", "2\n", `ResolveInput {"action":"decline"}`},
		{"cancel", "3\n", `ResolveInput {"action":"cancel"}`},
	} {
		f := coretest.New()
		f.OnSend = func(f *coretest.Fake, u host.Turn) {
			f.Become(u.ID, host.TurnRunning, nil)
			f.Ask(u.ID, abi.Interaction{Type: abi.InteractionForm, Route: abi.RouteNative, Blocking: true, Text: "How many?", Schema: abi.Raw(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
		}
		f.OnAnswer = func(f *coretest.Fake, i host.Interaction, _ host.Answer) { f.Become(i.Turn, host.TurnCompleted, nil) }
		out, got, err := run{fake: f, input: strings.NewReader(c.input)}.do(t)
		wantOutcome(t, got, err, chat.Done)
		if diff := cmp.Diff([]string{c.want}, mutations(f)); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", c.name, diff)
		}
		if c.name == "accept" {
			golden(t, "form", out)
		}
	}
}

func TestAnAddressIsAcceptedOnlyWhereItIsEncryptedOrLocal(t *testing.T) {
	for _, c := range []struct {
		url, first string
		accept     bool
	}{
		{"https://example.org/login", "accept", true},
		{"http://127.0.0.1:8080/x", "accept", true},
		{"http://[::1]/x", "accept", true},
		{"http://localhost/x", "accept", true},
		{"http://example.org/login", "decline", false},
		{"http://localhost.example.org/", "decline", false},
		{"file:///etc/passwd", "decline", false},
		{"javascript:alert(1)", "decline", false},
		{"https:///nothing", "decline", false},
		{"https://exa\u200bmple.org/", "accept", true},
	} {
		f := coretest.New()
		f.OnSend = func(f *coretest.Fake, u host.Turn) {
			f.Become(u.ID, host.TurnRunning, nil)
			f.Ask(u.ID, abi.Interaction{Type: abi.InteractionURL, Route: abi.RouteNative, Blocking: true, URL: c.url})
		}
		f.OnAnswer = func(f *coretest.Fake, i host.Interaction, _ host.Answer) { f.Become(i.Turn, host.TurnCompleted, nil) }
		out, got, err := run{fake: f, input: strings.NewReader("1\n")}.do(t)
		wantOutcome(t, got, err, chat.Done)
		if want := `ResolveInput {"action":"` + c.first + `"}`; mutations(f)[0] != want {
			t.Errorf("%s: %s, want %s", c.url, mutations(f)[0], want)
		}
		if strings.Contains(out, "accept –") != c.accept {
			t.Errorf("%s: accept offered is not %v:\n%s", c.url, c.accept, out)
		}
		if strings.Contains(out, "\u200b") {
			t.Errorf("%q has an invisible character:\n%s", c.url, out)
		}
	}
}

func TestWithoutATerminalABlockingQuestionEndsTheRun(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		f.Ask(u.ID, question())
	}
	out, got, err := run{fake: f, piped: true, input: strings.NewReader("1\n")}.do(t)
	wantOutcome(t, got, err, chat.NeedsInput)
	golden(t, "no-terminal", out)
	if c := mutations(f); len(c) > 0 {
		t.Errorf("something was answered: %q", c)
	}
}

func TestWithoutATerminalAPlanAndAFollowUpQuestionWaitUntilTheTurnEnds(t *testing.T) {
	for _, plan := range []bool{true, false} {
		f := coretest.New()
		f.OnSend = func(f *coretest.Fake, u host.Turn) {
			f.Become(u.ID, host.TurnRunning, nil)
			if plan {
				f.Propose(host.Proposal{Revision: 1, Turn: u.ID, Route: abi.RouteFollowUp, Text: "The plan"})
			} else {
				q := question()
				q.Route, q.Blocking = abi.RouteFollowUp, false
				f.Ask(u.ID, q)
			}
			f.Say(u.ID, "m", "Said after it.")
			f.Become(u.ID, host.TurnCompleted, nil)
		}
		out, got, err := run{fake: f, piped: true}.do(t)
		wantOutcome(t, got, err, chat.NeedsInput)
		if !strings.Contains(out, "Said after it.") || !strings.Contains(out, "[turn 1 completed]") || !strings.Contains(out, "--conversation conversation-1") {
			t.Errorf("output:\n%s", out)
		}
	}
}

func TestRule11_AFollowUpQuestionIsAskedWhenTheTurnHasEndedAndItsAnswerRuns(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		if u.Origin == abi.OriginUser {
			q := question()
			q.Route, q.Blocking = abi.RouteFollowUp, false
			f.Ask(u.ID, q)
		}
		f.Say(u.ID, "m"+u.ID, "Working on "+u.ID+".")
		f.Become(u.ID, host.TurnCompleted, nil)
	}
	out, got, err := run{fake: f, input: strings.NewReader("1\n")}.do(t)
	wantOutcome(t, got, err, chat.Done)
	golden(t, "follow-up", out)
}

func TestA1_AQuestionThatResolvesItselfIsTakenAwayAndItsLineAnswersNothing(t *testing.T) {
	pr, pw := io.Pipe()
	seen := new(shown)
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		id := f.Ask(u.ID, question())
		seen.await(t, "(a number)> ")
		f.CloseCard(id, abi.DispositionExpired)
		f.Say(u.ID, "m", "I went on.")
		seen.await(t, "I went on.")
		_, _ = io.WriteString(pw, "1\n")
		// Where there is no terminal the line is written when it is taken.
		seen.await(t, "I went on.\n1\n")
		f.Become(u.ID, host.TurnCompleted, nil)
	}
	out, got, err := run{fake: f, input: pr, shown: seen}.do(t)
	wantOutcome(t, got, err, chat.Done)
	if c := mutations(f); len(c) > 0 {
		t.Errorf("a gone card was answered: %q", c)
	}
	if !strings.Contains(out, "Question expired.") {
		t.Errorf("output:\n%s", out)
	}
}

// slow is a host whose events, from the end of the turn on, take their time.
type slow struct {
	*coretest.Fake
	said <-chan struct{}
}

func (s slow) Events(ctx context.Context, conversation string, after uint64) iter.Seq2[host.Event, error] {
	return func(yield func(host.Event, error) bool) {
		<-s.said
		ended := false
		for ev, err := range s.Fake.Events(ctx, conversation, after) {
			if ended {
				time.Sleep(400 * time.Millisecond)
			}
			var t host.Turn
			ended = ended || ev.Type == host.EventTurn && json.Unmarshal(ev.Body, &t) == nil && t.State.Ended()
			if !yield(ev, err) {
				return
			}
		}
	}
}

func TestARunTellsAllThatIsCommittedHoweverSlowlyItComes(t *testing.T) {
	f, said := coretest.New(), make(chan struct{})
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnCompleted, nil)
		for i := range 4 {
			f.Emit(host.EventItem, u.ID, abi.Item{Turn: u.ID, ID: fmt.Sprint(i), Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: fmt.Sprintf("Word %d.", i)})
		}
		close(said)
	}
	out, got, err := run{fake: f, core: slow{f, said}}.do(t)
	wantOutcome(t, got, err, chat.Done)
	if !strings.Contains(out, "Word 3.") {
		t.Errorf("the run ended before all was told:\n%s", out)
	}
}

func TestRule13_TheLoserOfARaceIsToldAndTheRunGoesOn(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		f.Ask(u.ID, question())
		for !slices.ContainsFunc(f.Calls(), func(c string) bool { return strings.HasPrefix(c, "ResolveInput") }) {
			time.Sleep(time.Millisecond)
		}
		f.Become(u.ID, host.TurnCompleted, nil)
	}
	f.Fail["ResolveInput"] = &host.Error{Code: host.CodeInteractionAnswered}
	out, got, err := run{fake: f, input: strings.NewReader("1\n")}.do(t)
	wantOutcome(t, got, err, chat.Done)
	if !strings.Contains(out, "interaction_answered: Somebody answered this card already") {
		t.Errorf("output:\n%s", out)
	}
}

func TestARefusedAnswerIsAskedAgain(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, host.TurnRunning, nil); f.Ask(u.ID, question()) }
	f.Fail["ResolveInput"] = &host.Error{Code: host.CodeAnswerShape, Detail: "The field colour is wrong."}
	out, got, err := run{fake: f, input: strings.NewReader("1\n2\n")}.do(t)
	wantOutcome(t, got, err, chat.NeedsInput) // the input ends
	if n := strings.Count(out, "The field colour is wrong."); n != 2 {
		t.Errorf("told %d times:\n%s", n, out)
	}
}

func TestTheFirstCtrlCStopsTheTurnAndTheSecondQuits(t *testing.T) {
	stop := make(chan struct{})
	for _, twice := range []bool{false, true} {
		f := coretest.New()
		f.OnSend = func(f *coretest.Fake, u host.Turn) {
			f.Become(u.ID, host.TurnRunning, nil)
			f.Ask(u.ID, question())
			stop <- struct{}{}
			if twice {
				stop <- struct{}{}
			}
		}
		f.OnStop = func(f *coretest.Fake) {
			if !twice {
				f.CloseCard("card-3", abi.DispositionCancelled)
				f.Become("turn-2", host.TurnInterrupted, nil)
				f.Hold(host.CodeHoldStopped)
			}
		}
		pr, _ := io.Pipe()
		out, got, err := run{fake: f, stop: stop, input: pr}.do(t)
		want := chat.Stopped
		if twice {
			want = chat.Quit
		}
		wantOutcome(t, got, err, want)
		if diff := cmp.Diff([]string{"Stop conversation-1"}, mutations(f)); diff != "" {
			t.Errorf("calls (-want +got):\n%s\n%s", diff, out)
		}
	}
}

func TestTheOutcomeFollowsTheLastTurn(t *testing.T) {
	for _, c := range []struct {
		state host.TurnState
		hold  host.Code
		want  chat.Outcome
		text  string
	}{
		{host.TurnCompleted, "", chat.Done, "[turn 1 completed]"},
		{host.TurnFailed, "", chat.Failed, "harness_exited: It went."},
		{host.TurnNotSent, "", chat.Failed, "[turn 1 not sent]"},
		{host.TurnUncertain, "", chat.Uncertain, "never sent again by itself"},
		{host.TurnInterrupted, "", chat.Stopped, "[turn 1 interrupted]"},
		{host.TurnCancelled, "", chat.Stopped, "[turn 1 cancelled]"},
		{host.TurnQueued, host.CodeSignInNeeded, chat.Failed, "sign_in_needed: The harness is not signed in."},
	} {
		f := coretest.New()
		f.OnSend = func(f *coretest.Fake, u host.Turn) {
			if c.hold != "" {
				f.Hold(c.hold)
				return
			}
			f.Become(u.ID, c.state, func(t *host.Turn) {
				if c.state == host.TurnFailed {
					t.Code, t.Message = string(host.CodeHarnessExited), "It went."
				}
			})
		}
		out, got, err := run{fake: f}.do(t)
		wantOutcome(t, got, err, c.want)
		if !strings.Contains(strings.Join(strings.Fields(out), " "), c.text) {
			t.Errorf("%s: no %q in\n%s", c.state, c.text, out)
		}
	}
}

func TestNothingIsAskedBeforeWhatLedToItWasTold(t *testing.T) {
	f := coretest.New()
	f.OnAnswer = func(f *coretest.Fake, i host.Interaction, _ host.Answer) { f.Become(i.Turn, host.TurnCompleted, nil) }
	out, got, err := run{fake: f, input: strings.NewReader("1\n"), before: func(f *coretest.Fake) {
		f.Become("turn-2", host.TurnRunning, nil)
		f.Say("turn-2", "m", "I need to know something.")
		f.Ask("turn-2", question())
	}}.do(t)
	wantOutcome(t, got, err, chat.Done)
	if told, asked := strings.Index(out, "I need to know"), strings.Index(out, "Which one?"); told < 0 || asked < told {
		t.Errorf("output:\n%s", out)
	}
}

func TestWhatIsCommittedWithTheTurnsEndIsStillShown(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		u.State = host.TurnCompleted
		f.Commit(func(emit func(host.EventType, string, any)) {
			emit(host.EventTurn, u.ID, u)
			emit(host.EventWarning, u.ID, abi.Warning{Code: "late", Message: "Said with the end."})
		})
		f.Become(u.ID, host.TurnCompleted, nil)
	}
	out, got, err := run{fake: f}.do(t)
	wantOutcome(t, got, err, chat.Done)
	if !strings.Contains(out, "! late: Said with the end.") {
		t.Errorf("output:\n%s", out)
	}
}

func TestAMessageThatChangedWhileItWasStreamedIsShownAsItIsInTheEnd(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		f.Emit(host.EventDelta, u.ID, abi.Delta{Item: "m", Channel: abi.ChannelText, Text: "A draft"})
		f.Emit(host.EventItem, u.ID, abi.Item{ID: "m", Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: "The final text"})
		f.Become(u.ID, host.TurnCompleted, nil)
	}
	out, got, err := run{fake: f}.do(t)
	wantOutcome(t, got, err, chat.Done)
	if !strings.Contains(out, "A draft\nThe final text\n[turn 1 completed]") {
		t.Errorf("output:\n%s", out)
	}
}

func TestRule04_WhatWasObservedBeforeATurnIsNotHeldAgainstIt(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Emit(host.EventObserved, "", abi.Observed{Mode: "default"})
		f.Become(u.ID, host.TurnDispatched, nil)
		f.Become(u.ID, host.TurnCompleted, nil)
	}
	out, got, err := run{fake: f, settings: patch("plan", abi.PermissionAuto)}.do(t)
	wantOutcome(t, got, err, chat.Done)
	if strings.Contains(out, "reports") {
		t.Errorf("output:\n%s", out)
	}
}

func TestQ1_AStopLeavesQueuedTurnsQueuedAndTheRunIsStopped(t *testing.T) {
	stop := make(chan struct{})
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.OnSend = nil
		f.Become(u.ID, host.TurnRunning, nil)
		if _, err := f.Send(context.Background(), "conversation-1", host.Message{Content: host.Text("And then")}); err != nil {
			t.Error(err)
		}
		stop <- struct{}{}
	}
	f.OnStop = func(f *coretest.Fake) {
		f.Hold(host.CodeHoldStopped)
		f.Become("turn-2", host.TurnInterrupted, nil)
	}
	out, got, err := run{fake: f, stop: stop}.do(t)
	wantOutcome(t, got, err, chat.Stopped)
	if !strings.Contains(out, "[turn 2 queued]") || strings.Contains(out, "[turn 2 cancelled]") || !strings.Contains(out, "stopped: The queue waits because you stopped a turn.") {
		t.Errorf("output:\n%s", out)
	}
}

func TestRule18_APlanTheAgentWaitsInIsReviewedWhileItsTurnRuns(t *testing.T) {
	for _, c := range []struct {
		input string
		calls []string
		want  chat.Outcome
	}{
		{"1\n", []string{"ContinuePlan revision 1 "}, chat.Done},
		{"3\n", []string{"Stop conversation-1"}, chat.Stopped},
	} {
		f := coretest.New()
		f.OnSend = func(f *coretest.Fake, u host.Turn) {
			if u.Origin != abi.OriginUser {
				return
			}
			f.Become(u.ID, host.TurnRunning, nil)
			f.Propose(host.Proposal{ID: "p", Revision: 1, Turn: u.ID, Route: abi.RouteNative, Interaction: "card-3", Text: "The plan"})
			f.Ask(u.ID, abi.Interaction{Type: abi.InteractionReview, Route: abi.RouteNative, Blocking: true})
		}
		f.OnPlan = func(f *coretest.Fake, _ host.Proposal, u host.Turn) {
			f.CloseCard("card-3", abi.DispositionAnswered)
			f.Become("turn-2", host.TurnCompleted, nil)
			f.Become(u.ID, host.TurnCompleted, nil)
		}
		f.OnStop = func(f *coretest.Fake) {
			f.CloseCard("card-3", abi.DispositionCancelled)
			f.Become("turn-2", host.TurnInterrupted, nil)
		}
		out, got, err := run{fake: f, input: strings.NewReader(c.input)}.do(t)
		wantOutcome(t, got, err, c.want)
		if diff := cmp.Diff(c.calls, mutations(f)); diff != "" {
			t.Errorf("calls (-want +got):\n%s\n%s", diff, out)
		}
	}
}

func TestJSONOutputIsTheJournalAndAsksNobody(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		f.Ask(u.ID, question())
	}
	out, got, err := run{fake: f, json: true, input: strings.NewReader("1\n")}.do(t)
	wantOutcome(t, got, err, chat.NeedsInput)
	var types []string
	for line := range strings.Lines(out) {
		var ev host.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		types = append(types, string(ev.Type))
	}
	if diff := cmp.Diff([]string{"turn", "turn", "interaction"}, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAnErrorOfTheHostEndsTheRun(t *testing.T) {
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, host.TurnRunning, nil); f.Ask(u.ID, question()) }
	f.Fail["ResolveInput"] = &host.Error{Code: host.CodeStoreFailed}
	_, _, err := run{fake: f, input: strings.NewReader("1\n")}.do(t)
	if !errors.Is(err, &host.Error{Code: host.CodeStoreFailed}) {
		t.Errorf("error %v", err)
	}
}
