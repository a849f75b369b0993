package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/markdown"
)

func TestAGrowingTextLooksLikeTheWhole(t *testing.T) {
	pieces := []string{
		"A paragraph.", "two words", "\n", "\n\n", "\n\n", "# Heading", "- item", "  - nested", "1. first", "```", "~~~~", "````go", "    code", "> quote", "| a | b |\n|---|---|\n| c | d |",
		"<div>", "</div>", "<!-- x", "-->", "---", "===", " ", "*emph*", "`code`", "日本", "\ttab", "- ", "[x] ", "\\", "**",
	}
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.IntRange(10, 60).Draw(rt, "width")
		var g markdown.Growing
		text := ""
		for range rapid.IntRange(1, 30).Draw(rt, "pieces") {
			piece := rapid.SampledFrom(pieces).Draw(rt, "piece")
			// It comes in parts.
			for _, part := range strings.SplitAfter(piece, " ") {
				text += part
				if diff := cmp.Diff(markdown.Lines(text, width), g.Lines(text, width)); diff != "" {
					rt.Fatalf("%q (-whole +growing):\n%s", text, diff)
				}
			}
		}
	})
}

func BenchmarkAnAnswerOf50KBGrows(b *testing.B) {
	text := strings.Repeat("Some words, `code`, and **more** words.\n\n", 1200)
	var g markdown.Growing
	for b.Loop() {
		text += "a few words more "
		g.Lines(text, 120)
	}
}
