package host

import (
	"time"

	"github.com/aoagents/ao-host/abi"
)

// NewConversation says what to create.
type NewConversation struct {
	// ID is optional; a repeated ID returns the conversation made first.
	ID      string `json:"id,omitempty"`
	Harness string `json:"harness"`
	// Cwd is an absolute path of an existing directory.
	Cwd      string        `json:"cwd"`
	Title    string        `json:"title,omitempty"`
	Settings SettingsPatch `json:"settings"`
}

// Conversation is a durable chat bound to one harness and one directory.
type Conversation struct {
	ID            string       `json:"id"`
	Harness       string       `json:"harness"`
	Cwd           string       `json:"cwd"`
	Title         string       `json:"title,omitempty"`
	CreatedAt     time.Time    `json:"created_at"`
	UpdatedAt     time.Time    `json:"updated_at"`
	Settings      abi.Settings `json:"settings"`
	Revision      int64        `json:"revision"`
	NativeSession string       `json:"native_session,omitempty"`
	// LastSeq is the number of the newest event. The journal begins after JournalFloor:
	// what was before was pruned.
	LastSeq      uint64 `json:"last_seq"`
	JournalFloor uint64 `json:"journal_floor,omitempty"`
	Queue        Queue  `json:"queue"`
}

// Queue is the state of a conversation's queue.
type Queue struct {
	// Held: nothing new is dispatched, for Reason (a [Code]).
	Held   bool `json:"held,omitempty"`
	Reason Code `json:"reason,omitempty"`
	// Turns are the queued turn ids in the order they will run.
	Turns []string `json:"turns,omitempty"`
}

// SettingsPatch changes remembered settings. A nil member is left alone; a
// pointer to "" resets to the provider's own default.
type SettingsPatch struct {
	Mode       *string         `json:"mode,omitempty"`
	Permission *abi.Permission `json:"permission,omitempty"`
	Model      *string         `json:"model,omitempty"`
	Effort     *string         `json:"effort,omitempty"`
	// Options sets options by id; an empty value resets one.
	Options map[string]string `json:"options,omitempty"`
}

// Message is what a person sends.
type Message struct {
	// ClientID identifies the message: a repeated one returns the first result.
	// Empty: the host makes one.
	ClientID string    `json:"client_id,omitempty"`
	Content  []Content `json:"content"`
	// Settings, if set, are frozen into this submission only, on top of the
	// remembered ones.
	Settings *SettingsPatch `json:"settings,omitempty"`
}

// Content is one block of a message: text, or an image or file with its bytes.
type Content struct {
	Type  abi.ContentType `json:"type"`
	Text  string          `json:"text,omitempty"`
	Media string          `json:"media,omitempty"`
	Name  string          `json:"name,omitempty"`
	// Bytes are given when sending; afterwards Digest ("sha256:…") names them.
	Bytes  []byte `json:"bytes,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Text makes the content of a plain text message.
func Text(s string) []Content { return []Content{{Type: abi.ContentText, Text: s}} }

// TurnState is the state of a submission as a client sees it.
type TurnState string

// The turn states. "Held" is a queued turn whose queue is held.
const (
	TurnQueued      TurnState = "queued"
	TurnDispatched  TurnState = "dispatched"
	TurnRunning     TurnState = "running"
	TurnCompleted   TurnState = "completed"
	TurnInterrupted TurnState = "interrupted"
	TurnFailed      TurnState = "failed"
	TurnUncertain   TurnState = "uncertain"
	TurnNotSent     TurnState = "not_sent"
	TurnCancelled   TurnState = "cancelled"
	TurnSuperseded  TurnState = "superseded"
)

// Ended reports whether the state is final (an uncertain turn may still be
// settled by evidence).
func (s TurnState) Ended() bool {
	return s != TurnQueued && s != TurnDispatched && s != TurnRunning
}

// Turn is one accepted submission.
type Turn struct {
	ID       string    `json:"id"`
	ClientID string    `json:"client_id"`
	State    TurnState `json:"state"`
	// Version is 1 when the turn is accepted, and one more after each EditQueued
	// and MoveQueued.
	Version  int64        `json:"version"`
	Origin   abi.Origin   `json:"origin"`
	Content  []Content    `json:"content,omitempty"`
	Settings abi.Settings `json:"settings"`
	Revision int64        `json:"revision"`
	// Interaction, Proposal and RetryOf say what it answers, continues, repeats.
	Interaction string     `json:"interaction,omitempty"`
	Proposal    string     `json:"proposal,omitempty"`
	RetryOf     string     `json:"retry_of,omitempty"`
	Reply       *abi.Reply `json:"reply,omitempty"`
	Evidence    string     `json:"evidence,omitempty"`
	StopReason  string     `json:"stop_reason,omitempty"`
	Code        string     `json:"code,omitempty"`
	Message     string     `json:"message,omitempty"`
	AcceptedAt  time.Time  `json:"accepted_at"`
	StartedAt   *time.Time `json:"started_at,omitempty"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
}

// InteractionState is the state of a card.
type InteractionState string

// The interaction states.
const (
	InteractionOpen    InteractionState = "open"
	InteractionClaimed InteractionState = "claimed"
	InteractionClosed  InteractionState = "closed"
)

// Interaction is a card: something the agent asks.
type Interaction struct {
	ID          string           `json:"id"`
	State       InteractionState `json:"state"`
	Turn        string           `json:"turn,omitempty"`
	Generation  int64            `json:"generation"`
	Ask         abi.Interaction  `json:"ask"`
	Disposition abi.Disposition  `json:"disposition,omitempty"`
	Reply       *abi.Reply       `json:"reply,omitempty"`
	AnswerTurn  string           `json:"answer_turn,omitempty"`
	Automatic   string           `json:"automatic,omitempty"`
	OpenedAt    time.Time        `json:"opened_at"`
	ClosedAt    *time.Time       `json:"closed_at,omitempty"`
}

