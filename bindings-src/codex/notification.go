package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// notification routes a notification. Unknown ones mean nothing to us (T3).
func (r *Reducer) notification(m *abi.Message, out *guest.Effects) {
	switch m.Method {
	case MethodItemAgentMessageDelta:
		r.delta(m, abi.ChannelText, out)
	case MethodItemReasoningTextDelta, MethodItemReasoningSummaryTextDelta:
		r.delta(m, abi.ChannelReasoning, out)
	case MethodItemPlanDelta:
		r.delta(m, abi.ChannelPlan, out)
	case MethodItemCommandExecutionOutputDelta:
		r.delta(m, abi.ChannelOutput, out)
	case MethodItemReasoningSummaryPartAdded:
		r.summaryPart(m.Params, out)
	case MethodItemStarted:
		r.item(m.Params, false, m.Replay, out)
	case MethodItemCompleted:
		r.item(m.Params, true, m.Replay, out)
	case MethodItemAutoApprovalReviewStarted, MethodItemAutoApprovalReviewCompleted:
		r.autoReview(m, out)
	case MethodItemFileChangePatchUpdated:
		r.patchUpdated(m.Params)
	case MethodTurnStarted, MethodTurnCompleted:
		r.turnBoundary(m, out)
	case MethodTurnPlanUpdated:
		r.checklist(m.Params, out)
	case MethodThreadTokenUsageUpdated:
		r.usage(m.Params, out)
	case MethodThreadSettingsUpdated:
		r.settings(m.Params, out)
	case MethodThreadNameUpdated:
		r.renamed(m.Params, out)
	case MethodServerRequestResolved:
		r.resolved(m.Params, out)
	case MethodError:
		r.providerError(m.Params, out)
	case MethodWarning, MethodGuardianWarning, MethodConfigWarning, MethodDeprecationNotice:
		r.warning(m, out)
	case MethodModelRerouted:
		r.rerouted(m.Params, out)
	case MethodMcpServerStartupStatusUpdated:
		r.mcpStatus(m.Params, out)
	case MethodAccountUpdated:
		r.accountUpdated(m.Params, out)
	}
}

// scope is where an update belongs.
type scope struct {
	// known is false for threads of nobody: the one the baseline was read from,
	// and any before the session exists.
	known bool
	// child is the thread of a child agent, empty for the session's own.
	child string
}

// scopeOf places a thread. The process is ours alone, so a thread that is not the
// session's was started by it: a child agent. Codex does not announce children
// before their first update (seen), so none is waited for (C9).
func (r *Reducer) scopeOf(thread []byte) scope {
	switch {
	case r.session == "" || len(thread) == 0 || string(thread) == r.baselineThread:
		return scope{}
	case string(thread) == r.session:
		return scope{known: true}
	case r.phase != phaseReady:
		return scope{}
	}
	return scope{known: true, child: string(thread)}
}

// delta is the hot path: streamed text of an item.
func (r *Reducer) delta(m *abi.Message, channel abi.Channel, out *guest.Effects) {
	if m.Replay {
		return
	}
	d := &r.dec
	d.Reset(m.Params)
	var x abi.Delta
	var at scope
	text := r.text[:0]
	for more := d.BeginObject(); more; {
		var k []byte
		if k, more = d.NextKey(); !more {
			break
		}
		switch string(k) {
		case FieldThreadID:
			at = r.scopeOf(d.Bytes())
		case FieldTurnID:
			x.Turn = r.turnID(d.Bytes())
		case FieldItemID:
			if b := d.Bytes(); string(b) != r.lastItem {
				r.lastItem = string(b)
			}
			x.Item = r.lastItem
		case FieldDelta:
			text = append(text[:0], d.Bytes()...)
		default:
			d.Skip()
		}
	}
	r.keepText(text)
	if !at.known || x.Item == "" || len(text) == 0 || d.Err() != nil {
		return
	}
	if at.child != "" {
		x.Turn, x.Item = r.current(), childItem(at.child, x.Item)
	}
	x.Channel = channel
	r.shows(x.Turn)
	out.DeltaText(&x, text)
}

