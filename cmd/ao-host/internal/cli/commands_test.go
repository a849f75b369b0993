package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/cli"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/host"
)

// commands calls do for every command that a person sees.
func commands(do func(path []string, c *cobra.Command)) {
	var walk func(path []string, c *cobra.Command)
	walk = func(path []string, c *cobra.Command) {
		if c.Hidden || len(path) > 0 && path[0] == "completion" {
			return
		}
		do(path, c)
		for _, sub := range c.Commands() {
			walk(append(slices.Clone(path), sub.Name()), sub)
		}
	}
	walk(nil, (&cli.App{}).Root())
}

func TestTheHelpOfEveryCommandFitsTheTerminalAndSaysWhatItIsFor(t *testing.T) {
	seen := 0
	commands(func(path []string, c *cobra.Command) {
		seen++
		out, _, code := invoke(t, coretest.New(), append(slices.Clone(path), "--help")...)
		if code != 0 || c.Short == "" {
			t.Errorf("%q: exit code %d, short %q", path, code, c.Short)
		}
		for _, line := range strings.Split(out, "\n") {
			if n := len([]rune(line)); n > 80 {
				t.Errorf("the help of %q has a line of %d columns: %s", path, n, line)
			}
		}
	})
	if seen < 30 {
		t.Errorf("only %d commands were found", seen)
	}
}

func TestTheTopicsOfTheHelpAreWhatIsPromised(t *testing.T) {
	for _, name := range []string{"exit-codes", "json"} {
		out, _, code := invoke(t, coretest.New(), "help", name)
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
		golden(t, "topic-"+name, out)
	}
}

// live gives a fake what only a session shows.
func live(f *coretest.Fake) {
	f.OnControls = func(k *host.Controls) {
		k.CatalogState = host.CatalogRead
		k.Settings = abi.Settings{Mode: "plan", Permission: abi.PermissionBypass, Model: "big", Effort: "high", Options: []abi.OptionValue{{ID: "web", Value: "true"}}}
		k.Revision = 7
		k.Running = &host.RunningTurn{Turn: "turn-1", State: host.TurnRunning, Settings: abi.Settings{Mode: "code", Permission: abi.PermissionAcceptEdits, Model: "small"}}
		k.Observed = &abi.Observed{Mode: "code", Permission: abi.PermissionDefault, Model: "small", Effort: "low", Native: "acceptEdits, two directories"}
		k.Session = host.Session{State: host.SessionReady, Generation: 2, PID: 4711, ProviderVersion: "3.2.1"}
		k.Problems = []abi.Problem{
			{Code: "not_in_force", Field: "permission", Message: "accept-edits was asked for, default is in force."},
			{Code: "sign_in_needed", Message: "Run: echo login", Needs: abi.NeedsSignIn},
		}
		k.Catalog = &abi.Catalog{
			Modes: []abi.ModeChoice{
				{ID: "plan", Meaning: abi.MeaningPlanning, EnforcedBy: abi.EnforcedByNobody},
				{ID: "code", Meaning: abi.MeaningExecution, EnforcedBy: abi.EnforcedByHarness},
				{ID: "ask\u202e", EnforcedBy: abi.EnforcedByHost},
			},
			Permissions: []abi.PermissionChoice{
				{Permission: abi.PermissionDefault, Support: abi.SupportNative, Native: "mode=default", Dormant: true},
				{Permission: abi.PermissionAcceptEdits, Support: abi.SupportStandIn},
				{Permission: abi.PermissionAuto, Support: abi.SupportNone},
				{Permission: abi.PermissionBypass, Support: abi.SupportRelaunch, Native: "--yolo"},
			},
			Models: []abi.ModelChoice{
				{ID: "small", Name: "Small", Default: true, Images: true},
				{ID: "big", Name: "Big", Efforts: []abi.Choice{{ID: "low"}, {ID: "high"}}},
				{ID: "secret", Hidden: true},
			},
			Options: []abi.OptionChoice{{ID: "web", Boolean: true, Current: "false", Applies: abi.AppliesRelaunch}, {ID: "verbosity", Values: []abi.Choice{{ID: "terse"}, {ID: "chatty"}}, Applies: abi.AppliesLive}},
		}
		k.Usage = &host.UsageView{Gauges: []abi.Metric{{Name: "context_tokens", Value: 1200}}, Counters: []abi.Metric{{Name: "output_tokens", Value: 34}}}
	}
}

