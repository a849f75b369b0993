package abi

// Effect is one thing a binding asks the host to do or tells it. Exactly one
// member is set. The order within a step is kept.
type Effect struct {
	Call              *Call              `json:"call,omitempty"`
	Notify            *Notify            `json:"notify,omitempty"`
	Reply             *ReplyTo           `json:"reply,omitempty"`
	Ready             *Ready             `json:"ready,omitempty"`
	Catalog           *Catalog           `json:"catalog,omitempty"`
	Observed          *Observed          `json:"observed,omitempty"`
	Delivery          *Delivery          `json:"delivery,omitempty"`
	TurnStarted       *TurnStarted       `json:"turn_started,omitempty"`
	Delta             *Delta             `json:"delta,omitempty"`
	Item              *Item              `json:"item,omitempty"`
	Progress          *Progress          `json:"progress,omitempty"`
	InteractionOpened *Interaction       `json:"interaction_opened,omitempty"`
	InteractionClosed *InteractionClosed `json:"interaction_closed,omitempty"`
	Proposal          *Proposal          `json:"proposal,omitempty"`
	TurnEnded         *TurnEnded         `json:"turn_ended,omitempty"`
	Usage             *Usage             `json:"usage,omitempty"`
	Commands          *Commands          `json:"commands,omitempty"`
	SessionInfo       *SessionInfo       `json:"session_info,omitempty"`
	Warning           *Warning           `json:"warning,omitempty"`
	Problem           *Problem           `json:"problem,omitempty"`
	Relaunch          *Relaunch          `json:"relaunch,omitempty"`
	History           *History           `json:"history,omitempty"`
	TimerSet          *TimerSet          `json:"timer_set,omitempty"`
	TimerClear        *TimerClear        `json:"timer_clear,omitempty"`
	Log               *Log               `json:"log,omitempty"`
}

// Call sends a request to the child. The result or error comes back as a
// [Message] with the same token. The host assigns the JSON-RPC id.
type Call struct {
	// Token names the call within this generation; the binding chooses it.
	Token  string `json:"token"`
	Method string `json:"method"`
	// Params must fit the schema of the method.
	Params Raw `json:"params"`
	// Delivers is the turn whose content this call carries: once it may have
	// been written, the turn's delivery is possible (rule 20).
	Delivers string `json:"delivers,omitempty"`
	// TimeoutMS ends the call with a local "timeout" error; 0 means none.
	// Setters use 30000 (rule 3).
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Restores marks the call that restores a session: messages that arrive
	// before its answer are replay.
	Restores bool `json:"restores,omitempty"`
}

// Notify sends a notification to the child.
type Notify struct {
	Method string `json:"method"`
	Params Raw    `json:"params,omitempty"`
}

// ReplyTo answers a request of the child. Exactly one of Result and Error is
// set.
type ReplyTo struct {
	// Token is that of the request.
	Token  string     `json:"token"`
	Result Raw        `json:"result,omitempty"`
	Error  *CallError `json:"error,omitempty"`
}

// Restored says how a session came about.
type Restored string

// The ways.
const (
	// RestoredNew: a new session, none was asked for.
	RestoredNew Restored = "new"
	// RestoredResumed: the asked session goes on.
	RestoredResumed Restored = "resumed"
	// RestoredReplaced: the asked session could not be restored and a fresh one
	// took its place.
	RestoredReplaced Restored = "replaced"
)

// Ready says that the session takes submissions.
type Ready struct {
	// NativeSession is the provider's id of the session.
	NativeSession string   `json:"native_session"`
	Restored      Restored `json:"restored"`
	// Reason says why a session was replaced, for a person.
	Reason string `json:"reason,omitempty"`
	// ProviderVersion is the version the harness tells of itself; it chooses the
	// schemas.
	ProviderVersion string       `json:"provider_version,omitempty"`
	Catalog         Catalog      `json:"catalog"`
	Capabilities    Capabilities `json:"capabilities"`
}

// Observed is what the provider says is in force. Empty members are unknown.
type Observed struct {
	Mode       string        `json:"mode,omitempty"`
	Permission Permission    `json:"permission,omitempty"`
	Model      string        `json:"model,omitempty"`
	Effort     string        `json:"effort,omitempty"`
	Options    []OptionValue `json:"options,omitempty"`
	// Native is the provider's own words for it, for a person.
	Native string `json:"native,omitempty"`
}

// DeliveryStatus is what is known of a delivery.
type DeliveryStatus string

