package host_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/host"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestEveryCodeHasASentenceThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, c := range host.Codes() {
		fmt.Fprintf(&b, "%s\n    %s\n", c.Code, c.Text)
		if !strings.HasSuffix(c.Text, ".") || len(c.Text) < 20 {
			t.Errorf("%s: %q is no sentence", c.Code, c.Text)
		}
	}
	golden := filepath.Join("testdata", "codes.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Fatalf("the table of codes differs from %s; a code is an interface, change it on purpose and run with -update:\n%s", golden, b.String())
	}
}

func TestUnknownIDsAreToldApart(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	ctx := t.Context()
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	check := func(what string, err error, want host.Code) {
		t.Helper()
		if host.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
		var e *host.Error
		if errors.As(err, &e) && e.Advice() == "" {
			t.Errorf("%s: no advice", what)
		}
	}
	_, err := r.h.Send(ctx, "nope", host.Message{Content: host.Text("x")})
	check("send to an unknown conversation", err, host.CodeUnknownConversation)
	_, err = r.h.Controls(ctx, "nope")
	check("controls of an unknown conversation", err, host.CodeUnknownConversation)
	_, err = r.h.ConfigureNextTurn(ctx, "nope", 1, host.SettingsPatch{})
	check("settings of an unknown conversation", err, host.CodeUnknownConversation)
	for _, err := range r.h.Events(ctx, "nope", 0) {
		check("events of an unknown conversation", err, host.CodeUnknownConversation)
	}
	_, err = r.h.Turn(ctx, r.conv, "nope")
	check("an unknown turn", err, host.CodeUnknownTurn)
	_, err = r.h.Retry(ctx, r.conv, "nope", host.RetryRequest{})
	check("retry of an unknown turn", err, host.CodeUnknownTurn)
	_, err = r.h.CancelQueued(ctx, r.conv, "nope")
	check("cancel of an unknown turn", err, host.CodeUnknownTurn)
	_, err = r.h.ResolveInput(ctx, r.conv, "nope", host.Answer{})
	check("an unknown card", err, host.CodeUnknownInteraction)
	_, err = r.h.ContinuePlan(ctx, r.conv, host.PlanDecision{Proposal: "nope"})
	check("an unknown plan", err, host.CodeUnknownProposal)
	_, err = r.h.RequestChanges(ctx, r.conv, host.PlanDecision{Proposal: "nope", Feedback: "x"})
	check("changes to an unknown plan", err, host.CodeUnknownProposal)
	_, err = r.h.Create(ctx, host.NewConversation{Harness: "nope", Cwd: r.cwd})
	check("an unknown harness", err, host.CodeUnknownHarness)
	_, err = r.h.Create(ctx, host.NewConversation{Harness: "codex", Cwd: filepath.Join(r.cwd, "gone")})
	check("a missing directory", err, host.CodeWorkingDirMissing)
	_, err = r.h.Create(ctx, host.NewConversation{Harness: "codex", Cwd: "relative"})
	check("a relative directory", err, host.CodeInvalidArgument)
	_, err = r.h.Stop(ctx, r.conv, host.StopOptions{})
	check("stop while nothing runs", err, host.CodeNothingRunning)
}