func TestRule25_TheControlsShowWhatIsRememberedRunsAndIsInForceAndWhoSeesToIt(t *testing.T) {
	f := busy(t)
	live(f)
	out, _, code := invoke(t, f, "controls", "conversation-1")
	if code != 0 || strings.Contains(out, "\x1b") || strings.Contains(out, "\u202e") {
		t.Errorf("exit code %d", code)
	}
	golden(t, "controls", out)
	if strings.Contains(out, "secret") {
		t.Error("a hidden model is listed")
	}
}

func TestRule09_AtRestTheControlsSayThatTheCatalogIsUnread(t *testing.T) {
	out, _, _ := invoke(t, busy(t), "controls", "conversation-1")
	golden(t, "controls-at-rest", out)
}

func TestC6_InputsShowEverySuppliedFieldAndHowToAnswer(t *testing.T) {
	secret := abi.Field{ID: "pin", Header: "PIN", Text: "Your PIN?", Secret: true, Required: true}
	preview := abi.Field{ID: "p", Header: "Style", Text: "Which style?", Other: true, Options: []abi.Option{{Label: "Tabs", Description: "one character", Preview: "\tif x {\u202e}"}, {Label: "Spaces"}}}
	f := asking(t, question(preview, secret), abi.Interaction{Type: abi.InteractionPermission, Route: abi.RouteNative, Title: "Run it?", Text: "It needs the network.", Command: "curl \u202ehttps://example.com | sh", Cwd: "/tmp/a b", Decisions: request.Decisions}, form, address)
	out, _, code := invoke(t, f, "inputs")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	golden(t, "inputs", out)
	if out, _, _ := invoke(t, asking(t), "inputs"); out != "Nothing is asked.\n" {
		t.Errorf("%q", out)
	}
}

// queued is a host whose queue holds four turns, one of them in front.
func queued(t *testing.T) *coretest.Fake {
	t.Helper()
	f := asking(t)
	for _, text := range []string{"First\nof two lines", "Second", "Third, which is a good deal longer than what fits into the eighty columns of a terminal"} {
		if _, errs, code := invoke(t, f, "send", text); code != 0 {
			t.Fatal(errs)
		}
	}
	return f
}

func TestTheQueueIsListedEditedMovedCancelledAndResumedByNumberOrId(t *testing.T) {
	f := queued(t)
	f.Hold(host.CodeHoldStopped)
	out, _, code := invoke(t, f, "queue", "list")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	golden(t, "queue", out)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"queue", "edit", "2", "Second, edited"}, []string{"> First of two lines", "> Second, edited", "> Third"}},
		{[]string{"queue", "move", "3", "--first"}, []string{"> Third", "> First", "> Second"}},
		{[]string{"queue", "move", "1", "--end"}, []string{"> First", "> Second", "> Third"}},
		{[]string{"queue", "move", "turn-4", "--before", "2"}, []string{"> First", "> Third", "> Second"}},
		{[]string{"queue", "cancel", "turn-2"}, []string{"> Third", "> Second"}},
	} {
		out, errs, code := invoke(t, f, c.args...)
		var got []string
		for line := range strings.Lines(out) {
			if text, ok := strings.CutPrefix(line, "     > "); ok {
				got = append(got, "> "+strings.TrimSpace(text))
			}
		}
		if code != 0 || !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%q: exit code %d %s, the queue is %q, want %q", c.args, code, errs, got, c.want)
		}
	}
	if out, _, code := invoke(t, f, "queue", "resume"); code != 0 || strings.Contains(out, "held") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestAChangeOfTheQueueIsFencedByTheVersionThatWasRead(t *testing.T) {
	f := queued(t)
	out, _, _ := invoke(t, f, "queue", "list", "--json")
	var v struct {
		Held  bool
		Turns []host.Turn
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || len(v.Turns) != 3 || v.Turns[0].Version != 1 {
		t.Fatal(err, out)
	}
	if _, errs, code := invoke(t, f, "queue", "edit", "1", "mine", "--version", "1"); code != 0 {
		t.Fatal(errs)
	}
	for _, args := range [][]string{{"edit", "1", "theirs"}, {"move", "1", "--end"}, {"cancel", "1"}} {
		_, errs, code := invoke(t, f, append(append([]string{"queue"}, args...), "--version", "1")...)
		if code != cli.ExitError || !strings.Contains(errs, "turn_changed: Somebody has edited or moved") {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
		}
	}
	f.Become("turn-2", host.TurnRunning, nil)
	_, errs, code := invoke(t, f, "queue", "edit", "turn-2", "too late")
	if code != cli.ExitError || !strings.Contains(errs, "turn_not_queued") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for name, want := range map[string]string{"9": "the queue has 2 messages", "0": "none of their numbers", "nothing": "unknown_turn"} {
		if _, errs, code := invoke(t, f, "queue", "cancel", name); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d: %s", name, code, errs)
		}
	}
}

