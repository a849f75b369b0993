package host_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// chatty says which turn it is.
const chatty = `{"turns":[
 {"when":{"turn":1},"steps":[{"say":"trace-of-the-first"}]},
 {"when":{"turn":2},"steps":[{"say":"trace-of-the-second"}]},
 {"repeat":true,"steps":[{"say":"trace-of-a-later"}]}]}`

func (r *rig) prune(p host.PruneRequest) uint64 {
	r.t.Helper()
	got, err := r.h.Prune(r.t.Context(), r.conv, p)
	if err != nil {
		r.t.Fatal(err)
	}
	return got.Floor
}

// endOf is the number of the event that told the end of a turn.
func (r *rig) endOf(turn string) uint64 {
	r.t.Helper()
	for _, ev := range r.journalAfter(r.floor()) {
		var t host.Turn
		if ev.Type != host.EventTurn || ev.Turn != turn {
			continue
		}
		if decode(r.t, ev.Body, &t); t.State.Ended() {
			return ev.Seq
		}
	}
	r.t.Fatalf("turn %s did not end", turn)
	return 0
}

func (r *rig) floor() uint64 {
	r.t.Helper()
	c, err := r.h.Conversation(r.t.Context(), r.conv)
	if err != nil {
		r.t.Fatal(err)
	}
	return c.JournalFloor
}

func (r *rig) journalAfter(after uint64) (out []host.Event) {
	r.t.Helper()
	c, err := r.h.Conversation(r.t.Context(), r.conv)
	if err != nil {
		r.t.Fatal(err)
	}
	if after >= c.LastSeq {
		return nil
	}
	for ev, err := range r.h.Events(r.t.Context(), r.conv, after) {
		if err != nil {
			r.t.Fatal(err)
		}
		if out = append(out, ev); ev.Seq >= c.LastSeq {
			break
		}
	}
	return out
}

func TestAPrunedJournalBeginsAfterTheLastTurnThatHadEndedBefore(t *testing.T) {
	t.Parallel()
	w := newWeb(t, chatty)
	ctx := t.Context()
	var turns []host.Turn
	var ends []uint64
	for range 3 {
		turn := w.untilTurn(w.send("Go").ID, host.TurnCompleted)
		turns, ends = append(turns, turn), append(ends, w.endOf(turn.ID))
	}
	whole := w.journal()

	var p host.Pruned
	if w.ok(&p, "POST", w.at("/prune"), host.PruneRequest{Before: ends[0]}); p.Floor != 0 {
		t.Errorf("before the end of the first turn there is none, and the floor is %d", p.Floor)
	}
	// In the middle of the third turn two had ended.
	for range 2 {
		if w.ok(&p, "POST", w.at("/prune"), host.PruneRequest{Before: ends[2]}, host.HeaderIdempotencyKey, "k"); p.Floor != ends[1] {
			t.Errorf("the floor is %d, want %d", p.Floor, ends[1])
		}
	}
	if w.prune(host.PruneRequest{Before: 2}) != ends[1] {
		t.Error("the floor came down")
	}
	for text, want := range map[string]bool{"trace-of-the-first": false, "trace-of-the-second": false, "trace-of-a-later": true} {
		if n := w.findable(text); (n > 0) != want {
			t.Errorf("%q is there %d times", text, n)
		}
	}
	wantCode(t, <-outcome(ctx, w.h, w.conv, 0), host.CodeResync)
	w.fails(host.CodeResync, "GET", w.at(fmt.Sprintf("/events?after=%d", ends[1]-1)), nil)
	rest := w.journalAfter(ends[1])
	for i, ev := range rest {
		if want := whole[len(whole)-len(rest)+i]; ev.Seq != want.Seq || !bytes.Equal(ev.Body, want.Body) {
			t.Fatalf("event %d is %+v, want %+v", i, ev, want)
		}
	}
	var export bytes.Buffer
	if err := w.h.Export(ctx, w.conv, &export); err != nil || bytes.Count(export.Bytes(), []byte("\n")) != len(rest) {
		t.Errorf("exported %s, %v", export.Bytes(), err)
	}
	// Who begins anew sees what is there: the turns with what was sent, and the state.
	if now, err := w.h.Turns(ctx, w.conv); err != nil || len(now) != 3 || now[0].Content[0].Text != "Go" {
		t.Errorf("turns %+v, %v", now, err)
	}
	if c := w.controls(); c.Session.State != host.SessionReady || len(c.Problems) > 0 {
		t.Errorf("controls %+v", c)
	}
	// What the first turn did is unknown now; that is not nothing.
	_, err := w.h.Retry(ctx, w.conv, turns[0].ID, host.RetryRequest{})
	wantCode(t, err, host.CodeRetryRepeatsWork)
	if !strings.Contains(err.Error(), "not in the journal any more") {
		t.Error(err)
	}
	again, err := w.h.Retry(ctx, w.conv, turns[2].ID, host.RetryRequest{})
	if err != nil {
		t.Fatalf("the third turn is all there: %v", err)
	}
	w.untilTurn(again.ID, host.TurnCompleted)
	if again, err = w.h.Retry(ctx, w.conv, turns[0].ID, host.RetryRequest{RepeatWork: true}); err != nil {
		t.Fatal(err)
	}
	w.untilTurn(again.ID, host.TurnCompleted)

	w.restart()
	if got := w.floor(); got != ends[1] {
		t.Errorf("after a restart the floor is %d", got)
	}
	w.serve(w.h.Handler())
	w.fails(host.CodeInvalidArgument, "POST", w.at("/prune"), host.PruneRequest{})
	w.fails(host.CodeInvalidArgument, "POST", w.at("/prune"), `{"before":1,"before_time":"2026-11-30T00:00:00Z"}`)
	for _, body := range []string{`{"before_time":"yesterday"}`, `{"before_time":7}`, `{"before":-1}`, `{"before":"1"}`} {
		w.fails(host.CodeInvalidArgument, "POST", w.at("/prune"), body)
	}
	w.ok(&p, "POST", w.at("/prune"), `{"before_time":"2020-11-30T00:00:00+02:00"}`)
	w.fails(host.CodeUnknownConversation, "POST", "/v1/conversations/nobody/prune", host.PruneRequest{Before: 1})
}

