package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal runs a command on a pseudo-terminal of its own and plays the person
// at it.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd

	mu  sync.Mutex
	out bytes.Buffer
	// read is how much of the output was waited for already.
	read int
}

func openTerminal(t *testing.T, dir string, env []string, argv ...string) *terminal {
	t.Helper()
	return openTerminalOf(t, 80, 24, dir, env, argv...)
}

func openTerminalOf(t *testing.T, width, height int, dir string, env []string, argv ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// SetReadDeadline would need a pollable file; the reader ends when the other
	// side of the terminal is closed.
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, master: master}
	term.cmd = exec.Command(argv[0], argv[1:]...)
	term.cmd.Dir, term.cmd.Env = dir, env
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = slave, slave, slave
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := term.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			term.mu.Lock()
			term.out.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if term.cmd.ProcessState == nil {
			_ = term.cmd.Process.Kill()
			_ = term.cmd.Wait()
		}
		<-done
		_ = master.Close()
	})
	return term
}

// expect waits for a text after what was waited for before and returns what
// came in between.
func (term *terminal) expect(text string) string {
	term.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		term.mu.Lock()
		rest := term.out.String()[term.read:]
		if i := strings.Index(rest, text); i >= 0 {
			term.read += i + len(text)
			term.mu.Unlock()
			return rest[:i+len(text)]
		}
		term.mu.Unlock()
		if time.Now().After(deadline) {
			term.t.Fatalf("%q did not appear; the terminal shows:\n%s", text, rest)
		}
	}
}

func (term *terminal) write(s string) {
	term.t.Helper()
	if _, err := term.master.WriteString(s); err != nil {
		term.t.Fatal(err)
	}
}

// exit waits for the end and returns the exit code.
func (term *terminal) exit() int {
	term.t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); _ = term.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(patience):
		_ = term.cmd.Process.Kill()
		<-done
		term.t.Fatalf("the program did not end; the terminal shows:\n%s", term.text())
	}
	return term.cmd.ProcessState.ExitCode()
}

// text is everything the terminal showed.
func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.out.String()
}

// onTerminal starts a run of the program with a script.
func onTerminal(t *testing.T, script string, args ...string) (*terminal, string) {
	t.Helper()
	// TestMain makes the test binary answer to this name.
	bin, err := exec.LookPath("ao-host")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	home, project := filepath.Join(dir, "codex-home"), filepath.Join(dir, "project")
	for _, d := range []string{home, project} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := warmUp(filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "TERM=xterm", "CODEX_HOME=" + home, "AO_HOST_DATA=" + filepath.Join(dir, "data")}
	argv := append([]string{bin, "run", "--harness", "codex", "--launch", bin, "--launch", "scripted-harness", "--dir", project}, args...)
	return openTerminal(t, dir, env, argv...), project
}

func TestOnATerminalAQuestionIsAnsweredASecretIsHiddenAndNothingTypedEarlyCounts(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	term, _ := onTerminal(t, fmt.Sprintf(`{"turns": [{"steps": [
		{"wait_file": %q},
		{"ask": {"id": "a", "questions": [
			{"id": "colour", "header": "Colour", "question": "Which one?", "options": [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]},
			{"id": "token", "header": "Token", "question": "The token?", "secret": true}]}},
		{"say": "You chose {{answer.colour}}."}]}]}`, asked), "Ask me")
	// Typed before anything was asked, which the terminal shows: it must not answer
	// the question.
	term.expect("[turn 1 running]")
	term.write("1\n")
	term.expect("1\r\n")
	if err := os.WriteFile(asked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	term.expect("(a number, /skip)> ")
	term.write("2\n")
	term.expect("(it is not shown, /skip)> ")
	term.write("hush-hush\n")
	term.expect("You chose Blue.")
	term.expect("[turn 1 completed]")
	if code := term.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := term.text(); strings.Contains(out, "hush-hush") {
		t.Errorf("the secret was shown:\n%s", out)
	}
}

func TestOnATerminalCtrlCStopsTheTurnAndTheEchoIsBack(t *testing.T) {
	term, _ := onTerminal(t, `{"turns": [{"steps": [
		{"ask": {"id": "a", "questions": [{"id": "token", "header": "Token", "question": "The token?", "secret": true}]}},
		{"wait_interrupt": true}]}]}`, "Ask me")
	term.expect("(it is not shown, /skip)> ")
	term.write("\x03")
	term.expect("Stopping the turn.")
	term.expect("[turn 1 interrupted]")
	if code := term.exit(); code != 6 {
		t.Errorf("exit code %d", code)
	}
	attr, err := unix.IoctlGetTermios(int(term.master.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if attr.Lflag&unix.ECHO == 0 {
		t.Error("the terminal was left without echo")
	}
}

func TestOnATerminalAPlanIsReviewedAndImplemented(t *testing.T) {
	// The default script is the demo's job.
	script, err := os.ReadFile(filepath.Join("..", "..", "lab", "scripted", "demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	term, project := onTerminal(t, string(script), "--mode", "plan", "--permission", "auto", "Write a greeting")
	term.expect("(a number, /skip)> ")
	term.write("1\n")
	term.expect("[plan 1, revision 1]")
	term.expect("(a number)> ")
	term.write("2\n")
	term.expect("what should change> ")
	term.write("make it short\n")
	term.expect("As you asked: make it short")
	term.expect("(a number)> ")
	term.write("1\n")
	term.expect("Done: greeting.txt is there.")
	if code := term.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	b, err := os.ReadFile(filepath.Join(project, "greeting.txt"))
	if err != nil || string(b) != "Hello, world!\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if n := len(regexp.MustCompile(`\x1b\[1m\[turn \d completed\][^\x1b]*\x1b\[0m`).FindAllString(term.text(), -1)); n != 3 {
		t.Errorf("%d turn headings are emphasised on the terminal:\n%q", n, term.text())
	}
}
