package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// storyRows is the number of rows that the story keeps beside a panel, where the
// screen has them.
const storyRows = 4

// View draws the screen, from the bottom up: what is needed to act is always
// there, the story has what is left.
func (m *app) View() tea.View {
	lines, cur := m.frame()
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.Cursor = cur
	return v
}

// frame gives exactly the rows of the screen, and the cursor's place.
func (m *app) frame() ([]string, *tea.Cursor) {
	if m.left {
		return nil, nil
	}
	w, h := max(m.width, 1), max(m.height, 1)
	head := []string{m.titleRow(w)}
	foot := m.footRows(w)
	if h < 10 {
		head = nil
		foot = foot[:1]
	}
	if h < 4 {
		foot = nil
	}
	mid := m.statusRows(w, max(h/3, 1))
	room := h - len(head) - len(foot)
	mid = mid[:max(min(len(mid), room-4), 0)]
	room -= len(mid)

	// The composer keeps a row of its own beside a panel, so that what was
	// written is seen to be there.
	comp, cur := m.composerRows(w, max(room/2, 1))
	if m.panel != nil && m.focus == onPanel && m.composer.empty() && len(m.attached) == 0 {
		comp, cur = nil, nil
	}
	comp = comp[:min(len(comp), max(room-1, 1))]
	room -= len(comp)
	var low []string
	if m.panel != nil {
		rows := min(m.panel.height(w)+1, max(room-storyRows, room*2/3, 1))
		if _, plan := m.panel.(*reviewPanel); plan {
			rows = room
		}
		low, cur = m.panelRows(w, rows, cur)
		room -= len(low)
	}
	if cur != nil {
		if m.focus == onPanel {
			cur.Y += len(head) + room
		} else {
			cur.Y += len(head) + room + len(low) + len(mid)
		}
	}
	out := append(head, m.storyRows(w, room)...)
	out = append(out, low...)
	out = append(out, mid...)
	out = append(out, comp...)
	out = append(out, foot...)
	for i, l := range out {
		if columns(l) > w {
			out[i] = clip(l, w)
		}
	}
	if m.focus == onStory {
		cur = nil
	}
	// What does not fit goes at the top: what is typed and chosen is at the bottom.
	if over := len(out) - h; over > 0 {
		out = out[over:]
		if cur != nil {
			cur.Y -= over
		}
	}
	if cur != nil && (cur.Y < 0 || cur.Y >= len(out)) {
		cur = nil
	}
	if cur != nil {
		cur.X = min(cur.X, w-1)
	}
	return out, cur
}

func (m *app) titleRow(w int) string {
	c := m.story.conv
	left := " " + display.Line(view.Or(c.Title, c.Harness)) + "  " + display.Exact(c.Cwd)
	if c.Title != "" {
		left = " " + display.Line(c.Title) + "  " + display.Line(c.Harness) + "  " + display.Exact(c.Cwd)
	}
	right := m.stateWords() + " "
	if used := m.contextUsed(); used != "" && w >= 60 {
		right = used + " · " + right
	}
	left = clip(left, max(w-columns(right)-1, 0))
	return styleBar.put(clip(padded(left, w-columns(right))+right, w))
}

// contextUsed is the part of the model's context that is full, as the harness
// gauges it.
func (m *app) contextUsed() string {
	var used, size int64
	for _, g := range m.story.usage.Gauges {
		switch g.Name {
		case "context_tokens":
			used = g.Value
		case "context_window":
			size = g.Value
		}
	}
	if used <= 0 || size <= 0 {
		return ""
	}
	return fmt.Sprintf("context %d%%", 100*used/size)
}

// stateWords says what goes on.
func (m *app) stateWords() string {
	t := m.story.running()
	switch {
	case m.over != "":
		return "ended"
	case m.asleep:
		return "not connected"
	case m.lost != "":
		return "reconnecting"
	case t != nil && m.controls.Running != nil && m.controls.Running.Stopping:
		return m.story.number("turn", t.ID) + " stopping"
	case t != nil && m.controls.Session.State == host.SessionStarting:
		return "the harness starts"
	case t != nil:
		return m.story.number("turn", t.ID) + " running"
	case m.story.byItself:
		return "the agent works by itself"
	case m.controls.Session.State == host.SessionStarting:
		return "the harness starts"
	case m.story.queue.Held && len(m.story.waiting(nil)) > 0:
		return "queue held"
	}
	return "ready"
}