func TestAJournalIsPrunedByTimeToo(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newRig(t, chatty, func(c *host.Config) {
		c.Clock = func() time.Time { return start.Add(time.Duration(now.Load())) }
	})
	first := r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	r.close()
	now.Store(int64(48 * time.Hour))
	r.open()
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	end := r.endOf(first.ID)
	if got := r.prune(host.PruneRequest{BeforeTime: ptr(start)}); got != 0 {
		t.Errorf("nothing had ended by the beginning, and the floor is %d", got)
	}
	if got := r.prune(host.PruneRequest{BeforeTime: ptr(start.Add(24 * time.Hour))}); got != end {
		t.Errorf("the floor is %d, want %d", got, end)
	}
}

func TestNothingThatIsOpenIsPruned(t *testing.T) {
	t.Parallel()
	const async = `{"turns":[
 {"when":{"turn":2},"steps":[{"ask_async":{"id":"call_1","questions":[{"title":"Which color?","options":["Red","Blue"]}]}},{"say":"Meanwhile."}]},
 {"when":{"turn":3},"steps":[{"say":"Working."},{"wait_interrupt":true}]},
 {"repeat":true,"steps":[{"say":"Done."}]}]}`
	r := newRig(t, async)
	all := host.PruneRequest{Before: 1 << 40}
	first := r.untilTurn(r.send("One").ID, host.TurnCompleted)
	r.untilTurn(r.send("Two").ID, host.TurnCompleted)
	card := r.untilInput()
	end := r.endOf(first.ID)
	third := r.send("Three")
	r.untilTurn(third.ID, host.TurnRunning)
	fourth := r.send("Four")
	if got := r.prune(all); got != end {
		t.Fatalf("with a card of the second turn open the floor is %d, want %d", got, end)
	}
	found := false
	for _, ev := range r.journalAfter(end) {
		found = found || ev.Type == host.EventInteraction && strings.Contains(string(ev.Body), card.ID)
	}
	if !found {
		t.Error("the open card is not in the journal any more")
	}
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(third.ID, host.TurnInterrupted)
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 0)}})
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(fourth.ID, host.TurnCompleted)
	r.until("the answer's turn to end", func() bool { c := r.controls(); return c.Running == nil && len(c.Queue.Turns) == 0 })
	if got := r.prune(all); got < r.floor() || got <= end {
		t.Errorf("with nothing open the floor is %d", got)
	}
	if rest := r.journalAfter(r.floor()); len(rest) > 20 {
		t.Errorf("%d events are left", len(rest))
	}
}

func TestAReaderThatPruningOvertakesIsToldToReadAnewAndMissesNothingUnawares(t *testing.T) {
	t.Parallel()
	w := newWeb(t, `{"turns":[{"repeat":true,"steps":[{"say":"a b c d e f g h i j k l m n o p q r s t","chunks":20}]}]}`)
	var end uint64
	for range 12 {
		end = w.endOf(w.untilTurn(w.send("Go").ID, host.TurnCompleted).ID)
	}
	whole := w.journal()
	at, began, goOn := 0, make(chan struct{}), make(chan struct{})
	over := make(chan error, 1)
	go func() {
		for ev, err := range w.h.Events(t.Context(), w.conv, 0) {
			if err != nil {
				over <- err
				return
			}
			if ev.Seq != whole[at].Seq {
				over <- fmt.Errorf("after %d events comes %d", at, ev.Seq)
				return
			}
			if at++; at == 1 {
				close(began)
				<-goOn
			}
			if at == len(whole) {
				over <- nil
				return
			}
		}
	}()
	<-began
	w.prune(host.PruneRequest{Before: end + 1})
	close(goOn)
	if err := <-over; err != nil {
		wantCode(t, err, host.CodeResync)
	}
}
