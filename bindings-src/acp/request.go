package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

// Request is a request of the agent that a person answers.
type Request struct {
	Key, Token string
	// ID is the raw JSON-RPC id, by which the agent takes a request back.
	ID     string
	Method string
	// Session is the native session that asks, Tool the tool call it is about.
	Session, Tool string
	// Fields are the questions of a dialect's own request, Note is for the dialect.
	Fields []abi.Field
	Note   string

	kind string
	// decisions are those offered, for a review.
	decisions []abi.Decision
	// property is the form member that an answer fills; own ends the name of the one
	// that takes a text of the person's own.
	property, own string
	// at is the question of a chain, and consts its values.
	at     int64
	consts []string
	array  bool
	// url is the id by which the end of a URL consent is told.
	url string
}

// The kinds of requests.
const (
	askPermission = "permission"
	askReview     = "review"
	askForm       = "form"
	askURL        = "url"
	askQuestions  = "questions"
	askChain      = "chain"
	askChainOwn   = "chain-own"
	askFeedback   = "feedback"
	askFormReview = "form-review"
	askDialect    = "dialect"
)

func (q *Request) walk(w *savedstate.Walker) {
	w.Str("key", &q.Key)
	w.Str("token", &q.Token)
	w.Str("id", &q.ID)
	w.Str("method", &q.Method)
	w.Str("session", &q.Session)
	w.Str("tool", &q.Tool)
	savedstate.Values(w, "fields", &q.Fields)
	w.Str("note", &q.Note)
	w.Str("kind", &q.kind)
	savedstate.Values(w, "decisions", &q.decisions)
	w.Str("property", &q.property)
	w.Str("own", &q.own)
	w.Int("at", &q.at)
	w.Strs("consts", &q.consts)
	w.Bool("array", &q.array)
	w.Str("url", &q.url)
}

// request routes a request of the agent.
func (r *Reducer) request(m *abi.Message, out *guest.Effects) {
	switch m.Method {
	case MethodSessionRequestPermission:
		r.askPermission(m, out)
	case MethodElicitationCreate:
		r.askElicitation(m, out)
	default:
		if r.d.Request == nil || !r.d.Request(r, m, out) {
			// What the manifest does not name never gets here.
			out.Reply(&abi.ReplyTo{Token: m.Token, Error: &abi.CallError{Code: codeMethodNotFound, Message: "this client does not support " + m.Method}})
		}
	}
}

// Ask opens an interaction for a request of a dialect's own and remembers it.
func (r *Reducer) Ask(q *Request, x *abi.Interaction, m *abi.Message, out *guest.Effects) {
	q.kind = askDialect
	r.ask(q, x, m, out)
}

// ask opens an interaction for a request. One of a child session is part of the turn
// that runs the child (A7).
func (r *Reducer) ask(q *Request, x *abi.Interaction, m *abi.Message, out *guest.Effects) {
	q.Token, q.ID, q.Method = m.Token, lists.ID(string(m.ID)), m.Method
	q.Tool = lists.ID(q.Tool)
	if q.Key == "" {
		q.Key = "request/" + m.Token
	}
	x.Key, x.Token, x.Route = q.Key, m.Token, abi.RouteNative
	x.NativeSession, x.NativeItem = q.Session, q.Tool
	x.Blocking = true
	if t := r.cur; t != nil {
		r.begin(t, m.Method, out)
		x.Turn, x.NativeTurn, t.shown = t.id, t.native, true
	}
	r.quiet = false
	if q.Session != r.session {
		q.Session = lists.ID(q.Session)
	}
	r.requests = append(r.requests, *q)
	out.InteractionOpened(x)
}

// pending finds a request that waits for an answer.
func (r *Reducer) pending(key string) *Request {
	for i := range r.requests {
		if r.requests[i].Key == key {
			return &r.requests[i]
		}
	}
	return nil
}

func (r *Reducer) forget(key string) {
	for i := range r.requests {
		if r.requests[i].Key == key {
			r.requests = append(r.requests[:i], r.requests[i+1:]...)
			return
		}
	}
}

