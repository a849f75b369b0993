package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// settingsPanel shows what is remembered for the next message beside what the
// running turn was sent with and what the harness reports (rules 1, 4), and
// changes it.
type settingsPanel struct {
	*choices
	rows []setting
	// picking is the setting whose values are shown, empty for the list.
	picking string
	values  []value
	app     *app
}

// setting is one row of the list.
type setting struct {
	id, name                      string
	remembered, running, observed string
	values                        []value
	patch                         func(v string) host.SettingsPatch
}

// value is one value of a setting.
type value struct {
	id, label, description string
	// typed: the value is typed.
	typed bool
}

// probeRow is the id of the row that reads the catalog.
const probeRow = "probe"

func newSettingsPanel(m *app) *settingsPanel {
	p := &settingsPanel{app: m}
	p.refresh(m)
	return p
}

func (p *settingsPanel) refresh(m *app) {
	p.rows = settingRows(m.controls)
	if p.picking != "" && p.choices != nil {
		// The person is choosing: the list is made again when it is shown again.
		return
	}
	p.list()
}

func (p *settingsPanel) list() {
	cursor := 0
	if p.choices != nil {
		cursor = p.cursor
	}
	p.picking = ""
	var options []option
	for _, r := range p.rows {
		options = append(options, option{label: r.name + ": " + orDefault(r.remembered)})
	}
	if p.app.controls.CatalogState != host.CatalogRead {
		p.rows = append(p.rows, setting{id: probeRow})
		options = append(options, option{label: "read what the harness offers", description: "starts it, without a message"})
	}
	p.choices = newChoices(p.report, options)
	p.cursor = min(cursor, len(options)-1)
}

// report is the table above the list.
func (p *settingsPanel) report(width int) []string {
	c := p.app.controls
	var out []string
	out = append(out, hanging("", "These are remembered for the next message. A turn keeps what it was sent with.", width, styleFaint)...)
	for _, r := range p.rows {
		var parts []string
		if c.Running != nil && r.running != r.remembered && r.id != probeRow {
			parts = append(parts, "the running turn has "+orDefault(r.running))
		}
		if r.observed != "" && r.observed != r.remembered {
			parts = append(parts, "the harness reports "+display.Line(r.observed))
		}
		if len(parts) > 0 {
			out = append(out, hanging("", r.name+": "+strings.Join(parts, "; "), width, "")...)
		}
	}
	if words := enforcement(c, c.Settings.Mode); words != "" {
		out = append(out, hanging("", words, width, "")...)
	}
	for _, pr := range c.Problems {
		text := view.Advice(pr.Code, pr.Message)
		if pr.Field != "" {
			text = display.Line(pr.Field) + ": " + text
		}
		out = append(out, hanging("! ", text, width, styleWarn)...)
	}
	return out
}

// enforcement says who holds the agent to a mode. Plan mode is never called a
// sandbox (rule 25).
func enforcement(c host.Controls, mode string) string {
	if c.Catalog == nil {
		return ""
	}
	for _, m := range c.Catalog.Modes {
		if m.ID != mode {
			continue
		}
		name := "Mode " + display.Line(m.ID) + ": "
		switch m.EnforcedBy {
		case abi.EnforcedByHarness:
			return name + "the harness itself refuses what it forbids; it is no sandbox."
		case abi.EnforcedByHost:
			return name + "ao-host declines what it forbids and the agent asks for; it is no sandbox."
		case abi.EnforcedByNobody:
			return name + "the agent is only told; nobody holds it to it."
		}
	}
	return ""
}

func orDefault(s string) string { return view.Or(s, "provider's default") }

