package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// Form is an elicitation in form mode, as far as a dialect needs it.
type Form struct {
	Message string
	// Tool is the tool call that asks, nil when none is named or known.
	Tool       *ToolCall
	Properties []Property
	// Planning: the agent is in its planning mode.
	Planning bool
}

// Property is one member of a form. Options are those of a choice, in order.
type Property struct {
	Name, Type, Title, Description string
	Options                        []abi.Option
	// Metas are the [FieldMeta] of the options.
	Metas [][]byte
	Multi bool
}

// Questionnaire is a form that a dialect knows to be questions. The answer to a field
// goes into the property of its id, a text of the person's own into the one whose name
// ends with Own.
type Questionnaire struct {
	Text   string
	Fields []abi.Field
	Own    string
}

// askElicitation opens elicitation/create: a form or a URL.
func (r *Reducer) askElicitation(m *abi.Message, out *guest.Effects) {
	r.openElicitation(m, true, out)
}

// openElicitation opens a form or a URL; with wait, a form may be held back until the
// tool call that it names is known.
func (r *Reducer) openElicitation(m *abi.Message, wait bool, out *guest.Effects) {
	var q Request
	var x abi.Interaction
	mode, toolCall := "", ""
	var schema []byte
	r.dec.Reset(m.Params)
	EachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldSessionID:
			q.Session = d.String()
		case FieldToolCallID:
			toolCall = d.String()
		case FieldMode:
			mode = d.String()
		case FieldMessage:
			x.Text = d.String()
		case FieldURL:
			x.URL = d.String()
		case FieldElicitationID:
			q.url = d.String()
		case FieldRequestedSchema:
			schema = d.Raw()
		default:
			d.Skip()
		}
	})
	scoped := q.Session != ""
	q.Tool = toolCall
	if !scoped || r.cur == nil && mode == EnumCreateElicitationRequestModeURL {
		// Not part of a turn: a sign-in, for example.
		x.Scope = abi.ScopeSession
	}
	switch {
	case mode == EnumCreateElicitationRequestModeURL:
		q.kind, x.Type = askURL, abi.InteractionURL
		if q.Tool == "" {
			q.Tool = q.url
		}
	case mode == EnumCreateElicitationRequestModeForm || schema != nil:
		if wait && r.holdForm(m, q.Session, toolCall, out) {
			return
		}
		properties, whole := readProperties(schema)
		f := &Form{Message: x.Text, Properties: properties, Planning: r.plans()}
		if t := r.find(toolCall, r.foreign(q.Session)); t != nil {
			f.Tool = t.call()
		}
		if whole && scoped && r.cameFromUs(&q) && r.knownForm(&q, &x, f, m, out) {
			return
		}
		q.kind, x.Type = askForm, abi.InteractionForm
		x.Schema = append(abi.Raw(nil), schema...)
	default:
		// A kind we cannot fill in: the person sees it and can only refuse.
		q.kind, x.Type = askForm, abi.InteractionForm
		x.Schema = abi.Raw(`{}`)
	}
	r.ask(&q, &x, m, out)
}

// plans reports whether a turn of ours is in the planning mode, be it that the agent
// entered it by itself.
func (r *Reducer) plans() bool {
	return r.cur != nil && r.d.Modes.Planning != "" && r.nativeMode() == r.d.Modes.Planning
}

// knownForm opens a form that the dialect knows to be something else, and reports
// whether it did.
func (r *Reducer) knownForm(q *Request, x *abi.Interaction, f *Form, m *abi.Message, out *guest.Effects) bool {
	if r.rejected != "" && r.d.FeedbackForm != nil && r.d.FeedbackForm(f) {
		q.kind, q.property = askFeedback, f.Properties[0].Name
		x.Type, x.Continues = abi.InteractionForm, r.rejected
		x.Schema = append(abi.Raw(nil), Member(m.Params, FieldRequestedSchema)...)
		r.rejected = ""
		r.ask(q, x, m, out)
		return true
	}
	r.rejected = ""
	if r.d.Chain != nil && r.chained(q, x, f, m, out) {
		return true
	}
	if r.d.FormReview != nil && f.Planning && len(f.Properties) == 1 {
		if decisions, ok := r.d.FormReview(f); ok {
			q.kind, q.decisions, q.property = askFormReview, decisions, f.Properties[0].Name
			x.Title, x.Decisions = f.Message, decisions
			r.openReview(q, x, "", false, m, out)
			return true
		}
	}
	if r.d.Questionnaire != nil {
		if n, ok := r.d.Questionnaire(f); ok {
			q.kind, q.Fields, q.own = askQuestions, n.Fields, n.Own
			x.Type, x.Fields, x.Text = abi.InteractionQuestion, n.Fields, n.Text
			r.ask(q, x, m, out)
			return true
		}
	}
	return false
}

// elicitationCompleted handles the end of a URL consent that was told out of band. The
// agent still waits for its reply, which is the host's to give: an accept, as if the
// person had come from there.
func (r *Reducer) elicitationCompleted(params []byte, out *guest.Effects) {
	id := Text(params, FieldElicitationID)
	for i := range r.requests {
		if q := &r.requests[i]; q.kind == askURL && q.url == id && id != "" {
			q.url = ""
			out.InteractionClosed(&abi.InteractionClosed{Key: q.Key, Disposition: abi.DispositionAnswered, Evidence: MethodElicitationComplete})
			return
		}
	}
}

