package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

func (a *App) inputsCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use: "inputs [flags] [ID]", Short: "Show what the agent asks and waits for",
		Long: "Show every open question, request, form and address of a conversation whole,\nwith what there is to choose from. They are answered with: ao-host answer\n\n" + howNamed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(c core.Core) error {
				conv, err := to.pick(cmd.Context(), c)
				if err != nil {
					return err
				}
				cards, err := c.Inputs(cmd.Context(), conv.ID)
				if err != nil {
					return err
				}
				if a.json {
					return a.print(listed(cards))
				}
				return a.write("%s", a.inputsText(conv, cards))
			})
		},
	}
	to.flags(a, cmd)
	to.orArgument(cmd, a)
	return cmd
}

func (a *App) inputsText(conv host.Conversation, cards []host.Interaction) string {
	if len(cards) == 0 {
		return "Nothing is asked.\n"
	}
	var b strings.Builder
	for i, card := range cards {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(view.WholeCard(card.Ask, a.con.Width) + "\n")
		fmt.Fprintf(&b, "  id %s\n", card.ID)
		how := a.command("answer", conv)
		if len(cards) > 1 {
			how += " --card " + card.ID
		}
		if card.Ask.Type == abi.InteractionReview {
			how = strings.Join(a.decisions(conv), "\n    ")
		}
		b.WriteString("    " + how + exampleOf(card.Ask) + "\n")
	}
	return b.String()
}

// exampleOf says what to write behind the command that answers a card.
func exampleOf(ask abi.Interaction) string {
	switch ask.Type {
	case abi.InteractionQuestion:
		var words []string
		for i, f := range ask.Fields {
			word := "NUMBER"
			switch {
			case f.Secret && len(f.Options) == 0 && len(ask.Fields) > 1:
				words = append(words, fmt.Sprintf("--stdin=%d", i+1))
				continue
			case f.Secret && len(f.Options) == 0:
				words = append(words, "--stdin")
				continue
			case len(f.Options) == 0:
				word = "TEXT"
			}
			if len(ask.Fields) > 1 {
				word = fmt.Sprintf("%d=%s", i+1, word)
			}
			words = append(words, word)
		}
		return " " + strings.Join(words, " ")
	case abi.InteractionForm:
		return " NAME=VALUE …"
	case abi.InteractionURL:
		return " accept"
	case abi.InteractionReview:
		return ""
	}
	return " NUMBER"
}

// cardOf finds a card by its id, or the only one that is open.
func cardOf(cards []host.Interaction, id string) (host.Interaction, error) {
	if id != "" {
		return only(cards, id, func(i host.Interaction) string { return i.ID }, host.CodeUnknownInteraction, "card")
	}
	switch len(cards) {
	case 0:
		return host.Interaction{}, &host.Error{Code: host.CodeUnknownInteraction, Field: "card", Detail: "Nothing is asked in this conversation."}
	case 1:
		return cards[0], nil
	}
	text := fmt.Sprintf("%d cards are open; name one with --card:", len(cards))
	for _, c := range cards {
		what := view.CardWord(c.Ask.Type) + ": " + view.Or(c.Ask.Title, firstOf(c.Ask))
		text += "\n  " + display.Clip(c.ID+"  "+what, 77)
	}
	return host.Interaction{}, usagef("%s", text)
}

func firstOf(ask abi.Interaction) string {
	if len(ask.Fields) > 0 {
		return ask.Fields[0].Text
	}
	return ask.Text + ask.Command + ask.URL
}
