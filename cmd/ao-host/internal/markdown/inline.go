package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

// span is a piece of text in one style.
type span struct {
	text  string
	style style
	// br: a line ends here.
	br bool
}

// inline collects the text of a block.
func (p *page) inline(parent ast.Node, st style) []span {
	var out []span
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, p.piece(n, st)...)
	}
	return out
}

func (p *page) piece(n ast.Node, st style) []span {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Value(p.src)
		if !n.IsRaw() {
			value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
		}
		out := []span{{text: flat(string(value)), style: st}}
		switch {
		case n.HardLineBreak():
			out = append(out, span{br: true})
		case n.SoftLineBreak():
			out = append(out, span{text: " ", style: st})
		}
		return out
	case *ast.String:
		return []span{{text: flat(string(n.Value)), style: st}}
	case *ast.CodeSpan:
		// The marks stay: without colours nothing else tells code from prose.
		in := st
		in.code = true
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				b.Write(t.Value(p.src))
			}
		}
		return []span{{text: "`" + flat(b.String()) + "`", style: in}}
	case *ast.Emphasis:
		if n.Level == 1 {
			st.italic = true
		} else {
			st.bold = true
		}
		return p.inline(n, st)
	case *extast.Strikethrough:
		st.struck = true
		return p.inline(n, st)
	case *extast.TaskCheckBox:
		mark := "[ ] "
		if n.IsChecked {
			mark = "[x] "
		}
		return []span{{text: mark, style: st}}
	case *ast.Link:
		return p.address(p.inline(n, underlined(st)), string(n.Destination), st)
	case *ast.Image:
		return p.address(append([]span{{text: "image: ", style: st}}, p.inline(n, st)...), string(n.Destination), st)
	case *ast.AutoLink:
		return []span{{text: display.Exact(string(n.URL(p.src))), style: underlined(st)}}
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			b.Write(seg.Value(p.src))
		}
		return []span{{text: flat(b.String()), style: st}}
	}
	return p.inline(n, st)
}

// address shows where a link leads, whatever its text says.
func (p *page) address(label []span, destination string, st style) []span {
	to := display.Exact(destination)
	if to == "" || plain(label) == to {
		return label
	}
	return append(label, span{text: " (" + to + ")", style: st})
}

func plain(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
	}
	return b.String()
}

func underlined(st style) style { st.underline = true; return st }

// flat makes a piece readable and keeps it on its line.
func flat(s string) string {
	return strings.NewReplacer("\n", " ", "\t", "    ").Replace(display.Text(s))
}
