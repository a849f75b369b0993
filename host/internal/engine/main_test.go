package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/engine"
)

var buildDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "engine-guests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

var built sync.Map // package → func() ([]byte, error)

// buildGo builds a Go guest with the flags of DESIGN §3, once per run; the go
// command caches it between runs.
func buildGo(t testing.TB, pkg string) []byte {
	t.Helper()
	f, _ := built.LoadOrStore(pkg, sync.OnceValues(func() ([]byte, error) {
		out := filepath.Join(buildDir, filepath.Base(pkg)+".wasm")
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=")
		if b, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, b)
		}
		return os.ReadFile(out)
	}))
	b, err := f.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func goGuest(t testing.TB) []byte { return buildGo(t, "./testdata/guest") }

// cacheDir is shared by the tests, so that the Go guest is compiled once; tests
// of the cache itself use their own.
func sharedConfig() engine.Config {
	return engine.Config{CacheDir: filepath.Join(buildDir, "code"), DigestDir: filepath.Join(buildDir, "digests")}
}

func newEngine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := engine.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	return e
}

func load(t testing.TB, e *engine.Engine, wasm []byte, l abi.Limits) *engine.Module {
	t.Helper()
	m, err := e.Load(context.Background(), wasm, l)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func instantiate(t testing.TB, m *engine.Module) *engine.Instance {
	t.Helper()
	i, err := m.Instantiate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// goInstance is an instance of the Go guest in an engine of its own.
func goInstance(t testing.TB, l abi.Limits) *engine.Instance {
	t.Helper()
	return instantiate(t, load(t, newEngine(t, sharedConfig()), goGuest(t), l))
}

// do runs a step that must succeed.
func do(t testing.TB, i *engine.Instance, event string) string {
	t.Helper()
	out, _, err := i.Step(context.Background(), []byte(event))
	if err != nil {
		t.Fatalf("step %.40q: %v\n%s", event, err, i.Stderr())
	}
	return string(out)
}
