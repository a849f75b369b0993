package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// focus is what the keys go to.
type focus uint8

const (
	onComposer focus = iota
	onPanel
	onStory
)

// app is the chat as a whole: the model of the program.
type app struct {
	cfg  Config
	ctx  context.Context
	conn *connection
	id   string

	story    *story
	controls host.Controls
	// reading: the controls are being read; stale: they changed meanwhile.
	reading, stale bool
	// ready: what had happened before this program began was told.
	ready bool
	// until is the journal number up to which the past goes.
	until uint64

	composer *editor
	// attached goes with the message that is written.
	attached []host.Content
	outbox   []outgoing
	panel    panel
	// under is the question or plan that another panel covers.
	under panel
	focus focus
	// aside are the cards and plans that the person put aside, done those that were
	// decided on here.
	aside, done map[string]bool
	// busy: a decision is on its way; deciding is the card or plan it is about.
	busy     bool
	deciding string
	scroll   transcript

	width, height int
	// said is the line of the program's own, warn when it is about a failure.
	said string
	warn bool
	// leaving: the next Ctrl-C leaves.
	leaving bool
	// checklist: the whole list is shown.
	checklist bool
	// lost says why the host is not reached, over why the story cannot go on.
	lost, over string
	// asleep: the host was ended on purpose, and waits for the person to want it.
	asleep bool
	// left: the person left; terminated: the program was asked to end.
	left, terminated bool
}

func newApp(ctx context.Context, cfg Config) *app {
	s := newStory()
	m := &app{
		cfg: cfg, ctx: ctx, id: cfg.Conversation, story: s, composer: newEditor(false), attached: cfg.Attached,
		conn:  newConnection(cfg.Core, cfg.Connect),
		aside: map[string]bool{}, done: map[string]bool{}, width: 80, height: 24,
	}
	m.composer.area.Placeholder = "Write a message"
	m.scroll = transcript{story: s, selected: -1}
	return m
}

func (m *app) Init() tea.Cmd { return nil }

func (m *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	m.pick()
	return m, cmd
}

func (m *app) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		m.leaving = false
		if m.focus == onPanel && m.panel != nil {
			m.panel.paste(msg.Content)
		} else {
			m.focus = onComposer
			m.composer.insert(msg.Content)
		}
	case batchMsg:
		return m.batch(msg.events)
	case connectedMsg:
		m.lost, m.asleep = "", false
		m.take(msg.controls)
	case lostMsg:
		if m.asleep = errors.Is(msg.err, ErrEnded); m.asleep {
			m.lost = "The daemon was ended, and this chat is not connected. A message starts it again, and so does Enter."
			return nil
		}
		m.lost = "Reconnecting to the host. What you write is kept."
		if c := host.CodeOf(msg.err); !broken(msg.err) {
			m.lost += " " + view.Advice(string(c), msg.err.Error())
		}
	case endedMsg:
		m.over = view.Advice(string(host.CodeOf(msg.err)), msg.err.Error())
	case restartMsg:
		m.story = msg.story
		m.scroll = transcript{story: m.story, selected: -1}
		return m.refresh()
	case pastMsg:
		m.ready = true
	case sentMsg:
		return m.sent(msg)
	case attachedMsg:
		m.attachedFile(msg)
	case resendMsg:
		return m.resend(msg.clientID)
	case resolvedMsg:
		m.resolved(msg)
	case decidedMsg:
		m.decided(msg)
	case controlsMsg:
		if msg.err != nil {
			m.tell(true, msg.err.Error())
			return m.refresh()
		}
		m.take(msg.controls)
		m.said = ""
	case readMsg:
		m.reading = false
		if msg.err == nil {
			m.take(msg.controls)
		}
		if m.stale {
			return m.refresh()
		}
	case editedMsg:
		return m.edited(msg)
	case doneMsg:
		switch {
		case msg.err != nil:
			m.tell(true, msg.err.Error())
		case msg.said != "":
			m.tell(false, msg.said)
		}
		return m.refresh()
	case leaveMsg:
		m.terminated = true
		return m.leave()
	}
	return nil
}

// pastMsg says that what had happened before was told.
type pastMsg struct{}

// leaveMsg asks to leave, for a reason outside of the program.
type leaveMsg struct{}

func (m *app) take(c host.Controls) {
	m.controls = c
	if p, ok := m.panel.(*settingsPanel); ok {
		p.refresh(m)
	}
}

// tell shows a line of the program's own until the next key.
func (m *app) tell(warn bool, text string) { m.said, m.warn = text, warn }

