package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// session is a conversation as a scripted ACP agent keeps it. It is guarded by process.mu.
type session struct {
	a       *ACP
	id, cwd string
	config  map[string]json.RawMessage // current values, by option
	mode    string                     // of agents whose mode is no option
	vars    map[string]string
	used    map[int]bool // turns of the script that are used up
	started int          // number of turns begun
	past    []json.RawMessage
	hasPlan bool
	resumed bool
	shut    bool
	review  *openReview
	file    *os.File

	running *prompt
	queue   []*prompt

	messages, tools, events int // numbers for ids
	tokens                  Usage
}

// openReview is a review that waits for its answer.
type openReview struct {
	ToolCallID string `json:"toolCallId"`
	Plan       string `json:"plan"`
}

// sessionRecord is a line of a session's file; every line adds to what came before.
type sessionRecord struct {
	Session *struct {
		ID  string `json:"id"`
		CWD string `json:"cwd"`
	} `json:"session,omitempty"`
	Config   map[string]json.RawMessage `json:"config,omitempty"`
	Mode     string                     `json:"mode,omitempty"`
	Vars     map[string]string          `json:"vars,omitempty"`
	Used     *int                       `json:"used,omitempty"`
	Turn     bool                       `json:"turn,omitempty"`
	Past     json.RawMessage            `json:"past,omitempty"`
	Plan     bool                       `json:"plan,omitempty"`
	Review   *openReview                `json:"review,omitempty"`
	Reviewed bool                       `json:"reviewed,omitempty"`
}

func (a *ACP) newSession(id, cwd string) *session {
	s := &session{a: a, id: id, cwd: cwd, config: map[string]json.RawMessage{}, vars: map[string]string{}, used: map[int]bool{}, mode: "default"}
	for _, o := range a.options {
		s.config[o.ID] = o.Default
	}
	return s
}

func (a *ACP) sessionFile(id string) string {
	return filepath.Join(a.home, "scripted", "acp-"+id+".jsonl")
}

// keep writes to the session's file, which it makes.
func (s *session) keep(r sessionRecord) {
	a := s.a
	if a == nil || a.home == "" {
		return
	}
	if s.file == nil {
		path := a.sessionFile(s.id)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			a.logf("history: %v", err)
			return
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			a.logf("history: %v", err)
			return
		}
		s.file = f
		begin := sessionRecord{Config: s.config, Mode: s.mode}
		begin.Session = &struct {
			ID  string `json:"id"`
			CWD string `json:"cwd"`
		}{s.id, s.cwd}
		s.write(begin)
	}
	s.write(r)
}

func (s *session) write(r sessionRecord) {
	// The line feed comes first too: a killed process may have left a line open.
	if _, err := s.file.Write(append(append([]byte("\n"), encode(r)...), '\n')); err != nil {
		s.a.logf("history: %v", err)
	}
}

// saved keeps what changed of a session that has a file already; the others are kept with their first turn.
func (s *session) saved(r sessionRecord) {
	if s.file != nil {
		s.keep(r)
	}
}

func (s *session) close() {
	if s.file != nil {
		_ = s.file.Close() // every line was written already
		s.file = nil
	}
}

var errNoSession = errors.New("no such session")

// loadSession reads a session back, or takes it from memory when there is no home.
func (a *ACP) loadSession(id string) (*session, error) {
	s := a.newSession(id, "")
	if a.home == "" {
		a.mu.Lock()
		defer a.mu.Unlock()
		old := a.sessions[id]
		if old == nil || old.started == 0 && !a.dialect.keepsAtOnce() {
			return nil, errNoSession
		}
		s.cwd, s.config, s.mode, s.vars, s.used, s.started, s.past, s.hasPlan, s.review =
			old.cwd, old.config, old.mode, old.vars, old.used, old.started, old.past, old.hasPlan, old.review
	} else if err := a.readSession(s); err != nil {
		return nil, err
	}
	s.resumed = true
	keeps := a.dialect.keeps()
	if k := a.script.Behaviour.Keeps; k != nil {
		keeps = *k
	}
	kept := map[string]bool{}
	for _, name := range keeps {
		kept[name] = true
	}
	for _, o := range a.options {
		if !kept["*"] && !kept[o.ID] {
			s.config[o.ID] = o.Default
		}
	}
	if !kept["*"] && !kept["mode"] {
		s.mode = "default"
	}
	return s, nil
}

