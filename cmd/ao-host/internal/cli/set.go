package cli

import (
	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

func (a *App) setCommand() *cobra.Command {
	var to target
	var set settingFlags
	var reset []string
	var revision int64
	cmd := &cobra.Command{
		Use: "set [flags]", Short: "Change what later messages are sent with", Args: exactly(),
		Long: `Change what later messages are sent with: the remembered settings. What runs and
what waits in the queue keeps the settings it was accepted with. --reset, or an
empty value, gives a setting back to the provider's own default.

` + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			patch, err := set.patch(cmd)
			if err != nil {
				return err
			}
			if err := resetAll(&patch, reset); err != nil {
				return err
			}
			if isEmpty(patch) {
				return usagef("there is nothing to set; give a setting or --reset, see what there is with: ao-host controls")
			}
			ctx := cmd.Context()
			return a.withDaemon(ctx, func(c core.Core) error {
				conv, err := to.pick(ctx, c)
				if err != nil {
					return err
				}
				if !cmd.Flags().Changed("revision") {
					revision = conv.Revision
				}
				k, err := c.ConfigureNextTurn(ctx, conv.ID, revision, patch)
				if err != nil {
					return err
				}
				return a.tellControls(conv, k)
			})
		},
	}
	to.flags(a, cmd)
	set.flags(cmd)
	cmd.Flags().StringArrayVar(&reset, "reset", nil, "give mode, permission, model, effort or an\noption back to the provider's default; can be\nrepeated")
	cmd.Flags().Int64Var(&revision, "revision", 0, "only if the settings still have this revision,\nas controls tells it (default: the one they\nhave now)")
	return cmd
}

// resetAll adds resets to a patch. Setting and resetting the same is a mistake.
func resetAll(p *host.SettingsPatch, names []string) error {
	empty := ""
	for _, name := range names {
		var twice bool
		switch name {
		case "mode":
			twice, p.Mode = p.Mode != nil, &empty
		case "permission":
			none := abi.Permission("")
			twice, p.Permission = p.Permission != nil, &none
		case "model":
			twice, p.Model = p.Model != nil, &empty
		case "effort":
			twice, p.Effort = p.Effort != nil, &empty
		case "":
			return usagef("--reset takes the name of a setting")
		default:
			if p.Options == nil {
				p.Options = map[string]string{}
			}
			_, twice = p.Options[name]
			p.Options[name] = ""
		}
		if twice {
			return usagef("%s is set and reset, or reset twice", name)
		}
	}
	return nil
}
