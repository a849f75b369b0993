package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// verdict is how an approval ended.
type verdict int

const (
	accepted verdict = iota
	declined
	cancelled
)

// needsApproval says whether an action needs approval.
func (r *run) needsApproval(approve *bool) bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.th.settings.ApprovalPolicy == "never" {
		return false
	}
	if approve != nil {
		return *approve
	}
	return r.th.settings.Sandbox.Type == "readOnly"
}

func (r *run) reviewed() bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.th.settings.Reviewer == "auto_review"
}

// readDecision reads what was decided. A decision that cannot be read is a decline.
func (r *run) readDecision(answer inbound) verdict {
	var given struct {
		Decision json.RawMessage `json:"decision"`
	}
	if answer.Result != nil {
		_ = json.Unmarshal(answer.Result, &given) // what is unreadable leaves no decision
	}
	var word string
	if json.Unmarshal(given.Decision, &word) != nil {
		word = "decline"
		var amended map[string]json.RawMessage
		if json.Unmarshal(given.Decision, &amended) == nil && amended["acceptWithExecpolicyAmendment"] != nil {
			word = "acceptWithExecpolicyAmendment"
		}
	}
	r.set("decision", word)
	switch word {
	case "accept", "acceptForSession", "acceptWithExecpolicyAmendment":
		return accepted
	case "cancel":
		return cancelled
	default:
		return declined
	}
}

// review tells of an automatic review in the user's place.
func (r *run) review(item string, action object, deny string) verdict {
	id, started := r.s.newID(), r.s.now().UnixMilli()
	told := object{"threadId": r.th.id, "turnId": r.past.id, "startedAtMs": started, "reviewId": id, "targetItemId": item,
		"review": object{"status": "inProgress", "riskLevel": nil, "userAuthorization": nil, "rationale": nil}, "action": action}
	r.s.out.notify("item/autoApprovalReview/started", told)
	status, risk, authorization, rationale, v := "approved", "low", "high", "The script allows it.", accepted
	if deny != "" {
		status, risk, authorization, rationale, v = "denied", "high", "low", r.expand(deny), declined
		r.s.out.notify("guardianWarning", object{"threadId": r.th.id,
			"message": fmt.Sprintf("Automatic approval review denied (risk: %s, authorization: %s): %s", risk, authorization, rationale)})
	}
	told["completedAtMs"], told["decisionSource"] = r.s.now().UnixMilli(), "agent"
	told["review"] = object{"status": status, "riskLevel": risk, "userAuthorization": authorization, "rationale": rationale}
	r.s.out.notify("item/autoApprovalReview/completed", told)
	return v
}

