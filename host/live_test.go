package host_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

// live is a host with one conversation on a real Codex, whose model is scripted
// and on loopback. What reached the model is the proof of what was in force.
type live struct {
	*rig
	model   *model.Server
	home    lab.Home
	version string
}

// eachCodex runs a test with every pinned version. One that is not installed is
// skipped loudly, or fails under AO_LIVE=1.
func eachCodex(t *testing.T, test func(t *testing.T, version string)) {
	for _, v := range lab.CodexVersions {
		t.Run(v, func(t *testing.T) {
			lab.Require(t, "codex", v)
			t.Parallel()
			test(t, v)
		})
	}
}

// liveOptions changes what newLive makes. The zero value is the ordinary one.
type liveOptions struct {
	codex lab.CodexOptions
	host  func(*host.Config)
}

// newLive starts the scripted model and opens a host on a data folder of its own.
func newLive(t *testing.T, version string, o liveOptions, steps ...model.Step) *live {
	t.Helper()
	h := lab.Require(t, "codex", version)
	srv := model.Start(t, model.Script{Steps: steps})
	l := &live{model: srv, home: lab.CodexHome(t, h, srv.URL()+"/v1", o.codex), version: version}
	// Every live test runs in a project whose path needs care (L2).
	l.rig = &rig{t: t, dir: filepath.Join(t.TempDir(), "data"), cwd: filepath.Join(t.TempDir(), "pro ject's äß"), home: l.home.Dir}
	if err := os.Mkdir(l.cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	var mu sync.Mutex
	l.cfg = liveConfig(l.dir, l.home)
	l.cfg.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.host != nil {
		o.host(&l.cfg)
	}
	l.open()
	t.Cleanup(func() {
		l.close()
		if mu.Lock(); t.Failed() {
			t.Logf("the host's log:\n%s", log.String())
		}
		mu.Unlock()
	})
	t.Cleanup(l.honest)
	return l
}

// liveConfig is the configuration of a host on a real harness. The environment is
// the whole one of the lab, so that the manifest's allow-list is tested as well.
func liveConfig(dir string, home lab.Home) host.Config {
	cfg := host.Config{
		Dir: dir, CacheDir: filepath.Join(cacheDir, "cache"), DigestDir: filepath.Join(cacheDir, "digests"),
		Env: home.Env, Launch: map[string]host.Launch{home.Harness.ID: {Argv: home.Argv}},
	}
	patient(&cfg)
	return cfg
}

// honest fails the test for what must not happen on a real harness, whatever the
// test is about: frames that the packed schemas do not know, frames of ours that
// were refused, binding faults.
func (l *live) honest() {
	if l.h == nil {
		h, err := host.Open(context.Background(), l.cfg)
		if err != nil {
			l.t.Errorf("open: %v", err)
			return
		}
		l.h = h
	}
	for _, what := range dishonest(l.rig) {
		l.t.Error(what)
	}
}

// untilTurn waits also until the controls, which are published after the commit,
// know of the turn's end.
func (l *live) untilTurn(id string, want ...host.TurnState) host.Turn {
	l.t.Helper()
	turn := l.rig.untilTurn(id, want...)
	l.until("the controls to know of the turn's end", func() bool {
		c := l.controls()
		return !turn.State.Ended() || (c.Running == nil || c.Running.Turn != id) && !slices.Contains(c.Queue.Turns, id)
	})
	return turn
}

// planning tells the mode a request of the agent ran in: Codex adds the
// instructions of a mode when it changes and keeps the earlier ones in the thread.
func planning(r model.Request) bool {
	return strings.LastIndex(r.Instructions, "# Plan Mode") > strings.LastIndex(r.Instructions, "# Collaboration Mode: Default")
}

// sandbox is what Codex told the model of its sandbox, last.
func sandbox(r model.Request) string {
	const before = "`sandbox_mode` is `"
	i := strings.LastIndex(r.Instructions, before)
	if i < 0 {
		return ""
	}
	mode, _, _ := strings.Cut(r.Instructions[i+len(before):], "`")
	return mode
}

// asked returns the requests of the agent that answer the user's text.
func (l *live) asked(text string) []model.Request {
	return slices.DeleteFunc(l.model.AgentRequests(), func(r model.Request) bool { return r.LastUser != text })
}

// untilAsked waits until the model was asked n times about the user's text.
func (l *live) untilAsked(text string, n int) {
	l.t.Helper()
	l.until(fmt.Sprintf("%d requests to the model about %q", n, text), func() bool { return len(l.asked(text)) >= n })
}

// observedAfter returns what the provider said is in force, last, in the journal
// after the turn was accepted. It fails when it said nothing since.
func (l *live) observedAfter(turn string) abi.Observed {
	l.t.Helper()
	var o *abi.Observed
	seen := false
	for _, ev := range l.journal() {
		seen = seen || ev.Type == host.EventTurn && ev.Turn == turn
		if seen && ev.Type == host.EventObserved {
			o = new(abi.Observed)
			decode(l.t, ev.Body, o)
		}
	}
	if o == nil {
		l.dump()
		l.t.Fatalf("the provider told nothing of its settings since turn %s was accepted", turn)
	}
	return *o
}

func (l *live) file(name string) string {
	l.t.Helper()
	b, err := os.ReadFile(filepath.Join(l.cwd, name))
	if err != nil {
		l.t.Error(err)
	}
	return string(b)
}

func (l *live) generation() int64 { return l.controls().Session.Generation }

// says, calls and patches are steps of the scripted model.
func says(text string) model.Step { return model.Step{Reply: []model.Action{model.Text(text)}} }

func calls(id, name, arguments string) model.Step {
	return model.Step{Reply: []model.Action{model.Call(id, name, arguments)}}
}

func patches(id, patch string) model.Step {
	return model.Step{Reply: []model.Action{{Custom: &model.CustomCall{ID: id, Name: "apply_patch", Input: "*** Begin Patch\n" + patch + "*** End Patch\n"}}}}
}

// on makes a step answer the user's text only, after makes it follow a call.
func on(text string, s model.Step) model.Step {
	s.Match.LastUser = text
	return s
}

func after(call string, s model.Step) model.Step {
	s.Match.Result = call
	return s
}

func always(s model.Step) model.Step {
	s.Repeat = true
	return s
}

const (
	whichName = `{"questions":[{"id":"name","header":"Name","question":"Which file name?","options":[{"label":"notes.txt","description":"plain, short"},{"label":"notes.md","description":"markdown"}]}]}`
	firstPlan = "One moment.\n<proposed_plan>\n# Plan\n1. Write notes.md\n</proposed_plan>\n"
	nextPlan  = "<proposed_plan>\n# Plan\n1. Write notes.md\n2. Add a title\n</proposed_plan>\n"
	writeFile = "*** Add File: notes.md\n+# Notes\n"
	// implement is what the binding sends to go on with a plan.
	implement = "Implement the plan."
)

func TestLivePlanQuestionAnswerChangesImplementRunsWithTheRememberedPermission(t *testing.T) {
	for _, c := range []struct {
		permission    abi.Permission
		model, effort string
		// asks: the edit needs a person's yes under this permission.
		asks bool
		// sandbox is what Codex tells the model of it.
		sandbox string
	}{
		{abi.PermissionAuto, lab.MockModel, "high", false, "workspace-write"},
		{abi.PermissionBypass, lab.MockHiddenModel, "low", false, "danger-full-access"},
		{abi.PermissionAcceptEdits, lab.MockModel, "low", false, "workspace-write"},
		{abi.PermissionDefault, lab.MockPlainModel, "low", true, "read-only"},
	} {
		t.Run(string(c.permission), func(t *testing.T) {
			eachCodex(t, func(t *testing.T, version string) {
				l := newLive(t, version, liveOptions{},
					on("Take notes", calls("call_q", "request_user_input", whichName)),
					after("call_q", says(firstPlan)),
					on("Add a title", says(nextPlan)),
					on(implement, patches("call_w", writeFile)),
					after("call_w", says("Implemented.")))
				l.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(c.permission), Model: ptr(c.model), Effort: ptr(c.effort)})
				first := l.send("Take notes")
				card := l.untilInput()
				f := card.Ask.Fields
				if card.Ask.Type != abi.InteractionQuestion || len(f) != 1 || f[0].Header != "Name" || f[0].Text != "Which file name?" ||
					len(f[0].Options) != 2 || f[0].Options[0].Description != "plain, short" {
					t.Fatalf("card %+v", card.Ask)
				}
				l.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(f[0].ID, 1)}})
				l.untilTurn(first.ID, host.TurnCompleted)
				if o := l.observedAfter(first.ID); o.Mode != "plan" || o.Permission != c.permission || o.Model != c.model || o.Effort != c.effort {
					t.Fatalf("in force while planning: %+v (rule 6)", o)
				}

				plan := l.untilPlan()
				if plan.Text != "# Plan\n1. Write notes.md\n" {
					t.Fatalf("plan text %q", plan.Text)
				}
				changes, err := l.h.RequestChanges(t.Context(), l.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision, Feedback: "Add a title"})
				if err != nil {
					t.Fatal(err)
				}
				l.untilTurn(changes.ID, host.TurnCompleted)
				revised := l.untilPlan()
				if revised.ID == plan.ID || !strings.Contains(revised.Text, "Add a title") {
					t.Fatalf("revised plan %+v", revised)
				}

				impl, err := l.h.ContinuePlan(t.Context(), l.conv, host.PlanDecision{Proposal: revised.ID, Revision: revised.Revision})
				if err != nil {
					t.Fatal(err)
				}
				if c.asks {
					edit := l.untilInput()
					if edit.Ask.Type != abi.InteractionPermission || !strings.Contains(edit.Ask.Title, "notes.md") {
						t.Fatalf("card %+v", edit.Ask)
					}
					l.answer(edit.ID, host.Answer{Decision: "accept"})
				}
				l.untilTurn(impl.ID, host.TurnCompleted)
				if got := l.file("notes.md"); got != "# Notes\n" {
					t.Fatalf("the file has %q", got)
				}
				if o := l.observedAfter(impl.ID); o.Mode != "default" || o.Permission != c.permission || o.Model != c.model || o.Effort != c.effort {
					t.Fatalf("in force after implementing: %+v (P3, P4)", o)
				}
				if s := l.controls().Settings; s.Mode != "default" || s.Permission != c.permission {
					t.Fatalf("remembered after implementing: %+v (rule 17)", s)
				}

				requests := l.model.AgentRequests()
				if len(requests) != 5 || len(l.model.Remaining()) != 0 {
					t.Fatalf("%d requests, left %v", len(requests), l.model.Remaining())
				}
				for i, r := range requests {
					if r.Model != c.model || r.Effort != c.effort {
						t.Errorf("request %d ran with %s %s, want %s %s", i+1, r.Model, r.Effort, c.model, c.effort)
					}
					if planning(r) != (i < 3) {
						t.Errorf("request %d: planning %v", i+1, planning(r))
					}
					if sandbox(r) != c.sandbox {
						t.Errorf("request %d was told that the sandbox is %q, want %s", i+1, sandbox(r), c.sandbox)
					}
				}
				if !strings.Contains(string(requests[1].Body), `notes.md`) {
					t.Error("the answer did not reach the model")
				}
				asked := 0
				for _, in := range bodies[host.Interaction](l.rig, host.EventInteraction) {
					if in.State == host.InteractionOpen {
						asked++
					}
				}
				if want := map[bool]int{true: 2, false: 1}[c.asks]; asked != want {
					t.Errorf("%d cards were shown, want %d", asked, want)
				}

				again, err := l.h.ContinuePlan(t.Context(), l.conv, host.PlanDecision{Proposal: revised.ID, Revision: revised.Revision})
				if err != nil || again.ID != impl.ID {
					t.Fatalf("a repeated Implement gave %v, %v; want the first result (rule 17)", again.ID, err)
				}
			})
		})
	}
}