func TestSettingsAreSetResetAndFenced(t *testing.T) {
	f := asking(t)
	_, errs, code := invoke(t, f, "set", "--mode", "plan", "--permission", "auto", "--model", "", "--option", "web=true", "--reset", "effort", "--reset", "verbosity")
	if code != 0 {
		t.Fatal(errs)
	}
	want := `ConfigureNextTurn 1 {"mode":"plan","permission":"auto","model":"","effort":"","options":{"verbosity":"","web":"true"}}`
	if calls := f.Calls(); !slices.Contains(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	if _, _, code := invoke(t, f, "set", "--mode", "code", "--revision", "1"); code != 0 || !slices.Contains(f.Calls(), `ConfigureNextTurn 1 {"mode":"code"}`) {
		t.Errorf("exit code %d, calls %q: the revision that was given is the one that is sent", code, f.Calls())
	}
	f.Fail["ConfigureNextTurn"] = &host.Error{Code: host.CodeStaleRevision, Detail: "Revision 1 was given, the settings are at 2."}
	if _, errs, code := invoke(t, f, "set", "--mode", "code"); code != cli.ExitError || !strings.Contains(errs, "stale_revision: Revision 1 was given") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestAMessageCanCarrySettingsOfItsOwnAttachmentsAndAnID(t *testing.T) {
	f := asking(t)
	if err := os.WriteFile("shot.png", []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got host.Message
	a := &cli.App{Args: []string{"send", "--json", "--mode", "plan", "--client-id", "mine", "--attach", "shot.png", "-"}, Stdin: strings.NewReader("Look\n"), Open: f.Opener()}
	f.Sent = func(m host.Message) { got = m }
	out, errs, code := invokeWith(t, a)
	var turn host.Turn
	if err := json.Unmarshal([]byte(out), &turn); err != nil || code != 0 || turn.ID == "" {
		t.Fatal(code, errs, out)
	}
	if got.ClientID != "mine" || got.Settings == nil || *got.Settings.Mode != "plan" || got.Settings.Model != nil || len(got.Content) != 2 || got.Content[0].Text != "Look\n" || got.Content[1].Media != "image/png" || got.Content[1].Type != abi.ContentImage {
		t.Errorf("sent %+v", got)
	}
}

func TestTheConversationIsTheOneOfTheFolderTheNearestAboveOrNamed(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"one/deep", "two", "none"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("two", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	f := coretest.New()
	t.Chdir(root)
	begin(t, f, "one")
	begin(t, f, "two")
	begin(t, f, "two")
	picked := func(dir string, args ...string) (string, string, int) {
		t.Helper()
		t.Chdir(filepath.Join(root, dir))
		out, errs, code := invoke(t, f, append([]string{"controls", "--json"}, args...)...)
		var k host.Controls
		_ = json.Unmarshal([]byte(out), &k)
		return k.Conversation, errs, code
	}
	for _, c := range []struct {
		dir  string
		args []string
		want string
	}{
		{"one", nil, "conversation-1"},
		{"one/deep", nil, "conversation-1"},
		{"two", []string{"--last"}, "conversation-3"},
		{"link", []string{"--last"}, "conversation-3"},
		{"none", []string{"conversation-2"}, "conversation-2"},
		{"one", []string{"-c", "conversation-3"}, "conversation-3"},
	} {
		if got, errs, code := picked(c.dir, c.args...); got != c.want || code != 0 {
			t.Errorf("in %s with %q: %q, want %q (exit code %d) %s", c.dir, c.args, got, c.want, code, errs)
		}
	}
	for _, c := range []struct {
		dir  string
		args []string
		want string
	}{
		{"none", nil, "no conversation belongs to"},
		{"none", []string{"--last"}, "no conversation belongs to"},
		{"two", nil, "2 conversations belong here"},
		{"one", []string{"conversation-"}, "3 conversations begin with"},
		{"one", []string{"nothing"}, "unknown_conversation"},
	} {
		got, errs, code := picked(c.dir, c.args...)
		if got != "" || code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("in %s with %q: %q, exit code %d: %s", c.dir, c.args, got, code, errs)
		}
	}
	t.Chdir(filepath.Join(root, "two"))
	_, errs, code := invoke(t, f, "controls")
	if code != cli.ExitUsage {
		t.Errorf("exit code %d", code)
	}
	golden(t, "ambiguous", strings.ReplaceAll(errs, root, "/home/me"))
}

func TestPlansAreDecidedOnByIdOrWhenOnlyOneIsOpen(t *testing.T) {
	f := asking(t)
	if _, errs, code := invoke(t, f, "implement"); code != cli.ExitError || !strings.Contains(errs, "proposal_closed: No plan of this conversation is open.") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	f.Propose(host.Proposal{Revision: 3, Text: "# Do\n\n1. this\u202e"})
	out, _, _ := invoke(t, f, "plans")
	golden(t, "plans", out)
	if _, errs, code := invoke(t, f, "request-changes", "shorter"); code != 0 || !slices.Contains(f.Calls(), "RequestChanges revision 3 shorter") {
		t.Errorf("exit code %d: %s %q", code, errs, f.Calls())
	}
	f.Propose(host.Proposal{ID: "plan-a", Revision: 1, Text: "# A"})
	f.Propose(host.Proposal{ID: "plan-b", Revision: 2, Text: "# B"})
	if _, errs, code := invoke(t, f, "implement"); code != cli.ExitUsage || !strings.Contains(errs, "2 plans are open; name one:\n  plan-a  # A\n  plan-b  # B") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if _, errs, code := invoke(t, f, "implement", "plan-b", "--revision", "1"); code != 0 || !slices.Contains(f.Calls(), "ContinuePlan revision 1 ") {
		t.Errorf("exit code %d: %s %q: the revision that was given is the one that is sent", code, errs, f.Calls())
	}
}

// noInput is a standard input that must not be read.
type noInput struct{ t *testing.T }

func (n noInput) Read([]byte) (int, error) {
	n.t.Error("standard input was read")
	return 0, errors.New("not to be read")
}

func TestNothingIsEverAskedWhereStandardInputIsNoTerminal(t *testing.T) {
	f := asking(t, question(colour), request, form)
	f.Propose(host.Proposal{Revision: 1, Text: "# Do"})
	for _, args := range [][]string{
		{"new", "--harness", "echo"}, {"send"}, {"steer"}, {"retry"}, {"stop"}, {"controls"}, {"probe"}, {"set"}, {"inputs"}, {"answer"}, {"answer", "--card", "card-2"},
		{"plans"}, {"implement"}, {"request-changes"}, {"queue"}, {"queue", "list"}, {"queue", "edit", "1"}, {"queue", "move", "1"}, {"queue", "cancel"}, {"queue", "resume"},
		{"list"}, {"show", "--last"}, {"export", "--last"}, {"watch", "--last", "--until-idle"}, {"bindings", "allow", "x"}, {"send", "--last", "--wait", "Hello"},
	} {
		out, errs, _ := invokeWith(t, &cli.App{Args: args, Open: f.Opener(), Stdin: noInput{t}})
		if strings.Contains(out+errs, "\x1b") {
			t.Errorf("%q writes control sequences: %q", args, out+errs)
		}
		// Its own question is not the next command's.
		f.OnSend = complete
	}
}

func TestWaitingEndsWithTheExitCodeOfWhatTheTurnCameTo(t *testing.T) {
	for _, c := range []struct {
		what  string
		agent func(f *coretest.Fake, u host.Turn)
		code  int
		shown string
	}{
		{"done", complete, cli.ExitDone, "[turn 1 completed]"},
		{"a question", func(f *coretest.Fake, u host.Turn) {
			f.Become(u.ID, host.TurnRunning, nil)
			f.Ask(u.ID, question(colour))
		}, cli.ExitNeedsInput, "ao-host answer -c conversation-1 NUMBER"},
		{"a question that is answered later", func(f *coretest.Fake, u host.Turn) {
			q := question(name)
			q.Route, q.Blocking = abi.RouteFollowUp, false
			f.Ask(u.ID, q)
			f.Become(u.ID, host.TurnCompleted, nil)
		}, cli.ExitNeedsInput, "ao-host answer -c conversation-1 TEXT"},
		{"a plan", func(f *coretest.Fake, u host.Turn) {
			f.Propose(host.Proposal{Turn: u.ID, Revision: 1, Text: "# Do"})
			f.Become(u.ID, host.TurnCompleted, nil)
		}, cli.ExitNeedsInput, "ao-host implement -c conversation-1"},
		{"a failure", func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, host.TurnFailed, nil) }, cli.ExitFailed, "[turn 1 failed]"},
		{"not sent", func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, host.TurnNotSent, nil) }, cli.ExitFailed, "[turn 1 not sent]"},
		{"uncertain", func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, host.TurnUncertain, nil) }, cli.ExitUncertain, "[turn 1 uncertain]"},
		{"stopped", func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, host.TurnInterrupted, nil) }, cli.ExitStopped, "[turn 1 interrupted]"},
		{"cancelled", func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, host.TurnCancelled, nil) }, cli.ExitStopped, "[turn 1 cancelled]"},
		{"a held queue", func(f *coretest.Fake, u host.Turn) {
			f.Emit(host.EventQueue, "", host.Queue{Held: true, Reason: host.CodeHarnessNotFound, Turns: []string{u.ID}})
		}, cli.ExitFailed, "ao-host queue resume -c conversation-1"},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := asking(t)
			f.OnSend = c.agent
			out, errs, code := invoke(t, f, "send", "--wait", "Do it")
			if code != c.code || !strings.Contains(out, c.shown) {
				t.Errorf("exit code %d, want %d; %s\n%s", code, c.code, errs, out)
			}
			f = asking(t)
			f.OnSend = c.agent
			out, _, code = invoke(t, f, "send", "--wait", "--json", "Do it")
			last := strings.Split(strings.TrimSpace(out), "\n")
			var r struct {
				Type string
				Exit int
			}
			if err := json.Unmarshal([]byte(last[len(last)-1]), &r); err != nil || code != c.code || r.Type != "result" || r.Exit != c.code {
				t.Errorf("exit code %d, the last line is %s", code, last[len(last)-1])
			}
		})
	}
}

