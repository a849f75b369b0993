package host

import (
	"encoding/json"
	"slices"

	"github.com/aoagents/ao-host/abi"
)

// ownSettings is what the agent had by itself in the native session before its first
// submission, and which of it submissions have set since. A restored session keeps what
// was set (S4), and a setting that is reset means the agent's own again.
type ownSettings struct {
	Had abi.Observed `json:"had"`
	Set []string     `json:"set,omitempty"`
}

// The names in Set; an option has its id after optionMark.
const (
	ownMode    = "mode"
	ownModel   = "model"
	ownEffort  = "effort"
	optionMark = "option/"
)

// noteOwn keeps what a submission is about to change. In a session that was used before
// this was kept nothing is known of it.
func (c *conversation) noteOwn(want abi.Settings) {
	var own ownSettings
	switch {
	case len(c.row.Own) > 0:
		own = decodeOwn[ownSettings](c.row.Own)
	case c.row.NativeUsed || c.observed == nil:
		return
	default:
		own.Had = *c.observed
	}
	set := own.Set
	note := func(name, wished string) {
		if wished != "" && !slices.Contains(set, name) {
			set = append(set, name)
		}
	}
	note(ownMode, want.Mode)
	note(ownModel, want.Model)
	note(ownEffort, want.Effort)
	for _, o := range want.Options {
		note(optionMark+o.ID, o.Value)
	}
	if len(c.row.Own) > 0 && len(set) == len(own.Set) {
		return
	}
	own.Set = set
	if b, err := json.Marshal(own); err == nil {
		c.row.Own = b
		c.saveRow()
	}
}

// ownValues are the agent's own values of what was set in the native session, nil where
// nothing was or nothing is known.
func (c *conversation) ownValues() *abi.Settings {
	own := decodeOwn[ownSettings](c.row.Own)
	var s abi.Settings
	for _, name := range own.Set {
		switch name {
		case ownMode:
			s.Mode = own.Had.Mode
		case ownModel:
			s.Model = own.Had.Model
		case ownEffort:
			s.Effort = own.Had.Effort
		}
	}
	for _, o := range own.Had.Options {
		if slices.Contains(own.Set, optionMark+o.ID) {
			s.Options = append(s.Options, o)
		}
	}
	if s.Mode == "" && s.Model == "" && s.Effort == "" && len(s.Options) == 0 {
		return nil
	}
	return &s
}
