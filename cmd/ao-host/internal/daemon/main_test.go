package daemon_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

// TestMain makes the test binary a daemon when it is started as one, as the
// program's own command "serve" does.
func TestMain(m *testing.M) {
	if i := slices.Index(os.Args, "--data"); len(os.Args) > i+1 && i > 0 && os.Args[1] == "serve" {
		os.Exit(serveMain(os.Args[i+1]))
	}
	goleak.VerifyTestMain(ending{m})
}

// ending waits for what goes by itself: the HTTP connections of daemons that have
// ended, and the processes, which end some time after they gave up their lock.
type ending struct{ *testing.M }

func (e ending) Run() int {
	code := e.M.Run()
	for giveUp := time.Now().Add(patience); goleak.Find() != nil && time.Now().Before(giveUp); {
		time.Sleep(10 * time.Millisecond)
	}
	return code
}

func serveMain(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if d := os.Getenv(shortEnv); d != "" {
		daemon.ShortParent(d)
	}
	reported := false
	err := daemon.Serve(ctx, daemon.Config{
		Host:  host.Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Bindings: [][]byte{}},
		Ready: func(daemon.Info) { reported = true; _ = daemon.Report(os.Stdout, nil) },
	})
	var running *daemon.RunningError
	if errors.As(err, &running) {
		err = nil
	}
	if !reported {
		_ = daemon.Report(os.Stdout, err)
	}
	if err != nil {
		return 1
	}
	return 0
}

// shortEnv tells a daemon of the tests where short paths are.
const shortEnv = "DAEMON_TEST_SHORT"

// patience is long: the machine may be busy, and a test that waits for it fails.
const patience = 2 * time.Minute

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// program is this test binary.
func program(t *testing.T, env ...string) daemon.Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return daemon.Program{Argv: []string{self}, Env: append(os.Environ(), env...)}
}

// newFolder is a data folder whose daemon ends with the test.
func newFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), "data")
	endWithTest(t, dir)
	return dir
}

func endWithTest(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := daemon.Stop(ctx, dir); err != nil {
			t.Errorf("the daemon was not ended: %v", err)
		}
	})
}

// served is a daemon inside of the test.
type served struct {
	info daemon.Info
	end  context.CancelFunc
	done chan error
}

// serve runs a daemon inside of the test until it answers.
func serve(t *testing.T, cfg daemon.Config) *served {
	t.Helper()
	s := &served{done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	s.end = cancel
	ready := make(chan daemon.Info, 1)
	cfg.Ready = func(i daemon.Info) { ready <- i }
	go func() { s.done <- daemon.Serve(ctx, cfg) }()
	select {
	case s.info = <-ready:
	case err := <-s.done:
		cancel()
		t.Fatalf("the daemon did not start: %v", err)
	case <-time.After(patience):
		t.Fatal("the daemon did not start in time")
	}
	t.Cleanup(func() { s.stop(t) })
	return s
}

// stop ends it and wants that to go well.
func (s *served) stop(t *testing.T) {
	t.Helper()
	s.end()
	select {
	case err, open := <-s.done:
		if open && err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
		if open {
			close(s.done)
		}
	case <-time.After(patience):
		t.Fatal("the daemon did not end")
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Mode().Perm()
}

func wantCode(t *testing.T, err error, want host.Code) {
	t.Helper()
	if host.CodeOf(err) != want {
		t.Errorf("error %v, want the code %s", err, want)
	}
}
