package tui

import (
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// editor is where a person types a text. A secret one shows only how much was
// typed, and keeps it in no widget that draws.
type editor struct {
	secret bool
	area   textarea.Model
	hidden []rune
}

// tab stands for a tab in the widget, which would make spaces of it: it is a
// character that no text has, since Unicode assigns it to nothing, and two columns
// wide as tabShown is.
const (
	tab      = "\U0003FF09"
	tabShown = "  "
)

// kept makes of a text what the widget keeps of it: tabs are tabs, and the line
// breaks of another system are one each.
var kept = strings.NewReplacer(tab, "", "\t", tab, "\r\n", "\n")

// editorRows is the number of rows an editor grows to; a longer text scrolls in
// it.
const editorRows = 6

func newEditor(secret bool) *editor {
	a := textarea.New()
	a.Prompt, a.ShowLineNumbers, a.CharLimit = "", false, 0
	a.DynamicHeight, a.MinHeight, a.MaxHeight, a.MaxContentHeight = true, 1, editorRows, 1<<30
	a.MaxWidth = 0
	plain := textarea.StyleState{Placeholder: lipgloss.NewStyle().Faint(true)}
	a.SetStyles(textarea.Styles{Focused: plain, Blurred: plain})
	a.SetVirtualCursor(false)
	a.Focus()
	return &editor{secret: secret, area: a}
}

func (e *editor) value() string {
	if e.secret {
		return string(e.hidden)
	}
	return strings.ReplaceAll(e.area.Value(), tab, "\t")
}

func (e *editor) set(s string) {
	if e.secret {
		e.hidden = []rune(s)
		return
	}
	e.area.SetValue(kept.Replace(s))
}

func (e *editor) empty() bool { return e.value() == "" }

func (e *editor) insert(s string) {
	if e.secret {
		e.hidden = append(e.hidden, []rune(strings.TrimRight(s, "\r\n"))...)
		return
	}
	e.area.InsertString(kept.Replace(s))
}

// key edits. A line break is typed with one of the keys that newline names.
func (e *editor) key(k tea.KeyPressMsg) {
	if e.secret {
		switch {
		case k.String() == "backspace" && len(e.hidden) > 0:
			e.hidden = e.hidden[:len(e.hidden)-1]
		case k.String() == "ctrl+u":
			e.hidden = nil
		case k.Text != "":
			e.hidden = append(e.hidden, []rune(k.Text)...)
		}
		return
	}
	e.area.Focus()
	if newline(k) {
		e.area.InsertString("\n")
		return
	}
	e.area, _ = e.area.Update(k)
}

// newline reports a key that begins a new line of the text. Which of them a
// terminal can tell from Enter differs.
func newline(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "alt+enter", "shift+enter", "ctrl+j":
		return true
	}
	return false
}

// view gives the lines and the cursor's place in them.
func (e *editor) view(width, rows int) ([]string, *tea.Cursor) {
	width, rows = max(width, 4), max(rows, 1)
	if e.secret {
		n := min(len(e.hidden), width-1)
		return []string{strings.Repeat("•", n)}, tea.NewCursor(n, 0)
	}
	e.area.MaxHeight = min(rows, editorRows)
	// Setting the width makes the height fit again too.
	e.area.SetWidth(width)
	text := e.area.View()
	if cur := e.area.Cursor(); cur != nil && (cur.Y < 0 || cur.Y >= e.area.Height()) {
		// The widget scrolls over what it has drawn, which is less than was pasted.
		e.area, _ = e.area.Update(nil)
		text = e.area.View()
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(l, tab, tabShown), " ")
	}
	return lines, e.area.Cursor()
}

// focus shows or hides the cursor.
func (e *editor) focus(on bool) {
	if on {
		e.area.Focus()
	} else {
		e.area.Blur()
	}
}
