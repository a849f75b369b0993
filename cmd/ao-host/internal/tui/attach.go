package tui

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/attachment"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// What is written alone on a line attaches a file, or takes one back.
const (
	attachWord = "/attach"
	detachWord = "/detach"
)

// attachedMsg is a file that was read.
type attachedMsg struct {
	// typed is what the composer had.
	typed   string
	content host.Content
	err     error
}

// attaching reports a line that is about attachments, and does what it says.
func (m *app) attaching(line string) (tea.Cmd, bool) {
	if strings.Contains(strings.TrimSpace(line), "\n") {
		return nil, false
	}
	word, what, _ := strings.Cut(strings.TrimSpace(line), " ")
	what = strings.TrimSpace(what)
	switch {
	case word == attachWord && what == "":
		m.tell(true, "Name a file: "+attachWord+" PATH")
	case word == attachWord:
		return m.do(func(context.Context) tea.Msg {
			c, err := attachment.Read(what)
			return attachedMsg{line, c, err}
		}), true
	case word == detachWord:
		m.detach(what)
	default:
		return nil, false
	}
	return nil, true
}

// attachedFile takes a file that was read. What the harness does not take is refused
// here already; the line stays, to be corrected.
func (m *app) attachedFile(r attachedMsg) {
	err := r.err
	if err == nil {
		err = m.controls.Session.Refuses([]host.Content{r.content})
	}
	if err != nil {
		m.tell(true, "Not attached. "+err.Error())
		return
	}
	m.attached = append(m.attached, r.content)
	if m.composer.value() == r.typed {
		m.composer.set("")
	}
}

// detach takes back an attachment by its number or name, the last one without.
func (m *app) detach(what string) {
	at := len(m.attached) - 1
	if what != "" {
		at = slices.IndexFunc(m.attached, func(c host.Content) bool { return c.Name == what })
		if n, err := strconv.Atoi(what); at < 0 && err == nil && n >= 1 && n <= len(m.attached) {
			at = n - 1
		}
	}
	if at < 0 {
		m.tell(true, "There is no such attachment.")
		return
	}
	m.attached = slices.Delete(slices.Clone(m.attached), at, at+1)
	m.composer.set("")
}

// attachedRows is how many rows the attachments take at most.
const attachedRows = 3

// chips are the attachments of the message that is written.
func (m *app) chips(width int) []string {
	var out []string
	line := ""
	for i, c := range m.attached {
		chip := clip(fmt.Sprintf("[%d %s, %s]", i+1, attachmentName(c), size(len(c.Bytes))), width)
		if line != "" && columns(line)+1+columns(chip) > width {
			out = append(out, styleTool.put(line))
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += chip
	}
	if line == "" {
		return nil
	}
	out = append(out, styleTool.put(line))
	if len(out) > attachedRows {
		out = append(out[:attachedRows-1:attachedRows-1], styleTool.put(fmt.Sprintf("%d files are attached", len(m.attached))))
	}
	if tail := " Backspace removes the last"; m.composer.empty() && columns(out[len(out)-1])+columns(tail) <= width {
		out[len(out)-1] += styleFaint.put(tail)
	}
	return out
}

// attachmentName is what a person knows an attachment by.
func attachmentName(c host.Content) string { return view.Or(display.Line(c.Name), c.Media) }

// size is a number of bytes for people.
func size(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%d kB", n/1e3)
	}
	return plural(n, "byte")
}
