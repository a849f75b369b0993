package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/host"
)

func (a *App) pruneCommand() *cobra.Command {
	var to target
	var before uint64
	var age string
	var yes bool
	cmd := &cobra.Command{
		Use: "prune [flags] [ID]", Short: "Remove what was said long ago from a conversation",
		Long: `Remove what was said and done in turns that ended before an event of the journal
or longer ago than a time. It cannot be brought back. It is asked about on a
terminal; elsewhere --yes must be given.

What is not finished stays, and so does all since the beginning of a turn that a
card or a plan is open of. The turns stay too, with what you sent. The agent
forgets nothing: what the harness itself keeps is not touched. The room in the
data file is used again; the file does not get shorter.

` + howNamed,
		Example: `  ao-host prune --older-than 90d
  ao-host prune --before 12000 -c 3f2a --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			r := host.PruneRequest{Before: before}
			what := fmt.Sprintf("before event %d", before)
			if age != "" {
				d, err := ageOf(age)
				if err != nil {
					return err
				}
				t := time.Now().Add(-d)
				r.BeforeTime, what = &t, "before "+t.Format(timeLayout)
			} else if before == 0 {
				return usagef("--before takes the number of an event, from 1 on")
			}
			return a.with(ctx, nil, func(c core.Core) error {
				conv, err := to.pick(ctx, c)
				if err != nil {
					return err
				}
				if ok, err := a.sure(ctx, yes, "Remove what was over "+what+" from "+named(conv)+" for good?"); err != nil || !ok {
					return err
				}
				p, err := c.Prune(ctx, conv.ID, r)
				switch {
				case err != nil:
					return err
				case a.json:
					return a.print(p)
				case p.Floor <= conv.JournalFloor:
					return a.lines("Nothing was removed: no turn that could go had ended by then.")
				}
				return a.lines(display.Wrap(fmt.Sprintf("The journal begins after event %d now.", p.Floor), "", a.con.Width))
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	cmd.Flags().Uint64Var(&before, "before", 0, "number of an event, as watch and export tell it")
	cmd.Flags().StringVar(&age, "older-than", "", "how long ago, such as 90d or 12h30m")
	cmd.MarkFlagsMutuallyExclusive("before", "older-than")
	cmd.MarkFlagsOneRequired("before", "older-than")
	yesFlag(cmd, &yes)
	return cmd
}

// ageOf reads a time span: days, or what Go reads.
func ageOf(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		if n, err = strconv.ParseUint(days, 10, 16); err == nil {
			d = time.Duration(n) * 24 * time.Hour
		}
	}
	if err != nil || d < 0 {
		return 0, usagef("%q is not a time span such as 90d or 12h30m", s)
	}
	return d, nil
}