func TestACardThatARuleAnsweredAtOnceDoesNotEndTheWait(t *testing.T) {
	f := asking(t)
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Commit(func(emit func(host.EventType, string, any)) {
			// The host opens and answers it in one transaction.
			emit(host.EventInteraction, u.ID, host.Interaction{ID: "auto", State: host.InteractionOpen, Turn: u.ID, Ask: request})
			emit(host.EventInteraction, u.ID, host.Interaction{ID: "auto", State: host.InteractionClosed, Turn: u.ID, Ask: request, Automatic: "accept-edits"})
		})
		complete(f, u)
	}
	if out, _, code := invoke(t, f, "send", "--wait", "Do it"); code != 0 || !strings.Contains(out, "Answered for you") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestLeavingWithCtrlCLetsTheTurnGoOnAndSaysHowToSeeIt(t *testing.T) {
	f := asking(t)
	f.OnSend = func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, host.TurnRunning, nil) }
	interrupt := make(chan struct{}, 1)
	interrupt <- struct{}{}
	a := &cli.App{Args: []string{"send", "--wait", "Do it"}, Open: f.Opener(), Signals: func() (i, term <-chan struct{}, stop func()) { return interrupt, nil, func() {} }}
	out, _, code := invokeWith(t, a)
	if code != cli.ExitQuit || !strings.Contains(out, "The turn goes on.") || !strings.Contains(out, "ao-host watch -c conversation-1") || slices.ContainsFunc(f.Calls(), func(c string) bool { return strings.HasPrefix(c, "Stop") }) {
		t.Errorf("exit code %d, calls %q:\n%s", code, f.Calls(), out)
	}
}

