package display

import (
	"fmt"
	"unicode"
)

// escape names a rune the way the Unicode standard writes it.
func escape(r rune) string { return fmt.Sprintf("<U+%04X>", r) }

// control reports C0 and C1 controls and DEL, newline and tab included.
func control(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }

// invisible reports a rune that leaves no mark of its own on the screen, or
// changes how its neighbours are ordered: format characters (bidirectional
// controls, zero-width joiners, tags, soft hyphen), variation selectors, line
// and paragraph separators, the letters and signs that are defined as blank,
// and whatever this Unicode version does not know or leaves to private use.
func invisible(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, unicode.Variation_Selector):
		return true
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		// Hangul fillers, the combining grapheme joiner, Khmer inherent vowels.
		return true
	case r == '\u2800' || r == '\U0001D159':
		// The blank Braille pattern and the null notehead have a width and no ink.
		return true
	}
	return !unicode.IsGraphic(r)
}

// pictograph reports a rune that a variation selector or a joiner may follow
// in an ordinary emoji.
func pictograph(r rune) bool {
	return r >= 0xa9 && r != unicode.ReplacementChar && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk, unicode.Po)
}

// emojiSelector is the variation selector that asks for the colour picture.
const emojiSelector = '\uFE0F'

// joiner glues emoji together.
const joiner = '\u200D'
