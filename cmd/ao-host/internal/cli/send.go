package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// exitCodesOfWait is the help's sentence about --wait.
const exitCodesOfWait = `With --wait what the turn does is shown until it has ended or needs a person;
the exit code says which, see: ao-host help exit-codes`

// oneMessage wants a message, or only attachments.
func oneMessage(attach *[]string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return &usageError{text: fmt.Sprintf("the message is one argument, and there are %d; put it in quotes", len(args)), command: cmd.CommandPath()}
		case len(args) == 0 && (attach == nil || len(*attach) == 0):
			return &usageError{text: cmd.CommandPath() + " takes a message", command: cmd.CommandPath()}
		}
		return nil
	}
}

func (a *App) sendCommand() *cobra.Command {
	var to target
	var set settingFlags
	var attach []string
	var id string
	var wait bool
	cmd := &cobra.Command{
		Use: "send [flags] (MESSAGE | -)", Short: "Send a message, and return when it is accepted",
		Long: `Send a message, and return when it is accepted: it is kept, and runs when its
turn has come. The remembered settings of this moment are frozen into it; a
setting that is given here holds for this message alone. "-" reads the message
from standard input.

` + howNamed + "\n\n" + exitCodesOfWait,
		Args: oneMessage(&attach),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := set.patch(cmd)
			if err != nil {
				return err
			}
			m := host.Message{ClientID: id}
			if !isEmpty(patch) {
				m.Settings = &patch
			}
			return a.message(cmd.Context(), to, args, attach, m, wait, core.Core.Send)
		},
	}
	to.flags(a, cmd)
	set.flags(cmd)
	cmd.Flags().StringArrayVar(&attach, "attach", nil, "image or file to send along; can be repeated")
	clientIDFlag(cmd, &id)
	waitFlag(cmd, &wait)
	return cmd
}

func (a *App) steerCommand() *cobra.Command {
	var to target
	var attach []string
	var id string
	var wait bool
	cmd := &cobra.Command{
		Use: "steer [flags] (MESSAGE | -)", Short: "Send a message into the turn that runs",
		Long: `Send a message into the turn that runs. Where the harness cannot take it there,
the turn is cancelled and the message sent, or it waits for the turn's end.

` + howNamed + "\n\n" + exitCodesOfWait,
		Args: oneMessage(&attach),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.message(cmd.Context(), to, args, attach, host.Message{ClientID: id}, wait, core.Core.Steer)
		},
	}
	to.flags(a, cmd)
	cmd.Flags().StringArrayVar(&attach, "attach", nil, "image or file to send along; can be repeated")
	clientIDFlag(cmd, &id)
	waitFlag(cmd, &wait)
	return cmd
}

// clientIDFlag takes the id that makes it safe to run a command again.
func clientIDFlag(cmd *cobra.Command, p *string) {
	idFlag(cmd.Flags(), p, "client-id", "", "id of your own for this request: running the\ncommand again with it does it only once")
}

// message sends a message in one way or the other.
func (a *App) message(ctx context.Context, to target, args, attach []string, m host.Message, wait bool, send func(core.Core, context.Context, string, host.Message) (host.Turn, error)) error {
	text, err := a.prompt(args)
	if err != nil {
		return err
	}
	if m.Content, err = contentOf(text, attach); err != nil {
		return err
	}
	return a.begin(ctx, to, wait, func(c core.Core, conv host.Conversation) (host.Turn, bool, error) {
		t, err := send(c, ctx, conv.ID, m)
		return t, false, err
	})
}

// begin does something that makes a turn, or lets an old one go on, and tells of
// it or follows it.
func (a *App) begin(ctx context.Context, to target, wait bool, do func(core.Core, host.Conversation) (t host.Turn, old bool, err error)) error {
	return a.withDaemon(ctx, func(c core.Core) error {
		conv, err := to.pick(ctx, c)
		if err != nil {
			return err
		}
		t, old, err := do(c, conv)
		switch {
		case err != nil:
			return err
		case wait:
			return a.follow(ctx, c, conv, t, old)
		case a.json:
			return a.print(t)
		}
		return a.tellTurn(ctx, c, conv, t)
	})
}

// tellTurn says what became of a submission so far.
func (a *App) tellTurn(ctx context.Context, c core.Core, conv host.Conversation, t host.Turn) error {
	k, err := c.Controls(ctx, conv.ID)
	if err != nil {
		return err
	}
	text := "turn " + t.ID + ": " + view.StateWord(t.State)
	ahead := 0
	for _, id := range k.Queue.Turns {
		if id == t.ID {
			break
		}
		ahead++
	}
	waits := t.State == host.TurnQueued && ahead < len(k.Queue.Turns)
	switch {
	case waits && k.Queue.Held:
		text += "; the queue is held: " + (&host.Error{Code: k.Queue.Reason}).Error()
	case waits && ahead > 0:
		text += fmt.Sprintf(", %d before it", ahead)
	}
	return a.lines(display.Wrap(text, "", a.con.Width), "  "+view.Settings(t.Settings))
}

func (a *App) retryCommand() *cobra.Command {
	var to target
	var id string
	var wait, again bool
	cmd := &cobra.Command{
		Use: "retry [flags] [TURN]", Short: "Send the message of an ended turn again",
		Long: `Send the message of an ended turn again, with the settings that are remembered
now. TURN is an id or the beginning of one; without it it is the newest turn. A
turn that used tools is sent again only with --repeat-work.

` + howNamed + "\n\n" + exitCodesOfWait,
		Args: atMost("a turn"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.begin(ctx, to, wait, func(c core.Core, conv host.Conversation) (t host.Turn, old bool, err error) {
				turns, err := c.Turns(ctx, conv.ID)
				switch {
				case err != nil:
					return t, false, err
				case len(args) == 0 && len(turns) == 0:
					return t, false, usagef("the conversation has no turn yet")
				case len(args) == 0:
					t = turns[len(turns)-1]
				default:
					if t, err = turnOf(turns, args[0]); err != nil {
						return t, false, err
					}
				}
				t, err = c.Retry(ctx, conv.ID, t.ID, host.RetryRequest{ClientID: id, RepeatWork: again})
				return t, false, err
			})
		},
	}
	to.flags(a, cmd)
	cmd.Flags().BoolVar(&again, "repeat-work", false, "also a turn that used tools, whose work may\nthen be done twice")
	clientIDFlag(cmd, &id)
	waitFlag(cmd, &wait)
	return cmd
}

// turnOf finds a turn by its id or the beginning of it.
func turnOf(turns []host.Turn, id string) (host.Turn, error) {
	return only(turns, id, func(t host.Turn) string { return t.ID }, host.CodeUnknownTurn, "turn")
}

// only finds the one thing whose id is, or begins with, what a person wrote.
func only[T any](all []T, id string, idOf func(T) string, unknown host.Code, field string) (T, error) {
	var found []T
	for _, v := range all {
		switch {
		case idOf(v) == id:
			return v, nil
		case id != "" && len(idOf(v)) > len(id) && idOf(v)[:len(id)] == id:
			found = append(found, v)
		}
	}
	var none T
	switch len(found) {
	case 0:
		return none, &host.Error{Code: unknown, Field: field, Detail: fmt.Sprintf("%q was not found.", id)}
	case 1:
		return found[0], nil
	}
	return none, usagef("%d of them begin with %q; write more of the id", len(found), id)
}

// atMost takes one argument or none.
func atMost(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return &usageError{text: fmt.Sprintf("%s takes at most %s, and got %d arguments", cmd.CommandPath(), name, len(args)), command: cmd.CommandPath()}
		}
		return noneEmpty(cmd, args)
	}
}
