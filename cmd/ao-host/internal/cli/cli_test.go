package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/cli"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/host"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	// Times are shown in the local zone.
	time.Local = time.UTC
	goleak.VerifyTestMain(m)
}

// testdata is found from wherever a test has gone.
var testdata, _ = filepath.Abs("testdata")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(testdata, name+".golden")
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

// invoke runs a command line against a fake host.
func invoke(t *testing.T, f *coretest.Fake, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return invokeWith(t, &cli.App{Args: args, Open: f.Opener()})
}

func invokeWith(t *testing.T, a *cli.App) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a.Stdout, a.Stderr = &out, &errs
	if a.Stdin == nil {
		a.Stdin = strings.NewReader("")
	}
	a.Env = func(name string) string {
		return map[string]string{"AO_HOST_DATA": "/data"}[name]
	}
	code = a.Run(context.Background())
	return out.String(), errs.String(), code
}

// complete is an agent that says something and is done.
func complete(f *coretest.Fake, u host.Turn) {
	f.Become(u.ID, host.TurnRunning, nil)
	f.Say(u.ID, "m"+u.ID, "Hello.")
	f.Become(u.ID, host.TurnCompleted, nil)
}

// busy is a host with a conversation in which a good deal happened.
func busy(t *testing.T) *coretest.Fake {
	t.Helper()
	ctx := context.Background()
	f := coretest.New()
	mode, perm := "plan", abi.PermissionAuto
	c, err := f.Create(ctx, host.NewConversation{Harness: "echo", Cwd: "/home/someone/a/project/with/a/rather/long/path/that/does/not/fit/the/line", Title: "Greet \x1b[31mthe\u202e world", Settings: host.SettingsPatch{Mode: &mode, Permission: &perm}})
	if err != nil {
		t.Fatal(err)
	}
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnFailed, func(t *host.Turn) { t.Code, t.Message = "harness_exited", "It ended with status 3." })
	}
	if _, err := f.Send(ctx, c.ID, host.Message{Content: host.Text("Greet the world,\nin a way that takes a good many words to describe so that it does not fit")}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(ctx); err != nil {
		t.Fatal(err)
	}
	f.OnSend = nil
	if _, err := f.Send(ctx, c.ID, host.Message{Content: []host.Content{{Type: abi.ContentText, Text: "Look"}, {Type: abi.ContentImage, Name: "shot.png", Digest: "sha256:abc"}}}); err != nil {
		t.Fatal(err)
	}
	f.Ask("turn-2", abi.Interaction{Type: abi.InteractionQuestion, Route: abi.RouteFollowUp, Fields: []abi.Field{{ID: "a", Text: "Which one?", Options: []abi.Option{{Label: "A"}, {Label: "B"}}}}})
	f.Propose(host.Proposal{Revision: 2, Route: abi.RouteFollowUp, Text: "# The plan\n1. Write"})
	f.Hold(host.CodeHoldProviderOutage)
	return f
}

func TestListAndShowFitTheTerminalAndHideNothing(t *testing.T) {
	f := busy(t)
	out, _, code := invoke(t, f, "list")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	golden(t, "list", out)
	// The beginning of an id is enough.
	out, _, code = invoke(t, f, "show", "conv")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	golden(t, "show", out)
}

func TestJSONListsAreNeverNull(t *testing.T) {
	f := coretest.New()
	out, _, code := invoke(t, f, "list", "--json")
	if code != 0 || strings.TrimSpace(out) != "[]" {
		t.Errorf("%q, exit code %d", out, code)
	}
	if _, err := f.Create(context.Background(), host.NewConversation{Harness: "echo", Cwd: "/p"}); err != nil {
		t.Fatal(err)
	}
	out, _, _ = invoke(t, f, "show", "--json", "conversation-1")
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"turns", "inputs", "plans"} {
		if string(v[list]) != "[]" {
			t.Errorf("%s is %s", list, v[list])
		}
	}
}

