package abi

// InteractionType is what the agent asks for.
type InteractionType string

// The interaction types.
const (
	// InteractionQuestion: one or more questions with options (Fields).
	InteractionQuestion InteractionType = "question"
	// InteractionPermission: one of Decisions.
	InteractionPermission InteractionType = "permission"
	// InteractionForm: an arbitrary form by JSON Schema (Schema), untouched
	// (rule 15).
	InteractionForm InteractionType = "form"
	// InteractionURL: consent to open a URL.
	InteractionURL InteractionType = "url"
	// InteractionReview: the agent waits for its plan to be approved; it comes
	// together with a [Proposal] of the same key.
	InteractionReview InteractionType = "review"
)

// Route is how an answer reaches the agent (rule 11).
type Route string

// The routes.
const (
	// RouteNative: the answer is the reply to a pending request.
	RouteNative Route = "native"
	// RouteFollowUp: the answer is a message through the durable queue.
	RouteFollowUp Route = "follow-up"
)

// Scope says when an interaction may be shown although no submission of ours
// runs (rule 14).
type Scope string

// The scopes.
const (
	// ScopeTurn belongs to the running turn.
	ScopeTurn Scope = ""
	// ScopeSession belongs to the session: a sign-in form or URL.
	ScopeSession Scope = "session"
	// ScopeRestored is a review that the harness raised again after a restore.
	ScopeRestored Scope = "restored"
)

// Interaction is one thing the agent asks. Key identifies it: for RouteNative
// any string the binding chooses, unique within the generation; for
// RouteFollowUp it must be made of native session, native turn and native item,
// so that it survives generations (rule 13).
type Interaction struct {
	Key string `json:"key"`
	// Type decides which of the members below are used.
	Type InteractionType `json:"type"`
	// Token is the token of the pending request, for RouteNative.
	Token string `json:"token,omitempty"`
	Route Route  `json:"route"`
	// Blocking: the agent waits for the answer.
	Blocking bool  `json:"blocking,omitempty"`
	Scope    Scope `json:"scope,omitempty"`
	// Turn is our turn id, empty when the agent asks outside of one.
	Turn          string `json:"turn,omitempty"`
	NativeSession string `json:"native_session,omitempty"`
	NativeTurn    string `json:"native_turn,omitempty"`
	NativeItem    string `json:"native_item,omitempty"`
	Title         string `json:"title,omitempty"`
	// Text is shown in full to the person: a reason, a message.
	Text string `json:"text,omitempty"`
	// Command is the whole command line of a permission request.
	Command string `json:"command,omitempty"`
	// Cwd is where the command would run.
	Cwd string `json:"cwd,omitempty"`
	// Tool classifies a permission request: "execute", "edit", "read", "fetch",
	// "mcp" or "other".
	Tool string `json:"tool,omitempty"`
	// Fields are the questions of an InteractionQuestion.
	Fields []Field `json:"fields,omitempty"`
	// Decisions are what the request offers, nothing else (C7).
	Decisions []Decision `json:"decisions,omitempty"`
	// Schema is the JSON Schema of a form, as the provider sent it.
	Schema Raw `json:"schema,omitempty"`
	// URL is to be opened after consent.
	URL string `json:"url,omitempty"`
	// Detail is native data worth showing, as it stands: a diff, a rule.
	Detail Raw `json:"detail,omitempty"`
	// Continues is the key of an interaction of this turn that a person has
	// answered, where the harness asks for the rest of that answer in a request
	// of its own: a question or form then gets the same reply at once and is not
	// shown. It is shown like any other when nobody answered the one it names.
	Continues string `json:"continues,omitempty"`
}

// Field is one question of a group.
type Field struct {
	// ID identifies the field within the interaction.
	ID string `json:"id"`
	// Header is a short label.
	Header  string   `json:"header,omitempty"`
	Text    string   `json:"text"`
	Options []Option `json:"options,omitempty"`
	// MultiSelect: any number of options may be chosen.
	MultiSelect bool `json:"multi_select,omitempty"`
	// Other: a text of the person's own is accepted instead of an option.
	Other bool `json:"other,omitempty"`
	// OtherBeside: the text is accepted beside options.
	OtherBeside bool `json:"other_beside,omitempty"`
	// Secret: the text is not to be shown while it is typed, nor stored.
	Secret bool `json:"secret,omitempty"`
	// Required: it cannot be skipped.
	Required bool `json:"required,omitempty"`
}