func (m *app) storyRows(w, rows int) []string {
	rows = max(rows, 0)
	m.scroll.width, m.scroll.rows, m.scroll.dir = w, rows, m.story.conv.Cwd
	var out []string
	for _, r := range m.scroll.view() {
		mark := " "
		if m.focus == onStory && r.block == m.scroll.selected {
			mark = styleChosen.put("▌")
		}
		out = append(out, mark+r.text)
	}
	// A short story stands at the top.
	for len(out) < rows {
		out = append(out, "")
	}
	if m.scroll.away && rows > 0 {
		out[rows-1] = styleFaint.put(clip("── more below · PgDn, Ctrl+End ", w))
	}
	return out[:rows]
}

func (m *app) panelRows(w, rows int, cur *tea.Cursor) ([]string, *tea.Cursor) {
	title := " " + m.panel.title() + " "
	st := styleFaint
	if m.focus == onPanel {
		st = styleHead
	} else {
		title += "· Tab "
	}
	rule := st.put(clip("──"+title+strings.Repeat("─", max(w-columns(title)-2, 0)), w))
	lines, in := m.panel.view(w, max(rows-1, 0))
	if m.focus == onPanel {
		cur = in
		if cur != nil {
			cur.Y++
		}
	}
	return append([]string{rule}, lines...), cur
}

// statusRows are what stands between the story and the composer: what the
// program says, what goes on, and what waits.
func (m *app) statusRows(w, most int) []string {
	var out []string
	switch {
	case m.over != "":
		out = append(out, paragraph("! ", m.over+" Ctrl+D leaves.", w, styleWarn)...)
	case m.lost != "":
		out = append(out, hanging("! ", m.lost, w, styleWarn)...)
	}
	if m.said != "" {
		st := styleFaint
		mark := "· "
		if m.warn {
			st, mark = styleWarn, "! "
		}
		out = append(out, hanging(mark, display.Text(m.said), w, st)...)
	}
	if text := m.unlike(); text != "" {
		out = append(out, hanging("! ", text, w, styleWarn)...)
	}
	out = append(out, m.progressRows(w)...)
	out = append(out, m.queueRows(w)...)
	if m.controls.ContinueMode != "" && !m.active() {
		out = append(out, styleFaint.put(clip("· The agent planned and proposed no plan. Ctrl+Y goes on in mode "+display.Line(m.controls.ContinueMode)+".", w)))
	}
	if over := len(out) - most; over > 0 {
		// The end is nearest to what is written; what is cut is said.
		out = append(out[:most-1:most-1], styleFaint.put(clip(fmt.Sprintf("  %s here", plural(over+1, "more row")), w)))
	}
	return out
}

// progressRows are the checklist: on one line, or whole.
func (m *app) progressRows(w int) []string {
	p := m.story.progress
	if len(p.Entries) == 0 {
		return nil
	}
	done, at := 0, ""
	for _, e := range p.Entries {
		switch e.Status {
		case "completed":
			done++
		case "running":
			if at == "" {
				at = display.Line(e.Text)
			}
		}
	}
	running := m.story.running()
	if !m.checklist {
		if running == nil || p.Turn != "" && p.Turn != running.ID {
			return nil
		}
		line := fmt.Sprintf("%d/%d ", done, len(p.Entries))
		switch {
		case at != "":
			line += "[>] " + at
		case done == len(p.Entries):
			line += "all done"
		}
		return []string{styleTool.put(clip(line, w-len(" · F5"))) + styleFaint.put(" · F5")}
	}
	var out []string
	if p.Note != "" {
		out = append(out, hanging("", display.Line(p.Note), w, "")...)
	}
	for _, e := range p.Entries {
		mark := "[ ] "
		switch e.Status {
		case "completed":
			mark = "[x] "
		case "running":
			mark = "[>] "
		}
		out = append(out, hanging(mark, display.Line(e.Text), w, styleTool)...)
	}
	return out
}

// queueShown is how many messages that wait are shown outside of the panel.
const queueShown = 3