func TestAnAmbiguousBeginningOfAnIDIsRefused(t *testing.T) {
	f := coretest.New()
	for range 2 {
		if _, err := f.Create(context.Background(), host.NewConversation{Harness: "echo", Cwd: "/p"}); err != nil {
			t.Fatal(err)
		}
	}
	_, errs, code := invoke(t, f, "show", "conversation")
	if code != cli.ExitUsage || !strings.Contains(errs, `2 conversations begin with "conversation"`) {
		t.Errorf("%q, exit code %d", errs, code)
	}
	if _, errs, code = invoke(t, f, "show", "conversation-1"); code != 0 {
		t.Errorf("a whole id: %q, exit code %d", errs, code)
	}
}

func TestAnErrorHasItsCodeItsDetailAndWhatToDo(t *testing.T) {
	f := coretest.New()
	f.Fail["Open"] = &host.Error{Code: host.CodeStoreLocked, Detail: "Held by \x1b[31mprocess 7."}
	_, errs, code := invoke(t, f, "list")
	if want := "ao-host: store_locked: Held by process 7. Another process has this data folder open. Use that process, end it, or choose another folder.\n"; errs != want || code != cli.ExitError {
		t.Errorf("got %q, exit code %d", errs, code)
	}
	_, errs, _ = invoke(t, f, "list", "--json")
	var v struct{ Error map[string]string }
	if err := json.Unmarshal([]byte(errs), &v); err != nil {
		t.Fatal(err)
	}
	if v.Error["code"] != "store_locked" || v.Error["advice"] == "" {
		t.Errorf("got %v", v.Error)
	}
}

func TestAnErrorWhileClosingIsNotLost(t *testing.T) {
	f := coretest.New()
	f.Fail["Close"] = &host.Error{Code: host.CodeExitUnproven, Detail: "Process 7."}
	_, errs, code := invoke(t, f, "list")
	if code != cli.ExitError || !strings.Contains(errs, "exit_unproven: Process 7.") {
		t.Errorf("%q, exit code %d", errs, code)
	}
}

