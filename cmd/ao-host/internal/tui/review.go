package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/markdown"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// reviewPanel is the pager of a plan: the plan scrolls, the decision stays.
type reviewPanel struct {
	*choices
	plan host.Proposal
	name string
}

// The options of a review.
const (
	reviewImplement = iota
	reviewChange
	reviewLeave
)

func newReviewPanel(p host.Proposal, name string, permission abi.Permission) *reviewPanel {
	leave := "it can be decided on later"
	if p.Route == abi.RouteNative {
		leave = "the agent waits until it is decided on"
	}
	return &reviewPanel{plan: p, name: name, choices: newChoices(
		func(width int) []string { return markdown.Lines(p.Text, width) },
		[]option{
			{label: "implement it", description: "with the permission " + view.Or(string(permission), string(abi.PermissionDefault))},
			{label: "request changes", description: "in your own words; planning goes on"},
			{label: "leave it", description: leave},
		})}
}

func (p *reviewPanel) title() string {
	return fmt.Sprintf("%s, revision %d", p.name, p.plan.Revision)
}

func (p *reviewPanel) help() string {
	if p.editor != nil {
		return "Enter request · Alt+Enter new line · PgUp PgDn read · Esc back"
	}
	return "↑↓ or number · Enter decide · PgUp PgDn read · Esc later"
}

func (p *reviewPanel) key(m *app, k tea.KeyPressMsg) tea.Cmd {
	if p.editor != nil {
		s, done := p.edited(k)
		switch {
		case done && strings.TrimSpace(s) == "":
			p.problem = "Say what should change, or Esc to go back."
		case done:
			return m.decide(p.plan, s)
		}
		return nil
	}
	switch p.choices.key(k) {
	case reviewImplement:
		return m.decide(p.plan, "")
	case reviewChange:
		p.typed("What should change:", false)
	case reviewLeave:
		m.putAside()
	}
	return nil
}
