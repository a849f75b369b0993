package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
)

// Script is what the endpoint answers, step by step.
type Script struct {
	Steps []Step `json:"steps"`
	// Models is what GET /v1/models lists; nil means "mock-model".
	Models []string `json:"models,omitempty"`
}

// Step answers one request, or every matching one when Repeat is set.
type Step struct {
	// Name shows up in Request.Step and in messages; empty means "step N", from 1.
	Name   string   `json:"name,omitempty"`
	Match  Match    `json:"match,omitempty"`
	Repeat bool     `json:"repeat,omitempty"`
	Reply  []Action `json:"reply"`
	// Capture is a regular expression with one group, matched against the request's body as
	// it stands; what the group finds replaces {{captured}} in the arguments of calls. It is
	// for what only the harness knows, such as the file a plan has to be written to.
	Capture string `json:"capture,omitempty"`
	// Usage overrides the reported token counts (100 in, 20 out).
	Usage *Usage `json:"usage,omitempty"`
}

// Usage is the token count a reply reports.
type Usage struct {
	Input     int `json:"input"`
	Cached    int `json:"cached,omitempty"`
	Output    int `json:"output"`
	Reasoning int `json:"reasoning,omitempty"`
}

// Action is one thing a reply does. Exactly one of its members is set.
type Action struct {
	// Text is an assistant message, streamed in Chunks pieces (0 and 1: one piece).
	Text   *string `json:"text,omitempty"`
	Chunks int     `json:"chunks,omitempty"`
	// Reasoning is a summary of thought.
	Reasoning *string `json:"reasoning,omitempty"`
	// Call is a function or tool call, Custom one with a free text input (Responses only).
	Call   *ToolCall   `json:"call,omitempty"`
	Custom *CustomCall `json:"custom,omitempty"`
	// Item is sent as a finished output item as it stands (Responses only).
	Item json.RawMessage `json:"item,omitempty"`
	// DelayMS pauses the stream.
	DelayMS int `json:"delay_ms,omitempty"`
	// Wait pauses the stream until Server.Release is called with this name.
	Wait string `json:"wait,omitempty"`
	// HTTP answers with a status instead of a stream. It must be the only action, delays and waits apart.
	HTTP *HTTPError `json:"http,omitempty"`
	// Fail ends the stream with the protocol's own error event.
	Fail *Failure `json:"fail,omitempty"`
	// Disconnect drops the connection without ending the stream.
	Disconnect bool `json:"disconnect,omitempty"`
	// Hang keeps the stream open and silent until the client goes away.
	Hang bool `json:"hang,omitempty"`
}

// ToolCall is a call of a function; Arguments is a JSON object. An empty ID is replaced
// by "call_N". Namespace is for tools that a harness offers in groups (Responses only).
type ToolCall struct {
	ID        string          `json:"id,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// CustomCall is a call of a tool that takes plain text.
type CustomCall struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name"`
	Input string `json:"input"`
}

// HTTPError is a refusal before any stream. A nil Body is replaced by a plain error object.
type HTTPError struct {
	Status     int             `json:"status"`
	RetryAfter string          `json:"retry_after,omitempty"`
	Body       json.RawMessage `json:"body,omitempty"`
}

// Failure is an error inside a stream that began well.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Text is the action that says text in one piece.
func Text(text string) Action { return Action{Text: &text} }

// Chunked is the action that says text in n pieces.
func Chunked(text string, n int) Action { return Action{Text: &text, Chunks: n} }

// Reasoning is the action that thinks.
func Reasoning(text string) Action { return Action{Reasoning: &text} }

// Call is the action that calls a function; arguments is a JSON object.
func Call(id, name, arguments string) Action {
	return Action{Call: &ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}
}

// Wait is the action that pauses until Server.Release(name).
func Wait(name string) Action { return Action{Wait: name} }

// Status is the action that refuses with an HTTP status and a message.
func Status(status int, message string) Action {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "scripted_error"}})
	if err != nil { // a map of strings always encodes
		panic(err)
	}
	return Action{HTTP: &HTTPError{Status: status, Body: body}}
}

// Parse reads a script file's bytes; the format is in the package documentation.
func Parse(data []byte) (Script, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var s Script
	if err := dec.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("model script: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Script{}, errors.New("model script: text after the end of the script; remove it")
	}
	return s, s.validate()
}

// Load reads a script file.
func Load(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("model script: %w", err)
	}
	return Parse(data)
}

func (s *Script) validate() error {
	for i, step := range s.Steps {
		name := stepName(s.Steps, i)
		if len(step.Reply) == 0 {
			return fmt.Errorf("model script: %s has an empty reply; say what it answers", name)
		}
		if err := step.Match.validate(); err != nil {
			return fmt.Errorf("model script: %s: %w", name, err)
		}
		if step.Capture != "" {
			if re, err := regexp.Compile(step.Capture); err != nil || re.NumSubexp() != 1 {
				return fmt.Errorf("model script: %s: capture is no regular expression with one group: %q", name, step.Capture)
			}
		}
		refused, streams := false, false
		for j, a := range step.Reply {
			if n := a.kinds(); n != 1 {
				return fmt.Errorf("model script: %s, action %d sets %d of the members that say what it does; set one", name, j+1, n)
			}
			if a.Call != nil && !isObject(a.Call.Arguments) {
				return fmt.Errorf("model script: %s, action %d: the arguments of a call are a JSON object", name, j+1)
			}
			if a.HTTP != nil && (a.HTTP.Status < 200 || a.HTTP.Status > 599) {
				return fmt.Errorf("model script: %s, action %d: %d is no HTTP status", name, j+1, a.HTTP.Status)
			}
			refused = refused || a.HTTP != nil
			streams = streams || (a.HTTP == nil && a.DelayMS == 0 && a.Wait == "")
		}
		if refused && streams {
			return fmt.Errorf("model script: %s both refuses with an HTTP status and streams; keep one", name)
		}
	}
	return nil
}

// arguments are those of a call, with what the step captured from the request.
func (s *Step) arguments(c *ToolCall, body []byte) *ToolCall {
	if s.Capture == "" {
		return c
	}
	filled := *c
	if found := regexp.MustCompile(s.Capture).FindSubmatch(body); found != nil { // validate has compiled it
		filled.Arguments = bytes.ReplaceAll(c.Arguments, []byte("{{captured}}"), found[1])
	}
	return &filled
}

func (a *Action) kinds() int {
	n := 0
	for _, set := range []bool{a.Text != nil, a.Reasoning != nil, a.Call != nil, a.Custom != nil, a.Item != nil,
		a.DelayMS > 0, a.Wait != "", a.HTTP != nil, a.Fail != nil, a.Disconnect, a.Hang} {
		if set {
			n++
		}
	}
	return n
}

func isObject(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed)
}

func stepName(steps []Step, i int) string {
	if steps[i].Name != "" {
		return steps[i].Name
	}
	return fmt.Sprintf("step %d", i+1)
}
