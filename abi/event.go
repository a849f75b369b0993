package abi

// Event is what the host sends into ao_step. Exactly one member besides Now is
// set.
type Event struct {
	// Now is the time in Unix milliseconds; it never decreases.
	Now      int64     `json:"now"`
	Open     *Open     `json:"open,omitempty"`
	Message  *Message  `json:"message,omitempty"`
	Submit   *Submit   `json:"submit,omitempty"`
	Answer   *Answer   `json:"answer,omitempty"`
	Withdraw *Withdraw `json:"withdraw,omitempty"`
	Steer    *Steer    `json:"steer,omitempty"`
	Stop     *Stop     `json:"stop,omitempty"`
	Timer    *Timer    `json:"timer,omitempty"`
	Exited   *Exited   `json:"exited,omitempty"`
	Close    *Close    `json:"close,omitempty"`
}

// Open is the first event of a generation: the child runs, nothing was sent.
type Open struct {
	// Generation numbers the processes of a conversation, from 1.
	Generation int64 `json:"generation"`
	// Cwd is the absolute path of the working directory.
	Cwd string `json:"cwd"`
	// NativeSession is the session to restore, empty for a new one.
	NativeSession string `json:"native_session,omitempty"`
	// Used is set when a submission was ever delivered to that session: if it
	// cannot be restored the person is told (rule 23).
	Used bool `json:"used,omitempty"`
	// Probe: only the catalog is wanted, no submission waits.
	Probe  bool       `json:"probe,omitempty"`
	Client ClientInfo `json:"client"`
	// Facts are booleans about the machine that the manifest asks for, for
	// example whether an API key variable is set; values never.
	Facts []Fact `json:"facts,omitempty"`
	// Settings are the remembered settings at the time.
	Settings Settings `json:"settings"`
	// Own are the agent's own values of what was set in that session, as they were before
	// the first submission: where nothing is wished any more they are to be put back (S4).
	Own *Settings `json:"own,omitempty"`
	// Unsettled are client message ids whose delivery is uncertain. The binding
	// asks the provider's history and answers with a [History] effect before
	// [Ready].
	Unsettled []string `json:"unsettled,omitempty"`
}

// ClientInfo is what the host tells the harness about itself.
type ClientInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Fact is one named boolean.
type Fact struct {
	// Name is that of the manifest.
	Name string `json:"name"`
	Set  bool   `json:"set"`
}

// MessageType is the JSON-RPC shape of a message.
type MessageType string

// The message types.
const (
	MessageRequest      MessageType = "request"
	MessageNotification MessageType = "notification"
	MessageResult       MessageType = "result"
	MessageError        MessageType = "error"
)

// Message is a frame from the child.
type Message struct {
	Type MessageType `json:"type"`
	// Method is set for requests and notifications, and repeated from the call
	// for results and errors.
	Method string `json:"method,omitempty"`
	// Token is, for a request, the host's name for it, to be used in [ReplyTo];
	// for a result or error the token of the [Call] it answers.
	Token string `json:"token,omitempty"`
	// ID is, for a request, its JSON-RPC id as the child sent it. A binding uses
	// it only to recognise a request that the provider names by its id later
	// ("serverRequest/resolved", "$/cancel_request"); replies go by Token.
	ID Raw `json:"id,omitempty"`
	// Params are those of a request or notification.
	Params Raw `json:"params,omitempty"`
	// Result is that of MessageResult; it can be null.
	Result Raw `json:"result,omitempty"`
	// Error is set for MessageError. A call that timed out or could not be sent
	// ends with an error too, whose code is 0 and whose local reason is set.
	Error *CallError `json:"error,omitempty"`
	// Replay is set while the session is being restored.
	Replay bool `json:"replay,omitempty"`
}

// CallError is a JSON-RPC error, or a local reason.
type CallError struct {
	// Code is the JSON-RPC error code.
	Code    int64  `json:"code"`
	Message string `json:"message,omitempty"`
	// Data is what the child sent along.
	Data Raw `json:"data,omitempty"`
	// Local is "timeout", "schema" (the outbound frame did not fit its schema
	// and was not sent), "refused" (the manifest does not name the method, the turn
	// does not wait for delivery, or 1000 calls wait) or "oversize"; empty when the
	// child answered. The exit of the process ends no call, it ends the generation.
	Local string `json:"local,omitempty"`
}

