package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// prompt is a session/prompt that runs, or a turn that the agent began by itself.
type prompt struct {
	a        *ACP
	s        *session
	id       json.RawMessage // of the request; nil for a turn of the agent's own
	rule     *ACPTurn
	text     string
	promptID string // as a client that names its prompts does, or the agent's own
	child    string // the session of a child, which updates and requests then carry

	ctx    context.Context
	cancel context.CancelFunc

	selfTurns [][]Step
	why       string // how a cancelled prompt came to be cancelled, where the agent tells
	tokens    Usage
	answers   int // of the model
}

// ended is the error that ends a prompt in its own way.
type ended struct{ end ACPEnd }

func (e *ended) Error() string { return "the prompt ends" }

// failedPrompt is the error of a prompt whose model failed.
type failedPrompt struct{ f Failure }

func (e *failedPrompt) Error() string { return e.f.Message }

func (a *ACP) sessionPrompt(id json.RawMessage, p *acpParams) {
	var in struct {
		SessionID string `json:"sessionId"`
		Prompt    []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"prompt"`
		Meta struct {
			PromptID string `json:"promptId"`
			Mode     string `json:"mode"`
		} `json:"_meta"`
	}
	if missing := p.read(&in, "sessionId", "prompt"); missing != nil {
		a.out.fail(id, a.dialect.invalid(missing, p.raw))
		return
	}
	s := a.find(id, "session/prompt", in.SessionID)
	if s == nil {
		return
	}
	if e := a.refusedSignIn(); e != nil {
		a.out.fail(id, e)
		return
	}
	var texts []string
	for _, block := range in.Prompt {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	t := &prompt{a: a, s: s, id: id, text: strings.Join(texts, "\n"), promptID: in.Meta.PromptID}
	if t.promptID == "" {
		t.promptID = a.newID()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if in.Meta.Mode != "" {
		a.dialect.promptMode(s, in.Meta.Mode)
	}
	if s.running == nil {
		a.begin(t)
		return
	}
	switch orText(a.script.Behaviour.SecondPrompt, a.dialect.secondPrompt()) {
	case promptRefuse:
		a.out.fail(id, &RPCError{Code: -32600, Message: "Invalid request: a prompt is already in progress for this session"})
	case promptQueue:
		s.queue = append(s.queue, t)
		a.dialect.queued(t)
	}
}

// begin lets a prompt run; the caller holds the lock.
func (a *ACP) begin(t *prompt) {
	s := t.s
	delete(s.vars, "decision")
	delete(s.vars, "action")
	delete(s.vars, "feedback")
	if t.rule == nil {
		var n int
		t.rule, n = a.choose(s, t.text)
		if code := t.rule.ExitBeforeMessage; code != nil {
			a.exit(*code)
			return
		}
		if n >= 0 && !t.rule.Repeat {
			s.used[n] = true
			s.keep(sessionRecord{Used: &n})
		}
	}
	s.started++
	s.keep(sessionRecord{Turn: true})
	t.ctx, t.cancel = context.WithCancel(a.ctx)
	s.running = t
	a.turns.Add(1)
	go func() {
		defer a.turns.Done()
		defer t.cancel()
		t.main()
	}()
}

// choose picks the turn of the script for a message.
func (a *ACP) choose(s *session, text string) (*ACPTurn, int) {
	for i := range a.script.Turns {
		rule := &a.script.Turns[i]
		if (rule.Repeat || !s.used[i]) && rule.When.agrees(s.state(text, s.started+1)) {
			return rule, i
		}
	}
	say := "The script has no turn for this."
	return &ACPTurn{Steps: []Step{{Say: &say}}}, -1
}

// main is a prompt from its start to its end.
func (t *prompt) main() {
	a := t.a
	if t.id != nil {
		t.set("text", t.text)
		a.mu.Lock()
		t.s.remember(object{"sessionUpdate": "user_message_chunk", "content": textBlock(t.text)})
		a.mu.Unlock()
	}
	a.dialect.begun(t)
	t.finish(t.steps(t.rule.Steps))
}

// finish ends a prompt and begins what waits: the script's own turn, or the next in the queue.
func (t *prompt) finish(err error) {
	a := t.a
	if !a.alive() || a.ctx.Err() != nil {
		return // the process ends: nothing more is said
	}
	end := t.ending(err)
	if end.DelayMS > 0 && !sleep(a.ctx, time.Duration(end.DelayMS)*time.Millisecond) {
		return
	}
	var failed *failedPrompt
	if errors.As(err, &failed) {
		a.dialect.failed(t, failed.f)
	} else {
		a.dialect.finished(t, end)
	}
	_ = t.stepsIn(a.ctx, t.rule.After) // after the answer, where nothing can end
	a.mu.Lock()
	defer a.mu.Unlock()
	t.s.saved(sessionRecord{Vars: t.s.vars})
	if t.s.running != t {
		return // the answer made the session idle
	}
	t.s.running = nil
	switch {
	case len(t.selfTurns) > 0:
		next := &prompt{a: a, s: t.s, rule: &ACPTurn{Steps: t.selfTurns[0]}, selfTurns: t.selfTurns[1:], promptID: a.newID()}
		a.begin(next)
	case len(t.s.queue) > 0:
		next := t.s.queue[0]
		t.s.queue = t.s.queue[1:]
		a.begin(next)
	}
}

// ending says how a prompt ends.
func (t *prompt) ending(err error) ACPEnd {
	var own *ended
	switch {
	case errors.As(err, &own):
		return own.end
	case t.ctx.Err() != nil || errors.Is(err, errCancelled):
		for _, e := range []*ACPEnd{t.rule.OnCancel, t.a.script.Behaviour.OnCancel} {
			if e != nil {
				return *e
			}
		}
		return ACPEnd{StopReason: "cancelled"}
	}
	return ACPEnd{StopReason: "end_turn"}
}

// answer answers the request of a prompt; result is what goes with a stop reason. The
// session takes the next prompt from then on: whoever reads the answer can send one.
func (t *prompt) answer(end ACPEnd, result object) {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.s.saved(sessionRecord{Vars: t.s.vars})
	if t.s.running == t && len(t.selfTurns) == 0 && len(t.s.queue) == 0 {
		t.s.running = nil
	}
	switch {
	case t.id == nil || end.Never || t.rule.Respond == respondNever:
	case end.Error != nil:
		t.a.out.fail(t.id, end.Error)
	default:
		result["stopReason"] = end.StopReason
		t.a.out.result(t.id, result)
	}
}

// steps plays steps until one ends the prompt.
func (t *prompt) steps(steps []Step) error { return t.stepsIn(t.ctx, steps) }

func (t *prompt) stepsIn(ctx context.Context, steps []Step) error {
	was := t.ctx
	t.ctx = ctx
	defer func() { t.ctx = was }()
	for i := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.play(&steps[i]); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// play does one step. The error ends the prompt.
func (t *prompt) play(st *Step) error {
	a := t.a
	switch {
	case st.Say != nil:
		a.dialect.say(t, t.expand(*st.Say), st.Chunks)
		t.modelAnswered()
	case st.Reason != nil:
		t.tell(object{"sessionUpdate": "agent_thought_chunk", "content": textBlock(t.expand(*st.Reason))})
	case st.Plan != nil:
		if st.Intro != "" {
			a.dialect.say(t, t.expand(st.Intro), 1)
		}
		return t.propose(t.expand(*st.Plan))
	case st.Ask != nil:
		return a.dialect.ask(t, t.expanded(st.Ask))
	case st.Run != nil:
		return a.dialect.tool(t, t.command(st.Run))
	case st.WriteFile != nil:
		return a.dialect.tool(t, t.fileWrite(st.WriteFile))
	case st.Form != nil:
		return t.elicit(object{"mode": "form", "message": t.expand(st.Form.Message), "requestedSchema": st.Form.Schema})
	case st.URL != nil:
		return t.consent(st.URL)
	case st.Checklist != nil:
		t.checklist(st.Checklist)
	case st.Usage != nil:
		t.count(*st.Usage)
		t.gauge(st.Usage.Window)
	case st.Child != nil:
		return t.spawn(st.Child)
	case st.SelfTurn != nil:
		t.selfTurns = append(t.selfTurns, st.SelfTurn)
	case st.Name != nil:
		t.set("title", t.expand(*st.Name))
		t.tell(object{"sessionUpdate": "session_info_update", "title": t.expand(*st.Name)})
	case st.Settings != nil:
		return t.settings(st.Settings)
	case st.Update != nil:
		a.update(t.session(), st.Update)
	case st.Notify != nil:
		a.out.notify(st.Notify.Method, t.params(st.Notify.Params))
	case st.Request != nil:
		answer, err := t.request(st.Request.Method, t.params(st.Request.Params))
		t.set("content", string(answer.Result))
		return err
	case st.WaitInterrupt:
		<-t.ctx.Done()
	case st.Fail != nil:
		return &failedPrompt{Failure{Code: st.Fail.Code, Message: t.expand(st.Fail.Message), HTTP: st.Fail.HTTP, Retries: st.Fail.Retries}}
	case st.End != nil:
		return &ended{*st.End}
	case st.If != nil:
		a.mu.Lock()
		agrees := st.If.agrees(t.s.state(t.text, t.s.started))
		a.mu.Unlock()
		if agrees {
			return t.stepsIn(t.ctx, st.Then)
		}
		return t.stepsIn(t.ctx, st.Else)
	case st.Huge != nil:
		return t.huge(st.Huge)
	case st.Burst != nil:
		a.chunks(t.session(), "agent_message_chunk", st.Burst)
	default:
		_, err := a.misbehave(t.ctx, st, t.expand)
		return err
	}
	return t.ctx.Err()
}

// session is the id that updates and requests carry.
func (t *prompt) session() string {
	if t.child != "" {
		return t.child
	}
	return t.s.id
}

// tell sends an update, dressed as the dialect does it.
func (t *prompt) tell(update object) {
	params := object{"sessionId": t.session(), "update": update}
	t.a.dialect.dress(t, params)
	t.a.out.notify("session/update", params)
}

// set remembers a value for texts and conditions, with the session.
func (t *prompt) set(name, value string) {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.s.vars[name] = value
}

func (t *prompt) expand(text string) string {
	return expand(text, func() map[string]string {
		t.a.mu.Lock()
		defer t.a.mu.Unlock()
		return t.s.values()
	})
}

// expanded is a question with its texts filled in and ids where the script gives none.
func (t *prompt) expanded(q *Ask) *Ask {
	out := *q
	out.Questions = slices.Clone(q.Questions)
	if out.ID == "" {
		out.ID = t.toolID("ask")
	}
	for i := range out.Questions {
		out.Questions[i].Question, out.Questions[i].Header = t.expand(q.Questions[i].Question), t.expand(q.Questions[i].Header)
	}
	return &out
}

// toolID makes the id of a tool call that the script does not name.
func (t *prompt) toolID(name string) string {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.s.tools++
	return t.a.dialect.toolID(name, t.s.tools-1)
}

// params are a script's own params, completed with the session.
func (t *prompt) params(raw json.RawMessage) any {
	var members map[string]any
	if json.Unmarshal(raw, &members) != nil || members == nil {
		if raw == nil {
			return object{"sessionId": t.session()}
		}
		return raw
	}
	if _, given := members["sessionId"]; !given {
		members["sessionId"] = t.session()
	}
	return members
}

// request asks the client and waits for its answer or for the end of the prompt.
func (t *prompt) request(method string, params any) (inbound, error) {
	id, answer := t.a.ask(method, params)
	return t.answered(id, answer)
}

// answered waits for the answer to a request.
func (t *prompt) answered(id int, answer <-chan inbound) (inbound, error) {
	select {
	case given := <-answer:
		return given, t.ctx.Err() // what is answered to a cancelled prompt changes nothing any more
	case <-t.ctx.Done():
		t.a.forget(id)
		return inbound{}, t.ctx.Err()
	}
}

// extension asks by a method of the agent's own, wrapped as a leader passes it on when the script says so.
func (t *prompt) extension(method string, params object) (inbound, error) {
	inner := method
	switch t.a.script.Behaviour.Wrapped {
	case wrapPlain:
		inner = strings.TrimPrefix(method, "_")
	case wrapUnderscore:
	default:
		return t.request(method, params)
	}
	return t.request(method, object{"method": inner, "params": params})
}

// permit asks for a permission and returns the chosen option's id and kind; both are
// empty when the client answers "cancelled" or nothing readable.
func (t *prompt) permit(call object, options []permission) (id, kind string, err error) {
	wire := make([]any, len(options))
	for i, o := range options {
		wire[i] = object{"optionId": o.id, "name": o.name, "kind": o.kind}
	}
	answer, err := t.request("session/request_permission", object{"sessionId": t.session(), "toolCall": call, "options": wire})
	if err != nil {
		return "", "", err
	}
	var given struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	if answer.Result != nil && json.Unmarshal(answer.Result, &given) == nil && given.Outcome.Outcome == "selected" {
		for _, o := range options {
			if o.id == given.Outcome.OptionID {
				t.set("decision", o.id)
				t.set("action", o.kind)
				return o.id, o.kind, nil
			}
		}
	}
	t.set("decision", "cancelled")
	t.set("action", "cancelled")
	return "", "", nil
}

// permission is a choice of a permission request.
type permission struct{ id, name, kind string }

// count adds to the tokens of a prompt and of its session.
func (t *prompt) count(u Usage) {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	for _, sum := range []*Usage{&t.tokens, &t.s.tokens} {
		sum.Input += u.Input
		sum.Cached += u.Cached
		sum.Output += u.Output
		sum.Reasoning += u.Reasoning
	}
}

// modelAnswered is what follows every answer of the model.
func (t *prompt) modelAnswered() {
	t.count(Usage{Input: 100, Output: 20})
	t.answers++
	t.gauge(0)
}

// gauge tells how full the context is.
func (t *prompt) gauge(window int) { t.a.dialect.gauge(t, window) }
