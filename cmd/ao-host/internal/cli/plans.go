package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/host"
)

func (a *App) plansCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use: "plans [flags] [ID]", Short: "Show the open plan, and what became of the others",
		Long: "Show the open plan whole, and what became of the others.\n\n" + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(c core.Core) error {
				conv, err := to.pick(cmd.Context(), c)
				if err != nil {
					return err
				}
				plans, err := c.Plans(cmd.Context(), conv.ID)
				if err != nil {
					return err
				}
				if a.json {
					return a.print(listed(plans))
				}
				return a.write("%s", a.plansText(conv, plans))
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	return cmd
}

func (a *App) plansText(conv host.Conversation, plans []host.Proposal) string {
	if len(plans) == 0 {
		return "There are no plans.\n"
	}
	var b strings.Builder
	open := 0
	for i, p := range plans {
		fmt.Fprintf(&b, "plan %d, revision %d, %s\n  id %s\n", i+1, p.Revision, strings.ReplaceAll(string(p.State), "_", " "), p.ID)
		if p.State != host.ProposalOpen {
			continue
		}
		open++
		b.WriteString(display.Wrap(strings.TrimSpace(display.Text(p.Text)), "| ", a.con.Width) + "\n")
	}
	if open > 0 {
		b.WriteString("Decide with:\n    " + strings.Join(a.decisions(conv), "\n    ") + "\n")
	}
	return b.String()
}

// decision is what both decisions about a plan take.
type decision struct {
	to       target
	revision int64
	id       string
	wait     bool
}

func (d *decision) flags(a *App, cmd *cobra.Command) {
	d.to.flags(a, cmd)
	cmd.Flags().Int64Var(&d.revision, "revision", 0, "only if the plan still has this revision, as\nplans tells it (default: the one it has now)")
	clientIDFlag(cmd, &d.id)
	waitFlag(cmd, &d.wait)
}

// decide finds the plan and hands the decision over.
func (a *App) decide(cmd *cobra.Command, d decision, plan, feedback string, do func(core.Core, context.Context, string, host.PlanDecision) (host.Turn, error)) error {
	ctx := cmd.Context()
	return a.begin(ctx, d.to, d.wait, func(c core.Core, conv host.Conversation) (t host.Turn, old bool, err error) {
		plans, err := c.Plans(ctx, conv.ID)
		if err != nil {
			return t, false, err
		}
		p, err := planOf(plans, plan)
		if err != nil {
			return t, false, err
		}
		if !cmd.Flags().Changed("revision") {
			d.revision = p.Revision
		}
		t, err = do(c, ctx, conv.ID, host.PlanDecision{Proposal: p.ID, Revision: d.revision, ClientID: d.id, Feedback: feedback})
		// An agent that waits for the decision goes on in its turn.
		return t, t.ID == p.Turn, err
	})
}

// planOf finds a plan by its id, or the only one that is open.
func planOf(plans []host.Proposal, id string) (host.Proposal, error) {
	idOf := func(p host.Proposal) string { return p.ID }
	if id != "" {
		return only(plans, id, idOf, host.CodeUnknownProposal, "plan")
	}
	var open []host.Proposal
	for _, p := range plans {
		if p.State == host.ProposalOpen {
			open = append(open, p)
		}
	}
	switch len(open) {
	case 0:
		return host.Proposal{}, &host.Error{Code: host.CodeProposalClosed, Field: "plan", Detail: "No plan of this conversation is open."}
	case 1:
		return open[0], nil
	}
	text := fmt.Sprintf("%d plans are open; name one:", len(open))
	for _, p := range open {
		first, _, _ := strings.Cut(strings.TrimSpace(display.Text(p.Text)), "\n")
		text += "\n  " + display.Clip(p.ID+"  "+first, 77)
	}
	return host.Proposal{}, usagef("%s", text)
}

func (a *App) implementCommand() *cobra.Command {
	var d decision
	cmd := &cobra.Command{
		Use: "implement [flags] [PLAN]", Short: "Let a plan be implemented", Args: atMost("a plan"),
		Long: `Let a plan be implemented, with the remembered permission, in the mode that the
harness has for it. PLAN is an id or the beginning of one; without it it is the
one that is open.

` + howNamed + "\n\n" + exitCodesOfWait,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.decide(cmd, d, strings.Join(args, ""), "", core.Core.ContinuePlan)
		},
	}
	d.flags(a, cmd)
	return cmd
}

func (a *App) requestChangesCommand() *cobra.Command {
	var d decision
	cmd := &cobra.Command{
		Use: "request-changes [flags] [PLAN] (FEEDBACK | -)", Short: "Say what should change in a plan",
		Long: `Say what should change in a plan; planning goes on. PLAN is an id or the
beginning of one; without it it is the one that is open.

` + howNamed + "\n\n" + exitCodesOfWait,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return &usageError{text: fmt.Sprintf("%s takes what should change in one argument, after a plan or without one, and got %d arguments", cmd.CommandPath(), len(args)), command: cmd.CommandPath()}
			}
			return noneEmpty(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			feedback, err := a.prompt(args[len(args)-1:])
			if err != nil {
				return err
			}
			return a.decide(cmd, d, strings.Join(args[:len(args)-1], ""), feedback, core.Core.RequestChanges)
		},
	}
	d.flags(a, cmd)
	return cmd
}
