package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aoagents/ao-host/lab/scenario"
	"github.com/aoagents/ao-host/lab/scripted"
)

// The scenario that package host plays through the library, by a person at a terminal,
// with the embedded bindings of the ACP harnesses.
func TestOnATerminalThePrimaryScenarioRunsOnTheACPHarnesses(t *testing.T) {
	bin, err := exec.LookPath("ao-host")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		harness, profile string
		// inReview: requested changes are told within the review.
		inReview bool
		// prompt asks for the option; beside: a text can go with it.
		prompt string
		beside bool
	}{
		{"claude", scripted.ProfileClaude101, false, "(a number, /skip)> ", true},
		{"grok", scripted.ProfileGrok, true, "(a number, /skip)> ", false},
		// Its question has to be answered.
		{"kimchi", scripted.ProfileKimchi, false, "(a number)> ", false},
	} {
		t.Run(c.harness, func(t *testing.T) {
			dir := t.TempDir()
			home, project, gates := filepath.Join(dir, "agent"), filepath.Join(dir, "pro ject"), filepath.Join(dir, "gates")
			for _, d := range []string{home, project, gates} {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			s := scenario.Named("primary")
			script, err := json.Marshal(s.ACP(c.profile, c.inReview, scenario.Stage{Cwd: project, Gates: gates}))
			if err != nil {
				t.Fatal(err)
			}
			// Nobody watches what is in force here, so the gate stands open.
			for name, text := range map[string][]byte{filepath.Join(home, "scripted.json"): script, filepath.Join(gates, "in force"): nil} {
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := warmUp(filepath.Join(dir, "data")); err != nil {
				t.Fatal(err)
			}
			argv := []string{bin, "run", "--harness", c.harness, "--dir", project, "--mode", "plan", "--permission", "bypass-permissions"}
			for _, word := range []string{bin, "scripted-harness", "acp", "--profile", c.profile, "--home", home} {
				argv = append(argv, "--launch="+word)
			}
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "TERM=xterm", "AO_HOST_DATA=" + filepath.Join(dir, "data")}
			term := openTerminal(t, dir, env, append(argv, "Take notes")...)
			term.expect("Which name?")
			term.expect("notes.md – markdown")
			term.expect(c.prompt)
			term.write("2\n")
			if c.beside {
				term.expect("(Enter: none)> ")
				term.write("\n")
			}
			term.expect("1. Write notes.md")
			term.expect("(a number)> ")
			term.write("2\n")
			term.expect("what should change> ")
			term.write("Add a title\n")
			term.expect("2. Add a title")
			term.expect("(a number)> ")
			term.write("1\n")
			term.expect("Implemented.")
			if code := term.exit(); code != 0 {
				t.Errorf("exit code %d; the terminal shows:\n%s", code, term.text())
			}
			if b, err := os.ReadFile(filepath.Join(project, "notes.md")); err != nil || string(b) != scenario.Noted {
				t.Errorf("the file has %q, %v", b, err)
			}
		})
	}
}
