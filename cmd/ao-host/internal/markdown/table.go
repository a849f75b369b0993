package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// table lays out a table in columns where they fit, else each row as a list of
// its cells with their headings.
func (p *page) table(t *extast.Table, width int) []string {
	var rows [][]string
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		st := style{}
		if _, head := r.(*extast.TableHeader); head {
			st.bold = true
		}
		var row []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, put(p.inline(c, st)))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	widths := make([]int, len(rows[0]))
	total := 3 * (len(widths) - 1)
	for _, row := range rows {
		for i, cell := range row[:min(len(row), len(widths))] {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for _, w := range widths {
		total += w
	}
	if total > width {
		return p.records(t, width)
	}
	var out []string
	for i, row := range rows {
		var cells []string
		for j, w := range widths {
			cell := ""
			if j < len(row) {
				cell = row[j]
			}
			pad := strings.Repeat(" ", w-ansi.StringWidth(cell))
			if j < len(t.Alignments) && t.Alignments[j] == extast.AlignRight {
				cell = pad + cell
			} else {
				cell += pad
			}
			cells = append(cells, cell)
		}
		out = append(out, strings.TrimRight(strings.Join(cells, " │ "), " "))
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			out = append(out, style{faint: true}.put(strings.Join(rule, "─┼─")))
		}
	}
	return out
}

// records shows each row of a wide table on lines of its own.
func (p *page) records(t *extast.Table, width int) []string {
	var head []ast.Node
	var out []string
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		if _, ok := r.(*extast.TableHeader); ok {
			for c := r.FirstChild(); c != nil; c = c.NextSibling() {
				head = append(head, c)
			}
			continue
		}
		if len(out) > 0 {
			out = append(out, "")
		}
		i := 0
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			var spans []span
			if i < len(head) {
				spans = append(p.inline(head[i], style{bold: true}), span{text: ": "})
			}
			out = append(out, wrap(append(spans, p.inline(c, style{})...), width)...)
			i++
		}
	}
	return out
}
