package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// messagesReply speaks Anthropic Messages.
type messagesReply struct {
	*output
	id, model string
	usage     Usage
	blocks    []any
	toolUse   bool
}

func newMessagesReply(o *output, id, model string, usage Usage) *messagesReply {
	r := &messagesReply{output: o, id: id, model: model, usage: usage}
	r.event("message_start", obj{"type": "message_start", "message": r.message(nil, obj{"input_tokens": usage.Input, "output_tokens": 0})})
	return r
}

func (r *messagesReply) message(stop any, usage obj) obj {
	blocks := r.blocks
	if blocks == nil {
		blocks = []any{}
	}
	usage["cache_read_input_tokens"] = r.usage.Cached
	usage["cache_creation_input_tokens"] = 0
	return obj{"id": r.id, "type": "message", "role": "assistant", "model": r.model, "content": blocks,
		"stop_reason": stop, "stop_sequence": nil, "usage": usage}
}

// block sends one content block: its start, its deltas, its stop.
func (r *messagesReply) block(start obj, deltas []obj, whole obj) {
	at := len(r.blocks)
	r.event("content_block_start", obj{"type": "content_block_start", "index": at, "content_block": start})
	for _, d := range deltas {
		r.event("content_block_delta", obj{"type": "content_block_delta", "index": at, "delta": d})
	}
	r.event("content_block_stop", obj{"type": "content_block_stop", "index": at})
	r.blocks = append(r.blocks, whole)
}

func (r *messagesReply) text(_ string, pieces []string) {
	deltas := make([]obj, len(pieces))
	for i, p := range pieces {
		deltas[i] = obj{"type": "text_delta", "text": p}
	}
	r.block(obj{"type": "text", "text": ""}, deltas, obj{"type": "text", "text": strings.Join(pieces, "")})
}

func (r *messagesReply) reasoning(_, text string) {
	r.block(obj{"type": "thinking", "thinking": "", "signature": ""},
		[]obj{{"type": "thinking_delta", "thinking": text}, {"type": "signature_delta", "signature": "scripted"}},
		obj{"type": "thinking", "thinking": text, "signature": "scripted"})
}

func (r *messagesReply) call(id string, c *ToolCall) {
	r.toolUse = true
	r.block(obj{"type": "tool_use", "id": id, "name": c.Name, "input": obj{}},
		[]obj{{"type": "input_json_delta", "partial_json": string(c.Arguments)}},
		obj{"type": "tool_use", "id": id, "name": c.Name, "input": c.Arguments})
}

// custom: the protocol has no free text tools, so the text becomes the one argument.
func (r *messagesReply) custom(id, name, input string) {
	r.call(id, &ToolCall{Name: name, Arguments: asInput(input)})
}

func (r *messagesReply) item(raw json.RawMessage) {
	r.event("content_block_start", obj{"type": "content_block_start", "index": len(r.blocks), "content_block": raw})
	r.event("content_block_stop", obj{"type": "content_block_stop", "index": len(r.blocks)})
	r.blocks = append(r.blocks, raw)
}

func (r *messagesReply) fail(f Failure) {
	failed := obj{"type": "error", "error": obj{"type": f.Code, "message": f.Message}}
	r.event("error", failed)
	r.object(http.StatusInternalServerError, failed)
}

func (r *messagesReply) end() {
	stop := "end_turn"
	if r.toolUse {
		stop = "tool_use"
	}
	r.event("message_delta", obj{"type": "message_delta", "delta": obj{"stop_reason": stop, "stop_sequence": nil},
		"usage": obj{"input_tokens": r.usage.Input, "output_tokens": r.usage.Output}})
	r.event("message_stop", obj{"type": "message_stop"})
	r.object(http.StatusOK, r.message(stop, obj{"input_tokens": r.usage.Input, "output_tokens": r.usage.Output}))
}

// asInput makes the argument object of a call that carries plain text.
func asInput(text string) json.RawMessage {
	encoded, err := json.Marshal(map[string]string{"input": text})
	if err != nil { // strings always encode
		panic(err)
	}
	return encoded
}
