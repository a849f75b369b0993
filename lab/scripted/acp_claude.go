package scripted

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// claude is the ACP adapter of Claude, 0.101.0 or, when old, 0.49.0.
type claude struct {
	generic
	old bool
}

func (c *claude) version() string {
	if c.old {
		return "0.49.0"
	}
	return "0.101.0"
}

func (c *claude) initialize() object {
	capabilities := object{"_meta": object{"claudeCode": object{"promptQueueing": true}}, "promptCapabilities": object{"image": true, "embeddedContext": true},
		"mcpCapabilities": object{"http": true, "sse": true}, "loadSession": true,
		"sessionCapabilities": object{"additionalDirectories": object{}, "close": object{}, "delete": object{}, "fork": object{}, "list": object{}, "resume": object{}}}
	result := object{"agentCapabilities": capabilities, "authMethods": c.signIns("claude-login", "Log in with Claude"),
		"agentInfo": object{"name": "@agentclientprotocol/claude-agent-acp", "title": "Claude Agent", "version": c.version()}}
	if !c.old {
		capabilities["_meta"] = object{"claudeCode": object{"promptQueueing": true}, "authStatus": object{}}
		capabilities["auth"], capabilities["providers"] = object{"logout": object{}}, object{}
		capabilities["sessionCapabilities"].(object)["systemPrompt"] = object{"mode": object{"override": object{}}}
		result["_meta"] = object{"steering": object{"supported": true}}
	}
	return result
}

func (c *claude) lacks() []string      { return []string{"session/set_model"} }
func (c *claude) secondPrompt() string { return promptQueue }

func (c *claude) keeps() []string {
	if c.old {
		return nil
	}
	return []string{"mode", "model"}
}

func (c *claude) toolID(_ string, n int) string { return "toolu_" + itoa(n+1) + "_0" }

func (c *claude) authenticate(method string) *RPCError {
	switch {
	case c.a.script.Behaviour.Auth != "":
		return nil
	case c.old:
		return c.internal("Method not implemented.")
	}
	return &RPCError{Code: -32602, Message: "Invalid params: Unsupported authentication method: " + method, Data: encode(object{"methodId": method})}
}

func (c *claude) internal(details string) *RPCError {
	return &RPCError{Code: -32603, Message: "Internal error", Data: encode(object{"details": details})}
}

func (c *claude) noMethod(name string) *RPCError { return quotedNoMethod(name) }

// quotedNoMethod is the error of the JSON-RPC library that Claude and Kimchi share.
func quotedNoMethod(name string) *RPCError {
	return &RPCError{Code: -32601, Message: `"Method not found": ` + name, Data: encode(object{"method": name})}
}

func (c *claude) invalid(missing []string, _ json.RawMessage) *RPCError { return zodInvalid(missing) }

// zodInvalid says what is wrong with params as the schema library of Claude and Kimchi does.
func zodInvalid(missing []string) *RPCError {
	data := object{"_errors": []any{}}
	for _, name := range missing {
		kind := "string"
		if name == "mcpServers" || name == "prompt" {
			kind = "array"
		}
		data[name] = object{"_errors": []any{"Invalid input: expected " + kind + ", received undefined"}}
	}
	return &RPCError{Code: -32602, Message: "Invalid params", Data: encode(data)}
}

func (c *claude) directory(cwd string) *RPCError {
	var why string
	switch {
	case !filepath.IsAbs(cwd):
		why = "`cwd` must be an absolute path, but received: " + cwd
	case !isDir(cwd):
		why = "`cwd` does not exist on the machine running the agent: " + cwd
	default:
		return nil
	}
	return &RPCError{Code: -32602, Message: "Invalid params: " + why, Data: encode(object{"cwd": cwd})}
}

