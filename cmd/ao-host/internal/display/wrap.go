package display

import (
	"strings"
	"unicode"
)

// Width is the number of terminal columns a one-line text takes.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is 0 for marks that sit on the character before, 2 for the blocks
// that terminals draw in double width, else 1.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f,
		r >= 0x2e80 && r <= 0x303e,
		r >= 0x3041 && r <= 0xa4cf,
		r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f,
		r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f,
		r >= 0x1f680 && r <= 0x1faff,
		r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// Wrap breaks the lines of s at spaces so that they fit into width columns,
// and puts prefix before each. A word longer than a line stays whole: a
// command or a path must be copied in one piece. The result has no newline at
// its end.
func Wrap(s, prefix string, width int) string {
	room := max(width-Width(prefix), 1)
	var out []string
	for _, line := range strings.Split(s, "\n") {
		for _, part := range wrapLine(line, room) {
			out = append(out, strings.TrimRight(prefix+part, " "))
		}
	}
	return strings.Join(out, "\n")
}

func wrapLine(line string, room int) []string {
	if Width(line) <= room {
		return []string{line}
	}
	// What a line begins with is kept for the lines that follow, so that lists
	// and code stay aligned.
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	if len(indent) >= room {
		indent = ""
	}
	var out []string
	cur := indent
	empty := true
	for _, word := range strings.Fields(body) {
		if !empty && Width(cur)+1+Width(word) > room {
			out = append(out, cur)
			cur, empty = indent, true
		}
		if !empty {
			cur += " "
		}
		cur += word
		empty = false
	}
	return append(out, cur)
}
