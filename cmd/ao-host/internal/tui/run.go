package tui

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

// Config is what the chat needs.
type Config struct {
	Core core.Core
	// Connect finds the host again after it was lost. With start one that was ended is
	// started; else only one that died, and the error is [ErrEnded]. Nil: Core finds it
	// by itself.
	Connect func(ctx context.Context, start bool) (core.Core, error)
	// Conversation is the one that is shown.
	Conversation string
	In           io.Reader
	Out          io.Writer
	// Environ is the environment of the terminal (TERM, NO_COLOR).
	Environ []string
	// Terminate asks the program to end.
	Terminate <-chan struct{}
	// Attached goes with the first message.
	Attached []host.Content
	// IDs makes client message ids.
	IDs func() string
}

// Result is what is left behind.
type Result struct {
	// Core is the host as it was reached last; the caller closes it.
	Core core.Core
	// Active: something runs. Waiting: a question or plan waits for the person.
	Active, Waiting bool
	// Terminated: the program was asked to end.
	Terminated bool
	// Queued is the number of messages that wait.
	Queued int
	// Held: they wait until a person lets the queue go on.
	Held bool
	// Unsent is what was written and not sent.
	Unsent []string
}

// past is how long the story may be told before what waits in it is asked,
// although its newest number has not come: that one may be compacted away.
const past = time.Second

// Run shows the conversation until the person leaves. The error is one of the
// terminal's; what goes wrong with the host is shown.
func Run(ctx context.Context, cfg Config) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	m := newApp(ctx, cfg)
	conv, err := cfg.Core.Conversation(ctx, cfg.Conversation)
	if err != nil {
		return Result{Core: cfg.Core}, err
	}
	m.story.conv, m.until = conv, conv.LastSeq
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(cfg.In), tea.WithOutput(cfg.Out), tea.WithEnvironment(cfg.Environ), tea.WithoutSignalHandler())
	f := &feed{conn: m.conn, id: cfg.Conversation, send: p.Send}
	others.Go(func() { f.run(ctx) })
	others.Go(func() {
		late := time.NewTimer(past)
		defer late.Stop()
		for {
			select {
			case <-late.C:
				p.Send(pastMsg{})
			case <-cfg.Terminate:
				p.Send(leaveMsg{})
			case <-ctx.Done():
				return
			}
		}
	})
	_, err = p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil
	}
	return m.result(), err
}

func (m *app) result() Result {
	r := Result{Core: m.conn.get(), Terminated: m.terminated, Active: m.active(), Queued: len(m.story.waiting(nil)), Held: m.story.queue.Held}
	r.Waiting = m.waiting(func(key string) bool { return m.done[key] }) != nil
	unsent := func(text string, attached []host.Content) {
		for _, c := range attached {
			r.Unsent = append(r.Unsent, "("+string(c.Type)+" "+attachmentName(c)+")")
		}
		if !blank(text) {
			r.Unsent = append(r.Unsent, text)
		}
	}
	for _, o := range m.outbox {
		unsent(o.text, o.attached)
	}
	unsent(m.composer.value(), m.attached)
	return r
}
