package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// completionsReply speaks chat completions.
type completionsReply struct {
	*output
	id, model     string
	usage         Usage
	said, thought strings.Builder
	calls         []any
}

func newCompletionsReply(o *output, id, model string, usage Usage) *completionsReply {
	r := &completionsReply{output: o, id: id, model: model, usage: usage}
	r.chunk(obj{"role": "assistant", "content": ""}, nil)
	return r
}

func (r *completionsReply) chunk(delta obj, finish any) {
	r.event("", obj{"id": r.id, "object": "chat.completion.chunk", "created": 0, "model": r.model,
		"choices": []any{obj{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (r *completionsReply) text(_ string, pieces []string) {
	for _, p := range pieces {
		r.said.WriteString(p)
		r.chunk(obj{"content": p}, nil)
	}
}

func (r *completionsReply) reasoning(_, text string) {
	r.thought.WriteString(text)
	r.chunk(obj{"reasoning_content": text}, nil)
}

func (r *completionsReply) call(id string, c *ToolCall) {
	function := obj{"name": c.Name, "arguments": string(c.Arguments)}
	r.chunk(obj{"tool_calls": []any{obj{"index": len(r.calls), "id": id, "type": "function", "function": function}}}, nil)
	r.calls = append(r.calls, obj{"id": id, "type": "function", "function": function})
}

// custom: the protocol has no free text tools, so the text becomes the one argument.
func (r *completionsReply) custom(id, name, input string) {
	r.call(id, &ToolCall{Name: name, Arguments: asInput(input)})
}

// item is taken for a finished tool call.
func (r *completionsReply) item(raw json.RawMessage) {
	r.chunk(obj{"tool_calls": []any{raw}}, nil)
	r.calls = append(r.calls, raw)
}

func (r *completionsReply) fail(f Failure) {
	failed := obj{"error": obj{"code": f.Code, "message": f.Message, "type": f.Code}}
	r.event("", failed)
	r.object(http.StatusInternalServerError, failed)
}

func (r *completionsReply) end() {
	finish := "stop"
	if len(r.calls) > 0 {
		finish = "tool_calls"
	}
	usage := obj{
		"prompt_tokens": r.usage.Input, "prompt_tokens_details": obj{"cached_tokens": r.usage.Cached},
		"completion_tokens": r.usage.Output, "completion_tokens_details": obj{"reasoning_tokens": r.usage.Reasoning},
		"total_tokens": r.usage.Input + r.usage.Output,
	}
	r.chunk(obj{}, finish)
	r.event("", obj{"id": r.id, "object": "chat.completion.chunk", "created": 0, "model": r.model, "choices": []any{}, "usage": usage})
	r.done()
	message := obj{"role": "assistant", "content": r.said.String()}
	if r.thought.Len() > 0 {
		message["reasoning_content"] = r.thought.String()
	}
	if len(r.calls) > 0 {
		message["tool_calls"] = r.calls
	}
	r.object(http.StatusOK, obj{"id": r.id, "object": "chat.completion", "created": 0, "model": r.model,
		"choices": []any{obj{"index": 0, "message": message, "finish_reason": finish}}, "usage": usage})
}
