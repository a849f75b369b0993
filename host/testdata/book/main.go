// Command book is a binding for agents that speak the Agent Client Protocol by the book:
// the shared reducer with a dialect of a few lines. The tests compile it and drop the
// module into a bindings folder, as the author of a fifth harness would.
package main

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/acp"
)

func init() { guest.Register(acp.New(dialect)) }

func main() {}

var dialect = acp.Dialect{
	Title:  "Book",
	SignIn: "sign in and start the session again.",
	Modes: acp.Modes{
		Option:     "mode",
		Planning:   "plan",
		EnforcedBy: abi.EnforcedByHarness,
		Execution:  abi.ModeChoice{ID: "default", Name: "Execute"},
		// These agents tell every change, so that one that only says yes is noticed.
		Proves: true,
		Permissions: []acp.Permission{
			{Permission: abi.PermissionDefault, Support: abi.SupportNative, Mode: "default"},
			{Permission: abi.PermissionAcceptEdits, Support: abi.SupportNative, Mode: "accept-edits"},
			{Permission: abi.PermissionAuto, Support: abi.SupportNone, Mode: "default"},
			{Permission: abi.PermissionBypass, Support: abi.SupportNative, Mode: "yolo"},
		},
		AfterReview: "Book leaves planning for its mode \"default\"; the remembered permission was put back at once.",
	},
	ModelOption:  "model",
	EffortOption: "effort",
	Review:       review,
}

// review recognises the request to leave planning. No decision names a permission, so
// the remembered one is put back after it.
func review(t *acp.ToolCall, options []acp.Option) ([]abi.Decision, bool) {
	if t.Kind != acp.EnumToolKindSwitchMode {
		return nil, false
	}
	var decisions []abi.Decision
	for _, o := range options {
		d := abi.Decision{ID: o.ID, Label: o.Name, Kind: abi.DecisionKind(o.Kind), Mode: "plan"}
		if d.Kind == abi.AllowOnce || d.Kind == abi.AllowAlways {
			d.Mode = "default"
		}
		decisions = append(decisions, d)
	}
	return decisions, len(decisions) > 1
}
