package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// item is what is read of a ThreadItem: the members of all its types together,
// because the type may come last. Raw members alias the parameters.
type item struct {
	kind, id, text, client, delivery, status string
	command, output, server, tool            string
	query, path, phase, review               string
	changes, questions                       []byte
	summary, content                         []byte
	cwd, exitCode, duration, actions         []byte
	arguments, result, failure               []byte
	raw                                      []byte
}

// item handles item/started and item/completed.
func (r *Reducer) item(params []byte, completed, replay bool, out *guest.Effects) {
	var at scope
	var raw []byte
	thread, turn := "", ""
	r.dec.Reset(params)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID:
			thread = d.String()
			at = r.scopeOf([]byte(thread))
		case FieldTurnID:
			turn = d.String()
		case FieldItem:
			raw = d.Raw()
		default:
			d.Skip()
		}
	})
	if !at.known || r.dec.Err() != nil {
		return
	}
	it := readItem(&r.dec, raw)
	if it.kind == "" && it.id == "" {
		return
	}
	if it.kind == EnumThreadItemTypeFileChange && !replay {
		r.keepEdit(thread, it.id, it.changes, completed)
	}
	if it.kind == EnumThreadItemTypeUserMessage && at.child == "" && it.client != "" {
		// Ours: it is in the journal already and must not appear twice.
		if !replay {
			r.proveDelivery(it.client, []byte(turn), out)
		}
		return
	}
	x := it.normalise(completed)
	x.Replay = replay
	if at.child != "" {
		x.Turn, x.Child, x.ID = r.current(), at.child, childItem(at.child, x.ID)
		r.shows(x.Turn)
		out.Item(&x)
		return
	}
	if !replay {
		x.Turn = r.turnID([]byte(turn))
	}
	out.Item(&x)
	if replay {
		return
	}
	r.shows(x.Turn)
	switch it.kind {
	case EnumThreadItemTypeAgentMessage:
		if it.delivery == EnumAgentMessageDeliveryAsync {
			r.askAsync(&it, turn, x.Turn, out)
		}
	case EnumThreadItemTypePlan:
		if completed {
			r.propose(&it, turn, out)
		}
	}
}

func readItem(d *jsonwire.Decoder, raw []byte) (it item) {
	it.raw = raw
	d.Reset(raw)
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldType:
			it.kind = d.String()
		case FieldID:
			it.id = d.String()
		case FieldText:
			it.text = d.String()
		case FieldClientID:
			it.client = d.String()
		case FieldDelivery:
			it.delivery = d.String()
		case FieldStatus:
			it.status = d.String()
		case FieldCommand:
			it.command = d.String()
		case FieldAggregatedOutput:
			it.output = d.String()
		case FieldServer:
			it.server = d.String()
		case FieldTool:
			it.tool = d.String()
		case FieldQuery:
			it.query = d.String()
		case FieldPath:
			it.path = d.String()
		case FieldPhase:
			it.phase = d.String()
		case FieldReview:
			it.review = d.String()
		case FieldQuestions:
			it.questions = d.Raw()
		case FieldChanges:
			it.changes = d.Raw()
		case FieldSummary:
			it.summary = d.Raw()
		case FieldContent:
			it.content = d.Raw()
		case FieldCwd:
			it.cwd = d.Raw()
		case FieldExitCode:
			it.exitCode = d.Raw()
		case FieldDurationMs:
			it.duration = d.Raw()
		case FieldCommandActions:
			it.actions = d.Raw()
		case FieldArguments:
			it.arguments = d.Raw()
		case FieldResult:
			it.result = d.Raw()
		case FieldError:
			it.failure = d.Raw()
		default:
			d.Skip()
		}
	})
	return it
}

// normalise maps an item; types that are not known stay usable with their data.
func (it *item) normalise(completed bool) abi.Item {
	x := abi.Item{ID: it.id, Native: it.kind, Status: itemStatus(it.status, completed)}
	if x.ID == "" {
		x.ID = it.kind
	}
	switch it.kind {
	case EnumThreadItemTypeAgentMessage:
		x.Type, x.Text = abi.ItemMessage, it.text
		if it.phase != "" {
			x.Data = append(jsonwire.AppendField([]byte{'{'}, FieldPhase, it.phase), '}')
		}
	case EnumThreadItemTypeReasoning:
		x.Type, x.Text = abi.ItemReasoning, joined(it.summary, "")
		if x.Text == "" {
			x.Text = joined(it.content, "")
		}
	case EnumThreadItemTypePlan:
		x.Type, x.Text = abi.ItemPlan, it.text
	case EnumThreadItemTypeCommandExecution:
		x.Type, x.Title, x.Text = abi.ItemCommand, it.command, it.output
		x.Data = members(member{FieldCwd, it.cwd}, member{FieldExitCode, it.exitCode}, member{FieldDurationMs, it.duration}, member{FieldCommandActions, it.actions})
	case EnumThreadItemTypeFileChange:
		x.Type, x.Title = abi.ItemEdit, changedPaths(it.changes, 0)
		x.Data = members(member{FieldChanges, it.changes})
	case EnumThreadItemTypeMcpToolCall:
		x.Type, x.Title = abi.ItemTool, it.server+"/"+it.tool
		x.Data = members(member{FieldArguments, it.arguments}, member{FieldResult, it.result}, member{FieldError, it.failure}, member{FieldDurationMs, it.duration})
	case EnumThreadItemTypeDynamicToolCall, EnumThreadItemTypeCollabAgentToolCall:
		x.Type, x.Title, x.Data = abi.ItemTool, it.tool, it.raw
	case EnumThreadItemTypeWebSearch:
		x.Type, x.Title, x.Data = abi.ItemSearch, it.query, it.raw
	case EnumThreadItemTypeUserMessage:
		x.Type, x.Text = abi.ItemOther, joined(it.content, FieldText)
	case EnumThreadItemTypeImageView:
		x.Type, x.Title, x.Data = abi.ItemOther, it.path, it.raw
	default:
		x.Type, x.Title, x.Text, x.Data = abi.ItemOther, it.kind, it.text, it.raw
		if x.Text == "" {
			x.Text = it.review
		}
	}
	return x
}

