package scripted

import (
	"encoding/json"
	"slices"
	"strconv"
)

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

func (s *Server) modelList(id json.RawMessage, p *params) {
	page, hidden := s.script.PageSize, p.flag("includeHidden")
	if page == 0 {
		page = 50
	}
	page = p.limit("limit", page)
	from := 0
	if cursor, ok := p.str("cursor"); ok {
		n, err := strconv.Atoi(cursor)
		if err != nil || n < 0 {
			p.failed(refused("invalid cursor: %s", cursor))
		}
		from = n
	}
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	var models []any
	for _, m := range s.script.models() {
		if hidden || !m.Hidden {
			models = append(models, s.wireModel(m))
		}
	}
	from = min(from, len(models))
	to := min(from+page, len(models))
	var next any
	if to < len(models) {
		next = strconv.Itoa(to)
	}
	s.out.result(id, object{"data": append([]any{}, models[from:to]...), "nextCursor": next})
}

func (s *Server) wireModel(m Model) object {
	efforts := make([]any, len(m.Efforts))
	for i, e := range m.Efforts {
		efforts[i] = object{"reasoningEffort": e, "description": "Effort " + e}
	}
	title := m.Title
	if title == "" {
		title = m.ID
	}
	effort := m.DefaultEffort
	switch {
	case effort != "":
	case len(m.Efforts) > 0:
		effort = m.Efforts[0]
	default:
		effort = "medium" // the real catalog has no model without one
	}
	return object{
		"id": m.ID, "model": m.ID, "upgrade": nil, "upgradeInfo": nil, "availabilityNux": nil, "displayName": title,
		"description": "A model that follows a script.", "hidden": m.Hidden, "supportedReasoningEfforts": efforts,
		"defaultReasoningEffort": effort, "inputModalities": []any{"text", "image"}, "supportsPersonality": false,
		"additionalSpeedTiers": []any{}, "serviceTiers": []any{}, "defaultServiceTier": nil, "isDefault": m.Default,
	}
}

func (s *Server) modeList(id json.RawMessage, _ *params) {
	s.out.result(id, object{"data": []any{
		object{"name": "Plan", "mode": "plan", "model": nil, "reasoning_effort": "medium"},
		object{"name": "Default", "mode": "default", "model": nil, "reasoning_effort": nil},
	}})
}

func (s *Server) accountRead(id json.RawMessage, _ *params) {
	s.out.result(id, object{"account": nil, "requiresOpenaiAuth": false})
}

// cursor is the opaque place in a list; like the real one it is JSON in a text.
type cursor struct {
	Thread string `json:"requestedThreadId"`
	At     int    `json:"rolloutOrdinal"`
	Desc   bool   `json:"descending"`
}

func (c cursor) String() string { return string(encode(c)) }

// page reads limit, cursor and direction, and cuts a list of n into [from, to). With desc
// the list is read from its end, and from > to.
func (s *Server) page(p *params, thread string, n int, descFirst bool) (from, to int, desc bool, next any) {
	limit := s.script.PageSize
	if limit == 0 {
		limit = 50
	}
	limit = p.limit("limit", limit)
	direction, given := p.enum("sortDirection", "asc", "desc")
	desc = descFirst
	if given {
		desc = direction == "desc"
	}
	if desc {
		from = n
	}
	if text, ok := p.str("cursor"); ok {
		var c cursor
		if json.Unmarshal([]byte(text), &c) != nil || c.Thread != thread || c.At < 0 || c.At > n {
			p.failed(refused("invalid cursor: %s", text))
			return 0, 0, false, nil
		}
		from = c.At
	}
	if desc {
		if to = max(from-limit, 0); to > 0 {
			next = cursor{thread, to, true}.String()
		}
		return from, to, true, next
	}
	if to = min(from+limit, n); to < n {
		next = cursor{thread, to, false}.String()
	}
	return from, to, false, next
}

// paged picks [from, to), backwards when desc.
func paged[T any](all []T, from, to int, desc bool) []T {
	if !desc {
		return all[from:to]
	}
	picked := slices.Clone(all[to:from])
	slices.Reverse(picked)
	return picked
}

// stored finds a thread that is loaded, or on disk without loading it.
func (s *Server) stored(id string) *thread {
	if t := s.threads[id]; t != nil {
		return t
	}
	t, err := s.load(id)
	if err != nil {
		return nil
	}
	return t
}

func (s *Server) itemsList(id json.RawMessage, p *params) {
	threadID := p.need("threadId")
	only, filtered := p.str("turnId")
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.stored(threadID)
	if p.err == nil && (t == nil || len(t.turns) == 0) {
		// The real harness says so of every thread it has nothing on disk of.
		p.failed(&RPCError{Code: -32601, Message: "thread/items/list is not supported yet"})
	}
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	var all []pastItem
	for _, turn := range t.turns {
		if !filtered || turn.id == only {
			all = append(all, turn.items...)
		}
	}
	from, to, desc, next := s.page(p, threadID, len(all), false)
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	data := []any{}
	for _, it := range paged(all, from, to, desc) {
		entry := object{"turnId": it.Turn, "item": it.Item}
		if !s.old {
			entry["startedAtMs"], entry["completedAtMs"] = it.Started, it.Completed
		}
		data = append(data, entry)
	}
	s.out.result(id, object{"data": data, "nextCursor": next, "backwardsCursor": s.backwards(threadID, from, len(data))})
}

func (s *Server) turnsList(id json.RawMessage, p *params) {
	threadID := p.need("threadId")
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
	page, err := s.turnsPage(p, t)
	if err != nil {
		s.out.fail(id, err)
		return
	}
	s.out.result(id, page)
}

// turnsPage is a page of turns, the newest first when the request does not say otherwise.
func (s *Server) turnsPage(p *params, t *thread) (object, *RPCError) {
	view, given := p.enum("itemsView", "notLoaded", "summary", "full")
	if !given {
		view = "summary"
	}
	from, to, desc, next := s.page(p, t.id, len(t.turns), true)
	if p.err != nil {
		return nil, p.err
	}
	data := []any{}
	for _, turn := range paged(t.turns, from, to, desc) {
		data = append(data, s.wireTurn(turn, view))
	}
	return object{"data": data, "nextCursor": next, "backwardsCursor": s.backwards(t.id, from, len(data))}, nil
}

func (s *Server) backwards(thread string, from, n int) any {
	if n == 0 {
		return nil
	}
	return cursor{thread, from, false}.String()
}
