package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// settingFlags are the flags that choose settings.
type settingFlags struct {
	mode, permission, model, effort string
	options                         []string
}

func (f *settingFlags) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.mode, "mode", "", "working mode, as the harness names it")
	fl.StringVar(&f.permission, "permission", "", "default, accept-edits, auto or\nbypass-permissions")
	fl.StringVar(&f.model, "model", "", "model, as the harness names it")
	fl.StringVar(&f.effort, "effort", "", "reasoning effort of that model")
	fl.StringArrayVar(&f.options, "option", nil, "another setting of the harness, as ID=VALUE;\ncan be repeated")
	_ = cmd.RegisterFlagCompletionFunc("permission", cobra.FixedCompletions([]string{
		string(abi.PermissionDefault), string(abi.PermissionAcceptEdits), string(abi.PermissionAuto), string(abi.PermissionBypass),
	}, cobra.ShellCompDirectiveNoFileComp))
}

// patch reads which settings were given, an empty one being a reset.
func (f *settingFlags) patch(cmd *cobra.Command) (host.SettingsPatch, error) {
	var p host.SettingsPatch
	for _, s := range []struct {
		name string
		from *string
		to   **string
	}{{"mode", &f.mode, &p.Mode}, {"model", &f.model, &p.Model}, {"effort", &f.effort, &p.Effort}} {
		if cmd.Flags().Changed(s.name) {
			*s.to = s.from
		}
	}
	if cmd.Flags().Changed("permission") {
		perm := abi.Permission(f.permission)
		p.Permission = &perm
	}
	for _, o := range f.options {
		id, value, ok := strings.Cut(o, "=")
		if !ok || id == "" {
			return p, usagef("--option %q is not of the form ID=VALUE", o)
		}
		if p.Options == nil {
			p.Options = map[string]string{}
		}
		p.Options[id] = value
	}
	return p, nil
}

// isEmpty reports whether a patch changes nothing.
func isEmpty(p host.SettingsPatch) bool {
	return p.Mode == nil && p.Permission == nil && p.Model == nil && p.Effort == nil && len(p.Options) == 0
}
