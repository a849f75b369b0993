package markdown

import "strings"

// style is how a piece of text looks. Colours are the sixteen of the terminal's
// own theme.
type style struct {
	bold, italic, underline, struck, faint, code bool
}

// put writes a text in the style.
func (st style) put(s string) string {
	if st == (style{}) || s == "" {
		return s
	}
	var codes []string
	for _, c := range []struct {
		on   bool
		code string
	}{{st.bold, "1"}, {st.faint, "2"}, {st.italic, "3"}, {st.underline, "4"}, {st.struck, "9"}, {st.code, "36"}} {
		if c.on {
			codes = append(codes, c.code)
		}
	}
	return "\x1b[" + strings.Join(codes, ";") + "m" + s + "\x1b[0m"
}

// put writes spans, neighbours of one style together.
func put(spans []span) string {
	var b strings.Builder
	for i := 0; i < len(spans); {
		j := i + 1
		text := spans[i].text
		for ; j < len(spans) && spans[j].style == spans[i].style; j++ {
			text += spans[j].text
		}
		b.WriteString(spans[i].style.put(text))
		i = j
	}
	return b.String()
}
