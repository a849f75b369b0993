package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

// ACPConfig is what an ACP runs with. Only Script, Stdin, Stdout and Stderr are needed.
type ACPConfig struct {
	Script ACPScript
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Home keeps sessions over restarts; empty keeps them in memory only.
	Home string
	Now  func() time.Time
	// NewID makes the ids of sessions; nil makes UUIDs.
	NewID func() string
	// Calls is a file that the methods of the client are noted in, one a line; empty notes none.
	Calls string
}

// ACP is one process of a scripted ACP agent.
type ACP struct {
	process
	script  ACPScript
	options []ACPOption
	dialect dialect
	home    string
	now     func() time.Time
	newID   func() string

	// Under process.mu:
	client   clientCapabilities
	signedIn bool
	sessions map[string]*session
}

// clientCapabilities is what initialize said about the client.
type clientCapabilities struct{ form, url bool }

// NewACP makes an agent that Run runs.
func NewACP(c ACPConfig) *ACP {
	a := &ACP{script: c.Script, home: c.Home, now: c.Now, newID: c.NewID, sessions: map[string]*session{}}
	if a.script.Profile == "" {
		a.script.Profile = ProfileModern
	}
	if a.now == nil {
		a.now = time.Now
	}
	if a.newID == nil {
		a.newID = uuid.NewString
	}
	a.dialect = newDialect(a)
	a.options = a.script.Options
	if a.options == nil {
		a.options = catalogOf(a.script.Profile)
	}
	a.init(c.Stdin, &wire{w: c.Stdout, now: a.now, version: "2.0"}, c.Stderr, c.Script.Methods)
	a.requested, a.notified, a.calls = a.serveRequest, a.notification, c.Calls
	return a
}

// Run serves until the input ends or the script ends the process, and returns the exit code.
func (a *ACP) Run() int {
	return a.run(func() {
		begin := &prompt{a: a, s: &session{vars: map[string]string{}}, ctx: a.ctx}
		_ = begin.steps(a.script.Start) // such steps end in nothing but the end of the process
	}, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, s := range a.sessions {
			s.close()
		}
	})
}

// acpHandlers are the methods of the protocol. A dialect may leave some out.
var acpHandlers = map[string]func(*ACP, json.RawMessage, *acpParams){
	"initialize":                (*ACP).initialize,
	"authenticate":              (*ACP).authenticate,
	"session/new":               (*ACP).sessionNew,
	"session/load":              (*ACP).sessionLoad,
	"session/resume":            (*ACP).sessionResume,
	"session/list":              (*ACP).sessionList,
	"session/close":             (*ACP).sessionClose,
	"session/prompt":            (*ACP).sessionPrompt,
	"session/set_config_option": (*ACP).setConfigOption,
	"session/set_mode":          (*ACP).setMode,
	"session/set_model":         (*ACP).setModel,
}

func (a *ACP) serveRequest(m inbound) {
	h, known := acpHandlers[*m.Method]
	if !known || slices.Contains(a.dialect.lacks(), *m.Method) {
		a.out.fail(m.ID, a.dialect.noMethod(*m.Method))
		return
	}
	h(a, m.ID, &acpParams{raw: m.Params})
}

