package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// findable counts a text in the files of the data folder.
func (r *rig) findable(text string) (n int) {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(r.dir, "*"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range names {
		if fi, err := os.Stat(name); err != nil || !fi.Mode().IsRegular() {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			r.t.Fatal(err)
		}
		n += bytes.Count(b, []byte(text))
	}
	return n
}

// outcome is how a stream of events ended.
func outcome(ctx context.Context, h *host.Host, conv string, after uint64) <-chan error {
	end := make(chan error, 1)
	go func() {
		for _, err := range h.Events(ctx, conv, after) {
			if err != nil {
				end <- err
				return
			}
		}
		end <- errors.New("the stream ended")
	}()
	return end
}

func TestADeletedConversationIsGoneForEverybodyAndFromTheFiles(t *testing.T) {
	t.Parallel()
	const trace = "only-in-this-conversation"
	w := newWeb(t, `{"turns":[{"repeat":true,"steps":[{"say":"You said `+trace+`, I say it too."}]}]}`)
	ctx := t.Context()
	other, err := w.h.Create(ctx, host.NewConversation{Harness: "codex", Cwd: w.cwd})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := w.h.Send(ctx, w.conv, host.Message{Content: append(host.Text("Remember "+trace), host.Content{Type: abi.ContentImage, Media: "image/png", Bytes: []byte("picture " + trace)})})
	if err != nil {
		t.Fatal(err)
	}
	w.untilTurn(turn.ID, host.TurnCompleted)
	if w.findable(trace) == 0 {
		t.Fatal("nothing of it is in the files before either, so this proves nothing")
	}
	pid := w.controls().Session.PID
	late, last := outcome(ctx, w.h, w.conv, 0), w.journal()
	stream := make(chan string, 1)
	go func() {
		res, err := w.srv.Client().Get(w.srv.URL + w.at("/events"))
		if err != nil {
			stream <- err.Error()
			return
		}
		defer func() { _ = res.Body.Close() }()
		var b bytes.Buffer
		_, err = b.ReadFrom(res.Body)
		stream <- fmt.Sprint(b.String(), err)
	}()
	w.until("the stream to be there", func() bool { return host.Following(w.h, w.conv) })

	if err := w.h.Delete(ctx, w.conv, host.DeleteRequest{}); err != nil {
		t.Fatal(err)
	}
	if n := w.findable(trace); n > 0 {
		t.Errorf("%d traces are left in the files", n)
	}
	wantCode(t, <-late, host.CodeConversationDeleted)
	if text := <-stream; !strings.Contains(text, "event: end\ndata: {\"code\":\"conversation_deleted\",\"after\":") || !strings.HasSuffix(text, "<nil>") {
		t.Errorf("the stream of server-sent events ended with %.300s", text)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the harness still runs: %v", err)
	}
	for what, do := range map[string]func() error{
		"conversation": func() error { _, err := w.h.Conversation(ctx, w.conv); return err },
		"turns":        func() error { _, err := w.h.Turns(ctx, w.conv); return err },
		"turn":         func() error { _, err := w.h.Turn(ctx, w.conv, turn.ID); return err },
		"inputs":       func() error { _, err := w.h.Inputs(ctx, w.conv); return err },
		"plans":        func() error { _, err := w.h.Plans(ctx, w.conv); return err },
		"controls":     func() error { _, err := w.h.Controls(ctx, w.conv); return err },
		"log level":    func() error { _, err := w.h.LogLevel(ctx, w.conv); return err },
		"send":         func() error { _, err := w.h.Send(ctx, w.conv, host.Message{Content: host.Text("Go")}); return err },
		"stop":         func() error { _, err := w.h.Stop(ctx, w.conv, host.StopOptions{}); return err },
		"retry":        func() error { _, err := w.h.Retry(ctx, w.conv, turn.ID, host.RetryRequest{}); return err },
		"export":       func() error { return w.h.Export(ctx, w.conv, &bytes.Buffer{}) },
		"events":       func() error { return <-outcome(ctx, w.h, w.conv, last[len(last)-1].Seq) },
		"delete":       func() error { return w.h.Delete(ctx, w.conv, host.DeleteRequest{}) },
	} {
		if err := do(); host.CodeOf(err) != host.CodeUnknownConversation {
			t.Errorf("%s afterwards: %v", what, err)
		}
	}
	if all, err := w.h.Conversations(ctx); err != nil || len(all) != 1 || all[0].ID != other.ID {
		t.Errorf("%d conversations, %v", len(all), err)
	}
	// The id can be used again; nothing of the old one is in the new.
	if _, err := w.h.Create(ctx, host.NewConversation{ID: w.conv, Harness: "codex", Cwd: w.cwd}); err != nil {
		t.Fatal(err)
	}
	if got := w.journal(); len(got) != 1 || got[0].Seq != 1 || got[0].Type != host.EventConversationCreated {
		t.Errorf("the new conversation begins with %+v", got)
	}
	w.untilTurn(w.send("Go").ID, host.TurnCompleted)
}

func TestOverHTTPADeletionCanBeRepeatedWithItsKey(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	w.untilTurn(w.send("Go").ID, host.TurnCompleted)
	var d host.Deleted
	for range 2 {
		w.ok(&d, "POST", w.at("/delete"), nil, host.HeaderIdempotencyKey, "k1")
		if d.Conversation != w.conv {
			t.Errorf("answer %+v", d)
		}
	}
	w.fails(host.CodeUnknownConversation, "POST", w.at("/delete"), nil, host.HeaderIdempotencyKey, "k2")
	w.fails(host.CodeUnknownConversation, "GET", w.at("/turns/x"), nil)
}

func TestOverHTTPADeletionThatAnEndOfTheHostOvertookIsConfirmedByTheNextOne(t *testing.T) {
	t.Parallel()
	w := newWeb(t, `{"turns":[{"repeat":true,"steps":[{"burst":{"count":8000,"bytes":20000}},{"wait_interrupt":true}]}]}`,
		func(cfg *host.Config) { cfg.StopGrace = 100 * time.Millisecond })
	body := host.DeleteRequest{Unfinished: true}
	// The more was said, the longer its removal takes, and with it the time to end the
	// host in.
	for _, said := range []uint64{100, 400, 1600, 6400, 6400} {
		w.untilTurn(w.send("Go").ID, host.TurnRunning)
		w.until("much was said", func() bool {
			c, err := w.h.Conversation(t.Context(), w.conv)
			return err == nil && c.LastSeq > said
		})
		first := make(chan reply, 1)
		go func() { first <- w.do("POST", w.at("/delete"), body, host.HeaderIdempotencyKey, w.conv) }()
		w.until("it is gone", func() bool {
			_, err := w.h.Conversation(t.Context(), w.conv)
			return host.CodeOf(err) == host.CodeUnknownConversation
		})
		w.close()
		overtaken := (<-first).status != http.StatusOK
		gone := w.at("/delete")
		w.conv = ""
		w.open()
		w.serve(w.h.Handler())
		for range 2 {
			var d host.Deleted
			w.ok(&d, "POST", gone, body, host.HeaderIdempotencyKey, strings.Split(gone, "/")[3])
		}
		if overtaken {
			return
		}
	}
	t.Fatal("every deletion was over before the host ended, so this proves nothing")
}

func TestADeletionIsRefusedWhileSomethingIsUnfinishedUnlessThatIsMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script, want string
		// until waits for what is unfinished and returns what else the refusal says.
		until func(r *rig)
	}{
		{"a running turn and messages behind it", slow, "runs. 2 messages wait in the queue.", func(r *rig) {
			r.untilTurn(r.send("Go").ID, host.TurnRunning)
			r.send("Later")
			r.send("Last")
		}},
		{"an open card", `{"turns":[{"steps":[{"ask":{"id":"q","questions":[{"id":"a","question":"Which?","options":[{"label":"x","description":""}]}]}},{"say":"Good."}]}]}`, "1 card is open.", func(r *rig) {
			r.send("Go")
			r.untilInput()
		}},
		{"a held queue", echo, "1 message waits in the queue.", func(r *rig) {
			r.cwdGone()
			r.send("Go")
			r.until("the queue to be held", func() bool { return r.controls().Queue.Held })
		}},
		{"a start that takes long", `{"methods":{"initialize":[{"hang":true}]},"turns":[]}`, "1 message waits in the queue.", func(r *rig) {
			r.send("Go")
			r.until("the session to start", func() bool { return r.controls().Session.PID != 0 })
		}},
		{"a start that has just begun", echo, "1 message waits in the queue.", func(r *rig) { r.send("Go") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.script, func(cfg *host.Config) { cfg.StopGrace = 200 * time.Millisecond })
			c.until(r)
			pid := r.controls().Session.PID
			err := r.h.Delete(t.Context(), r.conv, host.DeleteRequest{})
			if c.name != "a start that has just begun" {
				wantCode(t, err, host.CodeUnfinishedWork)
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("the refusal is %q, want %q in it", err, c.want)
				}
				if _, err := r.h.Conversation(t.Context(), r.conv); err != nil {
					t.Fatalf("it was refused and yet: %v", err)
				}
			} else if err == nil {
				return // its turn had ended already
			}
			if err := r.h.Delete(t.Context(), r.conv, host.DeleteRequest{Unfinished: true}); err != nil {
				t.Fatal(err)
			}
			_, err = r.h.Conversation(t.Context(), r.conv)
			wantCode(t, err, host.CodeUnknownConversation)
			if err := syscall.Kill(pid, 0); pid != 0 && !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the harness still runs: %v", err)
			}
			// Nothing of it starts again.
			r.conv, r.cwd = "", t.TempDir()
			r.restart()
		})
	}
}