func TestMessagesAreBoundedAndRepeatedClientIDsReturnTheFirstResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, slow, func(c *host.Config) { c.MaxMessage, c.MaxAttachment = 1000, 1000 })
	ctx := t.Context()
	for _, b := range []struct {
		name string
		in   []host.Content
		code host.Code
	}{
		{"no content", nil, host.CodeEmptyMessage},
		{"an empty text", host.Text(""), host.CodeEmptyMessage},
		{"an over-size text", host.Text(strings.Repeat("x", 1001)), host.CodeMessageTooLarge},
		{"over-size in two blocks", append(host.Text(strings.Repeat("x", 600)), host.Text(strings.Repeat("x", 600))...), host.CodeMessageTooLarge},
		{"an over-size image (C2)", []host.Content{{Type: abi.ContentImage, Media: "image/png", Bytes: make([]byte, 1001)}}, host.CodeMessageTooLarge},
		{"an image without bytes", []host.Content{{Type: abi.ContentImage, Media: "image/png"}}, host.CodeEmptyMessage},
		{"an unknown block", []host.Content{{Type: "hologram"}}, host.CodeInvalidArgument},
	} {
		if _, err := r.h.Send(ctx, r.conv, host.Message{Content: b.in}); host.CodeOf(err) != b.code {
			t.Errorf("%s: %v, want %s", b.name, err, b.code)
		}
	}
	first, err := r.h.Send(ctx, r.conv, host.Message{ClientID: "m1", Content: host.Text("One")})
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.h.Send(ctx, r.conv, host.Message{ClientID: "m1", Content: host.Text("One")})
	if err != nil || again.ID != first.ID {
		t.Fatalf("repeated: %v, %v", again.ID, err)
	}
	if turns, _ := r.h.Turns(ctx, r.conv); len(turns) != 1 {
		t.Fatalf("%d turns", len(turns))
	}
	r.untilTurn(first.ID, host.TurnRunning)
	_, err = r.h.Retry(ctx, r.conv, first.ID, host.RetryRequest{ClientID: "r1"})
	wantCode(t, err, host.CodeTurnNotRetryable)
	r.stop(host.StopOptions{})
	r.untilTurn(first.ID, host.TurnInterrupted)
	_, err = r.h.Retry(ctx, r.conv, first.ID, host.RetryRequest{ClientID: "m1"})
	wantCode(t, err, host.CodeClientIDReused)
}

func TestPlansAreDecidedOnceAndOnTheRevisionThatWasRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, primary)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	turn := r.send("Plan")
	card := r.untilInput()
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("name", 0)}})
	r.untilTurn(turn.ID, host.TurnCompleted)
	p := r.untilPlan()
	_, err := r.h.ContinuePlan(t.Context(), r.conv, host.PlanDecision{Proposal: p.ID, Revision: p.Revision + 1})
	wantCode(t, err, host.CodeProposalClosed)
	_, err = r.h.RequestChanges(t.Context(), r.conv, host.PlanDecision{Proposal: p.ID, Revision: p.Revision})
	wantCode(t, err, host.CodeEmptyMessage)
	fb, err := r.h.RequestChanges(t.Context(), r.conv, host.PlanDecision{Proposal: p.ID, Revision: p.Revision, Feedback: "more"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.h.ContinuePlan(t.Context(), r.conv, host.PlanDecision{Proposal: p.ID, Revision: p.Revision})
	wantCode(t, err, host.CodeProposalClosed)
	again, err := r.h.RequestChanges(t.Context(), r.conv, host.PlanDecision{Proposal: p.ID, Revision: p.Revision, Feedback: "more"})
	if err != nil || again.ID != fb.ID {
		t.Fatalf("repeated feedback: %v, %v", again.ID, err)
	}
}

// problem waits for a problem with the code and returns its text.
func (r *rig) problem(code host.Code) string {
	r.t.Helper()
	msg := ""
	r.until("problem "+string(code), func() bool {
		for _, p := range r.controls().Problems {
			if p.Code == string(code) {
				msg = p.Message
				return true
			}
		}
		return false
	})
	return msg
}

func TestAHarnessThatCannotStartKeepsTheMessageAndSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "harness with space")
	write := func(path, text string) string {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, b := range []struct {
		name string
		argv []string
		code host.Code
		says string
	}{
		{"not installed", []string{"no-such-harness-command"}, host.CodeHarnessNotFound, "no-such-harness-command"},
		{"a missing interpreter (L1)", []string{write(script, "#!/no/such/interpreter\n")}, host.CodeInterpreterMissing, "/no/such/interpreter"},
		{"exits at once", []string{write(filepath.Join(dir, "exit"), "#!/bin/sh\necho 'bad flag' >&2\nexit 2\n")}, host.CodeHarnessExited, "bad flag"},
		{"prints text and exits", []string{write(filepath.Join(dir, "text"), "#!/bin/sh\necho 'Welcome to the harness!'\nexit 0\n")}, host.CodeHarnessExited, "status 0"},
	} {
		t.Run(b.name, func(t *testing.T) {
			r := newRig(t, echo, func(c *host.Config) { c.Launch = map[string]host.Launch{"codex": {Argv: b.argv}} })
			turn := r.send("Go")
			if msg := r.problem(b.code); !strings.Contains(msg, b.says) {
				t.Fatalf("the problem says %q, not %q", msg, b.says)
			}
			if got := r.turn(turn.ID); got.State != host.TurnQueued {
				t.Fatalf("the accepted message is %s", got.State)
			}
			if q := r.controls().Queue; !q.Held || len(q.Turns) != 1 {
				t.Fatalf("queue %+v", q)
			}
			time.Sleep(50 * time.Millisecond)
			if g := r.controls().Session.Generation; g != 1 {
				t.Fatalf("it was started %d times without being asked", g)
			}
		})
	}
}

