package view

import (
	"strings"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/host"
)

// Advice joins a message with the sentence of its code.
func Advice(code, message string) string {
	text := (&host.Error{Code: host.Code(code)}).Advice()
	message = display.Text(message)
	switch {
	case code == "":
		return message
	case message == "":
	case strings.HasPrefix(message, code):
		return message
	case text != "" && strings.Contains(message, text):
		text = message
	default:
		text = strings.TrimSpace(message + " " + text)
	}
	return display.Line(code) + ": " + text
}
