package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/internal/lockfile"
)

// One client goes on over all the daemons that follow each other, and so do new
// ones, whichever moment of the change they come in.
func TestNoRequestFailsWhileADaemonTakesThePlaceOfAnother(t *testing.T) {
	dir := newFolder(t)
	// Each step has a limit of its own; how long all of them take is the machine's.
	ctx := t.Context()
	before := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	lasting, _, err := daemon.Running(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lasting.Close(ctx) }()
	conv, err := lasting.Create(ctx, host.NewConversation{Harness: "codex", Cwd: tempDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(over)
	var done []*atomic.Int64
	again := func(what string, do func() error) {
		n := new(atomic.Int64)
		done = append(done, n)
		others.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if err := do(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				n.Add(1)
			}
		})
	}
	again("an old client", func() error {
		_, err := lasting.Conversations(ctx)
		return err
	})
	again("a change", func() error {
		k, err := lasting.Controls(ctx, conv.ID)
		if err != nil {
			return err
		}
		mode := "plan"
		if k.Settings.Mode == mode {
			mode = "default"
		}
		// Only this goroutine changes it: another revision would be a change that was
		// made twice.
		_, err = lasting.ConfigureNextTurn(ctx, conv.ID, k.Revision, host.SettingsPatch{Mode: &mode})
		return err
	})
	again("a new client", func() error {
		c, _, err := daemon.Running(ctx, dir)
		if errors.Is(err, daemon.ErrNotRunning) {
			// Nobody has the lock at this moment; a command opens the folder itself.
			return nil
		}
		if err != nil {
			return err
		}
		_, err = c.Conversation(ctx, conv.ID)
		return errors.Join(err, c.Close(ctx))
	})
	for range races(t) {
		// Each of them gets to this daemon: one that is slow would else meet nothing but
		// ends, for longer than it waits.
		for _, n := range done {
			enough := n.Load() + 2
			await(t, "a request", func() bool { return n.Load() >= enough })
		}
		before.end()
		// It takes no more clients, and has not ended yet.
		await(t, "the end of the socket", func() bool {
			_, err := os.Lstat(before.info.Socket)
			return errors.Is(err, os.ErrNotExist)
		})
		next := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
		before.stop(t)
		before = next
	}
}

// answering is a daemon that answers as a test wants, and says who it is.
func answering(t *testing.T, dir string, h http.HandlerFunc) {
	t.Helper()
	listening(t, dir, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", host.MediaJSON)
			_ = json.NewEncoder(w).Encode(host.VersionInfo{Version: host.Version()})
			return
		}
		h(w, r)
	})
}

// listening has the socket of a folder.
func listening(t *testing.T, dir string, h http.HandlerFunc) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, daemon.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
}

// clientOf is a client of the daemon that a folder has.
func clientOf(t *testing.T, dir string) (context.Context, *client.Client) {
	t.Helper()
	ctx := patient(t)
	c, _, err := daemon.Running(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(ctx)) })
	return ctx, c
}

// A daemon that ends says who it is for as long as it has its socket, which is longer
// than it takes to ask it a few times.
func TestAChangeThatAnEndingDaemonRefusedIsSentToTheNextOneUnderTheSameKey(t *testing.T) {
	const refusals = 20
	dir := newFolder(t)
	var keys, bodies []string
	answering(t, dir, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		keys, bodies = append(keys, r.Header.Get(host.HeaderIdempotencyKey)), append(bodies, string(b))
		if len(keys) <= refusals {
			p := host.ProblemOf(&host.Error{Code: host.CodeClosed})
			w.Header().Set("Content-Type", host.MediaProblem)
			w.WriteHeader(p.Status)
			_ = json.NewEncoder(w).Encode(p)
			return
		}
		w.Header().Set("Content-Type", host.MediaJSON)
		_ = json.NewEncoder(w).Encode(host.Conversation{ID: "made"})
	})
	ctx, c := clientOf(t, dir)
	conv, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: "/p"})
	if err != nil || conv.ID != "made" {
		t.Fatalf("%+v %v", conv, err)
	}
	if len(keys) != refusals+1 || keys[0] == "" || len(slices.Compact(keys)) != 1 || bodies[0] == "" || len(slices.Compact(bodies)) != 1 {
		t.Errorf("keys %q, bodies %q", keys, bodies)
	}
}

// breaking is a daemon whose connections break under the first requests.
func breaking(t *testing.T, dir string, breaks int) (asked *atomic.Int64, keys func() []string) {
	t.Helper()
	asked = new(atomic.Int64)
	var mu sync.Mutex
	var seen []string
	answering(t, dir, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Get(host.HeaderIdempotencyKey))
		mu.Unlock()
		if asked.Add(1) <= int64(breaks) {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", host.MediaJSON)
		_ = json.NewEncoder(w).Encode(host.Conversation{ID: "made"})
	})
	return asked, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

