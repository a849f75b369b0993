package display_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

func TestTextRemovesWhatATerminalWouldObey(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"colour", "\x1b[1;31mred\x1b[0m text", "red text"},
		{"clear the screen and go home", "a\x1b[2J\x1b[Hb", "ab"},
		{"set the title", "a\x1b]0;owned\x07b", "ab"},
		{"hyperlink", "\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\", "here"},
		{"write the clipboard", "\x1b]52;c;cm0gLXJm\x07x", "x"},
		{"device control", "a\x1bP1$r0m\x1b\\b", "ab"},
		{"eight-bit introducers", "a\u009b31mb\u009d0;t\u009cc", "abc"},
		{"character set", "\x1b(0lqk\x1b(B", "lqk"},
		{"reset", "a\x1bcb", "ab"},
		{"bell, backspace and null", "a\x07b\x08\x08c\x00d", "abcd"},
		{"a sequence made by removing another", "\x1b\x1b[31m[31mx", "[31mx"},
		{"carriage return", "10%\r20%\r\ndone\r", "10%\n20%\ndone\n"},
		{"a string command without end stops at the line", "a\x1b]0;hidden\nshown", "a\nshown"},
		{"a sequence without end", "a\x1b[31", "a"},
		{"tab and newline stay", "a\tb\nc", "a\tb\nc"},
		{"bytes that are no UTF-8", "a\xffb\xc3", "a\ufffdb\ufffd"},
	} {
		if got := display.Text(c.in); got != c.want {
			t.Errorf("%s: Text(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestC8_InvisibleAndBidiCharactersAreEscaped(t *testing.T) {
	for _, c := range []struct{ name, in, text, exact string }{
		{"right-to-left override", "rm \u202efdp.exe", "rm <U+202E>fdp.exe", "rm <U+202E>fdp.exe"},
		{"isolates", "\u2066a\u2069", "<U+2066>a<U+2069>", "<U+2066>a<U+2069>"},
		{"zero width space", "a\u200bb", "a<U+200B>b", "a<U+200B>b"},
		{"zero width joiner between letters", "a\u200db", "a<U+200D>b", "a<U+200D>b"},
		{"byte order mark", "\ufeffx", "<U+FEFF>x", "<U+FEFF>x"},
		{"soft hyphen", "su\u00addo", "su<U+00AD>do", "su<U+00AD>do"},
		{"tags", "\U000E0041x", "<U+E0041>x", "<U+E0041>x"},
		{"Hangul filler", "a\u3164b", "a<U+3164>b", "a<U+3164>b"},
		{"combining grapheme joiner", "a\u034fb", "a<U+034F>b", "a<U+034F>b"},
		{"blank Braille", "a\u2800b", "a<U+2800>b", "a<U+2800>b"},
		{"line separator", "a\u2028b", "a<U+2028>b", "a<U+2028>b"},
		{"private use", "a\ue000b", "a<U+E000>b", "a<U+E000>b"},
		{"unassigned", "a\U000E1000b", "a<U+E1000>b", "a<U+E1000>b"},
		{"variation selector on a letter", "a\ufe0fb", "a<U+FE0F>b", "a<U+FE0F>b"},
		{"emoji with selector and joiner", "\u2764\ufe0f\u200d\U0001F525!", "\u2764\ufe0f\u200d\U0001F525!", "\u2764<U+FE0F><U+200D>\U0001F525!"},
		{"emoji joined to a letter", "\U0001F525\u200dx", "\U0001F525<U+200D>x", "\U0001F525<U+200D>x"},
		{"emoji with a dangling joiner", "\U0001F525\u200d", "\U0001F525<U+200D>", "\U0001F525<U+200D>"},
		{"accents and other scripts stay", "e\u0301 Ünï 日本語 עברית", "e\u0301 Ünï 日本語 עברית", "e\u0301 Ünï 日本語 עברית"},
		{"no-break space hides an argument boundary", "a\u00a0b", "a\u00a0b", "a<U+00A0>b"},
	} {
		if got := display.Text(c.in); got != c.text {
			t.Errorf("%s: Text(%q) = %q, want %q", c.name, c.in, got, c.text)
		}
		if got := display.Exact(c.in); got != c.exact {
			t.Errorf("%s: Exact(%q) = %q, want %q", c.name, c.in, got, c.exact)
		}
	}
}

func TestC8_ExactHidesNothing(t *testing.T) {
	in := "printf 'a\x1b[2K\rb'\n\techo \xfe\x07"
	want := "printf 'a<U+001B>[2K<U+000D>b'\n\techo <0xFE><U+0007>"
	if got := display.Exact(in); got != want {
		t.Errorf("Exact(%q) = %q, want %q", in, got, want)
	}
}

func TestLineFoldsWhiteSpace(t *testing.T) {
	if got, want := display.Line("  a\r\n\tb \x1b[1m c\n"), "a b c"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}

func TestStreamIsTheSameHoweverTheTextIsCut(t *testing.T) {
	in := "a\x1b[31mb\x1b]0;t\x1b\\c\r\nd\u2764\ufe0f\u200d\U0001F525\u200dx\xc3\x1b"
	want := display.Text(in)
	for cut := 0; cut <= len(in); cut++ {
		var s display.Stream
		got := s.Write(in[:cut]) + s.Write(in[cut:]) + s.Flush()
		if got != want {
			t.Errorf("cut at %d: %q, want %q", cut, got, want)
		}
	}
}

func TestClipMarksTheCutAndCountsWideCharactersTwice(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly-10", 10, "exactly-10"},
		{"longer than that", 10, "longer th…"},
		{"日本語日本語", 7, "日本語…"},
	} {
		if got := display.Clip(c.in, c.width); got != c.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestWrapKeepsIndentationAndLongWords(t *testing.T) {
	in := "one two three four\n  - five six seven eight\n/a/very/long/path/that/does/not/fit x\n"
	want := "> one two three\n> four\n>   - five six\n>   seven eight\n> /a/very/long/path/that/does/not/fit\n> x\n>"
	if got := display.Wrap(in, "> ", 17); got != want {
		t.Errorf("Wrap =\n%s\nwant\n%s", got, want)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31mb\u202e\r\n", 3)
	f.Add("\x1b\x1b]0;t\x9c\xc2\x9b1m", 2)
	f.Add("\u2764\ufe0f\u200d\U0001F525", 4)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		got := display.Text(in)
		checkReadable(t, got, true)
		if again := display.Text(got); again != got {
			t.Errorf("Text is not stable: %q, then %q", got, again)
		}
		if cut = min(max(cut, 0), len(in)); true {
			var s display.Stream
			if cutUp := s.Write(in[:cut]) + s.Write(in[cut:]) + s.Flush(); cutUp != got {
				t.Errorf("cut at %d: %q, whole: %q", cut, cutUp, got)
			}
		}
		exact := display.Exact(in)
		checkReadable(t, exact, false)
		if again := display.Exact(exact); again != exact {
			t.Errorf("Exact is not stable: %q, then %q", exact, again)
		}
		if display.Width(exact) < utf8.RuneCountInString(in)-marks(in) {
			t.Errorf("Exact(%q) = %q hides characters", in, exact)
		}
	})
}

// marks counts the combining marks, which have no width of their own.
func marks(s string) int {
	n := 0
	for _, r := range s {
		if unicode.In(r, unicode.Mn, unicode.Me) {
			n++
		}
	}
	return n
}

func checkReadable(t *testing.T, s string, emoji bool) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not UTF-8: %q", s)
	}
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r):
			t.Errorf("control %U left in %q", r, s)
		case emoji && (r == 0x200d || r == 0xfe0f):
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Zl, unicode.Zp):
			t.Errorf("invisible %U left in %q", r, s)
		}
	}
	if strings.ContainsRune(s, 0x1b) {
		t.Errorf("escape left in %q", s)
	}
}
