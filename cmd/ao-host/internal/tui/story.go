package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/markdown"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// story is a conversation as its journal tells it: nothing but the events decides
// what it is, so that a client that reads them again sees the same.
type story struct {
	// seq is the number of the newest event.
	seq    uint64
	conv   host.Conversation
	queue  host.Queue
	turns  map[string]*host.Turn
	order  []string
	cards  []host.Interaction
	plans  []host.Proposal
	blocks []*block
	byKey  map[string]*block
	// progress is the checklist of the newest turn that had one.
	progress abi.Progress
	observed abi.Observed
	// problems are those that were not taken back.
	problems []abi.Problem
	usage    abi.Usage
	// byItself: the agent runs a turn that it began itself.
	byItself bool
	// numbers count turns and plans in the order in which they appear.
	numbers map[string]int
	held    host.Code
}

func newStory() *story {
	return &story{turns: map[string]*host.Turn{}, byKey: map[string]*block{}, numbers: map[string]int{}}
}

// apply takes the next event. Types that this version does not know change
// nothing.
func (s *story) apply(ev host.Event) error {
	s.seq = max(s.seq, ev.Seq)
	switch ev.Type {
	case host.EventConversationCreated:
		return view.Read(ev, func(c host.Conversation) { s.conv = c })
	case host.EventRelocated:
		return view.Read(ev, func(r host.Relocation) {
			s.conv.Cwd = r.Cwd
			s.notice("*", "The conversation goes on in "+display.Exact(r.Cwd))
		})
	case host.EventTurn:
		return view.Read(ev, s.turn)
	case host.EventQueue:
		return view.Read(ev, s.queued)
	case host.EventDelta:
		return view.Read(ev, s.delta)
	case host.EventItem:
		return view.Read(ev, s.item)
	case host.EventProgress:
		return view.Read(ev, func(p abi.Progress) { s.progress = p })
	case host.EventInteraction:
		return view.Read(ev, s.interaction)
	case host.EventProposal:
		return view.Read(ev, s.proposal)
	case host.EventSettings:
		return view.Read(ev, s.settings)
	case host.EventObserved:
		return view.Read(ev, func(o abi.Observed) { s.observed = o })
	case host.EventUsage:
		return view.Read(ev, s.used)
	case host.EventWarning:
		return view.Read(ev, func(w abi.Warning) { s.notice("!", view.Advice(w.Code, w.Message)) })
	case host.EventProblem:
		return view.Read(ev, s.problem)
	case host.EventSessionInfo:
		return view.Read(ev, func(i abi.SessionInfo) {
			if s.conv.Title == "" {
				s.conv.Title = i.Title
			}
		})
	case host.EventAgentTurn:
		return view.Read(ev, func(a host.AgentTurn) {
			s.byItself = a.Running
			s.notice("*", view.ByItself(a))
		})
	}
	return nil
}

// number names a turn or plan by its order.
func (s *story) number(kind, id string) string {
	key := kind + " " + id
	if s.numbers[key] == 0 {
		s.numbers[kind]++
		s.numbers[key] = s.numbers[kind]
	}
	return kind + " " + strconv.Itoa(s.numbers[key])
}

// add appends a block; the same key gives the block that is there.
func (s *story) add(key string, kind blockKind) *block {
	if b := s.byKey[key]; b != nil {
		b.version++
		return b
	}
	b := &block{key: key, kind: kind}
	s.blocks = append(s.blocks, b)
	s.byKey[key] = b
	return b
}

func (s *story) notice(mark, text string) {
	s.add(fmt.Sprint("notice ", len(s.blocks)), blockNotice).set(func(b *block) { b.mark, b.text = mark, text })
}