func (c *claude) missing(method, session string) *RPCError {
	reopens := method == "session/load" || method == "session/resume"
	switch {
	case reopens && !isUUID(session):
		return c.internal("Claude Code returned an error result: Error: --resume requires a valid session ID or session title when used with --print. Provided value \"" + session + "\"")
	case reopens && c.old:
		return &RPCError{Code: -32002, Message: "Resource not found: " + session, Data: encode(object{"uri": session})}
	case c.old:
		return c.internal("Session not found")
	}
	return &RPCError{Code: -32002, Message: "Resource not found", Data: encode(object{"sessionId": session})}
}

func (c *claude) closed(_ string, was bool) (object, *RPCError) {
	if !was && c.old {
		return nil, c.internal("Session not found")
	}
	return object{}, nil
}

func (c *claude) opening(*session, string) {
	if !c.old {
		c.a.out.notify("_auth/status_update", object{"authStatus": object{"kind": "api_key", "label": "Anthropic API key", "detail": "ANTHROPIC_API_KEY"}})
	}
}

func (c *claude) catalogs(s *session) object {
	return object{"modes": s.legacyModes("mode"), "configOptions": s.configOptions()}
}

func (c *claude) detail(o object, s *session, _ string) { o["sessionId"] = s.id }

func (c *claude) opened(s *session, _ string) {
	c.a.update(s.id, object{"sessionUpdate": "available_commands_update", "availableCommands": []any{
		object{"name": "verify", "description": "Verify that a change does what it is supposed to", "input": nil},
		object{"name": "review", "description": "Review a pull request", "input": object{"hint": "number"}}}})
}

func (c *claude) settingError(wrong, option, value string) *RPCError {
	why := "Invalid value for config option " + option + ": " + value
	if wrong == wrongOption {
		why = "Unknown config option: " + option
	}
	if c.old {
		return c.internal(why)
	}
	return &RPCError{Code: -32602, Message: "Invalid params: " + why}
}

func (c *claude) optionChanged(s *session, option, value string) {
	if option == "mode" {
		c.a.update(s.id, object{"sessionUpdate": "current_mode_update", "currentModeId": value})
	}
}

func (c *claude) changeMode(s *session, mode string) *RPCError {
	if e := s.change("mode", encode(mode)); e == nil {
		return nil
	}
	if c.old {
		return c.internal("Invalid Mode")
	}
	return &RPCError{Code: -32602, Message: "Invalid params: Invalid Mode: " + mode}
}

// modeChanged: the older setter tells the whole catalog, the newer one only the mode.
func (c *claude) modeChanged(s *session, _ string, done func()) {
	c.tellOptions(s)
	done()
}

func (c *claude) tellOptions(s *session) {
	c.a.mu.Lock()
	options := s.configOptions()
	c.a.mu.Unlock()
	c.a.update(s.id, object{"sessionUpdate": "config_option_update", "configOptions": options})
}

func (c *claude) selfChanged(s *session, what string) {
	if what == "mode" {
		c.a.mu.Lock()
		mode := s.planMode()
		c.a.mu.Unlock()
		c.a.update(s.id, object{"sessionUpdate": "current_mode_update", "currentModeId": mode})
	}
	c.tellOptions(s)
}

func (c *claude) gauge(t *prompt, window int) { c.tellUsage(t, window, nil) }

func (c *claude) tellUsage(t *prompt, window int, more object) {
	c.a.mu.Lock()
	model := t.s.value("model")
	c.a.mu.Unlock()
	if window == 0 {
		window = 1000000
		if c.old && model == "haiku" {
			window = 200000
		}
	}
	update := object{"sessionUpdate": "usage_update", "used": t.contextUsed(), "size": window}
	meta := object{}
	for k, v := range more {
		update[k] = v
	}
	if !c.old {
		meta["_claude/model"] = "claude-" + model
		if more != nil {
			meta["_claude/origin"] = object{"kind": "human"}
		}
		update["_meta"] = meta
	}
	t.tell(update)
}

func (c *claude) say(t *prompt, text string, chunks int) {
	c.a.mu.Lock()
	t.s.messages++
	id := "msg_" + itoa(t.s.messages)
	c.a.mu.Unlock()
	chunk := func(piece string) object {
		return object{"sessionUpdate": "agent_message_chunk", "content": textBlock(piece), "messageId": id}
	}
	if c.old { // a block begins with nothing
		t.tell(chunk(""))
	}
	for _, piece := range pieces(text, chunks) {
		t.tell(chunk(piece))
	}
	t.remember(chunk(text))
}

