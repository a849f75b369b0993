package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// askPanel asks what a card asks, field by field for a question.
type askPanel struct {
	*choices
	card host.Interaction
	// take handles the option that was taken, text what was typed.
	take func(m *app, i int) tea.Cmd
	text func(m *app, s string) tea.Cmd

	// field is the question that is asked, answers those before it.
	field   int
	answers []abi.FieldAnswer
	current abi.FieldAnswer
	// extra are the places of the options that are not the provider's, -1 where
	// there is none.
	other, none, skip int
}

func newAskPanel(card host.Interaction) *askPanel {
	p := &askPanel{card: card}
	switch card.Ask.Type {
	case abi.InteractionQuestion:
		if len(card.Ask.Fields) > 0 {
			p.ask(0)
			return p
		}
		// Nothing to fill in: it can only be taken note of.
		p.choices = newChoices(p.head, []option{{label: "answer", description: "there is nothing to fill in"}})
		p.take = func(m *app, _ int) tea.Cmd { return m.resolve(p.card, host.Answer{}) }
	case abi.InteractionForm:
		p.form()
	case abi.InteractionURL:
		actions, entries := view.Address(card.Ask.URL)
		p.choices = newChoices(p.head, optionsOf(entries))
		for i := range p.options {
			p.options[i].read = actions[i] == abi.ActionAccept
		}
		p.choices.ask = "It is not opened by this program."
		p.take = func(m *app, i int) tea.Cmd { return m.resolve(p.card, host.Answer{Action: actions[i]}) }
	default:
		p.decide()
	}
	return p
}

func optionsOf(entries []view.Entry) []option {
	var out []option
	for _, e := range entries {
		out = append(out, option{label: e.Label, description: e.Description})
	}
	return out
}

func (p *askPanel) title() string { return view.CardWord(p.card.Ask.Type) }

func (p *askPanel) help() string {
	switch {
	case p.editor != nil && p.editor.secret:
		return "Enter give it (it is not shown) · Esc back"
	case p.editor != nil:
		return "Enter done · Alt+Enter new line · Esc back"
	case slices.ContainsFunc(p.options, func(o option) bool { return o.toggles }):
		return "↑↓ or number · Space tick · Enter done · " + p.back() + "Esc later"
	case p.field > 0:
		return "↑↓ or number · Enter take · " + p.back() + "Esc later"
	}
	return "↑↓ or number · Enter take · PgDn read · Esc later"
}

// back is the key that goes back, where there is an earlier question.
func (p *askPanel) back() string {
	if p.field == 0 {
		return ""
	}
	return "← back · "
}

// head is everything a person needs to decide on: every supplied member, and the
// whole command (C6, C8).
func (p *askPanel) head(width int) []string {
	a := p.card.Ask
	var out []string
	add := func(text string, st textStyle) {
		if strings.TrimSpace(text) != "" {
			for _, l := range wrapPlain(strings.TrimRight(text, "\n"), width) {
				out = append(out, st.put(l))
			}
		}
	}
	whole := func(label, text string) {
		if strings.TrimSpace(text) != "" {
			add(label, styleFaint)
			out = append(out, exact(text, width)...)
		}
	}
	add(display.Line(a.Title), styleHead)
	add(display.Text(a.Text), "")
	whole("This command would run:", a.Command)
	if a.Cwd != "" {
		add("in "+display.Exact(a.Cwd), "")
	}
	whole("The address is:", a.URL)
	if len(a.Detail) > 0 {
		whole("The request in the harness's own words:", indented(a.Detail))
	}
	if len(a.Schema) > 0 {
		whole("The form, as a JSON Schema:", indented(a.Schema))
	}
	if a.Type == abi.InteractionQuestion && p.field < len(a.Fields) {
		f := a.Fields[p.field]
		head := ""
		if len(a.Fields) > 1 {
			head = fmt.Sprintf("%d of %d. ", p.field+1, len(a.Fields))
		}
		if f.Header != "" {
			head += display.Line(f.Header) + ": "
		}
		add(head+display.Text(f.Text), styleHead)
	}
	return out
}

// decide offers what a permission request offers, nothing else (C7).
func (p *askPanel) decide() {
	offered := p.card.Ask.Decisions
	options := optionsOf(view.Decisions(offered))
	for i := range options {
		options[i].read = offered[i].Kind == abi.AllowOnce || offered[i].Kind == abi.AllowAlways
	}
	p.choices = newChoices(p.head, options)
	chosen := 0
	p.take = func(m *app, i int) tea.Cmd {
		chosen = i
		if offered[i].Feedback {
			p.typed("A text that goes with it (Enter alone: none):", false)
			return nil
		}
		return m.resolve(p.card, host.Answer{Decision: offered[i].ID})
	}
	p.text = func(m *app, s string) tea.Cmd {
		return m.resolve(p.card, host.Answer{Decision: offered[chosen].ID, Feedback: s})
	}
}

