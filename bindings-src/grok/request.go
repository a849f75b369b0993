package grok

import (
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/acp"
	"github.com/aoagents/ao-host/bindings-src/lists"
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
	var b lists.Bound
	d.Reset(acp.Member(params, acp.FieldQuestions))
	b.Each(&d, func(d *jsonwire.Decoder) {
		f := readQuestion(d, &b)
		f.ID = string(jsonwire.AppendInt(nil, int64(len(x.Fields))))
		x.Fields = append(x.Fields, f)
	})
	// The answers are keyed by the text of their question, so the wire cannot keep two
	// with the same text apart (A5).
	if byText(x.Fields).Repeats() {
		x.Text = "Grok asks the same question twice and takes one answer for both: what is chosen for either is sent together."
	}
	x.Text += b.Told(x.Text)
	q.Fields = x.Fields
	r.Ask(&q, &x, m, out)
}

func readQuestion(d *jsonwire.Decoder, b *lists.Bound) (f abi.Field) {
	f.Other = true
	acp.EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case acp.FieldQuestion:
			f.Text = d.String()
		case acp.FieldMultiSelect:
			f.MultiSelect = d.Bool()
		case acp.FieldOptions:
			b.Each(d, func(d *jsonwire.Decoder) {
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
			})
		default:
			d.Skip()
		}
	})
	f.OtherBeside = f.MultiSelect
	return f
}

func byText(fields []abi.Field) lists.Index {
	return lists.NewIndex(len(fields), func(i int) string { return fields[i].Text })
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
	answerOf, texts := acp.AnswersByField(a.Fields), byText(q.Fields)
	// at is the place in the list, plus one, of the first question with a text.
	at := make([]int, len(q.Fields))
	for i := range q.Fields {
		f := &q.Fields[i]
		x := answerOf(f.ID)
		if x == nil {
			continue
		}
		if x.State != abi.StateAnswered {
			skipped = true
			continue
		}
		first := &at[texts.First(f.Text)]
		if *first == 0 {
			list = append(list, said{text: f.Text})
			*first = len(list)
		}
		s := &list[*first-1]
		for _, n := range x.Selected {
			if n >= 0 && n < int64(len(f.Options)) {
				s.labels = append(s.labels, f.Options[n].Label)
			}
		}
		if x.HasOther {
			s.labels = append(s.labels, otherAnswer)
			s.notes = append(s.notes, x.Other)
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
