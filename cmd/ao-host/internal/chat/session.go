package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/console"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// Outcome is how a run ended.
type Outcome uint8

// The outcomes.
const (
	// Done: everything that was sent ended well and nothing waits.
	Done Outcome = iota
	// NeedsInput: a question, a request or a plan waits for a person.
	NeedsInput
	// Failed: the last turn failed, was not sent, or waits in a held queue.
	Failed
	// Uncertain: it is not known whether the last turn reached the agent.
	Uncertain
	// Stopped: the last turn was stopped or cancelled.
	Stopped
	// Quit: the person left while something was going on.
	Quit
)

// String names the outcome, for JSON output.
func (o Outcome) String() string {
	return [...]string{"done", "needs_input", "failed", "uncertain", "stopped", "quit"}[o]
}

// Session follows one conversation until nothing is left to do.
type Session struct {
	Core         core.Core
	Conversation string
	// After is the journal number after which the story of this run begins.
	After   uint64
	Console *console.Console
	// JSON: events are written as JSON lines and nobody is asked anything.
	JSON bool
	// Remote: the host goes on when this run has ended, and so does what the agent
	// waits for.
	Remote bool
	// Options are the options of the command line, as a shell reads them, with
	// which the conversation has to be gone on with.
	Options []string
	// Interrupt delivers the person's Ctrl-C.
	Interrupt <-chan struct{}

	render *Renderer
	seq    uint64
	// live are the turns of this run that have not ended.
	live map[string]host.Turn
	last host.Turn
	// cards are the open ones in the order they were opened.
	cards    []host.Interaction
	held     bool
	stopping bool
	active   *active
	// left are plans and cards that the person chose to leave.
	left map[string]bool
}

// active is the dialog that the person is in.
type active struct {
	dialog dialog
	// id is the card or plan it is about; revision that of the plan.
	id       string
	revision int64
	// finish hands the answer over.
	finish func(context.Context) error
}

// Run follows the conversation until its turns have ended and nothing waits, a
// person is needed and cannot be asked, or the person quits. The error is one
// of the host's.
func (s *Session) Run(ctx context.Context) (Outcome, error) {
	s.live, s.left, s.seq = map[string]host.Turn{}, map[string]bool{}, s.After
	s.render = NewRenderer(s.Console.Out, s.Console.Width, s.Console.Color)
	if s.JSON {
		s.render.w = io.Discard
	}
	if err := s.start(ctx); err != nil {
		return Failed, err
	}
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan arrived)
	ended := make(chan struct{})
	go s.follow(ctx, events, ended)
	defer func() { cancel(); <-ended; s.Console.Hush() }()
	// What was read above is newer than the first events: nothing is asked
	// before they were told.
	if err := s.catchUp(ctx, events); err != nil {
		return Failed, err
	}
	for {
		out, done, err := s.advance(ctx)
		if err != nil {
			return Failed, err
		}
		if done {
			if err := s.catchUp(ctx, events); err != nil {
				return out, err
			}
			if len(s.live) > 0 && (out == Failed || out == Stopped) {
				s.waiting()
			}
			return out, nil
		}
		select {
		case a, ok := <-events:
			switch {
			case !ok && ctx.Err() != nil:
				return Quit, nil
			case !ok:
				return Failed, &host.Error{Code: host.CodeClosed}
			}
			if a.err != nil {
				return Failed, a.err
			}
			if err := s.event(a.ev); err != nil {
				return Failed, err
			}
		case in := <-s.Console.Lines():
			out, done, err := s.typed(ctx, s.Console.Taken(in))
			if done || err != nil {
				return out, err
			}
		case <-s.Interrupt:
			if done, err := s.interrupt(ctx); done || err != nil {
				return Quit, err
			}
		case <-ctx.Done():
			return Quit, nil
		}
	}
}

// start reads what is going on already.
func (s *Session) start(ctx context.Context) error {
	turns, err := s.Core.Turns(ctx, s.Conversation)
	if err != nil {
		return err
	}
	for _, t := range turns {
		if !t.State.Ended() {
			s.live[t.ID] = t
		}
	}
	c, err := s.Core.Conversation(ctx, s.Conversation)
	if err != nil {
		return err
	}
	s.held = c.Queue.Held
	s.render.Dir, s.render.Whole = c.Cwd, !s.asks()
	s.cards, err = s.Core.Inputs(ctx, s.Conversation)
	return err
}

