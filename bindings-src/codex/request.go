package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// request is a request of the child that a person answers. It is kept until the
// child confirms its end with serverRequest/resolved.
type request struct {
	key, token string
	// id is the raw JSON-RPC id, by which serverRequest/resolved names it.
	id     string
	method string
	thread string
	turn   string
	fields []abi.Field
	// decisions are the offered ones with their native result.
	decisions []decision
	// names counts the names among them while they are offered.
	names []offeredName
	// form: an accepted elicitation of this kind carries content.
	form bool
	// disposition is how it was settled by us, empty while it is open.
	disposition abi.Disposition
}

// decision is one offered decision; native is the whole JSON result that takes it.
type decision struct{ id, native string }

type offeredName struct {
	name  string
	times int
}

// request routes a request of the child.
func (r *Reducer) request(now int64, m *abi.Message, out *guest.Effects) {
	switch m.Method {
	case MethodItemToolRequestUserInput:
		r.askQuestion(m, out)
	case MethodItemCommandExecutionRequestApproval:
		r.askCommand(m, out)
	case MethodItemFileChangeRequestApproval:
		r.askEdit(m, out)
	case MethodItemPermissionsRequestApproval:
		r.askPermissions(m, out)
	case MethodExecCommandApproval, MethodApplyPatchApproval:
		r.askLegacy(m, out)
	case MethodMcpServerElicitationRequest:
		r.askElicitation(m, out)
	case MethodCurrentTimeRead:
		b := jsonwire.AppendInt(jsonwire.AppendKey([]byte{'{'}, FieldCurrentTimeAt), now/1000)
		out.Reply(&abi.ReplyTo{Token: m.Token, Result: append(b, '}')})
	case MethodItemToolCall:
		// We register no dynamic tools, so the call is told that it failed; an
		// error would end the turn.
		out.Reply(&abi.ReplyTo{Token: m.Token, Result: abi.Raw(dynamicToolRefusal)})
	default:
		// Token refresh and attestation are for clients that hold credentials.
		out.Reply(&abi.ReplyTo{Token: m.Token, Error: &abi.CallError{Code: methodNotFound, Message: "this client does not support " + m.Method}})
	}
}

// methodNotFound is the JSON-RPC code for a request that is not supported.
const methodNotFound = -32601

const dynamicToolRefusal = `{"` + FieldContentItems + `":[{"` + FieldType + `":"` + EnumDynamicToolCallOutputContentItemTypeInputText +
	`","` + FieldText + `":"This client provides no such tool."}],"` + FieldSuccess + `":false}`

// ask opens an interaction for a request and remembers how to answer it.
func (r *Reducer) ask(q *request, x *abi.Interaction, m *abi.Message, out *guest.Effects) {
	q.token, q.id = m.Token, string(m.ID)
	q.key = "request/" + m.Token
	x.Key, x.Token, x.Route = q.key, m.Token, abi.RouteNative
	x.NativeSession, x.NativeTurn = q.thread, q.turn
	if q.thread == r.session && q.turn != "" {
		x.Turn = r.turnID([]byte(q.turn))
	} else {
		// A child's question is part of the turn that runs the child (A7).
		x.Turn = r.current()
	}
	r.shows(x.Turn)
	q.names = nil
	q.thread, q.turn, q.id = lists.ID(q.thread), lists.ID(q.turn), lists.ID(q.id)
	r.requests = append(r.requests, *q)
	out.InteractionOpened(x)
}

// open finds a request that waits for an answer.
func (r *Reducer) pending(key string) *request {
	for i := range r.requests {
		if q := &r.requests[i]; q.key == key && q.disposition == "" {
			return q
		}
	}
	return nil
}

// answer replies to a request with what the person decided.
func (r *Reducer) answer(a *abi.Answer, out *guest.Effects) {
	q := r.pending(a.Key)
	if q == nil {
		out.Log(&abi.Log{Text: "an answer came for a request that is not open: " + a.Key})
		return
	}
	var result []byte
	var d abi.Disposition
	switch q.method {
	case MethodItemToolRequestUserInput:
		d = answered(a.Reply.Fields)
		result = answersResult(q.fields, a.Reply.Fields)
	case MethodMcpServerElicitationRequest:
		if len(q.decisions) > 0 {
			result, d = q.decide(&a.Reply)
			break
		}
		result, d = elicitationResult(q.form, &a.Reply)
	default:
		result, d = q.decide(&a.Reply)
	}
	token := q.token
	r.settle(q, d)
	out.Reply(&abi.ReplyTo{Token: token, Result: result})
}

