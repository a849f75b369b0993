package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkCLIFirstChunk is the time from the start of a command to the first text
// of the agent, which is the scripted harness: with a daemon that has the session
// ready, and without one, with a harness that has to be started.
func BenchmarkCLIFirstChunk(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "ao-host")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		b.Fatal(err)
	}
	settings, err := json.Marshal(map[string]any{"launch": map[string]any{"codex": map[string]any{"argv": []string{program, "scripted-harness"}, "env": []string{"CODEX_HOME=" + dir}}}})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "config.json"), settings, 0o600); err != nil {
		b.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, append([]string{"--data", data}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		return cmd
	}
	run := func(args ...string) string {
		out, err := command(args...).CombinedOutput()
		if err != nil {
			b.Fatalf("ao-host %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	// The first run compiles the binding.
	run("run", "--harness", "codex", "hello")
	measure := func(b *testing.B, args ...string) {
		times := make([]time.Duration, 0, b.N)
		for b.Loop() {
			times = append(times, firstChunk(b, command(args...)))
		}
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
	}
	b.Run("without", func(b *testing.B) { measure(b, "run", "--harness", "codex", "hello") })
	b.Run("daemon", func(b *testing.B) {
		run("serve", "--background")
		defer run("serve", "--stop")
		run("run", "--harness", "codex", "hello")
		var list []struct {
			ID string `json:"id"`
		}
		raw := run("list", "--json")
		if err := json.Unmarshal([]byte(raw), &list); err != nil || len(list) == 0 {
			b.Fatalf("%v in %s", err, raw)
		}
		measure(b, "run", "--conversation", list[0].ID, "hello")
	})
}

// firstChunk runs a command and returns when the agent's text began.
func firstChunk(b *testing.B, cmd *exec.Cmd) time.Duration {
	b.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var took time.Duration
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if took == 0 && strings.HasPrefix(lines.Text(), "I am a scripted agent") {
			took = time.Since(began)
		}
	}
	if err := cmd.Wait(); err != nil || took == 0 {
		b.Fatalf("%v\n%s", err, said.String())
	}
	return took
}