// Origin says where a submission came from.
type Origin string

// The origins.
const (
	// OriginUser: a person wrote it.
	OriginUser Origin = "user"
	// OriginRetry: a deliberate second try of a turn.
	OriginRetry Origin = "retry"
	// OriginAnswer: the answer to a follow-up interaction.
	OriginAnswer Origin = "answer"
	// OriginImplement: Implement of a proposal.
	OriginImplement Origin = "implement"
	// OriginFeedback: Request changes of a proposal.
	OriginFeedback Origin = "feedback"
	// OriginSteer: a steering message that could not be steered natively.
	OriginSteer Origin = "steer"
)

// Submit asks the binding to deliver an accepted submission.
type Submit struct {
	// Turn is our turn id; effects about this turn carry it.
	Turn string `json:"turn"`
	// ClientID is our client message id: pass it to the provider where it takes
	// one, as evidence of delivery.
	ClientID string `json:"client_id"`
	// Content is the message, in order. It can be empty for OriginAnswer.
	Content []Content `json:"content"`
	// Settings are those frozen at acceptance, all of them to be in force.
	Settings Settings `json:"settings"`
	Origin   Origin   `json:"origin"`
	// Interaction is the key of the follow-up interaction this answers.
	Interaction string `json:"interaction,omitempty"`
	// Proposal is the key of the proposal this continues.
	Proposal string `json:"proposal,omitempty"`
	// Asked and Reply are the follow-up interaction and its structured answer,
	// for OriginAnswer: Content is empty then and the binding writes the message.
	Asked *Interaction `json:"asked,omitempty"`
	Reply *Reply       `json:"reply,omitempty"`
}

// Answer is a person's answer to a native-reply interaction. Only the step that
// handles it (or a [Withdraw]) may reply to the interactive request.
type Answer struct {
	// Key is that of the interaction.
	Key   string `json:"key"`
	Reply Reply  `json:"reply"`
	// Permission is the remembered permission that is to be in force once a
	// review is approved (rule 17). It is empty where the chosen decision sets one
	// that the person picked by itself.
	Permission Permission `json:"permission,omitempty"`
}

// WithdrawReason says why an interaction is taken back.
type WithdrawReason string

// The reasons.
const (
	// WithdrawStop: the person stopped the turn.
	WithdrawStop WithdrawReason = "stop"
	// WithdrawSteer: a new message replaces the turn.
	WithdrawSteer WithdrawReason = "steer"
	// WithdrawExpired: the turn ended.
	WithdrawExpired WithdrawReason = "expired"
	// WithdrawClosed: the session is closed.
	WithdrawClosed WithdrawReason = "closed"
	// WithdrawUnsolicited: it came while no turn of ours ran.
	WithdrawUnsolicited WithdrawReason = "unsolicited"
)

// Withdraw takes back what the agent asked; the binding replies in the way that
// the harness understands as "cancelled" (rule 14).
type Withdraw struct {
	// Key is that of the interaction.
	Key    string         `json:"key"`
	Reason WithdrawReason `json:"reason"`
}

// Steer sends a message into the running turn, for SteeringNative.
type Steer struct {
	// Turn is the running turn; Steer the turn id of the steering message.
	Turn  string `json:"turn"`
	Steer string `json:"steer"`
	// ClientID is our client message id.
	ClientID string `json:"client_id"`
	// Content is the message, in order.
	Content []Content `json:"content"`
	// Settings are those of the running turn, which the message joins.
	Settings Settings `json:"settings"`
}

// Stop asks to cancel the running turn. Open interactions were withdrawn before.
type Stop struct {
	// Turn is the running turn, empty for one the agent began by itself.
	Turn string `json:"turn,omitempty"`
}

// Timer fires a timer set by [TimerSet].
type Timer struct {
	Name string `json:"name"`
}

// Exited is the last event of a generation: the process was seen to exit.
type Exited struct {
	// Code is the exit code, -1 after a signal.
	Code int64 `json:"code"`
	// Signal is the name of the signal that ended it.
	Signal string `json:"signal,omitempty"`
}

// Close asks for an orderly end of the session before the pipe is closed.
type Close struct{}
