package scripted

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// dialect is what one kind of ACP agent does in its own way. Where a comment says "locked",
// the caller holds process.mu.
type dialect interface {
	initialize() object   // the result, without the protocol version
	beforeInitialized()   // told before it
	initialized()         // told after it
	lacks() []string      // methods that it does not have
	keepsAtOnce() bool    // a session is kept before its first prompt
	keeps() []string      // options a loaded session keeps; "*" is all, "mode" also a mode that is no option
	modeOption() string   // the option that is the mode; empty when the mode is none
	secondPrompt() string // what happens to a prompt while one runs
	toolID(name string, n int) string

	authenticate(method string) *RPCError
	noMethod(name string) *RPCError
	invalid(missing []string, params json.RawMessage) *RPCError
	directory(cwd string) *RPCError
	servers(list []json.RawMessage) *RPCError
	missing(method, session string) *RPCError // nil: no answer at all
	closed(session string, was bool) (object, *RPCError)

	opening(s *session, method string)          // told before a session's answer
	catalogs(s *session) object                 // locked: options, modes, models
	detail(o object, s *session, method string) // locked: what else the answer has
	opened(s *session, method string)           // told after it
	replayed(s *session, update json.RawMessage)

	settingError(wrong, option, value string) *RPCError // locked
	fixedWhileRunning(option string) bool
	optionChanged(s *session, option, value string)   // told before the answer
	changeMode(s *session, mode string) *RPCError     // locked
	modeChanged(s *session, mode string, done func()) // answers, and tells
	modelChanged(s *session) object                   // the answer
	promptMode(s *session, mode string)               // locked: a mode that comes with a prompt
	selfChanged(s *session, what string)              // tells of a change the agent made

	queued(t *prompt) // locked
	begun(t *prompt)
	dress(t *prompt, params object) // adds to the params of an update
	gauge(t *prompt, window int)
	say(t *prompt, text string, chunks int)
	ask(t *prompt, q *Ask) error
	review(t *prompt, r *openReview) error
	tool(t *prompt, c *toolCall) error
	failed(t *prompt, f Failure)
	finished(t *prompt, end ACPEnd)
}

func newDialect(a *ACP) dialect {
	plain := generic{a}
	switch a.script.Profile {
	case ProfileClaude049:
		return &claude{generic: plain, old: true}
	case ProfileClaude101:
		return &claude{generic: plain}
	case ProfileGrok:
		return &grok{generic: plain}
	case ProfileGrokLegacy:
		return &grok{generic: plain, legacy: true}
	case ProfileKimchi:
		return &kimchi{plain}
	default:
		return plain
	}
}

// generic is an agent by the book. Its profile says which of config options, modes and models it offers.
type generic struct{ a *ACP }

func (g generic) modern() bool { return g.a.script.Profile != ProfileLegacy }
func (g generic) old() bool    { return g.a.script.Profile != ProfileModern }

func (g generic) initialize() object {
	return object{"agentCapabilities": object{"loadSession": true, "promptCapabilities": object{"image": true, "audio": false, "embeddedContext": true},
		"mcpCapabilities": object{"http": true, "sse": false}, "sessionCapabilities": object{"list": object{}, "resume": object{}, "close": object{}}},
		"agentInfo": object{"name": "scripted", "title": "Scripted Agent", "version": "1.0.0"}, "authMethods": g.signIns("scripted-login", "Scripted Login")}
}

// signIns offers a method when the script wants a sign-in.
func (g generic) signIns(id, name string) []any {
	if g.a.script.Behaviour.Auth == "" {
		return []any{}
	}
	return []any{object{"id": id, "name": name, "description": "Signs in."}}
}

func (g generic) beforeInitialized() {}
func (g generic) initialized()       {}

func (g generic) lacks() []string {
	switch g.a.script.Profile {
	case ProfileModern:
		return []string{"session/set_mode", "session/set_model"}
	case ProfileLegacy:
		return []string{"session/set_config_option"}
	}
	return nil
}

func (g generic) keepsAtOnce() bool    { return false }
func (g generic) keeps() []string      { return []string{"*"} }
func (g generic) modeOption() string   { return "mode" }
func (g generic) secondPrompt() string { return promptRefuse }

func (g generic) toolID(name string, n int) string { return name + "_" + itoa(n) }

func (g generic) authenticate(string) *RPCError { return nil }

func (g generic) noMethod(name string) *RPCError {
	return &RPCError{Code: -32601, Message: "Method not found", Data: encode(object{"method": name})}
}

