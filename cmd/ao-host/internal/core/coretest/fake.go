// Package coretest is a host in memory whose agent is a few functions of the
// test. It keeps the rules that a client can see (numbers, states, one answer
// a card) and nothing else.
package coretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

// Fake is the host. The On functions are the agent: each runs in a goroutine
// of its own when the thing happened, and says what follows with the methods
// Become, Emit, Ask and Propose. A nil one does nothing.
type Fake struct {
	OnSend   func(f *Fake, t host.Turn)
	OnAnswer func(f *Fake, i host.Interaction, a host.Answer)
	OnPlan   func(f *Fake, p host.Proposal, t host.Turn)
	OnStop   func(f *Fake)
	// Sent is told every message.
	Sent func(m host.Message)
	// OnControls sets what a live session would show.
	OnControls func(k *host.Controls)
	// Fail makes a method, by name, return an error.
	Fail map[string]error
	// Installed are the bindings.
	Installed []host.BindingInfo

	mu            sync.Mutex
	conversations []host.Conversation
	turns         []host.Turn
	cards         []host.Interaction
	plans         []host.Proposal
	events        []host.Event
	calls         []string
	wake          chan struct{}
	agents        sync.WaitGroup
	ids           int
}

var _ core.Core = (*Fake)(nil)

// Epoch is the time of everything.
var Epoch = time.Date(2026, 11, 30, 9, 30, 0, 0, time.UTC)

// New returns an empty host with one binding, "echo".
func New() *Fake {
	return &Fake{
		wake: make(chan struct{}), Fail: map[string]error{},
		Installed: []host.BindingInfo{{Harness: "echo", BuiltIn: true, Allowed: true, Digest: "sha256:0123456789abcdef", Manifest: abi.Manifest{Harness: "echo", Title: "Echo", BindingVersion: "1.2.3"}}},
	}
}

// Opener opens the fake whatever folder is asked for.
func (f *Fake) Opener() core.Opener {
	return func(context.Context, host.Config) (core.Core, error) { return f, f.called("Open", "") }
}

// Calls are the calls that change something, in order.
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func (f *Fake) called(method, args string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if args != "" {
		f.calls = append(f.calls, method+" "+args)
	}
	return f.Fail[method]
}

func (f *Fake) id(kind string) string {
	f.ids++
	return fmt.Sprintf("%s-%d", kind, f.ids)
}

func (f *Fake) agent(do func()) {
	f.agents.Add(1)
	go func() { defer f.agents.Done(); do() }()
}

// emit appends to the journal; the lock is held.
func (f *Fake) emit(t host.EventType, turn string, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	f.events = append(f.events, host.Event{Seq: uint64(len(f.events) + 1), At: Epoch, Type: t, Turn: turn, Body: b})
	for i := range f.conversations {
		f.conversations[i].LastSeq = uint64(len(f.events))
	}
	close(f.wake)
	f.wake = make(chan struct{})
}

// Emit appends an event to the journal.
func (f *Fake) Emit(t host.EventType, turn string, body any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emit(t, turn, body)
}

// Commit appends several events at once, as one transaction does.
func (f *Fake) Commit(do func(emit func(t host.EventType, turn string, body any))) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.emit)
}

// Say streams a message and completes it.
func (f *Fake) Say(turn, item string, pieces ...string) {
	whole := ""
	for _, p := range pieces {
		whole += p
		f.Emit(host.EventDelta, turn, abi.Delta{Turn: turn, Item: item, Channel: abi.ChannelText, Text: p})
	}
	f.Emit(host.EventItem, turn, abi.Item{Turn: turn, ID: item, Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: whole})
}

// Become moves a turn to a state; change, if not nil, sets more of it.
func (f *Fake) Become(id string, s host.TurnState, change func(*host.Turn)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.turns {
		if f.turns[i].ID == id {
			f.turns[i].State = s
			if change != nil {
				change(&f.turns[i])
			}
			f.emit(host.EventTurn, id, f.turns[i])
		}
	}
}

// Hold holds the queue, or releases it when the reason is empty.
func (f *Fake) Hold(reason host.Code) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conversations[0].Queue = host.Queue{Held: reason != "", Reason: reason}
	f.emit(host.EventQueue, "", f.conversations[0].Queue)
}

// Ask opens a card and returns its id.
func (f *Fake) Ask(turn string, a abi.Interaction) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := host.Interaction{ID: f.id("card"), State: host.InteractionOpen, Turn: turn, Generation: 1, Ask: a, OpenedAt: Epoch}
	f.cards = append(f.cards, i)
	f.emit(host.EventInteraction, turn, i)
	return i.ID
}

