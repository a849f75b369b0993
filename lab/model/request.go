package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// API names one of the model protocols.
type API string

// The protocols the endpoint speaks.
const (
	Responses       API = "responses"
	Messages        API = "messages"
	ChatCompletions API = "chat-completions"
)

// Request is one request the endpoint received, credentials removed.
type Request struct {
	N      int // from 1, in order of arrival
	Method string
	Path   string
	Query  string
	Header http.Header // without credentials
	Body   []byte      // decompressed

	API          API // empty for requests that ask no model
	Kind         Kind
	Step         string // the step that answered; empty when none did
	Model        string
	Effort       string // Responses reasoning.effort, chat reasoning_effort, Messages output_config.effort
	Stream       bool
	Instructions string   // system and developer text, in order, joined by blank lines
	LastUser     string   // text of the last message of the user
	Tools        []string // names of the tools on offer, those of a group as "group.tool"
	Results      []string // ids of the calls whose results come after the last message of the model
}

// credentialHeaders are dropped from the log: a live test may run with a real key in its environment.
var credentialHeaders = []string{"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "Cookie", "Chatgpt-Account-Id"}

func withoutCredentials(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range credentialHeaders {
		h.Del(name)
	}
	return h
}

// wireRequest is the union of what the three protocols carry, as far as a script looks at it.
type wireRequest struct {
	Model        string          `json:"model"`
	Stream       bool            `json:"stream"`
	Instructions json.RawMessage `json:"instructions"` // Responses
	Input        json.RawMessage `json:"input"`        // Responses: text or items
	System       json.RawMessage `json:"system"`       // Messages: text or blocks
	Messages     []wireItem      `json:"messages"`     // Messages, chat completions
	Reasoning    struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
	ReasoningEffort string `json:"reasoning_effort"`
	OutputConfig    struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
	Tools []wireTool `json:"tools"`
}

type wireTool struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Tools []wireTool `json:"tools"` // of a namespace
}

// names appends what the tool is called; the tools of a namespace are "namespace.tool".
func (t *wireTool) names(to []string, namespace string) []string {
	name := t.Name
	if t.Function.Name != "" {
		name = t.Function.Name
	}
	if name == "" {
		name = t.Type
	}
	if t.Type != "namespace" {
		return append(to, namespace+name)
	}
	for i := range t.Tools {
		to = t.Tools[i].names(to, name+".")
	}
	return to
}

type wireItem struct {
	Type       string          `json:"type"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	CallID     string          `json:"call_id"`      // Responses
	ToolCallID string          `json:"tool_call_id"` // chat completions
}

type wireBlock struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	ToolUseID string `json:"tool_use_id"` // Messages
}

// describe fills the decoded members of r from its body. A body it cannot read leaves them empty.
func (r *Request) describe() {
	var w wireRequest
	if err := json.Unmarshal(r.Body, &w); err != nil {
		return
	}
	r.Model, r.Stream = w.Model, w.Stream
	for _, effort := range []string{w.Reasoning.Effort, w.ReasoningEffort, w.OutputConfig.Effort} {
		if effort != "" {
			r.Effort = effort
		}
	}
	for i := range w.Tools {
		r.Tools = w.Tools[i].names(r.Tools, "")
	}
	var instructions []string
	add := func(text string) {
		if text != "" {
			instructions = append(instructions, text)
		}
	}
	text, _ := contentOf(w.Instructions)
	add(text)
	text, _ = contentOf(w.System)
	add(text)
	items := w.Messages
	if len(w.Input) > 0 && json.Unmarshal(w.Input, &items) != nil {
		text, _ = contentOf(w.Input)
		r.LastUser = text
	}
	for _, it := range items {
		text, results := contentOf(it.Content)
		switch {
		case strings.HasSuffix(it.Type, "_call_output"):
			r.Results = append(r.Results, it.CallID)
		case strings.HasSuffix(it.Type, "_call"), it.Role == "assistant":
			r.Results = nil
		case it.Role == "tool":
			r.Results = append(r.Results, it.ToolCallID)
		case it.Role == "system", it.Role == "developer":
			add(text)
		case it.Role == "user":
			r.Results = append(r.Results, results...)
			if text != "" {
				r.LastUser = text
			}
		}
	}
	r.Instructions = strings.Join(instructions, "\n\n")
}

// contentOf reads text, or a list of blocks with text and tool results.
func contentOf(raw json.RawMessage) (text string, results []string) {
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var blocks []wireBlock
	if json.Unmarshal(raw, &blocks) != nil {
		return "", nil
	}
	var parts []string
	for _, b := range blocks {
		if b.ToolUseID != "" {
			results = append(results, b.ToolUseID)
		}
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n"), results
}

// classify tells side requests from those of the agent by what harnesses were seen to send.
func (r *Request) classify() {
	r.Kind = KindAgent
	switch {
	case isReview(r):
		r.Kind = KindReview
	case isTitle(r):
		r.Kind = KindTitle
	case isAside(r):
		r.Kind = KindAside
	}
}