// claudeCall is a tool call of Claude as its updates tell it.
type claudeCall struct {
	c                       *claude
	t                       *prompt
	id, name, begins, title string // begins: the title before the input is known
	kind                    string
	input                   object
	content, locations      []any
}

func (k *claudeCall) meta(more object) object {
	meta := object{"toolName": k.name}
	for name, value := range more {
		meta[name] = value
	}
	return object{"claudeCode": meta}
}

// begin tells the call twice: when the model begins to write it, and when its input is there.
func (k *claudeCall) begin() {
	first := object{"sessionUpdate": "tool_call", "_meta": k.meta(nil), "toolCallId": k.id, "rawInput": object{}, "status": "pending", "title": k.begins, "kind": k.kind, "content": []any{}}
	second := object{"sessionUpdate": "tool_call_update", "_meta": k.meta(nil), "toolCallId": k.id, "rawInput": k.input, "content": k.content}
	if k.locations != nil {
		first["locations"], second["locations"] = []any{}, k.locations
	}
	if k.c.old {
		second["title"], second["kind"] = k.title, k.kind
	} else {
		first["name"] = k.name
		if k.title != k.begins {
			second["title"] = k.title
		}
	}
	k.t.tell(first)
	k.t.tell(second)
	whole := with(with(second, "sessionUpdate", "tool_call"), "status", "pending")
	whole["title"], whole["kind"] = k.title, k.kind
	if !k.c.old {
		whole["name"] = k.name
	}
	k.t.remember(whole)
}

// shown is the call inside a permission request.
func (k *claudeCall) shown() object {
	o := object{"toolCallId": k.id, "rawInput": k.input, "title": k.title, "kind": k.kind, "content": k.content}
	if !k.c.old {
		o["name"], o["status"] = k.name, "pending"
	}
	if k.locations != nil {
		o["locations"] = k.locations
	}
	return o
}

// response tells the tool's own result, which comes before the call's end.
func (k *claudeCall) response(result object) {
	k.t.tell(object{"sessionUpdate": "tool_call_update", "_meta": k.meta(object{"toolResponse": result}), "toolCallId": k.id})
}

func (k *claudeCall) end(status, output string, more object) {
	update := object{"sessionUpdate": "tool_call_update", "_meta": k.meta(nil), "toolCallId": k.id, "status": status, "rawOutput": output}
	for name, value := range more {
		update[name] = value
	}
	k.t.tell(update)
	k.t.remember(update)
}

// refuse ends a call that did not run; nonExecution is why, which newer versions tell.
func (k *claudeCall) refuse(output, nonExecution string) {
	more := object{"content": fenced(output)}
	if !k.c.old && nonExecution != "" {
		more["_meta"] = k.meta(object{"nonExecutionKind": nonExecution})
	}
	k.end("failed", output, more)
}

func fenced(text string) []any {
	return []any{object{"type": "content", "content": textBlock("```\n" + text + "\n```")}}
}

const (
	claudeAborted  = "Tool permission request failed: Error: Tool use aborted"
	claudeRefused  = "User refused permission to run tool"
	claudeRejected = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
	claudeStopped  = " Correction to the text above: this call was stopped while running, not refused before it ran. It may have run in part or in full, and its changes may have been written. No permission prompt was involved. Work it started elsewhere (a remote command, a background process) may still be running, so check before starting the same work again. The instruction to stop and wait still stands."
)