// answer replies to a request with what the person decided.
func (r *Reducer) answer(a *abi.Answer, out *guest.Effects) {
	q := r.pending(a.Key)
	if q == nil {
		out.Log(&abi.Log{Text: "an answer came for a request that is not open: " + a.Key})
		return
	}
	r.quiet = false
	var result []byte
	switch q.kind {
	case askPermission:
		result = r.permit(q, &a.Reply)
	case askReview:
		result = r.review(q, a, out)
	case askFormReview:
		result = r.reviewForm(q, a, out)
	case askForm, askURL:
		result = elicitationResult(a.Reply.Action, a.Reply.Content)
	case askFeedback:
		result = feedbackResult(q, &a.Reply)
	case askQuestions:
		result = questionsResult(q, &a.Reply)
	case askChain, askChainOwn:
		result = r.chainResult(q, &a.Reply)
	default:
		if r.d.Reply != nil {
			result = r.d.Reply(q, &a.Reply)
		}
		r.reviewed(q, a, out)
	}
	token := q.Token
	r.forget(a.Key)
	out.Reply(&abi.ReplyTo{Token: token, Result: result})
}

// withdraw replies in the way that the agent understands as cancelled (rule 14). When
// the turn is to end, the cancel goes first: after a declined request alone an agent
// would ask its model again.
func (r *Reducer) withdraw(w *abi.Withdraw, out *guest.Effects) {
	q := r.pending(w.Key)
	if q == nil {
		return
	}
	switch w.Reason {
	case abi.WithdrawStop, abi.WithdrawSteer, abi.WithdrawClosed:
		if r.cur != nil {
			r.cur.stop = true
			r.cancel(r.cur, out)
		}
	}
	if r.chain != nil && r.chain.key == q.Key {
		r.chain = nil
	}
	result := q.cancelled()
	if q.kind == askDialect && r.d.Reply != nil {
		result = r.d.Reply(q, nil)
	}
	token := q.Token
	r.forget(w.Key)
	out.Reply(&abi.ReplyTo{Token: token, Result: result})
}

// cancelled is the reply that takes a request of the protocol back.
func (q *Request) cancelled() []byte {
	switch q.kind {
	case askPermission, askReview:
		return []byte(permissionCancelled)
	}
	return elicitationResult(abi.ActionCancel, nil)
}

const permissionCancelled = `{"` + FieldOutcome + `":{"` + FieldOutcome + `":"` + EnumRequestPermissionOutcomeOutcomeCancelled + `"}}`

// selected is the reply that takes an option of a permission request.
func selected(option string) []byte {
	b := append(jsonwire.AppendKey([]byte{'{'}, FieldOutcome), '{')
	b = jsonwire.AppendField(b, FieldOutcome, EnumRequestPermissionOutcomeOutcomeSelected)
	b = jsonwire.AppendField(b, FieldOptionID, option)
	return append(b, '}', '}')
}

// requestCancelled handles $/cancel_request: the agent waits no more, so nobody
// answered (A1).
func (r *Reducer) requestCancelled(params []byte, out *guest.Effects) {
	id := lists.ID(string(Member(params, FieldRequestID)))
	if id == "" {
		return
	}
	r.release(func(h *heldForm) bool { return h.id == id }, out)
	for i := range r.requests {
		if r.requests[i].ID == id {
			r.expire(r.requests[i].Key, MethodCancelRequest, out)
			return
		}
	}
}

func (r *Reducer) expire(key, evidence string, out *guest.Effects) {
	r.forget(key)
	if r.chain != nil && r.chain.key == key {
		r.chain = nil
	}
	out.InteractionClosed(&abi.InteractionClosed{Key: key, Disposition: abi.DispositionExpired, Evidence: evidence})
}

// ToolSettled closes the requests about a tool call that the agent says are settled
// although we answered none of them: another client did, or nobody.
func (r *Reducer) ToolSettled(toolCall, evidence string, out *guest.Effects) {
	if toolCall == "" {
		return
	}
	toolCall = lists.ID(toolCall)
	for i := 0; i < len(r.requests); {
		if q := &r.requests[i]; q.Tool == toolCall {
			r.expire(q.Key, evidence, out)
		} else {
			i++
		}
	}
}

// Session is the native session id.
func (r *Reducer) Session() string { return r.session }

// OfSession reports whether a notification of a dialect's own is about our session.
func (r *Reducer) OfSession(id string) bool { return r.session != "" && id == r.session }
