//go:build unix

package scripted_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab/scripted"
)

// child is the harness as a process of its own.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr syncBuffer
	ended  chan struct{}
	id     int
	seen   []frame
}

// launch starts the test binary as the harness, with a script in a file.
func launch(t *testing.T, script, home string, args ...string) *child {
	t.Helper()
	return launchAs(t, "app-server", script, home, args...)
}

// launchAs starts it as one of the two kinds of harness: "app-server" or "acp".
func launchAs(t *testing.T, kind, script, home string, args ...string) *child {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, ended: make(chan struct{})}
	c.cmd = exec.Command(os.Args[0], append([]string{kind, "--script", file}, args...)...)
	c.cmd.Env = append(os.Environ(), "SCRIPTED_TEST_HARNESS=1", "CODEX_HOME="+home, "AO_SCRIPTED_HOME="+home)
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out, c.cmd.Stdout = in, bufio.NewReaderSize(r, 1<<20), w
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
		_ = r.Close()
	})
	return c
}

func (c *child) call(method string, params any) {
	c.t.Helper()
	c.id++
	line, err := json.Marshal(obj{"id": c.id, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		c.t.Fatal(err)
	}
}

// until reads frames up to the one with a method, or the response to the last request when method is "".
func (c *child) until(method string) frame {
	c.t.Helper()
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatalf("no %q before the end of the output; stderr: %s", method, &c.stderr)
		}
		f := frame{raw: line}
		readable := json.Unmarshal([]byte(line), &f) == nil
		c.seen = append(c.seen, f)
		if readable && f.Method == method && (method != "" || string(f.ID) == fmt.Sprint(c.id)) {
			return f
		}
	}
}

func (c *child) hello(dir string) string {
	c.t.Helper()
	c.call("initialize", obj{"clientInfo": obj{"name": "t", "version": "1"}})
	c.until("")
	c.call("thread/start", obj{"cwd": dir})
	return field(c.t, c.until("").Result, "thread.id")
}

func (c *child) turn(thread, text string) {
	c.t.Helper()
	c.call("turn/start", obj{"threadId": thread, "input": []obj{{"type": "text", "text": text}}, "clientUserMessageId": text})
}

// code waits for the exit.
func (c *child) code() int {
	c.t.Helper()
	select {
	case <-c.ended:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		c.t.Fatal("the process does not end")
		return 0
	}
}

func (c *child) running() bool {
	select {
	case <-c.ended:
		return false
	case <-time.After(300 * time.Millisecond):
		return true
	}
}

// clientIDs are the messages of the user that a thread remembers after a restart.
func clientIDs(t *testing.T, home, thread string) string {
	t.Helper()
	c := connect(t, scripted.Script{}, home)
	c.hello()
	if f := c.call("thread/resume", obj{"threadId": thread, "excludeTurns": true}); f.Error != nil {
		return f.Error.Message
	}
	var list struct {
		Data []struct{ Item struct{ ClientID string } }
	}
	if err := json.Unmarshal(c.call("thread/items/list", obj{"threadId": thread}).Result, &list); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range list.Data {
		if d.Item.ClientID != "" {
			out = append(out, d.Item.ClientID)
		}
	}
	return strings.Join(out, " ")
}

