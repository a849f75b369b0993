package scripted

import (
	"encoding/json"
	"strings"
)

// kimchi is Kimchi as its source of 2026-08-21 and recordings show it. What no recording
// has is marked: the labels of its plan form, and the words of a refused model change.
type kimchi struct{ generic }

func (k *kimchi) initialize() object {
	return object{"agentCapabilities": object{"loadSession": true, "auth": object{"logout": object{}}, "sessionCapabilities": object{"list": object{}, "close": object{}},
		"promptCapabilities": object{"image": false, "audio": false, "embeddedContext": false},
		"_meta":              object{"kimchi.dev": object{"pi_editor": true, "probe_mcp_server": true, "set_session_title": true}}},
		"authMethods": []any{object{"id": "kimchi-agent", "name": "Kimchi Login", "description": "Authenticate via browser to Kimchi"}}}
}

func (k *kimchi) lacks() []string {
	return []string{"session/set_mode", "session/set_model", "session/resume"}
}

func (k *kimchi) keeps() []string    { return []string{"model"} }
func (k *kimchi) modeOption() string { return "permissions-mode" }
func (k *kimchi) toolID(name string, n int) string {
	if name == "run" {
		name = "bash"
	}
	if name == "ask" {
		name = "questionnaire"
	}
	return "kt." + name + "." + itoa(n)
}

func (k *kimchi) noMethod(name string) *RPCError { return quotedNoMethod(name) }

func (k *kimchi) invalid(missing []string, _ json.RawMessage) *RPCError { return zodInvalid(missing) }

func (k *kimchi) servers(list []json.RawMessage) *RPCError {
	if len(list) == 0 {
		return nil
	}
	return &RPCError{Code: -32602, Message: "Invalid params: mcpServers are not supported"}
}

func (k *kimchi) opening(s *session, _ string) {
	k.note(s, "mcp")
	k.tellOptions(s)
	for _, status := range []string{"permissions-mode", "todos", "thinking-steps"} {
		k.note(s, status)
	}
	k.a.update(s.id, object{"sessionUpdate": "available_commands_update", "availableCommands": []any{
		object{"name": "bug", "description": "Report a bug — opens GitHub issue form", "input": object{"hint": "Provide a concise title (3-5 words) to describe the issue."}}}})
}

// note sends what its terminal would show.
func (k *kimchi) note(s *session, status string) {
	k.a.out.notify("_kimchi.dev/pi_notify", object{"type": "extension_ui_request", "id": k.a.newID(), "sessionId": s.id, "method": "setStatus", "statusKey": status})
}

func (k *kimchi) catalogs(s *session) object {
	return object{"configOptions": s.configOptions(), "models": s.legacyModels()}
}

func (k *kimchi) opened(*session, string) {}

func (k *kimchi) settingError(wrong, option, value string) *RPCError {
	switch {
	case wrong == wrongBusy:
		return &RPCError{Code: -32600, Message: "Invalid request: the model cannot change while a prompt is in progress"}
	case wrong == wrongOption:
		return &RPCError{Code: -32602, Message: "Invalid params: unknown config option " + option}
	case option == "permissions-mode":
		return &RPCError{Code: -32602, Message: "Invalid params: invalid mode " + value}
	}
	return &RPCError{Code: -32602, Message: "Invalid params: invalid " + option + " " + value}
}

func (k *kimchi) fixedWhileRunning(option string) bool { return option == "model" }

func (k *kimchi) tellOptions(s *session) {
	k.a.mu.Lock()
	options := s.configOptions()
	k.a.mu.Unlock()
	k.a.update(s.id, object{"sessionUpdate": "config_option_update", "configOptions": options})
}

func (k *kimchi) optionChanged(s *session, option, _ string) {
	if option == "permissions-mode" {
		k.tellOptions(s)
	}
}

func (k *kimchi) selfChanged(s *session, _ string) { k.tellOptions(s) }

// gauge says nothing until the prompt ends.
func (k *kimchi) gauge(*prompt, int) {}

func (k *kimchi) say(t *prompt, text string, chunks int) {
	k.a.mu.Lock()
	id := "km." + itoa(t.s.messages)
	t.s.messages++
	k.a.mu.Unlock()
	chunk := func(piece string) object {
		return object{"sessionUpdate": "agent_message_chunk", "content": textBlock(piece), "messageId": id}
	}
	for _, piece := range pieces(text, chunks) {
		t.tell(chunk(piece))
	}
	t.remember(chunk(text))
}

// kimchiCall is a tool call as Kimchi tells it.
type kimchiCall struct {
	t               *prompt
	id, title, kind string
	input           object
	locations       []any
}

func (c *kimchiCall) meta() object { return object{"piToolCallId": "call_" + c.id} }

