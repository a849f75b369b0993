package codex

import (
	"strconv"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// approval is what is read of the approval requests: their members together.
type approval struct {
	thread, turn, item         string
	reason, command, cwd, root string
	kind                       string
	network, extra             []byte
	execRule, networkRules     []byte
	permissions, changes       []byte
	decisions                  []byte
}

func readApproval(d *jsonwire.Decoder, params []byte) (a approval) {
	d.Reset(params)
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID, FieldConversationID:
			a.thread = d.String()
		case FieldTurnID:
			a.turn = d.String()
		case FieldItemID, FieldCallID:
			a.item = d.String()
		case FieldReason:
			a.reason = d.String()
		case FieldCommand:
			if d.Kind() != jsonwire.Array {
				a.command = d.String()
				return
			}
			a.command = commandLine(d)
		case FieldCwd:
			a.cwd = d.String()
		case FieldGrantRoot:
			a.root = d.String()
		case FieldKind:
			a.kind = d.String()
		case FieldNetworkApprovalContext:
			a.network = d.Raw()
		case FieldAdditionalPermissions:
			a.extra = d.Raw()
		case FieldProposedExecpolicyAmendment:
			a.execRule = d.Raw()
		case FieldProposedNetworkPolicyAmendments:
			a.networkRules = d.Raw()
		case FieldPermissions:
			a.permissions = d.Raw()
		case FieldFileChanges:
			a.changes = d.Raw()
		case FieldAvailableDecisions:
			a.decisions = d.Raw()
		default:
			d.Skip()
		}
	})
	return a
}

// askCommand opens item/commandExecution/requestApproval.
func (r *Reducer) askCommand(m *abi.Message, out *guest.Effects) {
	a := readApproval(&r.dec, m.Params)
	q := request{method: m.Method, thread: a.thread, turn: a.turn}
	x := abi.Interaction{
		Type: abi.InteractionPermission, Blocking: true, NativeItem: a.item,
		Title: "Run a command", Tool: "execute", Text: a.reason, Command: a.command, Cwd: a.cwd,
		Detail: members(member{FieldNetworkApprovalContext, a.network}, member{FieldAdditionalPermissions, a.extra}, member{FieldProposedExecpolicyAmendment, a.execRule}, member{FieldProposedNetworkPolicyAmendments, a.networkRules}),
	}
	switch {
	case a.kind == EnumCommandExecutionApprovalKindWriteStdin:
		x.Title = "Type into a running command"
	case len(a.network) > 0 && string(a.network) != "null":
		x.Title, x.Tool = "Use the network", "fetch"
	}
	q.offered(&x, a.decisions,
		EnumCommandExecutionApprovalDecisionAccept, EnumCommandExecutionApprovalDecisionAcceptForSession,
		EnumCommandExecutionApprovalDecisionDecline, EnumCommandExecutionApprovalDecisionCancel)
	r.ask(&q, &x, m, out)
}

// askEdit opens item/fileChange/requestApproval. It has no list of decisions, so
// the schema's are offered.
func (r *Reducer) askEdit(m *abi.Message, out *guest.Effects) {
	a := readApproval(&r.dec, m.Params)
	q := request{method: m.Method, thread: a.thread, turn: a.turn}
	x := abi.Interaction{
		Type: abi.InteractionPermission, Blocking: true, NativeItem: a.item,
		Title: "Change files", Tool: "edit", Text: a.reason,
	}
	changes, paths, missing := r.editOf(&a)
	if paths != "" {
		x.Title += ": " + paths
	}
	if x.Text != "" && missing != "" {
		x.Text += " "
	}
	x.Text += missing
	var root []byte
	if a.root != "" {
		root = jsonwire.AppendString(nil, a.root)
	}
	x.Detail = members(member{FieldChanges, changes}, member{FieldGrantRoot, root})
	q.offered(&x, a.decisions,
		EnumFileChangeApprovalDecisionAccept, EnumFileChangeApprovalDecisionAcceptForSession,
		EnumFileChangeApprovalDecisionDecline, EnumFileChangeApprovalDecisionCancel)
	r.ask(&q, &x, m, out)
}

// editOf is what an approval of an edit is about, and what a person is told where it
// cannot be shown (C6, C8).
func (r *Reducer) editOf(a *approval) (changes []byte, paths, missing string) {
	item := a.item
	if at := r.scopeOf([]byte(a.thread)); at.child != "" {
		item = childItem(at.child, item)
	}
	e := r.pendingEdit(a.thread, a.item)
	switch {
	case e == nil:
		return nil, "", "What would change is not known here; the item \"" + item + "\" may tell it."
	case e.changes == "":
		return nil, e.paths, "The changes are too long to be shown here; the item \"" + item + "\" has them."
	}
	changes = []byte(e.changes)
	return changes, changedPaths(changes, 0), ""
}

