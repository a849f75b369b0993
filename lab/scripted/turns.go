package scripted

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// run is a turn that runs.
type run struct {
	s     *Server
	th    *thread
	past  *pastTurn
	rule  *Turn
	begun time.Time
	// bare: no turn at all, steps at the start of the process.
	bare bool

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	input    *keptMessage    // of the user, nil in a turn of the agent's own
	startID  json.RawMessage // of the turn/start that is answered at the end
	last     json.RawMessage // last agent message
	late     []func()        // what still happens after the end
	children []*run

	// Under Server.mu:
	interrupts []json.RawMessage // ids of turn/interrupt to be answered
	steers     []message
	steered    chan struct{} // has room for one: something is in steers
	selfTurns  [][]Step
	open       []int // requests that were pending when the turn was interrupted
}

// message is what the user sent.
type message struct {
	clientID *string
	content  []json.RawMessage
	text     string
}

// readInput reads the input of turn/start and turn/steer.
func (p *params) readInput() message {
	var m message
	if id, ok := p.str("clientUserMessageId"); ok {
		m.clientID = &id
	}
	var texts []string
	for _, raw := range p.list("input") {
		part := &params{}
		if json.Unmarshal(raw, &part.members) != nil {
			p.failed(invalid("invalid type: %s, expected internally tagged enum UserInput", describe(raw)))
			return m
		}
		part.need("type")
		kind, _ := part.enum("type", "text", "image", "localImage", "audio", "localAudio", "skill", "mention")
		if kind == "text" {
			texts = append(texts, part.need("text"))
			if !part.has("text_elements") && part.err == nil {
				part.members["text_elements"] = json.RawMessage("[]")
				raw = encode(part.members)
			}
		}
		p.inherit(part)
		m.content = append(m.content, raw)
	}
	m.text = strings.Join(texts, "\n")
	return m
}

func (s *Server) turnStart(id json.RawMessage, p *params) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.need("threadId")
	input := p.readInput()
	t := s.loaded(p)
	var set settings
	if p.err == nil {
		set = t.settings
		p.readTurn(&set)
	}
	cwd, moved := p.str("cwd")
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	t.settings = set
	if r := t.running; r != nil {
		s.out.result(id, object{"turn": s.wireTurn(r.unbegun(), "notLoaded")})
		s.tellSettings(t)
		r.steer(input)
		return
	}
	if moved {
		t.cwd = cwd
	}
	delete(t.vars, "decision")
	delete(t.vars, "action")
	rule, n := s.choose(t, input.text)
	if rule.ExitBeforeMessage != nil {
		s.exit(*rule.ExitBeforeMessage)
		return
	}
	if n >= 0 && !rule.Repeat {
		t.used[n] = true
	}
	if t.preview == "" {
		t.preview = input.text
	}
	r := s.newRun(s.ctx, t, rule, "")
	// What is answered is in the history: whoever kills the process then finds it there.
	s.keep(t, record{Settings: &t.settings})
	if n >= 0 && !rule.Repeat {
		s.keep(t, record{Used: &n})
	}
	s.keep(t, record{Preview: t.preview})
	r.begin(input)
	s.tellSettings(t)
	s.warnModel(t)
	switch rule.Respond {
	case respondAfterEnd:
		r.startID = id
	case respondNever:
	default:
		s.out.result(id, object{"turn": s.wireTurn(r.unbegun(), "notLoaded")})
	}
	s.launch(r)
}

// unbegun is the turn as turn/start tells it: not begun yet.
func (r *run) unbegun() *pastTurn {
	return &pastTurn{id: r.past.id, root: r.past.root, status: "inProgress"}
}