func (c *claude) ask(t *prompt, q *Ask) error {
	var wire, content []any
	properties := object{}
	for i, question := range q.Questions {
		var options, choices []any
		for _, o := range question.Options {
			options = append(options, object{"label": o.Label, "description": o.Description})
			choice := object{"const": o.Label, "title": o.Label, "description": o.Description}
			if c.old {
				choice = object{"const": o.Label, "title": o.Label + " — " + o.Description, "_meta": object{"_claude/askUserQuestionOption": object{"description": o.Description}}}
			}
			choices = append(choices, choice)
		}
		wire = append(wire, object{"question": question.Question, "header": question.Header, "multiSelect": question.Multi, "options": options})
		content = append(content, object{"type": "content", "content": textBlock(question.Question)})
		field, custom := object{"title": question.Header, "description": question.Question, "type": "string", "oneOf": choices},
			"Type your own answer, or add a note to the option you chose above (optional)."
		if question.Multi {
			field = object{"title": question.Header, "description": question.Question, "type": "array", "items": object{"anyOf": choices}}
			custom = "Type your own answer to add to your selection above (optional)."
		}
		if c.old {
			custom = "Type your own answer instead of choosing an option above (optional)."
		}
		properties["question_"+itoa(i)] = field
		properties["question_"+itoa(i)+"_custom"] = object{"type": "string", "title": "Other", "description": custom}
	}
	k := &claudeCall{c: c, t: t, id: q.ID, name: "AskUserQuestion", begins: "Asking for your input", title: "Asking for your input", kind: "other",
		input: object{"questions": wire}, content: content}
	k.begin()
	t.gauge(0)
	given, err := t.form(object{"mode": "form", "toolCallId": q.ID, "message": "Please answer the following questions.",
		"requestedSchema": object{"type": "object", "properties": properties}})
	if err != nil {
		return err
	}
	t.a.mu.Lock()
	action := t.s.vars["action"]
	t.a.mu.Unlock()
	if action == "cancel" {
		k.refuse(claudeAborted, "permission-rule")
		t.modelAnswered()
		return t.ctx.Err()
	}
	answers, notes, said := c.answers(t, q, given)
	response := object{"questions": wire, "answers": answers}
	if !c.old {
		switch {
		case given == nil:
			unanswered := object{}
			for _, question := range q.Questions {
				unanswered[question.Question] = object{"unanswered": "dismissed"}
			}
			response["annotations"] = unanswered
		case len(notes) > 0:
			response["annotations"] = notes
		}
	}
	k.response(response)
	output := "The user did not answer the questions."
	if said != "" {
		output = "Your questions have been answered: " + said + ". You can now continue with these answers in mind."
		if len(notes) > 0 {
			output = "The user answered: " + said + ". Read the answers carefully — they may request clarification, changes, or that you not proceed — and follow what they actually say."
		}
	}
	k.end("completed", output, object{"content": []any{object{"type": "content", "content": textBlock(output)}}})
	t.modelAnswered()
	return t.ctx.Err()
}

// answers reads a form: text of one's own takes the place of a choice in the older version,
// and stands beside it in the newer one.
func (c *claude) answers(t *prompt, q *Ask, given map[string]json.RawMessage) (answers, notes object, said string) {
	answers, notes = object{}, object{}
	var parts []string
	for i, question := range q.Questions {
		chosen := texts(given["question_"+itoa(i)])
		own, note := plain(given["question_"+itoa(i)+"_custom"]), ""
		if given["question_"+itoa(i)+"_custom"] == nil {
			own = ""
		}
		switch {
		case own == "":
		case c.old || len(chosen) == 0:
			chosen = []string{own}
		case question.Multi:
			chosen = append(chosen, own)
		default:
			notes[question.Question] = object{"notes": own}
			note = " notes: " + own
		}
		answer := strings.Join(chosen, ", ")
		t.set("answer."+orText(question.ID, "question_"+itoa(i)), answer)
		if answer == "" {
			continue
		}
		answers[question.Question] = answer
		parts = append(parts, `"`+question.Question+`"="`+answer+`"`+note)
	}
	t.set("answers", string(encode(answers)))
	return answers, notes, strings.Join(parts, ", ")
}

// texts are one text or a list of them.
func texts(raw json.RawMessage) []string {
	var one string
	var many []string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	return many
}

