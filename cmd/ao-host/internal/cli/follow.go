package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/chat"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// waitFlag makes a command that began something stay until it has ended.
func waitFlag(cmd *cobra.Command, wait *bool) {
	cmd.Flags().BoolVar(wait, "wait", false, "follow the turn until it has ended or a person\nis needed; the exit code says which")
}

// follower follows one turn that another process may be running: leaving it does
// not stop it, and nobody is asked anything.
type follower struct {
	a      *App
	c      core.Core
	conv   host.Conversation
	turn   host.Turn
	render *chat.Renderer
	// cards and plans are what is open.
	cards map[string]host.Interaction
	plans map[string]host.Proposal
	held  bool
}

// renderer shows the journal of a conversation that did not begin just now: turns
// and plans have the numbers that show gives them.
func (a *App) renderer(ctx context.Context, c core.Core, conv host.Conversation, seen func(host.Turn) bool) (*chat.Renderer, error) {
	r := chat.NewRenderer(a.Stdout, a.con.Width, a.con.Color)
	r.Dir, r.Whole = conv.Cwd, true
	turns, err := c.Turns(ctx, conv.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range turns {
		r.Know(t, seen(t))
	}
	plans, err := c.Plans(ctx, conv.ID)
	for _, p := range plans {
		r.Number("plan", p.ID)
	}
	return r, err
}

// errEnded is why a command ends when the person pressed Ctrl-C.
var errEnded = errors.New("ended by Ctrl-C")

// signalled ends a context at Ctrl-C or when the program is told to end; stop must
// be called. The cause is errEnded or errTerminated.
func (a *App) signalled(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if a.Signals == nil {
		return ctx, func() { cancel(nil) }
	}
	interrupt, terminate, end := a.Signals()
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-interrupt:
			cancel(errEnded)
		case <-terminate:
			cancel(errTerminated)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil); <-done; end() }
}

// follow shows what happens after a journal number until the turn has ended or
// cannot go on by itself, and returns the exit code as an error.
//
// Old says that the turn was there before, so its message is not shown again.
func (a *App) follow(ctx context.Context, c core.Core, conv host.Conversation, turn host.Turn, old bool) error {
	f := &follower{
		a: a, c: c, conv: conv, turn: turn,
		cards: map[string]host.Interaction{}, plans: map[string]host.Proposal{},
	}
	var err error
	if f.render, err = a.renderer(ctx, c, conv, func(t host.Turn) bool { return old || t.ID != turn.ID }); err != nil {
		return err
	}
	ctx, stop := a.signalled(ctx)
	defer stop()
	out, err := f.run(ctx)
	switch {
	case errors.Is(context.Cause(ctx), errTerminated):
		return status(ExitTerminated)
	case errors.Is(context.Cause(ctx), errEnded):
		out = chat.Quit
		f.say("The turn goes on. To see more of it:", a.command("watch", conv))
	case err != nil:
		return err
	}
	if a.json {
		err = json.NewEncoder(a.Stdout).Encode(runResult{
			Type: "result", Outcome: out.String(), Exit: exitOf(out), Conversation: conv.ID, Turn: f.turn.ID, State: f.turn.State,
		})
	}
	if err == nil && out != chat.Done {
		err = status(exitOf(out))
	}
	return err
}

func (f *follower) run(ctx context.Context) (chat.Outcome, error) {
	// A card that was open before keeps the turn from running, and no event will say
	// so again.
	open, err := f.c.Inputs(ctx, f.conv.ID)
	if err != nil {
		return chat.Failed, err
	}
	for _, i := range open {
		f.cards[i.ID] = i
	}
	// A turn that was quick has ended already; how, is only known when everything
	// that led there was shown. Of a repeated request all was told before.
	ended, last := f.turn, f.conv.LastSeq
	if ended.State.Ended() {
		now, err := f.c.Conversation(ctx, f.conv.ID)
		if err != nil {
			return chat.Failed, err
		}
		if last = now.LastSeq; last > f.conv.LastSeq {
			f.turn.State = host.TurnRunning
		}
		if out, done, err := f.outcome(ctx); done || err != nil {
			return out, err
		}
	}
	for ev, err := range f.c.Events(ctx, f.conv.ID, f.conv.LastSeq) {
		if err != nil {
			return chat.Failed, err
		}
		if err := f.event(ev); err != nil {
			return chat.Failed, err
		}
		if ended.State.Ended() && ev.Seq >= last {
			f.turn = ended
		}
		if out, done, err := f.outcome(ctx); done || err != nil {
			return out, err
		}
	}
	if ctx.Err() != nil {
		return chat.Quit, nil
	}
	return chat.Failed, &host.Error{Code: host.CodeClosed}
}

