package scripted

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// grok is Grok 1.0.41 or, when legacy, one from before it had config options.
type grok struct {
	generic
	legacy bool
}

func (g *grok) initialize() object {
	methods := []any{object{"id": "grok.com", "name": "Grok", "description": "Sign in with Grok"}}
	meta := object{"grokShell": true, "agentVersion": "1.0.41"}
	if g.a.script.Behaviour.Auth != authAlways {
		methods = append([]any{object{"id": "xai.api_key", "name": "xai.api_key", "description": "XAI_API_KEY or api_key/env_key in config.toml"}}, methods...)
		meta["defaultAuthMethodId"] = "xai.api_key"
	}
	return object{"agentCapabilities": object{"loadSession": true, "promptCapabilities": object{"image": false, "audio": false, "embeddedContext": true},
		"mcpCapabilities": object{"http": true, "sse": true}, "sessionCapabilities": object{"list": object{}, "resume": object{}, "close": object{}}, "auth": object{}},
		"authMethods": methods, "_meta": meta}
}

func (g *grok) beforeInitialized() {
	s := g.a.newSession("", "")
	g.a.out.notify("_x.ai/models/update", s.legacyModels())
}

func (g *grok) initialized() {
	g.a.out.notify("_x.ai/mcp/servers_updated", object{"mcpServers": []any{}})
}

func (g *grok) lacks() []string {
	if g.legacy {
		return []string{"session/set_config_option"}
	}
	return nil
}

func (g *grok) keepsAtOnce() bool               { return true }
func (g *grok) modeOption() string              { return "" }
func (g *grok) secondPrompt() string            { return promptQueue }
func (g *grok) toolID(_ string, n int) string   { return "call_" + itoa(n+2) + "_0" }
func (g *grok) directory(cwd string) *RPCError  { return grokDirectory(cwd) }
func (g *grok) fixedWhileRunning(_ string) bool { return false }

func grokDirectory(cwd string) *RPCError {
	if filepath.IsAbs(cwd) {
		return nil // it need not exist
	}
	return grokInvalid("Path is not absolute: " + cwd)
}

func grokInvalid(why string) *RPCError {
	return &RPCError{Code: -32602, Message: "Invalid params", Data: encode(why)}
}

func (g *grok) authenticate(method string) *RPCError {
	if method == "xai.api_key" || method == "grok.com" || method == "cached_token" {
		return nil
	}
	return grokInvalid("unsupported auth method: " + method)
}

func (g *grok) noMethod(name string) *RPCError {
	e := &RPCError{Code: -32601, Message: "Method not found"}
	if strings.HasPrefix(name, "_") {
		e.Data = encode("unknown ACP extension method: " + name[1:])
	}
	return e
}

func (g *grok) invalid(missing []string, params json.RawMessage) *RPCError {
	return grokInvalid("missing field `" + missing[0] + "` at line 1 column " + itoa(len(params)))
}

func (g *grok) missing(method, _ string) *RPCError {
	switch method {
	case "session/load", "session/resume":
		if g.legacy {
			return grokInvalid("unknown session id")
		}
		return &RPCError{Code: -32603, Message: "Path not found.", Data: encode(object{"detail": "No such file or directory (os error 2)", "code": "FS_NOT_FOUND"})}
	case "session/set_mode":
		return nil // never answered
	}
	return grokInvalid("unknown session id")
}

func (g *grok) closed(_ string, was bool) (object, *RPCError) {
	if !was {
		return object{"_meta": object{"x.ai/closeOutcome": "notResident"}}, nil
	}
	return object{"_meta": object{"x.ai/closeOutcome": "closed"}}, nil
}

func (g *grok) opening(s *session, method string) {
	for _, phase := range []string{"auth", "resolve_workspace", "persistence_init", "spawn_session_actor"} {
		g.a.out.notify("_x.ai/session/setup", object{"method": method, "phase": phase, "sessionId": s.id})
	}
}

func (g *grok) catalogs(s *session) object {
	o := object{"models": s.legacyModels()}
	config := []any{}
	for _, option := range s.offered() {
		for _, v := range option.Values {
			config = append(config, object{"id": v.Value, "category": orText(option.Category, option.ID), "label": orText(v.Name, v.Value), "selected": v.Value == s.value(option.ID)})
		}
	}
	if !g.legacy {
		o["configOptions"] = s.configOptions()
	}
	o["_meta"] = object{"currentWorkingDirectory": s.cwd, "x.ai/sessionConfig": object{"options": config}}
	return o
}