func TestAHarnessThatIsNotInstalledIsToldWithTheSentenceOfItsManifest(t *testing.T) {
	t.Parallel()
	nowhere := []string{"PATH=" + t.TempDir()}
	r := newRig(t, echo, func(c *host.Config) { c.Launch, c.Env = nil, nowhere })
	m, err := r.h.Manifest(t.Context(), "codex")
	if err != nil || m.Launch.InstallHint == "" {
		t.Fatalf("the manifest has no hint: %v", err)
	}
	r.send("Go")
	if msg := r.problem(host.CodeHarnessNotFound); !strings.Contains(msg, m.Launch.InstallHint) || !strings.Contains(msg, nowhere[0][len("PATH="):]) {
		t.Fatalf("problem %q", msg)
	}

	// It would mislead about a command that somebody gave.
	r = newRig(t, echo, func(c *host.Config) {
		c.Launch, c.Env = map[string]host.Launch{"codex": {Argv: []string{"another-command"}}}, nowhere
	})
	r.send("Go")
	if msg := r.problem(host.CodeHarnessNotFound); strings.Contains(msg, m.Launch.InstallHint) {
		t.Fatalf("problem %q", msg)
	}
}

func TestARemovedWorkingDirectoryIsNamedAndTheHistoryStaysReadable(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	r.close()
	if err := os.RemoveAll(r.cwd); err != nil {
		t.Fatal(err)
	}
	r.open()
	next := r.send("Again")
	if msg := r.problem(host.CodeWorkingDirMissing); !strings.Contains(msg, r.cwd) {
		t.Fatalf("problem %q", msg)
	}
	if s := r.turn(next.ID).State; s != host.TurnQueued {
		t.Fatalf("message %s", s)
	}
	if got := r.texts(abi.ItemMessage); len(got) != 1 {
		t.Fatalf("history %q", got)
	}
}