// runCommand does a command.
func (r *run) runCommand(c *Run) error {
	id := c.ID
	if id == "" {
		id = "call_" + r.s.newID()
	}
	command := r.expand(c.Command)
	shown := "/bin/bash -lc '" + command + "'"
	actions := []any{object{"type": "unknown", "command": command}}
	item := object{"type": "commandExecution", "id": id, "pluginId": nil, "scriptPath": nil, "command": shown, "cwd": r.th.cwd,
		"processId": nil, "source": "agent", "status": "inProgress", "commandActions": actions, "aggregatedOutput": nil, "exitCode": nil, "durationMs": nil}
	verdict := accepted
	var started int64
	var err error
	if !r.needsApproval(c.Approve) {
		item["source"], item["processId"] = "unifiedExecStartup", itoa(os.Getpid())
		started = r.start(item)
	} else {
		started, verdict, err = r.approve(item, c.DenyReview,
			object{"type": "command", "source": "unifiedExec", "command": shown, "cwd": r.th.cwd},
			"item/commandExecution/requestApproval", object{
				"kind": "command", "threadId": r.th.id, "turnId": r.past.id, "itemId": id, "environmentId": "local", "reason": orNull(r.expand(c.Reason)),
				"command": shown, "cwd": r.th.cwd, "commandActions": actions, "proposedExecpolicyAmendment": strings.Fields(command),
				"availableDecisions": []any{"accept", object{"acceptWithExecpolicyAmendment": object{"execpolicy_amendment": strings.Fields(command)}}, "cancel"},
			})
		if err != nil {
			return err
		}
	}
	if verdict != accepted {
		item["status"] = "declined"
		r.complete(item, started)
		return r.afterVerdict(verdict)
	}
	output, code := r.expand(c.Output), c.ExitCode
	begun := r.s.now()
	if c.Shell {
		output, code = r.shell(command)
	} else {
		sleep(r.ctx, time.Duration(c.TakesMS)*time.Millisecond)
	}
	if r.ctx.Err() != nil {
		// The real harness leaves the item open; where it lets the command run on, it
		// tells its end whenever that comes.
		if c.LateMS > 0 {
			r.late = append(r.late, func() {
				if sleep(r.s.ctx, time.Duration(c.LateMS)*time.Millisecond) {
					item["status"], item["exitCode"], item["durationMs"] = "completed", code, r.s.now().Sub(begun).Milliseconds()
					r.complete(item, started)
				}
			})
		}
		r.modelAnswered()
		return r.ctx.Err()
	}
	if output != "" {
		r.delta("item/commandExecution/outputDelta", id, output)
	}
	item["status"], item["exitCode"], item["durationMs"] = "completed", code, r.s.now().Sub(begun).Milliseconds()
	if code != 0 {
		item["status"] = "failed"
	}
	item["aggregatedOutput"] = orNull(output)
	r.complete(item, started)
	r.modelAnswered()
	return r.ctx.Err()
}

// approve begins an item and gets a verdict on it, from the user or from a review. The
// order of the frames is that of the real harness.
func (r *run) approve(item object, deny string, action object, method string, params object) (int64, verdict, error) {
	if r.reviewed() {
		started := r.start(item)
		return started, r.review(item["id"].(string), action, deny), r.ctx.Err()
	}
	command := item["type"] == "commandExecution"
	if command { // told before the item; for a patch it is the other way round
		r.s.status(r.th, "active", "waitingOnApproval")
	}
	started := r.start(item)
	if !command {
		r.s.status(r.th, "active", "waitingOnApproval")
	}
	params["startedAtMs"] = started
	id, answer := r.s.ask(method, params)
	given, err := r.await("waitingOnApproval", id, answer, 0)
	if err != nil {
		return started, declined, err
	}
	return started, r.readDecision(given), nil
}

func (r *run) afterVerdict(v verdict) error {
	if v == cancelled {
		return errCancelled
	}
	r.modelAnswered()
	return r.ctx.Err()
}

// shell really runs a command, in the thread's directory.
func (r *run) shell(command string) (string, int) {
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = r.th.cwd
	cmd.WaitDelay = 3 * time.Second // what it left behind may hold the output open
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return fmt.Sprint(err), 127
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// writeFile adds or replaces a file inside the thread's directory.
func (r *run) writeFile(w *WriteFile) error {
	id := w.ID
	if id == "" {
		id = "call_" + r.s.newID()
	}
	text := r.expand(w.Text)
	root, err := os.OpenRoot(r.th.cwd)
	if err != nil {
		return r.fail(&Failure{Code: "other", Message: err.Error()})
	}
	defer func() { _ = root.Close() }() // nothing is written through it later
	kind := object{"type": "add"}
	diff := text
	if old, err := root.ReadFile(w.Path); err == nil {
		kind = object{"type": "update", "move_path": nil}
		diff = "@@ -1 +1 @@\n" + prefixed("-", string(old)) + prefixed("+", text)
	}
	item := object{"type": "fileChange", "id": id, "status": "inProgress",
		"changes": []any{object{"path": filepath.Join(r.th.cwd, w.Path), "kind": kind, "diff": diff}}}
	verdict := accepted
	var started int64
	if r.needsApproval(w.Approve) {
		started, verdict, err = r.approve(item, w.DenyReview,
			object{"type": "applyPatch", "cwd": r.th.cwd, "files": []any{filepath.Join(r.th.cwd, w.Path)}},
			"item/fileChange/requestApproval", object{"threadId": r.th.id, "turnId": r.past.id, "itemId": id, "reason": orNull(r.expand(w.Reason)), "grantRoot": nil})
		if err != nil {
			return err
		}
	} else {
		started = r.start(item)
	}
	if verdict != accepted {
		item["status"] = "declined"
		r.complete(item, started)
		return r.afterVerdict(verdict)
	}
	item["status"] = "completed"
	err = root.MkdirAll(filepath.Dir(w.Path), 0o755)
	if err == nil {
		err = root.WriteFile(w.Path, []byte(text), 0o644)
	}
	if err != nil {
		item["status"] = "failed"
		r.s.logf("ERROR %v", err)
	}
	r.complete(item, started)
	if err == nil {
		r.s.out.notify("turn/diff/updated", object{"threadId": r.th.id, "turnId": r.past.id,
			"diff": "--- /dev/null\n+++ b/" + filepath.ToSlash(w.Path) + "\n" + prefixed("+", text)})
	}
	r.modelAnswered()
	return r.ctx.Err()
}

// prefixed puts a sign before every line, as in a diff.
func prefixed(sign, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(sign + line)
	}
	return b.String()
}

