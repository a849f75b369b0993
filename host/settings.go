package host

import (
	"context"
	"slices"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// ConfigureNextTurn changes the remembered settings, for submissions accepted
// from now on; the running turn, its questions and what is queued keep theirs
// (rules 1, 2). Where a live session's catalog is read, unknown values are
// refused; otherwise they are kept and checked when a turn is dispatched.
//
// Errors: stale_revision, unknown_mode, unknown_permission, unknown_model,
// unknown_effort, unknown_option.
func (h *Host) ConfigureNextTurn(ctx context.Context, conversation string, expectedRevision int64, p SettingsPatch) (Controls, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Controls{}, err
	}
	return ask(ctx, c, func() (Controls, error) {
		if expectedRevision != c.row.SettingsRev {
			return Controls{}, failField(CodeStaleRevision, "revision", "Revision %d was given, the settings are at %d.", expectedRevision, c.row.SettingsRev)
		}
		next, err := c.patched(c.settings, p)
		if err != nil {
			return Controls{}, err
		}
		return c.controlsAfter(c.transact(ctx, func() error {
			c.remember(next, SettingsEvent{Cause: "user", ModeChosen: p.Mode != nil})
			return nil
		}))
	})
}

// remember stores new remembered settings in the running transaction; why is what the
// event says of them.
func (c *conversation) remember(next abi.Settings, why SettingsEvent) {
	expected := c.row.SettingsRev
	body := mustJSON(next)
	c.settings = next
	c.row.Settings, c.row.SettingsRev = body, expected+1
	c.tx.do(func(ctx context.Context, tx *store.Tx) error {
		ok, err := tx.UpdateSettings(ctx, c.id, expected, body)
		if err == nil && !ok {
			err = &Error{Code: CodeStaleRevision, Field: "revision"}
		}
		return err
	})
	why.Settings, why.Revision = next, expected+1
	c.journalValue(EventSettings, "", why)
	c.dirty = true
}

// patched applies a patch and checks what it names against the live catalog.
func (c *conversation) patched(s abi.Settings, p SettingsPatch) (abi.Settings, error) {
	out, err := applyPatch(s, p)
	if err != nil {
		return out, err
	}
	if c.catalog == nil {
		return out, nil
	}
	inForce := ""
	if c.observed != nil {
		inForce = c.observed.Model
	}
	return out, checkChoice(c.catalog, inForce, out, p)
}

// applyPatch sets what the patch names and leaves the rest.
func applyPatch(s abi.Settings, p SettingsPatch) (abi.Settings, error) {
	s.Options = slices.Clone(s.Options)
	if p.Mode != nil {
		s.Mode = *p.Mode
	}
	if p.Permission != nil {
		switch *p.Permission {
		case "", abi.PermissionDefault, abi.PermissionAcceptEdits, abi.PermissionAuto, abi.PermissionBypass:
		default:
			return s, failField(CodeUnknownPermission, "permission", "%q is not a permission.", *p.Permission)
		}
		s.Permission = *p.Permission
	}
	if p.Model != nil {
		s.Model = *p.Model
	}
	if p.Effort != nil {
		s.Effort = *p.Effort
	}
	for _, id := range sortedKeys(p.Options) {
		s.Options = slices.DeleteFunc(s.Options, func(o abi.OptionValue) bool { return o.ID == id })
		if v := p.Options[id]; v != "" {
			s.Options = append(s.Options, abi.OptionValue{ID: id, Value: v})
		}
	}
	slices.SortFunc(s.Options, func(a, b abi.OptionValue) int { return cmpString(a.ID, b.ID) })
	if len(s.Options) == 0 {
		s.Options = nil
	}
	return s, nil
}

// checkChoice checks what a patch names against a live catalog. What was
// remembered before and not named is left to the binding, which checks again; so are
// efforts and options that are to go with another model than the one in force, where
// the harness tells those of that one only. What is taken back needs no check.
func checkChoice(cat *abi.Catalog, inForce string, s abi.Settings, p SettingsPatch) error {
	if p.Mode != nil && s.Mode != "" && !slices.ContainsFunc(cat.Modes, func(m abi.ModeChoice) bool { return m.ID == s.Mode }) {
		return failField(CodeUnknownMode, "mode", "The harness has no mode %q.", s.Mode)
	}
	i := slices.IndexFunc(cat.Models, func(m abi.ModelChoice) bool { return m.ID == s.Model })
	same := inForce == "" || s.Model == "" || s.Model == inForce
	if p.Model != nil && s.Model != "" && i < 0 {
		return failField(CodeUnknownModel, "model", "The harness has no model %q.", s.Model)
	}
	if p.Effort != nil && s.Effort != "" {
		efforts := cat.Efforts
		if s.Model == "" {
			i = slices.IndexFunc(cat.Models, func(m abi.ModelChoice) bool { return m.Default })
		}
		if !same {
			efforts = nil
		}
		if i >= 0 && len(cat.Models[i].Efforts) > 0 {
			efforts = cat.Models[i].Efforts
		}
		if len(efforts) > 0 && !slices.ContainsFunc(efforts, func(e abi.Choice) bool { return e.ID == s.Effort }) {
			return failField(CodeUnknownEffort, "effort", "The model has no effort %q.", s.Effort)
		}
	}
	for _, id := range sortedKeys(p.Options) {
		j := slices.IndexFunc(cat.Options, func(o abi.OptionChoice) bool { return o.ID == id })
		if p.Options[id] == "" || !same {
			continue
		}
		if j < 0 {
			return failField(CodeUnknownOption, id, "The harness has no option %q.", id)
		}
		v, o := p.Options[id], cat.Options[j]
		if o.Boolean && (v == "true" || v == "false") || len(o.Values) == 0 && !o.Boolean {
			continue
		}
		if !slices.ContainsFunc(o.Values, func(c abi.Choice) bool { return c.ID == v }) {
			return failField(CodeUnknownOption, id, "The option %q has no value %q.", id, v)
		}
	}
	return nil
}
