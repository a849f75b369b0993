package cli

import (
	"strings"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

// table lines up columns with two spaces between them. The last column is
// clipped to the width; the others are as wide as they need to be.
func table(width int, rows ...[]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i >= len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], display.Width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			if i == len(row)-1 {
				line += display.Clip(cell, max(width-display.Width(line), 8))
				break
			}
			line += cell + strings.Repeat(" ", widths[i]-display.Width(cell)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
