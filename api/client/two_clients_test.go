package client_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/host"
)

// window is one of two clients that look at the same conversation. It keeps what
// its event stream told, as a person would see it.
type window struct {
	*client.Client
	t    *testing.T
	conv string

	mu     sync.Mutex
	events []host.Event
	wake   chan struct{}
}

// twoWindows opens a conversation and two clients of its own connection each that
// follow it.
func twoWindows(t *testing.T, script string) (a, b *window) {
	t.Helper()
	h, cwd, _ := newHost(t, script)
	socket, _ := serveUnix(t, h.Handler())
	conv, err := h.Create(t.Context(), host.NewConversation{Harness: "codex", Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *window {
		w := &window{Client: closing(t, client.Unix(socket, client.Options{})), t: t, conv: conv.ID, wake: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ev, err := range w.Events(ctx, conv.ID, 0) {
				if err != nil {
					return
				}
				w.mu.Lock()
				w.events = append(w.events, ev)
				close(w.wake)
				w.wake = make(chan struct{})
				w.mu.Unlock()
			}
		}()
		t.Cleanup(func() { cancel(); <-ended })
		return w
	}
	return open(), open()
}

// sees waits until the stream of a window has told something that fits, and
// returns it. Nothing is read in any other way.
func sees[T any](w *window, what string, typ host.EventType, fits func(T) bool) T {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for from := 0; ; {
		w.mu.Lock()
		events, wake := w.events[from:], w.wake
		from = len(w.events)
		w.mu.Unlock()
		for _, ev := range events {
			var v T
			if ev.Type != typ {
				continue
			}
			if err := json.Unmarshal(ev.Body, &v); err != nil {
				w.t.Fatal(err)
			}
			if fits(v) {
				return v
			}
		}
		select {
		case <-wake:
		case <-ctx.Done():
			w.t.Fatalf("a window never saw %s", what)
		}
	}
}

func (w *window) seesTurn(id string, state host.TurnState) host.Turn {
	w.t.Helper()
	return sees(w, "the turn as "+string(state), host.EventTurn, func(t host.Turn) bool { return t.ID == id && t.State == state })
}

func (w *window) send(text string) host.Turn {
	w.t.Helper()
	turn, err := w.Send(w.t.Context(), w.conv, host.Message{Content: host.Text(text)})
	if err != nil {
		w.t.Fatal(err)
	}
	return turn
}

// collide does two things at once and wants one to succeed and the other to be
// told why not. It returns which of them succeeded.
func collide(t *testing.T, want host.Code, first, second func() error) int {
	t.Helper()
	var both sync.WaitGroup
	errs := make([]error, 2)
	start := make(chan struct{})
	for i, do := range []func() error{first, second} {
		both.Go(func() { <-start; errs[i] = do() })
	}
	close(start)
	both.Wait()
	won := slices.Index(errs, nil)
	if won < 0 || errs[1-won] == nil {
		t.Fatalf("of two that collide one must succeed: %v and %v", errs[0], errs[1])
	}
	if got := host.CodeOf(errs[1-won]); got != want {
		t.Fatalf("the loser was told %v, want %s", errs[1-won], want)
	}
	return won
}

func TestTwoClientsWhoChangeTheSettingsAtOnceDoNotOverwriteEachOther(t *testing.T) {
	a, b := twoWindows(t, primary)
	ctx := t.Context()
	k, err := a.Controls(ctx, a.conv)
	if err != nil {
		t.Fatal(err)
	}
	modes := []string{"plan", "default"}
	change := func(w *window, mode string) func() error {
		return func() error {
			_, err := w.ConfigureNextTurn(ctx, w.conv, k.Revision, host.SettingsPatch{Mode: &mode})
			return err
		}
	}
	won := collide(t, host.CodeStaleRevision, change(a, modes[0]), change(b, modes[1]))
	for _, w := range []*window{a, b} {
		s := sees(w, "the new settings", host.EventSettings, func(host.SettingsEvent) bool { return true })
		if s.Settings.Mode != modes[won] || s.Revision != k.Revision+1 {
			t.Errorf("a window saw %+v, want mode %s", s, modes[won])
		}
	}
	// The loser reads again and changes what is there now.
	now, err := b.Controls(ctx, b.conv)
	if err != nil || now.Settings.Mode != modes[won] {
		t.Fatal(now.Settings, err)
	}
	if _, err := b.ConfigureNextTurn(ctx, b.conv, now.Revision, host.SettingsPatch{Model: ptr("m")}); err != nil {
		t.Fatal(err)
	}
	s := sees(a, "the other's change", host.EventSettings, func(s host.SettingsEvent) bool { return s.Settings.Model == "m" })
	if s.Settings.Mode != modes[won] {
		t.Errorf("the second change lost the first: %+v", s.Settings)
	}
}

func TestRule13_OfTwoClientsWhoAnswerOneCardTheFirstCountsAndBothSeeIt(t *testing.T) {
	a, b := twoWindows(t, primary)
	ctx := t.Context()
	if _, err := a.ConfigureNextTurn(ctx, a.conv, 1, host.SettingsPatch{Mode: ptr("plan")}); err != nil {
		t.Fatal(err)
	}
	a.send("Plan it")
	card := sees(b, "the card", host.EventInteraction, func(i host.Interaction) bool { return i.State == host.InteractionOpen })
	answer := func(w *window, option int64) func() error {
		return func() error {
			_, err := w.ResolveInput(ctx, w.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{{Field: card.Ask.Fields[0].ID, State: abi.StateAnswered, Selected: []int64{option}}}})
			return err
		}
	}
	won := collide(t, host.CodeInteractionAnswered, answer(a, 0), answer(b, 1))
	for _, w := range []*window{a, b} {
		i := sees(w, "the answered card", host.EventInteraction, func(i host.Interaction) bool { return i.State == host.InteractionClosed })
		if i.Disposition != abi.DispositionAnswered || i.Reply == nil || !slices.Equal(i.Reply.Fields[0].Selected, []int64{int64(won)}) {
			t.Errorf("a window saw %s %+v, want the answer of client %d", i.Disposition, i.Reply, won)
		}
	}
}

func TestRule17_OfTwoClientsWhoDecideOnOnePlanDifferentlyTheFirstCountsAndBothSeeIt(t *testing.T) {
	a, b := twoWindows(t, `{"turns":[{"when":{"mode":"plan"},"repeat":true,"steps":[{"plan":"# Plan\n1. Write b.md\n"}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	ctx := t.Context()
	if _, err := a.ConfigureNextTurn(ctx, a.conv, 1, host.SettingsPatch{Mode: ptr("plan")}); err != nil {
		t.Fatal(err)
	}
	a.seesTurn(a.send("Plan it").ID, host.TurnCompleted)
	open := func(p host.Proposal) bool { return p.State == host.ProposalOpen }
	plan := sees(b, "the plan", host.EventProposal, open)
	won := collide(t, host.CodeProposalClosed, func() error {
		_, err := a.ContinuePlan(ctx, a.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision})
		return err
	}, func() error {
		_, err := b.RequestChanges(ctx, b.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision, Feedback: "shorter"})
		return err
	})
	want := []host.ProposalState{host.ProposalImplemented, host.ProposalChangesRequested}[won]
	for _, w := range []*window{a, b} {
		p := sees(w, "the decision", host.EventProposal, func(p host.Proposal) bool { return p.ID == plan.ID && !open(p) })
		if p.State != want {
			t.Errorf("a window saw the plan as %s, want %s", p.State, want)
		}
		sees(w, "what follows from it", host.EventTurn, func(t host.Turn) bool { return t.Proposal == plan.ID && t.State == host.TurnCompleted })
	}
	turns, err := a.Turns(ctx, a.conv)
	if err != nil || len(turns) != 2 {
		t.Errorf("%d turns, %v; one decision makes one turn", len(turns), err)
	}
}

func TestTwoClientsWhoChangeOneQueuedMessageAreToldOfEachOther(t *testing.T) {
	a, b := twoWindows(t, waits)
	ctx := t.Context()
	a.seesTurn(a.send("Work").ID, host.TurnRunning)
	other := a.send("other")
	edit := func(w *window, turn host.Turn, text string) func() error {
		return func() error {
			_, err := w.EditQueued(ctx, w.conv, turn.ID, host.QueuedEdit{Version: turn.Version, Content: host.Text(text)})
			return err
		}
	}
	move := func(w *window, turn host.Turn, before string) func() error {
		return func() error {
			_, err := w.MoveQueued(ctx, w.conv, turn.ID, host.QueuedMove{Version: turn.Version, Before: before})
			return err
		}
	}
	t.Run("both edit", func(t *testing.T) {
		turn := a.send("queued")
		texts := []string{"of a", "of b"}
		won := collide(t, host.CodeTurnChanged, edit(a, turn, texts[0]), edit(b, turn, texts[1]))
		for _, w := range []*window{a, b} {
			got := sees(w, "the edit", host.EventTurn, func(t host.Turn) bool { return t.ID == turn.ID && t.Version == 2 })
			if got.Content[0].Text != texts[won] {
				t.Errorf("a window saw %q, want %q", got.Content[0].Text, texts[won])
			}
		}
	})
	t.Run("one edits and one moves", func(t *testing.T) {
		turn := a.send("queued")
		collide(t, host.CodeTurnChanged, edit(a, turn, "edited"), move(b, turn, other.ID))
	})
	t.Run("one edits what the other has cancelled", func(t *testing.T) {
		turn := a.send("queued")
		if _, err := b.CancelQueued(ctx, b.conv, turn.ID); err != nil {
			t.Fatal(err)
		}
		a.seesTurn(turn.ID, host.TurnCancelled)
		if err := edit(a, turn, "too late")(); host.CodeOf(err) != host.CodeTurnNotQueued {
			t.Errorf("the editor was told %v", err)
		}
	})
	t.Run("one cancels while the other edits", func(t *testing.T) {
		turn := a.send("queued")
		var both sync.WaitGroup
		var edited, cancelled error
		both.Go(func() { edited = edit(a, turn, "edited")() })
		both.Go(func() { _, cancelled = b.CancelQueued(ctx, b.conv, turn.ID) })
		both.Wait()
		if cancelled != nil || edited != nil && host.CodeOf(edited) != host.CodeTurnNotQueued {
			t.Errorf("the edit: %v, the cancel: %v", edited, cancelled)
		}
		for _, w := range []*window{a, b} {
			got := w.seesTurn(turn.ID, host.TurnCancelled)
			if (edited == nil) != (got.Content[0].Text == "edited") {
				t.Errorf("the edit was answered with %v, and a window saw %q cancelled", edited, got.Content[0].Text)
			}
		}
	})
}

func TestTwoClientsSeeOneOrderOfWhatBothSend(t *testing.T) {
	a, b := twoWindows(t, waits)
	a.seesTurn(a.send("Work").ID, host.TurnRunning)
	var both sync.WaitGroup
	for _, w := range []*window{a, b} {
		both.Go(func() {
			for range 10 {
				if _, err := w.Send(t.Context(), w.conv, host.Message{Content: host.Text("x")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	turns, err := a.Turns(t.Context(), a.conv)
	if err != nil || len(turns) != 21 {
		t.Fatal(len(turns), err)
	}
	last := turns[len(turns)-1].ID
	var told [2][]string
	for i, w := range []*window{a, b} {
		w.seesTurn(last, host.TurnQueued)
		w.mu.Lock()
		for _, ev := range w.events {
			var turn host.Turn
			if ev.Type == host.EventTurn && json.Unmarshal(ev.Body, &turn) == nil && turn.State == host.TurnQueued {
				told[i] = append(told[i], turn.ID)
			}
		}
		w.mu.Unlock()
	}
	var want []string
	for _, turn := range turns {
		want = append(want, turn.ID)
	}
	if !slices.Equal(told[0], want) || !slices.Equal(told[1], want) {
		t.Errorf("the queue is %q; the windows saw %q and %q", want, told[0], told[1])
	}
}
