package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// askPermission opens session/request_permission: an ordinary permission, or the
// review of a plan.
func (r *Reducer) askPermission(m *abi.Message, out *guest.Effects) {
	q := Request{kind: askPermission}
	u := update{kind: EnumSessionUpdateToolCallUpdate}
	var options []Option
	var b lists.Bound
	r.dec.Reset(m.Params)
	EachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldSessionID:
			q.Session = d.String()
		case FieldToolCall:
			EachKey(d, u.member)
		case FieldOptions:
			b.Each(d, func(d *jsonwire.Decoder) {
				if o, ok := readPermissionOption(d); ok {
					options = append(options, o)
				}
			})
		default:
			d.Skip()
		}
	})
	options = lists.Unique(options, func(o *Option) string { return o.ID })
	q.Tool = u.tool
	t := r.describedTool(&q, &u)
	call, lost := t.call(), *t
	r.trim(t)
	if r.d.Review != nil && r.cameFromUs(&q) {
		if decisions, ok := r.d.Review(call, options); ok {
			r.askReview(&q, call, decisions, m, out)
			return
		}
	}
	x := abi.Interaction{Type: abi.InteractionPermission, Title: call.Title, Tool: toolClass(call)}
	if x.Title == "" {
		x.Title = call.Name
	}
	if call.Kind == EnumToolKindExecute {
		x.Command = command(call.Input)
		x.Cwd = Text(call.Input, FieldCwd)
	}
	words, rich := contentText(call.Content)
	x.Text = words
	if x.Text == "" {
		x.Text = Text(call.Input, FieldDescription)
	}
	x.Text += b.Told(x.Text)
	x.Text += lost.untold(x.Text)
	content := []byte(nil)
	if rich {
		content = call.Content
	}
	x.Detail = members(member{FieldContent, content}, member{FieldRawInput, call.Input}, member{FieldLocations, call.Locations})
	for _, o := range options {
		kind := abi.DecisionKind(o.Kind)
		if !kind.Known() || kind == abi.DecisionCancel {
			// Nothing could say honestly what it does (C7).
			continue
		}
		d := abi.Decision{ID: o.ID, Label: o.Name, Kind: kind}
		d.Feedback = r.d.FeedbackForm != nil && kind == abi.RejectOnce
		x.Decisions = append(x.Decisions, d)
	}
	if len(x.Decisions) == 0 {
		x.Decisions = []abi.Decision{{ID: cancelDecision, Label: "Cancel", Kind: abi.DecisionCancel}}
	}
	q.decisions = x.Decisions
	r.ask(&q, &x, m, out)
}

// cancelDecision is offered where a request offers nothing that can be shown.
const cancelDecision = "cancelled"

// cameFromUs reports whether a request is about the session's own work: a child's
// review must not count as ours.
func (r *Reducer) cameFromUs(q *Request) bool { return q.Session == "" || q.Session == r.session }

func readPermissionOption(d *jsonwire.Decoder) (o Option, ok bool) {
	EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldOptionID:
			ok = d.Kind() == jsonwire.String
			o.ID = d.String()
		case FieldName:
			o.Name = d.String()
		case FieldKind:
			o.Kind = d.String()
		default:
			d.Skip()
		}
	})
	if o.Name == "" {
		o.Name = o.ID
	}
	return o, ok
}

// describedTool merges what a request says of its tool call into what was told before:
// the request of some agents has less than an earlier update (seen).
func (r *Reducer) describedTool(q *Request, u *update) *tool {
	child := r.foreign(q.Session)
	t := r.find(u.tool, child)
	if t == nil || r.over(t) {
		t = &tool{id: u.tool, child: child, session: child, turn: r.current()}
		if u.tool != "" {
			r.tools = keepLast(append(r.tools, *t), maxTools)
			t = &r.tools[len(r.tools)-1]
		}
	}
	r.merge(t, u)
	return t
}

// toolClass classifies a permission request, for a person and for the host's
// stand-in. Only what is known to edit counts as an edit.
func toolClass(t *ToolCall) string {
	switch t.Kind {
	case EnumToolKindExecute, EnumToolKindRead, EnumToolKindEdit, EnumToolKindFetch:
		return t.Kind
	case EnumToolKindSearch:
		return EnumToolKindRead
	case EnumToolKindDelete, EnumToolKindMove:
		return EnumToolKindEdit
	}
	if _, ok := cut(t.Name, "mcp__"); ok {
		return "mcp"
	}
	return EnumToolKindOther
}

// permit takes the decision that was chosen. One that was never offered is a stale
// card's: nothing is allowed by mistake.
func (r *Reducer) permit(q *Request, reply *abi.Reply) []byte {
	d := q.decision(reply.Decision)
	if d == nil || d.Kind == abi.DecisionCancel {
		return []byte(permissionCancelled)
	}
	if d.Kind == abi.RejectOnce || d.Kind == abi.RejectAlways {
		if t := r.find(q.Tool, r.foreign(q.Session)); t != nil {
			t.declined = true
		}
		if d.Feedback {
			r.rejected = q.Key
		}
	}
	return selected(d.ID)
}

func (q *Request) decision(id string) *abi.Decision {
	for i := range q.decisions {
		if q.decisions[i].ID == id {
			return &q.decisions[i]
		}
	}
	return nil
}
