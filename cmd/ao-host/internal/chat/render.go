package chat

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// Renderer writes journal events for a person. Turns and plans are numbered in
// the order in which they appear; ids and times are not shown, so that the same
// story gives the same text.
type Renderer struct {
	// Width is the number of columns that notices and lists are wrapped to.
	Width int
	// Color: headings are emphasised.
	Color bool
	// Dir is the project folder; paths inside it are shown relative to it.
	Dir string
	// Whole: a card is shown with its questions and decisions. It is false where
	// a dialog shows them one by one.
	Whole bool

	w       io.Writer
	numbers map[string]int
	shown   map[string]string
	// known are the turns whose message was shown, here or before.
	known map[string]bool
	// said is the message of each turn as it was shown.
	said  map[string]string
	items map[string]*itemText
	// open is the item whose streamed text is at the end of the output.
	open string
	// fresh: the cursor is at the start of a line; headed: behind a heading;
	// begun: something was written.
	fresh    bool
	headed   bool
	begun    bool
	progress string
	observed abi.Observed
	told     map[string]bool
}

// itemText is what was streamed of one item.
type itemText struct {
	raw    strings.Builder
	stream display.Stream
}

// NewRenderer returns a renderer that writes to w.
func NewRenderer(w io.Writer, width int, color bool) *Renderer {
	return &Renderer{
		Width: width, Color: color, w: w, fresh: true,
		numbers: map[string]int{}, shown: map[string]string{}, said: map[string]string{}, known: map[string]bool{},
		items: map[string]*itemText{}, told: map[string]bool{},
	}
}

// Event writes one journal event. Events that a person need not see write
// nothing; so do types that this version does not know.
func (r *Renderer) Event(ev host.Event) error {
	switch ev.Type {
	case host.EventTurn:
		return view.Read(ev, r.turn)
	case host.EventDelta:
		return view.Read(ev, r.delta)
	case host.EventItem:
		return view.Read(ev, r.item)
	case host.EventProgress:
		return view.Read(ev, r.checklist)
	case host.EventInteraction:
		return view.Read(ev, r.interaction)
	case host.EventProposal:
		return view.Read(ev, r.proposal)
	case host.EventRelocated:
		return view.Read(ev, func(to host.Relocation) { r.notice("*", "The conversation goes on in "+display.Exact(to.Cwd)) })
	case host.EventSettings:
		return view.Read(ev, func(s host.SettingsEvent) {
			if s.Cause == "implement" {
				r.notice("", "remembered from now on: "+view.Settings(s.Settings))
			}
		})
	case host.EventQueue:
		return view.Read(ev, func(q host.Queue) {
			switch {
			case q.Held && r.saidProblem(string(q.Reason)):
				// The problem says more than the reason that follows from it.
			case q.Held:
				r.once("held "+string(q.Reason), "!", view.Advice(string(q.Reason), ""))
			default:
				r.forget("held ")
			}
		})
	case host.EventWarning:
		return view.Read(ev, func(w abi.Warning) { r.notice("!", view.Advice(w.Code, w.Message)) })
	case host.EventProblem:
		return view.Read(ev, r.problem)
	case host.EventObserved:
		return view.Read(ev, func(o abi.Observed) { r.observed = o })
	case host.EventAgentTurn:
		return view.Read(ev, func(a host.AgentTurn) {
			r.notice("*", view.ByItself(a))
		})
	}
	return nil
}

// Number names a turn or plan of this run by its order.
func (r *Renderer) Number(kind, id string) string {
	key := kind + " " + id
	n, ok := r.numbers[key]
	if !ok {
		r.numbers[kind]++
		n = r.numbers[kind]
		r.numbers[key] = n
	}
	return kind + " " + strconv.Itoa(n)
}

// Know numbers a turn that was there before; seen says that the person has seen
// its message.
func (r *Renderer) Know(t host.Turn, seen bool) {
	r.Number("turn", t.ID)
	if seen {
		r.known[t.ID], r.said[t.ID] = true, r.message(t)
	}
}

func (r *Renderer) turn(t host.Turn) {
	name := r.Number("turn", t.ID)
	if t.State == host.TurnDispatched {
		// What is in force for this turn is reported after this moment.
		r.observed = abi.Observed{}
	}
	if t.State == host.TurnQueued && r.shown[t.ID] == string(t.State) && r.said[t.ID] != r.message(t) {
		r.said[t.ID] = r.message(t)
		r.paragraph(r.said[t.ID])
		r.paragraph(r.strong(fmt.Sprintf("[%s edited]", name)))
	}
	if t.State == host.TurnDispatched || r.shown[t.ID] == string(t.State) {
		return
	}
	if !r.known[t.ID] {
		r.known[t.ID] = true
		r.submission(t)
	}
	r.shown[t.ID] = string(t.State)
	line := fmt.Sprintf("[%s %s] %s", name, view.StateWord(t.State), view.Settings(t.Settings))
	if t.State == host.TurnQueued && t.Origin != abi.OriginUser && t.Origin != "" {
		line += " (" + view.OriginWord(t.Origin) + ")"
	}
	r.paragraph(r.strong(display.Wrap(line, "", r.Width)))
	switch {
	case t.Code != "":
		r.notice("!", view.Advice(t.Code, t.Message))
	case t.Message != "" && t.State.Ended():
		r.notice("!", display.Text(t.Message))
	case t.State == host.TurnUncertain:
		r.notice("!", view.Advice(string(host.CodeUncertainDelivery), ""))
	}
	switch t.State {
	case host.TurnCompleted, host.TurnInterrupted, host.TurnFailed:
		// Others never ran, so what was in force is no matter of theirs.
		r.compare(t)
	}
}