func (g *grok) opened(s *session, method string) {
	g.a.out.notify("_x.ai/session/setup", object{"method": method, "phase": "response_ready", "sessionId": s.id})
	g.a.out.notify("_x.ai/mcp_initialized", object{"sessionId": s.id, "mcpToolCount": 0, "elapsedMs": 0})
	g.commands(s, nil)
}

func (g *grok) commands(s *session, t *prompt) {
	update := object{"sessionUpdate": "available_commands_update", "availableCommands": []any{
		object{"name": "compact", "description": "Compress conversation history to save context window", "input": object{"hint": "optional context about what to preserve"}},
		object{"name": "context", "description": "Show context window usage and session stats", "input": nil}}}
	params := object{"sessionId": s.id, "update": update}
	g.mark(s, t, params)
	g.a.out.notify("session/update", params)
}

// mark adds what Grok puts beside its updates.
func (g *grok) mark(s *session, t *prompt, params object) {
	g.a.mu.Lock()
	s.events++
	meta := object{"totalTokens": 120, "eventId": s.id + "-" + itoa(s.events-1), "agentTimestampMs": g.a.now().UnixMilli()}
	g.a.mu.Unlock()
	if t != nil {
		meta["promptId"] = t.promptID
	}
	params["_meta"] = meta
}

func (g *grok) dress(t *prompt, params object) { g.mark(t.s, t, params) }

func (g *grok) replayed(s *session, update json.RawMessage) {
	params := object{"sessionId": s.id, "update": update}
	g.mark(s, nil, params)
	params["_meta"].(object)["isReplay"] = true
	g.a.out.notify("session/update", params)
}

func (g *grok) settingError(wrong, option, _ string) *RPCError {
	if wrong == wrongOption {
		return grokInvalid("unknown config option: " + option)
	}
	return grokInvalid("unknown " + option + " id")
}

func (g *grok) optionChanged(*session, string, string) {}

// changeMode takes an unknown mode for no change at all.
func (g *grok) changeMode(s *session, mode string) *RPCError {
	if slices.Contains([]string{"default", "plan", "ask"}, mode) {
		s.mode = mode
		s.saved(sessionRecord{Mode: mode})
		s.remember(object{"sessionUpdate": "current_mode_update", "currentModeId": mode})
	}
	return nil
}

func (g *grok) modeChanged(s *session, mode string, done func()) {
	done()
	g.a.mu.Lock()
	is := s.mode
	g.a.mu.Unlock()
	if is == mode {
		g.tellMode(s, mode)
	}
}

func (g *grok) tellMode(s *session, mode string) {
	params := object{"sessionId": s.id, "update": object{"sessionUpdate": "current_mode_update", "currentModeId": mode}}
	g.mark(s, nil, params)
	g.a.out.notify("session/update", params)
}

func (g *grok) modelChanged(s *session) object {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	return object{"_meta": object{"model": object{"Ok": s.value("model")}}}
}

func (g *grok) promptMode(s *session, mode string) {
	if s.mode != mode && g.changeMode(s, mode) == nil && s.mode == mode {
		g.a.out.notify("session/update", object{"sessionId": s.id, "update": object{"sessionUpdate": "current_mode_update", "currentModeId": mode}})
	}
}

func (g *grok) selfChanged(s *session, what string) {
	g.a.mu.Lock()
	mode, model := s.mode, s.value("model")
	g.a.mu.Unlock()
	if what == "mode" {
		g.tellMode(s, mode)
		return
	}
	g.a.out.notify("_x.ai/session_notification", object{"sessionId": s.id, "update": object{"sessionUpdate": "model_changed", "model_id": model}})
}

// notice sends one of Grok's own notifications about a session.
func (g *grok) notice(t *prompt, kind string, more object) {
	g.a.out.notify("_x.ai/session_notification", object{"sessionId": t.session(), "update": with(more, "sessionUpdate", kind)})
}

// queued is called with the lock held.
func (g *grok) queued(t *prompt) {
	g.tellQueue(t.s, t.s.running, t)
}

func (g *grok) tellQueue(s *session, running *prompt, waiting ...*prompt) {
	entries := []any{}
	for i, t := range waiting {
		entries = append(entries, object{"id": t.promptID, "version": 0, "kind": "prompt", "text": t.text, "position": i})
	}
	params := object{"sessionId": s.id, "entries": entries}
	if running != nil {
		params["runningPromptId"], params["runningText"], params["runningKind"] = running.promptID, running.text, "prompt"
	}
	g.a.out.notify("_x.ai/queue/changed", params)
}

