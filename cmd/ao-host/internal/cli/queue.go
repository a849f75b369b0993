package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

func (a *App) queueCommand() *cobra.Command {
	c := group("queue", "List, edit, move, cancel what waits; resume a held queue",
		a.queueListCommand(), a.queueEditCommand(), a.queueMoveCommand(), a.queueCancelCommand(), a.queueResumeCommand())
	c.Long = c.Short + ".\nWhat waits is named by its number in the list, its id, or the beginning of it.\n\n" + howNamed
	return c
}

// queueView is what queue list writes as JSON.
type queueView struct {
	Held   bool        `json:"held"`
	Reason host.Code   `json:"reason,omitempty"`
	Turns  []host.Turn `json:"turns"`
}

// queueOf reads what waits, in the order in which it will run.
func queueOf(ctx context.Context, c core.Core, conversation string) (queueView, error) {
	k, err := c.Controls(ctx, conversation)
	if err != nil {
		return queueView{}, err
	}
	turns, err := c.Turns(ctx, conversation)
	if err != nil {
		return queueView{}, err
	}
	v := queueView{Held: k.Queue.Held, Reason: k.Queue.Reason, Turns: []host.Turn{}}
	for _, id := range k.Queue.Turns {
		if i := slices.IndexFunc(turns, func(t host.Turn) bool { return t.ID == id }); i >= 0 {
			v.Turns = append(v.Turns, turns[i])
		}
	}
	return v, nil
}

// turn finds a turn by its number in the queue or its id. One that has left the
// queue is found too: the host says what became of it.
func (v queueView) turn(ctx context.Context, c core.Core, conversation, name string) (host.Turn, error) {
	if n, err := strconv.Atoi(name); err == nil && len(name) < 4 {
		if n < 1 || n > len(v.Turns) {
			return host.Turn{}, usagef("the queue has %d messages, and %d is none of their numbers; see: ao-host queue list", len(v.Turns), n)
		}
		return v.Turns[n-1], nil
	}
	if t, err := turnOf(v.Turns, name); err == nil {
		return t, nil
	}
	turns, err := c.Turns(ctx, conversation)
	if err != nil {
		return host.Turn{}, err
	}
	return turnOf(turns, name)
}

func (a *App) queueListCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use: "list [flags] [ID]", Short: "List what waits, in the order in which it will run", Long: "List what waits, in the order in which it will run, with the settings that were\nfrozen into each message.\n\n" + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(c core.Core) error {
				conv, err := to.pick(cmd.Context(), c)
				if err != nil {
					return err
				}
				v, err := queueOf(cmd.Context(), c, conv.ID)
				if err != nil {
					return err
				}
				if a.json {
					return a.print(v)
				}
				return a.write("%s", queueText(v, a.con.Width))
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	return cmd
}

func queueText(v queueView, width int) string {
	var b strings.Builder
	if len(v.Turns) == 0 {
		b.WriteString("Nothing waits.\n")
	}
	for i, t := range v.Turns {
		head := fmt.Sprintf("%3d  ", i+1)
		text := view.Settings(t.Settings)
		if t.Origin != abi.OriginUser && t.Origin != "" {
			text += " (" + view.OriginWord(t.Origin) + ")"
		}
		b.WriteString(head + strings.ReplaceAll(display.Wrap(text, "", width-len(head)), "\n", "\n     ") + "\n")
		b.WriteString("     id " + t.ID + "\n")
		for _, line := range contentLines(t.Content) {
			b.WriteString("     > " + display.Clip(line, width-7) + "\n")
		}
	}
	if v.Held {
		b.WriteString(display.Wrap("The queue is held: "+(&host.Error{Code: v.Reason}).Error(), "", width) + "\n")
	}
	return b.String()
}

// contentLines is a message in one line for each of its blocks.
func contentLines(content []host.Content) []string {
	var out []string
	for _, c := range content {
		text := display.Line(c.Text)
		if c.Type != abi.ContentText {
			text = fmt.Sprintf("(%s %s %s)", c.Type, display.Line(c.Name), c.Digest)
		}
		out = append(out, text)
	}
	return out
}

// requeue does something with a queued turn and tells the queue that it left.
func (a *App) requeue(ctx context.Context, to target, name string, do func(c core.Core, conv host.Conversation, q queueView, t host.Turn) (host.Turn, error)) error {
	return a.withDaemon(ctx, func(c core.Core) error {
		conv, err := to.pick(ctx, c)
		if err != nil {
			return err
		}
		q, err := queueOf(ctx, c, conv.ID)
		if err != nil {
			return err
		}
		t, err := q.turn(ctx, c, conv.ID, name)
		if err != nil {
			return err
		}
		if t, err = do(c, conv, q, t); err != nil {
			return err
		}
		if a.json {
			return a.print(t)
		}
		if q, err = queueOf(ctx, c, conv.ID); err != nil {
			return err
		}
		return a.write("%s", queueText(q, a.con.Width))
	})
}

