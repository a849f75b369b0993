package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

func (a *App) controlsCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use: "controls [flags] [ID]", Short: "Show the settings: remembered, running, and in force",
		Long: `Show the settings as they are remembered for later messages, as the turn that
runs was sent with them, and as the harness reports them; what can be chosen,
and who sees to it; and what is wrong, with what to do.

` + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(c core.Core) error {
				conv, err := to.pick(cmd.Context(), c)
				if err != nil {
					return err
				}
				k, err := c.Controls(cmd.Context(), conv.ID)
				if err != nil {
					return err
				}
				return a.tellControls(conv, k)
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	return cmd
}

func (a *App) probeCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use: "probe [flags] [ID]", Short: "Start the harness to see what can be chosen",
		Long: `Start the harness without sending anything, to see what can be chosen, and show
the controls. What can be chosen is never stored.

` + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDaemon(cmd.Context(), func(c core.Core) error {
				conv, err := to.pick(cmd.Context(), c)
				if err != nil {
					return err
				}
				k, err := c.Probe(cmd.Context(), conv.ID)
				if err != nil {
					return err
				}
				return a.tellControls(conv, k)
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	return cmd
}

func (a *App) tellControls(conv host.Conversation, k host.Controls) error {
	if a.json {
		return a.print(k)
	}
	return a.write("%s", controlsText(conv, k, a.con.Width))
}

func controlsText(conv host.Conversation, k host.Controls, width int) string {
	var b strings.Builder
	line := func(prefix, text string) { b.WriteString(display.Wrap(text, prefix, width) + "\n") }
	line("", "conversation "+conv.ID)
	line("  ", display.Line(conv.Harness)+" in "+display.Exact(conv.Cwd))
	line("  ", sessionText(k.Session))
	b.WriteString("\n" + settingsTable(k, width))
	if k.Observed != nil && k.Observed.Native != "" {
		line("", "The harness's own words: "+display.Line(k.Observed.Native))
	}
	line("", fmt.Sprintf("The remembered settings have revision %d.", k.Revision))
	if k.Running != nil && k.Running.Stopping {
		line("", "The turn that runs is being stopped.")
	}
	if k.Queue.Held {
		line("", "The queue is held: "+(&host.Error{Code: k.Queue.Reason}).Error())
	} else if n := len(k.Queue.Turns); n > 0 {
		line("", fmt.Sprintf("%d waiting in the queue.", n))
	}
	if k.ContinueMode != "" {
		line("", fmt.Sprintf("The last planning turn proposed no plan. To go on without one, send in the mode %s.", display.Line(k.ContinueMode)))
	}
	for _, p := range k.Problems {
		b.WriteString("\n")
		text := view.Advice(p.Code, p.Message)
		if p.Field != "" {
			text = display.Line(p.Field) + ": " + text
		}
		line("! ", text)
		if need := needText(p.Needs); need != "" {
			line("  ", need)
		}
	}
	if k.Catalog == nil {
		b.WriteString("\n")
		line("", "What can be chosen is known while the harness runs. To see it: ao-host probe")
	} else {
		b.WriteString(catalogText(k, width))
	}
	if k.Usage != nil {
		b.WriteString("\n" + usageText(*k.Usage, width))
	}
	return b.String()
}

func sessionText(s host.Session) string {
	text := "the harness does not run"
	switch s.State {
	case host.SessionStarting:
		text = "the harness is starting"
	case host.SessionReady:
		text = "the harness runs"
	case host.SessionStopping:
		text = "the harness is ending"
	}
	if s.ProviderVersion != "" {
		text += ", version " + display.Line(s.ProviderVersion)
	}
	if s.PID != 0 {
		text += fmt.Sprintf(", process %d", s.PID)
	}
	return text
}

// settingsTable sets side by side what is remembered, what the running turn was
// sent with, and what the harness says is in force (rule 4).
func settingsTable(k host.Controls, width int) string {
	var running abi.Settings
	if k.Running != nil {
		running = k.Running.Settings
	}
	var seen abi.Settings
	if o := k.Observed; o != nil {
		seen = abi.Settings{Mode: o.Mode, Permission: o.Permission, Model: o.Model, Effort: o.Effort, Options: o.Options}
	}
	cell := func(s string) string { return display.Clip(view.Or(s, "-"), max((width-14)/3-2, 8)) }
	rows := [][]string{{"", "REMEMBERED", "RUNNING TURN", "HARNESS REPORTS"}}
	for _, r := range [][]string{
		{"mode", k.Settings.Mode, running.Mode, seen.Mode},
		{"permission", string(k.Settings.Permission), string(running.Permission), string(seen.Permission)},
		{"model", k.Settings.Model, running.Model, seen.Model},
		{"effort", k.Settings.Effort, running.Effort, seen.Effort},
	} {
		rows = append(rows, []string{r[0], cell(r[1]), cell(r[2]), cell(r[3])})
	}
	var ids []string
	for _, s := range []abi.Settings{k.Settings, running, seen} {
		for _, o := range s.Options {
			if !slices.Contains(ids, o.ID) {
				ids = append(ids, o.ID)
			}
		}
	}
	for _, id := range ids {
		rows = append(rows, []string{display.Clip(display.Line(id), 12), cell(optionOf(k.Settings, id)), cell(optionOf(running, id)), cell(optionOf(seen, id))})
	}
	return table(width, rows...) + "A dash is the provider's own default, or what is not known.\n"
}

func optionOf(s abi.Settings, id string) string {
	for _, o := range s.Options {
		if o.ID == id {
			return o.Value
		}
	}
	return ""
}

func needText(n abi.Needs) string {
	switch n {
	case abi.NeedsRelaunch:
		return "It takes another process of the harness, which the host starts by itself."
	case abi.NeedsSignIn:
		return "Sign in to the harness, then let the queue go on with: ao-host queue resume"
	case abi.NeedsChoice:
		return "Choose something else with: ao-host set"
	}
	return ""
}

// catalogText lists what can be chosen and who sees to it (rule 25).
func catalogText(k host.Controls, width int) string {
	var b strings.Builder
	section := func(title string, entries []view.Entry) {
		if len(entries) == 0 {
			return
		}
		b.WriteString("\n" + title + "\n")
		for _, e := range entries {
			text := e.Label
			if e.Description != "" {
				text += " – " + e.Description
			}
			lines := strings.Split(display.Wrap(text, "", width-4), "\n")
			b.WriteString("  " + strings.Join(lines, "\n    ") + "\n")
		}
	}
	c := k.Catalog
	var modes, permissions, models, options []view.Entry
	for _, m := range c.Modes {
		modes = append(modes, view.Entry{Label: display.Line(m.ID), Description: modeText(m)})
	}
	for _, p := range c.Permissions {
		permissions = append(permissions, view.Entry{Label: display.Line(string(p.Permission)), Description: permissionText(p)})
	}
	for _, m := range c.Models {
		if !m.Hidden {
			models = append(models, view.Entry{Label: display.Line(m.ID), Description: modelText(m)})
		}
	}
	for _, o := range c.Options {
		options = append(options, view.Entry{Label: display.Line(o.ID), Description: optionText(o)})
	}
	section("Modes", modes)
	section("Permissions", permissions)
	section("Models", models)
	if len(c.Efforts) > 0 {
		section("Efforts", []view.Entry{{Label: idsOf(c.Efforts)}})
	}
	section("Options", options)
	return b.String()
}

func modeText(m abi.ModeChoice) string {
	text := "of the harness, its meaning is not confirmed"
	switch m.Meaning {
	case abi.MeaningPlanning:
		text = "plans"
	case abi.MeaningExecution:
		text = "does the work"
	}
	switch m.EnforcedBy {
	case abi.EnforcedByHarness:
		text += "; the harness refuses what the mode forbids"
	case abi.EnforcedByHost:
		text += "; the host declines what the mode forbids"
	case abi.EnforcedByNobody:
		text += "; nobody enforces it: the agent is only told"
	}
	if m.Meaning == abi.MeaningPlanning {
		text += ". This is no sandbox"
	}
	return text
}

func permissionText(p abi.PermissionChoice) string {
	text := map[abi.Support]string{
		abi.SupportNative:   "by the harness",
		abi.SupportRelaunch: "by the harness, started anew between two turns",
		abi.SupportStandIn:  "the host stands in: it answers the harness's requests, and never a question, form, address or plan",
		abi.SupportNone:     "not available here",
	}[p.Support]
	if p.Native != "" {
		text = strings.TrimPrefix(text+": "+display.Line(p.Native), ": ")
	}
	if p.Dormant {
		text += "; remembered, and not in force while planning"
	}
	return text
}

func modelText(m abi.ModelChoice) string {
	var parts []string
	if m.Name != "" && m.Name != m.ID {
		parts = append(parts, display.Line(m.Name))
	}
	if m.Default {
		parts = append(parts, "the default")
	}
	if len(m.Efforts) > 0 {
		parts = append(parts, "efforts "+idsOf(m.Efforts))
	}
	if m.Images {
		parts = append(parts, "takes images")
	}
	return strings.Join(parts, "; ")
}

func optionText(o abi.OptionChoice) string {
	var parts []string
	switch {
	case o.Boolean:
		parts = append(parts, "true or false")
	case len(o.Values) > 0:
		parts = append(parts, idsOf(o.Values))
	}
	if o.Current != "" {
		parts = append(parts, "now "+display.Line(o.Current))
	}
	if when := map[abi.Applies]string{abi.AppliesLive: "takes effect at once", abi.AppliesNextTurn: "takes effect with the next turn", abi.AppliesRelaunch: "takes effect with the next process"}[o.Applies]; when != "" {
		parts = append(parts, when)
	}
	return strings.Join(parts, "; ")
}

func idsOf(choices []abi.Choice) string {
	var out []string
	for _, c := range choices {
		out = append(out, display.Line(c.ID))
	}
	return strings.Join(out, ", ")
}

// usageText keeps gauges and counters apart (D7).
func usageText(u host.UsageView, width int) string {
	var b strings.Builder
	for _, part := range []struct {
		title   string
		metrics []abi.Metric
	}{{"In use now", u.Gauges}, {"Used so far", u.Counters}} {
		if len(part.metrics) == 0 {
			continue
		}
		b.WriteString(part.title + "\n")
		for _, m := range part.metrics {
			b.WriteString(display.Wrap(fmt.Sprintf("%s %d", display.Line(m.Name), m.Value), "  ", width) + "\n")
		}
	}
	return b.String()
}
