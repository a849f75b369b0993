package tui

import (
	tea "charm.land/bubbletea/v2"
)

// panel is what the lower part of the screen shows besides the composer.
type panel interface {
	// title names it in the rule above.
	title() string
	// height is the number of rows that show all of it.
	height(width int) int
	// view gives exactly rows lines.
	view(width, rows int) ([]string, *tea.Cursor)
	// key takes a key while the panel has the focus.
	key(m *app, k tea.KeyPressMsg) tea.Cmd
	// paste takes pasted text.
	paste(text string)
	// escape leaves the innermost part of the panel; true when nothing of it is
	// left to leave.
	escape() bool
	// help lists its keys in a few words.
	help() string
}

func (c *choices) paste(text string) {
	if c.editor != nil {
		c.editor.insert(text)
	}
}

// writing reports that a text is typed.
func (c *choices) writing() bool { return c.editor != nil }

// escape closes the editor.
func (c *choices) escape() bool {
	if c.editor == nil {
		return true
	}
	c.editor, c.problem = nil, ""
	return false
}

// edited takes a key while a text is typed; done when Enter ended it.
func (c *choices) edited(k tea.KeyPressMsg) (text string, done bool) {
	c.problem = ""
	switch s := k.String(); s {
	case "enter":
		return c.editor.value(), true
	case "pgup", "pgdown":
		n := max(c.room-1, 1)
		if s == "pgup" {
			n = -n
		}
		c.scroll(n)
	default:
		c.editor.key(k)
	}
	return "", false
}
