package tui

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

// option is one thing to choose.
type option struct {
	label, description string
	// preview is shown exactly while the option is under the cursor.
	preview string
	// toggles: the option is one of several that are ticked.
	toggles bool
	// read: it may be taken only when all of the text above was on the screen (C8).
	read bool
}

// choices is a text to read with what there is to choose below it. The choice is
// always on the screen; the text scrolls. Nothing is under the cursor at first,
// so that a key typed for something else decides nothing.
type choices struct {
	// head lays the text out for a width.
	head    func(width int) []string
	options []option
	// ask is the line above the options.
	ask    string
	cursor int
	ticked map[int]bool
	// editor, when set, has the keys: a text is typed behind prompt.
	editor *editor
	prompt string
	// problem says what was wrong with the last key.
	problem string

	top  int
	seen int
	room int
	text []string
	laid int
}

func newChoices(head func(int) []string, options []option) *choices {
	return &choices{head: head, options: options, cursor: -1, ticked: map[int]bool{}}
}

// layOut prepares the text for a width.
func (c *choices) layOut(width int) {
	if c.text == nil || c.laid != width {
		c.text, c.laid = c.head(width), width
		// What was read before is somewhere else now.
		c.seen = 0
	}
}

// height is the number of rows that show everything.
func (c *choices) height(width int) int {
	c.layOut(width)
	return len(c.text) + len(c.foot(width, 1<<20)) + 1
}

// foot lays out what stays on the screen.
func (c *choices) foot(width, rows int) []string {
	var out []string
	if c.ask != "" {
		out = append(out, wrapPlain(c.ask, width)...)
	}
	start, chosen := len(out), [2]int{}
	for i, o := range c.options {
		lines := c.option(i, o, width)
		if i == c.cursor {
			chosen = [2]int{len(out), len(out) + len(lines)}
		}
		out = append(out, lines...)
	}
	if len(out) > rows {
		// What is under the cursor must be seen; the rest scrolls around it.
		from := max(min(chosen[1]-rows, len(out)-rows), 0)
		if chosen[0] < from {
			from = chosen[0]
		}
		if from > 0 && from <= start {
			from = min(start, len(out)-rows)
		}
		out = out[from : from+rows]
		out[len(out)-1] = clip(out[len(out)-1], max(width-4, 1)) + styleFaint.put(" ↑↓")
	}
	return out
}

func (c *choices) option(i int, o option, width int) []string {
	mark := "  "
	st := textStyle("")
	if i == c.cursor {
		mark, st = "▸ ", styleChosen
	}
	mark += strconv.Itoa(i+1) + " "
	if o.toggles {
		if c.ticked[i] {
			mark += "[x] "
		} else {
			mark += "[ ] "
		}
	}
	text := display.Line(o.label)
	if d := strings.TrimSpace(display.Text(o.description)); d != "" {
		text += " – " + d
	}
	var out []string
	indent := strings.Repeat(" ", columns(mark))
	for n, l := range wrapPlain(text, width-columns(mark)) {
		p := indent
		if n == 0 {
			p = mark
		}
		out = append(out, st.put(p+l))
	}
	if o.preview != "" && i == c.cursor {
		for _, l := range exact(o.preview, width-columns(mark)) {
			out = append(out, indent+l)
		}
	}
	return out
}

// view gives exactly rows lines, and the cursor where a text is typed.
func (c *choices) view(width, rows int) ([]string, *tea.Cursor) {
	c.layOut(width)
	var edit []string
	var cur *tea.Cursor
	if c.editor != nil {
		edit, cur = c.edit(width, max(rows/2, 1))
	}
	// A line of the text and the rule below it are always seen.
	foot := c.foot(width, max(rows-len(edit)-min(len(c.text), 2), 1))
	if c.editor != nil {
		// While a text is typed the options only take room.
		foot = nil
	}
	if c.problem != "" {
		foot = append(foot, styleWarn.put(clip("! "+c.problem, width)))
	}
	c.room = max(rows-len(edit)-len(foot)-1, 0)
	if len(c.text) <= c.room+1 {
		// Without a rule there is a row more.
		c.room = len(c.text)
	}
	c.top = max(min(c.top, len(c.text)-c.room), 0)
	c.seen = max(c.seen, c.top+c.room)
	out := append([]string(nil), c.text[c.top:c.top+c.room]...)
	if len(c.text) > c.room {
		out = append(out, c.rule(width))
	}
	// The decision stands at the bottom, apart from a short text.
	for len(out)+len(foot)+len(edit) < rows {
		out = append(out, "")
	}
	out = append(out, foot...)
	if cur != nil {
		cur.Y += len(out)
	}
	out = append(out, edit...)
	return out[:rows], cur
}

// rule says how much of the text is elsewhere.
func (c *choices) rule(width int) string {
	above, below := c.top, len(c.text)-c.top-c.room
	text := fmt.Sprintf("── %d above, %d below · PgUp PgDn ", above, below)
	switch {
	case above == 0:
		text = fmt.Sprintf("── %s below · PgDn ", plural(below, "more line"))
	case below == 0:
		text = fmt.Sprintf("── the end, %d above · PgUp ", above)
	}
	return styleFaint.put(clip(text+strings.Repeat("─", max(width-columns(text), 0)), width))
}

func (c *choices) edit(width, rows int) ([]string, *tea.Cursor) {
	head := wrapPlain(c.prompt, width)
	lines, cur := c.editor.view(width-2, rows)
	for i, l := range lines {
		lines[i] = "> " + l
		if i > 0 {
			lines[i] = "  " + l
		}
	}
	if cur != nil {
		cur.X += 2
		cur.Y += len(head)
	}
	return append(head, lines...), cur
}

// typed opens the editor.
func (c *choices) typed(prompt string, secret bool) {
	c.editor, c.prompt = newEditor(secret), prompt
}

// key moves, scrolls and ticks. It reports which option was taken with Enter, -1
// for none.
func (c *choices) key(k tea.KeyPressMsg) (taken int) {
	c.problem = ""
	switch s := k.String(); s {
	case "up":
		c.move(-1)
	case "down":
		c.move(1)
	case "pgup":
		c.scroll(-max(c.room-1, 1))
	case "pgdown":
		c.scroll(max(c.room-1, 1))
	case "home":
		c.scroll(-len(c.text))
	case "end":
		c.scroll(len(c.text))
	case "space":
		if c.cursor >= 0 && c.options[c.cursor].toggles {
			c.ticked[c.cursor] = !c.ticked[c.cursor]
		} else {
			c.scroll(max(c.room-1, 1))
		}
	case "enter":
		switch {
		case c.cursor < 0 && len(c.options) > 0:
			c.problem = "Choose with ↑ ↓ or a number, then Enter."
		case c.cursor >= 0 && c.options[c.cursor].read && c.seen < len(c.text):
			c.scroll(max(c.room-1, 1))
			c.problem = "There is more to read before this can be taken: PgDn."
		default:
			return c.cursor
		}
	default:
		if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= len(c.options) {
			c.cursor = n - 1
			if c.options[n-1].toggles {
				c.ticked[n-1] = !c.ticked[n-1]
			}
		}
	}
	return -1
}

func (c *choices) move(step int) {
	if len(c.options) == 0 {
		return
	}
	if c.cursor < 0 && step < 0 {
		c.cursor = len(c.options)
	}
	c.cursor = (c.cursor + step + len(c.options)) % len(c.options)
}

func (c *choices) scroll(n int) {
	c.top = max(min(c.top+n, len(c.text)-c.room), 0)
	c.seen = max(c.seen, c.top+c.room)
}
