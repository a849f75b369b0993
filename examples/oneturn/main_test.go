package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scripted"
)

// actAsHarness makes the test binary the scripted harness.
const actAsHarness = "AO_EXAMPLE_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(actAsHarness) != "" {
		os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if dir, err := cache(); err == nil {
			_ = os.RemoveAll(dir)
		}
		os.Exit(code)
	}))
}

// cache keeps the compiled binding for both tests.
var cache = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "ao-host-oneturn-test-") })

// config starts the scripted harness with a script.
func config(t *testing.T, script string) host.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := cache()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return host.Config{
		Dir: filepath.Join(home, "data"), Env: os.Environ(),
		CacheDir: filepath.Join(compiled, "cache"), DigestDir: filepath.Join(compiled, "digests"),
		Launch: map[string]host.Launch{"codex": {Argv: []string{self}, Env: []string{actAsHarness + "=1", "CODEX_HOME=" + home}}},
	}
}

func TestTheExamplePrintsTheAnswerAndDeclinesWhatIsAsked(t *testing.T) {
	cfg := config(t, `{"turns": [{"steps": [
		{"ask": {"id": "a", "questions": [{"id": "colour", "header": "Colour", "question": "Which one?", "options": [{"label": "Red", "description": ""}]}]}},
		{"write_file": {"path": "never", "text": "x", "approve": true}},
		{"say": "The change was answered with {{decision}}.", "chunks": 3}]}]}`)
	t.Chdir(t.TempDir())
	var out strings.Builder
	if err := run(context.Background(), cfg, "codex", "Go", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[asks: question", "[asks: permission", "The change was answered with decline.", "[completed]"} {
		if n := strings.Count(out.String(), want); n != 1 {
			t.Errorf("%q is there %d times:\n%s", want, n, out.String())
		}
	}
	if _, err := os.Stat("never"); err == nil {
		t.Error("the file was written")
	}
}

func TestTheExampleEndsWithTheReasonWhenTheAgentCannotBeStarted(t *testing.T) {
	cfg := config(t, `{}`)
	cfg.Launch["codex"] = host.Launch{Argv: []string{"no-such-agent"}}
	var out strings.Builder
	err := run(context.Background(), cfg, "codex", "Go", &out)
	if host.CodeOf(err) != host.CodeHarnessNotFound || !strings.Contains(out.String(), "no-such-agent") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
