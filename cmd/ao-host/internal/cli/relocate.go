package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

func (a *App) relocateCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use: "relocate -c ID DIR", Short: "Let a conversation go on in another folder", Args: exactly("DIR"),
		Long: `Let a conversation go on in another folder, after its own was moved or removed.
What runs is not disturbed: the agent is started in the new folder before the
next turn. A queue that was held for the missing folder stays held, see:
ao-host queue resume.

` + howNamed,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("the folder has no absolute path: %w", err)
			}
			return a.withDaemon(cmd.Context(), func(c core.Core) error {
				conv, err := to.pick(cmd.Context(), c)
				if err != nil {
					return err
				}
				if conv, err = c.Relocate(cmd.Context(), conv.ID, dir); err != nil {
					return err
				}
				if a.json {
					return a.print(conv)
				}
				return a.lines(display.Wrap("The conversation goes on in "+display.Exact(conv.Cwd), "", a.con.Width))
			})
		},
	}
	to.flags(a, cmd)
	return cmd
}
