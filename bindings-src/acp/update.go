package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// update is what is read of a session/update: the members of all its kinds together,
// because the kind may come last. Raw members alias the parameters.
type update struct {
	session string
	kind    string
	// outer is the _meta of the parameters, meta that of the update.
	outer, meta []byte

	content []byte
	// text is scratch space of the reducer: it is valid during the step.
	text               []byte
	hasText            bool
	message            string
	tool, title, tkind string
	status, name       string
	hasTitle           bool
	rawInput           []byte
	rawOutput          []byte
	locations          []byte

	mode          string
	options       []byte
	commands      []byte
	entries, plan []byte
	used, size    int64
	hasUsed       bool
	cost          []byte
	severity      string
	description   string
}

func (r *Reducer) readUpdate(params []byte) (u update) {
	u.text = r.text[:0]
	r.dec.Reset(params)
	EachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldSessionID:
			u.session = d.Interned()
		case FieldUpdate:
			EachKey(d, u.member)
		case FieldMeta:
			u.outer = d.Raw()
		default:
			d.Skip()
		}
	})
	r.keepText(u.text)
	return u
}

// keepText keeps the buffer for the next update, unless a rare large one made it big.
func (r *Reducer) keepText(text []byte) {
	if cap(text) <= maxStream {
		r.text = text
	} else {
		r.text = nil
	}
}

func (u *update) member(k []byte, d *jsonwire.Decoder) {
	switch string(k) {
	case FieldSessionUpdate:
		u.kind = d.Interned()
	case FieldContent:
		if u.kind == EnumSessionUpdateAgentMessageChunk || u.kind == EnumSessionUpdateAgentThoughtChunk {
			// The hot path: the text is read where it stands.
			u.readBlock(d)
		} else {
			u.content = d.Raw()
		}
	case FieldMessageID:
		u.message = lists.ID(d.Interned())
	case FieldToolCallID:
		u.tool = lists.ID(d.Interned())
	case FieldTitle:
		u.hasTitle = d.Kind() == jsonwire.String
		u.title = d.String()
	case FieldKind:
		u.tkind = d.Interned()
	case FieldStatus:
		u.status = d.Interned()
	case FieldName:
		u.name = d.String()
	case FieldRawInput:
		u.rawInput = d.Raw()
	case FieldRawOutput:
		u.rawOutput = d.Raw()
	case FieldLocations:
		u.locations = d.Raw()
	case FieldCurrentModeID, FieldModeID:
		if m := d.String(); m != "" {
			u.mode = m
		}
	case FieldConfigOptions:
		u.options = d.Raw()
	case FieldAvailableCommands:
		u.commands = d.Raw()
	case FieldEntries:
		u.entries = d.Raw()
	case FieldPlan:
		u.plan = d.Raw()
	case FieldUsed:
		u.hasUsed = d.Kind() == jsonwire.Number
		u.used = d.Int()
	case FieldSize:
		u.size = d.Int()
	case FieldCost:
		u.cost = d.Raw()
	case FieldSeverity:
		u.severity = d.String()
	case FieldDescription:
		u.description = d.String()
	case FieldMeta:
		u.meta = d.Raw()
	default:
		d.Skip()
	}
}

// readBlock reads a content block's text; older agents send the text unwrapped.
func (u *update) readBlock(d *jsonwire.Decoder) {
	if d.Kind() == jsonwire.String {
		u.text, u.hasText = append(u.text[:0], d.Bytes()...), true
		return
	}
	EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldText:
			u.hasText = d.Kind() == jsonwire.String
			u.text = append(u.text[:0], d.Bytes()...)
		case FieldContent:
			// A block inside a block.
			u.readBlock(d)
		default:
			d.Skip()
		}
	})
}

// scope is where an update belongs.
type scope struct {
	turn, child string
	// live is the turn it is a part of, nil for one that is over.
	live *turn
}

// update handles session/update.
func (r *Reducer) update(m *abi.Message, out *guest.Effects) {
	u := r.readUpdate(m.Params)
	if u.session == "" || u.kind == "" || r.dec.Err() != nil {
		return
	}
	if r.session == "" {
		r.hold(m)
		return
	}
	r.apply(&u, m.Replay, out)
}

// hold keeps an update that came before the session has an id (T6, C3), bounded.
func (r *Reducer) hold(m *abi.Message) {
	if r.phase != phaseStarting || len(r.early) >= maxEarly || r.earlyBytes+int64(len(m.Params)) > maxEarlyBytes {
		return
	}
	r.early = append(r.early, string(m.Params))
	r.earlyBytes += int64(len(m.Params))
}

