package grok

import (
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/acp"
)

// Outcomes of Grok's own requests (seen, except where noted).
const (
	outcomeAccepted  = "accepted"
	outcomeCancelled = "cancelled"
	outcomeSkip      = "skip_interview"
	outcomeApproved  = "approved"
)

// otherAnswer is the answer that stands for a text of the person's own, which goes
// into the notes.
const otherAnswer = "Other"

// request opens the interactions for Grok's own requests.
func request(r *acp.Reducer, m *abi.Message, out *guest.Effects) bool {
	method, params := unwrap(m.Method, m.Params)
	switch method {
	case acp.MethodXAiAskUserQuestion:
		askQuestions(r, params, m, out)
	case acp.MethodXAiExitPlanMode:
		askReview(r, params, m, out)
	default:
		return false
	}
	return true
}

// askQuestions opens _x.ai/ask_user_question. The note remembers that it came in plan
// mode, where a skipped interview has an outcome of its own.
func askQuestions(r *acp.Reducer, params []byte, m *abi.Message, out *guest.Effects) {
	q := acp.Request{Session: acp.Text(params, acp.FieldSessionID), Tool: acp.Text(params, acp.FieldToolCallID), Note: acp.Text(params, acp.FieldMode)}
	x := abi.Interaction{Type: abi.InteractionQuestion}
	var d jsonwire.Decoder
	d.Reset(acp.Member(params, acp.FieldQuestions))
	for ok := d.BeginArray(); ok && d.NextElem(); {
		f := readQuestion(&d)
		f.ID = string(jsonwire.AppendInt(nil, int64(len(x.Fields))))
		x.Fields = append(x.Fields, f)
	}
	if repeats(x.Fields) {
		x.Text = "Grok asks the same question twice and takes one answer for both: what is chosen for either is sent together."
	}
	q.Fields = x.Fields
	r.Ask(&q, &x, m, out)
}

func readQuestion(d *jsonwire.Decoder) (f abi.Field) {
	f.Other = true
	acp.EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case acp.FieldQuestion:
			f.Text = d.String()
		case acp.FieldMultiSelect:
			f.MultiSelect = d.Bool()
		case acp.FieldOptions:
			for ok := d.BeginArray(); ok && d.NextElem(); {
				var o abi.Option
				acp.EachKey(d, func(k []byte, d *jsonwire.Decoder) {
					switch string(k) {
					case acp.FieldLabel:
						o.Label = d.String()
					case acp.FieldDescription:
						o.Description = d.String()
					case "preview":
						o.Preview = d.String()
					default:
						d.Skip()
					}
				})
				o.Value = o.Label
				f.Options = append(f.Options, o)
			}
		default:
			d.Skip()
		}
	})
	f.OtherBeside = f.MultiSelect
	return f
}

// repeats reports whether two questions have the same text: the answers are keyed by
// it, so the wire cannot keep them apart (A5).
func repeats(fields []abi.Field) bool {
	for i := range fields {
		for j := range fields[:i] {
			if fields[i].Text == fields[j].Text {
				return true
			}
		}
	}
	return false
}

// askReview opens _x.ai/exit_plan_mode. Its approval leaves the permission alone.
func askReview(r *acp.Reducer, params []byte, m *abi.Message, out *guest.Effects) {
	q := acp.Request{Session: acp.Text(params, acp.FieldSessionID), Tool: acp.Text(params, acp.FieldToolCallID)}
	x := abi.Interaction{Title: "Plan review", Decisions: []abi.Decision{
		{ID: outcomeApproved, Label: "Implement the plan", Kind: abi.AllowOnce, Mode: modeDefault},
		{ID: outcomeCancelled, Label: "Keep planning", Kind: abi.RejectOnce, Mode: modePlan, Feedback: true},
	}}
	r.AskReview(&q, &x, acp.Text(params, acp.FieldPlanContent), true, m, out)
}

