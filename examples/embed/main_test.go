package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scripted"
)

// actAsHarness makes the test binary the scripted harness.
const actAsHarness = "AO_EXAMPLE_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(actAsHarness) != "" {
		os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	goleak.VerifyTestMain(m)
}

// patience only delays failures.
const patience = 3 * time.Minute

// product is the example while it runs, with a window of its own and the typed
// client that the ao-host command uses.
type product struct {
	t       *testing.T
	window  *http.Client
	command *client.Client
}

// start runs the example on a scripted harness; stop ends it as SIGTERM does.
func start(t *testing.T, script string) (p *product, stop func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A socket's path must be short.
	home, err := os.MkdirTemp("", "desk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(home, "data", "desk.sock")
	cfg := host.Config{
		Dir: filepath.Join(home, "data"), Env: os.Environ(),
		Launch: map[string]host.Launch{"codex": {Argv: []string{self}, Env: []string{actAsHarness + "=1", "CODEX_HOME=" + home}}},
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, cfg, socket) }()
	var d net.Dialer
	over := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) }}
	p = &product{t: t, window: &http.Client{Transport: over}, command: client.Unix(socket, client.Options{})}
	p.until("the product to answer", func() bool {
		_, err := p.command.Version(t.Context())
		return err == nil
	})
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		over.CloseIdleConnections()
		if err := p.command.Close(context.Background()); err != nil {
			t.Error(err)
		}
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("the product did not end")
		}
	}
	t.Cleanup(stop)
	return p, stop
}

func (p *product) until(what string, cond func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// ask uses one of the product's own routes.
func (p *product) ask(method, path string, body, out any) (status int) {
	p.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, "http://desk"+path, bytes.NewReader(raw))
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := p.window.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode
}

// inbox waits until the inbox is what is wanted.
func (p *product) inbox(want ...string) {
	p.t.Helper()
	var got []string
	p.until("the inbox", func() bool {
		var lines []waiting
		p.ask(http.MethodGet, "/desk/inbox", nil, &lines)
		got = nil
		for _, l := range lines {
			got = append(got, l.What)
		}
		return slices.Equal(got, want)
	})
}

const plans = `{"turns":[
 {"when":{"mode":"plan"},"steps":[{"ask":{"id":"q","questions":[{"id":"name","question":"Which name?","options":[{"label":"a.md"},{"label":"b.md"}]}]}},{"plan":"# Plan\n1. Write it\n"}]},
 {"repeat":true,"steps":[{"say":"Done."}]}]}`

func TestTheProductsRoutesAndTheHostsAPIWorkOnTheSameConversation(t *testing.T) {
	p, stop := start(t, plans)
	task := map[string]string{"id": "task-1", "harness": "codex", "project": t.TempDir(), "mode": "plan", "text": "Write it"}
	var turn, again host.Turn
	if status := p.ask(http.MethodPost, "/desk/tasks", task, &turn); status != http.StatusOK || turn.Settings.Mode != "plan" {
		t.Fatal(status, turn)
	}
	if p.ask(http.MethodPost, "/desk/tasks", task, &again); again.ID != turn.ID {
		t.Errorf("the same task again made turn %q beside %q", again.ID, turn.ID)
	}
	p.inbox("question")
	// From here on the person uses the terminal.
	ctx := t.Context()
	cards, err := p.command.Inputs(ctx, "task-1")
	if err != nil || len(cards) != 1 {
		t.Fatal(cards, err)
	}
	if _, err := p.command.ResolveInput(ctx, "task-1", cards[0].ID, host.Answer{Fields: []abi.FieldAnswer{{Field: "name", State: abi.StateAnswered, Selected: []int64{1}}}}); err != nil {
		t.Fatal(err)
	}
	p.inbox("plan")
	open, err := p.command.Plans(ctx, "task-1")
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	done, err := p.command.ContinuePlan(ctx, "task-1", host.PlanDecision{Proposal: open[0].ID, Revision: open[0].Revision})
	if err != nil {
		t.Fatal(err)
	}
	p.inbox()
	p.until("the plan to be implemented", func() bool {
		now, err := p.command.Turn(ctx, "task-1", done.ID)
		return err == nil && now.State == host.TurnCompleted
	})
	stop()
	if _, err := p.command.Version(ctx); host.CodeOf(err) != host.CodeUnreachable {
		t.Errorf("after its end the product answers %v", err)
	}
}

func TestTheProductEndsWhileAWindowFollowsARunningTurn(t *testing.T) {
	p, stop := start(t, `{"turns":[{"steps":[{"say":"Working."},{"wait_interrupt":true}]}]}`)
	var turn host.Turn
	p.ask(http.MethodPost, "/desk/tasks", map[string]string{"id": "task-1", "harness": "codex", "project": t.TempDir(), "text": "Work"}, &turn)
	running := make(chan struct{})
	left := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(left)
		for ev, err := range p.command.Events(ctx, "task-1", 0) {
			var now host.Turn
			if err == nil && ev.Type == host.EventTurn && json.Unmarshal(ev.Body, &now) == nil && now.State == host.TurnRunning {
				close(running)
			}
		}
	}()
	select {
	case <-running:
	case <-time.After(patience):
		t.Fatal("the turn does not run")
	}
	stop()
	cancel()
	<-left
}

func TestAnErrorOfTheHostIsAProblemOnTheProductsRoutesToo(t *testing.T) {
	p, _ := start(t, plans)
	var problem host.Problem
	status := p.ask(http.MethodPost, "/desk/tasks", map[string]string{"harness": "nobody", "project": t.TempDir()}, &problem)
	if status != http.StatusNotFound || problem.Code != host.CodeUnknownHarness || problem.Advice == "" {
		t.Errorf("%d %+v", status, problem)
	}
}
