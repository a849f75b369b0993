package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/chat"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

const timeLayout = "2006-01-02 15:04"

func (a *App) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the conversations, the newest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(c core.Core) error {
				all, err := c.Conversations(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.print(listed(all))
				}
				if len(all) == 0 {
					return a.lines("There are no conversations yet. Begin one with: ao-host run --harness H PROMPT")
				}
				for _, conv := range all {
					head := []string{conv.ID, display.Line(conv.Harness), conv.UpdatedAt.Local().Format(timeLayout), queueWord(conv.Queue)}
					what := display.Exact(conv.Cwd)
					if conv.Title != "" {
						what = display.Line(conv.Title) + " – " + what
					}
					if err := a.lines(strings.TrimRight(strings.Join(head, "  "), " "), "    "+display.Clip(what, a.con.Width-4)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func queueWord(q host.Queue) string {
	if len(q.Turns) == 0 && !q.Held {
		return ""
	}
	s := fmt.Sprintf("%d queued", len(q.Turns))
	if q.Held {
		s += ", held"
	}
	return s
}

// conversationView is what show writes as JSON.
type conversationView struct {
	Conversation host.Conversation  `json:"conversation"`
	Controls     host.Controls      `json:"controls"`
	Turns        []host.Turn        `json:"turns"`
	Inputs       []host.Interaction `json:"inputs"`
	Plans        []host.Proposal    `json:"plans"`
}

func (a *App) showCommand() *cobra.Command {
	var to target
	var transcript bool
	cmd := &cobra.Command{
		Use: "show [flags] [ID]", Short: "Show a conversation: turns, frozen settings, states",
		Long: "Show a conversation: its turns with their frozen settings and states, and what\nis open. With --transcript what was said and done instead, as run shows it.\n\n" + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(c core.Core) error {
				ctx := cmd.Context()
				conv, err := to.pick(ctx, c)
				if err != nil {
					return err
				}
				if transcript {
					return a.transcript(ctx, c, conv)
				}
				v := conversationView{Conversation: conv}
				if v.Controls, err = c.Controls(ctx, conv.ID); err != nil {
					return err
				}
				if v.Turns, err = c.Turns(ctx, conv.ID); err != nil {
					return err
				}
				if v.Inputs, err = c.Inputs(ctx, conv.ID); err != nil {
					return err
				}
				if v.Plans, err = c.Plans(ctx, conv.ID); err != nil {
					return err
				}
				if a.json {
					v.Turns, v.Inputs, v.Plans = listed(v.Turns), listed(v.Inputs), listed(v.Plans)
					return a.print(v)
				}
				return a.write("%s", showText(v, a.con.Width))
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	cmd.Flags().BoolVar(&transcript, "transcript", false, "show what was said and done")
	return cmd
}

// transcript shows the journal of a conversation to a person; the JSON of it is
// what export writes.
func (a *App) transcript(ctx context.Context, c core.Core, conv host.Conversation) error {
	if a.json {
		return c.Export(ctx, conv.ID, a.Stdout)
	}
	var journal bytes.Buffer
	if err := c.Export(ctx, conv.ID, &journal); err != nil {
		return err
	}
	r := chat.NewRenderer(a.Stdout, a.con.Width, a.con.Color)
	r.Dir, r.Whole = conv.Cwd, true
	if conv.JournalFloor > 0 {
		turns, err := c.Turns(ctx, conv.ID)
		if err != nil {
			return err
		}
		for _, t := range turns {
			r.Know(t, false)
		}
		r.Notice("What was said before this moment is not in the journal any more.")
	}
	for dec := json.NewDecoder(&journal); ; {
		var ev host.Event
		if err := dec.Decode(&ev); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the journal cannot be read: %w", err)
		}
		if err := r.Event(ev); err != nil {
			return err
		}
	}
}

func showText(v conversationView, width int) string {
	c := v.Conversation
	var b strings.Builder
	line := func(prefix, text string) { b.WriteString(display.Wrap(text, prefix, width) + "\n") }
	line("", "conversation "+c.ID)
	if c.Title != "" {
		line("  ", display.Line(c.Title))
	}
	line("  ", display.Line(c.Harness)+" in "+display.Exact(c.Cwd))
	line("  ", fmt.Sprintf("remembered (revision %d): %s", c.Revision, view.Settings(c.Settings)))
	if o := v.Controls.Observed; o != nil {
		line("  ", "the harness reports: "+view.Settings(abi.Settings{Mode: o.Mode, Permission: o.Permission, Model: o.Model, Effort: o.Effort, Options: o.Options}))
	}
	if c.Queue.Held {
		line("  ", "queue held: "+(&host.Error{Code: c.Queue.Reason}).Error())
	}
	for _, p := range v.Controls.Problems {
		line("  ", "problem: "+display.Line(strings.TrimSpace(p.Code+": "+p.Message)))
	}
	for i, t := range v.Turns {
		b.WriteString("\n")
		line("", fmt.Sprintf("turn %d, %s, from %s: %s", i+1, strings.ReplaceAll(string(t.State), "_", " "), t.AcceptedAt.Local().Format(timeLayout), originText(t.Origin)))
		line("  ", view.Settings(t.Settings))
		line("  ", "id "+t.ID)
		for _, content := range t.Content {
			text := display.Line(content.Text)
			if content.Type != abi.ContentText {
				text = fmt.Sprintf("(%s %s %s)", content.Type, display.Line(content.Name), content.Digest)
			}
			b.WriteString("  > " + display.Clip(text, width-4) + "\n")
		}
		if t.Code != "" || t.Message != "" {
			line("  ! ", display.Line(strings.TrimPrefix(t.Code+": "+t.Message, ": ")))
		}
	}
	if len(v.Inputs) > 0 {
		b.WriteString("\n")
		line("", fmt.Sprintf("%d open to be answered with: ao-host answer -c %s", len(v.Inputs), c.ID))
		for _, i := range v.Inputs {
			b.WriteString(view.WholeCard(i.Ask, width) + "\n")
		}
	}
	for _, p := range v.Plans {
		if p.State == host.ProposalOpen {
			b.WriteString("\n")
			line("", fmt.Sprintf("open plan, revision %d", p.Revision))
			line("| ", strings.TrimSpace(display.Text(p.Text)))
		}
	}
	return b.String()
}

func originText(o abi.Origin) string {
	switch o {
	case abi.OriginUser, "":
		return "a message"
	case abi.OriginAnswer:
		return "an answer to a question"
	case abi.OriginImplement:
		return "a plan's implementation"
	case abi.OriginFeedback:
		return "changes to a plan"
	case abi.OriginRetry:
		return "a message sent again"
	case abi.OriginSteer:
		return "a message that steers"
	}
	return display.Line(string(o))
}

func (a *App) exportCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use: "export [flags] [ID]", Short: "Write the whole journal of a conversation as JSON lines",
		Long: "Write the whole journal of a conversation as JSON lines.\n\n" + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(c core.Core) error {
				conv, err := to.pick(cmd.Context(), c)
				if err != nil {
					return err
				}
				return c.Export(cmd.Context(), conv.ID, a.Stdout)
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	return cmd
}