func (c *kimchiCall) whole(status string) object {
	return object{"toolCallId": c.id, "title": c.title, "kind": c.kind, "locations": c.locations, "rawInput": c.input, "status": status, "_meta": c.meta()}
}

// begin tells the call, how its input grew when written is set, and that it is under way.
func (c *kimchiCall) begin(written string) {
	c.t.tell(with(c.whole("pending"), "sessionUpdate", "tool_call"))
	if written != "" {
		c.t.tell(object{"sessionUpdate": "tool_call_update", "toolCallId": c.id, "rawOutput": object{"delta": written}, "status": "pending",
			"_meta": object{"piToolCallId": "call_" + c.id, "generatedChars": len(written)}})
	}
	c.t.tell(with(c.whole("in_progress"), "sessionUpdate", "tool_call_update"))
}

func (c *kimchiCall) end(status, text string, details object) {
	c.t.tell(object{"sessionUpdate": "tool_call_update", "toolCallId": c.id, "status": status, "content": []any{object{"type": "content", "content": textBlock(text)}},
		"rawOutput": object{"content": []any{textBlock(text)}, "details": details}, "_meta": c.meta()})
	whole := with(c.whole(status), "sessionUpdate", "tool_call")
	whole["content"] = []any{object{"type": "content", "content": textBlock(text)}}
	c.t.remember(whole)
}

// The labels and messages of its forms.
const (
	kimchiOwnAnswer = "Type your own answer"
	kimchiInstead   = "Tell the assistant what to do differently:"
	kimchiPlanAsk   = "The plan is ready. What next?" // not recorded
	kimchiExecute   = "Execute"
	kimchiRework    = "Rework"
	kimchiFerment   = "Ferment"
)

// selectForm asks for one of several values. A client without forms is asked by a permission request.
func (k *kimchi) selectForm(t *prompt, message string, labels []string) (value string, ok bool, err error) {
	k.a.mu.Lock()
	forms := k.a.client.form
	k.a.mu.Unlock()
	if !forms {
		var options []permission
		for i, label := range labels {
			options = append(options, permission{"choice-" + itoa(i), label, "allow_once"})
		}
		id, _, err := t.permit(object{"toolCallId": "pi-ui-" + k.a.newID(), "title": message, "kind": "other", "status": "pending"}, options)
		for i, label := range labels {
			if id == "choice-"+itoa(i) {
				return label, true, err
			}
		}
		return "", false, err
	}
	var choices []any
	for _, label := range labels {
		choices = append(choices, object{"const": label, "title": label})
	}
	return k.valueForm(t, message, object{"type": "string", "oneOf": choices})
}

// inputForm asks for a text; a client without forms cannot be asked.
func (k *kimchi) inputForm(t *prompt, message string) (string, bool, error) {
	k.a.mu.Lock()
	forms := k.a.client.form
	k.a.mu.Unlock()
	if !forms {
		return "", false, nil
	}
	return k.valueForm(t, message, object{"type": "string"})
}

func (k *kimchi) valueForm(t *prompt, message string, field object) (string, bool, error) {
	given, err := t.form(object{"requestId": k.a.newID(), "mode": "form", "message": message,
		"requestedSchema": object{"type": "object", "properties": object{"value": field}, "required": []any{"value"}}})
	if err != nil || given == nil {
		return "", false, err
	}
	return plain(given["value"]), true, nil
}

// ask puts one form per question, and a second one for an answer of one's own.
func (k *kimchi) ask(t *prompt, q *Ask) error {
	var wire []any
	for _, question := range q.Questions {
		options := []any{}
		for i, o := range question.Options {
			options = append(options, object{"id": orText(o.ID, "o"+itoa(i)), "label": o.Label, "description": o.Description})
		}
		wire = append(wire, object{"id": question.ID, "label": question.Header, "prompt": question.Question, "type": map[bool]string{true: "multi", false: "single"}[question.Multi],
			"options": options, "allowOther": question.Other, "required": true})
	}
	call := &kimchiCall{t: t, id: q.ID, title: "questionnaire", kind: "other", input: object{"questions": wire}, locations: []any{}}
	call.begin("")
	k.a.mu.Lock()
	promote := t.s.planMode() == "default"
	k.a.mu.Unlock()
	if promote { // a questionnaire begins to plan
		k.a.enter(t.s, "plan")
	}
	var said []string
	all := map[string]string{}
	for i, question := range q.Questions {
		labels := make([]string, 0, len(question.Options)+1)
		for _, o := range question.Options {
			labels = append(labels, o.Label)
		}
		if question.Other {
			labels = append(labels, kimchiOwnAnswer)
		}
		value, ok, err := k.selectForm(t, question.Question, labels)
		if err == nil && ok && value == kimchiOwnAnswer && question.Other {
			value, ok, err = k.inputForm(t, question.Question)
		}
		if err != nil {
			call.end("failed", "Operation aborted", object{})
			return err
		}
		if !ok {
			call.end("completed", "User cancelled the questionnaire", object{"questions": wire, "answers": []any{}, "cancelled": true})
			t.modelAnswered()
			return t.ctx.Err()
		}
		id := orText(question.ID, "question_"+itoa(i))
		t.set("answer."+id, value)
		all[id] = value
		text := ": user wrote: " + value
		for n, o := range question.Options {
			if o.Label == value {
				text = ": user selected: " + itoa(n+1) + ". " + value
			}
		}
		said = append(said, orText(question.Header, id)+text)
	}
	t.set("answers", string(encode(all)))
	call.end("completed", strings.Join(said, "\n"), object{"questions": wire, "cancelled": false})
	t.modelAnswered()
	return t.ctx.Err()
}