// versionFlag fences a change of a queued turn.
func versionFlag(cmd *cobra.Command, version *int64) {
	cmd.Flags().Int64Var(version, "version", 0, "only if the turn still has this version, as\nthe JSON of queue list tells it (default: the\none it has now)")
}

func versionOf(cmd *cobra.Command, version int64, t host.Turn) int64 {
	if cmd.Flags().Changed("version") {
		return version
	}
	return t.Version
}

func (a *App) queueEditCommand() *cobra.Command {
	var to target
	var version int64
	var attach []string
	var drop bool
	cmd := &cobra.Command{
		Use: "edit [flags] TURN (MESSAGE | -)", Short: "Give a message that waits another text", Args: exactly("a turn", "a message"),
		Long: `Give a message that waits another text. The settings that were frozen into it
stay, and so do its attachments, unless --drop-attachments is given.

` + howNamed,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.prompt(args[1:])
			if err != nil {
				return err
			}
			content, err := contentOf(text, attach)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return a.requeue(ctx, to, args[0], func(c core.Core, conv host.Conversation, _ queueView, t host.Turn) (host.Turn, error) {
				e := host.QueuedEdit{Version: versionOf(cmd, version, t), Content: content}
				for _, b := range t.Content {
					if b.Type != abi.ContentText && !drop {
						e.Content = append(e.Content, b)
					}
				}
				return c.EditQueued(ctx, conv.ID, t.ID, e)
			})
		},
	}
	to.flags(a, cmd)
	versionFlag(cmd, &version)
	cmd.Flags().StringArrayVar(&attach, "attach", nil, "image or file to send along; can be repeated")
	cmd.Flags().BoolVar(&drop, "drop-attachments", false, "leave out what is attached to it now")
	return cmd
}

func (a *App) queueMoveCommand() *cobra.Command {
	var to target
	var version int64
	var before string
	var first, end bool
	cmd := &cobra.Command{
		Use: "move [flags] TURN (--before TURN | --first | --end)", Short: "Let a message that waits run earlier or later", Args: exactly("a turn"),
		Long: `Let a message that waits run earlier or later than others. Answers, decisions
about plans and steering messages go first whatever is done here.

` + howNamed,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.requeue(ctx, to, args[0], func(c core.Core, conv host.Conversation, q queueView, t host.Turn) (host.Turn, error) {
				m := host.QueuedMove{Version: versionOf(cmd, version, t)}
				switch {
				case first:
					m.Before = q.firstMovable(t.ID)
				case before != "":
					o, err := q.turn(ctx, c, conv.ID, before)
					if err != nil {
						return t, err
					}
					m.Before = o.ID
				}
				return c.MoveQueued(ctx, conv.ID, t.ID, m)
			})
		},
	}
	to.flags(a, cmd)
	versionFlag(cmd, &version)
	idFlag(cmd.Flags(), &before, "before", "", "the turn that it is to run directly before")
	cmd.Flags().BoolVar(&first, "first", false, "before all other messages")
	cmd.Flags().BoolVar(&end, "end", false, "behind all others")
	cmd.MarkFlagsMutuallyExclusive("before", "first", "end")
	cmd.MarkFlagsOneRequired("before", "first", "end")
	return cmd
}

// firstMovable is the id of the first message that was sent by a person and not to
// the front (rule 21b); the turn itself when there is none.
func (v queueView) firstMovable(self string) string {
	for _, t := range v.Turns {
		switch t.Origin {
		case abi.OriginUser, abi.OriginRetry, "":
			return t.ID
		}
	}
	return self
}

func (a *App) queueCancelCommand() *cobra.Command {
	var to target
	var version int64
	cmd := &cobra.Command{
		Use: "cancel [flags] TURN", Short: "Take a message out of the queue", Args: exactly("a turn"),
		Long: "Take a message out of the queue. It can be sent with retry later.\n\n" + howNamed,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.requeue(ctx, to, args[0], func(c core.Core, conv host.Conversation, _ queueView, t host.Turn) (host.Turn, error) {
				return c.CancelQueued(ctx, conv.ID, t.ID, host.QueuedCancel{Version: versionOf(cmd, version, t)})
			})
		},
	}
	to.flags(a, cmd)
	versionFlag(cmd, &version)
	return cmd
}

func (a *App) queueResumeCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use: "resume [flags] [ID]", Short: "Let a held queue run again", Long: "Let a held queue run again.\n\n" + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.withDaemon(ctx, func(c core.Core) error {
				conv, err := to.pick(ctx, c)
				if err != nil {
					return err
				}
				k, err := c.ResumeQueue(ctx, conv.ID)
				switch {
				case err != nil:
					return err
				case a.json:
					return a.print(k)
				}
				v, err := queueOf(ctx, c, conv.ID)
				if err != nil {
					return err
				}
				return a.write("%s", queueText(v, a.con.Width))
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	return cmd
}
