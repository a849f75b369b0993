package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Hard breaks a plain line wherever the width is used up, so that nothing of it
// is lost. Tabs are shown as spaces.
func Hard(line string, width int) []string {
	line = strings.ReplaceAll(line, "\t", "    ")
	return strings.Split(ansi.Hardwrap(line, max(width, 1), true), "\n")
}

// wrap breaks spans at spaces into lines of a width, and breaks a word that is
// longer than a line.
func wrap(spans []span, width int) []string {
	var out []string
	var line []span
	used := 0
	// word is what has been read since the last space; its pieces differ in style.
	var word []span
	wordWidth := 0
	// gap: a space waits to be written before the word; gapStyle is its style.
	gap, gapStyle := false, style{}
	endLine := func() {
		out = append(out, put(line))
		line, used, gap = nil, 0, false
	}
	endWord := func() {
		if len(word) == 0 {
			return
		}
		if used > 0 && gap && used+1+wordWidth > width {
			endLine()
		}
		if used > 0 && gap {
			line = append(line, span{text: " ", style: gapStyle})
			used++
		}
		gap = false
		for _, s := range word {
			for len(s.text) > 0 {
				g, w := ansi.FirstGraphemeCluster(s.text, ansi.GraphemeWidth)
				if used+w > width && used > 0 {
					endLine()
				}
				line = append(line, span{text: g, style: s.style})
				used += w
				s.text = s.text[len(g):]
			}
		}
		word, wordWidth = nil, 0
	}
	for _, s := range spans {
		if s.br {
			endWord()
			endLine()
			continue
		}
		for s.text != "" {
			i := strings.IndexByte(s.text, ' ')
			piece := s.text
			if i >= 0 {
				piece = s.text[:i]
			}
			if piece != "" {
				word = append(word, span{text: piece, style: s.style})
				wordWidth += ansi.StringWidth(piece)
			}
			if i < 0 {
				break
			}
			endWord()
			if used > 0 {
				gap, gapStyle = true, s.style
			}
			s.text = s.text[i+1:]
		}
	}
	endWord()
	if len(line) > 0 || len(out) == 0 {
		endLine()
	}
	return out
}