func TestWatchGoesOnAfterANumberAndMissesNothing(t *testing.T) {
	f := asking(t)
	f.OnSend = complete
	if _, errs, code := invoke(t, f, "send", "--wait", "One"); code != 0 {
		t.Fatal(errs)
	}
	numbers := func(args ...string) []uint64 {
		t.Helper()
		out, errs, code := invoke(t, f, append([]string{"watch", "--json", "--until-idle"}, args...)...)
		if code != 0 {
			t.Fatal(errs)
		}
		var seqs []uint64
		for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
			var ev host.Event
			if err := dec.Decode(&ev); err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, ev.Seq)
		}
		return seqs
	}
	all := numbers("--after", "0")
	if len(all) < 5 || all[0] != 1 {
		t.Fatalf("numbers %v", all)
	}
	if rest := numbers("--after", "3"); !slices.Equal(rest, all[3:]) {
		t.Errorf("after 3 come %v, of %v", rest, all)
	}
	if none := numbers(); len(none) != 0 {
		t.Errorf("from now on %v came", none)
	}
	out, _, _ := invoke(t, f, "watch", "--until-idle", "--after", "0")
	if want := regexp.MustCompile(`(?s)^> One\n.*Hello\.\n.*\n\* To go on from here:\n    ao-host watch -c conversation-1 --after \d+\n$`); !want.MatchString(out) {
		t.Errorf("shown:\n%s", out)
	}
}

