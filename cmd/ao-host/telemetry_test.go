package main

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A turn of the program itself arrives at a collector, with nothing that was said.
func TestATurnIsTracedToWhereTheEnvironmentSays(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] += string(b)
	}))
	defer srv.Close()
	dir := t.TempDir()
	if err := warmUp(filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	run := func(env ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "ao-host", "run", "--harness", "codex", "--launch", "ao-host", "--launch", "scripted-harness", "--dir", dir, "CANARY-said")
		cmd.Env = append(os.Environ(), "AO_HOST_DATA="+filepath.Join(dir, "data"), "CODEX_HOME="+dir, "HOME="+dir)
		cmd.Env = append(cmd.Env, env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	seen := func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(got)
	}
	run()
	if len(seen()) != 0 {
		t.Fatal("it exported without being asked to")
	}
	run("OTEL_EXPORTER_OTLP_ENDPOINT=" + srv.URL)
	sent := seen()
	for path, want := range map[string][]string{
		"/v1/traces":  {"ao_host.turn", "ao_host.queue", "ao_host.session.start", "ao_host.step", "completed"},
		"/v1/metrics": {"ao_host.turn.duration", "ao_host.step.fuel"},
	} {
		for _, part := range want {
			if !strings.Contains(sent[path], part) {
				t.Errorf("%s holds no %q", path, part)
			}
		}
		if strings.Contains(sent[path], "CANARY") || strings.Contains(sent[path], dir) {
			t.Errorf("%s holds what was said, or a path", path)
		}
	}
	// A collector that is gone keeps nobody from working.
	srv.Close()
	run("OTEL_EXPORTER_OTLP_ENDPOINT=" + srv.URL)
}
