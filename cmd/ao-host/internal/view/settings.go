package view

import (
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

// providerDefault stands for a setting that is left to the provider.
const providerDefault = "provider's default"

// Settings writes a frozen or remembered tuple on one line. Mode and permission
// are always named; the others only when they were chosen.
func Settings(s abi.Settings) string {
	parts := []string{
		"mode " + Or(s.Mode, providerDefault),
		"permission " + Or(string(s.Permission), string(abi.PermissionDefault)),
	}
	if s.Model != "" {
		parts = append(parts, "model "+display.Line(s.Model))
	}
	if s.Effort != "" {
		parts = append(parts, "effort "+display.Line(s.Effort))
	}
	for _, o := range s.Options {
		parts = append(parts, display.Line(o.ID)+" "+display.Line(o.Value))
	}
	return strings.Join(parts, ", ")
}

// Or is a one-line text, or what stands for an empty one.
func Or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return display.Line(s)
}
