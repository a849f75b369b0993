package demo_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/demo"
	"github.com/aoagents/ao-host/host"
)

// The ordinary way through the demo is in the command's scripts. Here the agent
// misbehaves, and the demo must say so.
func TestTheDemoFailsWhenAStepGoesOtherwiseThanPromised(t *testing.T) {
	question := abi.Interaction{Type: abi.InteractionQuestion, Route: abi.RouteNative, Blocking: true, Fields: []abi.Field{{ID: "l", Text: "Language?", Options: []abi.Option{{Label: "English"}, {Label: "German"}}}}}
	for _, c := range []struct {
		name, want string
		send       func(f *coretest.Fake, u host.Turn)
		answer     func(f *coretest.Fake, i host.Interaction, a host.Answer)
		plan       func(f *coretest.Fake, p host.Proposal, u host.Turn)
	}{
		{"no question", "the turn is running, and it is completed", func(f *coretest.Fake, u host.Turn) { f.Become(u.ID, host.TurnCompleted, nil) }, nil, nil},
		{"another mode", "mode plan and permission auto, and it has mode default", func(f *coretest.Fake, u host.Turn) {
			f.Become(u.ID, host.TurnRunning, func(t *host.Turn) { t.Settings.Mode = "default" })
			f.Ask(u.ID, question)
		}, nil, nil},
		{"no plan", "a plan with the answer in it is open", func(f *coretest.Fake, u host.Turn) {
			f.Become(u.ID, host.TurnRunning, nil)
			f.Ask(u.ID, question)
		}, func(f *coretest.Fake, i host.Interaction, _ host.Answer) { f.Become(i.Turn, host.TurnCompleted, nil) }, nil},
		{"feedback is lost", "a revised plan with the feedback in it is open", func(f *coretest.Fake, u host.Turn) {
			f.Become(u.ID, host.TurnRunning, nil)
			f.Ask(u.ID, question)
		}, func(f *coretest.Fake, i host.Interaction, _ host.Answer) {
			f.Propose(host.Proposal{Revision: 1, Turn: i.Turn, Text: "German"})
			f.Become(i.Turn, host.TurnCompleted, nil)
		}, func(f *coretest.Fake, _ host.Proposal, u host.Turn) {
			f.Propose(host.Proposal{Revision: 1, Turn: u.ID, Text: "German, as before"})
			f.Become(u.ID, host.TurnCompleted, nil)
		}},
		{"nothing is written", "the file was not written", func(f *coretest.Fake, u host.Turn) {
			f.Become(u.ID, host.TurnRunning, nil)
			f.Ask(u.ID, question)
		}, func(f *coretest.Fake, i host.Interaction, _ host.Answer) {
			f.Propose(host.Proposal{Revision: 1, Turn: i.Turn, Text: "German"})
			f.Become(i.Turn, host.TurnCompleted, nil)
		}, func(f *coretest.Fake, _ host.Proposal, u host.Turn) {
			if u.Origin == abi.OriginFeedback {
				f.Propose(host.Proposal{Revision: 1, Turn: u.ID, Text: "German, and " + u.Content[0].Text})
			}
			f.Become(u.ID, host.TurnCompleted, nil)
		}},
	} {
		f := coretest.New()
		f.OnSend, f.OnAnswer, f.OnPlan = c.send, c.answer, c.plan
		err := demo.Run(context.Background(), demo.Config{Open: f.Opener(), Harness: []string{"x"}, Out: io.Discard, Width: 80})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, wanted one with %q", c.name, err, c.want)
		}
		if !slices.Contains(f.Calls(), "Close now") {
			t.Errorf("%s: the host was not closed", c.name)
		}
	}
}

func TestTheDemoTellsThatTheHostCannotBeOpened(t *testing.T) {
	want := &host.Error{Code: host.CodeStoreFull}
	err := demo.Run(context.Background(), demo.Config{Out: io.Discard, Width: 80, Open: func(context.Context, host.Config) (core.Core, error) { return nil, want }})
	if err != want { //nolint:errorlint // the very error must come back
		t.Errorf("error %v", err)
	}
}