func (f *follower) event(ev host.Event) error {
	if f.a.json {
		if err := json.NewEncoder(f.a.Stdout).Encode(ev); err != nil {
			return err
		}
	} else if err := f.render.Event(ev); err != nil {
		return err
	}
	switch ev.Type {
	case host.EventTurn:
		return keep(ev, func(t host.Turn) {
			if t.ID == f.turn.ID {
				f.turn = t
			}
		})
	case host.EventQueue:
		return keep(ev, func(q host.Queue) { f.held = q.Held && slices.Contains(q.Turns, f.turn.ID) })
	case host.EventInteraction:
		return keep(ev, func(i host.Interaction) {
			if delete(f.cards, i.ID); i.State == host.InteractionOpen {
				f.cards[i.ID] = i
			}
		})
	case host.EventProposal:
		return keep(ev, func(p host.Proposal) {
			if delete(f.plans, p.ID); p.State == host.ProposalOpen {
				f.plans[p.ID] = p
			}
		})
	}
	return nil
}

func keep[T any](ev host.Event, do func(T)) error {
	var v T
	if err := json.Unmarshal(ev.Body, &v); err != nil {
		return err
	}
	do(v)
	return nil
}

// outcome says whether there is nothing left to wait for.
func (f *follower) outcome(ctx context.Context) (chat.Outcome, bool, error) {
	switch f.turn.State {
	case host.TurnFailed, host.TurnNotSent:
		return chat.Failed, true, nil
	case host.TurnUncertain:
		return chat.Uncertain, true, nil
	case host.TurnInterrupted, host.TurnCancelled, host.TurnSuperseded:
		return chat.Stopped, true, nil
	case host.TurnCompleted:
		return f.left()
	}
	if f.held {
		f.say("The message waits in a held queue. To go on:", f.a.command("queue resume", f.conv))
		return chat.Failed, true, nil
	}
	for _, i := range f.cards {
		if !i.Ask.Blocking {
			continue
		}
		// It may have been answered by a rule in the same moment.
		open, err := f.c.Inputs(ctx, f.conv.ID)
		if err != nil {
			return chat.Failed, true, err
		}
		if slices.ContainsFunc(open, func(o host.Interaction) bool { return o.ID == i.ID }) {
			f.asks(i)
			return chat.NeedsInput, true, nil
		}
	}
	return 0, false, nil
}

// left says whether a turn that ended well left something for a person.
func (f *follower) left() (chat.Outcome, bool, error) {
	for _, i := range f.cards {
		if i.Turn == f.turn.ID {
			f.asks(i)
			return chat.NeedsInput, true, nil
		}
	}
	for _, p := range f.plans {
		if p.Turn == f.turn.ID {
			f.say("The plan waits for a decision:", f.a.decisions(f.conv)...)
			return chat.NeedsInput, true, nil
		}
	}
	return chat.Done, true, nil
}

func (f *follower) asks(i host.Interaction) {
	if !f.a.json {
		// One that was open before this command began has not been shown by it.
		f.render.Card(i)
	}
	what := view.CardWord(i.Ask.Type) + ": it waits for a person. "
	if i.Ask.Type == abi.InteractionReview {
		f.say(what+"Decide with:", f.a.decisions(f.conv)...)
		return
	}
	f.say(what+"Answer with:", f.a.command("answer", f.conv)+exampleOf(i.Ask))
}

// say tells a person which commands go on from here.
func (f *follower) say(text string, commands ...string) {
	if f.a.json {
		return
	}
	f.render.Notice(text)
	for _, c := range commands {
		f.render.Paragraph("    " + c)
	}
}

// decisions are the command lines that decide on the open plan.
func (a *App) decisions(conv host.Conversation) []string {
	return []string{a.command("implement", conv), a.command("request-changes", conv) + " TEXT"}
}

// command is a command line about a conversation that finds the same data.
func (a *App) command(name string, conv host.Conversation) string {
	words := []string{"ao-host", name, "-c", conv.ID}
	if a.data != "" {
		words = append(words, "--data", shellWord(a.data))
	}
	return strings.Join(append(words, a.there.options()...), " ")
}