// reply builds the result of Grok's own requests. Taking back is always "cancelled":
// "abandoned" would leave plan mode, and an error end the turn (seen).
func reply(q *acp.Request, a *abi.Reply) []byte {
	if a == nil {
		return outcome(outcomeCancelled)
	}
	if len(q.Fields) > 0 || a.Decision == "" {
		return answers(q, a)
	}
	if a.Decision == outcomeApproved {
		return outcome(outcomeApproved)
	}
	b := jsonwire.AppendField([]byte{'{'}, acp.FieldOutcome, outcomeCancelled)
	if a.Feedback != "" {
		b = jsonwire.AppendField(b, acp.FieldFeedback, a.Feedback)
	}
	return append(b, '}')
}

func outcome(o string) []byte {
	return append(jsonwire.AppendField([]byte{'{'}, acp.FieldOutcome, o), '}')
}

// said is the answer to all questions of one text.
type said struct {
	text   string
	labels []string
	notes  []string
}

// answers keys the answers by the text of their question. A question that nobody
// answered is left out; in plan mode, when a person skipped one, the interview is
// skipped with what was answered.
func answers(q *acp.Request, a *abi.Reply) []byte {
	var list []said
	skipped := false
	for i := range q.Fields {
		f := &q.Fields[i]
		x := acp.AnswerOf(f.ID, a.Fields)
		if x == nil {
			continue
		}
		if x.State != abi.StateAnswered {
			skipped = true
			continue
		}
		at := -1
		for j := range list {
			if list[j].text == f.Text {
				at = j
			}
		}
		if at < 0 {
			list = append(list, said{text: f.Text})
			at = len(list) - 1
		}
		for _, n := range x.Selected {
			if n >= 0 && n < int64(len(f.Options)) {
				list[at].labels = append(list[at].labels, f.Options[n].Label)
			}
		}
		if x.HasOther {
			list[at].labels = append(list[at].labels, otherAnswer)
			list[at].notes = append(list[at].notes, x.Other)
		}
	}
	if q.Note == modePlan && skipped {
		return skip(list)
	}
	if len(list) == 0 {
		return outcome(outcomeCancelled)
	}
	b := jsonwire.AppendField([]byte{'{'}, acp.FieldOutcome, outcomeAccepted)
	b = append(jsonwire.AppendKey(b, acp.FieldAnswers), '{')
	noted := false
	for _, s := range list {
		// A question's text may need escaping.
		b = append(jsonwire.AppendString(jsonwire.AppendComma(b), s.text), ':', '[')
		for _, l := range s.labels {
			b = jsonwire.AppendString(jsonwire.AppendComma(b), l)
		}
		b = append(b, ']')
		noted = noted || len(s.notes) > 0
	}
	b = append(b, '}')
	if noted {
		b = append(jsonwire.AppendKey(b, acp.FieldAnnotations), '{')
		for _, s := range list {
			if len(s.notes) == 0 {
				continue
			}
			b = append(jsonwire.AppendString(jsonwire.AppendComma(b), s.text), ':', '{')
			b = append(jsonwire.AppendField(b, acp.FieldNotes, strings.Join(s.notes, "\n")), '}')
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// skip ends the interview with what was answered; a partial answer is one string, a
// list is refused (seen).
func skip(list []said) []byte {
	b := jsonwire.AppendField([]byte{'{'}, acp.FieldOutcome, outcomeSkip)
	b = append(jsonwire.AppendKey(b, acp.FieldPartialAnswers), '{')
	for _, s := range list {
		words := make([]string, 0, len(s.labels)+len(s.notes))
		for _, l := range s.labels {
			if l != otherAnswer || len(s.notes) == 0 {
				words = append(words, l)
			}
		}
		words = append(words, s.notes...)
		b = append(jsonwire.AppendString(jsonwire.AppendComma(b), s.text), ':')
		b = jsonwire.AppendString(b, strings.Join(words, ", "))
	}
	return append(b, '}', '}')
}
