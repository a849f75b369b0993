package model

import (
	"fmt"
	"slices"
	"strings"
)

// Kind tells an ordinary request of the agent from those a harness makes on its own.
type Kind string

// The kinds of request.
const (
	KindAgent  Kind = "agent"  // a turn of the agent
	KindTitle  Kind = "title"  // names the session; Grok and Claude ask for it beside the first turn
	KindReview Kind = "review" // judges an approval in the user's place: Codex with approvals_reviewer auto_review, Claude in mode auto
	KindAside  Kind = "aside"  // the conversation once more, for a line about the turn (Grok) or a guess at the next message (Claude)
)

// Match says which requests a step answers; every member that is set must agree. The zero value is any request of the agent.
type Match struct {
	Kind Kind `json:"kind,omitempty"` // empty: agent; "any": whatever comes
	API  API  `json:"api,omitempty"`
	// Model and Effort must be equal, the others be contained.
	Model        string `json:"model,omitempty"`
	Effort       string `json:"effort,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	LastUser     string `json:"last_user,omitempty"`
	Body         string `json:"body,omitempty"`
	// Tool must be offered by name; Result must be the id of a call whose result the request ends with.
	Tool   string `json:"tool,omitempty"`
	Result string `json:"result,omitempty"`
}

// kindAny in a Match takes requests of every kind.
const kindAny Kind = "any"

func (m *Match) validate() error {
	if !slices.Contains([]Kind{"", KindAgent, KindTitle, KindReview, KindAside, kindAny}, m.Kind) {
		return fmt.Errorf("match.kind %q is none of agent, title, review, aside, any", m.Kind)
	}
	if !slices.Contains([]API{"", Responses, Messages, ChatCompletions}, m.API) {
		return fmt.Errorf("match.api %q is none of responses, messages, chat-completions", m.API)
	}
	return nil
}

func (m *Match) takes(r *Request) bool {
	kind := m.Kind
	if kind == "" {
		kind = KindAgent
	}
	return (kind == kindAny || kind == r.Kind) &&
		(m.API == "" || m.API == r.API) &&
		(m.Model == "" || m.Model == r.Model) &&
		(m.Effort == "" || m.Effort == r.Effort) &&
		strings.Contains(r.Instructions, m.Instructions) &&
		strings.Contains(r.LastUser, m.LastUser) &&
		strings.Contains(string(r.Body), m.Body) &&
		(m.Tool == "" || slices.Contains(r.Tools, m.Tool)) &&
		(m.Result == "" || slices.Contains(r.Results, m.Result))
}
