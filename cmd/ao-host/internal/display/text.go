package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text makes prose readable: terminal controls are removed, a carriage return
// is a line break, invisible characters are escaped. Joiners and selectors
// inside ordinary emoji stay. The result is valid UTF-8 whose only control
// characters are newline and tab.
func Text(s string) string {
	var st Stream
	head := st.Write(s)
	return head + st.Flush()
}

// Line is Text on one line: every run of white space is one space.
func Line(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// Exact shows every character of something that is going to be executed,
// opened or written. Letters, marks, signs, the plain space, newline and tab
// are shown as they are; everything else is escaped, spaces of other kinds and
// bytes that are no UTF-8 included.
func Exact(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[0])
		case r == '\n' || r == '\t' || r == ' ':
			b.WriteRune(r)
		case control(r) || invisible(r) || unicode.Is(unicode.Zs, r):
			b.WriteString(escape(r))
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// Clip shortens a one-line text to width columns and marks the cut. It is for
// lists only: what a person decides on is never clipped.
func Clip(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		w := runeWidth(r)
		if n+w > width-1 {
			return s[:i] + "…"
		}
		n += w
	}
	return s
}
