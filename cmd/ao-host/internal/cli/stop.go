package cli

import (
	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

func (a *App) stopCommand() *cobra.Command {
	var to target
	var turn string
	var wait bool
	cmd := &cobra.Command{
		Use: "stop [flags] [ID]", Short: "Stop the turn that runs",
		Long: `Stop the turn that runs. What the agent asked is taken back; messages that wait
stay in the queue, which is held until it is resumed or a message is sent.

` + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.withDaemon(ctx, func(c core.Core) error {
				conv, err := to.pick(ctx, c)
				if err != nil {
					return err
				}
				before, err := c.Controls(ctx, conv.ID)
				if err != nil {
					return err
				}
				if turn != "" {
					turns, err := c.Turns(ctx, conv.ID)
					if err != nil {
						return err
					}
					t, err := turnOf(turns, turn)
					if err != nil {
						return err
					}
					turn = t.ID
				}
				k, err := c.Stop(ctx, conv.ID, host.StopOptions{Turn: turn})
				switch {
				case err != nil:
					return err
				case wait && before.Running != nil:
					t, err := c.Turn(ctx, conv.ID, before.Running.Turn)
					if err != nil {
						return err
					}
					return a.follow(ctx, c, conv, t, true)
				case a.json:
					return a.print(k)
				case k.Running != nil:
					return a.lines("turn " + k.Running.Turn + ": being stopped")
				}
				return a.lines("Stopped.")
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	idFlag(cmd.Flags(), &turn, "turn", "", "only if this turn runs: its id, or the\nbeginning of it")
	waitFlag(cmd, &wait)
	return cmd
}
