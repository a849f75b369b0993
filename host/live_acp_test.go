package host_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

// acpHarness is what differs between the real ACP harnesses of the lab.
type acpHarness struct {
	id, version string
	// home sets up the harness on a scripted model.
	home func(t *testing.T, h lab.Harness, srv *model.Server) lab.Home
}

var acpHarnesses = []acpHarness{
	{id: "claude", version: "0.101.0", home: claudeHome},
	{id: "claude", version: "0.49.0", home: claudeHome},
	{id: "grok", version: "1.0.41", home: grokHome},
}

func claudeHome(t *testing.T, h lab.Harness, srv *model.Server) lab.Home {
	return lab.ClaudeHome(t, h, srv.URL(), lab.ClaudeOptions{})
}

func grokHome(t *testing.T, h lab.Harness, srv *model.Server) lab.Home {
	return lab.GrokHome(t, h, srv.URL()+"/v1", lab.GrokOptions{})
}

// eachACP runs a test with every pinned ACP harness. One that is not installed is
// skipped loudly, or fails under AO_LIVE=1.
func eachACP(t *testing.T, test func(t *testing.T, a acpHarness)) {
	for _, a := range acpHarnesses {
		t.Run(a.id+" "+a.version, func(t *testing.T) {
			lab.Require(t, a.id, a.version)
			t.Parallel()
			test(t, a)
		})
	}
}

// newLiveACP starts the scripted model and opens a host with one conversation on the
// harness, which works in cwd, on a data folder of its own.
func newLiveACP(t *testing.T, a acpHarness, cwd string, steps ...model.Step) *live {
	t.Helper()
	h := lab.Require(t, a.id, a.version)
	srv := model.Start(t, model.Script{Steps: steps})
	l := &live{model: srv, home: a.home(t, h, srv), version: a.version}
	l.rig = &rig{t: t, dir: filepath.Join(t.TempDir(), "data"), cwd: cwd, home: l.home.Dir}
	var log bytes.Buffer
	var mu sync.Mutex
	l.cfg = liveConfig(l.dir, l.home)
	l.cfg.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if l.h, err = host.Open(t.Context(), l.cfg); err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		l.close()
		if mu.Lock(); t.Failed() {
			t.Logf("the host's log:\n%s", log.String())
		}
		mu.Unlock()
	})
	t.Cleanup(l.honest)
	l.warm(a)
	l.conv = l.create(a)
	return l
}

// warmed remembers the harnesses whose module is compiled.
var warmed sync.Map

// warm has the module of the harness compiled before a test waits for anything else:
// with the race detector on a busy machine that alone can take a minute.
func (l *live) warm(a acpHarness) {
	l.t.Helper()
	once, _ := warmed.LoadOrStore(a.id, new(sync.Once))
	once.(*sync.Once).Do(func() {
		ctx, cancel := context.WithTimeout(l.t.Context(), 5*patience)
		defer cancel()
		l.conv = l.create(a)
		if _, err := l.h.Probe(ctx, l.conv); err != nil {
			l.t.Fatalf("probe: %v", err)
		}
	})
}

func (l *live) create(a acpHarness) string {
	l.t.Helper()
	c, err := l.h.Create(l.t.Context(), host.NewConversation{Harness: a.id, Cwd: l.cwd})
	if err != nil {
		l.t.Fatalf("create: %v", err)
	}
	return c.ID
}

func TestLiveACP_AMessageIsAnswered(t *testing.T) {
	eachACP(t, func(t *testing.T, a acpHarness) {
		l := newLiveACP(t, a, t.TempDir(), on("hi", says("Hello there.")))
		turn := l.send("hi")
		l.untilTurn(turn.ID, host.TurnCompleted)
		if got := l.texts(abi.ItemMessage); len(got) != 1 || strings.TrimSpace(got[0]) != "Hello there." {
			t.Fatalf("the agent said %q", got)
		}
		if n := len(l.model.AgentRequests()); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}