func (m *app) queueRows(w int) []string {
	var out []string
	for _, o := range m.outbox {
		out = append(out, styleFaint.put(clip("… sending: "+turnLine(host.Turn{Content: o.content()}), w)))
	}
	if _, open := m.panel.(*queuePanel); open {
		return out
	}
	waiting := m.story.waiting(m.queueOrder())
	for i, t := range waiting {
		if i == queueShown {
			out = append(out, styleFaint.put(clip(fmt.Sprintf("  and %s · F3", plural(len(waiting)-i, "more message")), w)))
			break
		}
		what := view.Settings(t.Settings)
		if t.Origin != abi.OriginUser && t.Origin != "" {
			what += ", " + view.OriginWord(t.Origin)
		}
		head := fmt.Sprintf("%d. ", i+1)
		tail := " · " + what
		text := clip(turnLine(t), max(w-columns(head)-columns(tail), w/3))
		out = append(out, clip(head+text+styleFaint.put(tail), w))
	}
	if len(waiting) > 0 && m.queueHeld() != "" {
		out = append(out, styleWarn.put(clip("! The queue is held ("+string(m.queueHeld())+"). F3, then r: go on. A new message lets it go on too.", w)))
	}
	return out
}

func (m *app) composerRows(w, rows int) ([]string, *tea.Cursor) {
	m.composer.focus(m.focus == onComposer)
	lines, cur := m.composer.view(max(w-2, 4), rows)
	for i, l := range lines {
		p := "  "
		if i == 0 {
			p = "› "
			if m.focus == onComposer {
				p = styleChosen.put("› ")
			}
		}
		lines[i] = p + l
	}
	if cur != nil {
		cur.X += 2
	}
	if chips := m.chips(w); rows > 2+len(chips) {
		lines = append(chips, lines...)
		if cur != nil {
			cur.Y += len(chips)
		}
	} else if len(chips) > 0 {
		// That something goes along is said in any case.
		lines[0] += styleTool.put(fmt.Sprintf(" [+%d]", len(m.attached)))
	}
	rule := styleFaint.put(strings.Repeat("─", w))
	if rows < 3 {
		return lines, cur
	}
	if cur != nil {
		cur.Y++
	}
	return append([]string{rule}, lines...), cur
}

// footRows are the settings of the next message and the keys.
func (m *app) footRows(w int) []string {
	line := "next: " + view.Settings(m.remembered())
	if r := m.controls.Running; r != nil {
		if other := otherwise(r.Settings, m.remembered()); other != "" {
			line += " · running: " + other
		}
	}
	help := "Enter send · Ctrl+C stop · Ctrl+D leave · F2 settings · F3 queue · ? help"
	switch {
	case m.focus == onPanel && m.panel != nil:
		help = m.panel.help()
	case m.focus == onStory:
		help = "↑↓ choose · Enter open · r send again · PgUp PgDn · Tab, Esc back"
	case m.panel != nil:
		help = "Enter send · Tab to the " + strings.ToLower(m.panel.title()) + " · Ctrl+C stop · F1 help"
	case m.active():
		help = "Enter queue · Ctrl+S steer · Ctrl+C stop · F2 settings · F3 queue · F1 help"
	}
	return []string{styleFaint.put(clip(line, w)), styleFaint.put(clip(help, w))}
}

// otherwise are the settings of a turn that differ from those of the next one.
func otherwise(running, next abi.Settings) string {
	var out []string
	for _, c := range []struct{ name, a, b string }{
		{"mode", running.Mode, next.Mode}, {"permission", string(running.Permission), string(next.Permission)},
		{"model", running.Model, next.Model}, {"effort", running.Effort, next.Effort},
	} {
		if c.a != c.b {
			out = append(out, c.name+" "+orDefault(c.a))
		}
	}
	return strings.Join(out, ", ")
}

// unlike says that the harness reports another mode than the running turn was
// sent with (rules 4, 25).
func (m *app) unlike() string {
	r, o := m.controls.Running, m.controls.Observed
	if r == nil || o == nil || o.Mode == "" || r.Settings.Mode == "" || o.Mode == r.Settings.Mode {
		return ""
	}
	return "The harness reports mode " + display.Line(o.Mode) + "; the running turn asked for " + display.Line(r.Settings.Mode) + "."
}