// submission shows what was sent, once.
func (r *Renderer) submission(t host.Turn) {
	if len(r.shown) > 0 && !r.headed {
		r.line()
		r.write("\n")
	}
	if r.said[t.ID] = r.message(t); r.said[t.ID] != "" {
		r.paragraph(r.said[t.ID])
	}
}

// message is what a turn says, quoted.
func (r *Renderer) message(t host.Turn) string {
	var blocks []string
	for _, c := range t.Content {
		text := c.Text
		if c.Type != abi.ContentText {
			text = fmt.Sprintf("(%s %s)", c.Type, view.Or(c.Name, c.Media))
		}
		if strings.TrimSpace(text) != "" {
			blocks = append(blocks, display.Wrap(strings.TrimRight(display.Text(text), "\n"), "> ", r.Width))
		}
	}
	return strings.Join(blocks, "\n")
}

func (r *Renderer) delta(d abi.Delta) {
	if d.Channel != abi.ChannelText {
		// Reasoning and output are in the export; a plan is shown when it is whole.
		return
	}
	it := r.text(d.Item)
	it.raw.WriteString(d.Text)
	r.stream(d.Item, it.stream.Write(d.Text))
}

func (r *Renderer) text(id string) *itemText {
	it := r.items[id]
	if it == nil {
		it = &itemText{}
		r.items[id] = it
	}
	return it
}

// stream writes a piece of an item's text. Another item's text, or a notice, in
// between begins a new paragraph.
func (r *Renderer) stream(id, piece string) {
	if piece == "" {
		return
	}
	if r.open != id {
		r.line()
		r.open = id
	}
	r.write(piece)
}

func (r *Renderer) item(i abi.Item) {
	if i.Replay {
		return
	}
	switch i.Type {
	case abi.ItemMessage:
		r.reply(i)
	case abi.ItemReasoning, abi.ItemPlan:
	default:
		r.tool(i)
	}
}

// reply completes what was streamed: the item is the authority.
func (r *Renderer) reply(i abi.Item) {
	if i.Status == abi.ItemRunning && i.Text == "" {
		return
	}
	it := r.text(i.ID)
	rest, grows := strings.CutPrefix(i.Text, it.raw.String())
	if !grows {
		if i.Status == abi.ItemRunning {
			return
		}
		r.stream(i.ID, it.stream.Flush())
		r.line()
		rest, it.raw = i.Text, strings.Builder{}
	}
	it.raw.WriteString(rest)
	r.stream(i.ID, it.stream.Write(rest))
	if i.Status != abi.ItemRunning {
		r.stream(i.ID, it.stream.Flush())
		if r.open == i.ID {
			r.line()
		}
	}
}

// tool shows a tool call as one line when it begins and, if it did not go well,
// one when it ends.
func (r *Renderer) tool(i abi.Item) {
	key := "item " + i.ID
	first := r.shown[key] == ""
	if r.shown[key] == string(i.Status) || !first && i.Status == abi.ItemCompleted {
		return
	}
	r.shown[key] = string(i.Status)
	what := i.Title
	if what == "" {
		what = i.Text
	}
	if rel, inside := strings.CutPrefix(what, r.Dir+"/"); inside && r.Dir != "" {
		what = rel
	}
	line := view.ToolWord(i) + " " + view.OneLine(what)
	if i.Child != "" {
		line = "(child agent) " + line
	}
	if i.Status == abi.ItemFailed || i.Status == abi.ItemDeclined {
		// The end of the line must say so even where the text is clipped.
		r.notice("", display.Clip(strings.TrimSpace(line), r.Width-len(i.Status)-5)+": "+string(i.Status))
		return
	}
	r.notice("", display.Clip(strings.TrimSpace(line), r.Width-2))
}

func (r *Renderer) checklist(p abi.Progress) {
	var b strings.Builder
	if p.Note != "" {
		b.WriteString(display.Line(p.Note) + "\n")
	}
	for _, e := range p.Entries {
		mark := map[string]string{"completed": "[x]", "running": "[>]"}[e.Status]
		if mark == "" {
			mark = "[ ]"
		}
		text := display.Wrap(mark+" "+display.Line(e.Text), "", r.Width-2)
		b.WriteString(strings.ReplaceAll(text, "\n", "\n    ") + "\n")
	}
	if b.String() == r.progress {
		return
	}
	r.progress = b.String()
	r.paragraph(view.Prefixed(strings.TrimRight(b.String(), "\n"), "  "))
}

