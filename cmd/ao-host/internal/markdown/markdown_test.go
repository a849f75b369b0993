package markdown_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/markdown"
)

var update = flag.Bool("update", false, "write the golden files")

const sample = "# Write a greeting\n\nSome *emphasis*, some **strong** and ***both***, `code`, ~~struck~~ and a [link](https://example.com/a?b=c).\n" +
	"A second line of the paragraph, which is long enough to be wrapped somewhere.  \nA hard break.\n\n" +
	"1. Create `greeting.txt`.\n2. Read it back:\n   - a nested point with so many words in it that they need two lines at least\n   - [x] done\n   - [ ] not done\n10. Ten?\n\n" +
	"> A quotation\n> of two lines.\n\n```go\nfunc main() {\n\tprintln(\"a line of code that is longer than the width of the page and is broken\")\n}\n```\n\n" +
	"| Name | Count |\n|---|---:|\n| apples | 3 |\n| `pears` | 12 |\n\n---\n\n<div>raw &amp; html</div>\n\n" +
	"Entities: &lt;b&gt; &amp; &auml;. <https://example.org> ![picture](a.png)\n"

func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got := strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b", "␛") + "\n"
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestAPageIsLaidOutForItsWidth(t *testing.T) {
	golden(t, "wide", markdown.Lines(sample, 76))
	golden(t, "narrow", markdown.Lines(sample, 30))
}

func TestAWideTableIsShownRowByRow(t *testing.T) {
	lines := markdown.Lines("| Name | What it is for |\n|---|---|\n| one | a text that does not fit |\n| two | another |\n", 20)
	want := "␛[1mName␛[0m: one\n␛[1mWhat it is for␛[0m: a\ntext that does not\nfit\n\n␛[1mName␛[0m: two\n␛[1mWhat it is for␛[0m:\nanother"
	if diff := cmp.Diff(want, strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b", "␛")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestC8_NothingAnAgentWritesReachesTheTerminalAsAControlSequence(t *testing.T) {
	for _, in := range []string{
		"a\x1b[2Jb", "a&#27;[2Jb", "a&#x1b;]0;title&#7;b", "[a&#27;[2J](b)", "![a&#27;[2J](b)", "`a\x1b[2J`", "    code\x1b[2J",
		"```\n\x1b[2J\n```", "<b\x1b[2J>", "<div>\n\x1b[2J\n</div>", "|a&#27;[2J|\n|-|\n|&#x9b;2J|", "[a](<b&#27;[2J>)", "a&#x202e;b\u202e",
		"<https://example.com/\u202e>", "# a&#27;[2J", "a&ZeroWidthSpace;b", "[a][b]\n\n[b]: &#27;[2J",
	} {
		for _, l := range markdown.Lines(in, 40) {
			checkLine(t, in, l, 40)
		}
	}
}

func TestC8_ALinkShowsWhereItLeads(t *testing.T) {
	got := ansi.Strip(strings.Join(markdown.Lines("[https://bank.example](https://evil.example/\u200bx)", 80), "\n"))
	if want := "https://bank.example (https://evil.example/<U+200B>x)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// checkLine wants a line that fits and in which only styles are control
// sequences.
func checkLine(t *testing.T, in, l string, width int) {
	t.Helper()
	if w := ansi.StringWidth(l); w > width {
		t.Errorf("%q: the line %q has %d columns", in, l, w)
	}
	rest := l
	for {
		i := strings.IndexByte(rest, 0x1b)
		if i < 0 {
			break
		}
		j := strings.IndexByte(rest[i:], 'm')
		if j < 0 || strings.Trim(rest[i:i+j], "\x1b[0123456789;") != "" {
			t.Fatalf("%q: a control sequence is left in %q", in, l)
		}
		rest = rest[:i] + rest[i+j+1:]
	}
	for _, r := range rest {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x200b {
			t.Errorf("%q: %U is left in %q", in, r, l)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add(sample, 40)
	f.Add("- - - a\n> > b\n\n|a|\n|-|", 8)
	f.Add("日本語日本語日本語 \U0001F525\u200d\U0001F525", 9)
	f.Fuzz(func(t *testing.T, in string, width int) {
		width = min(max(width, 1), 200)
		for _, l := range markdown.Lines(in, width) {
			// Deep nesting takes more columns than a narrow page has.
			checkLine(t, in, l, 1<<20)
		}
	})
}