// settle notes how a request ended. What remains of it is what its confirmation names,
// which may never come: only so many wait for theirs.
func (r *Reducer) settle(q *request, d abi.Disposition) {
	q.disposition, q.fields, q.decisions = d, nil, nil
	settled := 0
	for i := range r.requests {
		if r.requests[i].disposition != "" {
			settled++
		}
	}
	if settled <= maxSettled {
		return
	}
	for i := range r.requests {
		if r.requests[i].disposition != "" {
			r.requests = append(r.requests[:i], r.requests[i+1:]...)
			return
		}
	}
}

// decide takes the decision that was chosen. One that was never offered is a
// stale card's: nothing is allowed by mistake.
func (q *request) decide(reply *abi.Reply) ([]byte, abi.Disposition) {
	for i := range q.decisions {
		if q.decisions[i].id == reply.Decision {
			if reply.Feedback != "" && reply.Decision == FieldDenied {
				return legacyDenied(reply.Feedback), abi.DispositionAnswered
			}
			return []byte(q.decisions[i].native), abi.DispositionAnswered
		}
	}
	return q.cancelled(abi.WithdrawExpired), abi.DispositionCancelled
}

// withdraw replies in the way that Codex understands as cancelled (rule 14).
func (r *Reducer) withdraw(w *abi.Withdraw, out *guest.Effects) {
	q := r.pending(w.Key)
	if q == nil {
		return
	}
	d := abi.DispositionCancelled
	if w.Reason == abi.WithdrawExpired {
		d = abi.DispositionExpired
	}
	if w.Reason == abi.WithdrawStop && r.cur != nil && r.cur.started {
		// Only a command and an edit have a reply that ends the turn. After any
		// other one Codex asks the model again (seen on 0.171.0), so the interrupt
		// goes before it.
		r.interrupt(r.cur, out)
	}
	token, result := q.token, q.cancelled(w.Reason)
	r.settle(q, d)
	out.Reply(&abi.ReplyTo{Token: token, Result: result})
}

// cancelled is the native reply that takes a request back. Cancel interrupts the
// turn, which a stop wants; a steer and an unsolicited request do not, so they
// decline: Codex takes that even where it did not offer it (seen).
func (q *request) cancelled(why abi.WithdrawReason) []byte {
	goesOn := why == abi.WithdrawSteer || why == abi.WithdrawUnsolicited
	switch q.method {
	case MethodItemToolRequestUserInput:
		return answersResult(nil, nil)
	case MethodMcpServerElicitationRequest:
		b, _ := elicitationResult(false, &abi.Reply{Action: abi.ActionCancel})
		return b
	case MethodItemPermissionsRequestApproval:
		return []byte(nothingGranted)
	case MethodExecCommandApproval, MethodApplyPatchApproval:
		if goesOn {
			return legacyDenied("")
		}
		return decisionResult(quoted(EnumReviewDecisionAbort))
	}
	if !goesOn && q.offers(EnumCommandExecutionApprovalDecisionCancel) {
		return decisionResult(quoted(EnumCommandExecutionApprovalDecisionCancel))
	}
	return decisionResult(quoted(EnumCommandExecutionApprovalDecisionDecline))
}

func (q *request) offers(id string) bool {
	for i := range q.decisions {
		if q.decisions[i].id == id {
			return true
		}
	}
	return false
}

// resolved handles serverRequest/resolved: before an answer it means that Codex
// closed the request by itself, which is expired and never answered (A1).
func (r *Reducer) resolved(params []byte, out *guest.Effects) {
	id := lists.ID(readNotice(&r.dec, params).requestID)
	for i := range r.requests {
		q := &r.requests[i]
		if q.id == "" || q.id != id {
			continue
		}
		r.close(q, MethodServerRequestResolved, out)
		r.requests = append(r.requests[:i], r.requests[i+1:]...)
		return
	}
}

func (r *Reducer) close(q *request, evidence string, out *guest.Effects) {
	d := q.disposition
	if d == "" {
		d = abi.DispositionExpired
	}
	out.InteractionClosed(&abi.InteractionClosed{Key: q.key, Disposition: d, Evidence: evidence})
}

// expireRequests closes what a native turn left open when it ended (A4).
func (r *Reducer) expireRequests(native string, out *guest.Effects) {
	if native == "" {
		return
	}
	native = lists.ID(native)
	kept := r.requests[:0]
	for i := range r.requests {
		q := r.requests[i]
		if q.turn != native {
			kept = append(kept, q)
			continue
		}
		r.close(&q, MethodTurnCompleted, out)
	}
	r.requests = kept
}
