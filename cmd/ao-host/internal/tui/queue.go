package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// queuePanel shows what waits, each with the settings it will run under.
type queuePanel struct {
	*choices
	turns []host.Turn
	// editing is the turn whose text is edited, as it was read.
	editing host.Turn
}

func newQueuePanel(m *app) *queuePanel {
	p := &queuePanel{}
	p.choices = newChoices(nil, nil)
	p.refresh(m)
	return p
}

// refresh takes the queue as it is now and stays on the message it was on.
func (p *queuePanel) refresh(m *app) {
	on := ""
	if t := p.selected(); t != nil {
		on = t.ID
	}
	p.turns = m.story.waiting(m.queueOrder())
	held := m.queueHeld()
	p.head = func(width int) []string {
		switch {
		case held != "":
			return paragraph("", view.Advice(string(held), ""), width, styleWarn)
		case len(p.turns) == 0:
			return []string{"Nothing waits."}
		}
		return nil
	}
	p.text = nil
	p.options = nil
	for _, t := range p.turns {
		what := view.Settings(t.Settings)
		if t.Origin != abi.OriginUser && t.Origin != "" {
			what += " (" + view.OriginWord(t.Origin) + ")"
		}
		p.options = append(p.options, option{label: turnLine(t), description: what})
	}
	p.cursor = slices.IndexFunc(p.turns, func(t host.Turn) bool { return t.ID == on })
	if p.cursor < 0 && len(p.turns) > 0 {
		p.cursor = 0
	}
}

// turnLine is a message on one line.
func turnLine(t host.Turn) string {
	var parts []string
	for _, c := range t.Content {
		if c.Type == abi.ContentText {
			parts = append(parts, display.Line(c.Text))
		} else {
			parts = append(parts, "("+string(c.Type)+" "+view.Or(c.Name, c.Media)+")")
		}
	}
	return strings.Join(parts, " ")
}

func (p *queuePanel) selected() *host.Turn {
	if p.cursor < 0 || p.cursor >= len(p.turns) {
		return nil
	}
	return &p.turns[p.cursor]
}

func (p *queuePanel) title() string { return "Queue" }

func (p *queuePanel) help() string {
	if p.editor != nil {
		return "Enter keep · Alt+Enter new line · Esc back"
	}
	return "Enter edit · K J move up, down · x cancel · r resume · Esc close"
}

func (p *queuePanel) key(m *app, k tea.KeyPressMsg) tea.Cmd {
	if p.editor != nil {
		if s, done := p.edited(k); done {
			if blank(s) {
				p.problem = "Type a text, or Esc to leave it as it was."
				return nil
			}
			p.editor = nil
			return m.editQueued(p.editing, s)
		}
		return nil
	}
	t := p.selected()
	switch s := k.String(); {
	case s == "r":
		return m.resume()
	case t == nil:
		return nil
	case s == "enter", s == "e":
		p.editing = *t
		p.typed("Its settings stay as they are. The text:", false)
		p.editor.set(textOf(*t))
		return nil
	case s == "x", s == "delete":
		return m.cancelQueued(*t)
	case s == "K", s == "shift+up":
		if p.cursor > 0 {
			return m.moveQueued(*t, p.turns[p.cursor-1].ID)
		}
		return nil
	case s == "J", s == "shift+down":
		switch {
		case p.cursor+2 < len(p.turns):
			return m.moveQueued(*t, p.turns[p.cursor+2].ID)
		case p.cursor+1 < len(p.turns):
			return m.moveQueued(*t, "")
		}
		return nil
	}
	p.choices.key(k)
	return nil
}

// textOf joins the text of a message, to be edited.
func textOf(t host.Turn) string {
	var parts []string
	for _, c := range t.Content {
		if c.Type == abi.ContentText {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// editQueued gives a message another text; attachments and settings stay. The
// version that was read goes with it, so that nobody's change is overwritten.
func (m *app) editQueued(t host.Turn, text string) tea.Cmd {
	e := host.QueuedEdit{Version: t.Version, Content: host.Text(text)}
	for _, c := range t.Content {
		if c.Type != abi.ContentText {
			e.Content = append(e.Content, c)
		}
	}
	return m.do(func(ctx context.Context) tea.Msg {
		_, err := m.conn.get().EditQueued(ctx, m.id, t.ID, e)
		return editedMsg{text, err}
	})
}

// editedMsg ends an edit; what was refused is not lost.
type editedMsg struct {
	text string
	err  error
}

func (m *app) edited(r editedMsg) tea.Cmd {
	if r.err == nil {
		return m.refresh()
	}
	m.tell(true, r.err.Error())
	if m.composer.empty() {
		m.composer.set(r.text)
		m.tell(true, r.err.Error()+" Your text is in the composer.")
	}
	return m.refresh()
}

func (m *app) moveQueued(t host.Turn, before string) tea.Cmd {
	return m.do(func(ctx context.Context) tea.Msg {
		_, err := m.conn.get().MoveQueued(ctx, m.id, t.ID, host.QueuedMove{Version: t.Version, Before: before})
		return doneMsg{"", err}
	})
}

// queueOrder is the order of the queue as far as it was reported.
func (m *app) queueOrder() []string {
	if len(m.controls.Queue.Turns) > 0 {
		return m.controls.Queue.Turns
	}
	return m.story.queue.Turns
}

// queueHeld says why the queue is held, empty when it is not.
func (m *app) queueHeld() host.Code {
	if m.story.queue.Held {
		return m.story.queue.Reason
	}
	return ""
}