// settingRows are the settings with their values, as the catalog has them.
func settingRows(c host.Controls) []setting {
	var run abi.Settings
	if c.Running != nil {
		run = c.Running.Settings
	}
	var obs abi.Observed
	if c.Observed != nil {
		obs = *c.Observed
	}
	cat := abi.Catalog{}
	if c.Catalog != nil {
		cat = *c.Catalog
	}
	s := c.Settings
	rows := []setting{
		{id: "mode", name: "mode", remembered: s.Mode, running: run.Mode, observed: obs.Mode, values: modeValues(cat),
			patch: func(v string) host.SettingsPatch { return host.SettingsPatch{Mode: &v} }},
		{id: "permission", name: "permission", remembered: string(s.Permission), running: string(run.Permission), observed: string(obs.Permission), values: permissionValues(cat),
			patch: func(v string) host.SettingsPatch { return host.SettingsPatch{Permission: permissionOf(v)} }},
		{id: "model", name: "model", remembered: s.Model, running: run.Model, observed: obs.Model, values: modelValues(cat),
			patch: func(v string) host.SettingsPatch { return host.SettingsPatch{Model: &v} }},
		{id: "effort", name: "effort", remembered: s.Effort, running: run.Effort, observed: obs.Effort, values: effortValues(cat, s.Model),
			patch: func(v string) host.SettingsPatch { return host.SettingsPatch{Effort: &v} }},
	}
	for _, o := range cat.Options {
		rows = append(rows, setting{
			id: "option " + o.ID, name: display.Line(view.Or(o.Name, o.ID)),
			remembered: optionValue(s.Options, o.ID), running: optionValue(run.Options, o.ID), observed: o.Current, values: optionValues(o),
			patch: func(v string) host.SettingsPatch {
				return host.SettingsPatch{Options: map[string]string{o.ID: v}}
			},
		})
	}
	return rows
}

func optionValue(values []abi.OptionValue, id string) string {
	for _, v := range values {
		if v.ID == id {
			return v.Value
		}
	}
	return ""
}

// reset and typed are the values that every setting has.
func reset() value { return value{label: "provider's default"} }
func other(name string) value {
	return value{label: "another " + name, description: "by the name the harness gives it", typed: true}
}

func modeValues(c abi.Catalog) []value {
	out := []value{reset()}
	for _, m := range c.Modes {
		words := []string{m.Description}
		switch m.Meaning {
		case abi.MeaningPlanning:
			words = append(words, "plans and changes nothing")
		case abi.MeaningExecution:
			words = append(words, "does the work")
		}
		switch m.EnforcedBy {
		case abi.EnforcedByHarness:
			words = append(words, "kept by the harness")
		case abi.EnforcedByHost:
			words = append(words, "kept by ao-host")
		case abi.EnforcedByNobody:
			words = append(words, "the agent is only told")
		}
		out = append(out, value{id: m.ID, label: named(m.Name, m.ID), description: sentence(words...)})
	}
	return append(out, other("mode"))
}

func permissionValues(c abi.Catalog) []value {
	all := []abi.Permission{abi.PermissionDefault, abi.PermissionAcceptEdits, abi.PermissionAuto, abi.PermissionBypass}
	var out []value
	for _, p := range all {
		v := value{id: string(p), label: string(p)}
		at := slices.IndexFunc(c.Permissions, func(o abi.PermissionChoice) bool { return o.Permission == p })
		if at >= 0 {
			o := c.Permissions[at]
			words := []string{o.Native}
			switch o.Support {
			case abi.SupportRelaunch:
				words = append(words, "takes a new start of the harness")
			case abi.SupportStandIn:
				words = append(words, "ao-host answers the requests")
			case abi.SupportNone:
				words = append(words, "not available here")
			}
			if o.Dormant {
				words = append(words, "not in force while planning")
			}
			v.description = sentence(words...)
		}
		out = append(out, v)
	}
	return out
}

func modelValues(c abi.Catalog) []value {
	out := []value{reset()}
	for _, m := range c.Models {
		if m.Hidden {
			continue
		}
		words := []string{m.Description}
		if m.Default {
			words = append(words, "the default")
		}
		out = append(out, value{id: m.ID, label: named(m.Name, m.ID), description: sentence(words...)})
	}
	return append(out, other("model"))
}