// The delivery statuses.
const (
	// DeliveryAccepted: the agent has the content.
	DeliveryAccepted DeliveryStatus = "accepted"
	// DeliveryRejected: the provider refused the message; nothing ran.
	DeliveryRejected DeliveryStatus = "rejected"
	// DeliveryNotSent: the binding sent nothing, for the reason in Code.
	DeliveryNotSent DeliveryStatus = "not_sent"
	// DeliveryUnknown: the call ended in a way that proves nothing.
	DeliveryUnknown DeliveryStatus = "unknown"
)

// Delivery settles whether a turn's content reached the agent.
type Delivery struct {
	// Turn is the turn id of the submission or steering message.
	Turn   string         `json:"turn"`
	Status DeliveryStatus `json:"status"`
	// Evidence says what proves it, for example "turn/start response".
	Evidence string `json:"evidence,omitempty"`
	// Code is a stable code of the reason.
	Code string `json:"code,omitempty"`
	// Message is the reason for a person.
	Message string `json:"message,omitempty"`
}

// TurnStarted says that the agent works on a turn. Turn is empty when the agent
// began it by itself.
type TurnStarted struct {
	Turn string `json:"turn,omitempty"`
	// NativeTurn is the provider's id of the turn.
	NativeTurn    string `json:"native_turn,omitempty"`
	NativeSession string `json:"native_session,omitempty"`
}

// Channel is what a delta adds to.
type Channel string

// The channels.
const (
	// ChannelText: the answer.
	ChannelText Channel = "text"
	// ChannelReasoning: what the model thinks aloud.
	ChannelReasoning Channel = "reasoning"
	// ChannelPlan: a plan being written.
	ChannelPlan Channel = "plan"
	// ChannelOutput: what a command prints.
	ChannelOutput Channel = "output"
)

// Delta is streamed text of an item. At the turn's end the items replace it.
type Delta struct {
	Turn string `json:"turn,omitempty"`
	// Item is the id of the item it adds to.
	Item    string  `json:"item"`
	Channel Channel `json:"channel"`
	Text    string  `json:"text"`
}

// ItemStatus is the state of an item.
type ItemStatus string

// The item statuses.
const (
	ItemRunning   ItemStatus = "running"
	ItemCompleted ItemStatus = "completed"
	ItemFailed    ItemStatus = "failed"
	// ItemDeclined: a person or policy refused it.
	ItemDeclined ItemStatus = "declined"
	// ItemIncomplete is given by the host to an item that was still streaming
	// when its turn ended.
	ItemIncomplete ItemStatus = "incomplete"
)

// ItemType classifies an item of the timeline.
type ItemType string

// The item types.
const (
	ItemMessage   ItemType = "message"
	ItemReasoning ItemType = "reasoning"
	ItemPlan      ItemType = "plan"
	ItemCommand   ItemType = "command"
	ItemEdit      ItemType = "edit"
	ItemTool      ItemType = "tool"
	ItemSearch    ItemType = "search"
	ItemOther     ItemType = "other"
)

// Item is a thing the agent said or did. It replaces an earlier one of the same
// ID. Child marks what a child agent did.
type Item struct {
	Turn string `json:"turn,omitempty"`
	// ID is the provider's id, unique within the session.
	ID     string     `json:"id"`
	Type   ItemType   `json:"type"`
	Status ItemStatus `json:"status"`
	// Title is one line: a command, a file, the name of a tool.
	Title string `json:"title,omitempty"`
	// Text is the whole text of a message, plan or output.
	Text string `json:"text,omitempty"`
	// Native is the provider's own type name.
	Native string `json:"native,omitempty"`
	// Data is the native item, for unknown kinds and details.
	Data Raw `json:"data,omitempty"`
	// Child is the native session of a child agent.
	Child string `json:"child,omitempty"`
	// Replay marks history seen while a session was restored.
	Replay bool `json:"replay,omitempty"`
}

// Progress is the agent's checklist, another thing than a proposal.
type Progress struct {
	Turn string `json:"turn,omitempty"`
	// Note is a remark that goes with the list.
	Note    string         `json:"note,omitempty"`
	Entries []ProgressStep `json:"entries"`
}

// ProgressStep is one entry; Status is "pending", "running" or "completed".
type ProgressStep struct {
	Text   string `json:"text"`
	Status string `json:"status"`
}

// InteractionClosed says that the provider closed an interaction, or confirms
// how it ended. One that says of a URL consent that nobody answered yet that it was
// answered is followed by an answer event with the action accept, because the
// provider waits for its reply.
type InteractionClosed struct {
	// Key is that of the interaction.
	Key         string      `json:"key"`
	Disposition Disposition `json:"disposition"`
	// Evidence says how it is known.
	Evidence string `json:"evidence,omitempty"`
}