func TestLiveRule02_AMessageQueuedInPlanStaysPlanAfterTheComposerSwitches(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{},
			on("Work", model.Step{Reply: []model.Action{model.Text("Working."), model.Wait("work")}}),
			on("Plan the rest", says("Nothing to plan.")),
			on("Just do it", says("Done.")))
		l.configure(host.SettingsPatch{Model: ptr(lab.MockModel), Effort: ptr("low")})
		first := l.send("Work")
		l.untilAsked("Work", 1)
		l.configure(host.SettingsPatch{Mode: ptr("plan"), Effort: ptr("high")})
		planned := l.send("Plan the rest")
		l.configure(host.SettingsPatch{Mode: ptr("default"), Permission: ptr(abi.PermissionBypass), Model: ptr(lab.MockPlainModel), Effort: ptr("low")})
		last := l.send("Just do it")
		// Q4: nothing is released into the running turn.
		time.Sleep(200 * time.Millisecond)
		if n := len(l.model.AgentRequests()); n != 1 {
			t.Fatalf("%d requests while the first turn runs", n)
		}
		l.model.Release("work")
		for _, turn := range []host.Turn{first, planned, last} {
			l.untilTurn(turn.ID, host.TurnCompleted)
		}
		for _, want := range []struct {
			text, model, effort string
			planning            bool
		}{
			{"Work", lab.MockModel, "low", false}, {"Plan the rest", lab.MockModel, "high", true}, {"Just do it", lab.MockPlainModel, "low", false},
		} {
			r := l.asked(want.text)
			if len(r) != 1 || planning(r[0]) != want.planning || r[0].Model != want.model || r[0].Effort != want.effort {
				t.Errorf("%q: %d requests, first %s %s planning %v", want.text, len(r), r[0].Model, r[0].Effort, planning(r[0]))
			}
		}
	})
}