// itemStatus reads the status of the items that have one; the others run until
// they are completed.
func itemStatus(native string, completed bool) abi.ItemStatus {
	switch native {
	case EnumCommandExecutionStatusInProgress:
		return abi.ItemRunning
	case EnumCommandExecutionStatusFailed, EnumCollabAgentToolCallStatusInterrupted:
		return abi.ItemFailed
	case EnumCommandExecutionStatusDeclined:
		return abi.ItemDeclined
	case EnumCommandExecutionStatusCompleted:
		return abi.ItemCompleted
	}
	if completed {
		return abi.ItemCompleted
	}
	return abi.ItemRunning
}

// joined joins an array of strings, or one member of an array of objects.
func joined(raw []byte, member string) string {
	var b []byte
	var d jsonwire.Decoder
	d.Reset(raw)
	add := func(s []byte) {
		if len(s) == 0 {
			return
		}
		if len(b) > 0 {
			b = append(b, partSeparator...)
		}
		b = append(b, s...)
	}
	for ok := d.BeginArray(); ok && d.NextElem(); {
		if d.Kind() == jsonwire.String {
			add(d.Bytes())
			continue
		}
		eachKey(&d, func(k []byte, d *jsonwire.Decoder) {
			if member != "" && string(k) == member {
				add(d.Bytes())
			} else {
				d.Skip()
			}
		})
	}
	return string(b)
}

// changedPaths lists the paths of a file change for which there is room, see
// [lists.Names].
func changedPaths(changes []byte, room int) string {
	names := lists.Names{Room: room}
	var d jsonwire.Decoder
	d.Reset(changes)
	for ok := d.BeginArray(); ok && d.NextElem(); {
		eachKey(&d, func(k []byte, d *jsonwire.Decoder) {
			if string(k) != FieldPath {
				d.Skip()
				return
			}
			names.Add(d.Bytes())
		})
	}
	return names.String()
}

// member is one pair of an object; value is raw JSON.
type member struct {
	name  string
	value []byte
}

// members builds an object of the members that are present and not null; nil when
// there are none.
func members(pairs ...member) abi.Raw {
	var b []byte
	for _, m := range pairs {
		if len(m.value) == 0 || string(m.value) == "null" {
			continue
		}
		if b == nil {
			b = append(b, '{')
		}
		b = append(jsonwire.AppendKey(b, m.name), m.value...)
	}
	if b == nil {
		return nil
	}
	return append(b, '}')
}

// propose offers a completed plan item for review; only a turn that ran in plan
// mode presents its plan as one.
func (r *Reducer) propose(it *item, native string, out *guest.Effects) {
	t := r.running([]byte(native))
	if t == nil || t != r.cur || t.mode != EnumModeKindPlan || it.text == "" || it.id == "" {
		return
	}
	out.Proposal(&abi.Proposal{
		Key:           r.durableKey(native, it.id),
		Turn:          t.id,
		NativeSession: r.session,
		NativeTurn:    native,
		NativeItem:    it.id,
		Text:          it.text,
		Route:         abi.RouteFollowUp,
		ImplementText: implementText,
		ExecutionMode: EnumModeKindDefault,
		PlanningMode:  EnumModeKindPlan,
	})
}

// implementText is what Codex's own interface sends to go on with a plan.
const implementText = "Implement the plan."

// durableKey identifies what survives a generation (rule 13). An item id alone
// is the model's call id and repeats in another turn (seen).
func (r *Reducer) durableKey(turn, item string) string {
	return lists.ID(r.session + "/" + turn + "/" + item)
}

// keepEdit remembers the changes of a file change that runs, so that its approval
// can show them: the request itself has none (seen). Of those that are too long, alone
// or together, the paths are kept.
func (r *Reducer) keepEdit(thread, id string, changes []byte, completed bool) {
	thread, id = lists.ID(thread), lists.ID(id)
	kept := r.edits[:0]
	for _, e := range r.edits {
		if e.thread != thread || e.item != id {
			kept = append(kept, e)
		}
	}
	r.edits = kept
	if completed || len(changes) == 0 {
		return
	}
	e := edit{thread: thread, item: id, paths: changedPaths(changes, maxEditPaths)}
	if len(changes) <= maxEditBytes {
		e.changes = string(changes)
	}
	r.edits = keepLast(append(r.edits, e), maxEdits)
	size := 0
	for i := len(r.edits) - 1; i >= 0; i-- {
		if size += len(r.edits[i].changes); size > maxEditsBytes {
			r.edits[i].changes = ""
		}
	}
}

// patchUpdated keeps the newest changes of a file change that runs.
func (r *Reducer) patchUpdated(params []byte) {
	n := readNotice(&r.dec, params)
	if at := r.scopeOf([]byte(n.thread)); at.known && n.item != "" {
		r.keepEdit(n.thread, n.item, []byte(n.changes), false)
	}
}

// pendingEdit is what keepEdit remembers of an item, or nil.
func (r *Reducer) pendingEdit(thread, id string) *edit {
	thread, id = lists.ID(thread), lists.ID(id)
	for i := range r.edits {
		if r.edits[i].thread == thread && r.edits[i].item == id {
			return &r.edits[i]
		}
	}
	return nil
}