// A client that meets the ends of several daemons in a row is not a client that
// fails.
func TestARequestWhoseConnectionBreaksIsSentAgainUnderTheSameKey(t *testing.T) {
	dir := newFolder(t)
	asked, keys := breaking(t, dir, 5)
	ctx, c := clientOf(t, dir)
	conv, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: "/p"})
	if err != nil || conv.ID != "made" {
		t.Fatalf("%+v %v", conv, err)
	}
	if k := keys(); asked.Load() != 6 || k[0] == "" || len(slices.Compact(k)) != 1 {
		t.Errorf("asked %d times under the keys %q", asked.Load(), k)
	}
}

// It may be the request that ends the daemon.
func TestARequestThatBreaksEveryConnectionIsGivenUp(t *testing.T) {
	dir := newFolder(t)
	asked, _ := breaking(t, dir, 1000)
	ctx, c := clientOf(t, dir)
	_, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: "/p"})
	wantCode(t, err, host.CodeUnreachable)
	if n := asked.Load(); n != 6 {
		t.Errorf("it was asked %d times", n)
	}
}

// A refusal of another kind is the daemon's answer, whole.
func TestAnotherRefusalOfADaemonIsNotAskedAgain(t *testing.T) {
	dir := newFolder(t)
	asked := 0
	answering(t, dir, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		p := host.ProblemOf(&host.Error{Code: host.CodeStoreFull, Detail: "No room."})
		// The status of a host that is closed, with another code.
		w.Header().Set("Content-Type", host.MediaProblem)
		w.WriteHeader(host.StatusOf(host.CodeClosed))
		_ = json.NewEncoder(w).Encode(p)
	})
	ctx, c := clientOf(t, dir)
	_, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: "/p"})
	wantCode(t, err, host.CodeStoreFull)
	if asked != 1 {
		t.Errorf("it was asked %d times", asked)
	}
}

// Nobody has the lock, and the first look at the socket takes longer than the
// patience: that is no reason not to look again.
func TestADaemonIsLookedForAgainHoweverLongALookTook(t *testing.T) {
	t.Cleanup(daemon.SuccessorPatience(time.Nanosecond))
	dir := newFolder(t)
	// What is left of these breaks that many connections. A look makes three, and the
	// client itself asks three times.
	var requests, looks atomic.Int64
	listening(t, dir, func(w http.ResponseWriter, r *http.Request) {
		var v any = host.VersionInfo{Version: host.Version()}
		left := &looks
		if r.Method != http.MethodGet {
			v, left = host.Conversation{ID: "made"}, &requests
		}
		if left.Add(-1) >= 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", host.MediaJSON)
		_ = json.NewEncoder(w).Encode(v)
	})
	ctx := patient(t)
	c, _, err := daemon.Running(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	requests.Store(3)
	looks.Store(9)
	if conv, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: "/p"}); err != nil || conv.ID != "made" {
		t.Errorf("%+v %v", conv, err)
	}
}

// The same of one that has the lock: it begins or ends, as slowly as the machine is.
func TestADaemonThatHasTheLockIsAskedAgainHoweverLongALookTook(t *testing.T) {
	t.Cleanup(daemon.LockPatience(time.Nanosecond))
	dir := newFolder(t)
	var looks atomic.Int64
	looks.Store(3)
	listening(t, dir, func(w http.ResponseWriter, _ *http.Request) {
		if looks.Add(-1) >= 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", host.MediaJSON)
		_ = json.NewEncoder(w).Encode(host.VersionInfo{Version: host.Version()})
	})
	f, err := os.OpenFile(filepath.Join(dir, daemon.LockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if ok, err := lockfile.Take(f); !ok || err != nil {
		t.Fatal(ok, err)
	}
	ctx := patient(t)
	c, _, err := daemon.Running(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close(ctx)
}

func TestWhoOnlyReadsIsToldOfADaemonThatHasNoSuccessorAndStartsNone(t *testing.T) {
	t.Cleanup(daemon.SuccessorPatience(50 * time.Millisecond))
	dir := newFolder(t)
	ctx := patient(t)
	s := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	c, _, err := daemon.Running(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	s.stop(t)
	_, err = c.Conversations(ctx)
	wantCode(t, err, host.CodeUnreachable)
	if _, _, err := daemon.Running(ctx, dir); !errors.Is(err, daemon.ErrNotRunning) {
		t.Errorf("error %v", err)
	}
}

func TestAFolderThatAnotherProcessHasForAMomentIsWaitedFor(t *testing.T) {
	dir := newFolder(t)
	cfg := host.Config{Dir: dir, Bindings: [][]byte{}}
	first, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	second, err := daemon.WhileLocked(t.Context(), func() (*host.Host, error) {
		if tries++; tries == 3 {
			if err := first.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		return host.Open(t.Context(), cfg)
	})
	if err != nil || tries != 3 {
		t.Fatalf("%d tries, %v", tries, err)
	}
	t.Cleanup(daemon.OpenPatience(50 * time.Millisecond))
	_, err = daemon.WhileLocked(t.Context(), func() (*host.Host, error) { return host.Open(t.Context(), cfg) })
	wantCode(t, err, host.CodeStoreLocked)
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