// Option is one option of a field; answers name it by its index (rule 10).
type Option struct {
	// Value is the provider's own value.
	Value       string `json:"value"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	// Preview is longer text that shows what the option would give.
	Preview string `json:"preview,omitempty"`
}

// DecisionKind classifies a decision.
type DecisionKind string

// The decision kinds.
const (
	// AllowOnce: allows this one.
	AllowOnce DecisionKind = "allow_once"
	// AllowAlways: allows it and what is like it from now on.
	AllowAlways DecisionKind = "allow_always"
	// RejectOnce: rejects this one, the turn goes on.
	RejectOnce DecisionKind = "reject_once"
	// RejectAlways: rejects it and what is like it from now on.
	RejectAlways DecisionKind = "reject_always"
	// DecisionCancel ends the turn.
	DecisionCancel DecisionKind = "cancel"
)

// Decision is one offered decision of a permission request or review.
type Decision struct {
	// ID is the provider's id of the decision.
	ID    string       `json:"id"`
	Label string       `json:"label"`
	Kind  DecisionKind `json:"kind"`
	// Mode is the mode that follows when the decision is taken, if it sets one.
	Mode string `json:"mode,omitempty"`
	// Permission is the permission that follows.
	Permission Permission `json:"permission,omitempty"`
	// Feedback: a text may go with it.
	Feedback bool `json:"feedback,omitempty"`
}

// AnswerState tells an answered field from a skipped one (rule 10, C5).
type AnswerState string

// The states of a field's answer. A field without an entry is unanswered.
const (
	// StateAnswered: Selected and Other say what; both empty on a multi-select
	// field means "none of them".
	StateAnswered AnswerState = "answered"
	// StateSkipped: the person chose not to answer this field.
	StateSkipped AnswerState = "skipped"
)

// FieldAnswer answers one field.
type FieldAnswer struct {
	// Field is the id of the field.
	Field string      `json:"field"`
	State AnswerState `json:"state"`
	// Selected are option indexes, ascending.
	Selected []int64 `json:"selected,omitempty"`
	// HasOther is set when Other is meant, even if it is empty.
	HasOther bool `json:"has_other,omitempty"`
	// Other is the person's own text, or a placeholder for a secret.
	Other string `json:"other,omitempty"`
}

// Action is the answer to a form or URL.
type Action string

// The actions.
const (
	ActionAccept  Action = "accept"
	ActionDecline Action = "decline"
	ActionCancel  Action = "cancel"
)

// Reply is a person's answer to an interaction. Which members are set follows
// the type: Fields for a question, Decision (and Feedback) for a permission or
// review, Action and Content for a form, Action for a URL. In place of a secret
// there is a random placeholder (rule 16).
type Reply struct {
	Fields []FieldAnswer `json:"fields,omitempty"`
	// Decision is the id of the chosen decision.
	Decision string `json:"decision,omitempty"`
	Feedback string `json:"feedback,omitempty"`
	Action   Action `json:"action,omitempty"`
	// Content is the filled-in form, an object that fits its schema.
	Content Raw `json:"content,omitempty"`
}

// Disposition is how an interaction ended; there is exactly one (rule 12).
type Disposition string

// The dispositions.
const (
	// DispositionAnswered: a person answered and the agent has it.
	DispositionAnswered Disposition = "answered"
	// DispositionSkipped: a person chose not to answer.
	DispositionSkipped Disposition = "skipped"
	// DispositionCancelled: taken back by a stop, a steer or the end, or cancelled by a person.
	DispositionCancelled Disposition = "cancelled"
	// DispositionExpired: nobody answered in time.
	DispositionExpired Disposition = "expired"
	// DispositionUncertain: the answer may have reached the agent or not.
	DispositionUncertain Disposition = "uncertain"
)
