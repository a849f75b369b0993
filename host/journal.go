package host

import (
	"github.com/aoagents/ao-host/abi"
)

// EventType is the type of a journal event. The body is the JSON of the Go type
// named beside it.
type EventType string

// The event types.
const (
	EventConversationCreated EventType = "conversation_created" // Conversation
	EventRelocated           EventType = "relocated"            // Relocation
	EventSettings            EventType = "settings"             // SettingsEvent
	EventTurn                EventType = "turn"                 // Turn, at every change of its state, content or place
	EventQueue               EventType = "queue"                // Queue, when it is held, released or put into another order
	EventSession             EventType = "session"              // Session
	EventCatalog             EventType = "catalog"              // abi.Catalog is live only: the body is empty
	EventObserved            EventType = "observed"             // abi.Observed
	EventDelta               EventType = "delta"                // abi.Delta
	EventItem                EventType = "item"                 // abi.Item
	EventProgress            EventType = "progress"             // abi.Progress
	EventInteraction         EventType = "interaction"          // Interaction, at every change of its state
	EventProposal            EventType = "proposal"             // Proposal, at every change of its state
	EventUsage               EventType = "usage"                // abi.Usage
	EventCommands            EventType = "commands"             // abi.Commands
	EventSessionInfo         EventType = "session_info"         // abi.SessionInfo
	EventWarning             EventType = "warning"              // abi.Warning
	EventProblem             EventType = "problem"              // abi.Problem
	EventAgentTurn           EventType = "agent_turn"           // AgentTurn: the agent works by itself
)

// SettingsEvent says what is remembered now and why it changed.
type SettingsEvent struct {
	Settings abi.Settings `json:"settings"`
	Revision int64        `json:"revision"`
	// Cause is "user", "implement" when a plan was implemented, or "reopened" when
	// that decision provably never reached the agent.
	Cause string `json:"cause"`
	// Proposal is the plan whose decision it was, except where a person chose.
	Proposal string `json:"proposal,omitempty"`
	// ReplacedMode is the mode that "implement" replaced, empty for none.
	ReplacedMode string `json:"replaced_mode,omitempty"`
	// ModeChosen: the person named the mode, if only the one that it was.
	ModeChosen bool `json:"mode_chosen,omitempty"`
}

// AgentTurn is a turn the agent began by itself.
type AgentTurn struct {
	NativeTurn string         `json:"native_turn,omitempty"`
	Running    bool           `json:"running"`
	Status     abi.TurnStatus `json:"status,omitempty"`
}
