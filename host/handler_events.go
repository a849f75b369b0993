package host

import (
	"reflect"

	"github.com/aoagents/ao-host/abi"
)

// EventBodies returns the Go type of the body of each type of journal event, nil
// for a type without a body.
func EventBodies() map[EventType]reflect.Type {
	return map[EventType]reflect.Type{
		EventConversationCreated: reflect.TypeFor[Conversation](),
		EventRelocated:           reflect.TypeFor[Relocation](),
		EventSettings:            reflect.TypeFor[SettingsEvent](),
		EventTurn:                reflect.TypeFor[Turn](),
		EventQueue:               reflect.TypeFor[Queue](),
		EventSession:             reflect.TypeFor[Session](),
		EventCatalog:             nil,
		EventObserved:            reflect.TypeFor[abi.Observed](),
		EventDelta:               reflect.TypeFor[abi.Delta](),
		EventItem:                reflect.TypeFor[abi.Item](),
		EventProgress:            reflect.TypeFor[abi.Progress](),
		EventInteraction:         reflect.TypeFor[Interaction](),
		EventProposal:            reflect.TypeFor[Proposal](),
		EventUsage:               reflect.TypeFor[abi.Usage](),
		EventCommands:            reflect.TypeFor[abi.Commands](),
		EventSessionInfo:         reflect.TypeFor[abi.SessionInfo](),
		EventWarning:             reflect.TypeFor[abi.Warning](),
		EventProblem:             reflect.TypeFor[abi.Problem](),
		EventAgentTurn:           reflect.TypeFor[AgentTurn](),
	}
}
