package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

// The person at the terminal, the whole program, the embedded binding and the
// real Codex; only the model is scripted.
func TestLiveOnATerminalTheRealCodexAsksPlansRevisesAndImplements(t *testing.T) {
	for _, version := range lab.CodexVersions {
		t.Run(version, func(t *testing.T) {
			h := lab.Require(t, "codex", version)
			srv := model.Start(t, model.Script{Steps: []model.Step{
				{Reply: []model.Action{model.Call("call_1", "request_user_input", `{"questions":[{"id":"colour","header":"Colour","question":"Which colour?","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}`)}},
				{Reply: []model.Action{model.Text("<proposed_plan>\n# Paint\n1. Write the colour.\n</proposed_plan>")}},
				{Reply: []model.Action{model.Text("<proposed_plan>\n# Paint\n1. Write the colour in capitals.\n</proposed_plan>")}},
				// Codex runs a command in a login shell and goes on without it after 10 s by
				// default, which a busy machine can need.
				{Reply: []model.Action{model.Call("call_2", "exec_command", `{"cmd":"printf BLUE >colour.txt","yield_time_ms":30000}`)}},
				{Reply: []model.Action{model.Text("Painted.")}},
			}})
			home := lab.CodexHome(t, h, srv.URL()+"/v1", lab.CodexOptions{})
			dir := t.TempDir()
			project, data := filepath.Join(dir, "pro ject"), filepath.Join(dir, "data")
			if err := os.Mkdir(project, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := warmUp(data); err != nil {
				t.Fatal(err)
			}
			bin, err := exec.LookPath("ao-host")
			if err != nil {
				t.Fatal(err)
			}
			argv := []string{bin, "run", "--harness", "codex", "--mode", "plan", "--permission", "bypass-permissions", "--dir", project}
			for _, word := range home.Argv {
				argv = append(argv, "--launch", word)
			}
			// Without a login shell the environment is the lab's.
			env := append(home.Env, "SHELL=/bin/false", "TERM=xterm", "AO_HOST_DATA="+data)
			term := openTerminal(t, dir, env, append(argv, "Paint it")...)
			term.expect("Blue – cold")
			term.expect("> ")
			term.write("2\n")
			term.expect("[plan 1, revision 1]")
			term.expect("(a number)> ")
			term.write("2\n")
			term.expect("what should change> ")
			term.write("in capitals\n")
			term.expect("Write the colour in capitals.")
			term.expect("(a number)> ")
			term.write("1\n")
			term.expect("Painted.")
			if code := term.exit(); code != 0 {
				t.Errorf("exit code %d; the terminal shows:\n%s", code, term.text())
			}
			if b, err := os.ReadFile(filepath.Join(project, "colour.txt")); err != nil || string(b) != "BLUE" {
				t.Errorf("the file has %q, %v; the terminal shows:\n%s", b, err, term.text())
			}
			requests := srv.Requests()
			if len(requests) != 5 {
				t.Fatalf("%d requests reached the model", len(requests))
			}
			if !strings.Contains(string(requests[2].Body), "in capitals") {
				t.Error("the requested change did not reach the model")
			}
		})
	}
}