// effortValues are the efforts of the model that is remembered, or of the
// default one.
func effortValues(c abi.Catalog, model string) []value {
	efforts := c.Efforts
	def := ""
	for _, m := range c.Models {
		if m.ID == model || model == "" && m.Default {
			if len(m.Efforts) > 0 {
				efforts = m.Efforts
			}
			def = m.DefaultEffort
		}
	}
	out := []value{reset()}
	if def != "" {
		out[0].description = "for this model: " + def
	}
	for _, e := range efforts {
		out = append(out, value{id: e.ID, label: named(e.Name, e.ID), description: e.Description})
	}
	return append(out, other("effort"))
}

func optionValues(o abi.OptionChoice) []value {
	out := []value{reset()}
	out[0].description = o.Description
	if o.Boolean {
		return append(out, value{id: "true", label: "on"}, value{id: "false", label: "off"})
	}
	for _, v := range o.Values {
		out = append(out, value{id: v.ID, label: named(v.Name, v.ID), description: v.Description})
	}
	return out
}

// named shows a name with the id where they differ.
func named(name, id string) string {
	if name == "" || strings.EqualFold(name, id) {
		return id
	}
	return fmt.Sprintf("%s (%s)", id, name)
}

func sentence(words ...string) string {
	words = slices.DeleteFunc(words, blank)
	return strings.Join(words, "; ")
}

func (p *settingsPanel) title() string {
	if p.picking != "" {
		return "Settings: " + p.row().name
	}
	return "Settings of the next message"
}

func (p *settingsPanel) row() setting {
	for _, r := range p.rows {
		if r.id == p.picking {
			return r
		}
	}
	return setting{}
}

func (p *settingsPanel) help() string {
	switch {
	case p.editor != nil:
		return "Enter take · Esc back"
	case p.picking != "":
		return "↑↓ or number · Enter take · Esc back"
	}
	return "↑↓ or number · Enter change · Esc close"
}

// escape goes from the values back to the list.
func (p *settingsPanel) escape() bool {
	if !p.choices.escape() {
		return false
	}
	if p.picking == "" {
		return true
	}
	p.back()
	return false
}

// back shows the list, on the setting that was looked at.
func (p *settingsPanel) back() {
	at := slices.IndexFunc(p.rows, func(r setting) bool { return r.id == p.picking })
	p.rows = settingRows(p.app.controls)
	p.choices = nil
	p.list()
	p.cursor = max(at, 0)
}

func (p *settingsPanel) key(m *app, k tea.KeyPressMsg) tea.Cmd {
	if p.editor != nil {
		s, done := p.edited(k)
		switch {
		case done && blank(s):
			p.problem = "Type a value, or Esc to go back."
		case done:
			return p.change(m, strings.TrimSpace(s))
		}
		return nil
	}
	i := p.choices.key(k)
	switch {
	case i < 0:
		return nil
	case p.picking != "" && p.values[i].typed:
		p.typed("The value:", false)
		return nil
	case p.picking != "":
		return p.change(m, p.values[i].id)
	case p.rows[i].id == probeRow:
		return m.probe()
	}
	p.pick(p.rows[i])
	return nil
}

// pick shows the values of a setting.
func (p *settingsPanel) pick(r setting) {
	p.picking, p.values = r.id, r.values
	var options []option
	cursor := -1
	for i, v := range r.values {
		o := option{label: v.label, description: v.description}
		if v.id == r.remembered && !v.typed {
			o.label += " (remembered)"
			cursor = i
		}
		options = append(options, o)
	}
	p.choices = newChoices(func(width int) []string {
		if p.app.controls.CatalogState == host.CatalogRead {
			return nil
		}
		return paragraph("", "What the harness offers is not known before it runs.", width, styleFaint)
	}, options)
	p.cursor = cursor
}

func (p *settingsPanel) change(m *app, v string) tea.Cmd {
	cmd := m.configure(p.row().patch(v))
	p.back()
	return cmd
}
