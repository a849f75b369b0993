package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

func (a *App) deleteCommand() *cobra.Command {
	var to target
	var r host.DeleteRequest
	var yes bool
	cmd := &cobra.Command{
		Use: "delete [flags] [ID]", Short: "Delete a conversation for good",
		Long: `Delete a conversation with everything that is kept of it: messages, answers,
plans, attachments, what the agent said and did. It cannot be brought back. On
a terminal it is asked about; elsewhere --yes must be given.

While a turn runs, messages wait or a card is open, it is refused; --unfinished
stops what runs and deletes the rest with it. Files in the project stay, and so
does what the harness itself keeps, and the backups in the data folder. The room
in the data file is used again; the file does not get shorter.

` + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.with(ctx, nil, func(c core.Core) error {
				conv, err := to.pick(ctx, c)
				if err != nil {
					return err
				}
				if ok, err := a.sure(ctx, yes, "Delete "+named(conv)+" for good?"); err != nil || !ok {
					return err
				}
				if err := c.Delete(ctx, conv.ID, r); err != nil {
					return err
				}
				if a.json {
					return a.print(host.Deleted{Conversation: conv.ID})
				}
				return a.lines(display.Wrap("Deleted: "+named(conv)+".", "", a.con.Width))
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	cmd.Flags().BoolVar(&r.Unfinished, "unfinished", false, "also when something is not finished: it is\nstopped and lost")
	yesFlag(cmd, &yes)
	return cmd
}

// named is a conversation in the words of a question about it.
func named(conv host.Conversation) string {
	return "conversation " + conv.ID + " (" + view.Or(display.Line(conv.Title), display.Line(conv.Harness)) + " in " + display.Exact(conv.Cwd) + ")"
}

// yesFlag takes the place of a person's yes.
func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do not ask")
}

// sure asks a person whether to do what cannot be undone. Where there is nobody to
// ask, yes must have been said on the command line.
func (a *App) sure(ctx context.Context, yes bool, question string) (bool, error) {
	if yes {
		return true, nil
	}
	if !a.con.Interactive || a.json {
		return false, usagef("this cannot be undone and there is nobody to ask; say --yes if it is meant")
	}
	if err := a.write("%s", display.Wrap(question, "", a.con.Width)); err != nil {
		return false, err
	}
	a.con.Ask(false)
	if err := a.write(" [y/N] "); err != nil {
		return false, err
	}
	select {
	case in := <-a.con.Lines():
		switch in = a.con.Taken(in); strings.ToLower(strings.TrimSpace(in.Line)) {
		case "y", "yes":
			return true, in.Err
		}
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, a.lines("Nothing was done.")
}
