package host

import (
	"fmt"
	"slices"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// problemNotInForce is the code of a problem that names what the running turn
// asked for and the provider says is not in force. A setter's success is a claim;
// only what the provider observes counts (rules 4, 25; P8, P9).
const problemNotInForce = string(CodeNotInForce)

// inForce is what a turn is to work under now: what was frozen when it was accepted,
// until its own plan review is approved.
func (t *turn) inForce() abi.Settings {
	if t.goesOn != nil {
		return *t.goesOn
	}
	return t.settings
}

// permissionOf is a permission as it is meant: none is the default one.
func permissionOf(p abi.Permission) abi.Permission {
	if p == "" {
		return abi.PermissionDefault
	}
	return p
}

// checkInForce compares what the running turn is to work under with what the provider
// says, and tells every difference. What the provider does not say is unknown and
// no difference.
func (c *conversation) checkInForce() {
	t, o := c.running, c.observed
	if t == nil || o == nil || t.State == store.TurnQueued {
		return
	}
	want := t.inForce()
	// Nothing chosen is a choice too: a binding sends the execution mode and the default
	// permission for it.
	if want.Permission = permissionOf(want.Permission); want.Mode == "" && !c.executesIn(o.Mode) {
		want.Mode = c.executionMode()
	}
	if c.planning(want.Mode) && slices.ContainsFunc(c.catalog.Permissions, func(p abi.PermissionChoice) bool { return p.Dormant }) {
		want.Permission = ""
	}
	c.tellInForce("mode", want.Mode, o.Mode)
	c.tellInForce("permission", string(want.Permission), string(o.Permission))
	c.tellInForce("model", want.Model, o.Model)
	c.tellInForce("effort", want.Effort, o.Effort)
}

func (c *conversation) tellInForce(field, want, got string) {
	p := abi.Problem{Code: problemNotInForce, Field: field, Resolved: want == "" || got == "" || want == got}
	if !p.Resolved {
		p.Message = fmt.Sprintf("%s The turn asked for %s %q; the harness says %q.", codeTexts[CodeNotInForce], field, want, got)
	}
	c.setProblem(p)
}

// continueMode is the execution mode to offer after a planning turn that proposed
// nothing (rule 18): prose is never read as approval, and there must be a way on.
func (c *conversation) continueMode() string {
	if c.catalog == nil || c.running != nil || len(c.plans) > 0 || !c.plansIn(c.lastMode) || !c.plansIn(c.settings.Mode) {
		return ""
	}
	return c.executionMode()
}

// executionMode is the first mode that the live catalog confirms to be for execution,
// or "".
func (c *conversation) executionMode() string {
	if c.catalog == nil {
		return ""
	}
	i := slices.IndexFunc(c.catalog.Modes, func(m abi.ModeChoice) bool { return m.Meaning == abi.MeaningExecution })
	if i < 0 {
		return ""
	}
	return c.catalog.Modes[i].ID
}

// executesIn reports whether the live catalog confirms a mode to be for execution.
func (c *conversation) executesIn(mode string) bool {
	return c.catalog != nil && slices.ContainsFunc(c.catalog.Modes, func(m abi.ModeChoice) bool {
		return m.ID == mode && m.Meaning == abi.MeaningExecution
	})
}