// newRun prepares a turn; the caller holds the lock.
func (s *Server) newRun(ctx context.Context, t *thread, rule *Turn, root string) *run {
	past := &pastTurn{id: s.newID(), root: root, status: "inProgress"}
	if root == "" {
		past.root = past.id
	}
	r := &run{s: s, th: t, past: past, rule: rule, done: make(chan struct{}), steered: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	t.running = r
	t.turns = append(t.turns, past)
	t.started++
	return r
}

// launch lets a prepared turn run.
func (s *Server) launch(r *run) {
	s.turns.Add(1)
	go func() {
		defer s.turns.Done()
		defer close(r.done)
		defer r.cancel()
		r.main()
	}()
}

// choose picks the turn of the script for a message.
func (s *Server) choose(t *thread, text string) (*Turn, int) {
	for i := range s.script.Turns {
		rule := &s.script.Turns[i]
		if (rule.Repeat || !t.used[i]) && rule.When.agrees(t.state(text, t.started+1)) {
			return rule, i
		}
	}
	say := "The script has no turn for this."
	return &Turn{Steps: []Step{{Say: &say}}}, -1
}

func (s *Server) turnSteer(id json.RawMessage, p *params) {
	p.need("threadId")
	input := p.readInput()
	expected := p.need("expectedTurnId")
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.loaded(p)
	if p.err == nil && t.running == nil {
		p.failed(refused("no active turn to steer"))
	}
	if p.err == nil && t.running.past.id != expected {
		p.failed(refused("expected active turn id `%s` but found `%s`", expected, t.running.past.id))
	}
	if p.err != nil {
		s.out.fail(id, p.err)
		return
	}
	s.out.result(id, object{"turnId": t.running.past.id})
	t.running.steer(input)
}

// steer hands input to a running turn; the caller holds the lock.
func (r *run) steer(m message) {
	r.steers = append(r.steers, m)
	select {
	case r.steered <- struct{}{}:
	default:
	}
}

func (s *Server) turnInterrupt(id json.RawMessage, p *params) {
	p.need("threadId")
	turn := p.need("turnId")
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.loaded(p)
	switch {
	case p.err != nil:
	case t.running != nil && t.running.past.id == turn:
		t.running.interrupts = append(t.running.interrupts, id)
		t.running.cancel()
	case t.running != nil:
		p.failed(refused("expected active turn id %s but found %s", turn, t.running.past.id))
	case s.old && len(t.turns) > 0 && t.turns[len(t.turns)-1].id == turn && t.turns[len(t.turns)-1].status == "interrupted":
		t.unanswered = append(t.unanswered, id)
	default:
		p.failed(refused("no active turn to interrupt"))
	}
	if p.err != nil {
		s.out.fail(id, p.err)
	}
}

// main is a turn from its start to its end.
func (r *run) main() {
	s := r.s
	s.mu.Lock()
	if r.begun.IsZero() {
		r.keepStart()
	}
	if r.ctx.Err() == nil {
		s.status(r.th, "active")
		s.out.notify("turn/started", object{"threadId": r.th.id, "turn": s.wireTurn(&pastTurn{id: r.past.id, root: r.past.root,
			status: "inProgress", started: r.past.started}, "notLoaded")})
	}
	s.mu.Unlock()
	err := r.ctx.Err()
	if err == nil && r.input != nil {
		r.set("text", r.input.text)
		r.tellMessage(r.input)
	}
	if err == nil {
		err = r.steps(r.rule.Steps)
	}
	for err == nil && r.takeSteers() {
		err = r.steps(r.rule.Steered)
	}
	r.end(err)
}

// begin keeps that the turn begins with a message of the user; the caller holds the
// lock.
func (r *run) begin(m message) {
	r.keepStart()
	r.input = r.keepMessage(m)
}

// keepStart notes that the turn begins; the caller holds the lock.
func (r *run) keepStart() {
	r.begun = r.s.now()
	r.past.started = r.begun.Unix()
	r.s.keep(r.th, record{Turn: &turnRecord{ID: r.past.id, Root: r.past.root, Started: r.past.started}})
}

// keptMessage is a message of the user as the item that the history has.
type keptMessage struct {
	message
	item object
	at   int64 // when, in milliseconds
}

// keepMessage makes the item of the user's message and keeps it; the caller holds the
// lock.
func (r *run) keepMessage(m message) *keptMessage {
	k := &keptMessage{message: m, at: r.s.now().UnixMilli()}
	k.item = object{"type": "userMessage", "id": r.s.newID(), "clientId": m.clientID, "content": append([]json.RawMessage{}, m.content...)}
	r.keepItem(r.timed(k.item, k.at, k.at), k.at, k.at)
	return k
}

// tellMessage tells the user's message as an item.
func (r *run) tellMessage(k *keptMessage) {
	r.tellStarted(k.item, k.at)
	r.tellCompleted(r.timed(k.item, k.at, k.at), k.at)
}

// takeSteers tells what reached the turn since it was asked last.
func (r *run) takeSteers() bool {
	r.s.mu.Lock()
	steers := r.steers
	r.steers = nil
	kept := make([]*keptMessage, len(steers))
	for i, m := range steers {
		kept[i] = r.keepMessage(m)
	}
	r.s.mu.Unlock()
	for _, k := range kept {
		r.set("text", k.text)
		r.tellMessage(k)
	}
	return len(steers) > 0
}

// end closes a turn: completed without an error, failed with a failure, else interrupted.
func (r *run) end(err error) {
	s := r.s
	if !s.alive() {
		return
	}
	for _, child := range r.children {
		<-child.done // cancelled with this turn's context, or ended
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.now()
	past := r.past
	past.status = "completed"
	if failure, ok := asFailure(err); ok {
		past.status, past.err = "failed", failure
	} else if err != nil {
		past.status = "interrupted"
	}
	past.completed, past.duration = ended.Unix(), ended.Sub(r.begun).Milliseconds()
	closed := &turnRecord{ID: past.id, Status: past.status, Completed: past.completed, Duration: past.duration}
	if past.err != nil {
		closed.Error = encode(past.err)
	}
	s.keep(r.th, record{End: closed})
	r.th.updated = ended.Unix()
	r.th.running = nil
	if s.ctx.Err() != nil {
		return // the process ends: the real harness says nothing more
	}
	answered := r.interrupts
	if past.status == "interrupted" {
		answered = append(r.th.unanswered, answered...)
		r.th.unanswered = nil
	}
	for _, id := range answered {
		s.out.result(id, object{})
	}
	if past.status != "interrupted" && !s.old {
		s.out.notify("thread/readState/changed", object{"threadId": r.th.id, "readState": object{
			"firstUnread": object{"type": "turn", "turnId": r.th.turns[0].id}, "revision": s.newID()}})
	}
	if past.status != "failed" { // a failure has said systemError
		s.status(r.th, "idle")
	}
	s.out.notify("turn/completed", object{"threadId": r.th.id, "turn": r.wireEnd()})
	if r.startID != nil {
		s.out.result(r.startID, object{"turn": s.wireTurn(r.unbegun(), "notLoaded")})
	}
	for _, late := range r.late {
		s.turns.Add(1)
		go func() {
			defer s.turns.Done()
			late()
		}()
	}
	for _, id := range r.open {
		s.out.notify("serverRequest/resolved", object{"threadId": r.th.id, "requestId": id})
	}
	if len(r.selfTurns) > 0 {
		next := s.newRun(s.ctx, r.th, &Turn{Steps: r.selfTurns[0]}, "")
		next.selfTurns = r.selfTurns[1:]
		s.launch(next)
	}
}

// wireEnd is the turn as turn/completed tells it: with the last message of the agent.
func (r *run) wireEnd() object {
	o := r.s.wireTurn(r.past, "notLoaded")
	if r.past.status == "completed" && len(r.last) > 0 {
		o["items"], o["itemsView"] = []json.RawMessage{r.last}, "summary"
	}
	return o
}

// set remembers a value for texts and conditions, with the thread.
func (r *run) set(name, value string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.th.vars[name] = value
	if !r.bare {
		r.s.keep(r.th, record{Vars: r.th.vars})
	}
}

func (r *run) expand(text string) string {
	return expand(text, func() map[string]string {
		r.s.mu.Lock()
		defer r.s.mu.Unlock()
		return r.th.values()
	})
}