// crashEraseEnv has the host that is killed delete its conversation while the agent
// works.
const crashEraseEnv = "AO_TEST_CRASH_ERASE"

func crashErase(ctx context.Context, h *host.Host, conv string) int {
	k, _ := h.Controls(ctx, conv)
	fmt.Printf("{\"type\":\"deleting\",\"pid\":%d}\n", k.Session.PID)
	if err := h.Delete(ctx, conv, host.DeleteRequest{Unfinished: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(`{"type":"deleted"}`)
	select {}
}

func TestAKilledHostLeavesAConversationThatWasBeingDeletedThereOrGone(t *testing.T) {
	t.Parallel()
	const trace = "only-in-this-conversation"
	for _, c := range []struct {
		at   string
		wait time.Duration
	}{{"deleting", 0}, {"deleting", 5 * time.Millisecond}, {"deleting", 30 * time.Millisecond}, {"deleted", 0}} {
		script := `{"turns":[{"when":{"turn":1},"steps":[{"say":"` + trace + `"},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`
		dir := crashDir(t, script)
		var seen struct{ PID int }
		killAt(t, dir, func(l string) bool {
			if strings.Contains(l, `"deleting"`) {
				decode(t, []byte(l), &seen)
			}
			if !strings.Contains(l, `"`+c.at+`"`) {
				return false
			}
			time.Sleep(c.wait)
			return true
		}, crashEraseEnv+"=1")
		r := recovered(t, dir)
		_, err := r.h.Conversation(t.Context(), "c1")
		switch {
		case err == nil && c.at != "deleted":
			// It is there, and goes on.
			r.untilTurn(r.send("Go on").ID, host.TurnCompleted)
		case host.CodeOf(err) == host.CodeUnknownConversation:
			r.until("no trace of it", func() bool { return r.findable(trace) == 0 })
		default:
			t.Errorf("killed %v after %s: %v", c.wait, c.at, err)
		}
		if alive(seen.PID) {
			t.Errorf("killed %v after %s: the harness %d still runs", c.wait, c.at, seen.PID)
		}
		r.close()
	}
}

// cwdGone takes the working directory away.
func (r *rig) cwdGone() {
	r.t.Helper()
	if err := os.Remove(r.cwd); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = os.Mkdir(r.cwd, 0o700) })
}

