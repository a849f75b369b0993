package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/markdown"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// blockKind is what a part of the story is.
type blockKind uint8

const (
	blockUser blockKind = iota
	blockMessage
	blockReasoning
	blockTool
	blockCard
	blockPlan
	blockNotice
)

// block is one part of the story with its layout.
type block struct {
	key  string
	kind blockKind
	// version counts the changes, so that a layout is made again when it must be.
	version int
	// open: the details are shown too.
	open bool

	name string
	mark string
	text string
	turn host.Turn
	item abi.Item
	card host.Interaction
	plan host.Proposal
	// stream is the text of a message or thought as far as it is known.
	stream    strings.Builder
	streaming bool
	growing   markdown.Growing
	// output is the end of what a running command printed.
	output string
	// abandoned: the turn ended and this did not.
	abandoned bool

	lines []string
	laid  layout
}

// layout is what a block's lines were made for.
type layout struct {
	version, width int
	open           bool
	dir            string
}

func (b *block) set(change func(*block)) {
	change(b)
	b.version++
}

// opens reports whether there is more than the one line.
func (b *block) opens() bool {
	switch b.kind {
	case blockTool, blockReasoning:
		return true
	case blockPlan:
		return true
	}
	return false
}

// layOut gives the lines of a block. dir is the project folder; paths inside it
// are shown relative to it.
func (b *block) layOut(width int, dir string) []string {
	want := layout{b.version, width, b.open, dir}
	if b.lines == nil || b.laid != want {
		b.lines, b.laid = b.layOutNow(width, dir), want
	}
	return b.lines
}

func (b *block) layOutNow(width int, dir string) []string {
	switch b.kind {
	case blockUser:
		return b.user(width)
	case blockMessage:
		if b.streaming {
			return b.growing.Lines(b.stream.String(), width)
		}
		return markdown.Lines(b.stream.String(), width)
	case blockReasoning:
		return b.reasoning(width)
	case blockTool:
		return b.tool(width, dir)
	case blockCard:
		return b.asked(width)
	case blockPlan:
		return b.proposed(width)
	}
	return hanging(b.mark+" ", b.text, width, noticeStyle(b.mark))
}

func noticeStyle(mark string) textStyle {
	if mark == "!" {
		return styleWarn
	}
	return styleFaint
}

// user shows what was sent and with which settings it runs.
func (b *block) user(width int) []string {
	var out []string
	for _, c := range b.turn.Content {
		text := display.Text(c.Text)
		if c.Type != abi.ContentText {
			text = fmt.Sprintf("(%s %s)", c.Type, view.Or(c.Name, c.Media))
		}
		if strings.TrimSpace(text) != "" {
			out = append(out, paragraph("› ", strings.TrimRight(text, "\n"), width, styleUser)...)
		}
	}
	meta := fmt.Sprintf("%s %s · %s", b.name, view.StateWord(b.turn.State), view.Settings(b.turn.Settings))
	if b.turn.Origin != abi.OriginUser && b.turn.Origin != "" {
		meta += " · " + view.OriginWord(b.turn.Origin)
	}
	return append(out, hanging("  ", meta, width, styleFaint)...)
}

func (b *block) reasoning(width int) []string {
	text := strings.TrimSpace(display.Text(b.stream.String()))
	first, _, _ := strings.Cut(text, "\n")
	head := "∴ " + strings.Trim(display.Line(first), "*# ")
	if !b.open {
		return []string{styleFaint.put(clip(head+more(strings.Contains(text, "\n")), width))}
	}
	out := []string{styleFaint.put(clip("∴ Thought", width))}
	for _, l := range markdown.Lines(b.stream.String(), width-2) {
		out = append(out, "  "+l)
	}
	return out
}

func more(yes bool) string {
	if yes {
		return " …"
	}
	return ""
}

// tool is a tool call: one line, or everything that is known of it.
func (b *block) tool(width int, dir string) []string {
	i := b.item
	what := i.Title
	if what == "" {
		what = i.Text
	}
	if rel, inside := strings.CutPrefix(what, dir+"/"); inside && dir != "" {
		what = rel
	}
	head := view.ToolWord(i) + " " + view.OneLine(what)
	if i.Child != "" {
		head = "(child agent) " + head
	}
	state := ""
	st := styleTool
	switch {
	case i.Status == abi.ItemFailed, i.Status == abi.ItemDeclined:
		state, st = ": "+string(i.Status), styleWarn
	case b.abandoned:
		state = ": not finished"
	case i.Status == abi.ItemRunning:
		state = " …"
	}
	mark := "▸ "
	if b.open {
		mark = "▾ "
	}
	// The end of the line must say how it went even where the rest is clipped.
	line := st.put(mark + clip(head, width-2-columns(state)) + state)
	if !b.open {
		return []string{line}
	}
	out := []string{line}
	add := func(label, text string) {
		if strings.TrimSpace(text) == "" {
			return
		}
		out = append(out, "  "+styleFaint.put(label))
		for _, l := range exact(text, width-2) {
			out = append(out, "  "+l)
		}
	}
	if columns(head) > width-2-columns(state) || strings.Contains(what, "\n") {
		add("in full", what)
	}
	label := "text"
	if i.Type == abi.ItemCommand {
		label = "output"
	}
	switch i.Text {
	case "":
		add("output", b.output)
	case what:
	default:
		add(label, i.Text)
	}
	add("as the harness reports it", indented(i.Data))
	if len(out) == 1 {
		out = append(out, "  "+styleFaint.put("nothing more is known of it"))
	}
	return out
}