// elicitationResult builds the answer to elicitation/create. The contents of an
// accepted form are what the person gave, untouched (rule 15).
func elicitationResult(action abi.Action, content []byte) []byte {
	native := EnumCreateElicitationResponseActionCancel
	switch action {
	case abi.ActionAccept:
		native = EnumCreateElicitationResponseActionAccept
	case abi.ActionDecline:
		native = EnumCreateElicitationResponseActionDecline
	}
	b := jsonwire.AppendField([]byte{'{'}, FieldAction, native)
	if action == abi.ActionAccept && len(content) > 0 {
		b = append(jsonwire.AppendKey(b, FieldContent), content...)
	}
	return append(b, '}')
}

// questionsResult fills a form from the answers to its questions. A choice and a text
// fill members of their own, so that neither stands for the other; a question that was
// skipped or left out fills none.
func questionsResult(q *Request, reply *abi.Reply) []byte {
	b := []byte{'{'}
	answered := false
	answerOf := AnswersByField(reply.Fields)
	for i := range q.Fields {
		f := &q.Fields[i]
		a := answerOf(f.ID)
		if a == nil || a.State != abi.StateAnswered {
			continue
		}
		answered = true
		switch {
		case f.MultiSelect && (len(a.Selected) > 0 || !a.HasOther):
			b = append(jsonwire.AppendKey(b, f.ID), '[')
			for _, n := range a.Selected {
				if n >= 0 && n < int64(len(f.Options)) {
					b = jsonwire.AppendString(jsonwire.AppendComma(b), f.Options[n].Value)
				}
			}
			b = append(b, ']')
		case !f.MultiSelect && len(a.Selected) > 0 && a.Selected[0] >= 0 && a.Selected[0] < int64(len(f.Options)):
			b = jsonwire.AppendField(b, f.ID, f.Options[a.Selected[0]].Value)
		}
		if a.HasOther {
			b = jsonwire.AppendField(b, f.ID+q.own, a.Other)
		}
	}
	if !answered {
		return elicitationResult(abi.ActionDecline, nil)
	}
	return elicitationResult(abi.ActionAccept, append(b, '}'))
}

// feedbackResult answers the form that asks for the words of a rejection with those
// given with it; without any the form is declined.
func feedbackResult(q *Request, reply *abi.Reply) []byte {
	if reply.Action != "" {
		// It was shown after all, and a person filled it in.
		return elicitationResult(reply.Action, reply.Content)
	}
	if reply.Feedback == "" {
		return elicitationResult(abi.ActionDecline, nil)
	}
	b := jsonwire.AppendString(jsonwire.AppendKey([]byte{'{'}, q.property), reply.Feedback)
	return elicitationResult(abi.ActionAccept, append(b, '}'))
}

// AnswersByField finds the answer to a field, or nil.
func AnswersByField(answers []abi.FieldAnswer) func(field string) *abi.FieldAnswer {
	x := lists.NewIndex(len(answers), func(i int) string { return answers[i].Field })
	return func(field string) *abi.FieldAnswer {
		if i := x.First(field); i >= 0 {
			return &answers[i]
		}
		return nil
	}
}

// maxProperties bounds the members of a form that is taken for anything else than a
// form; a longer one passes through as it is.
const maxProperties = 500

// readProperties reads the members of a form's schema in the order they come, and
// reports whether it read them all.
func readProperties(schema []byte) (list []Property, whole bool) {
	var d jsonwire.Decoder
	var b lists.Bound
	whole = true
	d.Reset(Member(schema, FieldProperties))
	EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		if len(list) == maxProperties {
			whole = false
			d.Skip()
			return
		}
		p := Property{Name: string(k)}
		EachKey(d, func(k []byte, d *jsonwire.Decoder) { p.member(k, d, &b) })
		list = append(list, p)
	})
	return list, whole && b.Left == 0
}

func (p *Property) member(k []byte, d *jsonwire.Decoder, b *lists.Bound) {
	switch string(k) {
	case FieldType:
		p.Type = d.String()
	case FieldTitle:
		p.Title = d.String()
	case FieldDescription:
		p.Description = d.String()
	case FieldOneOf, FieldAnyOf:
		b.Each(d, p.option)
	case FieldEnum:
		b.Each(d, func(d *jsonwire.Decoder) {
			if d.Kind() != jsonwire.String {
				d.Skip()
				return
			}
			v := d.String()
			p.Options, p.Metas = append(p.Options, abi.Option{Value: v, Label: v}), append(p.Metas, nil)
		})
	case FieldItems:
		p.Multi = true
		EachKey(d, func(k []byte, d *jsonwire.Decoder) {
			switch string(k) {
			case FieldOneOf, FieldAnyOf, FieldEnum:
				p.member(k, d, b)
			default:
				d.Skip()
			}
		})
	default:
		d.Skip()
	}
}

func (p *Property) option(d *jsonwire.Decoder) {
	var o abi.Option
	var meta []byte
	EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldConst:
			o.Value = d.String()
		case FieldTitle:
			o.Label = d.String()
		case FieldDescription:
			o.Description = d.String()
		case FieldMeta:
			meta = d.Raw()
		default:
			d.Skip()
		}
	})
	if o.Label == "" {
		o.Label = o.Value
	}
	p.Options, p.Metas = append(p.Options, o), append(p.Metas, meta)
}
