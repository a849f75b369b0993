package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

func (p *page) list(l *ast.List, width int) []string {
	var out []string
	number := l.Start
	for n := l.FirstChild(); n != nil; n = n.NextSibling() {
		mark := "• "
		if l.IsOrdered() {
			mark = strconv.Itoa(number) + string(l.Marker) + " "
			number++
		}
		indent := display.Width(mark)
		lines := p.blocks(n, max(width-indent, least))
		if len(lines) == 0 {
			lines = []string{""}
		}
		if len(out) > 0 && !l.IsTight {
			out = append(out, "")
		}
		out = append(out, prefixed(lines, mark, strings.Repeat(" ", indent))...)
	}
	return out
}