func TestOfManyWhoSendReadAndDeleteAtOnceEachGetsAnHonestAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo, func(cfg *host.Config) { cfg.StopGrace = 100 * time.Millisecond })
	ctx := t.Context()
	for round := range 6 {
		conv, err := r.h.Create(ctx, host.NewConversation{ID: fmt.Sprint("c", round%2), Harness: "codex", Cwd: r.cwd})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		gone := func(what string, err error, also ...host.Code) {
			switch code := host.CodeOf(err); {
			case err == nil, code == host.CodeUnknownConversation, code == host.CodeConversationDeleted:
			default:
				for _, a := range also {
					if code == a {
						return
					}
				}
				t.Errorf("%s: %v", what, err)
			}
		}
		for i := range 4 {
			wg.Go(func() {
				_, err := r.h.Send(ctx, conv.ID, host.Message{Content: host.Text("Go")})
				gone("send", err)
				_, err = r.h.Turns(ctx, conv.ID)
				gone("turns", err)
				_, err = r.h.Probe(ctx, conv.ID)
				gone("probe", err, host.CodeStartAborted, host.CodeHoldStopped, host.CodeHoldClosed)
			})
			wg.Go(func() { gone("events", <-outcome(ctx, r.h, conv.ID, 0)) })
			wg.Go(func() {
				time.Sleep(time.Duration(i*round) * 5 * time.Millisecond)
				gone("delete", r.h.Delete(ctx, conv.ID, host.DeleteRequest{Unfinished: true}))
			})
		}
		wg.Wait()
		_, err = r.h.Conversation(ctx, conv.ID)
		wantCode(t, err, host.CodeUnknownConversation)
	}
}