func (s *story) turn(t host.Turn) {
	before := s.turns[t.ID]
	if before == nil {
		s.order = append(s.order, t.ID)
	}
	s.turns[t.ID] = &t
	if t.State == host.TurnDispatched {
		// What is in force for this turn is reported after this moment.
		s.observed = abi.Observed{}
	}
	if t.State == host.TurnQueued {
		// It is shown in the queue; it joins the story when it is sent.
		return
	}
	name := s.number("turn", t.ID)
	s.add("turn "+t.ID, blockUser).set(func(b *block) { b.name, b.turn = name, t })
	if !t.State.Ended() || before != nil && before.State == t.State {
		return
	}
	for _, b := range s.blocks {
		// What the turn left unfinished will not go on.
		if b.kind == blockTool && b.item.Turn == t.ID && b.item.Status == abi.ItemRunning {
			b.set(func(b *block) { b.abandoned = true })
		}
	}
	switch {
	case t.Code != "":
		s.notice("!", name+" "+view.StateWord(t.State)+". "+view.Advice(t.Code, t.Message))
	case t.State == host.TurnUncertain:
		s.notice("!", name+" "+view.StateWord(t.State)+". "+view.Advice(string(host.CodeUncertainDelivery), t.Message))
	case t.Message != "":
		s.notice("!", name+" "+view.StateWord(t.State)+". "+display.Text(t.Message))
	case t.State != host.TurnCompleted:
		s.notice("*", name+" "+view.StateWord(t.State)+".")
	}
	s.compare(name, t)
}

// compare says when the provider last reported another mode or permission than
// the turn was sent with; nothing is replaced silently.
func (s *story) compare(name string, t host.Turn) {
	if o := s.observed.Mode; o != "" && t.Settings.Mode != "" && o != t.Settings.Mode {
		s.notice("!", fmt.Sprintf("The harness reports mode %s; %s asked for %s.", display.Line(o), name, display.Line(t.Settings.Mode)))
	}
	if o := s.observed.Permission; o != "" && t.Settings.Permission != "" && o != t.Settings.Permission {
		s.notice("!", fmt.Sprintf("The harness reports permission %s; %s asked for %s.", display.Line(string(o)), name, display.Line(string(t.Settings.Permission))))
	}
}

func (s *story) queued(q host.Queue) {
	if q.Held && s.held != q.Reason {
		said := slices.ContainsFunc(s.problems, func(p abi.Problem) bool { return p.Code == string(q.Reason) })
		if !said {
			s.notice("!", view.Advice(string(q.Reason), ""))
		}
	}
	s.held = q.Reason
	s.queue = q
}

// waiting are the queued turns in the order in which they will run, as far as
// it is known.
func (s *story) waiting(order []string) []host.Turn {
	var out []host.Turn
	take := func(id string) {
		t := s.turns[id]
		if t != nil && t.State == host.TurnQueued && !slices.ContainsFunc(out, func(o host.Turn) bool { return o.ID == id }) {
			out = append(out, *t)
		}
	}
	for _, id := range order {
		take(id)
	}
	for _, id := range s.order {
		take(id)
	}
	return out
}

// running is the turn that was sent and has not ended.
func (s *story) running() *host.Turn {
	for _, id := range slices.Backward(s.order) {
		if t := s.turns[id]; t.State == host.TurnDispatched || t.State == host.TurnRunning {
			return t
		}
	}
	return nil
}

func (s *story) delta(d abi.Delta) {
	kind := blockMessage
	switch d.Channel {
	case abi.ChannelReasoning:
		kind = blockReasoning
	case abi.ChannelOutput:
		if b := s.byKey["item "+d.Item]; b != nil {
			b.set(func(b *block) { b.output = keepTail(b.output + d.Text) })
		}
		return
	case abi.ChannelPlan:
		// A plan is shown when it is whole.
		return
	}
	s.add("item "+d.Item, kind).set(func(b *block) {
		b.streaming = true
		b.item.Turn, b.item.ID = d.Turn, d.Item
		b.stream.WriteString(d.Text)
	})
}

// outputTail bounds the streamed output that is kept of a running command, in
// bytes; the item at its end has all of what the harness gives.
const outputTail = 64 << 10

func keepTail(s string) string {
	if len(s) <= outputTail {
		return s
	}
	return s[len(s)-outputTail:]
}