// review prints the plan and asks by a form what to do with it.
func (k *kimchi) review(t *prompt, r *openReview) error {
	k.say(t, r.Plan, 1)
	value, _, err := k.selectForm(t, kimchiPlanAsk, []string{kimchiExecute, kimchiRework, kimchiFerment})
	if err != nil {
		return err
	}
	if value == kimchiExecute {
		k.a.enter(t.s, "auto")
	}
	t.decide(value == kimchiExecute)
	t.modelAnswered()
	return t.ctx.Err()
}

func (k *kimchi) tool(t *prompt, c *toolCall) error {
	call := &kimchiCall{t: t, id: c.id, title: c.command, kind: "execute", input: object{"command": c.command}, locations: []any{}}
	what, written := "", c.command
	if c.tool == "write" {
		call.title, call.kind, call.input, call.locations = c.path, "edit", object{"path": c.path, "content": c.text}, []any{object{"path": c.path}}
		what, written = "write("+c.path+")", c.text
	}
	call.begin(written)
	shown := call.whole("pending")
	options := []permission{{"choice-0", "Yes — just this call", "allow_once"}, {"choice-1", "Yes — don't ask again for " + what + " this session", "allow_always"},
		{"choice-2", "No — tell the assistant what to do differently", "reject_once"}}
	if c.tool == "run" { // a command can also be allowed by its first word
		word, _, _ := strings.Cut(c.command, " ")
		shown["rawInput"] = object{"command": c.command, "timeout": 120}
		options[1].name = "Yes — don't ask again for bash(" + c.command + ":*) this session"
		options = []permission{options[0], options[1], {"choice-2", "Yes — don't ask again for " + word + " * this session", "allow_always"}, {"choice-3", options[2].name, "reject_once"}}
	}
	k.a.mu.Lock()
	planning := t.s.planMode() == "plan"
	k.a.mu.Unlock()
	if planning && c.tool == "write" {
		call.end("failed", "Plan mode: tool write is not available. Use /permissions mode default to enable writes.", object{})
		t.modelAnswered()
		return t.ctx.Err()
	}
	if k.asks(t, c) {
		_, kind, err := t.permit(shown, options)
		if err == nil && kind == "reject_once" {
			return k.declined(t, call)
		}
		if err == nil && kind == "" {
			call.end("failed", "The user declined this action before execution", object{})
			t.modelAnswered()
			return t.ctx.Err()
		}
		if err != nil {
			call.end("failed", "Operation aborted", object{})
			return err
		}
	}
	output, failed := c.do(t.ctx)
	if err := t.ctx.Err(); err != nil {
		call.end("failed", "Operation aborted", object{})
		return err
	}
	call.end(map[bool]string{true: "failed", false: "completed"}[failed], output, object{})
	t.modelAnswered()
	return t.ctx.Err()
}

// declined asks what to do instead.
func (k *kimchi) declined(t *prompt, call *kimchiCall) error {
	text := "The user declined this action before execution"
	feedback, ok, err := k.inputForm(t, kimchiInstead)
	if err != nil {
		call.end("failed", "Operation aborted", object{})
		return err
	}
	if ok && feedback != "" {
		text += " and said: " + feedback
	}
	t.set("feedback", feedback)
	call.end("failed", text, object{})
	t.modelAnswered()
	return t.ctx.Err()
}

// failed looks like an empty turn that went well.
func (k *kimchi) failed(t *prompt, _ Failure) { k.finished(t, ACPEnd{StopReason: "end_turn"}) }

func (k *kimchi) finished(t *prompt, end ACPEnd) {
	t.tell(object{"sessionUpdate": "usage_update", "used": t.contextUsed(), "size": 64000})
	t.answer(end, object{})
}
