package view

import (
	"fmt"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

// OtherWords is the label of the choice to answer with a text.
const OtherWords = "something else, in your own words"

// Entry is one line to choose from.
type Entry struct {
	Label, Description string
}

// Entries numbers what there is to choose from.
func Entries(entries []Entry, width int) string {
	var b strings.Builder
	for i, e := range entries {
		b.WriteString(choice(i+1, e.Label, e.Description, width))
	}
	return strings.TrimRight(b.String(), "\n")
}

// Decisions are the entries of a permission request: what it offers, nothing
// else (C7).
func Decisions(offered []abi.Decision) []Entry {
	var out []Entry
	for _, d := range offered {
		out = append(out, Entry{Or(d.Label, d.ID), DecisionWord(d.Kind)})
	}
	return out
}

// Field writes one question with its numbered options.
func Field(f abi.Field, n, of, width int) string {
	var b strings.Builder
	head := "  "
	if of > 1 {
		head += fmt.Sprintf("%d of %d. ", n, of)
	}
	if f.Header != "" {
		head += display.Line(f.Header) + ": "
	}
	b.WriteString(display.Wrap(head+display.Text(f.Text), "", width) + "\n")
	for i, o := range f.Options {
		b.WriteString(choice(i+1, o.Label, o.Description, width))
		if o.Preview != "" {
			b.WriteString(Prefixed(Verbatim(o.Preview), "     ") + "\n")
		}
	}
	if OtherChoice(f) {
		b.WriteString(choice(len(f.Options)+1, OtherWords, "", width))
	}
	return strings.TrimRight(b.String(), "\n")
}

// OtherChoice: the person's own text is one more choice beside the options.
func OtherChoice(f abi.Field) bool { return f.Other && len(f.Options) > 0 }

func choice(n int, label, description string, width int) string {
	text := display.Line(label)
	if d := strings.TrimSpace(display.Text(description)); d != "" {
		text += " – " + d
	}
	num := fmt.Sprintf("  %3d  ", n)
	lines := strings.Split(display.Wrap(text, "", width-len(num)), "\n")
	return num + strings.Join(lines, "\n"+strings.Repeat(" ", len(num))) + "\n"
}