// applyEarly applies what was held: first what changes settings, before ready, then
// the rest.
func (r *Reducer) applyEarly(settings bool, out *guest.Effects) {
	for _, raw := range r.early {
		u := r.readUpdate([]byte(raw))
		if u.session == r.session && u.isState() == settings {
			r.apply(&u, false, out)
		}
	}
}

// isState tells the updates that say what is in force from those of a turn.
func (u *update) isState() bool {
	switch u.kind {
	case EnumSessionUpdateConfigOptionUpdate, EnumSessionUpdateCurrentModeUpdate,
		EnumSessionUpdateAvailableCommandsUpdate, EnumSessionUpdateSessionInfoUpdate:
		return true
	}
	return false
}

func (r *Reducer) apply(u *update, replay bool, out *guest.Effects) {
	own := u.session == r.session
	marked := false
	if u.outer != nil {
		marked = markedReplay(u.outer)
	}
	switch u.kind {
	case EnumSessionUpdateConfigOptionUpdate:
		if own && !marked {
			r.optionsNotified(u.options, out)
		}
		return
	case EnumSessionUpdateCurrentModeUpdate:
		if own && !marked {
			r.modeNotified(u.mode, out)
		}
		return
	case EnumSessionUpdateAvailableCommandsUpdate:
		if own {
			r.commandsNotified(u.commands, out)
		}
		return
	case EnumSessionUpdateSessionInfoUpdate:
		if own {
			r.Named(u.title, out)
		}
		return
	case EnumSessionUpdateUsageUpdate:
		if own {
			r.contextUsage(u, out)
		}
		return
	case EnumSessionUpdateUserMessageChunk:
		// Ours is in the journal, and the agent's own are no person's words (A2).
		return
	}
	if replay || marked || r.phase != phaseReady {
		r.proves(u.outer)
		r.recall(u)
		return
	}
	if u.meta != nil && len(u.text) > 0 && r.d.Notice != nil && r.d.Notice(u.meta) {
		r.Warn(out, "agent_notice", string(u.text))
		return
	}
	if r.restored == abi.RestoredResumed && !r.settled {
		// Some agents replay on after the answer (S5).
		r.recall(u)
		return
	}
	if r.cur != nil {
		r.cur.shown = true
	}
	switch u.kind {
	case EnumSessionUpdateAgentMessageChunk:
		r.chunk(u, abi.ChannelText, out)
	case EnumSessionUpdateAgentThoughtChunk:
		r.chunk(u, abi.ChannelReasoning, out)
	case EnumSessionUpdateToolCall, EnumSessionUpdateToolCallUpdate:
		r.toolCall(u, out)
	case EnumSessionUpdatePlan:
		r.checklist(u, u.entries, out)
	case EnumSessionUpdatePlanUpdate:
		r.planUpdate(u, out)
	case EnumSessionUpdatePlanRemoved:
		r.checklist(u, nil, out)
	case EnumSessionUpdateNotice:
		r.notice(u, out)
	}
	// Kinds that are not known mean nothing to us (T3).
}

// markedReplay reads the mark that some agents put on what they replay.
func markedReplay(meta []byte) bool {
	var d jsonwire.Decoder
	marked := false
	d.Reset(meta)
	EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		if string(k) == "isReplay" {
			marked = d.Bool()
		} else {
			d.Skip()
		}
	})
	return marked
}

// proves notes a message of ours that the history names.
func (r *Reducer) proves(meta []byte) {
	if r.d.Identity != nil && meta != nil {
		r.Proved(r.d.Identity(meta))
	}
}

// Proved notes that the restored history has the prompt of one of our messages.
func (r *Reducer) Proved(native string) {
	if native == "" || r.phase != phaseRestoring {
		return
	}
	for _, f := range r.found {
		if f == native {
			return
		}
	}
	for _, id := range r.open.Unsettled {
		if id == native {
			r.found = append(r.found, native)
		}
	}
}

// scopeOf places an update of a turn. What names its prompt, or goes on with a message
// or a tool call that is known, belongs there, also after that turn's end (T6); the
// rest belongs to our running turn, and without one to a turn that the agent began by
// itself.
func (r *Reducer) scopeOf(u *update, known *place, out *guest.Effects) scope {
	at := scope{}
	if u.session != r.session {
		at.child = lists.ID(u.session)
	}
	if known != nil && at.child == "" {
		at.child = known.child
	}
	native := ""
	if u.outer != nil && r.d.Identity != nil {
		native = lists.ID(r.d.Identity(u.outer))
	}
	if native != "" && at.child == "" {
		if r.cur != nil && r.cur.native == native {
			return r.live(at, r.cur, out)
		}
		for i := len(r.recent) - 1; i >= 0; i-- {
			if r.recent[i].native == native {
				at.turn = r.recent[i].turn
				return at
			}
		}
		return r.live(at, r.ownTurn(native, out), out)
	}
	if known != nil && (r.cur == nil || known.turn != r.cur.id) && (known.turn != "" || r.own == nil) {
		at.turn = known.turn
		return at
	}
	if r.cur != nil {
		return r.live(at, r.cur, out)
	}
	return r.live(at, r.ownTurn("", out), out)
}