// offered fills the decisions from the request's list, or from the names given
// where it has none. A decision that is not known is not shown: nothing could
// say honestly what it does (C7).
func (q *request) offered(x *abi.Interaction, list []byte, defaults ...string) {
	var d jsonwire.Decoder
	d.Reset(list)
	if d.Kind() == jsonwire.Array {
		var b lists.Bound
		b.Each(&d, func(d *jsonwire.Decoder) {
			raw := d.Raw()
			q.offer(x, describeDecision(raw), decisionResult(string(raw)))
		})
		x.Text += b.Told(x.Text)
		if len(q.decisions) > 0 {
			return
		}
		// Nothing in the list can be shown, so only refusing is left.
		defaults = defaults[2:]
	}
	for _, name := range defaults {
		raw := quoted(name)
		q.offer(x, describeDecision([]byte(raw)), decisionResult(raw))
	}
}

// offer adds a decision under an id that is unique in its request.
func (q *request) offer(x *abi.Interaction, d abi.Decision, result []byte) {
	if d.Kind == "" {
		return
	}
	// The names are ours or a handful of the provider's, and none ends with a number.
	if n := q.again(d.ID); n > 1 {
		d.ID += "-" + strconv.Itoa(n)
	}
	x.Decisions = append(x.Decisions, d)
	q.decisions = append(q.decisions, decision{id: d.ID, native: string(result)})
}

// again counts a name and tells how often it was offered by now.
func (q *request) again(name string) int {
	for i := range q.names {
		if q.names[i].name == name {
			q.names[i].times++
			return q.names[i].times
		}
	}
	q.names = append(q.names, offeredName{name, 1})
	return 1
}

// decisionResult is the result that carries a decision.
func decisionResult(raw string) []byte {
	b := jsonwire.AppendKey([]byte{'{'}, FieldDecision)
	return append(append(b, raw...), '}')
}

// describeDecision classifies a decision: a name, or an object whose member is
// the name and whose value goes back untouched.
func describeDecision(raw []byte) (x abi.Decision) {
	var d jsonwire.Decoder
	d.Reset(raw)
	if d.Kind() == jsonwire.String {
		return namedDecision(d.String())
	}
	eachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldAcceptWithExecpolicyAmendment:
			x = abi.Decision{ID: FieldAcceptWithExecpolicyAmendment, Kind: abi.AllowAlways}
			x.Label = "Allow, and do not ask again for commands that start with: " + readRule(d)
		case FieldApplyNetworkPolicyAmendment:
			host, allow := readNetworkRule(d)
			x = abi.Decision{ID: FieldApplyNetworkPolicyAmendment, Kind: abi.RejectAlways, Label: "Always refuse access to " + host}
			if allow {
				x.Kind, x.Label = abi.AllowAlways, "Always allow access to "+host
			}
		default:
			d.Skip()
		}
	})
	return x
}

func namedDecision(name string) abi.Decision {
	x := abi.Decision{ID: name}
	switch name {
	case EnumCommandExecutionApprovalDecisionAccept:
		x.Kind, x.Label = abi.AllowOnce, "Allow"
	case EnumCommandExecutionApprovalDecisionAcceptForSession:
		x.Kind, x.Label = abi.AllowAlways, "Allow for this session"
	case EnumCommandExecutionApprovalDecisionDecline:
		x.Kind, x.Label = abi.RejectOnce, "Decline and go on"
	case EnumCommandExecutionApprovalDecisionCancel:
		x.Kind, x.Label = abi.DecisionCancel, "Decline and stop the turn"
	}
	return x
}

// readRule reads {execpolicy_amendment:[words]} into a command prefix.
func readRule(d *jsonwire.Decoder) string {
	var b []byte
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		if string(k) != FieldExecpolicyAmendment {
			d.Skip()
			return
		}
		for ok := d.BeginArray(); ok && d.NextElem(); {
			if len(b) > 0 {
				b = append(b, ' ')
			}
			b = append(b, d.Bytes()...)
		}
	})
	return string(b)
}

// readNetworkRule reads {network_policy_amendment:{host,action}}.
func readNetworkRule(d *jsonwire.Decoder) (host string, allow bool) {
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		if string(k) != FieldNetworkPolicyAmendment {
			d.Skip()
			return
		}
		eachKey(d, func(k []byte, d *jsonwire.Decoder) {
			switch string(k) {
			case FieldHost:
				host = d.String()
			case FieldAction:
				allow = d.String() == EnumNetworkPolicyRuleActionAllow
			default:
				d.Skip()
			}
		})
	})
	return host, allow
}