type arrived struct {
	ev  host.Event
	err error
}

func (s *Session) follow(ctx context.Context, out chan<- arrived, ended chan<- struct{}) {
	defer close(ended)
	defer close(out)
	for ev, err := range s.Core.Events(ctx, s.Conversation, s.After) {
		select {
		case out <- arrived{ev, err}:
		case <-ctx.Done():
			return
		}
	}
}

// latePatience is how long the next of the events that are committed may take.
const latePatience = 5 * time.Second

// catchUp shows everything that is committed by now.
func (s *Session) catchUp(ctx context.Context, events <-chan arrived) error {
	c, err := s.Core.Conversation(ctx, s.Conversation)
	if err != nil {
		return err
	}
	// The newest numbers may be compacted away, so the wait for the next has an end.
	late := time.NewTimer(latePatience)
	defer late.Stop()
	for s.seq < c.LastSeq {
		select {
		case a, ok := <-events:
			if !ok || a.err != nil {
				return a.err
			}
			if err := s.event(a.ev); err != nil {
				return err
			}
			late.Reset(latePatience)
		case <-late.C:
			return nil
		}
	}
	return nil
}

func (s *Session) event(ev host.Event) error {
	s.seq = max(s.seq, ev.Seq)
	if s.JSON {
		b, err := json.Marshal(ev)
		if err != nil {
			return err
		}
		if _, err := s.Console.Out.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	if err := s.note(ev); err != nil {
		return err
	}
	return s.render.Event(ev)
}

// note keeps what the run's end depends on.
func (s *Session) note(ev host.Event) error {
	switch ev.Type {
	case host.EventTurn:
		return view.Read(ev, s.turn)
	case host.EventQueue:
		return view.Read(ev, func(q host.Queue) { s.held = q.Held })
	case host.EventInteraction:
		return view.Read(ev, s.card)
	case host.EventProposal:
		return view.Read(ev, func(p host.Proposal) {
			if s.active != nil && s.active.id == p.ID && (p.State != host.ProposalOpen || p.Revision != s.active.revision) {
				s.active = nil
				s.Console.Hush()
			}
		})
	}
	return nil
}

func (s *Session) turn(t host.Turn) {
	if !t.State.Ended() {
		s.live[t.ID] = t
		return
	}
	delete(s.live, t.ID)
	if t.State != host.TurnSuperseded {
		s.last = t
	}
}

func (s *Session) card(i host.Interaction) {
	at := slices.IndexFunc(s.cards, func(c host.Interaction) bool { return c.ID == i.ID })
	switch {
	case i.State == host.InteractionOpen && at < 0:
		s.cards = append(s.cards, i)
	case i.State == host.InteractionOpen:
		s.cards[at] = i
	case at >= 0:
		s.cards = slices.Delete(s.cards, at, at+1)
	}
	if i.State != host.InteractionOpen && s.active != nil && s.active.id == i.ID {
		s.active = nil
		s.Console.Hush()
	}
}

// idle: nothing of ours runs or is going to.
func (s *Session) idle() bool {
	for _, t := range s.live {
		if t.State != host.TurnQueued || !s.held {
			return false
		}
	}
	return true
}

func (s *Session) asks() bool { return s.Console.Interactive && !s.JSON }

// advance begins the next dialog, or finds that the run is over.
func (s *Session) advance(ctx context.Context) (Outcome, bool, error) {
	if s.active != nil {
		return 0, false, nil
	}
	idle := s.idle()
	if !idle && s.stopping {
		return 0, false, nil
	}
	for _, c := range s.cards {
		if s.left[c.ID] || !c.Ask.Blocking && !idle {
			continue
		}
		if !s.asks() {
			s.unasked(view.CardWord(c.Ask.Type), c)
			return NeedsInput, true, nil
		}
		return 0, false, s.ask(ctx, c)
	}
	if !idle {
		return 0, false, nil
	}
	switch {
	case len(s.live) > 0 && s.stopping:
		return Stopped, true, nil
	case len(s.live) > 0:
		// What was sent waits in a held queue; the reason is told.
		return Failed, true, nil
	}
	if out := s.outcome(); out != Done {
		return out, true, nil
	}
	plans, err := s.Core.Plans(ctx, s.Conversation)
	if err != nil {
		return Failed, true, err
	}
	for _, p := range slices.Backward(plans) {
		if p.State != host.ProposalOpen || s.left[p.ID] {
			continue
		}
		if !s.asks() {
			s.render.proposal(p)
			s.unasked("Plan", host.Interaction{})
			return NeedsInput, true, nil
		}
		return 0, false, s.reviewPlan(ctx, p)
	}
	return Done, true, nil
}

// unasked says how to answer what a run without a terminal cannot ask.
func (s *Session) unasked(what string, c host.Interaction) {
	s.render.interaction(c)
	if s.Remote {
		s.render.Notice(what + ": it waits for a person, and standard input is not a terminal. The turn goes on when it is answered:")
		command := "inputs"
		if c.ID == "" || c.Ask.Type == abi.InteractionReview {
			command = "plans"
		}
		s.render.Paragraph("    " + strings.Join(slices.Concat([]string{"ao-host", command, "-c", s.Conversation}, s.Options), " "))
		return
	}
	text, more := what+": it waits for a person, and standard input is not a terminal. Answer in a terminal:", []string(nil)
	if c.Ask.Route == abi.RouteNative {
		// The agent's request ends with its process, which ends with this run.
		text = what + ": the agent waits for a person, and standard input is not a terminal. The turn is stopped; send it again in a terminal:"
		if c.Turn != "" {
			more = []string{"--retry", c.Turn}
		}
	}
	s.goOn(text, more...)
}

// waiting says that what was accepted is not lost.
func (s *Session) waiting() {
	what := "The message waits"
	if n := len(s.live); n > 1 {
		what = fmt.Sprintf("%d messages wait", n)
	}
	s.goOn(what + " in the queue. To go on:")
}

// goOn says with which command the conversation goes on.
func (s *Session) goOn(text string, more ...string) {
	s.render.Notice(text)
	s.render.Paragraph("    " + strings.Join(slices.Concat([]string{"ao-host run --conversation", s.Conversation}, more, s.Options), " "))
}

func (s *Session) outcome() Outcome {
	switch s.last.State {
	case host.TurnFailed, host.TurnNotSent:
		return Failed
	case host.TurnUncertain:
		return Uncertain
	case host.TurnInterrupted, host.TurnCancelled:
		return Stopped
	}
	return Done
}

// Last is the turn that ended last, zero if none did.
func (s *Session) Last() host.Turn { return s.last }

func (s *Session) ask(ctx context.Context, c host.Interaction) error {
	if c.Ask.Type == abi.InteractionReview {
		plans, err := s.Core.Plans(ctx, s.Conversation)
		if err != nil {
			return err
		}
		for _, p := range plans {
			if p.Interaction == c.ID && p.State == host.ProposalOpen {
				return s.reviewPlan(ctx, p)
			}
		}
	}
	// The card may be older than this run.
	s.render.interaction(c)
	s.begin(s.cardDialog(c))
	return nil
}

// cardDialog makes the dialog of a card.
func (s *Session) cardDialog(c host.Interaction) *active {
	width := s.Console.Width
	a := &active{id: c.ID}
	resolve := func(answer func() host.Answer) func(context.Context) error {
		return func(ctx context.Context) error {
			i, err := s.Core.ResolveInput(ctx, s.Conversation, c.ID, answer())
			if err != nil {
				return err
			}
			if i.AnswerTurn != "" {
				s.live[i.AnswerTurn] = host.Turn{ID: i.AnswerTurn, State: host.TurnQueued}
			}
			s.card(i)
			return nil
		}
	}
	switch c.Ask.Type {
	case abi.InteractionQuestion:
		q := &questions{fields: c.Ask.Fields, width: width}
		a.dialog, a.finish = q, resolve(q.answer)
	case abi.InteractionForm:
		m := form(width)
		a.dialog, a.finish = m, resolve(func() host.Answer {
			actions, _ := view.Form()
			ans := host.Answer{Action: actions[m.chosen]}
			if ans.Action == abi.ActionAccept {
				ans.Content = abi.Raw(m.text)
			}
			return ans
		})
	case abi.InteractionURL:
		m := address(c.Ask.URL, width)
		a.dialog, a.finish = m, resolve(func() host.Answer {
			actions, _ := view.Address(c.Ask.URL)
			return host.Answer{Action: actions[m.chosen]}
		})
	default:
		m := decisions(c.Ask.Decisions, width)
		a.dialog, a.finish = m, resolve(func() host.Answer {
			return host.Answer{Decision: c.Ask.Decisions[m.chosen].ID, Feedback: m.text}
		})
	}
	return a
}

func (s *Session) reviewPlan(ctx context.Context, p host.Proposal) error {
	c, err := s.Core.Conversation(ctx, s.Conversation)
	if err != nil {
		return err
	}
	// The plan may be older than this run, or its event may still be on its way.
	s.render.proposal(p)
	m := review(c.Settings.Permission, s.Console.Width)
	if p.Route == abi.RouteNative {
		m.entries[planLeave].Description = "the turn is stopped"
	}
	s.begin(&active{id: p.ID, revision: p.Revision, dialog: m, finish: func(ctx context.Context) error {
		return s.decide(ctx, p, m)
	}})
	return nil
}

func (s *Session) decide(ctx context.Context, p host.Proposal, m *menu) error {
	d := host.PlanDecision{Proposal: p.ID, Revision: p.Revision, Feedback: m.text}
	var t host.Turn
	var err error
	switch m.chosen {
	case planImplement:
		t, err = s.Core.ContinuePlan(ctx, s.Conversation, d)
	case planChange:
		t, err = s.Core.RequestChanges(ctx, s.Conversation, d)
	default:
		s.left[p.ID] = true
		if p.Route == abi.RouteNative {
			s.left[p.Interaction] = true
			s.stopping = true
			_, err = s.Core.Stop(ctx, s.Conversation, host.StopOptions{})
		}
		return err
	}
	if err == nil {
		s.left[p.ID], s.left[p.Interaction] = true, true
		if !t.State.Ended() {
			s.live[t.ID] = t
		}
	}
	return err
}

func (s *Session) begin(a *active) {
	s.active = a
	s.prompt(false)
}

// prompt shows what the dialog asks next, or only its last line when the same
// is asked again.
func (s *Session) prompt(again bool) {
	st, _ := s.active.dialog.next()
	if st.text != "" && !again {
		s.render.Paragraph(st.text)
	}
	s.Console.Ask(st.secret)
	s.render.Prompt(st.prompt)
}

// typed takes a line.
func (s *Session) typed(ctx context.Context, in console.Input) (Outcome, bool, error) {
	again := false
	switch {
	case errors.Is(in.Err, console.ErrLineTooLong):
		again = true
		s.render.Notice(in.Err.Error() + ".")
	case in.Err != nil:
		s.goOn("The input ended. What stays open can be answered in a terminal:")
		return NeedsInput, true, nil
	case s.active == nil:
		// Its card went while the line was on its way.
		return 0, false, nil
	default:
		if err := s.active.dialog.take(in.Line); err != nil {
			again = true
			s.render.Notice(err.Error() + ".")
		}
	}
	if s.active == nil {
		return 0, false, nil
	}
	if _, done := s.active.dialog.next(); !done {
		s.prompt(again)
		return 0, false, nil
	}
	a := s.active
	s.active = nil
	return 0, false, s.finished(ctx, a)
}

// finished hands over an answer. A refusal is told.
func (s *Session) finished(ctx context.Context, a *active) error {
	err := a.finish(ctx)
	if err == nil {
		return nil
	}
	switch host.CodeOf(err) {
	case host.CodeInteractionStale, host.CodeInteractionAnswered, host.CodeUnknownInteraction, host.CodeProposalClosed, host.CodeUnknownProposal:
		s.render.Notice(err.Error())
		s.left[a.id] = true
		return nil
	case host.CodeAnswerShape, host.CodeAnswerOption, host.CodeSecretFollowUp, host.CodeInvalidArgument, host.CodeEmptyMessage, host.CodeMessageTooLarge, host.CodeStoreFull:
		// The card or plan is still open, so it is asked again.
		s.render.Notice(err.Error())
		return nil
	case host.CodeNothingRunning:
		return nil
	}
	return err
}

// interrupt is the person's Ctrl-C: the first stops what runs, the second, or
// one while nothing runs, quits.
func (s *Session) interrupt(ctx context.Context) (quit bool, err error) {
	if s.stopping || s.idle() {
		return true, nil
	}
	s.stopping = true
	s.active = nil
	s.Console.Hush()
	s.render.Notice("Stopping the turn. Ctrl-C again quits.")
	_, err = s.Core.Stop(ctx, s.Conversation, host.StopOptions{})
	if host.CodeOf(err) == host.CodeNothingRunning {
		return false, nil
	}
	return false, err
}