// CloseCard closes a card as the provider does.
func (f *Fake) CloseCard(id string, d abi.Disposition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closeCard(id, d)
}

func (f *Fake) closeCard(id string, d abi.Disposition) host.Interaction {
	for i := range f.cards {
		if f.cards[i].ID == id {
			f.cards[i].State, f.cards[i].Disposition = host.InteractionClosed, d
			f.emit(host.EventInteraction, f.cards[i].Turn, f.cards[i])
			return f.cards[i]
		}
	}
	return host.Interaction{}
}

// Propose offers a plan, or a new revision of it, and returns its id.
func (f *Fake) Propose(p host.Proposal) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.ID == "" {
		p.ID = f.id("plan")
	}
	p.State, p.OpenedAt = host.ProposalOpen, Epoch
	f.plans = append(f.plans, p)
	f.emit(host.EventProposal, p.Turn, p)
	return p.ID
}

// Close waits for the agents.
func (f *Fake) Close(context.Context) error {
	f.agents.Wait()
	return f.called("Close", "now")
}

// Create makes the conversation.
func (f *Fake) Create(_ context.Context, n host.NewConversation) (host.Conversation, error) {
	if err := f.called("Create", n.Harness+" "+patchText(n.Settings)); err != nil {
		return host.Conversation{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := host.Conversation{ID: f.id("conversation"), Harness: n.Harness, Cwd: n.Cwd, Title: n.Title, CreatedAt: Epoch, UpdatedAt: Epoch, Revision: 1}
	apply(&c.Settings, n.Settings)
	f.conversations = append(f.conversations, c)
	f.emit(host.EventConversationCreated, "", c)
	return f.conversations[len(f.conversations)-1], nil
}

// Relocate moves a conversation.
func (f *Fake) Relocate(_ context.Context, conversation, dir string) (host.Conversation, error) {
	if err := f.called("Relocate", dir); err != nil {
		return host.Conversation{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.conversations {
		if f.conversations[i].ID == conversation {
			f.conversations[i].Cwd = dir
			f.emit(host.EventRelocated, "", host.Relocation{Cwd: dir})
			return f.conversations[i], nil
		}
	}
	return host.Conversation{}, &host.Error{Code: host.CodeUnknownConversation}
}

// Delete removes a conversation.
func (f *Fake) Delete(_ context.Context, conversation string, r host.DeleteRequest) error {
	if err := f.called("Delete", fmt.Sprint(conversation, " ", r.Unfinished)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conversations = slices.DeleteFunc(f.conversations, func(c host.Conversation) bool { return c.ID == conversation })
	return nil
}

// Prune removes the events before a number or a time.
func (f *Fake) Prune(_ context.Context, conversation string, r host.PruneRequest) (host.Pruned, error) {
	b, err := json.Marshal(r)
	if err = errors.Join(err, f.called("Prune", conversation+" "+string(b))); err != nil {
		return host.Pruned{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range f.conversations {
		if c.ID == conversation {
			f.conversations[i].JournalFloor = max(c.JournalFloor, r.Before)
			return host.Pruned{Floor: f.conversations[i].JournalFloor}, nil
		}
	}
	return host.Pruned{}, &host.Error{Code: host.CodeUnknownConversation}
}

func patchText(p host.SettingsPatch) string {
	b, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func apply(s *abi.Settings, p host.SettingsPatch) {
	for _, m := range []struct{ to, from *string }{{&s.Mode, p.Mode}, {&s.Model, p.Model}, {&s.Effort, p.Effort}} {
		if m.from != nil {
			*m.to = *m.from
		}
	}
	if p.Permission != nil {
		s.Permission = *p.Permission
	}
}

// Conversations lists what was made, the newest first.
func (f *Fake) Conversations(context.Context) ([]host.Conversation, error) {
	err := f.called("Conversations", "")
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.conversations)
	slices.Reverse(out)
	return out, err
}

// Conversation returns one.
func (f *Fake) Conversation(_ context.Context, id string) (host.Conversation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conversations {
		if c.ID == id {
			return c, nil
		}
	}
	return host.Conversation{}, &host.Error{Code: host.CodeUnknownConversation}
}

// Turns lists the turns.
func (f *Fake) Turns(context.Context, string) ([]host.Turn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]host.Turn(nil), f.turns...), nil
}

// Controls shows the remembered settings.
func (f *Fake) Controls(_ context.Context, id string) (host.Controls, error) {
	c, err := f.Conversation(context.Background(), id)
	k := host.Controls{Conversation: id, Settings: c.Settings, Revision: c.Revision, CatalogState: host.CatalogUnread, Session: host.Session{State: host.SessionNone}, Queue: c.Queue}
	f.mu.Lock()
	for _, t := range f.turns {
		if t.State == host.TurnQueued {
			k.Queue.Turns = append(k.Queue.Turns, t.ID)
		}
	}
	f.mu.Unlock()
	if f.OnControls != nil {
		f.OnControls(&k)
	}
	return k, err
}

// Probe reads the catalog.
func (f *Fake) Probe(ctx context.Context, id string) (host.Controls, error) {
	if err := f.called("Probe", id); err != nil {
		return host.Controls{}, err
	}
	return f.Controls(ctx, id)
}

// ConfigureNextTurn changes the remembered settings.
func (f *Fake) ConfigureNextTurn(ctx context.Context, id string, revision int64, p host.SettingsPatch) (host.Controls, error) {
	if err := f.called("ConfigureNextTurn", fmt.Sprint(revision, " ", patchText(p))); err != nil {
		return host.Controls{}, err
	}
	f.mu.Lock()
	for i := range f.conversations {
		if f.conversations[i].ID == id {
			apply(&f.conversations[i].Settings, p)
			f.conversations[i].Revision++
		}
	}
	f.mu.Unlock()
	return f.Controls(ctx, id)
}

func (f *Fake) accept(t host.Turn) host.Turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.ID, t.State, t.Version, t.AcceptedAt = f.id("turn"), host.TurnQueued, 1, Epoch
	if t.Settings.Mode == "" && t.Settings.Permission == "" {
		t.Settings = f.conversations[0].Settings
	}
	f.turns = append(f.turns, t)
	f.emit(host.EventTurn, t.ID, t)
	return t
}

// Send accepts a message.
func (f *Fake) Send(_ context.Context, id string, m host.Message) (host.Turn, error) {
	if err := f.called("Send", id+" "+m.Content[0].Text); err != nil {
		return host.Turn{}, err
	}
	if f.Sent != nil {
		f.Sent(m)
	}
	t := f.accept(host.Turn{Origin: abi.OriginUser, Content: m.Content})
	f.react(t)
	return t, nil
}

func (f *Fake) react(t host.Turn) {
	if f.OnSend != nil {
		f.agent(func() { f.OnSend(f, t) })
	}
}

// Steer accepts a message for the running turn.
func (f *Fake) Steer(_ context.Context, id string, m host.Message) (host.Turn, error) {
	if err := f.called("Steer", id+" "+m.Content[0].Text); err != nil {
		return host.Turn{}, err
	}
	t := f.accept(host.Turn{Origin: abi.OriginSteer, Content: m.Content})
	f.react(t)
	return t, nil
}

// Retry sends a turn again.
func (f *Fake) Retry(_ context.Context, _, turn string, _ host.RetryRequest) (host.Turn, error) {
	if err := f.called("Retry", turn); err != nil {
		return host.Turn{}, err
	}
	t := f.accept(host.Turn{Origin: abi.OriginRetry, RetryOf: turn})
	f.react(t)
	return t, nil
}

// ResumeQueue releases the queue.
func (f *Fake) ResumeQueue(ctx context.Context, id string) (host.Controls, error) {
	if err := f.called("ResumeQueue", id); err != nil {
		return host.Controls{}, err
	}
	f.Hold("")
	return f.Controls(ctx, id)
}

// Stop asks the agent to stop.
func (f *Fake) Stop(ctx context.Context, id string, _ host.StopOptions) (host.Controls, error) {
	if err := f.called("Stop", id); err != nil {
		return host.Controls{}, err
	}
	if f.OnStop != nil {
		f.agent(func() { f.OnStop(f) })
	}
	return f.Controls(ctx, id)
}

// Inputs lists the open cards.
func (f *Fake) Inputs(context.Context, string) ([]host.Interaction, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []host.Interaction
	for _, c := range f.cards {
		if c.State == host.InteractionOpen {
			out = append(out, c)
		}
	}
	return out, nil
}

// ResolveInput answers a card; the second answer is refused.
func (f *Fake) ResolveInput(_ context.Context, _, id string, a host.Answer) (host.Interaction, error) {
	b, err := json.Marshal(a)
	if err != nil {
		return host.Interaction{}, err
	}
	if err := f.called("ResolveInput", string(b)); err != nil {
		return host.Interaction{}, err
	}
	f.mu.Lock()
	for _, c := range f.cards {
		if c.ID == id && c.State != host.InteractionOpen {
			f.mu.Unlock()
			return host.Interaction{}, &host.Error{Code: host.CodeInteractionAnswered}
		}
	}
	i := f.closeCard(id, abi.DispositionAnswered)
	f.mu.Unlock()
	if i.Ask.Route == abi.RouteFollowUp {
		t := f.accept(host.Turn{Origin: abi.OriginAnswer, Interaction: id})
		i.AnswerTurn = t.ID
		f.react(t)
	}
	if f.OnAnswer != nil {
		f.agent(func() { f.OnAnswer(f, i, a) })
	}
	return i, nil
}

// Plans lists the plans, oldest first.
func (f *Fake) Plans(context.Context, string) ([]host.Proposal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]host.Proposal(nil), f.plans...), nil
}

func (f *Fake) decide(method string, d host.PlanDecision, state host.ProposalState, t host.Turn) (host.Turn, error) {
	if err := f.called(method, fmt.Sprintf("revision %d %s", d.Revision, d.Feedback)); err != nil {
		return host.Turn{}, err
	}
	f.mu.Lock()
	var plan host.Proposal
	for i := range f.plans {
		if f.plans[i].ID == d.Proposal {
			f.plans[i].State = state
			plan = f.plans[i]
			f.emit(host.EventProposal, plan.Turn, plan)
		}
	}
	f.mu.Unlock()
	t.Proposal = d.Proposal
	t = f.accept(t)
	if f.OnPlan != nil {
		f.agent(func() { f.OnPlan(f, plan, t) })
	}
	return t, nil
}

// ContinuePlan implements a plan in the mode "default".
func (f *Fake) ContinuePlan(_ context.Context, _ string, d host.PlanDecision) (host.Turn, error) {
	f.mu.Lock()
	s := f.conversations[0].Settings
	f.mu.Unlock()
	s.Mode = "default"
	return f.decide("ContinuePlan", d, host.ProposalImplemented, host.Turn{Origin: abi.OriginImplement, Settings: s})
}

// RequestChanges sends feedback.
func (f *Fake) RequestChanges(_ context.Context, _ string, d host.PlanDecision) (host.Turn, error) {
	return f.decide("RequestChanges", d, host.ProposalChangesRequested, host.Turn{Origin: abi.OriginFeedback, Content: host.Text(d.Feedback)})
}

// Events yields the journal, then what is new.
func (f *Fake) Events(ctx context.Context, _ string, after uint64) iter.Seq2[host.Event, error] {
	return func(yield func(host.Event, error) bool) {
		for {
			f.mu.Lock()
			if len(f.conversations) > 0 && after < f.conversations[0].JournalFloor {
				f.mu.Unlock()
				yield(host.Event{}, &host.Error{Code: host.CodeResync})
				return
			}
			page, wake := append([]host.Event(nil), f.events[min(int(after), len(f.events)):]...), f.wake
			f.mu.Unlock()
			for _, ev := range page {
				after = ev.Seq
				if !yield(ev, nil) {
					return
				}
			}
			if len(page) > 0 {
				continue
			}
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Export writes the journal.
func (f *Fake) Export(ctx context.Context, id string, w io.Writer) error {
	if _, err := f.Conversation(ctx, id); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	enc := json.NewEncoder(w)
	for _, ev := range f.events {
		if ev.Seq <= f.conversations[0].JournalFloor {
			continue
		}
		if err := enc.Encode(ev); err != nil {
			return err
		}
	}
	return nil
}

// Bindings lists what is installed.
func (f *Fake) Bindings(context.Context) ([]host.BindingInfo, error) {
	return f.Installed, f.called("Bindings", "")
}

// AllowBinding allows one.
func (f *Fake) AllowBinding(_ context.Context, harness string) (host.BindingInfo, error) {
	if err := f.called("AllowBinding", harness); err != nil {
		return host.BindingInfo{}, err
	}
	for i := range f.Installed {
		if f.Installed[i].Harness == harness {
			f.Installed[i].Allowed = true
			return f.Installed[i], nil
		}
	}
	return host.BindingInfo{}, &host.Error{Code: host.CodeUnknownHarness}
}
