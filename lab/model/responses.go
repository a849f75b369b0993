package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// responsesReply speaks OpenAI Responses. The events are the ones Codex 0.153.4 and
// 0.171.0 read; indexes and ids agree between the events of one item.
type responsesReply struct {
	*output
	id, model string
	usage     Usage
	items     []any
	sent      int
}

// event numbers the events, which Grok insists on.
func (r *responsesReply) event(name string, data obj) {
	data["sequence_number"] = r.sent
	r.sent++
	r.output.event(name, data)
}

func newResponsesReply(o *output, id, model string, usage Usage) *responsesReply {
	r := &responsesReply{output: o, id: id, model: model, usage: usage}
	r.event("response.created", obj{"type": "response.created", "response": r.response("in_progress")})
	return r
}

type obj = map[string]any

func (r *responsesReply) response(status string) obj {
	items := r.items
	if items == nil {
		items = []any{}
	}
	return obj{"id": r.id, "object": "response", "created_at": 0, "model": r.model, "status": status, "output": items}
}

func (r *responsesReply) added(item obj) {
	r.event("response.output_item.added", obj{"type": "response.output_item.added", "output_index": len(r.items), "item": item})
}

func (r *responsesReply) finished(item any) {
	r.event("response.output_item.done", obj{"type": "response.output_item.done", "output_index": len(r.items), "item": item})
	r.items = append(r.items, item)
}

func (r *responsesReply) text(id string, pieces []string) {
	r.added(obj{"type": "message", "role": "assistant", "id": id, "status": "in_progress", "content": []any{}})
	for _, p := range pieces {
		r.event("response.output_text.delta", obj{"type": "response.output_text.delta", "item_id": id,
			"output_index": len(r.items), "content_index": 0, "delta": p})
	}
	r.finished(obj{"type": "message", "role": "assistant", "id": id, "status": "completed",
		"content": []any{obj{"type": "output_text", "text": strings.Join(pieces, ""), "annotations": []any{}}}})
}

func (r *responsesReply) reasoning(id, text string) {
	r.added(obj{"type": "reasoning", "id": id, "summary": []any{}})
	at := obj{"item_id": id, "output_index": len(r.items), "summary_index": 0}
	part := func(kind string, extra obj) {
		event := obj{"type": kind}
		for _, from := range []obj{at, extra} {
			for k, v := range from {
				event[k] = v
			}
		}
		r.event(kind, event)
	}
	part("response.reasoning_summary_part.added", obj{"part": obj{"type": "summary_text", "text": ""}})
	part("response.reasoning_summary_text.delta", obj{"delta": text})
	r.finished(obj{"type": "reasoning", "id": id, "summary": []any{obj{"type": "summary_text", "text": text}}, "encrypted_content": nil})
}

func (r *responsesReply) call(id string, c *ToolCall) {
	item := func(arguments, status string) obj {
		it := obj{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": c.Name, "arguments": arguments, "status": status}
		if c.Namespace != "" {
			it["namespace"] = c.Namespace
		}
		return it
	}
	r.added(item("", "in_progress"))
	r.event("response.function_call_arguments.delta", obj{"type": "response.function_call_arguments.delta",
		"item_id": "fc_" + id, "output_index": len(r.items), "delta": string(c.Arguments)})
	r.finished(item(string(c.Arguments), "completed"))
}

func (r *responsesReply) custom(id, name, input string) {
	r.added(obj{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": id, "name": name, "input": "", "status": "in_progress"})
	r.finished(obj{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": id, "name": name, "input": input, "status": "completed"})
}

func (r *responsesReply) item(raw json.RawMessage) { r.finished(raw) }

func (r *responsesReply) fail(f Failure) {
	failed := r.response("failed")
	failed["error"] = obj{"code": f.Code, "message": f.Message}
	r.event("response.failed", obj{"type": "response.failed", "response": failed})
	r.object(http.StatusInternalServerError, failed)
}

func (r *responsesReply) end() {
	completed := r.response("completed")
	completed["usage"] = obj{
		"input_tokens": r.usage.Input, "input_tokens_details": obj{"cached_tokens": r.usage.Cached},
		"output_tokens": r.usage.Output, "output_tokens_details": obj{"reasoning_tokens": r.usage.Reasoning},
		"total_tokens": r.usage.Input + r.usage.Output,
	}
	r.event("response.completed", obj{"type": "response.completed", "response": completed})
	r.object(http.StatusOK, completed)
}