func (c *claude) review(t *prompt, r *openReview) error {
	content := []any{object{"type": "content", "content": textBlock(r.Plan)}}
	k := &claudeCall{c: c, t: t, id: r.ToolCallID, name: "ExitPlanMode", begins: "Approve Plan", title: "Approve Plan", kind: "switch_mode",
		input: object{"plan": r.Plan}, content: content}
	if c.old {
		k.begins, k.title = "Ready to code?", "Ready to code?"
	}
	k.begin()
	t.gauge(0)
	c.a.mu.Lock()
	planning := t.s.planMode() == "plan"
	c.a.mu.Unlock()
	if !planning && !c.old {
		k.refuse("<tool_use_error>You are not in plan mode. To enter plan mode, call the EnterPlanMode tool first. If your plan was already approved, continue with implementation.</tool_use_error>", "")
		t.decide(false)
		t.modelAnswered()
		return t.ctx.Err()
	}
	shown := k.shown()
	if !c.old { // the plan is only in the update before
		shown["rawInput"], shown["content"] = object{}, []any{}
	}
	id, kind, err := t.permit(shown, c.reviewOptions(t.s))
	if err != nil {
		return err
	}
	switch {
	case kind == "":
		k.refuse(claudeAborted, "permission-rule")
	case kind == "reject_once" && c.old:
		k.refuse("User rejected request to exit plan mode.", "")
	case kind == "reject_once":
		k.refuse(claudeRejected, "user-rejected")
		t.decide(false)
		return errCancelled // the turn ends
	default:
		mode := id // in the older version the decision is the mode
		if !c.old {
			mode = map[string]string{"exit-plan-default": "default", "exit-plan-auto": "auto", "exit-plan-bypass": "bypassPermissions"}[id]
		}
		c.a.enter(t.s, mode)
		response := object{"plan": r.Plan, "isAgent": false, "filePath": "/home/user/.claude/plans/scripted.md", "planWasEdited": true}
		output := "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\n## Approved Plan (edited by user):\n" + r.Plan
		if !c.old {
			response, output = object{"plan": nil, "isAgent": false, "filePath": "/home/user/.claude/plans/scripted.md"}, "User has approved exiting plan mode. You can now proceed."
		}
		k.response(response)
		k.end("completed", output, object{"title": "Exited Plan Mode"})
	}
	t.decide(strings.HasPrefix(kind, "allow"))
	t.modelAnswered()
	return t.ctx.Err()
}

// reviewOptions are the decisions of a review, by what the model's modes are.
func (c *claude) reviewOptions(s *session) []permission {
	if !c.old {
		return []permission{{"exit-plan-default", "Yes, manually approve edits", "allow_once"}, {"exit-plan-auto", "Yes, and use auto mode", "allow_always"},
			{"exit-plan-bypass", "Yes, and bypass permissions", "allow_always"}, {"reject", "No, keep planning", "reject_once"}}
	}
	options := []permission{{"bypassPermissions", "Yes, and bypass permissions", "allow_always"}, {"auto", `Yes, and use "auto" mode`, "allow_always"},
		{"acceptEdits", "Yes, and auto-accept edits", "allow_always"}, {"default", "Yes, and manually approve edits", "allow_once"}, {"plan", "No, keep planning", "reject_once"}}
	c.a.mu.Lock()
	defer c.a.mu.Unlock()
	return slices.DeleteFunc(options, func(p permission) bool {
		return !slices.ContainsFunc(s.offered(), func(o ACPOption) bool { return o.ID == "mode" && o.offers(p.id) })
	})
}

