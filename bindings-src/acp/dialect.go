package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
)

// Dialect is what is particular about one agent. It is constant: a hook must not
// remember anything, because the session state belongs to the [Reducer].
type Dialect struct {
	// Title names the agent in sentences for a person.
	Title string
	// SignIn is the rest of the sentence "X is not signed in; …".
	SignIn string
	// AuthMethod chooses how to authenticate when the agent asks for it, from what
	// it offers and what the machine already has. "" means that only a person can
	// sign in; nothing that would open a browser is chosen (DESIGN rule 23, S7).
	AuthMethod func(offered []AuthMethod, fact func(name string) bool) string

	// Modes says which native modes there are and what they mean.
	Modes Modes
	// ModelOption, EffortOption are the ids of the config options of the model and
	// the effort; where the agent has none of that id, its category decides.
	ModelOption, EffortOption string
	// EffortMeta builds the _meta of session/set_model that carries an effort, for
	// agents without a config option for it; nil where there is no such way.
	EffortMeta func(dst []byte, effort string) []byte
	// NoEffort is said of every model when the agent has no effort at all.
	NoEffort string

	// PromptMeta builds the _meta of session/prompt from our client message id, for
	// agents that give it back in [FieldMeta] of what belongs to the prompt. Identity
	// reads it from there.
	PromptMeta func(dst []byte, clientID string) []byte
	Identity   func(meta []byte) string
	// Initialized reads what the agent tells beside the protocol: its version.
	Initialized func(result []byte) (version string)
	// SessionMeta reads efforts that are told beside the protocol; left counts those
	// that were left out of a list that is too long.
	SessionMeta func(meta []byte) (efforts []abi.Choice, current string, left int)

	// Tool reads the name of a tool and the parent call of a child agent from a tool
	// call's or chunk's [FieldMeta].
	Tool func(meta []byte) (name, parent string)
	// Notice reports whether a chunk's [FieldMeta] marks it as a notice of the agent's
	// program instead of the model's words, and how severe it is.
	Notice func(meta []byte) bool
	// OwnTurnEnds reports whether the [FieldMeta] of a usage update ends a turn that
	// the agent began by itself.
	OwnTurnEnds func(meta []byte) bool

	// Review maps the options of a permission request to the decisions of a plan
	// review; ok is false where it is an ordinary permission request.
	Review func(t *ToolCall, options []Option) (decisions []abi.Decision, ok bool)
	// Questionnaire maps a form to questions; ok is false where it is a form like any
	// other (DESIGN rule 15).
	Questionnaire func(f *Form) (q Questionnaire, ok bool)
	// Chain reads the questions that a tool call will ask one form after the other.
	Chain func(t *ToolCall) []ChainQuestion
	// FeedbackForm reports whether a form asks for the words that go with a rejection
	// already given.
	FeedbackForm func(f *Form) bool
	// FormReview maps a form that a planning agent shows to the decisions of a plan
	// review. The id of a decision is the value to answer with.
	FormReview func(f *Form) (decisions []abi.Decision, ok bool)

	// Notification handles a notification that the protocol does not know.
	Notification func(r *Reducer, m *abi.Message, out *guest.Effects)
	// Request opens an interaction for a request that the protocol does not know. It
	// returns false for one it does not know either.
	Request func(r *Reducer, m *abi.Message, out *guest.Effects) bool
	// Reply builds the result for a request that Request opened; reply is nil when it
	// is taken back.
	Reply func(q *Request, reply *abi.Reply) []byte
}

// Modes are the working modes of an agent and how a permission maps to them.
type Modes struct {
	// Option is the id of the config option that holds the mode; where the agent has
	// none of that id, the category decides.
	Option string
	// Hidden are modes that session/set_mode takes although nothing lists them.
	Hidden []abi.ModeChoice
	// Initial is the mode of a new session, where the agent does not tell it.
	Initial string
	// Proves: after session/set_mode a current_mode_update tells every change, so a
	// change without one did not happen (P9).
	Proves bool
	// Planning is the native mode in which the agent plans; EnforcedBy who holds it
	// to that.
	Planning   string
	EnforcedBy abi.Enforcer
	// Execution is the mode in which it works. Where mode and permission share one
	// native axis it stands for all native modes of Permissions. An empty id means
	// that no meaning is confirmed: native modes are listed as they are.
	Execution abi.ModeChoice
	// Permissions maps them, in the order in which a native mode is recognised.
	Permissions []Permission
	// AfterReview is told when a review's approval set a permission of the agent's own
	// choice and the remembered one was put back.
	AfterReview string
}

// Permission says how one permission is put in force.
type Permission struct {
	Permission abi.Permission
	Support    abi.Support
	// Mode is the native mode that it means while the agent works.
	Mode string
	// Describe says it in one line.
	Describe string
	// InsteadOf is said where the permission has no support and Mode is in force in
	// its place; without it such a permission is refused.
	InsteadOf string
}

// Plain is the dialect of an agent about which nothing is known: modes have no
// confirmed meaning and the host stands in for permissions.
func Plain(title string) Dialect {
	return Dialect{
		Title:  title,
		SignIn: "sign in with the agent's own program and start the session again.",
		Modes: Modes{EnforcedBy: abi.EnforcedByNobody, Permissions: []Permission{
			{Permission: abi.PermissionDefault, Support: abi.SupportNative, Describe: "the agent's own rules"},
			{Permission: abi.PermissionAcceptEdits, Support: abi.SupportStandIn, Describe: "the host allows edits one by one"},
			{Permission: abi.PermissionAuto, Support: abi.SupportNone},
			{Permission: abi.PermissionBypass, Support: abi.SupportStandIn, Describe: "the host allows tools one by one"},
		}},
	}
}

// AuthMethod is one way to authenticate that the agent offers.
type AuthMethod struct{ ID, Type string }

// Option is one option of a permission request.
type Option struct{ ID, Name, Kind string }