// Answer is a person's answer to a card. Secret texts are given here in the
// clear; they go to the pipe and nowhere else (rule 16).
type Answer struct {
	// Fields answer a question; a field without an entry is unanswered.
	Fields []abi.FieldAnswer `json:"fields,omitempty"`
	// Decision is the id of an offered decision, Feedback a text with it.
	Decision string `json:"decision,omitempty"`
	Feedback string `json:"feedback,omitempty"`
	// Action and Content answer a form or URL.
	Action  abi.Action `json:"action,omitempty"`
	Content abi.Raw    `json:"content,omitempty"`
}

// ProposalState is the state of a plan.
type ProposalState string

// The proposal states.
const (
	ProposalOpen             ProposalState = "open"
	ProposalImplemented      ProposalState = "implemented"
	ProposalChangesRequested ProposalState = "changes_requested"
	ProposalSuperseded       ProposalState = "superseded"
	ProposalExpired          ProposalState = "expired"
)

// Proposal is a plan offered for review.
type Proposal struct {
	ID       string        `json:"id"`
	Revision int64         `json:"revision"`
	State    ProposalState `json:"state"`
	Turn     string        `json:"turn,omitempty"`
	Text     string        `json:"text"`
	Route    abi.Route     `json:"route"`
	// Interaction is the review the agent waits in, for the native route.
	Interaction string `json:"interaction,omitempty"`
	// Continuation is the turn made from it.
	Continuation string     `json:"continuation,omitempty"`
	OpenedAt     time.Time  `json:"opened_at"`
	ClosedAt     *time.Time `json:"closed_at,omitempty"`
}

// PlanDecision identifies the plan a person decided on.
type PlanDecision struct {
	Proposal string `json:"proposal"`
	// Revision is the revision that was read; another one is refused.
	Revision int64  `json:"revision"`
	ClientID string `json:"client_id,omitempty"`
	// Feedback is required by RequestChanges.
	Feedback string `json:"feedback,omitempty"`
}

// SessionState says what a conversation's provider process does.
type SessionState string

// The session states.
const (
	SessionNone     SessionState = "none"
	SessionStarting SessionState = "starting"
	SessionReady    SessionState = "ready"
	SessionStopping SessionState = "stopping"
)

// Session describes the live session.
type Session struct {
	State           SessionState     `json:"state"`
	Generation      int64            `json:"generation,omitempty"`
	PID             int              `json:"pid,omitempty"`
	NativeSession   string           `json:"native_session,omitempty"`
	ProviderVersion string           `json:"provider_version,omitempty"`
	BindingVersion  string           `json:"binding_version,omitempty"`
	Capabilities    abi.Capabilities `json:"capabilities"`
}

// CatalogState says whether the catalog is known.
type CatalogState string

// The catalog states (rule 9): catalogs are never stored.
const (
	CatalogUnread CatalogState = "unread"
	CatalogRead   CatalogState = "read"
)

// Controls is what a client shows beside the composer.
type Controls struct {
	Conversation string `json:"conversation"`
	// Settings are the remembered ones, Revision theirs.
	Settings     abi.Settings `json:"settings"`
	Revision     int64        `json:"revision"`
	CatalogState CatalogState `json:"catalog_state"`
	Catalog      *abi.Catalog `json:"catalog,omitempty"`
	// Observed is what the provider says is in force, nil when unknown.
	Observed *abi.Observed `json:"observed,omitempty"`
	// Running is the frozen snapshot of the running turn.
	Running  *RunningTurn  `json:"running,omitempty"`
	Session  Session       `json:"session"`
	Queue    Queue         `json:"queue"`
	Problems []abi.Problem `json:"problems,omitempty"`
	// ContinueMode is set after a planning turn that proposed no plan: the
	// execution mode to offer as the way on (rule 18).
	ContinueMode string     `json:"continue_mode,omitempty"`
	Usage        *UsageView `json:"usage,omitempty"`
}

// RunningTurn is the turn that runs, with its frozen settings.
type RunningTurn struct {
	Turn     string       `json:"turn"`
	State    TurnState    `json:"state"`
	Settings abi.Settings `json:"settings"`
	Stopping bool         `json:"stopping,omitempty"`
}

// UsageView keeps gauges and counters apart (D7).
type UsageView struct {
	Gauges   []abi.Metric `json:"gauges,omitempty"`
	Counters []abi.Metric `json:"counters,omitempty"`
}

// StopOptions fence a stop.
type StopOptions struct {
	// Turn, if set, is the turn meant; if another one runs nothing happens (S1).
	Turn string `json:"turn,omitempty"`
}

// Event is one numbered entry of the journal. Body is JSON whose shape follows
// Type, see journal.go.
type Event struct {
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	Type EventType `json:"type"`
	Turn string    `json:"turn,omitempty"`
	Body abi.Raw   `json:"body,omitempty"`
}

// BindingInfo describes an installed binding.
type BindingInfo struct {
	Harness  string       `json:"harness"`
	Digest   string       `json:"digest"`
	BuiltIn  bool         `json:"built_in"`
	Allowed  bool         `json:"allowed"`
	Path     string       `json:"path,omitempty"`
	Manifest abi.Manifest `json:"manifest"`
	// Err says why the module cannot be used, if so.
	Err *Error `json:"-"`
}
