package host_test

import (
	"fmt"
	"os"
	"path/filepath"
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

// stubborn is a harness that takes its time to end.
const stubborn = `{"start":[{"ignore_sigterm":true},{"ignore_eof":true}],`

func (r *rig) untilStopping() {
	r.t.Helper()
	r.until("the session to be ended", func() bool { return r.controls().Session.State == host.SessionStopping })
}

// probed asks for the catalog, which another session than gen must have told.
func (r *rig) probed(gen int64) {
	r.t.Helper()
	c, err := r.h.Probe(r.t.Context(), r.conv)
	if err != nil {
		r.t.Fatalf("nobody stopped what it asked for: %v", err)
	}
	if c.CatalogState != host.CatalogRead || c.Session.Generation <= gen {
		r.t.Fatalf("the catalog is %s, the session %+v", c.CatalogState, c.Session)
	}
}

func TestRule09_AProbeThatComesWhileASessionIsBeingEndedIsForTheNextOne(t *testing.T) {
	t.Parallel()
	t.Run("because nothing happens in it", func(t *testing.T) {
		r := newRig(t, stubborn+`"turns":[{"repeat":true,"steps":[{"say":"Hi."}]}]}`, restsAfter(20*time.Millisecond))
		r.untilTurn(r.send("one").ID, host.TurnCompleted)
		r.untilStopping()
		r.probed(1)
	})
	t.Run("because another takes its place", func(t *testing.T) {
		u := newUpdated(t, stubborn+`"turns":[{"repeat":true,"steps":[{"say":"Hi."}]}]}`)
		u.untilTurn(u.send("one").ID, host.TurnCompleted)
		u.install(t, newerVersion)
		two := u.send("two")
		u.untilStopping()
		u.probed(1)
		u.untilTurn(two.ID, host.TurnCompleted)
	})
	t.Run("because a person gave its start up", func(t *testing.T) {
		u := newUpdated(t, echo)
		up := filepath.Join(t.TempDir(), "up")
		u.write(t, fmt.Sprintf("#!/bin/sh\ntrap '' TERM\n: > %q\nwhile :; do sleep 0.1; done\n", up))
		given := make(chan error, 1)
		go func() {
			_, err := u.h.Probe(t.Context(), u.conv)
			given <- err
		}()
		u.until("the start", func() bool { _, err := os.Stat(up); return err == nil })
		u.stop(host.StopOptions{})
		u.install(t, newerVersion)
		u.untilStopping()
		u.probed(1)
		wantCode(t, <-given, host.CodeHoldStopped)
	})
}
