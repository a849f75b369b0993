package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// HostChat is the port Chat on the library. It holds no state: what was a map of
// processes, a table of approvals and a queue of messages is in the host.
type HostChat struct {
	Host    *host.Host
	Threads Threads
}

var _ Chat = (*HostChat)(nil)

// Start makes the thread in both stores. There is no transaction over the two; the
// product's own id makes the second half safe to repeat after a crash.
func (c *HostChat) Start(ctx context.Context, t Thread) error {
	if err := c.Threads.Add(ctx, t); err != nil {
		return err
	}
	_, err := c.Host.Create(ctx, host.NewConversation{ID: t.ID, Harness: t.Agent, Cwd: t.Folder, Title: t.Title})
	return err
}

// SetPlanning chooses the mode by its meaning: its name differs between agents.
func (c *HostChat) SetPlanning(ctx context.Context, thread string, planning bool) error {
	k, err := c.Host.Controls(ctx, thread)
	if err == nil && k.Catalog == nil {
		k, err = c.Host.Probe(ctx, thread)
	}
	if err != nil {
		return err
	}
	meaning := abi.MeaningExecution
	if planning {
		meaning = abi.MeaningPlanning
	}
	i := slices.IndexFunc(k.Catalog.Modes, func(m abi.ModeChoice) bool { return m.Meaning == meaning })
	if i < 0 {
		return fmt.Errorf("this agent has no mode for %s", meaning)
	}
	_, err = c.Host.ConfigureNextTurn(ctx, thread, k.Revision, host.SettingsPatch{Mode: &k.Catalog.Modes[i].ID})
	return err
}

// Post accepts a message, whatever the agent does at the moment. A window that lost
// the answer posts again with the same id.
func (c *HostChat) Post(ctx context.Context, thread, messageID, text string) error {
	_, err := c.Host.Send(ctx, thread, host.Message{ClientID: messageID, Content: host.Text(text)})
	return err
}

// Pending lists what waits for the person: cards, and the plan that is open.
func (c *HostChat) Pending(ctx context.Context, thread string) ([]Pending, error) {
	cards, err := c.Host.Inputs(ctx, thread)
	if err != nil {
		return nil, err
	}
	var out []Pending
	for _, card := range cards {
		p := Pending{ID: card.ID, Kind: string(card.Ask.Type), Text: card.Ask.Text + card.Ask.Command + card.Ask.URL}
		for _, f := range card.Ask.Fields {
			p.Text += f.Text
			for _, o := range f.Options {
				p.Choices = append(p.Choices, o.Label)
			}
		}
		for _, d := range card.Ask.Decisions {
			p.Choices = append(p.Choices, d.Label)
		}
		if card.Ask.Type != abi.InteractionReview {
			out = append(out, p)
		}
	}
	plans, err := c.Host.Plans(ctx, thread)
	for _, p := range plans {
		if p.State == host.ProposalOpen {
			out = append(out, Pending{ID: p.ID, Kind: "plan", Text: p.Text, Revision: p.Revision})
		}
	}
	return out, err
}

// ErrDecided is what the controller shows as "somebody was faster".
var ErrDecided = errors.New("it was decided already")

// Decide hands a decision over. The first one counts, in every window.
func (c *HostChat) Decide(ctx context.Context, thread string, p Pending, v Verdict) error {
	var err error
	switch {
	case p.Kind == "plan" && v.Implement:
		_, err = c.Host.ContinuePlan(ctx, thread, host.PlanDecision{Proposal: p.ID, Revision: p.Revision})
	case p.Kind == "plan":
		_, err = c.Host.RequestChanges(ctx, thread, host.PlanDecision{Proposal: p.ID, Revision: p.Revision, Feedback: v.Feedback})
	default:
		err = c.answer(ctx, thread, p.ID, v.Choice)
	}
	switch host.CodeOf(err) {
	case host.CodeInteractionAnswered, host.CodeInteractionStale, host.CodeProposalClosed:
		return fmt.Errorf("%w: %w", ErrDecided, err)
	}
	return err
}

// answer chooses one thing; a product with forms and several questions a card
// shows the card itself, see "Answer" in docs/embedding.md.
func (c *HostChat) answer(ctx context.Context, thread, id string, choice int) error {
	cards, err := c.Host.Inputs(ctx, thread)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(cards, func(card host.Interaction) bool { return card.ID == id })
	if i < 0 {
		return ErrDecided
	}
	ask, a := cards[i].Ask, host.Answer{Action: abi.ActionDecline}
	switch {
	case choice < 0:
		// A form or an address is declined here.
	case choice < len(ask.Decisions):
		a = host.Answer{Decision: ask.Decisions[choice].ID}
	case len(ask.Fields) > 0:
		a = host.Answer{Fields: []abi.FieldAnswer{{Field: ask.Fields[0].ID, State: abi.StateAnswered, Selected: []int64{int64(choice)}}}}
	}
	_, err = c.Host.ResolveInput(ctx, thread, id, a)
	return err
}

// Stop stops what runs; that nothing runs is what was wanted.
func (c *HostChat) Stop(ctx context.Context, thread string) error {
	_, err := c.Host.Stop(ctx, thread, host.StopOptions{})
	if host.CodeOf(err) == host.CodeNothingRunning {
		return nil
	}
	return err
}