func TestADeletionThatACloseOvertakesIsHeldToOrDidNotHappen(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, 20 * time.Millisecond, 150 * time.Millisecond} {
		r := newRig(t, slow, func(cfg *host.Config) { cfg.StopGrace, cfg.LeaveIdle = 100*time.Millisecond, true })
		r.untilTurn(r.send("Go").ID, host.TurnRunning)
		end := make(chan error, 1)
		go func() { end <- r.h.Delete(t.Context(), r.conv, host.DeleteRequest{Unfinished: true}) }()
		time.Sleep(wait)
		h := r.h
		r.close()
		err := <-end
		r.h = h
		r.open()
		_, there := r.h.Conversation(t.Context(), r.conv)
		switch {
		case err == nil && host.CodeOf(there) != host.CodeUnknownConversation:
			t.Errorf("after %v: deleted, and there is %v", wait, there)
		case err != nil && host.CodeOf(err) != host.CodeClosed && host.CodeOf(err) != host.CodeConversationDeleted:
			t.Errorf("after %v: %v", wait, err)
		case there != nil && host.CodeOf(there) != host.CodeUnknownConversation:
			t.Errorf("after %v: %v", wait, there)
		}
	}
}

func TestADeletionOverAProcessThatMayStillRunHoldsTheQueueUntilAPersonGoesOn(t *testing.T) {
	t.Parallel()
	for name, goOn := range map[string]func(r *rig, waiting string){
		"resumed": func(r *rig, waiting string) {
			if _, err := r.h.ResumeQueue(r.t.Context(), r.conv); err != nil {
				r.t.Fatal(err)
			}
			r.untilTurn(waiting, host.TurnCompleted)
		},
		"a message": func(r *rig, waiting string) {
			next := r.send("quick")
			r.untilTurn(waiting, host.TurnCompleted)
			r.untilTurn(next.ID, host.TurnCompleted)
		},
		"deleted again": func(r *rig, _ string) {
			if err := r.h.Delete(r.t.Context(), r.conv, host.DeleteRequest{Unfinished: true}); err != nil {
				r.t.Fatal(err)
			}
			_, err := r.h.Conversation(r.t.Context(), r.conv)
			wantCode(r.t, err, host.CodeUnknownConversation)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, works)
			first := r.send("Go")
			r.untilTurn(first.ID, host.TurnRunning)
			waiting := r.send("quick")
			// No child of ours can have had this pid, so its exit is never proven.
			r.sql(`INSERT INTO generation SELECT conversation_id, 1000, 1, 1, '', '', '', '', started_at, NULL, x'' FROM generation`)
			err := r.h.Delete(t.Context(), r.conv, host.DeleteRequest{Unfinished: true})
			wantCode(t, err, host.CodeExitUnproven)
			if q := r.controls().Queue; !q.Held || q.Reason != host.CodeHoldDeletion {
				t.Fatalf("the queue is %+v", q)
			}
			if s := r.turn(first.ID).State; s != host.TurnInterrupted {
				t.Fatalf("the turn is %s", s)
			}
			r.sql(`DELETE FROM generation WHERE number = 1000`)
			goOn(r, waiting.ID)
		})
	}
}