func (c *claude) tool(t *prompt, call *toolCall) error {
	k := &claudeCall{c: c, t: t, id: call.id, name: "Bash", begins: "Terminal", title: call.command, kind: "execute",
		input:   object{"command": call.command, "description": orText(call.reason, "run")},
		content: []any{object{"type": "content", "content": textBlock(orText(call.reason, "run"))}}}
	if call.tool == "write" {
		k.name, k.begins, k.title, k.kind = "Write", "Preparing file…", "Write "+call.path, "edit"
		if c.old {
			k.begins = "Write"
		}
		path := filepath.Join(t.s.cwd, call.path)
		k.input, k.content, k.locations = object{"file_path": path, "content": call.text}, t.diff(call, path), []any{object{"path": path}}
	}
	k.begin()
	if c.asks(t, call) {
		_, kind, err := t.permit(k.shown(), c.toolOptions(t, k))
		switch {
		case err != nil:
			return err
		case kind == "":
			k.refuse(claudeAborted, "permission-rule")
		case kind == "reject_once":
			k.refuse(claudeRefused, "permission-rule")
		}
		if !strings.HasPrefix(kind, "allow") {
			t.modelAnswered()
			return t.ctx.Err()
		}
	}
	t.gauge(0)
	output, failed := call.do(t.ctx)
	if err := t.ctx.Err(); err != nil {
		if !c.old {
			k.refuse(claudeRejected+claudeStopped, "user-rejected")
		}
		t.count(Usage{Input: 100, Output: 20}) // the model's answer that called the tool
		return err
	}
	if call.tool == "write" {
		k.response(object{"type": "create", "filePath": k.locations[0].(object)["path"], "content": call.text, "structuredPatch": []any{}, "originalFile": nil, "userModified": false})
		k.end("completed", output, nil)
	} else {
		k.response(object{"stdout": output, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false})
		shown := orText(output, "(Bash completed with no output)")
		more := object{}
		if c.old {
			more["content"] = []any{object{"type": "content", "content": textBlock("```console\n" + shown + "\n```")}}
		}
		k.end(map[bool]string{true: "failed", false: "completed"}[failed], shown, more)
	}
	t.modelAnswered()
	return t.ctx.Err()
}

// toolOptions are the decisions about a tool.
func (c *claude) toolOptions(t *prompt, k *claudeCall) []permission {
	always := "Always Allow all " + k.name
	if k.name == "Bash" {
		always = "Always Allow Bash(" + k.title + ") and access to " + t.s.cwd
	}
	if c.old {
		return []permission{{"allow_always", always, "allow_always"}, {"allow", "Allow", "allow_once"}, {"reject", "Reject", "reject_once"}}
	}
	return []permission{{"allow-once", "Yes", "allow_once"}, {"allow-with-updates", "Yes, allow all edits during this session", "allow_always"}, {"reject", "No", "reject_once"}}
}

// failed tells the failure as text too. Codes are errorKind: server_error, rate_limit,
// authentication_failed, unknown.
func (c *claude) failed(t *prompt, f Failure) {
	message := "API Error: " + f.Message
	t.tell(object{"sessionUpdate": "agent_message_chunk", "content": textBlock(message), "messageId": c.a.newID()})
	e := &RPCError{Code: -32603, Message: "Internal error: " + message, Data: encode(object{"errorKind": f.Code})}
	if f.Code == "authentication_failed" && !c.old {
		e = &RPCError{Code: -32000, Message: "Authentication required"}
	}
	t.answer(ACPEnd{Error: e}, nil)
}

func (c *claude) finished(t *prompt, end ACPEnd) {
	if t.id == nil {
		return
	}
	c.tellUsage(t, 0, object{"cost": object{"amount": 0.001, "currency": "USD"}})
	u := t.tokens
	result := object{}
	if end.StopReason != "cancelled" || !c.old {
		result["usage"] = object{"inputTokens": u.Input, "outputTokens": u.Output, "cachedReadTokens": u.Cached, "cachedWriteTokens": 0, "totalTokens": u.Input + u.Output}
	}
	if !c.old {
		counts := object{"totalTokens": u.Input + u.Output, "inputTokens": u.Input, "cachedInputTokens": u.Cached, "cachedWriteTokens": 0, "outputTokens": u.Output, "reasoningOutputTokens": u.Reasoning}
		result["_meta"] = object{"quota": object{"token_count": counts, "model_usage": []any{object{"model": "claude-scripted", "token_count": counts}}}}
	}
	t.answer(end, result)
}
