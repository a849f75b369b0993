package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// codePermissionDiffers is the host's problem that a review could not carry the
// remembered permission; it is taken back once that is in force.
const codePermissionDiffers = "permission_differs"

// askReview opens the review of a plan that is a permission request.
func (r *Reducer) askReview(q *Request, t *ToolCall, decisions []abi.Decision, m *abi.Message, out *guest.Effects) {
	q.kind, q.decisions = askReview, decisions
	r.openReview(q, &abi.Interaction{Title: t.Title, Decisions: decisions}, planOf(t), false, m, out)
}

// planOf is the plan in a tool call.
func planOf(t *ToolCall) string {
	plan := Text(t.Input, FieldPlan)
	if plan == "" {
		plan, _ = contentText(t.Content)
	}
	return plan
}

// replan tells the plan of an open review anew: the update that carries it can come
// after the request (seen).
//
// Of several reviews about one call it is the last one's: a plan told as often as it
// was asked about could be told a thousand times in one step.
func (r *Reducer) replan(t *tool, out *guest.Effects) {
	for i := len(r.requests) - 1; i >= 0; i-- {
		q := &r.requests[i]
		if q.kind != askReview || q.Tool != t.id || r.foreign(q.Session) != t.session {
			continue
		}
		if plan := planOf(t.call()); plan != "" && plan != q.Note {
			q.Note = plan
			r.propose(q, plan, false, out)
		}
		return
	}
}

// AskReview opens the review of a plan that is a request of a dialect's own.
func (r *Reducer) AskReview(q *Request, x *abi.Interaction, plan string, feedback bool, m *abi.Message, out *guest.Effects) {
	q.kind, q.decisions = askDialect, x.Decisions
	r.openReview(q, x, plan, feedback, m, out)
}

// openReview opens a review together with its proposal. The key names session and tool
// call, and the request too: a review that is raised again after a restore is a new
// one, and a model's call ids repeat.
func (r *Reducer) openReview(q *Request, x *abi.Interaction, plan string, feedback bool, m *abi.Message, out *guest.Effects) {
	if q.Session == "" {
		q.Session = r.session
	}
	q.Key = lists.ID(q.Session) + "/" + lists.ID(q.Tool) + "/" + m.Token
	x.Type = abi.InteractionReview
	if r.cur == nil && r.restored == abi.RestoredResumed && !r.settled {
		x.Scope = abi.ScopeRestored
	}
	r.flush(out)
	if plan == "" && r.cur != nil {
		plan = r.cur.said
	}
	if plan == "" {
		plan = "(" + r.d.Title + " asks to leave planning and gave no text of its plan.)"
	}
	x.Text = plan
	if q.kind == askReview {
		q.Note = plan
	}
	r.ask(q, x, m, out)
	r.propose(q, plan, feedback, out)
}

func (r *Reducer) propose(q *Request, plan string, feedback bool, out *guest.Effects) {
	turn, native := "", ""
	if r.cur != nil {
		turn, native = r.cur.id, r.cur.native
	}
	out.Proposal(&abi.Proposal{
		Key: q.Key, Turn: turn, NativeSession: q.Session, NativeTurn: native, NativeItem: q.Tool,
		Text: plan, Route: abi.RouteNative,
		ExecutionMode: r.d.Modes.Execution.ID, PlanningMode: r.d.Modes.Planning, FeedbackInReview: feedback,
	})
}

// review answers a review that is a permission request with its own decision.
func (r *Reducer) review(q *Request, a *abi.Answer, out *guest.Effects) []byte {
	d := q.decision(a.Reply.Decision)
	if d == nil {
		return []byte(permissionCancelled)
	}
	r.reviewed(q, a, out)
	return selected(d.ID)
}

// reviewForm answers a review that is a form: the id of the decision is the value.
func (r *Reducer) reviewForm(q *Request, a *abi.Answer, out *guest.Effects) []byte {
	d := q.decision(a.Reply.Decision)
	if d == nil {
		return elicitationResult(abi.ActionCancel, nil)
	}
	r.reviewed(q, a, out)
	b := jsonwire.AppendString(jsonwire.AppendKey([]byte{'{'}, q.property), d.ID)
	return elicitationResult(abi.ActionAccept, append(b, '}'))
}

// reviewed notes what follows from a decision on a plan. After an approval the
// remembered permission is put in force where the decision did not (rules 17, 18); the
// agent first tells that it left planning, then the setter goes out.
func (r *Reducer) reviewed(q *Request, a *abi.Answer, out *guest.Effects) {
	d := q.decision(a.Reply.Decision)
	if d == nil {
		return
	}
	t := r.cur
	if t == nil {
		// It was raised again after a restore. The agent goes on from it in a turn of its
		// own, and what it tells of that is no late replay (S5).
		r.settled = true
		t = r.ownTurn("", out)
		t.reviewed = true
	}
	if d.Kind != abi.AllowOnce && d.Kind != abi.AllowAlways {
		t.rejected = true
		return
	}
	wished := a.Permission
	if wished == "" {
		wished = d.Permission
	}
	if wished == "" {
		// As for a prompt: none is the default one.
		wished = abi.PermissionDefault
	}
	t.permission = wished
	// Hidden modes have no permissions among them, so there is nothing to put back.
	if p := r.permission(wished); p != nil && len(r.d.Modes.Hidden) == 0 && r.offersMode(p.Mode) {
		r.mend = p.Mode
	}
}

// mendAfterReview sends the setter that a review left to do, once the agent has told
// that it is no longer planning.
func (r *Reducer) mendAfterReview(out *guest.Effects) {
	if r.mend == "" || r.call != nil {
		return
	}
	now := r.nativeMode()
	if now == "" || now == r.d.Modes.Planning {
		return
	}
	target := r.mend
	r.mend = ""
	switch o := r.modeOption(); {
	case now == target || !r.offersMode(target):
	case o != nil:
		r.set(&setter{kind: setOption, field: wishMode, id: o.id, value: target}, out)
	default:
		r.set(&setter{kind: setMode, field: wishMode, value: target}, out)
	}
}

// mended takes the report of a difference back, also one that the host made.
func (r *Reducer) mended(out *guest.Effects) {
	kept := r.problems[:0]
	for _, p := range r.problems {
		if p.Code != codePermissionDiffers {
			kept = append(kept, p)
		}
	}
	r.problems = kept
	out.Problem(&abi.Problem{Code: codePermissionDiffers, Field: wishPermission, Resolved: true})
}
