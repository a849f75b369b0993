package abi

// Permission is how much the agent may do without asking.
type Permission string

// The permissions every host offers. A binding says which of them it can put
// in force (see [PermissionChoice]).
const (
	// PermissionDefault is the provider's own baseline.
	PermissionDefault Permission = "default"
	// PermissionAcceptEdits lets file edits through and asks for the rest.
	PermissionAcceptEdits Permission = "accept-edits"
	// PermissionAuto leaves approvals to the provider's own reviewer.
	PermissionAuto Permission = "auto"
	// PermissionBypass asks nothing.
	PermissionBypass Permission = "bypass-permissions"
)

// Settings is the wished tuple, frozen when a submission is accepted (rule 2).
// Empty strings mean "the provider's own default"; the binding resolves them.
type Settings struct {
	// Mode is a native mode id as the catalog lists it.
	Mode string `json:"mode,omitempty"`
	// Permission is one of the Permission constants.
	Permission Permission `json:"permission,omitempty"`
	// Model is a native model id.
	Model string `json:"model,omitempty"`
	// Effort is a native reasoning effort of that model.
	Effort string `json:"effort,omitempty"`
	// Options are other native settings by id, in the order of their ids.
	Options []OptionValue `json:"options,omitempty"`
}

// OptionValue is the chosen value of one native option. Booleans are "true"
// and "false".
type OptionValue struct {
	ID    string `json:"id"`
	Value string `json:"value"`
}

// Meaning is what a binding confirmed a mode to be.
type Meaning string

// The meanings. A mode with MeaningNone stays usable, the host just draws no
// conclusion from it.
const (
	// MeaningPlanning: the agent plans and changes nothing.
	MeaningPlanning Meaning = "planning"
	// MeaningExecution: the agent does the work.
	MeaningExecution Meaning = "execution"
	// MeaningNone: not confirmed.
	MeaningNone Meaning = ""
)

// Enforcer names who holds the agent to a mode (rule 25).
type Enforcer string

// The enforcers.
const (
	// EnforcedByHarness: the harness itself refuses what the mode forbids.
	EnforcedByHarness Enforcer = "harness"
	// EnforcedByHost: the host declines requests that the mode forbids.
	EnforcedByHost Enforcer = "host"
	// EnforcedByNobody: the agent is only told.
	EnforcedByNobody Enforcer = "nobody"
)

// Support says how a permission can be put in force.
type Support string

// The kinds of support.
const (
	// SupportNative: the harness has it.
	SupportNative Support = "native"
	// SupportRelaunch: the harness has it as a launch flag.
	SupportRelaunch Support = "relaunch"
	// SupportStandIn: the host answers the harness's requests.
	SupportStandIn Support = "stand-in"
	// SupportNone: not available; choosing it is reported.
	SupportNone Support = "none"
)

// Applies says when a changed option takes effect.
type Applies string

// The moments.
const (
	// AppliesLive: at once, in the running turn too.
	AppliesLive Applies = "live"
	// AppliesNextTurn: with the next turn.
	AppliesNextTurn Applies = "next-turn"
	// AppliesRelaunch: with the next process.
	AppliesRelaunch Applies = "relaunch"
)

// Catalog is what a live session offers. It is never stored (rule 9).
type Catalog struct {
	Modes       []ModeChoice       `json:"modes,omitempty"`
	Permissions []PermissionChoice `json:"permissions,omitempty"`
	Models      []ModelChoice      `json:"models,omitempty"`
	// Efforts are offered whatever the model, when the harness has no list per
	// model.
	Efforts []Choice       `json:"efforts,omitempty"`
	Options []OptionChoice `json:"options,omitempty"`
}

// Choice is one native value a person can choose.
type Choice struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

// ModeChoice is a working mode.
type ModeChoice struct {
	ID          string   `json:"id"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Meaning     Meaning  `json:"meaning,omitempty"`
	EnforcedBy  Enforcer `json:"enforced_by,omitempty"`
	// DefaultEffort is the effort the harness proposes for this mode.
	DefaultEffort string `json:"default_effort,omitempty"`
}

// PermissionChoice says what one permission means on this harness.
type PermissionChoice struct {
	Permission Permission `json:"permission"`
	Support    Support    `json:"support"`
	// Native describes the native payload in one line for a person.
	Native string `json:"native,omitempty"`
	// Dormant is set where the permission is remembered but not in force while
	// planning (rule 6, one axis).
	Dormant bool `json:"dormant,omitempty"`
}

// ModelChoice is a model.
type ModelChoice struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Efforts are those of this model.
	Efforts []Choice `json:"efforts,omitempty"`
	// DefaultEffort is the effort used when none is chosen.
	DefaultEffort string `json:"default_effort,omitempty"`
	// Images: the model takes images.
	Images bool `json:"images,omitempty"`
	// Default: the model used when none is chosen.
	Default bool `json:"default,omitempty"`
	// Hidden models are accepted when named but not listed to a person.
	Hidden bool `json:"hidden,omitempty"`
}

// OptionChoice is any other native setting.
type OptionChoice struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Category is for presentation only.
	Category string `json:"category,omitempty"`
	// Boolean: the values are "true" and "false", Values is empty.
	Boolean bool     `json:"boolean,omitempty"`
	Values  []Choice `json:"values,omitempty"`
	// Current is the value in force.
	Current string  `json:"current,omitempty"`
	Applies Applies `json:"applies,omitempty"`
}

// Capabilities is what the live session advertises.
type Capabilities struct {
	// Resume: an earlier session can be restored.
	Resume bool `json:"resume,omitempty"`
	// Fork: a session can be branched.
	Fork bool `json:"fork,omitempty"`
	// Images: image content is taken.
	Images bool `json:"images,omitempty"`
	// AsyncQuestions: it can ask without waiting for the answer.
	AsyncQuestions bool `json:"async_questions,omitempty"`
	// ContextUsage: it tells how much of the context is used.
	ContextUsage bool     `json:"context_usage,omitempty"`
	Steering     Steering `json:"steering,omitempty"`
	// ProvesDelivery: the harness returns our client message ids in its history.
	ProvesDelivery bool `json:"proves_delivery,omitempty"`
}

// Steering is how a running turn can be redirected (rule 24).
type Steering string

// The ways of steering.
const (
	// SteeringNative: the harness takes a message into the running turn.
	SteeringNative Steering = "native"
	// SteeringCancelAndPrompt: the host cancels the turn and sends the message.
	SteeringCancelAndPrompt Steering = "cancel-and-prompt"
	// SteeringNone: the message waits for the end of the turn.
	SteeringNone Steering = "none"
)
