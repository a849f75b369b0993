package migrate_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // the product's own database
	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/examples/migrate"
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

// windows keeps what was pushed.
type windows struct {
	mu   sync.Mutex
	said string
	ends int
}

func (w *windows) Push(_, kind string, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch host.EventType(kind) {
	case host.EventItem:
		var i abi.Item
		if json.Unmarshal(body, &i) == nil && i.Type == abi.ItemMessage && i.Status == abi.ItemCompleted {
			w.said += i.Text + "\n"
		}
	case host.EventTurn:
		var t host.Turn
		if json.Unmarshal(body, &t) == nil && t.State.Ended() {
			w.ends++
		}
	}
}

// product is the product while it runs.
type product struct {
	t       *testing.T
	cfg     host.Config
	threads migrate.SQLThreads
	windows *windows
	chat    migrate.Chat
	stop    func()
}

// start opens the product on its two stores, and follows a thread if one is given.
func (p *product) start(thread string) {
	p.t.Helper()
	h, err := host.Open(p.t.Context(), p.cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	p.chat = &migrate.HostChat{Host: h, Threads: p.threads}
	ctx, cancel := context.WithCancel(context.Background())
	fed := make(chan error, 1)
	go func() {
		if thread == "" {
			fed <- nil
			return
		}
		fed <- migrate.Feed(ctx, h, p.threads, p.windows, thread)
	}()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-fed; err != nil && !errors.Is(err, context.Canceled) {
			p.t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			p.t.Error(err)
		}
	})
	p.t.Cleanup(p.stop)
}

func newProduct(t *testing.T, script string) *product {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(home, "product.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(migrate.Schema); err != nil {
		t.Fatal(err)
	}
	return &product{t: t, threads: migrate.SQLThreads{DB: db}, windows: &windows{}, cfg: host.Config{
		Dir: filepath.Join(home, "data"), Env: os.Environ(),
		Launch: map[string]host.Launch{"codex": {Argv: []string{self}, Env: []string{actAsHarness + "=1", "CODEX_HOME=" + home}}},
	}}
}

func (p *product) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *product) until(what string, cond func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// pending waits for something of a kind.
func (p *product) pending(kind string) (found migrate.Pending) {
	p.t.Helper()
	p.until("a "+kind, func() bool {
		all, err := p.chat.Pending(p.t.Context(), "thread-1")
		p.do(err)
		for _, one := range all {
			if one.Kind == kind {
				found = one
				return true
			}
		}
		return false
	})
	return found
}

const script = `{"turns":[
 {"when":{"mode":"plan","turn":1},"steps":[{"ask":{"id":"q","questions":[{"id":"name","question":"Which name?","options":[{"label":"a.md"},{"label":"b.md"}]}]}},{"plan":"# Plan\n1. Write {{answer}}\n"}]},
 {"when":{"mode":"plan"},"repeat":true,"steps":[{"plan":"# Shorter plan\n"}]},
 {"repeat":true,"steps":[{"say":"Done with {{text}}"}]}]}`

func TestTheControllersPortsWorkOnTheLibraryAsTheyDidBefore(t *testing.T) {
	p := newProduct(t, script)
	ctx := t.Context()
	thread := migrate.Thread{ID: "thread-1", Folder: t.TempDir(), Agent: "codex", Title: "Notes"}
	p.start("")
	p.do(p.chat.Start(ctx, thread))
	// A crash between the two stores is mended by doing it again.
	p.do(p.chat.Start(ctx, thread))
	p.stop()
	p.start("thread-1")
	p.do(p.chat.SetPlanning(ctx, "thread-1", true))
	p.do(p.chat.Post(ctx, "thread-1", "message-1", "Take notes"))
	p.do(p.chat.Post(ctx, "thread-1", "message-1", "Take notes"))

	question := p.pending("question")
	if question.Text != "Which name?" || strings.Join(question.Choices, " ") != "a.md b.md" {
		t.Errorf("the question is %+v", question)
	}
	p.do(p.chat.Decide(ctx, "thread-1", question, migrate.Verdict{Choice: 1}))
	if err := p.chat.Decide(ctx, "thread-1", question, migrate.Verdict{}); !errors.Is(err, migrate.ErrDecided) {
		t.Errorf("a second answer gave %v", err)
	}
	plan := p.pending("plan")
	p.do(p.chat.Decide(ctx, "thread-1", plan, migrate.Verdict{Feedback: "shorter"}))
	p.until("another plan", func() bool { return p.pending("plan").ID != plan.ID })
	if err := p.chat.Decide(ctx, "thread-1", plan, migrate.Verdict{Implement: true}); !errors.Is(err, migrate.ErrDecided) {
		t.Errorf("the older plan was decided on again: %v", err)
	}

	// Between the plan and its implementation the product is updated.
	p.stop()
	p.start("thread-1")
	p.do(p.chat.Decide(ctx, "thread-1", p.pending("plan"), migrate.Verdict{Implement: true}))
	p.until("the end of all three turns, each told once", func() bool {
		p.windows.mu.Lock()
		defer p.windows.mu.Unlock()
		return p.windows.ends == 3 && strings.Count(p.windows.said, "Done with") == 1
	})
	p.do(p.chat.Stop(ctx, "thread-1"))
}