func (a *ACP) notification(method string, params json.RawMessage) {
	if method != "session/cancel" {
		return // unknown notifications are ignored
	}
	var p struct {
		SessionID string `json:"sessionId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[p.SessionID]; s != nil && s.running != nil {
		s.running.cancel()
	}
}

// acpParams reads the params of a request.
type acpParams struct{ raw json.RawMessage }

// read decodes the params; missing names the required members that are not there.
func (p *acpParams) read(into any, required ...string) (missing []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(p.raw, &members) != nil {
		return required
	}
	for _, name := range required {
		if raw, ok := members[name]; !ok || string(raw) == "null" {
			missing = append(missing, name)
		}
	}
	if err := json.Unmarshal(p.raw, into); err != nil && len(missing) == 0 {
		return required
	}
	return missing
}

func (a *ACP) initialize(id json.RawMessage, p *acpParams) {
	var in struct {
		ClientCapabilities struct {
			Elicitation *struct {
				Form *json.RawMessage `json:"form"`
				URL  *json.RawMessage `json:"url"`
			} `json:"elicitation"`
		} `json:"clientCapabilities"`
	}
	if missing := p.read(&in, "protocolVersion"); missing != nil {
		a.out.fail(id, a.dialect.invalid(missing, p.raw))
		return
	}
	a.mu.Lock()
	if e := in.ClientCapabilities.Elicitation; e != nil {
		a.client = clientCapabilities{form: e.Form != nil, url: e.URL != nil}
	}
	a.mu.Unlock()
	result := a.dialect.initialize()
	result["protocolVersion"] = 1
	a.withoutCapabilities(result)
	a.dialect.beforeInitialized()
	a.out.result(id, result)
	a.dialect.initialized()
}

// withoutCapabilities takes out what the script says this agent lacks.
func (a *ACP) withoutCapabilities(result object) {
	capabilities, _ := result["agentCapabilities"].(object)
	sessions, _ := capabilities["sessionCapabilities"].(object)
	for _, name := range a.script.Behaviour.Without {
		if name == "load" {
			delete(capabilities, "loadSession")
		}
		delete(sessions, name)
	}
}

func (a *ACP) authenticate(id json.RawMessage, p *acpParams) {
	var in struct {
		MethodID string `json:"methodId"`
	}
	if missing := p.read(&in, "methodId"); missing != nil {
		a.out.fail(id, a.dialect.invalid(missing, p.raw))
		return
	}
	if e := a.dialect.authenticate(in.MethodID); e != nil {
		a.out.fail(id, e)
		return
	}
	a.mu.Lock()
	a.signedIn = true
	a.mu.Unlock()
	a.out.result(id, object{})
}

// refusedSignIn is the error while the agent wants a sign-in; nil when it does not.
func (a *ACP) refusedSignIn() *RPCError {
	a.mu.Lock()
	defer a.mu.Unlock()
	how := a.script.Behaviour.Auth
	if how == "" || how == authOnce && a.signedIn {
		return nil
	}
	return &RPCError{Code: -32000, Message: "Authentication required"}
}

// sessionParams are those of the methods that open a session.
type sessionParams struct {
	SessionID  string            `json:"sessionId"`
	CWD        string            `json:"cwd"`
	MCPServers []json.RawMessage `json:"mcpServers"`
}

// openable reads such params and refuses what cannot be done.
func (a *ACP) openable(id json.RawMessage, p *acpParams, required ...string) (sessionParams, bool) {
	var in sessionParams
	var e *RPCError
	if missing := p.read(&in, required...); missing != nil {
		e = a.dialect.invalid(missing, p.raw)
	} else if e = a.dialect.directory(in.CWD); e == nil {
		if e = a.dialect.servers(in.MCPServers); e == nil {
			e = a.refusedSignIn()
		}
	}
	if e != nil {
		a.out.fail(id, e)
	}
	return in, e == nil
}

func (a *ACP) sessionNew(id json.RawMessage, p *acpParams) {
	in, ok := a.openable(id, p, "cwd", "mcpServers")
	if !ok {
		return
	}
	s := a.newSession(a.newID(), in.CWD)
	a.mu.Lock()
	a.sessions[s.id] = s
	a.mu.Unlock()
	if a.dialect.keepsAtOnce() {
		a.mu.Lock()
		s.keep(sessionRecord{})
		a.mu.Unlock()
	}
	a.answerOpened(id, s, "session/new")
}

// answerOpened answers a method that opens a session, with what comes before and after.
func (a *ACP) answerOpened(id json.RawMessage, s *session, method string) {
	a.dialect.opening(s, method)
	for _, update := range a.script.Behaviour.EarlyUpdates {
		a.update(s.id, update)
	}
	if method == "session/load" && a.script.Behaviour.LoadNull {
		a.out.result(id, nil)
	} else {
		a.out.result(id, a.opened(s, method))
	}
	a.dialect.opened(s, method)
}

// opened is the result of a method that opens a session.
func (a *ACP) opened(s *session, method string) object {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.dialect.catalogs(s)
	if method == "session/new" {
		o["sessionId"] = s.id
	}
	a.dialect.detail(o, s, method)
	return o
}

func (a *ACP) sessionLoad(id json.RawMessage, p *acpParams) { a.reopen(id, p, "session/load") }

func (a *ACP) sessionResume(id json.RawMessage, p *acpParams) { a.reopen(id, p, "session/resume") }

func (a *ACP) reopen(id json.RawMessage, p *acpParams, method string) {
	in, ok := a.openable(id, p, "sessionId", "cwd", "mcpServers")
	if !ok {
		return
	}
	s, err := a.loadSession(in.SessionID)
	if err != nil {
		a.out.fail(id, a.missing(method, in.SessionID))
		return
	}
	a.mu.Lock()
	if old := a.sessions[s.id]; old != nil && old != s {
		old.close()
	}
	a.sessions[s.id] = s
	a.mu.Unlock()
	if method == "session/load" || a.script.Behaviour.ReplayOnResume {
		a.replay(s)
	}
	a.answerOpened(id, s, method)
	if a.script.Behaviour.ReraiseReview && s.review != nil {
		a.reraise(s)
	}
}

// missing is the error for a session that is not there.
func (a *ACP) missing(method, id string) *RPCError {
	if e := a.script.Behaviour.MissingSession; e != nil {
		return e
	}
	return a.dialect.missing(method, id)
}

// replay tells what happened in a session before.
func (a *ACP) replay(s *session) {
	for _, update := range s.past {
		a.dialect.replayed(s, update)
	}
	if b := a.script.Behaviour.Replay; b != nil {
		a.chunks(s.id, "agent_message_chunk", b)
	}
}

func (a *ACP) sessionList(id json.RawMessage, p *acpParams) {
	var in struct {
		CWD string `json:"cwd"`
	}
	if missing := p.read(&in); missing != nil {
		a.out.fail(id, a.dialect.invalid(missing, p.raw))
		return
	}
	list, kept := []any{}, a.kept()
	// Without a home these are the sessions that run.
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range kept {
		if in.CWD == "" || in.CWD == s.cwd {
			list = append(list, object{"sessionId": s.id, "cwd": s.cwd, "title": orNull(s.vars["title"]), "updatedAt": nil})
		}
	}
	a.out.result(id, object{"sessions": list})
}

func (a *ACP) sessionClose(id json.RawMessage, p *acpParams) {
	var in struct {
		SessionID string `json:"sessionId"`
	}
	if missing := p.read(&in, "sessionId"); missing != nil {
		a.out.fail(id, a.dialect.invalid(missing, p.raw))
		return
	}
	a.mu.Lock()
	s := a.sessions[in.SessionID]
	if s != nil {
		if s.running != nil {
			s.running.cancel()
		}
		delete(a.sessions, s.id)
		s.close()
	}
	a.mu.Unlock()
	result, e := a.dialect.closed(in.SessionID, s != nil)
	if e != nil {
		a.out.fail(id, e)
		return
	}
	a.out.result(id, result)
}

// update sends a session update.
func (a *ACP) update(session string, update any) {
	a.out.notify("session/update", object{"sessionId": session, "update": update})
}

// chunks sends the same chunk many times, in writes of many lines: what a client can take
// is measured with it.
func (a *ACP) chunks(session, kind string, b *Burst) {
	const mark = "TEXT"
	line := encode(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", "session/update", object{"sessionId": session, "update": object{"sessionUpdate": kind, "content": textBlock(mark)}}})
	before, after, _ := bytes.Cut(line, []byte(`"`+mark+`"`))
	texts := b.texts()
	var block []byte
	for n := 1; n <= b.Count && a.alive(); n++ {
		block = append(jsonwire.AppendString(append(block, before...), texts()), after...)
		if len(block) < 32<<10 && n < b.Count {
			block = append(block, '\n')
			continue
		}
		a.out.line(block)
		block = block[:0]
	}
}

func textBlock(text string) object { return object{"type": "text", "text": text} }

// texts returns what says what the next chunk of a burst is.
func (b *Burst) texts() func() string {
	if b.Prose {
		return func() string { return nextProse(b.Bytes) }
	}
	text := b.Text
	if b.Bytes > 0 {
		text = strings.Repeat("x", b.Bytes)
	}
	return func() string { return text }
}

// MainACP runs a scripted ACP agent as a program; args are those after the program's name
// and env is the environment as in os.Environ. It returns the exit code.
func MainACP(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	lookup := environment(env)
	o, err := readACPArgs(args, stdout)
	if err == nil && o.version {
		return 0
	}
	var s ACPScript
	if err == nil {
		o.complete(lookup)
		s, err = findACP(o.script, o.home, lookup)
	}
	if err == nil {
		if o.profile != "" {
			s.Profile = o.profile
		}
		s.Behaviour.ApproveAll = s.Behaviour.ApproveAll || o.approveAll
		err = s.validate()
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "scripted agent: %v\n", err)
		return 2
	}
	return NewACP(ACPConfig{Script: s, Stdin: stdin, Stdout: stdout, Stderr: stderr, Home: o.home, Calls: lookup("AO_SCRIPTED_CALLS")}).Run()
}