func TestRunGoesOnWithAConversationAndChangesOnlyWhatIsGiven(t *testing.T) {
	f := coretest.New()
	f.OnSend = complete
	if _, errs, code := invoke(t, f, "run", "--harness", "echo", "--model", "m", "--mode", "", "hello"); code != 0 {
		t.Fatalf("%q, exit code %d", errs, code)
	}
	if _, errs, code := invoke(t, f, "run", "--conversation", "conversation-1", "--permission", "auto", "--option", "a=b=c", "again"); code != 0 {
		t.Fatalf("%q, exit code %d", errs, code)
	}
	f.Hold(host.CodeHoldStopped)
	if _, errs, code := invoke(t, f, "run", "--conversation", "conversation-1"); code != 0 {
		t.Fatalf("%q, exit code %d", errs, code)
	}
	want := []string{
		`Create echo {"mode":"","model":"m"}`, "Send conversation-1 hello", "Close now",
		`ConfigureNextTurn 1 {"permission":"auto","options":{"a":"b=c"}}`, "Send conversation-1 again", "Close now",
		"ResumeQueue conversation-1", "Close now",
	}
	if diff := cmp.Diff(want, f.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestTheExitCodeTellsHowTheRunEnded(t *testing.T) {
	for state, want := range map[host.TurnState]int{
		host.TurnCompleted: cli.ExitDone, host.TurnFailed: cli.ExitFailed, host.TurnNotSent: cli.ExitFailed,
		host.TurnUncertain: cli.ExitUncertain, host.TurnInterrupted: cli.ExitStopped,
	} {
		f := coretest.New()
		f.OnSend = func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, state, nil) }
		out, errs, code := invoke(t, f, "run", "--harness", "echo", "--json", "hello")
		if code != want || errs != "" {
			t.Errorf("%s: exit code %d, wanted %d, %q", state, code, want, errs)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		var last struct {
			Type string
			Exit int
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Type != "result" || last.Exit != want {
			t.Errorf("%s: last line %s", state, lines[len(lines)-1])
		}
	}
}

func TestASignalToEndClosesTheHostInOrder(t *testing.T) {
	f := coretest.New()
	term := make(chan struct{}, 1)
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		term <- struct{}{}
	}
	stopped := false
	_, errs, code := invokeWith(t, &cli.App{Args: []string{"run", "--harness", "echo", "hello"}, Open: f.Opener(), Signals: func() (_, _ <-chan struct{}, _ func()) {
		return nil, term, func() { stopped = true }
	}})
	if code != cli.ExitTerminated || errs != "" {
		t.Errorf("exit code %d, %q", code, errs)
	}
	if !stopped || !slices.Contains(f.Calls(), "Close now") {
		t.Errorf("signals given back: %v; calls %q", stopped, f.Calls())
	}
}

func TestBindingsAreListedWithTheReasonTheyCannotBeUsed(t *testing.T) {
	f := coretest.New()
	f.Installed = append(f.Installed,
		host.BindingInfo{Harness: "other", Digest: "sha256:ffffffffffffffffffff", Path: "/data/bindings/other.wasm", Manifest: abi.Manifest{Harness: "other", BindingVersion: "0.1.0", Provider: abi.Provider{Versions: []string{"1.0", "2.0"}}}, Err: &host.Error{Code: host.CodeBindingNotAllowed}},
		host.BindingInfo{Digest: "sha256:eeeeeeeeeeeeeeeeeeee", Path: "/data/bindings/cut.wasm", Err: &host.Error{Code: host.CodeModuleTruncated, Detail: "It has 7 bytes."}},
	)
	out, _, code := invoke(t, f, "bindings", "list")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	golden(t, "bindings", out)
	out, _, _ = invoke(t, f, "bindings", "list", "--json")
	if !strings.Contains(out, `"code": "module_truncated"`) || strings.Contains(out, `"error": null`) {
		t.Errorf("got %s", out)
	}
	out, _, code = invoke(t, f, "bindings", "allow", "other")
	if code != 0 || !strings.HasPrefix(out, "Allowed: /data/bindings/other.wasm\n") || !slices.Contains(f.Calls(), "AllowBinding other") {
		t.Errorf("%q, exit code %d, calls %q", out, code, f.Calls())
	}
}

func TestAnAttachmentThatNoHostWouldTakeIsRefusedBeforeItIsRead(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.png")
	if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<30)); err != nil {
		t.Fatal(err)
	}
	_, errs, code := invoke(t, coretest.New(), "run", "--harness", "echo", "--attach", large, "look")
	if code != 1 || !strings.Contains(errs, "message_too_large: The attachment has 1073741824 bytes.") {
		t.Fatalf("%q, exit code %d", errs, code)
	}
}

func TestAnAttachmentIsAnImageOrAFileByItsContent(t *testing.T) {
	dir := t.TempDir()
	png := filepath.Join(dir, "shot")
	if err := os.WriteFile(png, []byte("\x89PNG\r\n\x1a\n0123"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := coretest.New()
	var sent []host.Content
	f.OnSend = func(f *coretest.Fake, u host.Turn) { sent = u.Content; complete(f, u) }
	out, errs, code := invoke(t, f, "run", "--harness", "echo", "--attach", png, "--attach", text, "look")
	if code != 0 {
		t.Fatalf("%q, exit code %d", errs, code)
	}
	want := []host.Content{
		{Type: abi.ContentText, Text: "look"},
		{Type: abi.ContentImage, Media: "image/png", Name: "shot", Bytes: []byte("\x89PNG\r\n\x1a\n0123")},
		{Type: abi.ContentFile, Media: "text/plain", Name: "notes.txt", Bytes: []byte("notes")},
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if !strings.Contains(out, "> (image shot)") {
		t.Errorf("output:\n%s", out)
	}
}

// A writer that fails stands for a full disk or a closed pipe.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	f := busy(t)
	var errs bytes.Buffer
	a := &cli.App{Args: []string{"list"}, Open: f.Opener(), Stdin: strings.NewReader(""), Stdout: brokenPipe{}, Stderr: &errs, Env: func(name string) string { return map[string]string{"AO_HOST_DATA": "/data"}[name] }}
	if code := a.Run(context.Background()); code != cli.ExitError || !strings.Contains(errs.String(), "broken pipe") {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}
