// Package demo plays one job from the message to the written file and checks
// every step: plan mode with a remembered permission, a question, its answer, a
// plan, a requested change, the revised plan, and its implementation.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/chat"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// Config is what the demo needs.
type Config struct {
	Open core.Opener
	// Harness is the command of the scripted harness.
	Harness []string
	Out     io.Writer
	Width   int
	Color   bool
}

// What the person of the demo does, and what must come of it.
const (
	harness    = "codex"
	planMode   = "plan"
	execution  = "default"
	permission = abi.PermissionAuto
	message    = "Please write a greeting into a file."
	language   = "German"
	feedback   = "say in the plan that nothing else is touched"
	file       = "greeting.txt"
	content    = "Hallo, Welt!\n"
)

// limit bounds the whole demo; on a slow machine compiling the binding takes longest.
const limit = 5 * time.Minute

// Run plays the demo. The error says which step went otherwise than promised.
func Run(ctx context.Context, cfg Config) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	base, err := os.MkdirTemp("", "ao-host-demo-")
	if err != nil {
		return fmt.Errorf("the demo needs a temporary folder: %w", err)
	}
	defer func() {
		if rerr := os.RemoveAll(base); err == nil && rerr != nil {
			err = fmt.Errorf("the demo's folder could not be removed: %w", rerr)
		}
	}()
	// The harness names files by their real path.
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		return fmt.Errorf("the demo's folder cannot be resolved: %w", err)
	}
	project, home := filepath.Join(real, "project"), filepath.Join(real, "harness-home")
	for _, dir := range []string{project, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("the demo needs a temporary folder: %w", err)
		}
	}
	c, err := cfg.Open(ctx, host.Config{
		Dir: filepath.Join(real, "data"), Env: os.Environ(), LeaveIdle: true,
		// Compiling the binding for the first time may take long on a busy machine;
		// the transcript is the same on every one.
		StartSlow: 5 * time.Minute,
		Launch:    map[string]host.Launch{harness: {Argv: cfg.Harness, Env: []string{"CODEX_HOME=" + home}}},
	})
	if err != nil {
		return err
	}
	p := &play{core: c, project: project, render: chat.NewRenderer(cfg.Out, cfg.Width, cfg.Color)}
	p.render.Dir, p.render.Whole = project, true
	err = p.run(ctx)
	if cerr := c.Close(context.WithoutCancel(ctx)); err == nil {
		err = cerr
	}
	return err
}

// play is a demo under way.
type play struct {
	core    core.Core
	project string
	render  *chat.Renderer
	id      string
	next    func() (host.Event, error, bool)
	// The newest of each thing in the journal.
	turns    map[string]host.Turn
	card     host.Interaction
	plan     host.Proposal
	progress abi.Progress
}

func (p *play) run(ctx context.Context) error {
	mode, perm := planMode, permission
	c, err := p.core.Create(ctx, host.NewConversation{Harness: harness, Cwd: p.project, Settings: host.SettingsPatch{Mode: &mode, Permission: &perm}})
	if err != nil {
		return err
	}
	p.id, p.turns = c.ID, map[string]host.Turn{}
	next, stop := iter.Pull2(p.core.Events(ctx, c.ID, c.LastSeq))
	defer stop()
	p.next = next
	for _, step := range []struct {
		title string
		do    func(context.Context) error
	}{
		{"A message is sent in plan mode; the agent asks a question", p.send},
		{"The question is answered; the agent proposes a plan", p.answer},
		{"A change is requested; the agent revises the plan", p.change},
		{"The plan is implemented with the remembered permission", p.implement},
	} {
		p.render.Heading(step.title)
		if err := step.do(ctx); err != nil {
			if ctx.Err() != nil {
				err = errors.Join(fmt.Errorf("the step did not end within %v", limit), err)
			}
			return fmt.Errorf("demo: %s: %w", step.title, err)
		}
	}
	p.render.Heading(file + " is written")
	p.render.Paragraph(view.Verbatim(strings.TrimSuffix(content, "\n")))
	return nil
}

func (p *play) send(ctx context.Context) error {
	t, err := p.core.Send(ctx, p.id, host.Message{Content: host.Text(message)})
	if err != nil {
		return err
	}
	if err := p.until(func() bool { return p.card.State == host.InteractionOpen || p.ended(t.ID) }); err != nil {
		return err
	}
	return errors.Join(
		p.turnIs(t.ID, host.TurnRunning, planMode),
		expect(p.card.Ask.Type == abi.InteractionQuestion && len(p.card.Ask.Fields) == 1, "the agent asked one question, and got %q with %d fields", p.card.Ask.Type, len(p.card.Ask.Fields)),
		p.noFile(),
	)
}

