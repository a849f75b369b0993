package scripted_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aoagents/ao-host/lab/scripted"
)

// helloACP starts a session in a process and returns its id.
func (c *child) helloACP(dir string) string {
	c.t.Helper()
	c.call("initialize", obj{"protocolVersion": 1})
	c.until("")
	c.call("session/new", obj{"cwd": dir, "mcpServers": []any{}})
	return field(c.t, c.until("").Result, "sessionId")
}

func (c *child) promptACP(session, text string) {
	c.t.Helper()
	c.call("session/prompt", obj{"sessionId": session, "prompt": []obj{{"type": "text", "text": text}}})
}

// replayedTexts are the user's messages that a session remembers after a restart.
func replayedTexts(t *testing.T, home, session string) []string {
	t.Helper()
	a := startACP(t, scripted.ProfileModern, `{}`, home)
	a.hello()
	if f := a.reopen("session/load", session); f.Error != nil {
		return []string{f.Error.Message}
	}
	var out []string
	for _, f := range a.all() {
		if updateKind(t, &f) == "user_message_chunk" {
			out = append(out, field(t, f.Params, "update.content.text"))
		}
	}
	return out
}

func TestRule20_AnACPAgentThatDiesRemembersWhatItHadKeptAndNothingElse(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	c := launchAs(t, "acp", `{"turns":[{"when":{"text":"kept"},"steps":[{"say":"a"},{"wait_interrupt":true}]},{"when":{"text":"lost"},"exit_before_message":8,"steps":[]},{"steps":[]}]}`, home)
	session := c.helloACP(dir)
	c.promptACP(session, "first")
	c.until("")
	c.promptACP(session, "kept")
	c.until("session/update")
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	file := filepath.Join(home, "scripted", "acp-"+session+".jsonl")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"past":{"sessionUpdate":"user_mess`); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if texts := replayedTexts(t, home, session); !slices.Equal(texts, []string{"first", "kept"}) {
		t.Errorf("remembered %q", texts)
	}
	c = launchAs(t, "acp", `{"turns":[{"repeat":true,"exit_before_message":8,"steps":[]}]}`, home)
	c.call("initialize", obj{"protocolVersion": 1})
	c.until("")
	c.call("session/resume", obj{"sessionId": session, "cwd": dir, "mcpServers": []any{}})
	c.until("")
	c.promptACP(session, "lost")
	if code := c.code(); code != 8 {
		t.Errorf("exit code %d", code)
	}
	if texts := replayedTexts(t, home, session); !slices.Equal(texts, []string{"first", "kept"}) {
		t.Errorf("remembered %q", texts)
	}
}

func TestAnACPAgentCanHangFromTheStartAndOutliveItsInput(t *testing.T) {
	c := launchAs(t, "acp", `{"start":[{"stderr":"thinking"},{"hang":true}]}`, "")
	c.call("initialize", obj{"protocolVersion": 1})
	if !c.running() || c.out.Buffered() != 0 {
		t.Error("it does not hang")
	}
	d := launchAs(t, "acp", `{"start":[{"ignore_eof":true},{"ignore_sigterm":true}],"methods":{"session/list":[{"exit":6}]}}`, "")
	d.helloACP(t.TempDir())
	d.call("session/list", obj{})
	if code := d.code(); code != 6 {
		t.Errorf("exit code %d", code)
	}
	e := launchAs(t, "acp", `{"start":[{"ignore_eof":true}]}`, "")
	e.helloACP(t.TempDir())
	_ = e.in.Close()
	if !e.running() {
		t.Error("ended with its input")
	}
}
