package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// sayings is a harness that says the canary in every way, and asks for a secret.
const sayings = `{"turns":[
 {"when":{"text":"hello"},"steps":[
  {"say":"CANARY-agent said"},{"plan":"# CANARY-plan"},{"warn":"CANARY-warning"},{"name":"CANARY-title"},
  {"ask":{"id":"q","questions":[{"id":"pin","header":"CANARY-header","question":"CANARY-question?","other":true,"secret":true}]}},
  {"say":"You said {{answer.pin}}."}]},
 {"when":{"text":"again"},"steps":[{"stderr":"CANARY-stderr"},{"fail":{"code":"other","message":"CANARY-failure"}}]}]}`

// untold are the texts that no bundle may hold; said those that one with text holds.
var (
	untold = []string{"CANARY-secret", "CANARY-token", "canaryhome", "canaryuser", "CANARY-project"}
	said   = []string{"CANARY-agent", "CANARY-plan", "CANARY-message", "CANARY-question"}
)

func TestTheBundleHoldsNothingThatWasSaidAndNoValuesNamesOrHomes(t *testing.T) {
	home := filepath.Join(t.TempDir(), "canaryhome")
	project := filepath.Join(home, "CANARY-project")
	data := filepath.Join(home, "data")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := warmUp(data); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, "scripted.json"), sayings)
	write(filepath.Join(home, ".profile"), "PATH='"+os.Getenv("PATH")+"'\nexport PATH\n")
	env := append(os.Environ(), "HOME="+home, "CODEX_HOME="+home, "AO_HOST_DATA="+data, "USER=canaryuser", "LOGNAME=canaryuser", "SHELL=/bin/sh", "SOME_TOKEN=CANARY-token-value")
	live(t, data, project, env)
	write(filepath.Join(data, "config.json"), `{"launch":{"codex":{"argv":["ao-host","scripted-harness"]}}}`)
	write(filepath.Join(data, "daemon.log"), "level=INFO msg=\"all is well\" path="+project+" user=canaryuser token=CANARY-token-value\nlevel=DEBUG msg=binding text=\"CANARY-agent said\"\n")
	run := func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "ao-host", args...)
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	check := func(name string, withText, running bool) {
		t.Helper()
		file := filepath.Join(t.TempDir(), name)
		args := []string{"doctor", "codex", "--bundle", file}
		if withText {
			args = append(args, "--with-text")
		}
		out, code := run(args...)
		if code != 0 || !strings.Contains(out, "archive for a bug report") || strings.Contains(out, "IT HOLDS WHAT WAS SAID") != withText {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		files := unpack(t, file)
		whole := ""
		for name, text := range files {
			whole += name + "\n" + text
		}
		for _, s := range untold {
			if i := strings.Index(whole, s); i >= 0 {
				t.Errorf("%s: it holds %q: …%s…", name, s, whole[max(0, i-120):min(len(whole), i+60)])
			}
		}
		if !withText && strings.Contains(whole, "CANARY") {
			i := strings.Index(whole, "CANARY")
			t.Errorf("%s: it holds …%s…", name, whole[max(0, i-200):min(len(whole), i+60)])
		}
		if withText {
			for _, s := range said {
				if !strings.Contains(whole, s) {
					t.Errorf("%s: with text it holds no %q", name, s)
				}
			}
		}
		if strings.Contains(files["README.txt"], "WITH TEXT") != withText {
			t.Error(files["README.txt"])
		}
		if (files["goroutines.txt"] != "") != running || (files["runtime.json"] != "") != running {
			t.Errorf("%s: the daemon's goroutines: %d bytes", name, len(files["goroutines.txt"]))
		}
		// It is of use all the same.
		for part, want := range map[string][]string{
			"doctor.json":        {`"version": "0.1.0"`, `"digest": "sha256:`, `"path_folders"`, `"platform"`},
			"conversations.json": {`"state": "completed"`, `"state": "failed"`, `"permission": "auto"`, `"binding_digest": "sha256:`, `"type": "question"`, `"disposition": "answered"`},
			"log.txt":            {"all is well"},
		} {
			for _, s := range want {
				if !strings.Contains(files[part], s) {
					t.Errorf("%s: %s holds no %q:\n%s", name, part, s, files[part])
				}
			}
		}
		if files["problems.txt"] != "" {
			t.Error(files["problems.txt"])
		}
		journals := 0
		for name, text := range files {
			if !strings.HasPrefix(name, "journal/") {
				continue
			}
			journals++
			for line := range strings.Lines(text) {
				var e struct {
					Seq   int
					Type  string
					Bytes int
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq == 0 || e.Type == "" {
					t.Fatalf("%v in %s", err, line)
				}
			}
		}
		if journals != 1 {
			t.Errorf("%d journals", journals)
		}
		if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", fi.Mode(), err)
		}
		if out, code := run(args...); code != 2 || !strings.Contains(out, "is there already") {
			t.Errorf("a file was overwritten: %d %s", code, out)
		}
	}
	check("outside.tar.gz", false, false)
	check("text.tar.gz", true, false)
	if out, code := run("serve", "--background"); code != 0 {
		t.Fatal(out)
	}
	defer run("serve", "--stop")
	check("daemon.tar.gz", false, true)
	if out, code := run("doctor", "--with-text"); code != 2 {
		t.Errorf("%d %s", code, out)
	}
}

// live lets a conversation happen, with a secret answer and a turn that fails.
func live(t *testing.T, data, project string, env []string) {
	t.Helper()
	ctx := t.Context()
	h, err := host.Open(ctx, host.Config{Dir: data, Env: env, Launch: map[string]host.Launch{"codex": {Argv: []string{"ao-host", "scripted-harness"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	auto := abi.PermissionAuto
	c, err := h.Create(ctx, host.NewConversation{Harness: "codex", Cwd: project, Title: "CANARY-title", Settings: host.SettingsPatch{Permission: &auto}})
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, cond func() bool) {
		t.Helper()
		for giveUp := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(giveUp) {
				t.Fatalf("waited in vain for %s", what)
			}
		}
	}
	send := func(text string) string {
		t.Helper()
		turn, err := h.Send(ctx, c.ID, host.Message{Content: host.Text(text)})
		if err != nil {
			t.Fatal(err)
		}
		return turn.ID
	}
	ended := func(id string, want host.TurnState) {
		t.Helper()
		until("the turn's end", func() bool {
			turn, err := h.Turn(ctx, c.ID, id)
			if err == nil && turn.State.Ended() && turn.State != want {
				t.Fatalf("the turn is %s: %s", turn.State, turn.Message)
			}
			return err == nil && turn.State == want
		})
	}
	first := send("hello CANARY-message")
	until("the question", func() bool {
		in, err := h.Inputs(ctx, c.ID)
		if err != nil || len(in) == 0 {
			return false
		}
		if _, err := h.ResolveInput(ctx, c.ID, in[0].ID, host.Answer{Fields: []abi.FieldAnswer{{Field: "pin", State: abi.StateAnswered, HasOther: true, Other: "CANARY-secret-4711"}}}); err != nil {
			t.Fatal(err)
		}
		return true
	})
	ended(first, host.TurnCompleted)
	ended(send("again CANARY-message"), host.TurnFailed)
}

// unpack reads an archive.
func unpack(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(head.Name, "ao-host-report/")] = string(b)
	}
}
