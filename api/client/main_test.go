package client_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scripted"
)

// scriptedEnv makes the test binary act as the scripted harness.
const scriptedEnv = "AO_TEST_SCRIPTED"

func TestMain(m *testing.M) {
	if os.Getenv(scriptedEnv) != "" {
		os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	var err error
	if cacheDir, err = os.MkdirTemp("", "ao-client-test-cache"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(cacheDir)
		os.Exit(code)
	}))
}

// cacheDir is shared by all tests, because compiling a module anew takes a second.
var cacheDir string

// patience only delays failures.
const patience = 3 * time.Minute

// primary asks a question, proposes a plan and implements it.
const primary = `{"turns":[
 {"when":{"mode":"plan"},"steps":[{"ask":{"id":"q","questions":[{"id":"name","header":"Name","question":"Which file name?","options":[{"label":"a.md"},{"label":"b.md"}]}]}},{"plan":"# Plan\n1. Write b.md\n"}]},
 {"repeat":true,"steps":[{"say":"Done."}]}]}`

const waits = `{"turns":[{"when":{"turn":1},"steps":[{"say":"Waiting."},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`

// newHost opens a host whose harness follows a script; reopen opens it again. The
// data folder is "data" beside cwd.
func newHost(t *testing.T, script string) (h *host.Host, cwd string, reopen func() *host.Host) {
	t.Helper()
	if _, err := scripted.Parse([]byte(script)); err != nil {
		t.Fatalf("the test's script: %v", err)
	}
	home, root := t.TempDir(), t.TempDir()
	dir, cwd := filepath.Join(root, "data"), filepath.Join(root, "project")
	if err := os.Mkdir(cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := host.Config{
		Dir: dir, CacheDir: filepath.Join(cacheDir, "cache"), DigestDir: filepath.Join(cacheDir, "digests"),
		Env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home},
		Launch: map[string]host.Launch{"codex": {Argv: []string{self, "app-server"}, Env: []string{scriptedEnv + "=1"}}},
	}
	reopen = func() *host.Host {
		h, err := host.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeHost(t, h) })
		return h
	}
	return reopen(), cwd, reopen
}

func closeHost(t *testing.T, h *host.Host) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// serveUnix serves a handler on a socket whose path is short enough for a bind.
func serveUnix(t *testing.T, handler http.Handler) (socket string, srv *httptest.Server) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ao")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	return socket, listenUnix(t, socket, handler)
}

func listenUnix(t *testing.T, socket string, handler http.Handler) *httptest.Server {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(handler)
	_ = srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

func closing(t *testing.T, c *client.Client) *client.Client {
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func ptr[T any](v T) *T { return &v }
