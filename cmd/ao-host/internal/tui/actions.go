package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// outgoing is a message on its way to the host. Its client id is made once, so
// that trying again after a broken connection cannot send it twice.
type outgoing struct {
	clientID string
	text     string
	attached []host.Content
	steer    bool
	// failed: the last attempt reached nobody, as far as is known.
	failed bool
}

// content is what is sent: the text, then what is attached.
func (o outgoing) content() []host.Content {
	var out []host.Content
	if !blank(o.text) {
		out = host.Text(o.text)
	}
	return append(out, o.attached...)
}

// What comes of an action.
type (
	sentMsg struct {
		out outgoing
		err error
	}
	resendMsg   struct{ clientID string }
	resolvedMsg struct {
		card host.Interaction
		err  error
	}
	decidedMsg struct {
		plan host.Proposal
		err  error
	}
	controlsMsg struct {
		controls host.Controls
		err      error
	}
	// doneMsg ends an action that has nothing to show but its error.
	doneMsg struct {
		said string
		err  error
	}
)

// broken reports an error that says nothing about what the host did: it was not
// reached, or went while it answered.
func broken(err error) bool {
	switch host.CodeOf(err) {
	case "", host.CodeUnreachable, host.CodeClosed:
		return true
	}
	return false
}

func (m *app) transmit(o outgoing) tea.Cmd {
	return m.do(func(ctx context.Context) tea.Msg {
		msg := host.Message{ClientID: o.clientID, Content: o.content()}
		var err error
		if o.steer {
			_, err = m.conn.get().Steer(ctx, m.id, msg)
		} else {
			_, err = m.conn.get().Send(ctx, m.id, msg)
		}
		return sentMsg{o, err}
	})
}

// do runs an action beside the program; it ends with the program.
func (m *app) do(f func(ctx context.Context) tea.Msg) tea.Cmd {
	ctx := m.ctx
	return func() tea.Msg { return f(ctx) }
}

// submit sends what is in the composer.
func (m *app) submit(steer bool) tea.Cmd {
	text := m.composer.value()
	if blank(text) && len(m.attached) == 0 {
		return m.wake()
	}
	if cmd, ok := m.attaching(text); ok {
		return cmd
	}
	if err := m.controls.Session.Refuses(m.attached); err != nil {
		// It was not known yet when they were attached.
		m.tell(true, "Not sent. "+err.Error()+" "+detachWord+" takes an attachment back.")
		return nil
	}
	o := outgoing{clientID: m.cfg.IDs(), text: text, attached: m.attached, steer: steer}
	m.outbox = append(m.outbox, o)
	m.composer.set("")
	m.attached = nil
	m.scroll.end()
	return m.transmit(o)
}

// wake starts a host that was ended.
func (m *app) wake() tea.Cmd {
	if !m.asleep {
		return nil
	}
	m.asleep, m.lost = false, "Starting the daemon."
	return m.do(func(ctx context.Context) tea.Msg {
		if err := m.conn.start(ctx); err != nil {
			return lostMsg{err}
		}
		return nil
	})
}

// sent takes the outcome of a message: what was refused is in the composer
// again, what may have arrived is tried again under the same id.
func (m *app) sent(r sentMsg) tea.Cmd {
	if r.err != nil && broken(r.err) {
		id := r.out.clientID
		for i := range m.outbox {
			if m.outbox[i].clientID == id {
				m.outbox[i].failed = true
			}
		}
		return tea.Tick(time.Second, func(time.Time) tea.Msg { return resendMsg{id} })
	}
	m.delivered(r.out.clientID)
	if m.asleep {
		// The message has started it.
		m.conn.hurry()
	}
	if r.err != nil {
		if m.composer.empty() {
			m.composer.set(r.out.text)
		} else {
			m.composer.set(r.out.text + "\n" + m.composer.value())
		}
		m.attached = append(slices.Clone(r.out.attached), m.attached...)
		m.tell(true, r.err.Error())
	}
	return nil
}

func (m *app) delivered(clientID string) {
	for i, o := range m.outbox {
		if o.clientID == clientID {
			m.outbox = append(m.outbox[:i], m.outbox[i+1:]...)
			return
		}
	}
}

func (m *app) resend(clientID string) tea.Cmd {
	for i := range m.outbox {
		if m.outbox[i].clientID == clientID {
			m.outbox[i].failed = false
			return m.transmit(m.outbox[i])
		}
	}
	return nil
}

// resolve hands an answer over.
func (m *app) resolve(card host.Interaction, a host.Answer) tea.Cmd {
	m.busy, m.deciding = true, card.ID
	return m.do(func(ctx context.Context) tea.Msg {
		_, err := m.conn.get().ResolveInput(ctx, m.id, card.ID, a)
		return resolvedMsg{card, err}
	})
}

func (m *app) resolved(r resolvedMsg) {
	m.busy, m.deciding = false, ""
	p, open := m.panel.(*askPanel)
	open = open && p.card.ID == r.card.ID
	switch {
	case r.err == nil:
		m.done[r.card.ID] = true
		if open {
			m.close()
		}
	case gone(r.err):
		m.done[r.card.ID] = true
		m.tell(true, r.err.Error())
		if open {
			m.close()
		}
	default:
		// The card is still open: it is asked again. What was typed is kept where only
		// the connection failed.
		m.tell(true, r.err.Error())
		if open && !broken(r.err) {
			m.panel = newAskPanel(r.card)
		}
	}
}