// batch takes events. What the controls show is read again when one of them
// changed it.
func (m *app) batch(events []host.Event) tea.Cmd {
	again := false
	for _, ev := range events {
		if err := m.story.apply(ev); err != nil {
			m.tell(true, err.Error())
		}
		switch ev.Type {
		case host.EventDelta, host.EventItem, host.EventProgress, host.EventWarning, host.EventCommands:
		default:
			again = true
		}
		if ev.Type == host.EventTurn && m.leaving && !m.active() {
			// What was to be stopped has ended; leaving is asked for anew.
			m.leaving, m.said = false, ""
		}
	}
	if m.story.seq >= m.until {
		m.ready = true
	}
	if p, ok := m.panel.(*queuePanel); ok {
		p.refresh(m)
	}
	if again && m.ready {
		return m.refresh()
	}
	return nil
}

func planKey(p host.Proposal) string { return fmt.Sprint("plan ", p.ID, " ", p.Revision) }

// pick keeps the panel in step with the story: what was decided elsewhere is
// closed, what waits is opened. It takes the keys only while nothing is being
// written.
func (m *app) pick() {
	m.drop()
	if m.panel != nil || !m.ready {
		return
	}
	if p := m.waiting(func(key string) bool { return m.aside[key] || m.done[key] }); p != nil {
		m.open(p, m.focus == onComposer && m.composer.empty())
	}
}

// drop closes the panel of what was decided elsewhere.
func (m *app) drop() {
	switch p := m.panel.(type) {
	case *askPanel:
		if m.story.card(p.card.ID) == nil {
			if !m.done[p.card.ID] && m.deciding != p.card.ID {
				m.tell(false, view.CardWord(p.card.Ask.Type)+": nobody has to answer it any more.")
			}
			m.close()
		}
	case *reviewPanel:
		if open := m.plan(p.plan.ID); open == nil || open.Revision != p.plan.Revision {
			if key := planKey(p.plan); open == nil && !m.done[key] && m.deciding != key {
				m.tell(false, "The plan was decided on elsewhere, or is not open any more.")
			}
			m.close()
		}
	}
}

// plan is an open plan by its id.
func (m *app) plan(id string) *host.Proposal {
	for i := range m.story.plans {
		if p := &m.story.plans[i]; p.ID == id && p.State == host.ProposalOpen {
			return p
		}
	}
	return nil
}

// waiting makes the panel of the first thing that waits for the person.
func (m *app) waiting(not func(key string) bool) panel {
	for _, c := range m.story.cards {
		if not(c.ID) {
			continue
		}
		if c.Ask.Type == abi.InteractionReview {
			if p := m.reviewed(c.ID); p != nil {
				if not(planKey(*p)) {
					continue
				}
				return m.review(*p)
			}
			// Its plan is told with it, in the same transaction.
			if len(c.Ask.Decisions) == 0 {
				continue
			}
		}
		return newAskPanel(c)
	}
	if p := m.story.openPlan(); p != nil && !not(planKey(*p)) {
		return m.review(*p)
	}
	return nil
}

// reviewed is the open plan that a review is about.
func (m *app) reviewed(interaction string) *host.Proposal {
	for i := range m.story.plans {
		if p := &m.story.plans[i]; p.Interaction == interaction && p.State == host.ProposalOpen {
			return p
		}
	}
	return nil
}

func (m *app) review(p host.Proposal) panel {
	return newReviewPanel(p, m.story.number("plan", p.ID), m.remembered().Permission)
}

// remembered are the settings of the next message.
func (m *app) remembered() abi.Settings {
	if m.controls.Revision >= m.story.conv.Revision && m.controls.Conversation != "" {
		return m.controls.Settings
	}
	return m.story.conv.Settings
}

func (m *app) open(p panel, focused bool) {
	m.panel = p
	if focused {
		m.focus = onPanel
	}
}

// close takes the panel away and gives the keys to what it covered, else to the
// composer.
func (m *app) close() {
	m.panel, m.under = m.under, nil
	if m.panel != nil {
		return
	}
	if m.focus == onPanel {
		m.focus = onComposer
	}
}

// putAside closes the panel; what it asked can be opened again.
func (m *app) putAside() {
	switch p := m.panel.(type) {
	case *askPanel:
		m.aside[p.card.ID] = true
		m.tell(false, "It waits; F4 opens it again.")
	case *reviewPanel:
		m.aside[planKey(p.plan)] = true
		if p.plan.Interaction != "" {
			m.aside[p.plan.Interaction] = true
		}
		m.tell(false, "The plan waits; F4 opens it again.")
	}
	m.close()
}

// key is one key.
func (m *app) key(k tea.KeyPressMsg) tea.Cmd {
	s := k.String()
	if s == "ctrl+c" {
		return m.interrupt()
	}
	if s != "esc" {
		m.leaving = false
	}
	if !m.leaving && (!m.warn || k.Text == "") {
		// A warning stays while one types on.
		m.said, m.warn = "", false
	}
	switch s {
	case "f1":
		return m.show(newHelpPanel())
	case "f2", "ctrl+p":
		return m.show(newSettingsPanel(m))
	case "f3", "ctrl+q":
		return m.show(newQueuePanel(m))
	case "f4", "ctrl+r":
		return m.reopen()
	case "f5":
		m.checklist = !m.checklist
		return nil
	case "shift+tab":
		return m.switchMode()
	case "ctrl+y":
		return m.goOn()
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+z":
		return tea.Suspend
	case "tab":
		m.next()
		return nil
	case "ctrl+d":
		// Where something is written the key deletes.
		if m.composer.empty() && !m.writing() {
			return m.leave()
		}
	}
	switch m.focus {
	case onPanel:
		return m.panelKey(k)
	case onStory:
		return m.storyKey(k)
	}
	return m.composerKey(k)
}