func (a *ACP) readSession(s *session) error {
	if !filepath.IsLocal(s.id) || strings.ContainsAny(s.id, `/\`) {
		return errNoSession
	}
	data, err := os.ReadFile(a.sessionFile(s.id))
	if err != nil {
		return errNoSession
	}
	for line := range bytes.Lines(data) {
		var r sessionRecord
		if json.Unmarshal(line, &r) == nil {
			s.apply(r)
		}
	}
	if s.cwd == "" {
		return errNoSession
	}
	f, err := os.OpenFile(a.sessionFile(s.id), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return errNoSession
	}
	s.file = f
	return nil
}

func (s *session) apply(r sessionRecord) {
	if r.Session != nil {
		s.cwd = r.Session.CWD
	}
	if r.Config != nil {
		s.config = r.Config
	}
	if r.Mode != "" {
		s.mode = r.Mode
	}
	if r.Vars != nil {
		s.vars = r.Vars
	}
	if r.Used != nil {
		s.used[*r.Used] = true
	}
	if r.Turn {
		s.started++
	}
	if r.Past != nil {
		s.past = append(s.past, r.Past)
	}
	if r.Plan {
		s.hasPlan = true
	}
	if r.Review != nil {
		s.review = r.Review
	}
	if r.Reviewed {
		s.review = nil
	}
}

// kept are the sessions that session/list tells: those with a file, or those in memory.
func (a *ACP) kept() []*session {
	if a.home == "" {
		a.mu.Lock()
		defer a.mu.Unlock()
		var out []*session
		for _, id := range sortedKeys(a.sessions) {
			if s := a.sessions[id]; s.started > 0 || a.dialect.keepsAtOnce() {
				out = append(out, s)
			}
		}
		return out
	}
	files, err := filepath.Glob(filepath.Join(a.home, "scripted", "acp-*.jsonl"))
	if err != nil { // the pattern is ours
		return nil
	}
	var out []*session
	for _, file := range files {
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "acp-"), ".jsonl")
		s := a.newSession(id, "")
		if a.readSession(s) == nil {
			s.close()
			out = append(out, s)
		}
	}
	return out
}

// find returns an open session, or answers that there is none.
func (a *ACP) find(id json.RawMessage, method, session string) *session {
	a.mu.Lock()
	s := a.sessions[session]
	a.mu.Unlock()
	if s == nil || s.shut {
		if e := a.missing(method, session); e != nil {
			a.out.fail(id, e)
		}
		return nil
	}
	return s
}

// values are what texts and conditions can speak of.
func (s *session) values() map[string]string {
	v := map[string]string{"mode": s.planMode(), "model": s.value("model"), "effort": s.value("effort"), "cwd": s.cwd}
	for name, value := range s.vars {
		v[name] = value
	}
	return v
}

// planMode is the mode as scripts call it: the id that the agent itself uses.
func (s *session) planMode() string {
	if s.a == nil {
		return ""
	}
	if id := s.a.dialect.modeOption(); id != "" {
		return s.value(id)
	}
	return s.mode
}

// state is what conditions look at, for a message in the n-th turn.
func (s *session) state(text string, n int) state {
	return state{values: s.values(), text: text, plan: s.hasPlan, resumed: s.resumed, turn: n}
}

// remember keeps an update for a later replay.
func (s *session) remember(update object) {
	raw := json.RawMessage(encode(update))
	s.past = append(s.past, raw)
	s.saved(sessionRecord{Past: raw})
}
