package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

func (a *App) newCommand() *cobra.Command {
	var n host.NewConversation
	var set settingFlags
	cmd := &cobra.Command{
		Use: "new --harness H [flags]", Short: "Begin a conversation without sending anything", Args: exactly(),
		Long: `Begin a conversation without sending anything. It belongs to the current folder
unless --dir names another one; commands that are run there find it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n.Harness == "" {
				return usagef("--harness is needed, see: ao-host bindings list")
			}
			var err error
			if n.Settings, err = set.patch(cmd); err != nil {
				return err
			}
			if n.Cwd, err = filepath.Abs(n.Cwd); err != nil {
				return fmt.Errorf("the project folder has no absolute path: %w", err)
			}
			return a.withDaemon(cmd.Context(), func(c core.Core) error {
				conv, err := c.Create(cmd.Context(), n)
				if err != nil {
					return err
				}
				if a.json {
					return a.print(conv)
				}
				return a.lines("conversation "+conv.ID,
					display.Wrap(display.Line(conv.Harness)+" in "+display.Exact(conv.Cwd), "  ", a.con.Width), "  "+view.Settings(conv.Settings))
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&n.Harness, "harness", "", "harness, see: ao-host bindings list")
	fl.StringVar(&n.Cwd, "dir", ".", "project folder")
	fl.StringVar(&n.Title, "title", "", "title")
	idFlag(fl, &n.ID, "id", "", "id of your own: running the command again with\nit makes only one conversation")
	set.flags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("harness", cobra.FixedCompletions(builtInHarnesses(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
