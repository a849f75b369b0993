package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/scripted"
)

// scriptedEnv makes the test binary act as the scripted harness, so that every
// test drives a real child process over real pipes.
const scriptedEnv = "AO_TEST_SCRIPTED"

// serveMCP makes the test binary a tool server, which a real harness starts by its
// arguments alone.
const serveMCP = "serve-mcp"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveMCP {
		if err := lab.ServeMCP(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 4 && os.Args[1] == askHost {
		askSocket(os.Args[2], os.Args[3], os.Args[4])
		os.Exit(0)
	}
	if os.Getenv(scriptedEnv) != "" {
		var stdin io.Reader = os.Stdin
		if mark := os.Getenv(deafEnv); mark != "" {
			stdin = &deafInput{f: os.Stdin, mark: mark}
		}
		os.Exit(scripted.Main(os.Args[1:], stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	if dir := os.Getenv(crashEnv); dir != "" {
		if os.Getenv(chaosEnv) != "" {
			os.Exit(chaosMain(dir))
		}
		os.Exit(crashMain(dir))
	}
	var err error
	if cacheDir, err = os.MkdirTemp("", "ao-host-test-cache"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(cacheDir)
		os.Exit(code)
	}))
}

// cacheDir is shared by all tests, because compiling a module anew takes a second.
var cacheDir string

// rig is one host on a data folder with one conversation on a scripted harness.
type rig struct {
	t    testing.TB
	dir  string
	cwd  string
	home string
	cfg  host.Config
	h    *host.Host
	conv string
}

// newRig writes the script and opens the host. The script is JSON, see package
// lab/scripted.
func newRig(t testing.TB, script string, opts ...func(*host.Config)) *rig {
	t.Helper()
	r := &rig{t: t, dir: filepath.Join(t.TempDir(), "data"), cwd: t.TempDir(), home: t.TempDir()}
	r.script(script)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.cfg = host.Config{
		Dir: r.dir, CacheDir: filepath.Join(cacheDir, "cache"), DigestDir: filepath.Join(cacheDir, "digests"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "CODEX_HOME=" + r.home},
		Launch: map[string]host.Launch{"codex": {
			Argv: []string{self, "app-server"}, Env: []string{scriptedEnv + "=1", "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")},
		}},
		EndGrace: 2 * time.Second,
	}
	patient(&r.cfg)
	for _, o := range opts {
		o(&r.cfg)
	}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *rig) script(script string) {
	r.t.Helper()
	if _, err := scripted.Parse([]byte(script)); err != nil {
		r.t.Fatalf("the test's script: %v", err)
	}
	if err := os.WriteFile(filepath.Join(r.home, "scripted.json"), []byte(script), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) open() {
	r.t.Helper()
	h, err := host.Open(r.t.Context(), r.cfg)
	if err != nil {
		r.t.Fatalf("open: %v", err)
	}
	r.h = h
	if r.conv == "" {
		c, err := h.Create(r.t.Context(), host.NewConversation{Harness: "codex", Cwd: r.cwd})
		if err != nil {
			r.t.Fatalf("create: %v", err)
		}
		r.conv = c.ID
	}
}

func (r *rig) close() {
	if r.h == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.h.Close(ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
	r.h = nil
}

// restart closes the host in an orderly way and opens it again.
func (r *rig) restart() {
	r.t.Helper()
	r.close()
	r.open()
}

// patience is long because the machine of a test may be busy; it only delays failures.
const patience = 3 * time.Minute

// patient has a host wait for a busy machine nearly as long as a test does: only a test
// that is about such a time sets it.
func patient(cfg *host.Config) {
	cfg.StartSlow, cfg.StopGrace = patience, patience/2
	cfg.WithPatience(patience)
}

// newGate returns a file that scripts wait for and what makes it.
func newGate(t testing.TB) (path string, open func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "gate")
	return path, func() {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// until waits for cond; what names it in the failure.
func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			r.dump()
			r.t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (r *rig) dump() {
	for _, ev := range r.journal() {
		body := string(ev.Body)
		if len(body) > 400 {
			body = body[:400] + "…"
		}
		r.t.Logf("%s %4d %-14s %s", ev.At.Format("05.000"), ev.Seq, ev.Type, body)
	}
	if r.h != nil {
		c, _ := r.h.Controls(context.Background(), r.conv)
		c.Catalog = nil
		b, _ := json.Marshal(c)
		r.t.Logf("controls %s", b)
	}
}

// journal reads the whole journal as it is now.
func (r *rig) journal() []host.Event {
	ctx := context.Background()
	c, err := r.h.Conversation(ctx, r.conv)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []host.Event
	for ev, err := range r.h.Events(ctx, r.conv, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, ev)
		if ev.Seq >= c.LastSeq {
			break
		}
	}
	return out
}

func (r *rig) controls() host.Controls {
	r.t.Helper()
	c, err := r.h.Controls(r.t.Context(), r.conv)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) configure(p host.SettingsPatch) host.Controls {
	r.t.Helper()
	c, err := r.h.ConfigureNextTurn(r.t.Context(), r.conv, r.controls().Revision, p)
	if err != nil {
		r.t.Fatalf("configure: %v", err)
	}
	return c
}

func (r *rig) send(text string) host.Turn {
	r.t.Helper()
	t, err := r.h.Send(r.t.Context(), r.conv, host.Message{Content: host.Text(text)})
	if err != nil {
		r.t.Fatalf("send: %v", err)
	}
	return t
}

func (r *rig) turn(id string) host.Turn {
	r.t.Helper()
	t, err := r.h.Turn(r.t.Context(), r.conv, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

func (r *rig) untilTurn(id string, want ...host.TurnState) host.Turn {
	r.t.Helper()
	var t host.Turn
	r.until(fmt.Sprintf("turn %s to be %v", id, want), func() bool {
		t = r.turn(id)
		for _, s := range want {
			if t.State == s {
				return true
			}
		}
		if t.State.Ended() {
			r.dump()
			r.t.Fatalf("turn %s ended %s (%s %s), want %v", id, t.State, t.Code, t.Message, want)
		}
		return false
	})
	if t.State.Ended() {
		// The controls are published just after the commit that the turn is read from.
		r.until("the controls to know of the turn's end", func() bool {
			c := r.controls()
			return c.Running == nil || c.Running.Turn != id
		})
	}
	return t
}

// untilInput waits for the next open card.
func (r *rig) untilInput() host.Interaction {
	r.t.Helper()
	var in []host.Interaction
	r.until("an open card", func() bool {
		var err error
		if in, err = r.h.Inputs(r.t.Context(), r.conv); err != nil {
			r.t.Fatal(err)
		}
		return len(in) > 0
	})
	return in[0]
}

func (r *rig) answer(id string, a host.Answer) host.Interaction {
	r.t.Helper()
	in, err := r.h.ResolveInput(r.t.Context(), r.conv, id, a)
	if err != nil {
		r.t.Fatalf("answer: %v", err)
	}
	return in
}

// untilPlan waits for an open plan.
func (r *rig) untilPlan() host.Proposal {
	r.t.Helper()
	var open host.Proposal
	r.until("an open plan", func() bool {
		plans, err := r.h.Plans(r.t.Context(), r.conv)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, p := range plans {
			if p.State == host.ProposalOpen {
				open = p
				return true
			}
		}
		return false
	})
	return open
}

// texts returns the text of all completed items of a type, in order.
func (r *rig) texts(typ abi.ItemType) []string {
	var out []string
	for _, ev := range r.journal() {
		if ev.Type != host.EventItem {
			continue
		}
		var it abi.Item
		if err := json.Unmarshal(ev.Body, &it); err != nil {
			r.t.Fatal(err)
		}
		if it.Type == typ && it.Status != abi.ItemRunning {
			out = append(out, it.Text)
		}
	}
	return out
}

// bodies decodes the bodies of all events of a type.
func bodies[T any](r *rig, typ host.EventType) []T {
	r.t.Helper()
	var out []T
	for _, ev := range r.journal() {
		if ev.Type != typ {
			continue
		}
		var v T
		if len(ev.Body) > 0 {
			if err := json.Unmarshal(ev.Body, &v); err != nil {
				r.t.Fatalf("body of %s: %v", typ, err)
			}
		}
		out = append(out, v)
	}
	return out
}

// decode decodes the body of one event.
func decode(t testing.TB, body []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
}

func ptr[T any](v T) *T { return &v }

func wantCode(t testing.TB, err error, want host.Code) {
	t.Helper()
	if got := host.CodeOf(err); got != want {
		t.Fatalf("got error %v (code %q), want code %q", err, got, want)
	}
}
