package host_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// sql changes the store's file behind the host's back.
func (r *rig) sql(statements string) {
	r.t.Helper()
	db, err := sqlite3.Open(filepath.Join(r.dir, "ao-host.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.BusyTimeout(time.Minute); err != nil {
		r.t.Fatal(err)
	}
	if err := db.Exec(statements); err != nil {
		r.t.Fatal(err)
	}
}

// unreadable makes a message fail while it is accepted and the store fail to read
// back what was before, from which on it takes everything again.
func (r *rig) unreadable(ghost string) {
	r.t.Helper()
	r.sql(`ALTER TABLE interaction RENAME TO lost;
		CREATE TRIGGER refuse BEFORE INSERT ON turn BEGIN SELECT RAISE(ABORT, 'no room'); END`)
	_, err := r.h.Send(r.t.Context(), r.conv, host.Message{ClientID: ghost, Content: host.Text("Ghost")})
	wantCode(r.t, err, host.CodeStoreFailed)
	r.sql(`DROP TRIGGER refuse`)
	r.until("the trouble to be told", func() bool { return r.troubled() })
}

func (r *rig) readable() { r.sql(`ALTER TABLE lost RENAME TO interaction`) }

func (r *rig) troubled() bool {
	return slices.ContainsFunc(r.controls().Problems, func(p abi.Problem) bool { return p.Field == "store" })
}

// untilAccepted sends until it is taken: reading is tried again once a second.
func (r *rig) untilAccepted(text string) (t host.Turn) {
	r.t.Helper()
	r.until("a message to be accepted", func() bool {
		var err error
		t, err = r.h.Send(r.t.Context(), r.conv, host.Message{Content: host.Text(text)})
		if err != nil {
			wantCode(r.t, err, host.CodeStoreFailed)
		}
		return err == nil
	})
	return t
}

func TestD5_WhatCannotBeReadBackAfterAFailedWriteTakesAndSendsNothingUntilItCan(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	r.unreadable("ghost")
	for range 3 {
		_, err := r.h.Send(t.Context(), r.conv, host.Message{Content: host.Text("And now")})
		wantCode(t, err, host.CodeStoreFailed)
		_, err = r.h.ConfigureNextTurn(t.Context(), r.conv, r.controls().Revision, host.SettingsPatch{Permission: ptr(abi.PermissionBypass)})
		wantCode(t, err, host.CodeStoreFailed)
		if c := r.controls(); c.Running != nil || len(c.Queue.Turns) != 0 {
			t.Fatalf("what was never accepted is shown: %+v, %+v", c.Running, c.Queue)
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.readable()
	r.untilTurn(r.untilAccepted("And now").ID, host.TurnCompleted)
	if r.troubled() {
		t.Fatal("the trouble was not taken back")
	}
	turns, err := r.h.Turns(t.Context(), r.conv)
	if err != nil {
		t.Fatal(err)
	}
	if n := inHistory(t, r.home, "ghost"); n != 0 || len(turns) != 2 {
		t.Fatalf("the message that was refused was delivered %d times, of %d turns", n, len(turns))
	}
	var told []bool
	for _, p := range bodies[abi.Problem](r, host.EventProblem) {
		if p.Field == "store" {
			told = append(told, p.Resolved)
		}
	}
	if !slices.Equal(told, []bool{false, true}) {
		t.Fatalf("the trouble was told %v", told)
	}
}

func TestD5_AnAgentCanBeStoppedWhileItsConversationCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"say":"Working."},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	waiting := r.send("Later")
	r.unreadable("ghost")
	pid := r.controls().Session.PID
	_, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{})
	wantCode(t, err, host.CodeStoreFailed)
	r.until("the process to end", func() bool { return !alive(pid) })
	r.readable()
	r.untilTurn(first.ID, host.TurnInterrupted)
	r.until("the queue to be held", func() bool { return r.controls().Queue.Held })
	if s := r.turn(waiting.ID).State; s != host.TurnQueued {
		t.Fatalf("the waiting turn is %s", s)
	}
	r.untilTurn(r.untilAccepted("Go on").ID, host.TurnCompleted)
	r.untilTurn(waiting.ID, host.TurnCompleted)
}

func TestD5_AHostClosesAlthoughAConversationCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"say":"Working."},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	r.unreadable("ghost")
	pid := r.controls().Session.PID
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := r.h.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Fatalf("harness %d outlived its host", pid)
	}
	r.readable()
	// What the host could not write down is settled as after a crash.
	r.open()
	r.untilTurn(first.ID, host.TurnInterrupted)
	r.untilTurn(r.send("Go on").ID, host.TurnCompleted)
	if n := inHistory(t, r.home, "ghost"); n != 0 {
		t.Fatalf("the message that was refused was delivered %d times", n)
	}
}

func TestD5_TextThatWasSeenSurvivesThatTheEndOfItsItemCouldNotBeRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"burst":{"count":3000,"text":"lorem "}},{"hang":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	r.sql(`CREATE TRIGGER refuse BEFORE INSERT ON event WHEN NEW.type = 'item' AND CAST(NEW.body AS TEXT) LIKE '%"completed"%lorem%' BEGIN SELECT RAISE(ABORT, 'it contradicts'); END`)
	first := r.send("Work")
	var seen strings.Builder
	for ev, err := range r.h.Events(t.Context(), r.conv, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == host.EventDelta {
			var d abi.Delta
			decode(t, ev.Body, &d)
			seen.WriteString(d.Text)
		}
		if ev.Type == host.EventSession && seen.Len() > 0 {
			break
		}
	}
	r.untilTurn(first.ID, host.TurnFailed)
	got := r.texts(abi.ItemMessage)
	if len(got) != 1 || !strings.HasPrefix(got[0], seen.String()) {
		r.dump()
		t.Fatalf("%d bytes were seen; kept are %d items", seen.Len(), len(got))
	}
}