func (r *Reducer) live(at scope, t *turn, out *guest.Effects) scope {
	at.turn, at.live = t.id, t
	if t == r.own {
		r.quiet = false
	}
	r.begin(t, MethodSessionUpdate, out)
	return at
}

// checklist reports the agent's plan entries, which are no proposal.
func (r *Reducer) checklist(u *update, entries []byte, out *guest.Effects) {
	at := r.scopeOf(u, nil, out)
	if at.child != "" {
		return
	}
	p := abi.Progress{Turn: at.turn, Entries: []abi.ProgressStep{}}
	var d jsonwire.Decoder
	var b lists.Bound
	d.Reset(entries)
	b.Each(&d, func(d *jsonwire.Decoder) {
		var s abi.ProgressStep
		EachKey(d, func(k []byte, d *jsonwire.Decoder) {
			switch string(k) {
			case FieldContent:
				s.Text = d.String()
			case FieldStatus:
				s.Status = progressStatus(d.String())
			default:
				d.Skip()
			}
		})
		if s.Text == "" {
			return
		}
		if s.Status == "" {
			s.Status = "pending"
		}
		p.Entries = append(p.Entries, s)
	})
	p.Note = b.Told("")
	out.Progress(&p)
}

func progressStatus(native string) string {
	switch native {
	case EnumPlanEntryStatusInProgress:
		return "running"
	case EnumPlanEntryStatusCompleted:
		return "completed"
	}
	return "pending"
}

// planUpdate handles a plan with an id: a list of entries, or a text.
func (r *Reducer) planUpdate(u *update, out *guest.Effects) {
	switch Text(u.plan, FieldType) {
	case EnumPlanUpdateContentTypeItems, "":
		if entries := Member(u.plan, FieldEntries); entries != nil {
			r.checklist(u, entries, out)
		}
	case EnumPlanUpdateContentTypeMarkdown:
		at := r.scopeOf(u, nil, out)
		id := Text(u.plan, FieldPlanID)
		out.Item(&abi.Item{Turn: at.turn, Child: at.child, ID: "plan/" + id, Type: abi.ItemPlan, Status: abi.ItemCompleted, Native: u.kind, Text: Text(u.plan, FieldContent)})
	}
}

// notice shows what the agent's program wants a person to know.
func (r *Reducer) notice(u *update, out *guest.Effects) {
	s := u.title
	if u.description != "" {
		if s != "" {
			s += ": "
		}
		s += u.description
	}
	if u.severity == EnumNoticeSeverityInfo {
		out.Log(&abi.Log{Text: s})
		return
	}
	r.Warn(out, "agent_notice", s)
}

func (r *Reducer) commandsNotified(raw []byte, out *guest.Effects) {
	if r.phase != phaseReady {
		if len(raw) <= lists.MaxKept {
			r.commands = string(raw)
		}
		return
	}
	r.tellCommands(raw, out)
}

// tellCommands reports the slash commands when the list is news: some agents repeat it
// with every step.
func (r *Reducer) tellCommands(raw []byte, out *guest.Effects) {
	if string(raw) == r.commands {
		return
	}
	r.commands = ""
	if len(raw) <= lists.MaxKept {
		r.commands = string(raw)
	}
	c := abi.Commands{Commands: []abi.Command{}}
	var d jsonwire.Decoder
	var b lists.Bound
	d.Reset(raw)
	b.Each(&d, func(d *jsonwire.Decoder) {
		var x abi.Command
		EachKey(d, func(k []byte, d *jsonwire.Decoder) {
			switch string(k) {
			case FieldName:
				x.Name = d.String()
			case FieldDescription:
				x.Description = d.String()
			case FieldInput:
				EachKey(d, func(k []byte, d *jsonwire.Decoder) {
					if string(k) == FieldHint {
						x.Hint = d.String()
					} else {
						d.Skip()
					}
				})
			default:
				d.Skip()
			}
		})
		if x.Name != "" {
			c.Commands = append(c.Commands, x)
		}
	})
	r.cut("commands", b.Left, out)
	out.Commands(&c)
}

// Named takes the title that the agent gave its session.
func (r *Reducer) Named(title string, out *guest.Effects) {
	if title == "" || title == r.title {
		return
	}
	r.title = title
	if r.phase == phaseReady {
		out.SessionInfo(&abi.SessionInfo{Title: title})
	}
}