func (p *play) answer(ctx context.Context) error {
	f := p.card.Ask.Fields[0]
	option := int64(-1)
	for i, o := range f.Options {
		if o.Label == language {
			option = int64(i)
		}
	}
	if err := expect(option >= 0, "%s is one of the options", language); err != nil {
		return err
	}
	turn := p.card.Turn
	p.render.Paragraph("> " + f.Text + " " + language)
	a := host.Answer{Fields: []abi.FieldAnswer{{Field: f.ID, State: abi.StateAnswered, Selected: []int64{option}}}}
	if _, err := p.core.ResolveInput(ctx, p.id, p.card.ID, a); err != nil {
		return err
	}
	if err := p.until(func() bool { return p.ended(turn) }); err != nil {
		return err
	}
	return errors.Join(
		p.turnIs(turn, host.TurnCompleted, planMode),
		expect(p.card.State == host.InteractionClosed && p.card.Disposition == abi.DispositionAnswered, "the question is answered, and it is %s", p.card.Disposition),
		expect(p.plan.State == host.ProposalOpen && strings.Contains(p.plan.Text, language), "a plan with the answer in it is open"),
		p.noFile(),
	)
}

func (p *play) change(ctx context.Context) error {
	before := p.plan
	t, err := p.core.RequestChanges(ctx, p.id, host.PlanDecision{Proposal: before.ID, Revision: before.Revision, Feedback: feedback})
	if err != nil {
		return err
	}
	if err := p.until(func() bool { return p.ended(t.ID) }); err != nil {
		return err
	}
	return errors.Join(
		p.turnIs(t.ID, host.TurnCompleted, planMode),
		expect(p.plan.State == host.ProposalOpen && p.plan.Text != before.Text && strings.Contains(p.plan.Text, feedback), "a revised plan with the feedback in it is open"),
		p.noFile(),
	)
}

func (p *play) implement(ctx context.Context) error {
	t, err := p.core.ContinuePlan(ctx, p.id, host.PlanDecision{Proposal: p.plan.ID, Revision: p.plan.Revision})
	if err != nil {
		return err
	}
	if err := p.until(func() bool { return p.ended(t.ID) }); err != nil {
		return err
	}
	c, err := p.core.Conversation(ctx, p.id)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(p.project, file))
	if err != nil {
		return fmt.Errorf("the file was not written: %w", err)
	}
	done := len(p.progress.Entries) > 0
	for _, e := range p.progress.Entries {
		done = done && e.Status == "completed"
	}
	return errors.Join(
		p.turnIs(t.ID, host.TurnCompleted, execution),
		expect(p.plan.State == host.ProposalImplemented, "the plan is marked as implemented, and it is %s", p.plan.State),
		expect(c.Settings.Mode == execution && c.Settings.Permission == permission, "mode %s and permission %s are remembered, and they are %s", execution, permission, view.Settings(c.Settings)),
		expect(done, "every step of the checklist is completed"),
		expect(string(b) == content, "the file has %q, and it has %q", content, b),
	)
}

// until shows the journal until something is the case.
func (p *play) until(reached func() bool) error {
	for !reached() {
		ev, err, ok := p.next()
		switch {
		case err != nil:
			return err
		case !ok:
			return errors.New("the journal ended")
		}
		if err := p.note(ev); err != nil {
			return err
		}
		if err := p.render.Event(ev); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) note(ev host.Event) error {
	switch ev.Type {
	case host.EventTurn:
		var t host.Turn
		if err := json.Unmarshal(ev.Body, &t); err != nil {
			return err
		}
		p.turns[t.ID] = t
	case host.EventInteraction:
		return json.Unmarshal(ev.Body, &p.card)
	case host.EventProposal:
		var plan host.Proposal
		if err := json.Unmarshal(ev.Body, &plan); err != nil {
			return err
		}
		// An older plan may be closed after the newer one is there.
		if plan.State == host.ProposalOpen || plan.ID == p.plan.ID {
			p.plan = plan
		}
	case host.EventProgress:
		return json.Unmarshal(ev.Body, &p.progress)
	}
	return nil
}

func (p *play) ended(turn string) bool {
	return p.turns[turn].State != "" && p.turns[turn].State.Ended()
}

// turnIs checks the state of a turn and what it was frozen with.
func (p *play) turnIs(id string, state host.TurnState, mode string) error {
	t := p.turns[id]
	return errors.Join(
		expect(t.State == state, "the turn is %s, and it is %s (%s %s)", state, t.State, t.Code, t.Message),
		expect(t.Settings.Mode == mode && t.Settings.Permission == permission, "the turn has mode %s and permission %s, and it has %s", mode, permission, view.Settings(t.Settings)),
	)
}

// noFile checks that nothing was written while planning.
func (p *play) noFile() error {
	_, err := os.Stat(filepath.Join(p.project, file))
	return expect(errors.Is(err, fs.ErrNotExist), "nothing is written while planning")
}

func expect(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("expected that "+format, args...)
}
