package scripted

import (
	"encoding/json"
	"maps"
)

// start tells that an item begins and returns when, in milliseconds.
func (r *run) start(item object) int64 {
	at := r.s.now().UnixMilli()
	r.tellStarted(item, at)
	return at
}

func (r *run) tellStarted(item object, at int64) {
	r.s.out.notify("item/started", object{"item": r.timed(item, at, 0), "threadId": r.th.id, "turnId": r.past.id, "startedAtMs": at})
}

// complete tells that an item is finished and keeps it.
func (r *run) complete(item object, started int64) {
	at := r.s.now().UnixMilli()
	whole := r.timed(item, started, at)
	r.s.mu.Lock()
	raw := r.keepItem(whole, started, at)
	r.s.mu.Unlock()
	if item["type"] == "agentMessage" && item["delivery"] == nil {
		r.last = raw
	}
	r.tellCompleted(raw, at)
}

// keepItem keeps a finished item; the caller holds the lock.
func (r *run) keepItem(whole object, started, completed int64) json.RawMessage {
	past := pastItem{Turn: r.past.id, Item: encode(whole), Started: started, Completed: completed}
	r.past.items = append(r.past.items, past)
	r.s.keep(r.th, record{Item: &past})
	return past.Item
}

func (r *run) tellCompleted(item any, at int64) {
	told := object{"item": item, "threadId": r.th.id, "turnId": r.past.id, "completedAtMs": at}
	if !r.s.old {
		told["contentTokenCount"] = nil
	}
	r.s.out.notify("item/completed", told)
}

// timed adds the times that newer versions put into the item itself.
func (r *run) timed(item object, started, completed int64) object {
	if r.s.old {
		return item
	}
	item = maps.Clone(item)
	item["startedAtMs"], item["completedAtMs"] = started, zeroNull(completed)
	return item
}

func (r *run) agentMessage(id, text string) object {
	o := object{"type": "agentMessage", "id": id, "text": text, "phase": nil, "memoryCitation": nil, "delivery": nil, "questions": nil}
	if !r.s.old {
		o["moderation"] = nil
	}
	return o
}

// delta is a piece of an item's text.
type delta struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
	ItemID   string `json:"itemId"`
	Delta    string `json:"delta"`
	// Summary is the part of a reasoning summary.
	Summary *int `json:"summaryIndex,omitempty"`
}

func (r *run) delta(method, item, text string) {
	r.s.out.notify(method, delta{ThreadID: r.th.id, TurnID: r.past.id, ItemID: item, Delta: text})
}

// modelAnswered is what follows every answer of the model.
func (r *run) modelAnswered() {
	r.usage(Usage{Input: 100, Output: 20})
}

func (r *run) usage(u Usage) {
	last := tokens{Input: u.Input, Cached: u.Cached, Output: u.Output, Reasoning: u.Reasoning}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.th.total.add(last)
	total := r.th.total
	r.s.keep(r.th, record{Total: &total})
	r.s.tokenUsage(r.th, r.past.id, last, u.Window)
	r.s.rateLimits()
}

// pieces cuts text into at most n runs of whole characters.
func pieces(text string, n int) []string {
	runes := []rune(text)
	n = max(1, min(n, len(runes)))
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return out
}
