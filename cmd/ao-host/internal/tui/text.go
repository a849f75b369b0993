package tui

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/markdown"
)

// textStyle is a style of the terminal's own theme, as SGR parameters.
type textStyle string

const (
	styleFaint  textStyle = "2"
	styleUser   textStyle = "1"
	styleTool   textStyle = "36"
	styleAsk    textStyle = "1;35"
	stylePlan   textStyle = "1;34"
	styleWarn   textStyle = "33"
	styleHead   textStyle = "1"
	styleChosen textStyle = "1;36"
	styleBar    textStyle = "7"
)

// put writes a text in the style. What the style says is said by marks and words
// too, for a terminal without colours.
func (st textStyle) put(s string) string {
	if s == "" || st == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// columns is the number of terminal columns a text takes; control sequences take
// none.
func columns(s string) int { return ansi.StringWidth(s) }

// clip shortens a text to a width and marks the cut. It is for lists: what a
// person decides on is wrapped.
func clip(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(s, width, "…")
}

// wrapPlain wraps a readable text and breaks words that are too long.
func wrapPlain(s string, width int) []string {
	width = max(width, 1)
	var out []string
	for _, l := range strings.Split(display.Wrap(s, "", width), "\n") {
		out = append(out, markdown.Hard(l, width)...)
	}
	return out
}

// paragraph wraps a text with the prefix before each line.
func paragraph(prefix, s string, width int, st textStyle) []string {
	var out []string
	for _, l := range wrapPlain(s, width-columns(prefix)) {
		out = append(out, st.put(strings.TrimRight(prefix+l, " ")))
	}
	return out
}

// hanging wraps a text with the prefix before its first line and as much space
// before the others.
func hanging(prefix, s string, width int, st textStyle) []string {
	out := paragraph(strings.Repeat(" ", columns(prefix)), s, width, st)
	for i, l := range wrapPlain(s, width-columns(prefix)) {
		if i == 0 {
			out[0] = st.put(strings.TrimRight(prefix+l, " "))
		}
	}
	return out
}

// blankRun is the longest run of blank lines shown as such. A longer one could
// push the rest of a command off the screen.
const blankRun = 2

// exact shows a text exactly and whole: a bar before each of its lines, a dotted
// one before what continues a line that is too long (C8).
func exact(s string, width int) []string {
	var out []string
	blank := 0
	end := func() {
		if blank > blankRun {
			out = append(out, styleFaint.put("│ ")+plural(blank, "blank line"))
		} else {
			for range blank {
				out = append(out, styleFaint.put("│"))
			}
		}
		blank = 0
	}
	for _, line := range strings.Split(display.Exact(s), "\n") {
		if strings.TrimSpace(line) == "" {
			blank++
			continue
		}
		end()
		bar := "│ "
		for _, part := range markdown.Hard(line, width-2) {
			out = append(out, styleFaint.put(bar)+part)
			bar = "┊ "
		}
	}
	if len(out) > 0 || blank > blankRun {
		end()
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// padded fills a text up to a width.
func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(width-columns(s), 0))
}