// item completes what was streamed: the item is the authority.
func (s *story) item(i abi.Item) {
	if i.Replay || i.Type == abi.ItemPlan {
		return
	}
	kind := blockTool
	switch i.Type {
	case abi.ItemMessage:
		kind = blockMessage
	case abi.ItemReasoning:
		kind = blockReasoning
	}
	if kind != blockTool && strings.TrimSpace(i.Text) == "" {
		// A message that begins has nothing to show; what was streamed stays.
		if b := s.byKey["item "+i.ID]; b != nil && i.Status != abi.ItemRunning {
			b.set(func(b *block) { b.streaming = false })
		}
		return
	}
	s.add("item "+i.ID, kind).set(func(b *block) {
		if i.Status != abi.ItemRunning || len(i.Text) > b.stream.Len() {
			b.stream.Reset()
			b.growing = markdown.Growing{}
			b.stream.WriteString(i.Text)
		}
		b.item, b.streaming = i, i.Status == abi.ItemRunning
	})
}

func (s *story) interaction(i host.Interaction) {
	at := slices.IndexFunc(s.cards, func(c host.Interaction) bool { return c.ID == i.ID })
	switch {
	case i.State == host.InteractionOpen && at < 0:
		s.cards = append(s.cards, i)
	case i.State == host.InteractionOpen:
		s.cards[at] = i
	case at >= 0:
		s.cards = slices.Delete(s.cards, at, at+1)
	}
	if i.Ask.Type == abi.InteractionReview && i.State == host.InteractionOpen {
		// The plan that comes with it is what is shown.
		return
	}
	s.add("card "+i.ID, blockCard).set(func(b *block) { b.card = i })
}

// card is an open card by its id.
func (s *story) card(id string) *host.Interaction {
	for i := range s.cards {
		if s.cards[i].ID == id {
			return &s.cards[i]
		}
	}
	return nil
}

func (s *story) proposal(p host.Proposal) {
	at := slices.IndexFunc(s.plans, func(o host.Proposal) bool { return o.ID == p.ID })
	if at < 0 {
		s.plans = append(s.plans, p)
	} else {
		s.plans[at] = p
	}
	name := s.number("plan", p.ID)
	s.add("plan "+p.ID, blockPlan).set(func(b *block) { b.name, b.plan = name, p })
}

// openPlan is the newest plan that can be decided on.
func (s *story) openPlan() *host.Proposal {
	for i := range slices.Backward(s.plans) {
		if s.plans[i].State == host.ProposalOpen {
			return &s.plans[i]
		}
	}
	return nil
}

func (s *story) settings(e host.SettingsEvent) {
	s.conv.Settings, s.conv.Revision = e.Settings, e.Revision
	if e.Cause != "user" {
		s.notice("*", "Remembered from now on: "+view.Settings(e.Settings)+".")
	}
}

func (s *story) used(u abi.Usage) {
	// A gauge is the newest value, a counter is a sum that the host made (D7).
	for _, g := range u.Gauges {
		set(&s.usage.Gauges, g)
	}
	for _, c := range u.Counters {
		set(&s.usage.Counters, c)
	}
}

func set(metrics *[]abi.Metric, m abi.Metric) {
	for i := range *metrics {
		if (*metrics)[i].Name == m.Name {
			(*metrics)[i] = m
			return
		}
	}
	*metrics = append(*metrics, m)
}

func (s *story) problem(p abi.Problem) {
	at := slices.IndexFunc(s.problems, func(o abi.Problem) bool { return o.Code == p.Code && o.Field == p.Field })
	if p.Resolved {
		if at >= 0 {
			s.problems = slices.Delete(s.problems, at, at+1)
		}
		return
	}
	text := view.Advice(p.Code, p.Message)
	if p.Field != "" {
		text = display.Line(p.Field) + ": " + text
	}
	if at < 0 {
		s.problems = append(s.problems, p)
		s.notice("!", text)
		return
	}
	if s.problems[at].Message != p.Message {
		s.notice("!", text)
	}
	s.problems[at] = p
}
