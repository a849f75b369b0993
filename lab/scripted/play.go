package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// failure is the error of a turn that failed.
type failure struct{ wire object }

func (f *failure) Error() string { return "turn failed" }

func asFailure(err error) (object, bool) {
	var f *failure
	if errors.As(err, &f) {
		return f.wire, true
	}
	return nil, false
}

// errCancelled ends a turn as interrupted though nobody called turn/interrupt: the user cancelled an approval.
var errCancelled = errors.New("cancelled by an approval")

// steps plays steps until one ends the turn.
func (r *run) steps(steps []Step) error {
	for i := range steps {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if !r.bare {
			r.takeSteers()
		}
		if err := r.play(&steps[i]); err != nil {
			return err
		}
	}
	return r.ctx.Err()
}

// play does one step. The error ends the turn: a failure, or an interruption.
func (r *run) play(st *Step) error {
	s := r.s
	switch {
	case st.Say != nil:
		r.speak(r.expand(*st.Say), st.Chunks)
	case st.Reason != nil:
		r.think(r.expand(*st.Reason))
	case st.Plan != nil:
		r.propose(r.expand(*st.Plan), r.expand(st.Intro), st.Chunks)
	case st.Ask != nil:
		return r.askUser(st.Ask)
	case st.AskAsync != nil:
		r.askAsync(st.AskAsync)
	case st.Run != nil:
		return r.runCommand(st.Run)
	case st.WriteFile != nil:
		return r.writeFile(st.WriteFile)
	case st.Permissions != nil:
		return r.askPermissions(st.Permissions)
	case st.Form != nil:
		return r.elicit(st.Form, "form")
	case st.URL != nil:
		return r.elicit(st.URL, "url")
	case st.Checklist != nil:
		s.out.notify("turn/plan/updated", object{"threadId": r.th.id, "turnId": r.past.id, "explanation": orNull(st.Explanation), "plan": st.Checklist})
	case st.Usage != nil:
		r.usage(*st.Usage)
	case st.Child != nil:
		return r.spawn(st.Child)
	case st.SelfTurn != nil:
		s.mu.Lock()
		r.selfTurns = append(r.selfTurns, st.SelfTurn)
		s.mu.Unlock()
	case st.Name != nil:
		name := r.expand(*st.Name)
		s.mu.Lock()
		s.rename(r.th, name)
		s.mu.Unlock()
	case st.Warn != nil:
		s.warn(r.th, r.expand(*st.Warn))
	case st.Settings != nil:
		s.mu.Lock()
		st.Settings.apply(&r.th.settings)
		s.tellSettings(r.th)
		s.mu.Unlock()
	case st.Notify != nil:
		s.out.notify(st.Notify.Method, r.params(st.Notify.Params))
	case st.Request != nil:
		_, err := r.request("", st.Request.Method, r.params(st.Request.Params), 0)
		return err
	case st.Item != nil:
		r.anyItem(st.Item)
	case st.WaitInterrupt:
		<-r.ctx.Done()
	case st.WaitSteer:
		select {
		case <-r.steered:
			r.takeSteers()
		case <-r.ctx.Done():
		}
	case st.Fail != nil:
		return r.fail(st.Fail)
	case st.If != nil:
		s.mu.Lock()
		agrees := st.If.agrees(r.th.state(r.th.vars["text"], r.th.started))
		s.mu.Unlock()
		if agrees {
			return r.steps(st.Then)
		}
		return r.steps(st.Else)
	default:
		return r.misbehave(st)
	}
	return r.ctx.Err()
}

// misbehave does what a harness should not.
func (r *run) misbehave(st *Step) error {
	switch {
	case st.Huge != nil:
		return r.huge(st.Huge)
	case st.Burst != nil:
		r.burst(st.Burst)
		return r.ctx.Err()
	}
	_, err := r.s.misbehave(r.ctx, st, r.expand)
	return err
}

// params are a script's own params, completed with the thread and turn when they are an object without them.
func (r *run) params(raw json.RawMessage) any {
	var members map[string]any
	if json.Unmarshal(raw, &members) != nil || members == nil {
		if raw == nil {
			return object{"threadId": r.th.id, "turnId": r.past.id}
		}
		return raw
	}
	for name, value := range map[string]string{"threadId": r.th.id, "turnId": r.past.id} {
		if _, given := members[name]; !given {
			members[name] = value
		}
	}
	return members
}

func (r *run) anyItem(raw json.RawMessage) {
	item := object{}
	if json.Unmarshal(raw, &item) != nil {
		item["type"] = "unreadable"
	}
	if _, given := item["id"]; !given {
		item["id"] = r.s.newID()
	}
	r.complete(item, r.start(item))
}

