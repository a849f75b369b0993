package host_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func restsAfter(d time.Duration) func(*host.Config) {
	return func(c *host.Config) { c.IdleSession = d }
}

func (r *rig) untilRest() {
	r.t.Helper()
	r.until("the end of the idle session", func() bool { return r.controls().Session.State == host.SessionNone })
}

func TestAnIdleSessionEndsAndTheNextMessageRestoresIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"say":"You said {{text}}."}]}]}`, restsAfter(20*time.Millisecond))
	r.untilTurn(r.send("one").ID, host.TurnCompleted)
	before := r.controls()
	r.untilRest()
	rest := r.controls()
	if rest.CatalogState != host.CatalogUnread || rest.Queue.Held || len(rest.Problems) > 0 || rest.Session.PID != 0 {
		t.Errorf("at rest: %+v", rest)
	}
	r.untilTurn(r.send("two").ID, host.TurnCompleted)
	r.untilRest()
	if got := r.controls().Session; got.Generation != rest.Session.Generation+1 || got.NativeSession != before.Session.NativeSession {
		t.Errorf("restored as %+v, it was %+v", got, before.Session)
	}
	if diff := cmp.Diff([]string{"You said one.", "You said two."}, r.texts(abi.ItemMessage)); diff != "" {
		t.Error(diff)
	}
	for _, ev := range r.journal() {
		if ev.Type == host.EventWarning || ev.Type == host.EventProblem {
			t.Errorf("%s: %s", ev.Type, ev.Body)
		}
	}
}

func TestASessionIsNotIdleWhileSomethingGoesOnOrWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		busy   func(r *rig)
		goOn   func(r *rig)
	}{
		"a turn runs": {
			script: `{"turns":[{"steps":[{"wait_steer":true},{"say":"end"}]}]}`,
			busy:   func(r *rig) { r.untilTurn(r.send("begin").ID, host.TurnRunning) },
			goOn:   func(r *rig) { r.steer("go on") },
		},
		"a question waits": {
			script: `{"turns":[{"steps":[{"ask":{"id":"q","questions":[{"id":"a","header":"A","question":"Which?","options":[{"label":"One"}]}]}},{"say":"end"}]}]}`,
			busy:   func(r *rig) { r.send("begin"); r.untilInput() },
			goOn: func(r *rig) {
				r.answer(r.untilInput().ID, host.Answer{Fields: []abi.FieldAnswer{{Field: "a", State: abi.StateAnswered, Selected: []int64{0}}}})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.script, restsAfter(time.Millisecond))
			c.busy(r)
			// Long enough for another conversation of the host to come to rest.
			other, err := r.h.Create(t.Context(), host.NewConversation{Harness: "codex", Cwd: r.cwd})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.h.Probe(t.Context(), other.ID); err != nil {
				t.Fatal(err)
			}
			r.until("the rest of another conversation", func() bool {
				v, err := r.h.Controls(t.Context(), other.ID)
				return err == nil && v.Session.State == host.SessionNone
			})
			if s := r.controls().Session; s.State != host.SessionReady || s.Generation != 1 {
				t.Fatalf("the session is %+v", s)
			}
			c.goOn(r)
			r.untilRest()
			if diff := cmp.Diff([]string{"end"}, r.texts(abi.ItemMessage)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A message that comes while the idle session is being ended starts the next one.
func TestAMessageThatMeetsTheEndOfAnIdleSessionIsNotLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"say":"{{text}}"}]}]}`, restsAfter(time.Millisecond))
	var want []string
	for _, text := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		r.untilTurn(r.send(text).ID, host.TurnCompleted)
		want = append(want, text)
	}
	if diff := cmp.Diff(want, r.texts(abi.ItemMessage)); diff != "" {
		t.Error(diff)
	}
}

// Many clients meet a conversation that is not in memory: it is read once and every
// one of them is served.
func TestAConversationIsReadOnceForAllWhoNeedIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	r.restart()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
				t.Error(err)
			}
			if _, err := r.h.ResumeQueue(t.Context(), "nobody"); host.CodeOf(err) != host.CodeUnknownConversation {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
}
