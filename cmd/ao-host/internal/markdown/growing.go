package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Growing lays out a text that only grows, such as an answer that streams: what
// can change no more is laid out once. The zero value is ready. A link whose
// address is defined further below looks unresolved until the text is laid out as
// a whole.
type Growing struct {
	width int
	// cut is where in the source the part that is done ends, done its lines.
	cut  int
	done []string
}

// Lines lays out the source, which begins with the source of the call before.
func (g *Growing) Lines(source string, width int) []string {
	if width != g.width || len(source) < g.cut {
		*g = Growing{width: width}
	}
	if n := settled(source[g.cut:]); n > 0 {
		g.done = joined(g.done, Lines(source[g.cut:g.cut+n], width))
		g.cut += n
	}
	rest := Lines(source[g.cut:], width)
	return joined(g.done[:len(g.done):len(g.done)], rest)
}

func joined(a, b []string) []string {
	if len(a) > 0 && len(b) > 0 {
		a = append(a, "")
	}
	return append(a, b...)
}

// settled is the length of the beginning of a text that whatever follows cannot
// change: up to the last empty line, outside of a code fence, that a line follows
// which can only begin a block of its own.
func settled(s string) int {
	end, at := 0, 0
	fence := ""
	blank := false
	for line := range strings.SplitAfterSeq(s, "\n") {
		if !strings.HasSuffix(line, "\n") && len(line) < 4 {
			// What it will be is not to be seen yet.
			break
		}
		text := strings.TrimLeft(line, " ")
		mark := fenceOf(text)
		switch {
		case fence != "":
			if len(mark) >= len(fence) && mark[0] == fence[0] && strings.TrimSpace(text[len(mark):]) == "" {
				fence = ""
			}
		case strings.HasPrefix(text, "<"):
			// HTML can go over empty lines.
			return end
		default:
			if blank && begins(line) {
				end = at
			}
			fence = mark
		}
		blank = strings.TrimSpace(line) == ""
		at += len(line)
	}
	return end
}

// fenceOf is the mark of a line that opens or closes a code fence.
func fenceOf(text string) string {
	for _, c := range []string{"`", "~"} {
		if mark := text[:len(text)-len(strings.TrimLeft(text, c))]; len(mark) >= 3 {
			return mark
		}
	}
	return ""
}

// begins reports a line that cannot belong to what stands before the empty line
// above it: it begins with a letter or is a heading, without indentation.
func begins(line string) bool {
	r, _ := utf8.DecodeRuneInString(line)
	return unicode.IsLetter(r) || r == '#'
}