func (g generic) invalid(missing []string, _ json.RawMessage) *RPCError {
	return &RPCError{Code: -32602, Message: "Invalid params: missing " + strings.Join(missing, ", ")}
}

func (g generic) directory(cwd string) *RPCError {
	if cwd == "" || strings.HasPrefix(cwd, "/") {
		return nil
	}
	return &RPCError{Code: -32602, Message: "Invalid params: cwd is not absolute"}
}

func (g generic) servers([]json.RawMessage) *RPCError { return nil }

func (g generic) missing(_, session string) *RPCError {
	return &RPCError{Code: -32002, Message: "Resource not found", Data: encode(object{"sessionId": session})}
}

func (g generic) closed(session string, was bool) (object, *RPCError) {
	if !was {
		return nil, g.missing("session/close", session)
	}
	return object{}, nil
}

func (g generic) opening(*session, string) {}

func (g generic) catalogs(s *session) object {
	o := object{}
	if g.modern() {
		o["configOptions"] = s.configOptions()
	}
	if g.old() {
		o["modes"], o["models"] = s.legacyModes("mode"), s.legacyModels()
	}
	return o
}

func (g generic) detail(object, *session, string) {}

func (g generic) opened(s *session, _ string) {
	g.a.update(s.id, object{"sessionUpdate": "available_commands_update", "availableCommands": []any{
		object{"name": "review", "description": "Reviews the changes", "input": object{"hint": "what to look at"}}}})
}

func (g generic) replayed(s *session, update json.RawMessage) { g.a.update(s.id, update) }

func (g generic) settingError(wrong, option, value string) *RPCError {
	switch wrong {
	case wrongOption:
		return &RPCError{Code: -32602, Message: "Invalid params: no config option " + option}
	case wrongValue:
		return &RPCError{Code: -32602, Message: "Invalid params: " + option + " does not take " + value}
	}
	return &RPCError{Code: -32600, Message: "Invalid request: " + option + " cannot change while a prompt runs"}
}

func (g generic) fixedWhileRunning(string) bool { return false }

func (g generic) optionChanged(s *session, option, value string) {
	if option == "mode" && g.old() {
		g.a.update(s.id, object{"sessionUpdate": "current_mode_update", "currentModeId": value})
	}
}

func (g generic) changeMode(s *session, mode string) *RPCError { return s.change("mode", encode(mode)) }

func (g generic) modeChanged(s *session, mode string, done func()) {
	g.a.update(s.id, object{"sessionUpdate": "current_mode_update", "currentModeId": mode})
	done()
}

func (g generic) modelChanged(*session) object { return object{} }

func (g generic) promptMode(*session, string) {}

func (g generic) selfChanged(s *session, what string) {
	g.a.mu.Lock()
	options, mode := s.configOptions(), s.planMode()
	g.a.mu.Unlock()
	if what == "mode" && g.old() {
		g.a.update(s.id, object{"sessionUpdate": "current_mode_update", "currentModeId": mode})
	}
	if g.modern() {
		g.a.update(s.id, object{"sessionUpdate": "config_option_update", "configOptions": options})
	}
}

func (g generic) queued(*prompt)        {}
func (g generic) begun(*prompt)         {}
func (g generic) dress(*prompt, object) {}

func (g generic) gauge(t *prompt, window int) {
	if window == 0 {
		window = 200000
	}
	g.a.update(t.session(), object{"sessionUpdate": "usage_update", "used": t.contextUsed(), "size": window})
}

// contextUsed is how many tokens the context holds after the model's last answer.
func (t *prompt) contextUsed() int { return 120 }

func (g generic) say(t *prompt, text string, chunks int) {
	for _, piece := range pieces(text, chunks) {
		t.tell(object{"sessionUpdate": "agent_message_chunk", "content": textBlock(piece)})
	}
	t.remember(object{"sessionUpdate": "agent_message_chunk", "content": textBlock(text)})
}

// remember keeps an update for a later replay.
func (t *prompt) remember(update object) {
	if t.child != "" {
		return // what a child did is not part of the session
	}
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.s.remember(update)
}