// gone reports an error that says that there is nothing left to decide.
func gone(err error) bool {
	switch host.CodeOf(err) {
	case host.CodeInteractionStale, host.CodeInteractionAnswered, host.CodeUnknownInteraction, host.CodeProposalClosed, host.CodeUnknownProposal:
		return true
	}
	return false
}

// decide implements a plan, or requests changes when there is a text.
func (m *app) decide(p host.Proposal, feedback string) tea.Cmd {
	m.busy, m.deciding = true, planKey(p)
	d := host.PlanDecision{Proposal: p.ID, Revision: p.Revision, ClientID: m.cfg.IDs(), Feedback: feedback}
	return m.do(func(ctx context.Context) tea.Msg {
		var err error
		if feedback == "" {
			_, err = m.conn.get().ContinuePlan(ctx, m.id, d)
		} else {
			_, err = m.conn.get().RequestChanges(ctx, m.id, d)
		}
		return decidedMsg{p, err}
	})
}

func (m *app) decided(r decidedMsg) {
	m.busy, m.deciding = false, ""
	p, open := m.panel.(*reviewPanel)
	open = open && p.plan.ID == r.plan.ID
	switch {
	case r.err == nil:
		m.done[planKey(r.plan)] = true
		if r.plan.Interaction != "" {
			m.done[r.plan.Interaction] = true
		}
		if open {
			m.close()
		}
	case gone(r.err):
		m.done[planKey(r.plan)] = true
		m.tell(true, r.err.Error())
		if open {
			m.close()
		}
	default:
		m.tell(true, r.err.Error())
	}
}

// configure changes what is remembered, if it is still what was shown.
func (m *app) configure(p host.SettingsPatch) tea.Cmd {
	rev := m.controls.Revision
	return m.do(func(ctx context.Context) tea.Msg {
		c, err := m.conn.get().ConfigureNextTurn(ctx, m.id, rev, p)
		return controlsMsg{c, err}
	})
}

func (m *app) probe() tea.Cmd {
	m.tell(false, "Starting the harness to read what it offers…")
	return m.do(func(ctx context.Context) tea.Msg {
		c, err := m.conn.get().Probe(ctx, m.id)
		return controlsMsg{c, err}
	})
}

// refresh reads the controls, one request at a time.
func (m *app) refresh() tea.Cmd {
	if m.reading {
		m.stale = true
		return nil
	}
	m.reading, m.stale = true, false
	return m.do(func(ctx context.Context) tea.Msg {
		c, err := m.conn.get().Controls(ctx, m.id)
		return readMsg{c, err}
	})
}

// readMsg ends a refresh.
type readMsg struct {
	controls host.Controls
	err      error
}

func (m *app) halt() tea.Cmd {
	opts := host.StopOptions{}
	if t := m.story.running(); t != nil {
		// A stop that comes late must not hit the next turn (S1).
		opts.Turn = t.ID
	}
	return m.do(func(ctx context.Context) tea.Msg {
		_, err := m.conn.get().Stop(ctx, m.id, opts)
		if c := host.CodeOf(err); c == host.CodeNothingRunning || c == host.CodeTurnNotRunning {
			err = nil
		}
		return doneMsg{"", err}
	})
}

func (m *app) resume() tea.Cmd {
	return m.do(func(ctx context.Context) tea.Msg {
		_, err := m.conn.get().ResumeQueue(ctx, m.id)
		return doneMsg{"The queue goes on.", err}
	})
}

func (m *app) cancelQueued(t host.Turn) tea.Cmd {
	return m.do(func(ctx context.Context) tea.Msg {
		_, err := m.conn.get().CancelQueued(ctx, m.id, t.ID, host.QueuedCancel{Version: t.Version})
		return doneMsg{"The message was taken out of the queue.", err}
	})
}

// retry sends a turn again; work says that what it did with tools may be done
// again.
func (m *app) retry(t host.Turn, work bool) tea.Cmd {
	id := m.cfg.IDs()
	return m.do(func(ctx context.Context) tea.Msg {
		_, err := m.conn.get().Retry(ctx, m.id, t.ID, host.RetryRequest{ClientID: id, RepeatWork: work})
		if host.CodeOf(err) == host.CodeRetryRepeatsWork {
			return doneMsg{"This turn used tools, so the agent may do the same work twice. Tab to it and press R (capital) if that is meant.", nil}
		}
		return doneMsg{"It is sent again, with the settings that are remembered now.", err}
	})
}

// switchMode remembers the mode after the present one, as the catalog lists them.
func (m *app) switchMode() tea.Cmd {
	if m.controls.Catalog == nil || len(m.controls.Catalog.Modes) == 0 {
		m.tell(false, "What the harness offers is read when it runs; F2 starts it, or takes a mode by its name.")
		return nil
	}
	modes := m.controls.Catalog.Modes
	next := modes[0].ID
	for i, c := range modes {
		if c.ID == m.controls.Settings.Mode {
			next = modes[(i+1)%len(modes)].ID
		}
	}
	return m.configure(host.SettingsPatch{Mode: &next})
}

// goOn takes the way on after a planning turn that proposed no plan (rule 18).
func (m *app) goOn() tea.Cmd {
	mode := m.controls.ContinueMode
	if mode == "" {
		return nil
	}
	if m.composer.empty() {
		m.composer.set("Go on and implement it.")
	}
	return m.configure(host.SettingsPatch{Mode: &mode})
}

func permissionOf(s string) *abi.Permission {
	p := abi.Permission(s)
	return &p
}