// keepText keeps the buffer for the next delta, unless a rare large one made it big.
func (r *Reducer) keepText(text []byte) {
	if cap(text) <= maxText {
		r.text = text
	} else {
		r.text = nil
	}
}

const maxText = 256 << 10

// childItem keeps the ids of two threads apart: they are the model's call ids and
// repeat.
func childItem(child, item string) string { return child + "/" + item }

// summaryPart separates the parts of a reasoning summary like its final text.
func (r *Reducer) summaryPart(params []byte, out *guest.Effects) {
	n := readNotice(&r.dec, params)
	at := r.scopeOf([]byte(n.thread))
	if !at.known || at.child != "" || n.item == "" || n.summaryIndex == 0 {
		return
	}
	out.Delta(&abi.Delta{Turn: r.turnID([]byte(n.turn)), Item: n.item, Channel: abi.ChannelReasoning, Text: partSeparator})
}

const partSeparator = "\n\n"

// notice is the union of the small members that several notifications share.
type notice struct {
	thread, turn, item       string
	message, summary, detail string
	name, status, failure    string
	fromModel, toModel       string
	summaryIndex             int64
	willRetry                bool
	requestID                string
	authMode                 string
	fault                    fault
	changes                  string
}

func readNotice(d *jsonwire.Decoder, params []byte) (n notice) {
	d.Reset(params)
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID:
			n.thread = d.String()
		case FieldTurnID:
			n.turn = d.String()
		case FieldItemID:
			n.item = d.String()
		case FieldMessage:
			n.message = d.String()
		case FieldSummary:
			n.summary = d.String()
		case FieldDetails:
			n.detail = d.String()
		case FieldName, FieldThreadName:
			n.name = d.String()
		case FieldStatus:
			n.status = d.String()
		case FieldFromModel:
			n.fromModel = d.String()
		case FieldToModel:
			n.toModel = d.String()
		case FieldSummaryIndex:
			n.summaryIndex = d.Int()
		case FieldWillRetry:
			n.willRetry = d.Bool()
		case FieldRequestID:
			n.requestID = string(d.Raw())
		case FieldAuthMode:
			n.authMode = d.String()
		case FieldChanges:
			n.changes = string(d.Raw())
		case FieldError:
			if d.Kind() == jsonwire.String {
				n.failure = d.String()
			} else {
				n.fault = readFault(d)
			}
		default:
			d.Skip()
		}
	})
	return n
}

// turnBoundary handles turn/started and turn/completed. A child's turns end
// inside ours and end nothing of it (Q3).
func (r *Reducer) turnBoundary(m *abi.Message, out *guest.Effects) {
	if m.Replay {
		return
	}
	var at scope
	var n nativeTurn
	r.dec.Reset(m.Params)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID:
			at = r.scopeOf(d.Bytes())
		case FieldTurn:
			n = readTurn(d)
		default:
			d.Skip()
		}
	})
	switch {
	case !at.known || n.id == "":
	case at.child != "":
		if m.Method == MethodTurnCompleted {
			r.expireRequests(n.id, out)
		}
	case m.Method == MethodTurnStarted:
		r.turnStarted(n.id, out)
	default:
		r.turnCompleted(&n, out)
	}
}

// checklist handles turn/plan/updated, which is another thing than a plan item.
func (r *Reducer) checklist(params []byte, out *guest.Effects) {
	var at scope
	x := abi.Progress{Entries: []abi.ProgressStep{}}
	var b lists.Bound
	turn := ""
	r.dec.Reset(params)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID:
			at = r.scopeOf(d.Bytes())
		case FieldTurnID:
			turn = d.String()
		case FieldExplanation:
			x.Note = d.String()
		case FieldPlan:
			b.Each(d, func(d *jsonwire.Decoder) { x.Entries = append(x.Entries, readStep(d)) })
		default:
			d.Skip()
		}
	})
	if !at.known || at.child != "" {
		return
	}
	x.Turn = r.turnID([]byte(turn))
	x.Note += b.Told(x.Note)
	out.Progress(&x)
}

