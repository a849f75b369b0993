package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
)

func (s *Server) threadStart(id json.RawMessage, p *params) {
	d := s.script.defaults()
	set := settings{Model: d.Model, Effort: d.Effort, ApprovalPolicy: d.ApprovalPolicy, Reviewer: d.ApprovalsReviewer, Sandbox: sandboxOf(d.Sandbox)}
	p.readThread(&set)
	cwd, given := p.str("cwd")
	if !given {
		cwd = workingDir()
	}
	ephemeral := p.flag("ephemeral")
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().Unix()
	t := &thread{id: s.newID(), cwd: cwd, ephemeral: ephemeral, created: now, updated: now, settings: set,
		vars: map[string]string{}, used: map[int]bool{}}
	s.threads[t.id] = t
	s.out.result(id, s.wireStart(t, []any{}))
	s.out.notify("thread/started", object{"thread": s.wireThread(t, []any{})})
}

// badID is the complaint about an id that is no UUID, or nil.
func badID(what, id string) *RPCError {
	for i, r := range id {
		if !strings.ContainsRune("0123456789abcdefABCDEF-", r) {
			return refused("invalid %s id: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `%c` at %d", what, r, i+1)
		}
	}
	return nil
}

func (s *Server) threadResume(id json.RawMessage, p *params) {
	threadID := p.need("threadId")
	exclude := p.flag("excludeTurns")
	first := p.object("initialTurnsPage")
	if p.err == nil {
		p.err = badID("session", threadID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[threadID]
	if p.err == nil && (t == nil || len(t.turns) == 0) {
		loaded, err := s.load(threadID)
		if err != nil {
			p.err = refused("no rollout found for thread id %s", threadID)
		}
		t = loaded
	}
	if p.err == nil {
		if s.threads[threadID] == nil && (s.old || t.settings.Sandbox.Type == "workspaceWrite") {
			// 0.153.4 comes back with the configured sandbox; 0.171.0 keeps the others, but
			// this one it forgets too.
			t.settings.Sandbox = sandboxOf(s.script.defaults().Sandbox)
		}
		p.readThread(&t.settings)
		if cwd, ok := p.str("cwd"); ok && t.running == nil {
			t.cwd = cwd
		}
	}
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	t.resumed = t.resumed || s.threads[threadID] == nil
	s.threads[threadID] = t
	turns := []any{}
	if !exclude {
		s.out.notify("deprecationNotice", object{"summary": "Full-history hydration is deprecated for paginated threads; use `excludeTurns: true`, then page with `thread/turns/list` and `thread/items/list`.", "details": nil})
		for _, turn := range t.turns {
			turns = append(turns, s.wireTurn(turn, "full"))
		}
	}
	if t.running == nil {
		s.status(t, "idle")
	}
	o := s.wireStart(t, turns)
	o["initialTurnsPage"] = nil
	if first != nil {
		page, err := s.turnsPage(first, t)
		if err != nil {
			s.out.fail(id, err)
			return
		}
		o["initialTurnsPage"] = page
	}
	items := 0
	for _, turn := range t.turns {
		items += len(turn.items)
	}
	o["turnsBackwardsCursor"], o["itemsBackwardsCursor"] = s.backwards(t.id, len(t.turns), len(t.turns)), s.backwards(t.id, items, items)
	if !s.old {
		o["collaborationMode"] = t.settings.modeSettings()
	}
	s.out.result(id, o)
	if t.total != (tokens{}) && len(t.turns) > 0 {
		s.tokenUsage(t, t.turns[len(t.turns)-1].id, tokens{}, 0)
	}
	s.out.notify("thread/goal/cleared", object{"threadId": t.id})
}

func (s *Server) threadRead(id json.RawMessage, p *params) {
	threadID := p.need("threadId")
	full := p.flag("includeTurns")
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.stored(threadID)
	if p.err == nil && t == nil {
		p.failed(refused("thread not loaded: %s", threadID))
	}
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	turns := []any{}
	if full {
		for _, turn := range t.turns {
			turns = append(turns, s.wireTurn(turn, "full"))
		}
	}
	s.out.result(id, object{"thread": s.wireThread(t, turns)})
}

// loaded finds a thread that this process works with.
func (s *Server) loaded(p *params) *thread {
	id := p.need("threadId")
	if p.err == nil {
		p.err = badID("thread", id)
	}
	t := s.threads[id]
	if p.err == nil && t == nil {
		p.failed(refused("thread not found: %s", id))
	}
	return t
}

func (s *Server) settingsUpdate(id json.RawMessage, p *params) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.loaded(p)
	if p.err == nil {
		set := t.settings
		if p.readTurn(&set); p.err == nil {
			t.settings = set
		}
	}
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	s.out.result(id, object{})
	s.tellSettings(t)
}

func (s *Server) nameSet(id json.RawMessage, p *params) {
	name := p.need("name")
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.loaded(p)
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	s.out.result(id, object{})
	s.rename(t, name)
}

func (s *Server) rename(t *thread, name string) {
	t.name = name
	s.keep(t, record{Name: name})
	s.out.notify("thread/name/updated", object{"threadId": t.id, "threadName": name})
}

func (s *Server) unsubscribe(id json.RawMessage, p *params) {
	threadID := p.need("threadId")
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := "notLoaded"
	if s.threads[threadID] != nil {
		status = "unsubscribed"
	}
	s.out.result(id, object{"status": status})
}

// tellSettings says what is in force, when it is something else than was said before.
func (s *Server) tellSettings(t *thread) {
	if t.everTold && t.told == t.settings {
		return
	}
	t.told, t.everTold = t.settings, true
	s.keep(t, record{Settings: &t.settings})
	s.out.notify("thread/settings/updated", object{"threadId": t.id, "threadSettings": s.wireSettings(t)})
}

// status says what a thread is doing: "idle", "systemError" or "active" with the flags.
func (s *Server) status(t *thread, kind string, flags ...string) {
	status := object{"type": kind}
	if kind == "active" {
		status["activeFlags"] = append([]string{}, flags...)
	}
	s.out.notify("thread/status/changed", object{"threadId": t.id, "status": status})
}

const window = 258400

// tokenUsage tells the sum and the last response's share, and what follows it.
func (s *Server) tokenUsage(t *thread, turn string, last tokens, size int) {
	if size == 0 {
		size = window
	}
	s.out.notify("thread/tokenUsage/updated", object{"threadId": t.id, "turnId": turn,
		"tokenUsage": object{"total": t.total.wire(), "last": last.wire(), "modelContextWindow": size}})
}

func (s *Server) rateLimits() {
	limits := object{"limitId": "codex", "limitName": nil, "primary": nil, "secondary": nil, "credits": nil, "individualLimit": nil,
		"spendControlReached": nil, "planType": nil, "rateLimitReachedType": nil}
	if !s.old {
		limits["normalModelSlug"] = nil
	}
	s.out.notify("account/rateLimits/updated", object{"rateLimits": limits})
}

// warnModel is what the real harness says at every turn with a model that its catalog lacks.
func (s *Server) warnModel(t *thread) {
	for _, m := range s.script.models() {
		if m.ID == t.settings.Model {
			return
		}
	}
	s.warn(t, fmt.Sprintf("Model metadata for `%s` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.", t.settings.Model))
}

func (s *Server) warn(t *thread, message string) {
	s.out.notify("warning", object{"threadId": t.id, "message": message})
}