func (r *Renderer) interaction(i host.Interaction) {
	key, state := "card "+i.ID, string(i.State)
	if i.ID == "" || r.shown[key] == state {
		return
	}
	r.shown[key] = state
	switch {
	case i.State == host.InteractionOpen:
		text := view.Card(i.Ask, r.Width)
		if r.Whole {
			text = view.WholeCard(i.Ask, r.Width)
		}
		r.paragraph(text)
	case i.State != host.InteractionClosed:
	case i.Automatic != "":
		r.notice("*", fmt.Sprintf("Answered for you, because of the permission %s.", view.Or(i.Automatic, "in force")))
	default:
		r.notice("*", view.CardWord(i.Ask.Type)+" "+string(i.Disposition)+".")
	}
}

func (r *Renderer) proposal(p host.Proposal) {
	key := "plan " + p.ID
	name := fmt.Sprintf("%s, revision %d", r.Number("plan", p.ID), p.Revision)
	state := fmt.Sprint(p.State, p.Revision)
	if r.shown[key] == state {
		return
	}
	r.shown[key] = state
	switch p.State {
	case host.ProposalOpen:
		r.paragraph(r.strong("["+name+"]") + "\n" + display.Wrap(strings.TrimSpace(display.Text(p.Text)), "| ", r.Width))
	case host.ProposalImplemented:
		r.notice("*", name+": to be implemented.")
	case host.ProposalChangesRequested:
		r.notice("*", name+": changes requested.")
	default:
		r.notice("*", name+": "+string(p.State)+".")
	}
}

func (r *Renderer) problem(p abi.Problem) {
	key := "problem " + p.Code + " " + p.Field
	if p.Resolved {
		r.forget(key)
		return
	}
	text := view.Advice(p.Code, p.Message)
	if p.Field != "" {
		text = display.Line(p.Field) + ": " + text
	}
	r.once(key, "!", text)
}

// saidProblem reports whether a problem of a code was told and not taken back.
func (r *Renderer) saidProblem(code string) bool {
	for k := range r.told {
		if strings.HasPrefix(k, "problem "+code+" ") {
			return true
		}
	}
	return false
}

// compare says when the provider last reported another mode or permission than
// the turn was sent with; nothing is replaced silently.
func (r *Renderer) compare(t host.Turn) {
	if o := r.observed.Mode; o != "" && t.Settings.Mode != "" && o != t.Settings.Mode {
		r.notice("!", fmt.Sprintf("The harness reports mode %s; this turn asked for %s.", display.Line(o), display.Line(t.Settings.Mode)))
	}
	if o := r.observed.Permission; o != "" && t.Settings.Permission != "" && o != t.Settings.Permission {
		r.notice("!", fmt.Sprintf("The harness reports permission %s; this turn asked for %s.", display.Line(string(o)), display.Line(string(t.Settings.Permission))))
	}
}

// Notice writes a line of the program's own.
func (r *Renderer) Notice(text string) { r.notice("*", text) }

// Heading begins a part of the output, with an empty line before it except at
// the very beginning.
func (r *Renderer) Heading(text string) {
	r.line()
	if r.begun {
		r.write("\n")
	}
	r.write(r.strong("== "+text) + "\n")
	r.headed = true
}

// Card shows a card that no event may have shown, once.
func (r *Renderer) Card(i host.Interaction) { r.interaction(i) }

// Paragraph writes a text as it stands, on lines of its own.
func (r *Renderer) Paragraph(text string) { r.paragraph(text) }

// Prompt writes a question's last line; the answer is typed behind it.
func (r *Renderer) Prompt(text string) {
	r.line()
	r.write(text)
	// The person's own line break ends the line.
	r.fresh = true
}

// once writes a notice unless it is the last said under that key.
func (r *Renderer) once(key, mark, text string) {
	if !r.told[key+"\x00"+text] {
		r.told[key+"\x00"+text] = true
		r.notice(mark, text)
	}
}

func (r *Renderer) forget(prefix string) {
	for k := range r.told {
		if strings.HasPrefix(k, prefix) {
			delete(r.told, k)
		}
	}
}

func (r *Renderer) notice(mark, text string) {
	if mark == "" {
		mark = " "
	}
	lines := strings.Split(display.Wrap(text, "", r.Width-2), "\n")
	r.paragraph(mark + " " + strings.Join(lines, "\n  "))
}

func (r *Renderer) paragraph(text string) {
	r.line()
	r.open = ""
	r.write(text)
	r.line()
}

// line goes to the start of a line.
func (r *Renderer) line() {
	if !r.fresh {
		r.write("\n")
	}
	r.open = ""
}

func (r *Renderer) write(s string) {
	if s == "" {
		return
	}
	// A terminal that went away is noticed by the reader of its input.
	_, _ = io.WriteString(r.w, s)
	r.begun, r.headed = true, false
	r.fresh = strings.HasSuffix(s, "\n")
}

func (r *Renderer) strong(s string) string {
	if !r.Color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}
