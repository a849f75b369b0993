package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// toolCall is a tool that the agent wants to use.
type toolCall struct {
	id, tool string // tool: "run" or "write"
	command  string // of run
	path     string // of write, as the script has it
	text     string // of write
	reason   string
	approve  *bool
	do       func(ctx context.Context) (output string, failed bool)
}

// kind is the kind of tool call as the protocol has it.
func (c *toolCall) kind() string {
	if c.tool == "write" {
		return "edit"
	}
	return "execute"
}

func (t *prompt) command(r *Run) *toolCall {
	c := &toolCall{id: r.ID, tool: "run", command: t.expand(r.Command), reason: t.expand(r.Reason), approve: r.Approve}
	if c.id == "" {
		c.id = t.toolID("run")
	}
	output := t.expand(r.Output)
	c.do = func(ctx context.Context) (string, bool) {
		if !r.Shell {
			sleep(ctx, time.Duration(r.TakesMS)*time.Millisecond)
			return output, r.ExitCode != 0
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", c.command)
		cmd.Dir = t.s.cwd
		cmd.WaitDelay = 3 * time.Second // what it left behind may hold the output open
		out, err := cmd.CombinedOutput()
		return string(out), err != nil
	}
	return c
}

func (t *prompt) fileWrite(w *WriteFile) *toolCall {
	c := &toolCall{id: w.ID, tool: "write", path: w.Path, text: t.expand(w.Text), reason: t.expand(w.Reason), approve: w.Approve}
	if c.id == "" {
		c.id = t.toolID("write")
	}
	c.do = func(context.Context) (string, bool) {
		root, err := os.OpenRoot(t.s.cwd)
		if err != nil {
			return err.Error(), true
		}
		defer func() { _ = root.Close() }() // nothing is written through it later
		err = errors.Join(root.MkdirAll(filepath.Dir(w.Path), 0o755), root.WriteFile(w.Path, []byte(c.text), 0o644))
		if err != nil {
			return err.Error(), true
		}
		return "File created successfully at: " + w.Path, false
	}
	return c
}

// diff is what a write changes, as content of a tool call.
func (t *prompt) diff(c *toolCall, path string) []any {
	return []any{object{"type": "diff", "path": path, "oldText": nil, "newText": c.text}}
}

// propose offers a plan for review.
func (t *prompt) propose(plan string) error {
	a := t.a
	t.set("plan", plan)
	open := &openReview{ToolCallID: t.toolID("plan"), Plan: plan}
	a.mu.Lock()
	t.s.hasPlan = true
	t.s.review = open
	t.s.keep(sessionRecord{Plan: true, Review: open})
	a.mu.Unlock()
	return t.reviewed(a.dialect.review(t, open))
}

// reviewed notes that a review has its answer; a process that ended meanwhile notes nothing.
func (t *prompt) reviewed(err error) error {
	if t.a.ctx.Err() != nil || !t.a.alive() {
		return err
	}
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.s.review = nil
	t.s.keep(sessionRecord{Reviewed: true})
	return err
}

// reraise asks once more for the review that was open when the process ended.
func (a *ACP) reraise(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &prompt{a: a, s: s, rule: &ACPTurn{}, promptID: a.newID()}
	t.ctx, t.cancel = context.WithCancel(a.ctx)
	s.running = t
	open := s.review
	a.turns.Add(1)
	go func() {
		defer a.turns.Done()
		defer t.cancel()
		err := t.reviewed(a.dialect.review(t, open))
		if err == nil {
			err = t.steps(a.script.Behaviour.Reraised)
		}
		t.finish(err)
	}()
}

// elicit puts a form or a URL consent and waits for the answer.
func (t *prompt) elicit(params object) error {
	_, err := t.form(params)
	return err
}

// form returns the content of an accepted form; nil when it was declined or cancelled.
func (t *prompt) form(params object) (map[string]json.RawMessage, error) {
	params["sessionId"] = t.session()
	answer, err := t.request("elicitation/create", params)
	if err != nil {
		return nil, err
	}
	return t.filledIn(answer), nil
}

func (t *prompt) filledIn(answer inbound) map[string]json.RawMessage {
	var given struct {
		Action  string                     `json:"action"`
		Content map[string]json.RawMessage `json:"content"`
	}
	if answer.Result == nil || json.Unmarshal(answer.Result, &given) != nil || given.Action == "" {
		given.Action = "cancel"
	}
	t.set("action", given.Action)
	t.set("content", string(encode(given.Content)))
	if given.Action != "accept" {
		return nil
	}
	if given.Content == nil {
		given.Content = map[string]json.RawMessage{}
	}
	return given.Content
}

// consent asks for a URL and tells when what it was for has happened.
func (t *prompt) consent(e *Elicitation) error {
	id := t.a.newID()
	params := object{"sessionId": t.session(), "mode": "url", "message": t.expand(e.Message), "url": t.expand(e.URL), "elicitationId": id}
	if e.Elsewhere {
		call, answers := t.a.ask("elicitation/create", params)
		t.a.out.notify("elicitation/complete", object{"elicitationId": id})
		answer, err := t.answered(call, answers)
		if err == nil {
			t.filledIn(answer)
		}
		return err
	}
	if err := t.elicit(params); err != nil {
		return err
	}
	t.a.out.notify("elicitation/complete", object{"elicitationId": id})
	return t.ctx.Err()
}

func (t *prompt) checklist(checks []Check) {
	entries := make([]any, len(checks))
	for i, c := range checks {
		status := c.Status
		if status == "inProgress" {
			status = "in_progress"
		}
		entries[i] = object{"content": t.expand(c.Step), "priority": "medium", "status": status}
	}
	t.tell(object{"sessionUpdate": "plan", "entries": entries})
}

// settings changes what is in force, as an agent does by itself.
func (t *prompt) settings(c *Change) error {
	a := t.a
	for _, option := range []struct{ id, value string }{{"model", c.Model}, {"effort", c.Effort}} {
		if option.value == "" {
			continue
		}
		a.mu.Lock()
		e := t.s.change(option.id, encode(option.value))
		a.mu.Unlock()
		if e != nil {
			return &ended{ACPEnd{Error: e}}
		}
		a.dialect.selfChanged(t.s, option.id)
	}
	if c.Mode != "" {
		a.enter(t.s, c.Mode)
	}
	return t.ctx.Err()
}

// enter changes the mode on the agent's own account and tells.
func (a *ACP) enter(s *session, mode string) {
	a.mu.Lock()
	if id := a.dialect.modeOption(); id != "" {
		s.config[id] = encode(mode)
	}
	s.mode = mode
	s.saved(sessionRecord{Config: s.config, Mode: mode})
	a.mu.Unlock()
	a.dialect.selfChanged(s, "mode")
}

// spawn runs steps in a session of a child.
func (t *prompt) spawn(c *Child) error {
	kid := &prompt{a: t.a, s: t.s, id: nil, rule: &ACPTurn{}, text: t.expand(c.Prompt), promptID: t.promptID, child: t.a.newID(), ctx: t.ctx, cancel: t.cancel}
	call := object{"sessionUpdate": "tool_call", "toolCallId": t.toolID("child"), "title": kid.text, "kind": "other", "status": "in_progress"}
	if !c.Early {
		t.tell(call)
	}
	if c.Background {
		kid.ctx = t.a.ctx
		t.a.turns.Add(1)
		go func() {
			defer t.a.turns.Done()
			_ = kid.steps(c.Steps) // a child that ends in its own way ends nothing else
		}()
	} else if err := kid.steps(c.Steps); err != nil && t.ctx.Err() != nil {
		return err
	}
	if c.Early {
		t.tell(call)
	}
	t.tell(object{"sessionUpdate": "tool_call_update", "toolCallId": call["toolCallId"], "status": "completed"})
	return t.ctx.Err()
}

func (t *prompt) huge(h *Huge) error {
	text := strings.Repeat("x", h.Bytes)
	switch h.Kind {
	case "delta":
		t.tell(object{"sessionUpdate": "agent_message_chunk", "content": textBlock(text)})
	case "junk":
		t.a.out.line([]byte(text))
	case "request":
		_, _, err := t.permit(object{"toolCallId": t.toolID("run"), "title": text, "kind": "execute"}, []permission{{"allow", "Allow", "allow_once"}, {"reject", "Reject", "reject_once"}})
		return err
	case "response":
		t.a.out.mu.Lock()
		t.a.out.pad = h.Bytes
		t.a.out.mu.Unlock()
	}
	return t.ctx.Err()
}