// show opens a panel that the person asked for. A question or plan that it covers
// comes again after it, as it was.
func (m *app) show(p panel) tea.Cmd {
	switch m.panel.(type) {
	case *askPanel, *reviewPanel:
		m.under = m.panel
	}
	m.open(p, true)
	return nil
}

// reopen opens what was put aside.
func (m *app) reopen() tea.Cmd {
	switch m.panel.(type) {
	case *askPanel, *reviewPanel:
		m.focus = onPanel
		return nil
	}
	if m.under != nil {
		m.close()
		return nil
	}
	p := m.waiting(func(key string) bool { return m.done[key] })
	if p == nil {
		m.tell(false, "No question and no plan waits.")
		return nil
	}
	return m.show(p)
}

// next moves the focus: composer, panel, story.
func (m *app) next() {
	switch {
	case m.focus == onComposer && m.panel != nil:
		m.focus = onPanel
	case m.focus != onStory && len(m.story.blocks) > 0:
		m.focus = onStory
		m.scroll.selected = -1
		m.scroll.choose(-1)
	default:
		m.focus = onComposer
	}
}

func (m *app) panelKey(k tea.KeyPressMsg) tea.Cmd {
	if m.panel == nil {
		m.focus = onComposer
		return m.composerKey(k)
	}
	if k.String() == "esc" {
		if m.panel.escape() {
			m.putAside()
		}
		return nil
	}
	if m.busy {
		return nil
	}
	return m.panel.key(m, k)
}

func (m *app) storyKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.focus = onComposer
	case "up", "k":
		m.scroll.choose(-1)
	case "down", "j":
		m.scroll.choose(1)
	case "enter", "space":
		m.scroll.toggle()
	case "r", "R":
		if b := m.selected(); b != nil && b.kind == blockUser && b.turn.State.Ended() {
			m.focus = onComposer
			return m.retry(b.turn, k.String() == "R")
		}
	default:
		m.paging(k)
	}
	return nil
}

func (m *app) selected() *block {
	if i := m.scroll.selected; i >= 0 && i < len(m.story.blocks) {
		return m.story.blocks[i]
	}
	return nil
}

// paging scrolls the story. It reports whether the key was one for that.
func (m *app) paging(k tea.KeyPressMsg) bool {
	page := max(m.scroll.rows-2, 1)
	switch k.String() {
	case "pgup":
		m.scroll.scroll(-page)
	case "pgdown":
		m.scroll.scroll(page)
	case "ctrl+up":
		m.scroll.scroll(-1)
	case "ctrl+down":
		m.scroll.scroll(1)
	case "ctrl+home":
		m.scroll.home()
	case "ctrl+end":
		m.scroll.end()
	default:
		return false
	}
	return true
}

func (m *app) composerKey(k tea.KeyPressMsg) tea.Cmd {
	if m.paging(k) {
		return nil
	}
	switch s := k.String(); {
	case s == "esc":
		return m.interrupt()
	case s == "enter":
		return m.submit(false)
	case s == "ctrl+s":
		return m.submit(true)
	case (s == "up" || s == "down") && m.composer.empty():
		// A terminal's wheel sends these keys.
		m.scroll.scroll(map[string]int{"up": -1, "down": 1}[s])
		return nil
	case s == "backspace" && m.composer.empty() && len(m.attached) > 0:
		m.detach("")
		return nil
	case s == "?" && m.composer.empty():
		return m.show(newHelpPanel())
	}
	m.composer.key(k)
	return nil
}

// writing reports that a text is typed in the panel.
func (m *app) writing() bool {
	w, ok := m.panel.(interface{ writing() bool })
	return ok && m.focus == onPanel && w.writing()
}

// active reports whether something runs that a stop ends.
func (m *app) active() bool {
	if m.asleep {
		return false
	}
	return m.story.running() != nil || m.story.byItself || m.controls.Session.State == host.SessionStarting
}

// interrupt stops what runs; again, or while nothing runs, it leaves.
func (m *app) interrupt() tea.Cmd {
	if m.leaving {
		return m.leave()
	}
	m.leaving = true
	if !m.active() {
		m.tell(false, "Nothing runs. Again to leave.")
		return nil
	}
	m.tell(false, "Stopping the turn. Again to leave; Ctrl+D leaves without stopping.")
	return m.halt()
}

func (m *app) leave() tea.Cmd {
	m.left = true
	return tea.Quit
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
