package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// answerFlags is what a person writes to answer a card.
type answerFlags struct {
	to                    target
	card                  string
	values                []string
	other                 []string
	skip, none, stdin     fieldNames
	feedback, json        string
	decline, cancel, wait bool
}

// fieldNames is a flag that can be given alone or with the name of a field.
type fieldNames []string

// all is what stands for a flag that was given alone.
const all = "true"

// Set, String and Type make it a flag; as the help sees it, one without a value.
func (f *fieldNames) Set(name string) error {
	*f = append(*f, name)
	return nil
}

func (f *fieldNames) String() string { return "" }

// Type is the flag's type.
func (f *fieldNames) Type() string { return "bool" }

func (a *App) answerCommand() *cobra.Command {
	var f answerFlags
	cmd := &cobra.Command{
		Use: "answer [flags] [VALUE …]", Short: "Answer what the agent asks",
		Long: `Answer what the agent asks; ao-host inputs shows it.

A question takes the number, label or value of an option, or a text where there
are none; several for a question that takes several. Where more than one thing
is asked, write FIELD=VALUE: FIELD is the question's number, header or id. A
form takes NAME=VALUE for its members, a request the number, id or label of a
decision, an address "accept". A secret is read from standard input with
--stdin, never from the command line, where other programs could see it.

` + howNamed + "\n\n" + exitCodesOfWait,
		Example: `  ao-host answer 2
  ao-host answer 1=2 2=1 2=3
  ao-host answer --other "None of them, use tabs"
  ao-host answer --skip
  ao-host answer --stdin < token.txt
  ao-host answer name=demo count=3
  ao-host answer --json-answer - < answer.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.values = args
			return a.answer(cmd.Context(), f)
		},
	}
	f.to.flags(a, cmd)
	fl := cmd.Flags()
	idFlag(fl, &f.card, "card", "", "the card: its id, or the beginning of it\n(default: the only one that is open)")
	fl.StringArrayVar(&f.other, "other", nil, "a text of your own instead of an option, or\nFIELD=TEXT")
	fl.Var(&f.skip, "skip", "skip what is not answered, or --skip=FIELD")
	fl.Var(&f.none, "none", "choose none of the options, or --none=FIELD")
	fl.Var(&f.stdin, "stdin", "read the text of a field from standard input, or\n--stdin=FIELD; the only way for a secret")
	for _, name := range []string{"skip", "none", "stdin"} {
		fl.Lookup(name).NoOptDefVal = all
	}
	fl.StringVar(&f.feedback, "feedback", "", "a text that goes with a decision")
	fl.BoolVar(&f.decline, "decline", false, "refuse: the agent goes on without it")
	fl.BoolVar(&f.cancel, "cancel", false, "refuse, and give up what it was asked for")
	fl.StringVar(&f.json, "json-answer", "", `the whole answer as JSON, as the API takes it,
or "-" to read it from standard input`)
	waitFlag(cmd, &f.wait)
	cmd.MarkFlagsMutuallyExclusive("decline", "cancel")
	return cmd
}

func (a *App) answer(ctx context.Context, f answerFlags) error {
	return a.withDaemon(ctx, func(c core.Core) error {
		conv, err := f.to.pick(ctx, c)
		if err != nil {
			return err
		}
		cards, err := c.Inputs(ctx, conv.ID)
		if err != nil {
			return err
		}
		card, err := cardOf(cards, f.card)
		if host.CodeOf(err) == host.CodeUnknownInteraction && f.card != "" {
			// It may be closed: the host knows, and says what became of it.
			card, err = host.Interaction{ID: f.card}, nil
		}
		if err != nil {
			return err
		}
		ans, err := a.answerOf(f, card)
		if err != nil {
			return err
		}
		i, err := c.ResolveInput(ctx, conv.ID, card.ID, ans)
		if err != nil {
			return err
		}
		turn := i.Turn
		if i.AnswerTurn != "" {
			turn = i.AnswerTurn
		}
		if f.wait && turn != "" {
			t, err := c.Turn(ctx, conv.ID, turn)
			if err != nil {
				return err
			}
			return a.follow(ctx, c, conv, t, i.AnswerTurn == "")
		}
		if a.json {
			return a.print(i)
		}
		return a.lines(answeredText(i))
	})
}

func answeredText(i host.Interaction) string {
	text := view.CardWord(i.Ask.Type) + ": "
	switch {
	case i.AnswerTurn != "":
		text += "answered with the message " + i.AnswerTurn
	case i.State == host.InteractionClosed:
		text += string(i.Disposition)
	default:
		text += "the answer is on its way"
	}
	return text + "."
}

// answerOf turns what was written into the answer to a card.
func (a *App) answerOf(f answerFlags, card host.Interaction) (host.Answer, error) {
	if f.json != "" {
		return a.jsonAnswer(f)
	}
	switch card.Ask.Type {
	case abi.InteractionQuestion:
		return a.questionAnswer(f, card.Ask)
	case abi.InteractionForm:
		return a.formAnswer(f, card.Ask)
	case abi.InteractionURL:
		return urlAnswer(f, card.Ask)
	case "":
		// Nothing is known of a card that is not open; the host refuses it by its id.
		return host.Answer{}, nil
	}
	return decisionAnswer(f, card.Ask)
}

func (a *App) jsonAnswer(f answerFlags) (host.Answer, error) {
	var ans host.Answer
	if len(f.values)+len(f.other)+len(f.skip)+len(f.none)+len(f.stdin) > 0 || f.decline || f.cancel || f.feedback != "" {
		return ans, usagef("--json-answer is the whole answer; leave the rest out")
	}
	text := f.json
	if text == "-" {
		var err error
		if text, err = a.input("answer"); err != nil {
			return ans, err
		}
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&ans); err != nil {
		return ans, usagef("the answer is not the JSON that the API takes: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return ans, usagef("there is something behind the JSON of the answer")
	}
	return ans, nil
}

// rejecting is what --decline and --cancel mean for a decision.
func (f answerFlags) rejecting() (kinds []abi.DecisionKind, flag string) {
	if f.cancel {
		return []abi.DecisionKind{abi.DecisionCancel}, "--cancel"
	}
	return []abi.DecisionKind{abi.RejectOnce, abi.RejectAlways}, "--decline"
}

func decisionAnswer(f answerFlags, ask abi.Interaction) (host.Answer, error) {
	if len(f.other)+len(f.skip)+len(f.none)+len(f.stdin) > 0 {
		return host.Answer{}, usagef("a request takes one of its decisions, and maybe --feedback:\n%s", offered(ask))
	}
	if f.decline || f.cancel {
		kinds, flag := f.rejecting()
		for _, k := range kinds {
			for _, d := range ask.Decisions {
				if d.Kind == k && len(f.values) == 0 {
					return host.Answer{Decision: d.ID, Feedback: f.feedback}, nil
				}
			}
		}
		if len(f.values) > 0 {
			return host.Answer{}, usagef("%s is a decision already; leave the other one out", flag)
		}
		return host.Answer{}, usagef("the request offers nothing that is %s; choose one of these:\n%s", flag, offered(ask))
	}
	if len(f.values) != 1 {
		return host.Answer{}, usagef("a request takes one of its decisions, and got %d:\n%s", len(f.values), offered(ask))
	}
	names := make([][]string, 0, len(ask.Decisions))
	for _, d := range ask.Decisions {
		names = append(names, []string{d.ID, d.Label})
	}
	i, err := chosen(f.values[0], names)
	if err != nil {
		return host.Answer{}, usagef("%v; choose one of these:\n%s", err, offered(ask))
	}
	return host.Answer{Decision: ask.Decisions[i].ID, Feedback: f.feedback}, nil
}

func offered(ask abi.Interaction) string {
	return view.Entries(view.Decisions(ask.Decisions), 78)
}

func urlAnswer(f answerFlags, ask abi.Interaction) (host.Answer, error) {
	if len(f.other)+len(f.skip)+len(f.none)+len(f.stdin) > 0 || f.feedback != "" {
		return host.Answer{}, usagef("an address takes accept, --decline or --cancel")
	}
	actions, _ := view.Address(ask.URL)
	for _, act := range actions {
		word := len(f.values) == 1 && f.values[0] == string(act)
		flag := len(f.values) == 0 && (act == abi.ActionDecline && f.decline || act == abi.ActionCancel && f.cancel)
		if word && !f.decline && !f.cancel || flag {
			return host.Answer{Action: act}, nil
		}
	}
	if len(actions) == 2 {
		return host.Answer{}, usagef("the address %s is neither encrypted nor on this machine, so it can only be refused: --decline or --cancel", display.Exact(ask.URL))
	}
	return host.Answer{}, usagef("an address takes accept, --decline or --cancel")
}