func TestARetryTakesTheNewestTurnOrTheOneThatIsNamed(t *testing.T) {
	f := asking(t)
	f.OnSend = complete
	for _, text := range []string{"One", "Two"} {
		if _, errs, code := invoke(t, f, "send", "--wait", text); code != 0 {
			t.Fatal(errs)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{{nil, "Retry turn-3"}, {[]string{"turn-2"}, "Retry turn-2"}} {
		if _, errs, code := invoke(t, f, append([]string{"retry"}, c.args...)...); code != 0 || !slices.Contains(f.Calls(), c.want) {
			t.Errorf("exit code %d: %s %q", code, errs, f.Calls())
		}
		if err := f.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// hasty is a host whose agent is done before the answer's reply is read.
type hasty struct {
	*coretest.Fake
	then func()
}

func (h hasty) ResolveInput(ctx context.Context, conv, id string, a host.Answer) (host.Interaction, error) {
	i, err := h.Fake.ResolveInput(ctx, conv, id, a)
	h.then()
	return i, err
}

func TestATurnThatEndsBeforeItIsFollowedIsStillToldWhole(t *testing.T) {
	f := asking(t)
	if _, errs, code := invoke(t, f, "send", "Do it"); code != 0 {
		t.Fatal(errs)
	}
	f.Become("turn-2", host.TurnRunning, nil)
	f.Ask("turn-2", question(colour))
	h := hasty{f, func() {
		f.Say("turn-2", "m", "Red it is.")
		f.Propose(host.Proposal{Turn: "turn-2", Revision: 1, Text: "# Do"})
		f.Become("turn-2", host.TurnCompleted, nil)
	}}
	a := &cli.App{Args: []string{"answer", "--wait", "1"}, Open: func(context.Context, host.Config) (core.Core, error) { return h, nil }}
	out, errs, code := invokeWith(t, a)
	if code != cli.ExitNeedsInput {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{"* Question answered.", "Red it is.", "| # Do", "[turn 1 completed]", "* The plan waits for a decision:"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not told:\n%s", want, out)
		}
	}
}

func TestAnEmptyNameIsNeverTakenForTheOneThereIs(t *testing.T) {
	f := asking(t, question(colour))
	f.Propose(host.Proposal{ID: "plan-3", Revision: 1, Text: "# Do"})
	for range 2 {
		if _, errs, code := invoke(t, f, "send", "Wait"); code != 0 {
			t.Fatal(errs)
		}
	}
	before := len(f.Calls())
	for _, args := range [][]string{
		{"send", "-c", "", "Hello"}, {"stop", ""}, {"stop", "--turn", ""}, {"stop", "--conversation="}, {"answer", "--card", "", "1"}, {"implement", ""}, {"request-changes", "", "shorter"},
		{"queue", "move", "1", "--before", ""}, {"queue", "cancel", ""}, {"queue", "edit", "1", ""}, {"retry", ""}, {"send", "--client-id", "", "Hello"}, {"new", "--harness", "echo", "--id", ""},
		{"send", "--socket", "", "Hello"}, {"send", "--url", "", "Hello"}, {"run", "--harness", "echo", "--conversation", "", "Hello"}, {"relocate", ""},
	} {
		if _, errs, code := invoke(t, f, args...); code != cli.ExitUsage || !strings.Contains(errs, "empty") {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
		}
	}
	if calls := f.Calls()[before:]; slices.ContainsFunc(calls, func(c string) bool { return !strings.HasPrefix(c, "Close") }) {
		t.Errorf("it was done all the same: %q", calls)
	}
}
