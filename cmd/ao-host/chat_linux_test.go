package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

var updateScreens = flag.Bool("update-screens", false, "write the golden screens")

func demoScript(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "lab", "scripted", "demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// golden compares what is seen, without its first row, which names the folder. It may
// be half drawn when the texts that were waited for are there.
func (s *screen) golden(name, show string) {
	s.t.Helper()
	body := func() string {
		_, below, _ := strings.Cut(show, "\n")
		return below
	}
	path := filepath.Join("testdata", "screen", fmt.Sprintf("%s-%dx%d.golden", name, s.vt.Width(), s.vt.Height()))
	if *updateScreens {
		if err := os.WriteFile(path, []byte(body()), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	want := string(b)
	for deadline := time.Now().Add(30 * time.Second); body() != want; show = s.show() {
		if time.Now().After(deadline) {
			s.t.Fatalf("screen %s (-want +got):\n%s", name, cmp.Diff(want, body()))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

const (
	keyDown, keyEnter, keyTab, keyEsc = "\x1b[B", "\r", "\t", "\x1b"
	keyF2, keyF3                      = "\x1bOQ", "\x1bOR"
	keyCtrlC, keyCtrlD                = "\x03", "\x04"
)

func TestTheChatGoesFromThePlanToTheWrittenFile(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			s := onScreen(t, size[0], size[1], demoScript(t), "--new", "--harness", "codex", "--mode", "plan", "--permission", "auto")
			s.golden("begin", s.sees("Write a message", "next: mode plan, permission auto", "ready"))
			s.write("Write a greeting\r")
			s.golden("question", s.sees("turn 1 running", "In which language should the greeting be?", "4 skip this question"))
			s.write(keyDown + keyDown)
			s.sees("▸ 2 German")
			s.write(keyEnter)
			s.golden("plan", s.sees("ready", "plan 1, revision 1", "in this language: German", "1 implement it – with the permission auto"))
			s.write("2" + keyEnter)
			s.sees("What should change:")
			s.write("make it short")
			s.golden("feedback", s.sees("> make it short"))
			s.write(keyEnter)
			s.sees("ready", "As you asked: make it short", "plan 2, revision 1")
			s.write("1" + keyEnter)
			s.golden("done", s.sees("turn 3 completed", "Done: greeting.txt is there.", "next: mode default, permission auto", "ready"))
			s.write(keyTab)
			s.sees("▌▸ $ /bin/bash -lc 'cat greeting.txt'")
			s.write(keyEnter)
			s.sees("▌▾ $ /bin/bash", "output", "│ Hallo, Welt!")
			s.write(keyTab + keyCtrlD)
			s.left(0, "To come back: ao-host chat ")
			b, err := os.ReadFile(filepath.Join(s.project, "greeting.txt"))
			if err != nil || string(b) != "Hallo, Welt!\n" {
				t.Errorf("the file has %q, %v", b, err)
			}
		})
	}
}

func TestLeavingTheChatWithAHeldQueueTellsHowItGoesOn(t *testing.T) {
	s := onScreen(t, 80, 24, `{"turns": [
		{"repeat": true, "steps": [{"say": "Working on it."}, {"wait_interrupt": true}]}]}`, "--new", "--harness", "codex")
	s.sees("Write a message")
	s.write("Begin" + keyEnter)
	s.sees("Working on it.", "turn 1 running")
	s.write("And then" + keyEnter)
	s.sees("1. And then")
	s.write(keyCtrlC)
	s.sees("turn 1 interrupted", "queue held")
	s.write(keyCtrlD)
	s.left(0, "The queue is held. To let it go on: ao-host queue resume -c ")
}

func TestInTheChatASecretStaysHiddenAndAQueuedMessageSurvivesAStop(t *testing.T) {
	s := onScreen(t, 80, 24, `{"turns": [
		{"steps": [
			{"ask": {"id": "a", "questions": [{"id": "token", "header": "Token", "question": "The token?", "secret": true}]}},
			{"say": "Thank you."}]},
		{"steps": [{"say": "Working on it."}, {"wait_interrupt": true}]},
		{"repeat": true, "steps": [{"say": "You said: {{text}}"}]}]}`, "--new", "--harness", "codex", "--permission", "auto")
	s.sees("Write a message")
	s.write("Ask me" + keyEnter)
	s.sees("Token: The token?", "1 write an answer – it is not shown")
	s.write(keyEnter)
	s.sees("It is not shown:")
	s.write("hush-hush")
	s.sees("> •••••••••")
	s.write(keyEnter)
	s.sees("answered: Token: (hidden)", "Thank you.", "turn 1 completed", "ready")

	s.write("Begin" + keyEnter)
	s.sees("Working on it.", "turn 2 running")
	s.write("And then" + keyEnter)
	s.sees("1. And then · mode provider's default, permission auto")
	// What is chosen now is for later messages: the one that waits keeps its own.
	s.write(keyF2)
	s.sees("Settings of the next message")
	s.write("1" + keyEnter)
	s.sees("Settings: mode", "2 plan")
	s.write("2" + keyEnter)
	s.sees("1 mode: plan", "next: mode plan, permission auto", "running: mode provider's default")
	s.write(keyEsc)
	s.sees("Write a message", "1. And then · mode provider's default, permission auto")
	s.write(keyF3)
	s.sees("▸ 1 And then")
	s.write(keyEnter)
	s.sees("> And then")
	s.write(", later" + keyEnter)
	s.sees("▸ 1 And then, later – mode provider's default, permission auto")
	s.write(keyEsc)
	s.sees("Write a message", "1. And then, later")
	s.write(keyCtrlC)
	s.sees("turn 2 interrupted", "queue held", "The queue waits because you stopped a turn", "1. And then, later")
	s.resize(60, 20)
	s.sees("queue held", "1. And then, later", "─\n› Write a message")
	s.write(keyF3)
	s.sees("▸ 1 And then, later")
	s.write("r")
	s.sees("You said: And then, later")
	s.write(keyEsc)
	s.sees("Write a message")
	s.write(keyCtrlD)
	s.left(0, "To come back: ao-host chat ")
	if out := s.text(); strings.Contains(out, "hush") {
		t.Error("the secret was printed")
	}
}

func TestC1_InTheChatAnImageIsAttachedAndWhatTheHarnessDoesNotTakeIsRefused(t *testing.T) {
	s := onScreen(t, 80, 24, `{"turns": [{"repeat": true, "steps": [{"say": "You said: {{text}}"}]}]}`, "--new", "--harness", "codex")
	s.sees("Write a message")
	for name, b := range map[string]string{"my shot.png": "\x89PNG\r\n\x1a\n", "notes.txt": "notes"} {
		if err := os.WriteFile(filepath.Join(s.project, name), []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// As a terminal writes a file that is dropped on it.
	s.write("/attach '" + filepath.Join(s.project, "my shot.png") + "'" + keyEnter)
	s.sees("[1 my shot.png, 8 bytes]", "Write a message")
	s.write("Look at this")
	s.golden("attached", s.sees("› Look at this"))
	s.write(keyEnter)
	s.golden("attachment-sent", s.sees("You said: Look at this", "(image my shot.png)", "turn 1 completed", "ready"))
	s.write("/attach notes.txt" + keyEnter)
	s.golden("attachment-refused", s.sees("content_unsupported", "› /attach notes.txt"))
	s.write(keyCtrlC + keyCtrlC)
	s.left(0, "To come back: ao-host chat ")
}

func TestTheChatSurvivesTheDeathOfTheDaemon(t *testing.T) {
	s := onScreen(t, 80, 24, `{"turns": [
		{"steps": [{"say": "Working on it."}, {"wait_interrupt": true}]},
		{"repeat": true, "steps": [{"say": "You said: {{text}}"}]}]}`, "--new", "--harness", "codex")
	s.sees("Write a message")
	s.write("Begin" + keyEnter)
	s.sees("Working on it.", "turn 1 running")
	s.write("half a thought")
	s.sees("› half a thought")
	s.killDaemon()
	// What became of the turn is for the evidence to say; the story goes on where it
	// was, on the daemon that was started again.
	s.sees("ready", "Working on it.", "› half a thought")
	s.write(keyEnter)
	s.sees("You said: half a thought", "ready")
	// One that was ended on purpose stays ended until the person wants it, and what is
	// sent starts it.
	s.serve("--stop")
	s.sees("not connected", "The daemon was ended")
	// Longer than it waits between two looks.
	time.Sleep(3 * time.Second)
	if out := s.serve("--stop"); !strings.Contains(string(out), "No daemon was running.") {
		t.Errorf("the chat started it again by itself: %s", out)
	}
	s.write("and again" + keyEnter)
	s.sees("You said: and again", "ready")
	if n := strings.Count(s.show(), "› and again"); n != 1 {
		t.Errorf("the message is there %d times:\n%s", n, s.show())
	}
	s.serve("--stop")
	s.sees("not connected")
	s.write(keyEnter)
	s.sees("ready")
	// Somebody else's is found as well.
	s.serve("--stop")
	s.sees("not connected")
	s.serve("--background")
	s.sees("ready")
	s.write(keyCtrlD)
	s.left(0, "To come back: ao-host chat ")
}

func TestLeavingTheChatSaysWhatGoesOn(t *testing.T) {
	s := onScreen(t, 80, 24, `{"turns": [{"steps": [{"say": "Working on it."}, {"wait_interrupt": true}]}]}`, "--new", "--harness", "codex")
	s.sees("Write a message")
	s.write("Begin" + keyEnter)
	s.sees("Working on it.", "turn 1 running")
	s.write("not sent yet")
	s.sees("› not sent yet")
	if err := s.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.left(143, "The turn goes on in the daemon.")
	s.sees("Not sent:", "not sent yet")
}

func TestWithoutADaemonLeavingTheChatSaysThatTheTurnIsStopped(t *testing.T) {
	bin, err := exec.LookPath("ao-host")
	if err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, 80, 24, `{"turns": [{"steps": [{"say": "Working on it."}, {"wait_interrupt": true}]}]}`,
		"--new", "--harness", "codex", "--launch", bin, "--launch", "scripted-harness")
	s.sees("Write a message")
	s.write("Begin" + keyEnter)
	s.sees("Working on it.", "turn 1 running")
	s.write(keyCtrlD)
	s.left(0, "The turn that ran is stopped: no daemon goes on with it.")
}

func TestWithNoColorTheChatHasNone(t *testing.T) {
	s := onScreenWith(t, 80, 24, []string{"NO_COLOR=1"}, demoScript(t), "--new", "--harness", "codex", "--mode", "plan")
	s.sees("Write a message")
	s.write("Write a greeting" + keyEnter)
	s.sees("4 skip this question")
	s.write(keyDown)
	s.sees("▸ 1 English")
	s.write(keyCtrlC + keyCtrlC)
	s.left(0, "To come back: ao-host chat ")
	// Bold and faint are no colours.
	if c := regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-7]|4[0-7]|9[0-7]|10[0-7]|38|48)[;m]`).FindString(s.text()); c != "" {
		t.Errorf("a colour was set: %q", c)
	}
}
