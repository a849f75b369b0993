package tui

import (
	tea "charm.land/bubbletea/v2"
)

// helpPanel lists the keys.
type helpPanel struct{ *choices }

var keys = [][2]string{
	{"Enter", "send; while a turn runs the message waits in the queue, with the settings of this moment"},
	{"Alt+Enter", "new line (also Shift+Enter, Ctrl+J)"},
	{"/attach PATH", "attach an image or a file to the message; /detach N, or Backspace where nothing is written, takes it back"},
	{"Ctrl+S", "steer: send into the running turn"},
	{"Ctrl+C, Esc", "stop what runs; again: leave"},
	{"Ctrl+D", "leave without stopping"},
	{"F2, Ctrl+P", "mode, permission, model and effort of the next message"},
	{"Shift+Tab", "the next mode"},
	{"F3, Ctrl+Q", "the queue: edit, move, cancel, resume"},
	{"F4, Ctrl+R", "the question or plan that waits"},
	{"F5", "the whole checklist"},
	{"Tab", "to the question or plan, to the story, back to the composer"},
	{"PgUp, PgDn", "read the story; Ctrl+Home, Ctrl+End its ends"},
	{"in the story", "↑ ↓ choose, Enter opens a tool call, a thought or a plan, r sends a turn again"},
	{"Ctrl+Y", "after a planning turn without a plan: go on in the mode that executes"},
	{"Ctrl+L", "draw the screen again"},
}

func newHelpPanel() *helpPanel {
	return &helpPanel{newChoices(func(width int) []string {
		var out []string
		for _, k := range keys {
			if width < 50 {
				out = append(out, styleHead.put(k[0]))
				out = append(out, paragraph("  ", k[1], width, "")...)
				continue
			}
			lines := wrapPlain(k[1], width-16)
			for i, l := range lines {
				head := ""
				if i == 0 {
					head = k[0]
				}
				out = append(out, styleHead.put(padded(head, 14))+"  "+l)
			}
		}
		return out
	}, nil)}
}

func (p *helpPanel) title() string { return "Keys" }
func (p *helpPanel) help() string  { return "PgUp PgDn read · Esc close" }

func (p *helpPanel) key(m *app, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "q", "?", "enter":
		m.close()
	default:
		p.choices.key(k)
	}
	return nil
}