func (r *run) huge(h *Huge) error {
	text := string(bytes.Repeat([]byte("x"), h.Bytes))
	switch h.Kind {
	case "delta":
		r.delta("item/agentMessage/delta", r.s.newID(), text)
	case "junk":
		r.s.out.line([]byte(text))
	case "request":
		_, err := r.request("waitingOnApproval", "item/commandExecution/requestApproval", object{
			"kind": "command", "threadId": r.th.id, "turnId": r.past.id, "itemId": r.s.newID(), "startedAtMs": r.s.now().UnixMilli(),
			"environmentId": "local", "reason": text, "command": "true", "cwd": r.th.cwd, "availableDecisions": []any{"accept", "cancel"}}, 0)
		return err
	case "response":
		r.s.out.mu.Lock()
		r.s.out.pad = h.Bytes
		r.s.out.mu.Unlock()
	}
	return r.ctx.Err()
}

func (r *run) burst(b *Burst) {
	id, texts := r.s.newID(), b.texts()
	item := r.agentMessage(id, "")
	started := r.start(item)
	var whole strings.Builder
	for n := 0; n < b.Count && r.ctx.Err() == nil; n++ {
		text := texts()
		r.delta("item/agentMessage/delta", id, text)
		whole.WriteString(text)
	}
	item["text"] = whole.String()
	r.complete(item, started)
}

func (c *Change) apply(to *settings) {
	for _, change := range []struct {
		value string
		to    *string
	}{{c.Mode, &to.Mode}, {c.Model, &to.Model}, {c.Effort, &to.Effort}, {c.ApprovalPolicy, &to.ApprovalPolicy}, {c.ApprovalsReviewer, &to.Reviewer}} {
		if change.value != "" {
			*change.to = change.value
		}
	}
	if c.Sandbox != "" {
		to.Sandbox = sandboxOf(c.Sandbox)
	}
}

// fail ends the turn with an error, after the retries it announces.
func (r *run) fail(f *Failure) error {
	info := func(code string) any {
		switch code {
		case "httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected", "responseTooManyFailedAttempts":
			var status any
			if f.HTTP != 0 {
				status = f.HTTP
			}
			return object{code: object{"httpStatusCode": status}}
		}
		return code
	}
	tell := func(message string, code any, details any, again bool) object {
		wire := object{"message": message, "codexErrorInfo": code, "additionalDetails": details, "misalignment": nil}
		r.s.out.notify("error", object{"error": wire, "willRetry": again, "threadId": r.th.id, "turnId": r.past.id})
		return wire
	}
	message := r.expand(f.Message)
	for n := range f.Retries {
		tell("Reconnecting... "+itoa(n+1)+"/"+itoa(f.Retries), object{"responseStreamDisconnected": object{"httpStatusCode": nil}}, message, true)
		if !sleep(r.ctx, 10*time.Millisecond) {
			return r.ctx.Err()
		}
	}
	r.s.status(r.th, "systemError")
	return &failure{tell(message, info(f.Code), nil, false)}
}

// spawn runs steps in a turn of a thread of its own.
func (r *run) spawn(c *Child) error {
	s := r.s
	s.mu.Lock()
	now := s.now().Unix()
	kid := &thread{id: s.newID(), cwd: r.th.cwd, created: now, updated: now, settings: r.th.settings, parent: r.th.id,
		told: r.th.settings, everTold: true, vars: map[string]string{}, used: map[int]bool{}, ephemeral: r.th.ephemeral}
	s.threads[kid.id] = kid
	ctx := r.ctx
	if c.Background {
		ctx = s.ctx
	}
	next := s.newRun(ctx, kid, &Turn{Steps: c.Steps}, r.past.root)
	s.mu.Unlock()
	prompt := r.expand(c.Prompt)
	s.mu.Lock()
	next.begin(message{text: prompt, content: []json.RawMessage{encode(object{"type": "text", "text": prompt, "text_elements": []any{}})}})
	s.mu.Unlock()
	if c.Early {
		s.launch(next)
		if !c.Background {
			<-next.done
		}
	}
	item := object{"type": "collabAgentToolCall", "id": s.newID(), "tool": "spawnAgent", "status": "inProgress", "senderThreadId": r.th.id,
		"receiverThreadIds": []any{}, "prompt": prompt, "model": "", "reasoningEffort": "medium", "agentsStates": object{}}
	started := r.start(item)
	s.status(kid, "idle")
	item["status"], item["receiverThreadIds"] = "completed", []any{kid.id}
	item["model"], item["reasoningEffort"] = kid.settings.Model, orNull(kid.settings.Effort)
	item["agentsStates"] = object{kid.id: object{"status": "pendingInit", "message": nil}}
	r.complete(item, started)
	if !c.Early {
		s.launch(next)
		if !c.Background {
			<-next.done
		}
	}
	if !c.Background {
		r.children = append(r.children, next)
	}
	r.modelAnswered()
	return r.ctx.Err()
}
