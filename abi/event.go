package abi

// Event is what the host sends into ao_step. Exactly one pointer is set.
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
	Generation int64  `json:"generation"`
	Cwd        string `json:"cwd"`
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
	ID     Raw `json:"id,omitempty"`
	Params Raw `json:"params,omitempty"`
	Result Raw `json:"result,omitempty"`
	// Error is set for MessageError. A call that timed out or could not be sent
	// ends with an error too, with Code 0 and the reason in Local.
	Error *CallError `json:"error,omitempty"`
	// Replay is set while the session is being restored.
	Replay bool `json:"replay,omitempty"`
}

// CallError is a JSON-RPC error, or a local reason.
type CallError struct {
	Code    int64  `json:"code"`
	Message string `json:"message,omitempty"`
	Data    Raw    `json:"data,omitempty"`
	// Local is "timeout", "schema" (the outbound frame did not fit its schema
	// and was not sent), "oversize" or "exited"; empty when the child answered.
	Local string `json:"local,omitempty"`
}

// Origin says where a submission came from.
type Origin string

// The origins.
const (
	OriginUser      Origin = "user"
	OriginRetry     Origin = "retry"
	OriginAnswer    Origin = "answer"
	OriginImplement Origin = "implement"
	OriginFeedback  Origin = "feedback"
	OriginSteer     Origin = "steer"
)

// Submit asks the binding to deliver an accepted submission.
type Submit struct {
	Turn string `json:"turn"`
	// ClientID is our client message id: pass it to the provider where it takes
	// one, as evidence of delivery.
	ClientID string    `json:"client_id"`
	Content  []Content `json:"content"`
	Settings Settings  `json:"settings"`
	Origin   Origin    `json:"origin"`
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
	Key   string `json:"key"`
	Reply Reply  `json:"reply"`
}

// WithdrawReason says why an interaction is taken back.
type WithdrawReason string

// The reasons.
const (
	WithdrawStop        WithdrawReason = "stop"
	WithdrawSteer       WithdrawReason = "steer"
	WithdrawExpired     WithdrawReason = "expired"
	WithdrawClosed      WithdrawReason = "closed"
	WithdrawUnsolicited WithdrawReason = "unsolicited"
)

// Withdraw takes back what the agent asked; the binding replies in the way that
// the harness understands as "cancelled" (rule 14).
type Withdraw struct {
	Key    string         `json:"key"`
	Reason WithdrawReason `json:"reason"`
}

// Steer sends a message into the running turn, for SteeringNative.
type Steer struct {
	// Turn is the running turn; Steer the turn id of the steering message.
	Turn     string    `json:"turn"`
	Steer    string    `json:"steer"`
	ClientID string    `json:"client_id"`
	Content  []Content `json:"content"`
	Settings Settings  `json:"settings"`
}

// Stop asks to cancel the running turn. Open interactions were withdrawn before.
type Stop struct {
	Turn string `json:"turn,omitempty"`
}

// Timer fires a timer set by [TimerSet].
type Timer struct {
	Name string `json:"name"`
}

// Exited is the last event of a generation: the process was seen to exit.
type Exited struct {
	Code   int64  `json:"code"`
	Signal string `json:"signal,omitempty"`
}

// Close asks for an orderly end of the session before the pipe is closed.
type Close struct{}