// Proposal is a plan offered for review.
type Proposal struct {
	// Key is made like that of a follow-up interaction.
	Key           string `json:"key"`
	Turn          string `json:"turn,omitempty"`
	NativeSession string `json:"native_session,omitempty"`
	NativeTurn    string `json:"native_turn,omitempty"`
	NativeItem    string `json:"native_item,omitempty"`
	// Text is the plan, as Markdown.
	Text string `json:"text"`
	// Route: RouteNative when the agent waits for the answer to a review
	// interaction of the same key, RouteFollowUp when a message continues it.
	Route Route `json:"route"`
	// ImplementText is the message that continues it, for RouteFollowUp.
	ImplementText string `json:"implement_text,omitempty"`
	// ExecutionMode and PlanningMode are the native modes that Implement and
	// Request changes use, as confirmed by the binding.
	ExecutionMode string `json:"execution_mode,omitempty"`
	PlanningMode  string `json:"planning_mode,omitempty"`
	// FeedbackInReview: the review's reject carries feedback natively.
	FeedbackInReview bool `json:"feedback_in_review,omitempty"`
}

// TurnStatus is how a turn ended.
type TurnStatus string

// The turn statuses.
const (
	// TurnCompleted: the agent finished.
	TurnCompleted TurnStatus = "completed"
	// TurnInterrupted: cancelled by a stop.
	TurnInterrupted TurnStatus = "interrupted"
	// TurnFailed: an error ended it.
	TurnFailed TurnStatus = "failed"
)

// TurnEnded says that the agent no longer works on a turn.
type TurnEnded struct {
	Turn   string     `json:"turn,omitempty"`
	Status TurnStatus `json:"status"`
	// StopReason is the provider's own word for it.
	StopReason string `json:"stop_reason,omitempty"`
	// Code and Message tell a person why it failed. Outage marks a failure of
	// the provider that the next message would meet too: the queue is held (Q2).
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Outage  bool   `json:"outage,omitempty"`
}

// Usage carries two series that must not be mixed (D7): gauges replace the
// value before, counters are totals of the session that only grow.
type Usage struct {
	Turn string `json:"turn,omitempty"`
	// Gauges replace the value before, for example "context_tokens".
	Gauges []Metric `json:"gauges,omitempty"`
	// Counters are totals of the session that only grow.
	Counters []Metric `json:"counters,omitempty"`
}

// Metric is one named number, in tokens unless the name says otherwise.
type Metric struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Commands is the list of slash commands the harness offers.
type Commands struct {
	Commands []Command `json:"commands"`
}

// Command is one slash command.
type Command struct {
	// Name is the command without the slash.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Hint describes its argument.
	Hint string `json:"hint,omitempty"`
}

// SessionInfo is what the harness says about its session.
type SessionInfo struct {
	// Title is the name the harness gave the session.
	Title string `json:"title,omitempty"`
}

// Warning is shown once to a person.
type Warning struct {
	// Code is a stable code.
	Code string `json:"code"`
	// Message is one or two sentences for a person.
	Message string `json:"message"`
}

// Needs says what a person must do about a problem.
type Needs string

// The needs.
const (
	// NeedsNothing: nothing.
	NeedsNothing Needs = ""
	// NeedsRelaunch: a new process.
	NeedsRelaunch Needs = "relaunch"
	// NeedsSignIn: signing in.
	NeedsSignIn Needs = "sign-in"
	// NeedsChoice: choosing another value.
	NeedsChoice Needs = "choice"
)

// Problem is something that keeps a wish from being in force. A problem with the
// same code and field replaces the one before; Resolved takes it back.
type Problem struct {
	// Code is a stable code.
	Code string `json:"code"`
	// Field is the setting it is about: "mode", "permission", "model", "effort",
	// an option's id or "session".
	Field string `json:"field,omitempty"`
	// Message is for a person.
	Message  string `json:"message,omitempty"`
	Needs    Needs  `json:"needs,omitempty"`
	Resolved bool   `json:"resolved,omitempty"`
}

// Relaunch asks for a new process between turns (rule 7).
type Relaunch struct {
	// Reason is for a person.
	Reason string `json:"reason"`
}

// History settles uncertain deliveries: Found are client message ids the
// provider proves it has. Complete says the history was read to its end, so
// that absence is proof once the old process is known to be gone (rule 20).
type History struct {
	Found    []string `json:"found,omitempty"`
	Complete bool     `json:"complete,omitempty"`
}

// TimerSet sets or moves a named timer.
type TimerSet struct {
	// Name identifies the timer within the generation.
	Name string `json:"name"`
	// AfterMS is the delay from the event's time, in milliseconds.
	AfterMS int64 `json:"after_ms"`
}

// TimerClear clears a named timer.
type TimerClear struct {
	Name string `json:"name"`
}

// Log goes to the host's log at debug level.
type Log struct {
	Text string `json:"text"`
}