// askPermissions opens item/permissions/requestApproval: wider access for the
// turn or the session.
func (r *Reducer) askPermissions(m *abi.Message, out *guest.Effects) {
	a := readApproval(&r.dec, m.Params)
	q := request{method: m.Method, thread: a.thread, turn: a.turn}
	x := abi.Interaction{
		Type: abi.InteractionPermission, Blocking: true, NativeItem: a.item,
		Title: "Widen the agent's access", Tool: "other", Text: a.reason, Cwd: a.cwd,
		Detail: members(member{FieldPermissions, a.permissions}),
	}
	wanted := grantable(a.permissions)
	q.offer(&x, abi.Decision{ID: EnumPermissionGrantScopeTurn, Kind: abi.AllowOnce, Label: "Allow for this turn"}, grant(wanted, EnumPermissionGrantScopeTurn))
	q.offer(&x, abi.Decision{ID: EnumPermissionGrantScopeSession, Kind: abi.AllowAlways, Label: "Allow for this session"}, grant(wanted, EnumPermissionGrantScopeSession))
	q.offer(&x, abi.Decision{ID: EnumCommandExecutionApprovalDecisionDecline, Kind: abi.RejectOnce, Label: "Decline and go on"}, []byte(nothingGranted))
	r.ask(&q, &x, m, out)
}

const nothingGranted = `{"` + FieldPermissions + `":{},"` + FieldScope + `":"` + EnumPermissionGrantScopeTurn + `"}`

func grant(permissions []byte, scope string) []byte {
	b := append(jsonwire.AppendKey([]byte{'{'}, FieldPermissions), permissions...)
	return append(jsonwire.AppendField(b, FieldScope, scope), '}')
}

// grantable is the requested profile without its null members: a grant may leave
// them out but not set them to null.
func grantable(requested []byte) []byte {
	b := []byte{'{'}
	var d jsonwire.Decoder
	d.Reset(requested)
	eachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		name := string(k)
		v := d.Raw()
		if (name == FieldNetwork || name == FieldFileSystem) && string(v) != "null" {
			b = append(jsonwire.AppendKey(b, name), v...)
		}
	})
	return append(b, '}')
}

// askLegacy opens the two approvals of the older API, which carry the whole
// command or patch themselves.
func (r *Reducer) askLegacy(m *abi.Message, out *guest.Effects) {
	a := readApproval(&r.dec, m.Params)
	q := request{method: m.Method, thread: a.thread}
	x := abi.Interaction{
		Type: abi.InteractionPermission, Blocking: true, NativeItem: a.item,
		Title: "Run a command", Tool: "execute", Text: a.reason, Command: a.command, Cwd: a.cwd,
	}
	if m.Method == MethodApplyPatchApproval {
		x.Title, x.Tool = "Change files", "edit"
		x.Detail = members(member{FieldFileChanges, a.changes})
	}
	q.offer(&x, abi.Decision{ID: EnumReviewDecisionApproved, Kind: abi.AllowOnce, Label: "Allow"}, decisionResult(quoted(EnumReviewDecisionApproved)))
	q.offer(&x, abi.Decision{ID: EnumReviewDecisionApprovedForSession, Kind: abi.AllowAlways, Label: "Allow for this session"}, decisionResult(quoted(EnumReviewDecisionApprovedForSession)))
	q.offer(&x, abi.Decision{ID: FieldDenied, Kind: abi.RejectOnce, Label: "Decline and go on", Feedback: true}, legacyDenied(""))
	q.offer(&x, abi.Decision{ID: EnumReviewDecisionAbort, Kind: abi.DecisionCancel, Label: "Decline and stop the turn"}, decisionResult(quoted(EnumReviewDecisionAbort)))
	r.ask(&q, &x, m, out)
}

// legacyDenied is the refusal of the older API, with the person's words.
func legacyDenied(feedback string) []byte {
	if feedback == "" {
		feedback = "The user declined."
	}
	b := append(jsonwire.AppendKey([]byte{'{'}, FieldDecision), '{')
	b = append(jsonwire.AppendKey(b, FieldDenied), '{')
	return append(jsonwire.AppendField(b, FieldRejection, feedback), "}}}"...)
}

// commandLine shows an argument vector as one line, quoting what a shell would
// split or expand, so that nothing of it is hidden (C8).
func commandLine(d *jsonwire.Decoder) string {
	var b []byte
	for ok := d.BeginArray(); ok && d.NextElem(); {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = appendWord(b, d.String())
	}
	return string(b)
}

func appendWord(b []byte, word string) []byte {
	plain := word != ""
	for i := 0; i < len(word) && plain; i++ {
		c := word[i]
		plain = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			c == '-' || c == '_' || c == '.' || c == '/' || c == ':' || c == '=' || c == '@' || c == '+' || c == ',' || c >= 0x80
	}
	if plain {
		return append(b, word...)
	}
	b = append(b, '\'')
	for i := 0; i < len(word); i++ {
		if word[i] == '\'' {
			b = append(b, `'\''`...)
		} else {
			b = append(b, word[i])
		}
	}
	return append(b, '\'')
}