func TestRule20_ACrashAfterTheMessageWasKeptCanBeProvenAndOneBeforeCannot(t *testing.T) {
	home := t.TempDir()
	c := launch(t, `{"turns":[{"when":{"text":"kept"},"steps":[{"stderr":"going down"},{"exit":7}]},{"when":{"text":"lost"},"exit_before_message":8,"steps":[]},{"steps":[]}]}`, home)
	thread := c.hello(t.TempDir())
	c.turn(thread, "first")
	c.until("turn/completed")
	c.turn(thread, "kept")
	if code := c.code(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(c.stderr.String(), "going down") {
		t.Errorf("stderr %q", &c.stderr)
	}
	if ids := clientIDs(t, home, thread); ids != "first kept" {
		t.Errorf("remembered %q", ids)
	}
	c = launch(t, `{"turns":[{"repeat":true,"exit_before_message":8,"steps":[]}]}`, home)
	c.hello(t.TempDir())
	c.call("thread/resume", obj{"threadId": thread, "excludeTurns": true})
	c.until("")
	c.turn(thread, "lost")
	if code := c.code(); code != 8 {
		t.Errorf("exit code %d", code)
	}
	if ids := clientIDs(t, home, thread); ids != "first kept" {
		t.Errorf("remembered %q", ids)
	}
}

func TestAKilledProcessLosesAtMostTheLineItWasWriting(t *testing.T) {
	home := t.TempDir()
	c := launch(t, `{"turns":[{"steps":[{"say":"a"}]},{"steps":[{"say":"b"},{"wait_interrupt":true}]}]}`, home)
	thread := c.hello(t.TempDir())
	c.turn(thread, "one")
	c.until("turn/completed")
	c.turn(thread, "two")
	c.until("item/agentMessage/delta")
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	file := filepath.Join(home, "scripted", thread+".jsonl")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"item":{"turn":"x","it`); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	for range 2 { // the second time, what was written behind the torn line is there too
		if ids := clientIDs(t, home, thread); !strings.HasPrefix(ids, "one two") {
			t.Errorf("remembered %q", ids)
		}
		next := connect(t, scripted.Script{}, home)
		next.hello()
		next.call("thread/resume", obj{"threadId": thread, "excludeTurns": true})
		next.turn(thread, "default", "more", obj{"clientUserMessageId": "more"})
		next.done()
	}
	if ids := clientIDs(t, home, thread); ids != "one two more more" {
		t.Errorf("remembered %q", ids)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !json.Valid([]byte(line)) && line != `{"item":{"turn":"x","it` {
			t.Errorf("the line behind the torn one was lost: %s", line)
		}
	}
	lister := connect(t, scripted.Script{}, home)
	lister.hello()
	turns := lister.call("thread/turns/list", obj{"threadId": thread, "sortDirection": "asc"})
	if !strings.Contains(turns.raw, `"status":"interrupted"`) {
		t.Errorf("the killed turn is not interrupted: %s", turns.raw)
	}
}

func TestL4_ItCanIgnoreTheEndOfItsInputAndSIGTERM(t *testing.T) {
	c := launch(t, `{"start":[{"ignore_sigterm":true},{"ignore_eof":true}]}`, "")
	c.hello(t.TempDir())
	_ = c.in.Close()
	if !c.running() {
		t.Fatal("ended with its input")
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !c.running() {
		t.Fatal("ended by SIGTERM")
	}
}

func TestAnExitAfterTheEndOfTheInputKeepsItsCode(t *testing.T) {
	c := launch(t, `{"start":[{"ignore_eof":true}],"turns":[{"steps":[{"delay_ms":200},{"exit":5}]}]}`, "")
	c.turn(c.hello(t.TempDir()), "x")
	_ = c.in.Close()
	if code := c.code(); code != 5 {
		t.Errorf("exit code %d", code)
	}
}

func TestSIGTERMEndsItOtherwise(t *testing.T) {
	c := launch(t, `{}`, "")
	c.hello(t.TempDir())
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.code()
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("%v", c.cmd.ProcessState)
	}
}

func TestRule21_AClosedOutputIsNotTheEndOfTheProcess(t *testing.T) {
	c := launch(t, `{"turns":[{"steps":[{"close_stdout":true},{"say":"unheard"}]}]}`, "")
	c.turn(c.hello(t.TempDir()), "x")
	if _, err := io.Copy(io.Discard, c.out); err != nil {
		t.Fatal(err)
	}
	if !c.running() {
		t.Fatal("ended with its output")
	}
	_ = c.in.Close()
	if code := c.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestItCanHangFromTheStartAndAtInitialize(t *testing.T) {
	for _, script := range []string{`{"start":[{"stderr":"thinking"},{"hang":true}]}`, `{"methods":{"initialize":[{"hang":true}]}}`} {
		c := launch(t, script, "")
		c.call("initialize", obj{"clientInfo": obj{"name": "t", "version": "1"}})
		if !c.running() {
			t.Errorf("%s: ended", script)
		}
		if n := c.out.Buffered(); n != 0 {
			t.Errorf("%s: said something", script)
		}
	}
}

func TestAHangingTurnIsNotEndedByAnInterrupt(t *testing.T) {
	c := launch(t, `{"turns":[{"steps":[{"say":"a"},{"hang":true}]}]}`, "")
	thread := c.hello(t.TempDir())
	c.turn(thread, "x")
	f := c.until("")
	c.until("account/rateLimits/updated") // told after the message; the next step is the one that hangs
	c.running()
	c.call("turn/interrupt", obj{"threadId": thread, "turnId": field(t, f.Result, "turn.id")})
	if !c.running() {
		t.Error("ended")
	}
	c.call("model/list", obj{})
	c.until("")
	for _, f := range c.seen {
		if f.Method == "turn/completed" || f.Method == "" && string(f.ID) == "4" {
			t.Errorf("the interrupt helped: %s", f.raw)
		}
	}
}

func TestAnInitializeThatFailsOrExits(t *testing.T) {
	c := launch(t, `{"methods":{"initialize":[{"error":{"code":-32603,"message":"broken"},"times":1},{"exit":3}]}}`, "")
	c.call("initialize", obj{"clientInfo": obj{"name": "t", "version": "1"}})
	if f := c.until(""); f.Error == nil || f.Error.Message != "broken" {
		t.Errorf("%s", f.raw)
	}
	c.call("initialize", obj{"clientInfo": obj{"name": "t", "version": "1"}})
	if code := c.code(); code != 3 {
		t.Errorf("exit code %d", code)
	}
}

func TestAGrandchildOutlivesTheCommandThatLeftIt(t *testing.T) {
	dir := t.TempDir()
	c := launch(t, `{"turns":[{"steps":[{"run":{"command":"sleep 60 & echo $! > pid","approve":false,"shell":true}}]}]}`, "")
	c.turn(c.hello(dir), "x")
	c.until("turn/completed")
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the grandchild is gone: %v", err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestTheArgumentsOfTheProgram(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		out  string
	}{
		"version":         {[]string{"--version"}, 0, "codex-cli 0.171.0 (scripted)\n"},
		"unknown":         {[]string{"--frobnicate"}, 2, ""},
		"no value":        {[]string{"--script"}, 2, ""},
		"no such script":  {[]string{"--script", "/does/not/exist.json"}, 2, ""},
		"unknown version": {[]string{"--provider-version", "1.0"}, 2, ""},
		"demo":            {[]string{"app-server", "-c", "x=y"}, 0, ""},
		"older version":   {[]string{"app-server", "--provider-version", "0.153.4"}, 0, ""},
	} {
		var out, errs strings.Builder
		if code := scripted.Main(c.args, strings.NewReader(""), &out, &errs, nil); code != c.code || out.String() != c.out {
			t.Errorf("%s: code %d, output %q, errors %q", name, code, out.String(), errs.String())
		}
		if (c.code != 0) != (errs.String() != "") {
			t.Errorf("%s: errors %q", name, errs.String())
		}
	}
}

func TestTheScriptIsFoundInTheHomeFolder(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(`{"models":[{"id":"from-home"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"id":2,"method":"model/list","params":{}}` + "\n"
	var out, errs strings.Builder
	if code := scripted.Main(nil, strings.NewReader(in), &out, &errs, []string{"CODEX_HOME=/nowhere", "CODEX_HOME=" + home}); code != 0 {
		t.Fatalf("code %d: %s", code, errs.String())
	}
	if !strings.Contains(out.String(), `"id":"from-home"`) {
		t.Errorf("not the script of the home folder: %s", out.String())
	}
}
