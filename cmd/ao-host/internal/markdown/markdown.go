package markdown

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

// parser reads CommonMark with tables, task lists and struck text. Bare addresses
// need no marking: they are shown as they are either way.
var parser = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()

// least is the width below which nothing is laid out more narrowly: a line that
// is cut by the terminal beats one word a line.
const least = 8

// Lines lays out a text for a width in columns. Each line is complete in itself:
// its styles end with it.
func Lines(source string, width int) []string {
	src := []byte(display.Text(source))
	doc := parser.Parse(text.NewReader(src))
	p := &page{src: src}
	return p.blocks(doc, max(width, least))
}

// page is one layout under way.
type page struct {
	src []byte
}

// blocks lays out the children of a node, with an empty line between them unless
// the list they are in is tight.
func (p *page) blocks(parent ast.Node, width int) []string {
	var out []string
	tight := false
	if item, ok := parent.(*ast.ListItem); ok {
		if list, ok := item.Parent().(*ast.List); ok {
			tight = list.IsTight
		}
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		lines := p.block(n, width)
		if len(lines) == 0 {
			continue
		}
		if len(out) > 0 && !tight {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

func (p *page) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		st := style{bold: true, underline: n.Level == 1}
		return wrap(p.inline(n, st), width)
	case *ast.Paragraph, *ast.TextBlock:
		return wrap(p.inline(n, style{}), width)
	case *ast.List:
		return p.list(n, width)
	case *ast.Blockquote:
		return prefixed(p.blocks(n, max(width-2, least)), style{faint: true}.put("│")+" ", "")
	case *ast.FencedCodeBlock:
		return p.code(n, width)
	case *ast.CodeBlock:
		return p.code(n, width)
	case *ast.HTMLBlock:
		lines := p.literal(n, width, style{})
		if n.HasClosure() {
			lines = append(lines, Hard(display.Text(string(n.ClosureLine.Value(p.src))), width)...)
		}
		return lines
	case *ast.ThematicBreak:
		return []string{style{faint: true}.put(strings.Repeat("─", min(width, 24)))}
	case *extast.Table:
		return p.table(n, width)
	}
	if n.Type() == ast.TypeBlock && n.HasChildren() {
		return p.blocks(n, width)
	}
	return wrap(p.inline(n, style{}), width)
}

// code shows a code block as it stands, with a bar before each line.
func (p *page) code(n ast.Node, width int) []string {
	return prefixed(p.literal(n, max(width-2, least), style{code: true}), style{faint: true}.put("▏")+" ", "")
}

// literal is the text of a block whose lines are not Markdown.
func (p *page) literal(n ast.Node, width int, st style) []string {
	var out []string
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		line := strings.TrimRight(display.Text(string(seg.Value(p.src))), "\n")
		for _, part := range Hard(line, width) {
			out = append(out, st.put(part))
		}
	}
	return out
}

// prefixed puts first before the first line and rest, or first again if rest is
// empty, before the others.
func prefixed(lines []string, first, rest string) []string {
	if rest == "" {
		rest = first
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		p := rest
		if i == 0 {
			p = first
		}
		out[i] = strings.TrimRight(p+l, " ")
	}
	return out
}
