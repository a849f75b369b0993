package view

import (
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

// OneLine shows a command or path exactly, on one line.
func OneLine(s string) string { return strings.Join(strings.Fields(display.Exact(s)), " ") }

// ToolWord says what kind of thing an item is.
func ToolWord(i abi.Item) string {
	switch i.Type {
	case abi.ItemCommand:
		return "$"
	case abi.ItemEdit:
		return "edit"
	case abi.ItemSearch:
		return "search"
	case abi.ItemTool:
		return "tool"
	}
	return Or(i.Native, "other")
}
