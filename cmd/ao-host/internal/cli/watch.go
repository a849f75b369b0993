package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

func (a *App) watchCommand() *cobra.Command {
	var to target
	var after uint64
	var idle bool
	cmd := &cobra.Command{
		Use: "watch [flags] [ID]", Short: "Show what happens in a conversation as it happens",
		Long: `Show what happens in a conversation as it happens, until Ctrl-C. With --json
each line is one event of the journal, as export writes it. Every event has a
number: --after shows first what came after that one, and 0 everything, so that
nothing is missed between two commands. What was pruned is not shown: it begins
after that, or with --json fails with resync.

` + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// A host of this command alone would have nothing to tell.
			return a.withDaemon(cmd.Context(), func(c core.Core) error {
				conv, err := to.pick(cmd.Context(), c)
				if err != nil {
					return err
				}
				if !cmd.Flags().Changed("after") {
					after = conv.LastSeq
				}
				return a.watch(cmd.Context(), c, conv, after, idle)
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	cmd.Flags().Uint64Var(&after, "after", 0, "number of the last event that is known\n(default: that of the newest one)")
	cmd.Flags().BoolVar(&idle, "until-idle", false, "end when nothing runs or is going to")
	return cmd
}

func (a *App) watch(ctx context.Context, c core.Core, conv host.Conversation, after uint64, untilIdle bool) error {
	ctx, stop := a.signalled(ctx)
	defer stop()
	r, err := a.renderer(ctx, c, conv, func(host.Turn) bool { return after == conv.LastSeq })
	if err != nil {
		return err
	}
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	seq := after
	show := func(ev host.Event) error {
		seq = ev.Seq
		if a.json {
			return enc.Encode(ev)
		}
		return r.Event(ev)
	}
	for {
		err = a.events(ctx, c, conv, seq, untilIdle, show)
		now, cerr := c.Conversation(ctx, conv.ID)
		if a.json || host.CodeOf(err) != host.CodeResync || cerr != nil || seq >= now.JournalFloor {
			break
		}
		// A program has to know of it; a person is told.
		r.Notice("What was said before this moment is not in the journal any more.")
		seq = now.JournalFloor
	}
	if errors.Is(context.Cause(ctx), errTerminated) {
		return status(ExitTerminated)
	}
	if err == nil && !a.json {
		r.Notice("To go on from here:")
		r.Paragraph(fmt.Sprintf("    %s --after %d", a.command("watch", conv), seq))
	}
	return err
}

// events shows the events after a number. A person's Ctrl-C is the usual end.
func (a *App) events(ctx context.Context, c core.Core, conv host.Conversation, after uint64, untilIdle bool, show func(host.Event) error) error {
	done := func() (bool, error) {
		if !untilIdle {
			return false, nil
		}
		k, err := c.Controls(ctx, conv.ID)
		if err != nil || k.Running != nil || len(k.Queue.Turns) > 0 && !k.Queue.Held {
			return false, err
		}
		// Nothing moves any more; read after that, the number is of the last event
		// that led there.
		now, err := c.Conversation(ctx, conv.ID)
		return now.LastSeq <= after, err
	}
	if ok, err := done(); ok || err != nil {
		return err
	}
	for ev, err := range c.Events(ctx, conv.ID, after) {
		if err != nil {
			return err
		}
		after = ev.Seq
		if err := show(ev); err != nil {
			return err
		}
		if ev.Type == host.EventDelta {
			continue
		}
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return &host.Error{Code: host.CodeClosed}
}