// ask puts all questions into one form; a client without forms is not asked.
func (g generic) ask(t *prompt, q *Ask) error {
	properties, required := object{}, []any{}
	for i, question := range q.Questions {
		id := orText(question.ID, "question_"+itoa(i))
		p := object{"type": "string", "title": question.Question}
		if len(question.Options) > 0 && !question.Other {
			var choices []any
			for _, o := range question.Options {
				choices = append(choices, object{"const": o.Label, "title": o.Label})
			}
			p["oneOf"] = choices
		}
		properties[id] = p
		required = append(required, id)
	}
	content, err := t.form(object{"mode": "form", "message": "Please answer.", "toolCallId": q.ID,
		"requestedSchema": object{"type": "object", "properties": properties, "required": required}})
	if err != nil {
		return err
	}
	for i, question := range q.Questions {
		id := orText(question.ID, "question_"+itoa(i))
		t.set("answer."+id, plain(content[id]))
	}
	t.set("answers", string(encode(content)))
	t.modelAnswered()
	return t.ctx.Err()
}

func (g generic) review(t *prompt, r *openReview) error {
	call := object{"toolCallId": r.ToolCallID, "title": "Ready to implement?", "kind": "switch_mode", "status": "pending", "rawInput": object{"plan": r.Plan},
		"content": []any{object{"type": "content", "content": textBlock(r.Plan)}}}
	t.tell(with(call, "sessionUpdate", "tool_call"))
	_, kind, err := t.permit(call, []permission{{"implement", "Implement", "allow_once"}, {"keep-planning", "Keep planning", "reject_once"}})
	if err != nil {
		return err
	}
	approved := kind == "allow_once"
	if approved {
		g.a.enter(t.s, "default")
	}
	t.tell(object{"sessionUpdate": "tool_call_update", "toolCallId": r.ToolCallID, "status": map[bool]string{true: "completed", false: "failed"}[approved]})
	t.decide(approved)
	t.modelAnswered()
	return t.ctx.Err()
}

// decide notes how a review ended, in one word for every agent.
func (t *prompt) decide(approved bool) {
	t.set("decision", map[bool]string{true: "approved", false: "rejected"}[approved])
}

// with is a copy of o in which one member has this value.
func with(o object, name string, value any) object {
	out := maps.Clone(o)
	if out == nil {
		out = object{}
	}
	out[name] = value
	return out
}

// asks says whether an agent by the book asks before it uses a tool.
func (g generic) asks(t *prompt, c *toolCall) bool {
	t.a.mu.Lock()
	mode := t.s.planMode()
	t.a.mu.Unlock()
	switch {
	case c.approve != nil:
		return *c.approve
	case g.a.script.Behaviour.ApproveAll || slices.Contains([]string{"yolo", "auto", "bypassPermissions"}, mode):
		return false
	case c.tool == "write" && slices.Contains([]string{"acceptEdits", "accept-edits"}, mode):
		return false
	}
	return true
}

func (g generic) tool(t *prompt, c *toolCall) error {
	call := object{"toolCallId": c.id, "title": orText(c.command, c.path), "kind": c.kind(), "status": "pending", "rawInput": object{"command": c.command}}
	if c.tool == "write" {
		call["rawInput"], call["locations"], call["content"] = object{"path": c.path, "content": c.text}, []any{object{"path": c.path}}, t.diff(c, c.path)
	}
	t.tell(with(call, "sessionUpdate", "tool_call"))
	if g.asks(t, c) {
		_, kind, err := t.permit(call, []permission{{"allow-once", "Allow", "allow_once"}, {"allow-always", "Always allow", "allow_always"}, {"reject-once", "Reject", "reject_once"}})
		if err != nil {
			return err
		}
		if !strings.HasPrefix(kind, "allow") {
			t.tell(object{"sessionUpdate": "tool_call_update", "toolCallId": c.id, "status": "failed"})
			t.modelAnswered()
			return t.ctx.Err()
		}
	}
	t.tell(object{"sessionUpdate": "tool_call_update", "toolCallId": c.id, "status": "in_progress"})
	output, failed := c.do(t.ctx)
	status := map[bool]string{true: "failed", false: "completed"}[failed || t.ctx.Err() != nil]
	t.tell(object{"sessionUpdate": "tool_call_update", "toolCallId": c.id, "status": status, "rawOutput": output,
		"content": []any{object{"type": "content", "content": textBlock(output)}}})
	t.remember(with(with(call, "sessionUpdate", "tool_call"), "status", status))
	if t.ctx.Err() == nil {
		t.modelAnswered()
	}
	return t.ctx.Err()
}

func (g generic) failed(t *prompt, f Failure) {
	t.answer(ACPEnd{Error: &RPCError{Code: -32603, Message: f.Message, Data: encode(object{"code": f.Code})}}, nil)
}

func (g generic) finished(t *prompt, end ACPEnd) { t.answer(end, object{}) }

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return sorted(keys)
}
