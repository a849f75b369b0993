package codex

import (
	"strconv"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// askQuestion opens item/tool/requestUserInput.
func (r *Reducer) askQuestion(m *abi.Message, out *guest.Effects) {
	q := request{method: m.Method}
	x := abi.Interaction{Type: abi.InteractionQuestion, Blocking: true}
	var b lists.Bound
	r.dec.Reset(m.Params)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThreadID:
			q.thread = d.String()
		case FieldTurnID:
			q.turn = d.String()
		case FieldItemID:
			x.NativeItem = d.String()
		case FieldIsBlocking:
			x.Blocking = d.Bool()
		case FieldQuestions:
			b.Each(d, func(d *jsonwire.Decoder) { x.Fields = append(x.Fields, readQuestion(d, &b)) })
		default:
			// autoResolutionMs: Codex may close the question by itself, which
			// serverRequest/resolved tells.
			d.Skip()
		}
	})
	x.Text = b.Told("")
	q.fields = x.Fields
	r.ask(&q, &x, m, out)
}

func readQuestion(d *jsonwire.Decoder, b *lists.Bound) (f abi.Field) {
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldID:
			f.ID = d.String()
		case FieldHeader:
			f.Header = d.String()
		case FieldQuestion:
			f.Text = d.String()
		case FieldIsOther:
			f.Other = d.Bool()
		case FieldIsSecret:
			f.Secret = d.Bool()
		case FieldOptions:
			b.Each(d, func(d *jsonwire.Decoder) { f.Options = append(f.Options, readOption(d)) })
		default:
			d.Skip()
		}
	})
	// Without options a text is the only answer there is.
	f.Other = f.Other || len(f.Options) == 0
	return f
}

func readOption(d *jsonwire.Decoder) (o abi.Option) {
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldLabel:
			o.Label = d.String()
		case FieldDescription:
			o.Description = d.String()
		default:
			d.Skip()
		}
	})
	o.Value = o.Label
	return o
}

// answersResult builds a ToolRequestUserInputResponse. A question that was
// skipped or not answered is left out; one that was answered with nothing has an
// empty list (C5).
func answersResult(fields []abi.Field, answers []abi.FieldAnswer) []byte {
	b := append(jsonwire.AppendKey([]byte{'{'}, FieldAnswers), '{')
	answerOf := answersByField(answers)
	for i := range fields {
		a := answerOf(fields[i].ID)
		if a == nil || a.State != abi.StateAnswered {
			continue
		}
		// A question id is the model's and may need escaping.
		b = append(jsonwire.AppendString(jsonwire.AppendComma(b), fields[i].ID), ':', '{')
		b = append(jsonwire.AppendKey(b, FieldAnswers), '[')
		for _, s := range chosen(&fields[i], a) {
			b = jsonwire.AppendString(jsonwire.AppendComma(b), s)
		}
		b = append(b, ']', '}')
	}
	return append(b, '}', '}')
}

// answersByField finds the answer to a field, or nil.
func answersByField(answers []abi.FieldAnswer) func(field string) *abi.FieldAnswer {
	x := lists.NewIndex(len(answers), func(i int) string { return answers[i].Field })
	return func(field string) *abi.FieldAnswer {
		if i := x.First(field); i >= 0 {
			return &answers[i]
		}
		return nil
	}
}

// chosen lists the labels of the chosen options, by index, then the person's own
// text if that is meant.
func chosen(f *abi.Field, a *abi.FieldAnswer) (s []string) {
	for _, n := range a.Selected {
		if n >= 0 && n < int64(len(f.Options)) {
			s = append(s, f.Options[n].Label)
		}
	}
	if a.HasOther {
		s = append(s, a.Other)
	}
	return s
}

// answered tells an answer from one that skips every question.
func answered(answers []abi.FieldAnswer) abi.Disposition {
	for i := range answers {
		if answers[i].State == abi.StateAnswered {
			return abi.DispositionAnswered
		}
	}
	return abi.DispositionSkipped
}

// askAsync opens the questions of an async message once: item/started and
// item/completed both carry them (seen).
func (r *Reducer) askAsync(it *item, native, turn string, out *guest.Effects) {
	key := r.durableKey(native, it.id)
	for _, k := range r.asked {
		if k == key {
			return
		}
	}
	x := abi.Interaction{
		Key:           key,
		Type:          abi.InteractionQuestion,
		Route:         abi.RouteFollowUp,
		Turn:          turn,
		NativeSession: r.session,
		NativeTurn:    native,
		NativeItem:    it.id,
	}
	var b lists.Bound
	r.dec.Reset(it.questions)
	b.Each(&r.dec, func(d *jsonwire.Decoder) {
		f := readAsyncQuestion(d, &b)
		f.ID = strconv.Itoa(len(x.Fields))
		x.Fields = append(x.Fields, f)
	})
	x.Text = b.Told("")
	if len(x.Fields) == 0 {
		return
	}
	r.asked = keepLast(append(r.asked, key), maxAsked)
	out.InteractionOpened(&x)
}

// readAsyncQuestion reads {title, options:[string]|null}. The answer is a message,
// so a text of one's own is always possible.
func readAsyncQuestion(d *jsonwire.Decoder, b *lists.Bound) (f abi.Field) {
	f.Other = true
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldTitle:
			f.Text = d.String()
		case FieldOptions:
			b.Each(d, func(d *jsonwire.Decoder) {
				s := d.String()
				f.Options = append(f.Options, abi.Option{Value: s, Label: s})
			})
		default:
			d.Skip()
		}
	})
	return f
}

// answerText writes the message that answers a follow-up question: each question
// with what was chosen, as Codex's own interface words it (seen).
func answerText(asked *abi.Interaction, reply *abi.Reply) string {
	if asked == nil || reply == nil {
		return ""
	}
	var parts []string
	answerOf := answersByField(reply.Fields)
	for i := range asked.Fields {
		f := &asked.Fields[i]
		a := answerOf(f.ID)
		if a == nil {
			continue
		}
		text := "(skipped)"
		if a.State == abi.StateAnswered {
			if text = strings.Join(chosen(f, a), ", "); text == "" {
				text = "(none)"
			}
		}
		parts = append(parts, f.Text+"\n"+text)
	}
	return strings.Join(parts, partSeparator)
}