func TestAVersionOutsideTheBindingsRangeIsAWarningAndItGoesOn(t *testing.T) {
	t.Parallel()
	wasm, err := os.ReadFile(filepath.Join("..", "bindings-wasm", "codex.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.ReadManifest(wasm)
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := module.ReadSchemas(wasm)
	if err != nil {
		t.Fatal(err)
	}
	m.Provider.Min, m.Provider.Max = "0.99.0", "0.153.x"
	older, err := module.Pack(wasm, m.AppendJSON(nil), schemas)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, echo, func(c *host.Config) { c.Bindings = [][]byte{older} })
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if msg := r.problem(host.CodeProviderVersion); !strings.Contains(msg, "0.171.0") {
		t.Fatalf("problem %q", msg)
	}
}

func TestADataFolderThatCannotBeUsedIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	_, err := host.Open(t.Context(), r.cfg)
	wantCode(t, err, host.CodeStoreLocked)

	cfg := r.cfg
	cfg.Dir = filepath.Join(t.TempDir(), "file", "data")
	if err := os.WriteFile(filepath.Dir(cfg.Dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Open(t.Context(), cfg); err == nil || host.CodeOf(err) == "" {
		t.Fatalf("a folder below a file: %v", err)
	}
}

func TestModulesThatCannotBeUsedAreNamedAndReplaceNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	good, err := os.ReadFile(filepath.Join("..", "bindings-wasm", "codex.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	drop := filepath.Join(r.dir, "bindings")
	if err := os.MkdirAll(drop, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"empty.wasm":     nil,
		"foreign.wasm":   []byte("#!/bin/sh\necho hello\n"),
		"truncated.wasm": good[:len(good)/2],
		"component.wasm": append([]byte("\x00asm\x0d\x00\x01\x00"), good[8:]...),
		"bare.wasm":      []byte("\x00asm\x01\x00\x00\x00"),
		"stranger.wasm":  good,
	} {
		if err := os.WriteFile(filepath.Join(drop, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]host.Code{
		"empty.wasm": host.CodeModuleForeign, "foreign.wasm": host.CodeModuleForeign, "truncated.wasm": host.CodeModuleTruncated,
		"component.wasm": host.CodeModuleComponent, "bare.wasm": host.CodeManifestMissing, "stranger.wasm": host.CodeBindingNotAllowed,
	}
	list, err := r.h.Bindings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for _, b := range list {
		name := filepath.Base(b.Path)
		if b.BuiltIn {
			continue
		}
		got++
		if b.Err == nil || b.Err.Code != want[name] {
			t.Errorf("%s: %v, want %s", name, b.Err, want[name])
		}
	}
	if got != len(want) {
		t.Fatalf("%d modules listed, want %d", got, len(want))
	}
	// The working built-in binding is still the one in use (D10).
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if _, err := r.h.AllowBinding(t.Context(), "stranger"); err != nil {
		t.Fatal(err)
	}
	_, err = r.h.AllowBinding(t.Context(), "truncated.wasm")
	wantCode(t, err, host.CodeModuleTruncated)
}

func TestTheChildSeesNeitherTheDataFolderNorOtherVariables(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("env"); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "env")
	r := newRig(t, echo, func(c *host.Config) {
		c.Launch = map[string]host.Launch{"codex": {Argv: []string{"/bin/sh", "-c", "env > '" + out + "'"}}}
		c.Env = append(c.Env, "SECRET_OF_ANOTHER_TOOL=1", "AO_HOST_DATA="+c.Dir, "LD_PRELOAD=/x.so")
	})
	r.send("Go")
	r.problem(host.CodeHarnessExited)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"SECRET_OF_ANOTHER_TOOL", "AO_HOST", "LD_PRELOAD", r.dir} {
		if strings.Contains(string(b), bad) {
			t.Errorf("the child's environment has %s", bad)
		}
	}
	if !strings.Contains(string(b), "CODEX_HOME=") {
		t.Error("the harness's home variable is missing")
	}
}

func TestL3_AWorkingDirectoryThatBecameALinkElsewhereIsNotEntered(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	elsewhere := t.TempDir()
	if err := os.Remove(r.cwd); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, r.cwd); err != nil {
		t.Fatal(err)
	}
	turn := r.send("Go")
	if msg := r.problem(host.CodeWorkingDirChanged); !strings.Contains(msg, elsewhere) {
		t.Fatalf("problem %q", msg)
	}
	if s := r.turn(turn.ID).State; s != host.TurnQueued {
		t.Fatalf("message %s", s)
	}
}

func TestL3_AConversationWhoseDirectoryIsGoneIsRelocatedAndGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"write_file":{"path":"here.txt","text":"x"}},{"say":"Done."}]}]}`)
	r.configure(host.SettingsPatch{Permission: ptr(abi.PermissionBypass)})
	first := r.send("Go")
	r.untilTurn(first.ID, host.TurnCompleted)
	conversation := func() host.Conversation {
		t.Helper()
		c, err := r.h.Conversation(t.Context(), r.conv)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	native := conversation().NativeSession
	// The process stays in the removed folder; the next turn must not run there.
	moved := filepath.Join(t.TempDir(), "ein Arbeitsbaum")
	if err := os.Rename(r.cwd, moved); err != nil {
		t.Fatal(err)
	}
	_, err := r.h.Relocate(t.Context(), r.conv, r.cwd)
	wantCode(t, err, host.CodeWorkingDirMissing)
	_, err = r.h.Relocate(t.Context(), r.conv, "relative")
	wantCode(t, err, host.CodeInvalidArgument)
	if err := os.Remove(filepath.Join(moved, "here.txt")); err != nil {
		t.Fatal(err)
	}
	c, err := r.h.Relocate(t.Context(), r.conv, moved)
	if err != nil || c.Cwd != moved {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := r.h.Relocate(t.Context(), r.conv, moved); err != nil {
		t.Fatalf("said twice: %v", err)
	}
	if told := bodies[host.Relocation](r, host.EventRelocated); len(told) != 1 || told[0].Cwd != moved {
		t.Fatalf("journalled %+v", told)
	}
	next := r.send("Go on")
	r.untilTurn(next.ID, host.TurnCompleted)
	if _, err := os.Stat(filepath.Join(moved, "here.txt")); err != nil {
		t.Fatalf("the turn did not run in the new folder: %v", err)
	}
	if got := conversation(); got.NativeSession != native || len(r.turns()) != 2 {
		t.Fatalf("the session is %q, was %q", got.NativeSession, native)
	}
	r.until("the problem to go", func() bool { return len(r.controls().Problems) == 0 })
}

func TestOfTwoClientsThatMakeOneConversationBothGetIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	for round := range 20 {
		id := fmt.Sprintf("same-%d", round)
		errs := make(chan error, 4)
		for range cap(errs) {
			go func() {
				c, err := r.h.Create(t.Context(), host.NewConversation{ID: id, Harness: "codex", Cwd: r.cwd})
				if err == nil && c.ID != id {
					err = fmt.Errorf("got %q", c.ID)
				}
				errs <- err
			}()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWhatIsWrongWithAnAttachmentIsToldByItsPlaceAmongTheAttachments(t *testing.T) {
	t.Parallel()
	r := newRig(t, slow, func(c *host.Config) { c.MaxAttachment = 1000 })
	ctx := t.Context()
	image := func(name string, n int) host.Content {
		return host.Content{Type: abi.ContentImage, Media: "image/png", Name: name, Bytes: make([]byte, n)}
	}
	running := r.send("Go")
	r.untilTurn(running.ID, host.TurnRunning)
	waiting := r.send("Later")
	ghost := image("", 0)
	ghost.Digest = "sha256:00"
	unnamed := image("", 10)
	unnamed.Media = ""
	for _, c := range []struct {
		in   []host.Content
		code host.Code
		want string
		// edit: only an edit can name what is there.
		edit bool
	}{
		{append(host.Text("See"), image("", 0)), host.CodeEmptyMessage, "Attachment 1 has no bytes.", false},
		{append(host.Text("See"), image("a.png", 10), image("b.png", 1001)), host.CodeMessageTooLarge, `Attachment 2 ("b.png") has 1001 bytes; at most 1000 are accepted.`, false},
		{[]host.Content{image("a.png", 10), host.Text("and")[0], unnamed}, host.CodeInvalidArgument, "Attachment 2 has no media type.", false},
		{append(host.Text("See"), image("a.png", 10), ghost), host.CodeInvalidArgument, `Attachment 2 is to be kept, and the turn has none of this type with the digest "sha256:00".`, true},
		{[]host.Content{host.Text("x")[0], image("a.png", 10), {Type: "hologram"}}, host.CodeInvalidArgument, `Block 3 has the unknown type "hologram".`, false},
	} {
		by := map[string]func() error{
			"edit": func() error {
				_, err := r.h.EditQueued(ctx, r.conv, waiting.ID, host.QueuedEdit{Version: waiting.Version, Content: c.in})
				return err
			},
		}
		if !c.edit {
			by["send"] = func() error { _, err := r.h.Send(ctx, r.conv, host.Message{Content: c.in}); return err }
			by["steer"] = func() error { _, err := r.h.Steer(ctx, r.conv, host.Message{Content: c.in}); return err }
		}
		for how, do := range by {
			if err := do(); host.CodeOf(err) != c.code || !strings.Contains(err.Error(), ": "+c.want) {
				t.Errorf("%s: %v, want %s with %q", how, err, c.code, c.want)
			}
		}
	}
}