func indented(raw abi.Raw) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}

// asked records what the agent asked and what came of it (A2).
func (b *block) asked(width int) []string {
	a := b.card.Ask
	head := view.CardWord(a.Type)
	switch what := display.Line(a.Title); {
	case what != "":
		head += ": " + what
	case len(a.Fields) > 0:
		head += ": " + display.Line(a.Fields[0].Text)
	}
	out := hanging("? ", head, width, styleAsk)
	if a.Command != "" && b.card.State != host.InteractionOpen {
		for _, l := range exact(a.Command, width-2) {
			out = append(out, "  "+l)
		}
	}
	switch {
	case b.card.State == host.InteractionOpen:
		return append(out, hanging("  ", "waits for an answer", width, styleFaint)...)
	case b.card.State != host.InteractionClosed:
		return append(out, hanging("  ", "the answer is on its way", width, styleFaint)...)
	case b.card.Automatic != "":
		return append(out, hanging("  ", "answered for you, because of the permission "+display.Line(b.card.Automatic), width, styleFaint)...)
	}
	text := string(b.card.Disposition)
	if said := answerWords(b.card); said != "" {
		text += ": " + said
	}
	return append(out, hanging("  ", text, width, styleFaint)...)
}

// answerWords says what was answered. A secret is a placeholder in the journal
// and is not shown as anything.
func answerWords(i host.Interaction) string {
	r := i.Reply
	if r == nil || i.Disposition != abi.DispositionAnswered && i.Disposition != abi.DispositionUncertain {
		return ""
	}
	var parts []string
	for _, f := range i.Ask.Fields {
		for _, a := range r.Fields {
			if a.Field == f.ID {
				parts = append(parts, fieldWords(f, a))
			}
		}
	}
	for _, d := range i.Ask.Decisions {
		if d.ID == r.Decision {
			parts = append(parts, view.Or(d.Label, d.ID))
		}
	}
	if r.Feedback != "" {
		parts = append(parts, display.Line(r.Feedback))
	}
	if r.Action != "" {
		parts = append(parts, string(r.Action))
	}
	return strings.Join(parts, "; ")
}

func fieldWords(f abi.Field, a abi.FieldAnswer) string {
	head := ""
	if f.Header != "" {
		head = display.Line(f.Header) + ": "
	}
	if a.State == abi.StateSkipped {
		return head + "skipped"
	}
	var chosen []string
	for _, n := range a.Selected {
		if n >= 0 && int(n) < len(f.Options) {
			chosen = append(chosen, display.Line(f.Options[n].Label))
		}
	}
	switch {
	case a.HasOther && f.Secret:
		chosen = append(chosen, "(hidden)")
	case a.HasOther:
		chosen = append(chosen, display.Line(a.Other))
	case len(chosen) == 0:
		chosen = []string{"none of them"}
	}
	return head + strings.Join(chosen, ", ")
}

// proposed shows a plan by its heading until it is opened.
func (b *block) proposed(width int) []string {
	p := b.plan
	state := "waits for review"
	switch p.State {
	case host.ProposalOpen:
	case host.ProposalImplemented:
		state = "to be implemented"
	case host.ProposalChangesRequested:
		state = "changes requested"
	default:
		state = string(p.State)
	}
	mark := "▸ "
	if b.open {
		mark = "▾ "
	}
	head := fmt.Sprintf("%s%s, revision %d: %s", mark, b.name, p.Revision, planTitle(p.Text))
	out := []string{stylePlan.put(clip(head, width)), styleFaint.put(clip("  "+state, width))}
	if b.open {
		for _, l := range markdown.Lines(p.Text, width-2) {
			out = append(out, strings.TrimRight("  "+l, " "))
		}
	}
	return out
}

func planTitle(text string) string {
	for line := range strings.Lines(display.Text(text)) {
		if line = strings.Trim(strings.TrimSpace(line), "#* "); line != "" {
			return display.Line(line)
		}
	}
	return "without text"
}
