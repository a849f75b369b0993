package acp

import (
	"strconv"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

// ChainQuestion is a question that an agent asks in a form of its own. Message is what
// that form says; a text of the person's own may follow in another form, whose message
// begins with the same words.
type ChainQuestion struct {
	Field   abi.Field
	Message string
	Confirm bool
}

// chain is a group of questions that are asked one form after the other. The person
// answers the group with the first form; the others are the rest of that answer.
type chain struct {
	key, tool string
	questions []ChainQuestion
	// next is the first question whose form has not come.
	next int64
	// own is the question, plus one, whose own text is asked for next.
	own int64
}

func (c *chain) walk(w *savedstate.Walker) {
	w.Str("key", &c.key)
	w.Str("tool", &c.tool)
	savedstate.List(w, "questions", &c.questions, func(w *savedstate.Walker, q *ChainQuestion) {
		w.Value("field", &q.Field)
		w.Str("message", &q.Message)
		w.Bool("confirm", &q.Confirm)
	})
	w.Int("next", &c.next)
	w.Int("own", &c.own)
}

// chained opens a form that is one of a group of questions: the first one shows them
// all, each later one continues it.
func (r *Reducer) chained(q *Request, x *abi.Interaction, f *Form, m *abi.Message, out *guest.Effects) bool {
	if len(f.Properties) != 1 {
		return false
	}
	p := &f.Properties[0]
	if c := r.chain; c != nil {
		if c.own > 0 && len(p.Options) == 0 && begins(f.Message, c.questions[c.own-1].Message) {
			q.kind, q.at, q.property = askChainOwn, c.own-1, p.Name
			c.own = 0
			r.continueChain(q, x, m, out)
			return true
		}
		c.own = 0
		for i := c.next; i < int64(len(c.questions)); i++ {
			if c.questions[i].asks(f) {
				c.next = i + 1
				q.kind = askChain
				q.fill(i, p)
				r.continueChain(q, x, m, out)
				return true
			}
		}
		return false
	}
	for i := len(r.tools) - 1; i >= 0; i-- {
		t := &r.tools[i]
		if finished(t.status) || t.turn != r.current() {
			continue
		}
		questions := r.d.Chain(t.call())
		if len(questions) == 0 || !questions[0].asks(f) {
			continue
		}
		q.kind, q.Tool = askChain, t.id
		q.fill(0, p)
		x.Type, x.Text = abi.InteractionQuestion, ""
		for i := range questions {
			x.Fields = append(x.Fields, questions[i].Field)
		}
		r.ask(q, x, m, out)
		r.chain = &chain{key: q.Key, tool: t.id, questions: questions, next: 1}
		return true
	}
	return false
}

func (r *Reducer) continueChain(q *Request, x *abi.Interaction, m *abi.Message, out *guest.Effects) {
	c := r.chain
	q.Tool = c.tool
	x.Type, x.Continues, x.Text = abi.InteractionQuestion, c.key, ""
	// Shown only if the host has no answer to continue.
	x.Fields = []abi.Field{c.questions[q.at].Field}
	r.ask(q, x, m, out)
}

// asks reports whether a form asks this question.
func (c *ChainQuestion) asks(f *Form) bool { return begins(f.Message, c.Message) }

func begins(s, prefix string) bool {
	_, ok := cut(s, prefix)
	return ok && prefix != ""
}

// fill notes how to answer question i with the one property of its form.
func (q *Request) fill(i int64, p *Property) {
	q.at, q.property, q.array = i, p.Name, p.Multi
	for _, o := range p.Options {
		q.consts = append(q.consts, o.Value)
	}
}

// chainResult answers one form of a chain from the answers to all of its questions.
func (r *Reducer) chainResult(q *Request, reply *abi.Reply) []byte {
	c := r.chain
	if c == nil || q.at >= int64(len(c.questions)) {
		return elicitationResult(abi.ActionCancel, nil)
	}
	question := &c.questions[q.at]
	f := &question.Field
	a := AnswersByField(reply.Fields)(f.ID)
	if a == nil || a.State != abi.StateAnswered {
		// This agent takes a declined form as a skipped question.
		return elicitationResult(abi.ActionDecline, nil)
	}
	b := jsonwire.AppendKey([]byte{'{'}, q.property)
	switch {
	case q.kind == askChainOwn || len(q.consts) == 0 && len(f.Options) == 0:
		b = jsonwire.AppendString(b, a.Other)
	case question.Confirm:
		b = jsonwire.AppendBool(b, len(a.Selected) > 0 && a.Selected[0] == 0)
	case q.array:
		b = append(b, '[')
		for _, n := range a.Selected {
			if n >= 0 && n < int64(len(f.Options)) && n < int64(len(q.consts)) {
				b = jsonwire.AppendString(jsonwire.AppendComma(b), q.consts[n])
			}
		}
		if a.HasOther && len(q.consts) > len(f.Options) {
			b = jsonwire.AppendString(jsonwire.AppendComma(b), q.consts[len(f.Options)])
			c.own = q.at + 1
		}
		b = append(b, ']')
	case len(q.consts) == 0:
		// Several choices asked for as one text: their numbers, as the form lists them.
		b = jsonwire.AppendString(b, numbers(f, a))
	case a.HasOther && len(q.consts) > len(f.Options):
		// The last choice is the one that asks for a text of one's own.
		b = jsonwire.AppendString(b, q.consts[len(f.Options)])
		c.own = q.at + 1
	case len(a.Selected) > 0 && a.Selected[0] >= 0 && a.Selected[0] < int64(len(q.consts)):
		b = jsonwire.AppendString(b, q.consts[a.Selected[0]])
	default:
		return elicitationResult(abi.ActionDecline, nil)
	}
	return elicitationResult(abi.ActionAccept, append(b, '}'))
}

// numbers lists choices by their number, a text of one's own after the number of the
// choice that stands for it. The agent splits at commas and line ends, so those become
// semicolons and spaces in the text.
func numbers(f *abi.Field, a *abi.FieldAnswer) string {
	var b []byte
	for _, n := range a.Selected {
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, n+1, 10)
	}
	if a.HasOther {
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, int64(len(f.Options))+1, 10)
		b = append(b, ". "...)
		for i := 0; i < len(a.Other); i++ {
			switch c := a.Other[i]; c {
			case ',':
				b = append(b, ';')
			case '\n', '\r':
				b = append(b, ' ')
			default:
				b = append(b, c)
			}
		}
	}
	return string(b)
}
