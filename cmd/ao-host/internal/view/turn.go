package view

import (
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/host"
)

// StateWord is the state of a turn in words.
func StateWord(s host.TurnState) string { return strings.ReplaceAll(string(s), "_", " ") }

// OriginWord says why a turn exists.
func OriginWord(o abi.Origin) string {
	switch o {
	case abi.OriginRetry:
		return "sent again"
	case abi.OriginAnswer:
		return "the answer to a question"
	case abi.OriginImplement:
		return "implements a plan"
	case abi.OriginFeedback:
		return "requests changes to a plan"
	case abi.OriginSteer:
		return "steers the running turn"
	}
	return display.Line(string(o))
}
