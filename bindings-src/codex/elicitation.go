package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// askElicitation opens mcpServer/elicitation/request: what an MCP server asks of
// the person. Forms and URLs pass through untouched (rule 15).
func (r *Reducer) askElicitation(m *abi.Message, out *guest.Effects) {
	q := request{method: m.Method}
	x := abi.Interaction{Blocking: true, Tool: "mcp"}
	mode, server, title, description := "", "", "", ""
	var meta []byte
	r.dec.Reset(m.Params)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID:
			q.thread = d.String()
		case FieldTurnID:
			q.turn = d.String()
		case FieldServerName:
			server = d.String()
		case FieldMode:
			mode = d.String()
		case FieldMessage:
			x.Text = d.String()
		case FieldTitle:
			title = d.String()
		case FieldDescription:
			description = d.String()
		case FieldURL:
			x.URL = d.String()
		case FieldElicitationID:
			x.NativeItem = d.String()
		case FieldRequestedSchema:
			x.Schema = append(abi.Raw(nil), d.Raw()...)
		case FieldMeta:
			meta = append([]byte(nil), d.Raw()...)
		default:
			d.Skip()
		}
	})
	x.Title = server
	x.Detail = members(member{FieldMeta, meta})
	if q.turn == "" {
		// Not part of a turn: a server that wants a sign-in, for example.
		x.Scope = abi.ScopeSession
	}
	switch mode {
	case EnumMcpServerElicitationRequestParamsModeForm,
		EnumMcpServerElicitationRequestParamsModeOpenaiForm,
		EnumMcpServerElicitationRequestParamsModeOpenaiFormSlash:
		x.Type, q.form = abi.InteractionForm, true
	case EnumMcpServerElicitationRequestParamsModeURL:
		x.Type = abi.InteractionURL
	default:
		// A kind we cannot fill in, such as a signed user verification: the person
		// sees it and can only refuse.
		x.Type = abi.InteractionPermission
		if x.Text == "" {
			x.Text = title
			if description != "" {
				x.Text += partSeparator + description
			}
		}
		q.offerAction(&x, abi.ActionDecline, abi.RejectOnce, "Decline")
		q.offerAction(&x, abi.ActionCancel, abi.DecisionCancel, "Cancel")
	}
	r.ask(&q, &x, m, out)
}

func (q *request) offerAction(x *abi.Interaction, action abi.Action, kind abi.DecisionKind, label string) {
	result, _ := elicitationResult(false, &abi.Reply{Action: action})
	q.offer(x, abi.Decision{ID: string(action), Kind: kind, Label: label}, result)
}

// elicitationResult builds a McpServerElicitationRequestResponse. The contents of
// an accepted form are what the person gave, at least an empty object.
func elicitationResult(form bool, reply *abi.Reply) ([]byte, abi.Disposition) {
	action, d := EnumMcpServerElicitationActionCancel, abi.DispositionCancelled
	switch reply.Action {
	case abi.ActionAccept:
		action, d = EnumMcpServerElicitationActionAccept, abi.DispositionAnswered
	case abi.ActionDecline:
		action, d = EnumMcpServerElicitationActionDecline, abi.DispositionAnswered
	}
	b := jsonwire.AppendField([]byte{'{'}, FieldAction, action)
	b = jsonwire.AppendKey(b, FieldContent)
	switch {
	case reply.Action != abi.ActionAccept || !form:
		b = jsonwire.AppendRaw(b, nil)
	case len(reply.Content) == 0:
		b = append(b, '{', '}')
	default:
		b = append(b, reply.Content...)
	}
	b = jsonwire.AppendRaw(jsonwire.AppendKey(b, FieldMeta), nil)
	return append(b, '}'), d
}
