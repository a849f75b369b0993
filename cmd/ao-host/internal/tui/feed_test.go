package tui_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/tui"
	"github.com/aoagents/ao-host/host"
)

// fragile is a host whose stream breaks after a few events, again and again.
type fragile struct {
	*coretest.Fake
	// each is how many events a connection lasts; err is how it ends.
	each int
	err  error
	// gone: nothing answers.
	mu   sync.Mutex
	gone int
}

func (f *fragile) Controls(ctx context.Context, id string) (host.Controls, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone > 0 {
		f.gone--
		return host.Controls{}, &host.Error{Code: host.CodeUnreachable}
	}
	return f.Fake.Controls(ctx, id)
}

func (f *fragile) Events(ctx context.Context, id string, after uint64) iter.Seq2[host.Event, error] {
	return func(yield func(host.Event, error) bool) {
		n := 0
		for ev, err := range f.Fake.Events(ctx, id, after) {
			if !yield(ev, err) {
				return
			}
			if n++; n == f.each {
				yield(host.Event{}, f.err)
				return
			}
		}
	}
}

func talk(t *testing.T, n int) *coretest.Fake {
	t.Helper()
	f := coretest.New()
	if _, err := f.Create(t.Context(), host.NewConversation{Harness: "echo", Cwd: "/p"}); err != nil {
		t.Fatal(err)
	}
	for range n {
		f.Emit(host.EventWarning, "", abi.Warning{Code: "w", Message: "again"})
	}
	return f
}

func TestTheFeedLosesNothingAndRepeatsNothingWhenConnectionsBreak(t *testing.T) {
	fake := talk(t, 40)
	found := 0
	h := &fragile{Fake: fake, each: 7, err: &host.Error{Code: host.CodeUnreachable}, gone: 1}
	connect := func(context.Context, bool) (core.Core, error) {
		found++
		if found == 2 {
			return nil, errors.New("it is not there yet")
		}
		return h, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var seen []uint64
	var states []string
	tui.Follow(ctx, h, connect, conversation, tui.Watch{
		Event: func(ev host.Event) {
			if seen = append(seen, ev.Seq); len(seen) == 41 {
				cancel()
			}
		},
		State: func(s string) { states = append(states, s) },
	})
	for i, n := range seen {
		if n != uint64(i+1) {
			t.Fatalf("events %v", seen)
		}
	}
	if len(seen) != 41 {
		t.Errorf("%d events", len(seen))
	}
	if all := strings.Join(states, " "); !strings.HasPrefix(all, "lost connected lost lost connected lost") {
		t.Errorf("states %s", all)
	}
}

func TestTheFeedEndsWhereTryingAgainCannotHelp(t *testing.T) {
	for _, c := range []struct {
		stream, connect error
	}{
		{&host.Error{Code: host.CodeUnknownConversation}, nil},
		{&host.Error{Code: host.CodeConversationDeleted}, nil},
		{&host.Error{Code: host.CodeUnreachable}, &host.Error{Code: host.CodeVersionMismatch}},
	} {
		h := &fragile{Fake: talk(t, 3), each: 2, err: c.stream}
		var states []string
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		tui.Follow(ctx, h, func(context.Context, bool) (core.Core, error) { return nil, c.connect }, conversation, tui.Watch{State: func(s string) { states = append(states, s) }})
		if states[len(states)-1] != "ended" {
			t.Errorf("states %q", states)
		}
	}
}

// A host that was ended is looked for and not started, until the person at the chat
// starts it or somebody else has.
func TestAHostThatWasEndedIsStartedOnlyWhenThePersonWantsIt(t *testing.T) {
	fake := talk(t, 4)
	h := &fragile{Fake: fake, each: 3, err: &host.Error{Code: host.CodeUnreachable}}
	var looks atomic.Int32
	connect := func(_ context.Context, start bool) (core.Core, error) {
		if start {
			t.Error("the feed wants to start it")
		}
		if looks.Add(1) < 3 {
			return nil, tui.ErrEnded
		}
		return h, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var states []string
	tui.Follow(ctx, h, connect, conversation, tui.Watch{
		Event: func(ev host.Event) {
			if ev.Seq == 5 {
				cancel()
			}
		},
		State: func(s string) { states = append(states, s) },
	})
	if got := strings.Join(states, " "); got != "connected lost asleep asleep connected" {
		t.Errorf("states %s", got)
	}
}

func TestAJournalThatDoesNotGoBackFarEnoughIsToldFromWhatIsThere(t *testing.T) {
	fake := talk(t, 3)
	if _, err := fake.Send(t.Context(), conversation, host.Message{Content: host.Text("Hello")}); err != nil {
		t.Fatal(err)
	}
	fake.Become("turn-2", host.TurnRunning, nil)
	fake.Ask("turn-2", permission("ls"))
	h := &fragile{Fake: fake, each: 1, err: &host.Error{Code: host.CodeResync}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var story []string
	tui.Follow(ctx, h, nil, conversation, tui.Watch{Story: func(s string) { story = append(story, s); cancel() }})
	if len(story) == 0 || !strings.Contains(story[0], "› Hello") || !strings.Contains(story[0], "Run a command") || !strings.Contains(story[0], "is not in the journal any more") {
		t.Errorf("story %q", story)
	}
}

func TestAPrunedJournalIsToldFromItsBeginningWithTheNumbersThatTurnsHave(t *testing.T) {
	fake := talk(t, 0)
	for _, text := range []string{"Long ago", "Lately"} {
		u, err := fake.Send(t.Context(), conversation, host.Message{Content: host.Text(text)})
		if err != nil {
			t.Fatal(err)
		}
		fake.Become(u.ID, host.TurnRunning, nil)
		fake.Say(u.ID, "m"+u.ID, "Answer to "+text)
		fake.Become(u.ID, host.TurnCompleted, nil)
		if text == "Long ago" {
			c, err := fake.Conversation(t.Context(), conversation)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fake.Prune(t.Context(), conversation, host.PruneRequest{Before: c.LastSeq}); err != nil {
				t.Fatal(err)
			}
		}
	}
	now, err := fake.Conversation(t.Context(), conversation)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var story string
	var seen []uint64
	tui.Follow(ctx, fake, nil, conversation, tui.Watch{
		Story: func(s string) { story = s },
		Event: func(ev host.Event) {
			if seen = append(seen, ev.Seq); ev.Seq == now.LastSeq {
				cancel()
			}
		},
	})
	if !strings.Contains(story, "is not in the journal any more") || strings.Contains(story, "Long ago") {
		t.Errorf("story %q", story)
	}
	if len(seen) == 0 || seen[0] != now.JournalFloor+1 || seen[len(seen)-1] != now.LastSeq {
		t.Errorf("events %v after %d", seen, now.JournalFloor)
	}
}