func readStep(d *jsonwire.Decoder) (s abi.ProgressStep) {
	s.Status = "pending"
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldStep:
			s.Text = d.String()
		case FieldStatus:
			switch d.String() {
			case EnumTurnPlanStepStatusInProgress:
				s.Status = "running"
			case EnumTurnPlanStepStatusCompleted:
				s.Status = "completed"
			}
		default:
			d.Skip()
		}
	})
	return s
}

// usage handles thread/tokenUsage/updated: what the last request filled of the
// context is a gauge, the totals of the thread are counters (D7).
func (r *Reducer) usage(params []byte, out *guest.Effects) {
	var at scope
	var u abi.Usage
	turn := ""
	r.dec.Reset(params)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID:
			at = r.scopeOf(d.Bytes())
		case FieldTurnID:
			turn = d.String()
		case FieldTokenUsage:
			eachKey(d, func(k []byte, d *jsonwire.Decoder) {
				switch string(k) {
				case FieldTotal:
					u.Counters = readCounters(d)
				case FieldLast:
					eachKey(d, func(k []byte, d *jsonwire.Decoder) {
						if string(k) == FieldTotalTokens {
							u.Gauges = append(u.Gauges, abi.Metric{Name: "context_tokens", Value: d.Int()})
						} else {
							d.Skip()
						}
					})
				case FieldModelContextWindow:
					if n := d.Int(); n > 0 {
						u.Gauges = append(u.Gauges, abi.Metric{Name: "context_window", Value: n})
					}
				default:
					d.Skip()
				}
			})
		default:
			d.Skip()
		}
	})
	if !at.known || at.child != "" || len(u.Gauges) == 0 && len(u.Counters) == 0 {
		return
	}
	u.Turn = r.turnID([]byte(turn))
	out.Usage(&u)
}

func readCounters(d *jsonwire.Decoder) (m []abi.Metric) {
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		var name string
		switch string(k) {
		case FieldTotalTokens:
			name = "total_tokens"
		case FieldInputTokens:
			name = "input_tokens"
		case FieldCachedInputTokens:
			name = "cached_input_tokens"
		case FieldCacheWriteInputTokens:
			name = "cache_write_input_tokens"
		case FieldOutputTokens:
			name = "output_tokens"
		case FieldReasoningOutputTokens:
			name = "reasoning_output_tokens"
		default:
			d.Skip()
			return
		}
		m = append(m, abi.Metric{Name: name, Value: d.Int()})
	})
	return m
}

// settings handles thread/settings/updated: what is in force (rule 5).
func (r *Reducer) settings(params []byte, out *guest.Effects) {
	var at scope
	var s stance
	r.dec.Reset(params)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID:
			at = r.scopeOf(d.Bytes())
		case FieldThreadSettings:
			s = readSettings(d)
		default:
			d.Skip()
		}
	})
	if !at.known || at.child != "" {
		return
	}
	if r.phase == phaseRestoring {
		r.settingsSeen = true
	}
	r.observe(s, out)
}

func readSettings(d *jsonwire.Decoder) (s stance) {
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldApprovalPolicy:
			s.policy = string(d.Raw())
		case FieldApprovalsReviewer:
			s.reviewer = d.String()
		case FieldSandboxPolicy:
			s.sandbox = string(d.Raw())
		case FieldModel:
			s.model = d.String()
		case FieldEffort:
			s.effort = d.String()
		case FieldCollaborationMode:
			s.mode = readModeKind(d)
		default:
			d.Skip()
		}
	})
	return s
}