func (g *grok) begun(t *prompt) {
	g.tellQueue(t.s, t)
}

func (g *grok) gauge(t *prompt, _ int) {
	g.commands(t.s, t)
	g.notice(t, "response_completed", object{"usage": object{"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "reasoning_tokens": 0}})
}

// grokCall is a tool call as Grok tells it.
type grokCall struct {
	g                     *grok
	t                     *prompt
	id, name, kind, label string
	toolKind              string // of x.ai/tool
	readOnly              bool
	args, input           object // as the model wrote them, as the tool read them
	title                 string
	content, locations    []any
	described             object
}

func (k *grokCall) meta(read bool) object {
	tool := object{"version": 1, "name": k.name, "kind": k.toolKind, "namespace": "grok_build", "label": k.label, "read_only": k.readOnly}
	if read && k.described != nil {
		tool["input"] = k.described
	}
	return object{"x.ai/tool": tool}
}

// begin tells the call, as written and as read, up to the question whether it is permitted.
func (k *grokCall) begin() {
	g, t := k.g, k.t
	g.notice(t, "tool_call_delta_chunk", object{"tool_call_id": k.id, "tool_index": 0, "name": k.name, "arguments_delta": string(encode(k.args))})
	t.modelAnswered()
	t.tell(object{"sessionUpdate": "tool_call", "toolCallId": k.id, "title": k.name, "rawInput": k.args, "_meta": k.meta(false)})
	k.pending("permission")
	t.tell(with(k.read(), "sessionUpdate", "tool_call_update"))
}

// read is the call as the tool read it.
func (k *grokCall) read() object {
	o := object{"toolCallId": k.id, "kind": k.kind, "title": k.title, "locations": k.locations, "rawInput": k.input, "_meta": k.meta(true)}
	if k.locations == nil {
		o["locations"] = []any{}
	}
	if k.content != nil {
		o["content"] = k.content
	}
	return o
}

func (k *grokCall) pending(kind string) {
	k.g.notice(k.t, "pending_interaction", object{"tool_call_id": k.id, "kind": kind})
}

func (k *grokCall) resolved() {
	k.g.notice(k.t, "interaction_resolved", object{"tool_call_id": k.id})
}

func (k *grokCall) end(status, text string, more object) {
	update := object{"sessionUpdate": "tool_call_update", "toolCallId": k.id, "status": status, "content": []any{object{"type": "content", "content": textBlock(text)}}}
	for name, value := range more {
		update[name] = value
	}
	k.t.tell(update)
	whole := with(with(k.read(), "sessionUpdate", "tool_call"), "status", status)
	whole["content"] = update["content"]
	k.t.remember(whole) // a replay tells the call as one
}

func (g *grok) ask(t *prompt, q *Ask) error {
	var written, read []any
	for _, question := range q.Questions {
		options := []any{}
		for _, o := range question.Options {
			options = append(options, object{"label": o.Label, "description": o.Description})
		}
		written = append(written, object{"question": question.Question, "multi_select": question.Multi, "options": options})
		read = append(read, object{"question": question.Question, "multiSelect": question.Multi, "options": options})
	}
	k := &grokCall{g: g, t: t, id: q.ID, name: "ask_user_question", kind: "other", label: "Ask User", toolKind: "ask_user", readOnly: true,
		args: object{"questions": written}, input: object{"variant": "AskUserQuestion", "questions": read}, title: "Ask: " + q.Questions[0].Question}
	k.begin()
	k.resolved()
	k.pending("question")
	g.a.mu.Lock()
	mode := t.s.mode
	g.a.mu.Unlock()
	answer, err := t.extension("_x.ai/ask_user_question", object{"sessionId": t.session(), "toolCallId": q.ID, "questions": read, "mode": mode})
	if err != nil {
		return err
	}
	k.resolved()
	g.answered(t, k, q, answer)
	return t.ctx.Err()
}

// answered reads what came for a question: answers by the question's text, free text as "Other" with a note.
func (g *grok) answered(t *prompt, k *grokCall, q *Ask, answer inbound) {
	fail := func(why string) {
		why = "Tool `ask_user_question` failed: " + why
		k.end("failed", why, object{"rawOutput": object{"error": "tool_execution_failed", "message": why}})
	}
	if answer.Error != nil {
		var e RPCError
		_ = json.Unmarshal(answer.Error, &e) // an error without a message has none to tell
		fail("Failed to reach the client for user question: " + e.Message)
		return
	}
	var given struct {
		Outcome     string              `json:"outcome"`
		Answers     map[string][]string `json:"answers"`
		Partial     map[string]string   `json:"partial_answers"`
		Annotations map[string]struct {
			Notes string `json:"notes"`
		} `json:"annotations"`
	}
	if err := json.Unmarshal(answer.Result, &given); err != nil {
		fail("Client returned an invalid response to user question: " + err.Error())
		return
	}
	t.set("action", given.Outcome)
	var parts []string
	all := map[string]string{}
	for i, question := range q.Questions {
		said, note := strings.Join(given.Answers[question.Question], ", "), given.Annotations[question.Question].Notes
		if said == "" {
			said = given.Partial[question.Question]
		}
		text := said
		if note != "" && said == "Other" {
			text = note
		}
		t.set("answer."+orText(question.ID, "question_"+itoa(i)), text)
		if said != "" {
			all[question.Question] = text
			part := `"` + question.Question + `"="` + said + `"`
			if note != "" {
				part += " user notes: " + note
			}
			parts = append(parts, part)
		}
	}
	t.set("answers", string(encode(all)))
	message := "User declined to answer the questions. Continue with the task using your best judgment, or ask different questions."
	if len(parts) > 0 {
		message = "User has answered your questions: " + strings.Join(parts, ", ") + ". You can now continue with the user's answers in mind."
	}
	k.end("completed", message, object{"rawOutput": object{"type": "AskUserQuestion", "UserAnswered": object{"message": message}}})
}

func (g *grok) review(t *prompt, r *openReview) error {
	k := &grokCall{g: g, t: t, id: r.ToolCallID, name: "exit_plan_mode", kind: "other", label: "Exit Plan Mode", toolKind: "exit_plan", readOnly: true,
		args: object{}, input: object{"variant": "ExitPlanMode"}, title: "Plan: Exit"}
	k.begin()
	k.resolved()
	k.pending("plan_approval")
	answer, err := t.extension("_x.ai/exit_plan_mode", object{"sessionId": t.session(), "toolCallId": r.ToolCallID, "planContent": orNull(r.Plan)})
	if err != nil {
		return err
	}
	k.resolved()
	if answer.Error != nil {
		t.decide(false)
		return errCancelled // the turn ends, and the mode stays
	}
	var given struct{ Outcome, Feedback string }
	if json.Unmarshal(answer.Result, &given) != nil {
		given.Outcome = "cancelled"
	}
	t.set("feedback", given.Feedback)
	switch given.Outcome {
	case "approved":
		g.a.enter(t.s, "default")
		k.end("completed", "Plan file: plan.md", object{"title": "Plan mode exited", "rawOutput": object{"type": "ExitPlanMode"}})
	case "abandoned":
		g.a.enter(t.s, "default")
		k.end("completed", "The user chose to abandon the plan entirely (via the Abandon option in the plan approval dialog). Plan mode has been disabled. Do not call exit_plan_mode again unless the user explicitly asks to re-enter plan mode.", nil)
	default:
		given.Outcome = "cancelled"
		k.end("completed", "The user does not want to exit plan mode. Continue planning and ask the user what they would like to do.", nil)
	}
	t.decide(given.Outcome == "approved")
	t.set("action", given.Outcome)
	return t.ctx.Err()
}

func (g *grok) tool(t *prompt, c *toolCall) error {
	k := &grokCall{g: g, t: t, id: c.id, name: "run_terminal_command", kind: "execute", label: "Run Command", toolKind: "execute", title: "Execute `" + c.command + "`",
		args:  object{"command": c.command, "description": orText(c.reason, "run")},
		input: object{"variant": "Bash", "command": c.command, "description": orText(c.reason, "run"), "is_background": false}, content: []any{object{"type": "content", "content": textBlock(orText(c.reason, "run"))}}}
	k.described = k.args
	options := []permission{{"always-allow", "Yes, and don't ask again for bash commands", "allow_always"}, {"allow-once", "Yes, proceed", "allow_once"},
		{"reject-once", "No, and tell Grok what to do differently", "reject_once"}, {"reject-always", "No, and don't ask again for this command", "reject_always"}}
	if c.tool == "write" {
		k.name, k.kind, k.label, k.toolKind, k.title = "write", "edit", "Write", "write", "Write `"+c.path+"`"
		k.args, k.input = object{"file_path": c.path, "content": c.text}, object{"variant": "Write", "file_path": c.path, "content": c.text}
		k.content, k.locations, k.described = t.diff(c, filepath.Join(t.s.cwd, c.path)), []any{object{"path": c.path}}, object{"path": c.path}
		options = []permission{{"allow-edits-session", "Yes, allow all edits during this session", "allow_always"}, {"allow-once", "Yes", "allow_once"},
			{"reject-once", "No, and tell Grok what to do differently", "reject_once"}}
	}
	k.begin()
	g.a.mu.Lock()
	mode := t.s.mode
	g.a.mu.Unlock()
	if mode == "plan" && c.tool == "write" {
		k.resolved()
		k.end("failed", "Rejected: file edits are not allowed in plan mode - the only editable file is the plan", nil)
		return t.ctx.Err()
	}
	if g.asks(t, c) {
		shown := k.read()
		delete(shown, "content")
		delete(shown, "locations")
		_, kind, err := t.permit(shown, options)
		if err != nil {
			return err
		}
		k.resolved()
		if !strings.HasPrefix(kind, "allow") { // a refusal ends the turn
			how := map[bool]string{true: "cancelled", false: "rejected"}[kind == ""]
			t.why = map[bool]string{true: "PermissionCancelled", false: "PermissionRejected"}[kind == ""]
			k.end("failed", "User "+how+" the execution for tool `"+k.name+"`", nil)
			return errCancelled
		}
	} else {
		k.resolved()
	}
	output := func(text string) object {
		return object{"type": "Bash", "output": []any{}, "output_for_prompt": text, "exit_code": 0, "command": c.command, "current_dir": t.s.cwd}
	}
	if c.tool == "run" {
		g.a.update(t.session(), object{"sessionUpdate": "tool_call_update", "toolCallId": k.id, "status": "in_progress",
			"content": []any{object{"type": "content", "content": textBlock("")}}, "rawOutput": output("")})
	}
	text, failed := c.do(t.ctx)
	if err := t.ctx.Err(); err != nil {
		return err
	}
	more := object{"rawOutput": output(text)}
	if c.tool == "write" {
		more = object{"content": k.content, "rawOutput": object{"EditsApplied": object{"absolute_path": filepath.Join(t.s.cwd, c.path)}}}
	}
	k.end(map[bool]string{true: "failed", false: "completed"}[failed], text, more)
	return t.ctx.Err()
}

// failed tells the retries, then the end. A code of "rate_limit" is an error of its own.
func (g *grok) failed(t *prompt, f Failure) {
	for n := range f.Retries {
		g.notice(t, "retry_state", object{"type": "retrying", "attempt": n + 1, "max_retries": 15, "reason": f.Message, "error_type": "api"})
	}
	e, stop := &RPCError{Code: -32603, Message: "Internal error", Data: encode(object{"message": f.Message, "http_status": f.HTTP})}, "error"
	switch {
	case f.Code == "rate_limit":
		e, stop = &RPCError{Code: -32003, Message: "Rate limited", Data: encode(f.Message)}, "rate_limit"
	case f.HTTP == 401:
		e.Data = encode(f.Message)
	}
	g.tellEnd(t, stop, orNull(f.Message), ACPEnd{Error: e})
}

func (g *grok) finished(t *prompt, end ACPEnd) { g.tellEnd(t, end.StopReason, nil, end) }

// tellEnd tells a prompt's end three times: as two notifications and as the answer.
func (g *grok) tellEnd(t *prompt, stop string, result any, end ACPEnd) {
	u := t.tokens
	usage := object{"inputTokens": u.Input, "outputTokens": u.Output, "totalTokens": u.Input + u.Output, "cachedReadTokens": u.Cached,
		"cacheCreationTokens": 0, "reasoningTokens": u.Reasoning, "modelCalls": t.answers, "numTurns": t.answers, "apiDurationMs": 1}
	g.tellQueue(t.s, nil)
	g.notice(t, "turn_completed", object{"prompt_id": t.promptID, "stop_reason": stop, "usage": usage, "elapsed_ms": 1})
	complete := object{"sessionId": t.s.id, "promptId": t.promptID, "stopReason": stop, "agentResult": result}
	if stop == "cancelled" {
		complete["cancellationCategory"] = orText(t.why, "MidTurnAbort")
	}
	g.a.out.notify("_x.ai/session/prompt_complete", complete)
	t.answer(end, object{"_meta": object{"sessionId": t.s.id, "requestId": t.promptID, "promptId": t.promptID, "totalTokens": 120, "modelId": plain(t.s.config["model"]),
		"inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 0, "reasoningTokens": 0, "usage": usage}})
	if stop == "end_turn" {
		g.notice(t, "last_turn_summary", object{"summary": "Scripted summary", "prompt_id": t.promptID})
	}
}
