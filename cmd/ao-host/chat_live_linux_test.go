package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"

	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

// liveScreen starts a chat with a real harness; only the model is scripted.
func liveScreen(t *testing.T, harness string, home lab.Home, args ...string) *screen {
	t.Helper()
	bin, err := exec.LookPath("ao-host")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &screen{t: t, place: &place{t: t, bin: bin, project: filepath.Join(dir, "pro ject")}, vt: vt.NewSafeEmulator(100, 34)}
	if err := os.Mkdir(s.project, 0o700); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if err := warmUp(data); err != nil {
		t.Fatal(err)
	}
	// Without a login shell the environment is the lab's.
	s.env = append(home.Env, "SHELL=/bin/false", "TERM=xterm-256color", "AO_HOST_DATA="+data)
	argv := []string{bin, "chat", "--new", "--harness", harness}
	for _, word := range home.Argv {
		argv = append(argv, "--launch", word)
	}
	s.open(100, 34, s.project, append(argv, args...)...)
	s.sees("Write a message")
	return s
}

func TestLiveInTheChatTheRealCodexAsksPlansRevisesAndImplements(t *testing.T) {
	h := lab.Require(t, "codex", lab.CodexVersions[0])
	srv := model.Start(t, model.Script{Steps: []model.Step{
		{Reply: []model.Action{model.Call("call_1", "request_user_input", `{"questions":[{"id":"colour","header":"Colour","question":"Which colour?","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}`)}},
		{Reply: []model.Action{model.Text("<proposed_plan>\n# Paint\n1. Write the colour.\n</proposed_plan>")}},
		{Reply: []model.Action{model.Text("<proposed_plan>\n# Paint\n1. Write the colour in capitals.\n</proposed_plan>")}},
		{Reply: []model.Action{model.Call("call_2", "exec_command", `{"cmd":"printf BLUE >colour.txt","yield_time_ms":30000}`)}},
		{Reply: []model.Action{model.Text("**Painted.**")}},
	}})
	s := liveScreen(t, "codex", lab.CodexHome(t, h, srv.URL()+"/v1", lab.CodexOptions{}), "--mode", "plan", "--permission", "bypass-permissions")
	s.write("Paint it" + keyEnter)
	s.sees("Which colour?", "2 Blue – cold")
	s.write("2" + keyEnter)
	s.sees("plan 1, revision 1", "1. Write the colour.", "1 implement it – with the permission bypass-permissions")
	s.write("2" + keyEnter)
	s.sees("What should change:")
	s.write("in capitals" + keyEnter)
	s.sees("plan 2, revision 1", "Write the colour in capitals.")
	s.write("1" + keyEnter)
	s.sees("Painted.", "turn 3 completed", "ready", "answered: Colour: Blue")
	s.write(keyCtrlD)
	s.left(0, "To come back: ao-host chat ")
	if b, err := os.ReadFile(filepath.Join(s.project, "colour.txt")); err != nil || string(b) != "BLUE" {
		t.Errorf("the file has %q, %v", b, err)
	}
}

func TestLiveInTheChatTheRealClaudeAsksForSeveralAndForPermission(t *testing.T) {
	h := lab.Require(t, "claude", lab.ClaudeVersions[0])
	call := func(id, tool, input string) model.Step {
		return model.Step{Reply: []model.Action{model.Call(id, tool, input)}}
	}
	srv := model.Start(t, model.Script{Steps: []model.Step{
		call("toolu_ask", "AskUserQuestion", `{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cool"}]},`+
			`{"question":"Which sizes?","header":"Sizes","multiSelect":true,"options":[{"label":"S","description":"small"},{"label":"L","description":"large"}]}]}`),
		{Match: model.Match{Result: "toolu_ask"}, Reply: []model.Action{model.Call("toolu_run", "Bash", `{"command":"printf 'blue\\n' > colour.txt","description":"write"}`)}},
		{Match: model.Match{Result: "toolu_run"}, Reply: []model.Action{model.Text("All **done**.")}},
	}})
	s := liveScreen(t, "claude", lab.ClaudeHome(t, h, srv.URL(), lab.ClaudeOptions{}), "--mode", "default")
	s.write("Paint it" + keyEnter)
	s.sees("1 of 2. Colour: Which colour?", "2 Blue – cool")
	s.write("2" + keyEnter)
	s.sees("A text beside it (Enter alone: none):")
	s.write(keyEnter)
	s.sees("2 of 2. Sizes: Which sizes?", "[ ] S – small", "[ ] L – large")
	s.write("12")
	s.sees("[x] S", "[x] L")
	s.write(keyEnter)
	s.sees("A text beside it (Enter alone: none):")
	s.write(keyEnter)
	show := s.sees("This command would run:", "│ printf 'blue\\n' > colour.txt", "allows it once")
	for line := range strings.Lines(show) {
		if at := strings.TrimSpace(line); strings.Contains(at, "allows it once") {
			s.write(at[:1] + keyEnter)
		}
	}
	s.sees("All done.", "turn 1 completed", "ready")
	s.write(keyCtrlD)
	s.left(0, "To come back: ao-host chat ")
	if b, err := os.ReadFile(filepath.Join(s.project, "colour.txt")); err != nil || string(b) != "blue\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
	for _, r := range srv.Requests() {
		if strings.Contains(string(r.Body), `\"Which sizes?\"=\"S, L\"`) {
			return
		}
	}
	t.Error("both sizes did not reach the model")
}