// form shows the schema as it came; what is typed is the content (rule 15).
func (p *askPanel) form() {
	actions, entries := view.Form()
	p.choices = newChoices(p.head, optionsOf(entries))
	p.take = func(m *app, i int) tea.Cmd {
		if actions[i] == abi.ActionAccept {
			p.typed("The content, as a JSON object:", false)
			return nil
		}
		return m.resolve(p.card, host.Answer{Action: actions[i]})
	}
	p.text = func(m *app, s string) tea.Cmd {
		if err := view.CheckForm(s); err != nil {
			p.problem = err.Error()
			return nil
		}
		return m.resolve(p.card, host.Answer{Action: abi.ActionAccept, Content: abi.Raw(s)})
	}
}

// ask begins a field of a question.
func (p *askPanel) ask(n int) {
	p.field, p.current = n, abi.FieldAnswer{}
	f := p.card.Ask.Fields[n]
	var options []option
	for _, o := range f.Options {
		options = append(options, option{label: o.Label, description: o.Description, preview: o.Preview, toggles: f.MultiSelect})
	}
	p.other, p.none, p.skip = -1, -1, -1
	switch {
	case len(f.Options) == 0:
		p.other = 0
		options = append(options, option{label: "write an answer"})
		if f.Secret {
			options[0].description = "it is not shown"
		}
	case view.OtherChoice(f):
		p.other = len(options)
		options = append(options, option{label: view.OtherWords, toggles: f.MultiSelect})
	}
	if f.MultiSelect && len(f.Options) > 0 {
		p.none = len(options)
		options = append(options, option{label: "none of these"})
	}
	if !f.Required {
		p.skip = len(options)
		options = append(options, option{label: "skip this question"})
	}
	p.choices = newChoices(p.head, options)
	if len(f.Options) == 0 {
		// Enter only opens the line to type on.
		p.cursor = 0
	}
	p.take, p.text = p.takeOption, p.takeText
}

func (p *askPanel) takeOption(m *app, i int) tea.Cmd {
	f := p.card.Ask.Fields[p.field]
	p.current = abi.FieldAnswer{Field: f.ID, State: abi.StateAnswered}
	switch {
	case i == p.skip:
		p.current.State = abi.StateSkipped
		return p.next(m)
	case i == p.none:
		return p.next(m)
	case f.MultiSelect && len(f.Options) > 0:
		return p.takeTicked(m, f)
	case i == p.other:
		p.typed(ownWords(f), f.Secret)
		return nil
	}
	p.current.Selected = []int64{int64(i)}
	return p.beside(m, f)
}

func (p *askPanel) takeTicked(m *app, f abi.Field) tea.Cmd {
	for i := range f.Options {
		if p.ticked[i] {
			p.current.Selected = append(p.current.Selected, int64(i))
		}
	}
	other := p.other >= 0 && p.ticked[p.other]
	switch {
	case len(p.current.Selected) == 0 && !other:
		p.problem = fmt.Sprintf("Tick with Space first, or take %q.", "none of these")
		return nil
	case other:
		p.typed(ownWords(f), f.Secret)
		return nil
	}
	return p.beside(m, f)
}

// beside asks for a text beside what was chosen, where the question takes one.
func (p *askPanel) beside(m *app, f abi.Field) tea.Cmd {
	if !f.OtherBeside {
		return p.next(m)
	}
	p.typed("A text beside it (Enter alone: none):", f.Secret)
	p.text = func(m *app, s string) tea.Cmd {
		if s != "" {
			p.current.HasOther, p.current.Other = true, s
		}
		return p.next(m)
	}
	return nil
}

func (p *askPanel) takeText(m *app, s string) tea.Cmd {
	if strings.TrimSpace(s) == "" {
		p.problem = "Type a text, or Esc to go back."
		return nil
	}
	p.current.HasOther, p.current.Other = true, s
	return p.next(m)
}

// next takes the current answer and asks the next field, or hands all in.
func (p *askPanel) next(m *app) tea.Cmd {
	// Repeated, after the connection failed, it replaces what it gave before.
	p.answers = append(p.answers[:p.field], p.current)
	if p.field+1 < len(p.card.Ask.Fields) {
		p.ask(p.field + 1)
		return nil
	}
	return m.resolve(p.card, host.Answer{Fields: p.answers})
}

func (p *askPanel) key(m *app, k tea.KeyPressMsg) tea.Cmd {
	if p.editor != nil {
		if s, done := p.edited(k); done {
			return p.text(m, s)
		}
		return nil
	}
	if k.String() == "left" && p.field > 0 && p.card.Ask.Type == abi.InteractionQuestion {
		p.ask(p.field - 1)
		return nil
	}
	if i := p.choices.key(k); i >= 0 {
		return p.take(m, i)
	}
	return nil
}

func ownWords(f abi.Field) string {
	if f.Secret {
		return "It is not shown:"
	}
	return "In your own words:"
}