func (r *run) askPermissions(p *Permissions) error {
	id := p.ID
	if id == "" {
		id = "call_" + r.s.newID()
	}
	wanted := p.Permissions
	if wanted == nil {
		wanted = json.RawMessage(`{"network":{"enabled":true},"fileSystem":null}`)
	}
	answer, err := r.request("waitingOnApproval", "item/permissions/requestApproval", object{
		"threadId": r.th.id, "turnId": r.past.id, "itemId": id, "environmentId": "local", "startedAtMs": r.s.now().UnixMilli(),
		"cwd": r.th.cwd, "reason": orNull(r.expand(p.Reason)), "permissions": wanted}, 0)
	if err != nil {
		return err
	}
	var given struct {
		Permissions json.RawMessage `json:"permissions"`
		Scope       string          `json:"scope"`
	}
	if answer.Result == nil || json.Unmarshal(answer.Result, &given) != nil || given.Permissions == nil {
		given.Scope = "none"
	}
	r.set("decision", given.Scope)
	r.set("content", string(given.Permissions))
	r.modelAnswered()
	return r.ctx.Err()
}

// elicit asks for a form or a URL consent, inside a tool call of a server.
func (r *run) elicit(e *Elicitation, mode string) error {
	server := e.Server
	if server == "" {
		server = "scripted"
	}
	item := object{"type": "mcpToolCall", "id": "call_" + r.s.newID(), "server": server, "tool": mode, "status": "inProgress", "arguments": object{},
		"appContext": nil, "pluginId": nil, "readOnlyHint": true, "result": nil, "error": nil, "durationMs": nil}
	asked := object{"threadId": r.th.id, "turnId": r.past.id, "serverName": server, "mode": mode, "_meta": nil, "message": r.expand(e.Message)}
	if mode == "form" {
		asked["requestedSchema"] = e.Schema
	} else {
		asked["url"], asked["elicitationId"] = r.expand(e.URL), r.s.newID()
	}
	if !r.s.old {
		item["environmentId"], item["mcpAppUi"], asked["environmentId"] = nil, nil, nil
	}
	started := r.start(item)
	answer, err := r.request("waitingOnApproval", "mcpServer/elicitation/request", asked, 0)
	if err != nil {
		return err
	}
	var given struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if answer.Result == nil || json.Unmarshal(answer.Result, &given) != nil || given.Action == "" {
		given.Action = "cancel"
	}
	r.set("action", given.Action)
	r.set("content", string(given.Content))
	result := object{"action": given.Action}
	if given.Content != nil && string(given.Content) != "null" {
		result["content"] = given.Content
	}
	item["status"], item["durationMs"] = "completed", r.s.now().UnixMilli()-started
	item["result"] = object{"content": []any{object{"type": "text", "text": string(encode(result))}}, "structuredContent": nil, "_meta": nil}
	r.complete(item, started)
	r.modelAnswered()
	return r.ctx.Err()
}