// observe reports what is in force when it is news. Native words go along where
// the triple is none of the four permissions.
func (r *Reducer) observe(s stance, out *guest.Effects) {
	if s.model != "" {
		r.sessionModel = s.model
	}
	o := abi.Observed{Mode: s.mode, Model: s.model, Effort: s.effort, Permission: r.permissionOf(&s)}
	if o.Permission == "" && s.policy != "" {
		o.Native = s.describe()
	}
	if sameObserved(&o, &r.observed) {
		return
	}
	r.observed = o
	out.Observed(&o)
}

func sameObserved(a, b *abi.Observed) bool {
	return a.Mode == b.Mode && a.Model == b.Model && a.Effort == b.Effort && a.Permission == b.Permission && a.Native == b.Native
}

func (r *Reducer) rerouted(params []byte, out *guest.Effects) {
	n := readNotice(&r.dec, params)
	if at := r.scopeOf([]byte(n.thread)); !at.known || at.child != "" || n.toModel == "" {
		return
	}
	r.observed.Model = n.toModel
	o := r.observed
	out.Observed(&o)
	r.warn(out, "model_rerouted", "Codex answers with the model "+n.toModel+" instead of "+n.fromModel+".")
}

func (r *Reducer) renamed(params []byte, out *guest.Effects) {
	n := readNotice(&r.dec, params)
	if at := r.scopeOf([]byte(n.thread)); at.known && at.child == "" {
		r.named(n.name, out)
	}
}

func (r *Reducer) named(title string, out *guest.Effects) {
	if title == r.title {
		return
	}
	r.title = title
	out.SessionInfo(&abi.SessionInfo{Title: title})
}

// providerError handles the "error" notification. One that is retried is shown
// once a turn; the last one is kept for the turn's end.
func (r *Reducer) providerError(params []byte, out *guest.Effects) {
	n := readNotice(&r.dec, params)
	at := r.scopeOf([]byte(n.thread))
	if !at.known || at.child != "" {
		return
	}
	t := r.running([]byte(n.turn))
	if t == nil && r.cur != nil && r.cur.native == "" {
		t = r.cur
	}
	if t == nil {
		if !n.willRetry {
			r.warn(out, "provider_error", n.fault.message)
		}
		return
	}
	if !n.willRetry {
		t.failure = n.fault
		return
	}
	t.retry = n.fault
	if !t.retried {
		t.retried = true
		out.Warning(&abi.Warning{Code: "provider_retry", Message: n.fault.message})
	}
}

// warning shows what Codex warns of, once.
func (r *Reducer) warning(m *abi.Message, out *guest.Effects) {
	n := readNotice(&r.dec, m.Params)
	code := "provider_warning"
	switch m.Method {
	case MethodGuardianWarning:
		code = "review_warning"
	case MethodConfigWarning:
		code = "config_warning"
	case MethodDeprecationNotice:
		code = "deprecation"
	}
	message := n.message
	if message == "" {
		message = n.summary
	}
	if n.detail != "" {
		message += "\n" + n.detail
	}
	r.warn(out, code, message)
}

// mcpStatus tells of MCP servers that could not start: their tools are missing.
func (r *Reducer) mcpStatus(params []byte, out *guest.Effects) {
	n := readNotice(&r.dec, params)
	if n.status != EnumMcpServerStartupStateFailed {
		return
	}
	message := "The MCP server " + n.name + " could not start."
	if n.failure != "" {
		message += " " + n.failure
	}
	r.warn(out, "mcp_server_failed", message)
}

// accountUpdated takes the sign-in problem back after a sign-in (L6).
func (r *Reducer) accountUpdated(params []byte, out *guest.Effects) {
	if n := readNotice(&r.dec, params); n.authMode != "" {
		r.resolve(out, func(p *abi.Problem) bool { return p.Code == codeSignIn })
	}
}
