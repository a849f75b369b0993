package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
)

func TestOnATerminalTheSecretOfAnAnswerIsHiddenAndColoursAreLeftOutWhereAskedTo(t *testing.T) {
	bin, err := exec.LookPath("ao-host")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	home, project, data := filepath.Join(dir, "codex-home"), filepath.Join(dir, "project"), filepath.Join(dir, "data")
	for _, d := range []string{home, project} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := warmUp(data); err != nil {
		t.Fatal(err)
	}
	script := `{"turns": [{"steps": [{"ask": {"id": "a", "questions": [{"id": "token", "question": "The token?", "secret": true}]}}, {"say": "Thank you."}]}]}`
	config, err := json.Marshal(map[string]any{"launch": map[string]any{"codex": map[string]any{"argv": []string{bin, "scripted-harness"}, "env": []string{"CODEX_HOME=" + home}}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{filepath.Join(home, "scripted.json"): script, filepath.Join(data, "config.json"): string(config)} {
		if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := daemon.Stop(ctx, data); err != nil {
			t.Error(err)
		}
	})
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "TERM=xterm", "AO_HOST_DATA=" + data}
	for _, args := range [][]string{{"new", "--harness", "codex"}, {"send", "--wait", "Ask me"}} {
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env = project, env
		out, err := cmd.CombinedOutput()
		if want := map[string]int{"new": 0, "send": 3}[args[0]]; cmd.ProcessState.ExitCode() != want {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	term := openTerminal(t, project, env, bin, "answer", "--stdin", "--wait")
	term.expect("(it is not shown)> ")
	term.write("hush-hush\n")
	term.expect("[turn 1 completed]")
	if code := term.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := term.text(); strings.Contains(out, "hush-hush") || !strings.Contains(out, "\x1b[1m") {
		t.Errorf("on the terminal:\n%q", out)
	}
	plain := openTerminal(t, project, append(env, "NO_COLOR=1"), bin, "show", "--transcript")
	plain.expect("[turn 1 completed]")
	if code := plain.exit(); code != 0 || strings.Contains(plain.text(), "\x1b") {
		t.Errorf("exit code %d, with NO_COLOR:\n%q", code, plain.text())
	}
}
