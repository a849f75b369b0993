package scripted

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// speak streams a message of the agent.
func (r *run) speak(text string, chunks int) {
	item := r.agentMessage(r.s.newID(), "")
	started := r.start(item)
	for _, piece := range pieces(text, chunks) {
		r.delta("item/agentMessage/delta", item["id"].(string), piece)
	}
	item["text"] = text
	r.complete(item, started)
	r.modelAnswered()
}

func (r *run) think(text string) {
	id, part := r.s.newID(), 0
	item := object{"type": "reasoning", "id": id, "summary": []any{}, "content": []any{}}
	started := r.start(item)
	r.s.out.notify("item/reasoning/summaryPartAdded", object{"threadId": r.th.id, "turnId": r.past.id, "itemId": id, "summaryIndex": part})
	r.s.out.notify("item/reasoning/summaryTextDelta", delta{ThreadID: r.th.id, TurnID: r.past.id, ItemID: id, Delta: text, Summary: &part})
	item["summary"] = []any{text}
	r.complete(item, started)
}

// propose offers a plan. The real model writes it between tags inside a message, so
// with an intro the plan item lies inside that message.
func (r *run) propose(text, intro string, chunks int) {
	var message object
	var begun int64
	if intro != "" {
		message = r.agentMessage(r.s.newID(), "")
		begun = r.start(message)
		r.delta("item/agentMessage/delta", message["id"].(string), intro)
	}
	id := r.s.newID()
	if r.s.old {
		id = r.past.id + "-plan"
	}
	plan := object{"type": "plan", "id": id, "text": ""}
	started := r.start(plan)
	for _, piece := range pieces(text, chunks) {
		r.delta("item/plan/delta", id, piece)
	}
	plan["text"] = text
	r.s.mu.Lock()
	r.th.hasPlan = true
	r.s.keep(r.th, record{Plan: true})
	r.s.mu.Unlock()
	r.set("plan", text)
	r.complete(plan, started)
	if message != nil {
		message["text"] = intro
		r.complete(message, begun)
	}
	r.modelAnswered()
}

// askUser puts a question card and waits.
func (r *run) askUser(a *Ask) error {
	id := a.ID
	if id == "" {
		id = "call_" + r.s.newID()
	}
	questions := make([]any, len(a.Questions))
	for i, q := range a.Questions {
		var options any
		if q.Options != nil {
			options = q.Options
		}
		questions[i] = object{"id": q.ID, "header": r.expand(q.Header), "question": r.expand(q.Question), "isOther": q.Other, "isSecret": q.Secret, "options": options}
	}
	var after any
	if a.ResolveAfterMS > 0 {
		after = a.ResolveAfterMS
	}
	answer, err := r.request("waitingOnUserInput", "item/tool/requestUserInput", object{
		"threadId": r.th.id, "turnId": r.past.id, "itemId": id, "questions": questions,
		"isBlocking": a.Blocking == nil || *a.Blocking, "autoResolutionMs": after,
	}, time.Duration(a.ResolveAfterMS)*time.Millisecond)
	if err != nil {
		return err
	}
	var given struct {
		Answers map[string]struct {
			Answers []string `json:"answers"`
		} `json:"answers"`
	}
	if answer.Result != nil && json.Unmarshal(answer.Result, &given) != nil {
		r.s.logf("ERROR unreadable answer to item/tool/requestUserInput; going on without one")
	}
	all := map[string][]string{}
	for _, q := range a.Questions {
		texts := given.Answers[q.ID].Answers
		if texts != nil {
			all[q.ID] = texts
		}
		r.set("answer."+q.ID, strings.Join(texts, ", "))
	}
	r.set("answers", string(encode(all)))
	r.modelAnswered()
	return r.ctx.Err()
}

// askAsync asks without waiting: the question is a message, told as a whole twice.
func (r *run) askAsync(a *AskAsync) {
	id := a.ID
	if id == "" {
		id = "call_" + r.s.newID()
	}
	var lines []string
	questions := make([]AsyncQuestion, len(a.Questions))
	for i, q := range a.Questions {
		questions[i] = AsyncQuestion{Title: r.expand(q.Title), Options: q.Options}
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, questions[i].Title)
		for _, o := range q.Options {
			lines = append(lines, "- "+o)
		}
	}
	item := r.agentMessage(id, strings.Join(lines, "\n"))
	item["phase"], item["delivery"], item["questions"] = "final_answer", "async", questions
	r.complete(item, r.start(item))
	r.modelAnswered()
}

// request asks the client and waits: for the answer, for the end of the turn, or for d
// when it is not 0, after which the agent goes on without an answer. flag is what the
// thread is waiting on.
func (r *run) request(flag, method string, params any, d time.Duration) (inbound, error) {
	s := r.s
	if flag != "" {
		s.status(r.th, "active", flag)
	}
	id, answer := s.ask(method, params)
	return r.await(flag, id, answer, d)
}

func (r *run) await(flag string, id int, answer chan inbound, d time.Duration) (inbound, error) {
	s := r.s
	var given inbound
	var timeout <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case given = <-answer:
	case <-timeout:
		s.forget(id)
	case <-r.ctx.Done():
		s.forget(id)
		s.mu.Lock()
		r.open = append(r.open, id) // told after the turn's end, as the real harness does
		s.mu.Unlock()
		return inbound{}, r.ctx.Err()
	}
	s.out.notify("serverRequest/resolved", object{"threadId": r.th.id, "requestId": id})
	if flag != "" {
		s.status(r.th, "active")
	}
	return given, r.ctx.Err()
}
