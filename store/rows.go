package store

import "time"

// TurnState is the stored state of a submission.
type TurnState string

// The turn states. Stored states only move forward; what can be derived (held,
// next, position) is not stored.
const (
	// TurnQueued: accepted, not yet handed to the child.
	TurnQueued TurnState = "queued"
	// TurnDispatched: an outbox row that carries it is committed; it may reach
	// the child at any moment.
	TurnDispatched TurnState = "dispatched"
	// TurnRunning: the provider accepted it.
	TurnRunning     TurnState = "running"
	TurnCompleted   TurnState = "completed"
	TurnInterrupted TurnState = "interrupted"
	TurnFailed      TurnState = "failed"
	// TurnUncertain: it may have reached the agent; never replayed by itself.
	TurnUncertain TurnState = "uncertain"
	// TurnNotSent: proven never to have reached the agent.
	TurnNotSent    TurnState = "not_sent"
	TurnCancelled  TurnState = "cancelled"
	TurnSuperseded TurnState = "superseded"
)

// InteractionState is the stored state of an interaction.
type InteractionState string

// The interaction states.
const (
	InteractionOpen InteractionState = "open"
	// InteractionClaimed: an answer won the race and is being delivered.
	InteractionClaimed InteractionState = "claimed"
	InteractionClosed  InteractionState = "closed"
)

// ProposalState is the stored state of a plan.
type ProposalState string

// The proposal states.
const (
	ProposalOpen             ProposalState = "open"
	ProposalImplemented      ProposalState = "implemented"
	ProposalChangesRequested ProposalState = "changes_requested"
	ProposalSuperseded       ProposalState = "superseded"
	ProposalExpired          ProposalState = "expired"
)

// Conversation is one durable chat.
type Conversation struct {
	ID      string
	Harness string
	Cwd     string
	// RealCwd is Cwd with its symbolic links resolved when it was chosen.
	RealCwd   string
	Title     string
	CreatedAt time.Time
	UpdatedAt time.Time
	// Settings is the JSON of the remembered settings, SettingsRev its revision.
	Settings    []byte
	SettingsRev int64
	// NativeSession is the harness's own session id, empty before the first.
	NativeSession string
	// NativeUsed is set once a submission may have reached NativeSession.
	NativeUsed bool
	// Generation is the number of the newest provider process, 0 before any.
	Generation int64
	// Held stops the queue, for HoldReason (a stable code).
	Held       bool
	HoldReason string
	// LastSeq is the number of the newest journal event.
	LastSeq uint64
	// JournalFloor: events up to this number may have been dropped.
	JournalFloor uint64
	// Own is the JSON of what the agent had by itself in NativeSession before anything
	// was set there, nil where that is not known.
	Own []byte
}

// Turn is one accepted submission.
type Turn struct {
	ID             string
	ConversationID string
	// Position orders the queue; an answer goes in front (rule 21b).
	Position int64
	State    TurnState
	// Version counts the changes of Content and Position while it is queued.
	Version  int64
	ClientID string
	Origin   string
	// Content, Settings and Reply are JSON (abi types).
	Content  []byte
	Settings []byte
	// SettingsRev is the revision the settings were frozen from.
	SettingsRev int64
	// InteractionID, ProposalID and RetryOf link what this answers, continues or
	// repeats.
	InteractionID string
	ProposalID    string
	RetryOf       string
	Reply         []byte
	Generation    int64
	NativeTurn    string
	Evidence      string
	// StopReason, ErrorCode and ErrorMessage say how it ended.
	StopReason   string
	ErrorCode    string
	ErrorMessage string
	AcceptedAt   time.Time
	DispatchedAt time.Time
	StartedAt    time.Time
	EndedAt      time.Time
}

// Generation is one provider process.
type Generation struct {
	ConversationID  string
	Number          int64
	PID             int64
	PIDStart        int64
	BindingDigest   string
	BindingVersion  string
	ProviderVersion string
	NativeSession   string
	StartedAt       time.Time
	// ExitedAt is zero while the exit is unproven.
	ExitedAt time.Time
	Exit     []byte
}

// Interaction is one thing the agent asked.
type Interaction struct {
	ID             string
	ConversationID string
	Key            string
	Generation     int64
	TurnID         string
	Type           string
	Route          string
	Blocking       bool
	State          InteractionState
	Disposition    string
	Evidence       string
	// Body is the JSON of abi.Interaction, Reply that of abi.Reply with
	// placeholders for secrets.
	Body  []byte
	Reply []byte
	// AnswerTurnID is the turn that carries a follow-up answer.
	AnswerTurnID string
	// Automatic names the stand-in rule that answered instead of a person.
	Automatic string
	OpenedAt  time.Time
	ClosedAt  time.Time
}

// Proposal is one plan offered for review.
type Proposal struct {
	ID             string
	ConversationID string
	Key            string
	Revision       int64
	TurnID         string
	InteractionID  string
	State          ProposalState
	// Body is the JSON of abi.Proposal.
	Body []byte
	// ContinuationID is the one turn made from it.
	ContinuationID string
	OpenedAt       time.Time
	ClosedAt       time.Time
}

// Input is one consumed input of a generation. Body holds it as the session
// encodes it; several streaming inputs may share a row.
type Input struct {
	ConversationID string
	Generation     int64
	Seq            uint64
	Now            int64
	Kind           string
	Body           []byte
}

// Outbox is one frame for the child. It is committed before it is written.
type Outbox struct {
	ConversationID string
	Generation     int64
	ID             uint64
	// TurnID is set when the frame carries a turn's content.
	TurnID string
	// InteractionID is set when the frame answers an interaction.
	InteractionID string
	Frame         []byte
	WrittenAt     time.Time
}

// Timer is a durable named timer of a generation.
type Timer struct {
	ConversationID string
	Generation     int64
	Name           string
	Due            time.Time
}

// SavedState is the state of a binding instance after an input.
type SavedState struct {
	ConversationID string
	Generation     int64
	InputSeq       uint64
	StateVersion   int64
	State          []byte
}

// Event is one row of the journal.
type Event struct {
	ConversationID string
	// Seq counts from 1 within the conversation.
	Seq    uint64
	At     time.Time
	Type   string
	TurnID string
	Body   []byte
}

// Blob is the bytes of an image or file.
type Blob struct {
	Digest string
	Media  string
	Bytes  []byte
}

// Grant is the user's yes to a module.
type Grant struct {
	Harness   string
	Digest    string
	GrantedAt time.Time
}
