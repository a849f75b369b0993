package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/host"
)

// dropping ends a stream after a few writes, without an orderly end.
type dropping struct {
	next  http.Handler
	after int
	drops atomic.Int32
}

func (d *dropping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/events") {
		w = &limited{ResponseWriter: w, d: d, left: d.after}
	}
	d.next.ServeHTTP(w, r)
}

type limited struct {
	http.ResponseWriter
	d    *dropping
	left int
}

func (l *limited) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l *limited) Write(b []byte) (int, error) {
	if l.left--; l.left < 0 {
		// Half of an event is on its way.
		_, _ = l.ResponseWriter.Write(b[:len(b)/2])
		_ = http.NewResponseController(l.ResponseWriter).Flush()
		l.d.drops.Add(1)
		panic(http.ErrAbortHandler)
	}
	return l.ResponseWriter.Write(b)
}

func TestEventsGoOnAfterEveryDropWithoutLossOrRepetition(t *testing.T) {
	h, cwd, _ := newHost(t, `{"turns":[{"repeat":true,"steps":[{"say":"One."},{"say":"Two."},{"say":"Three."}]}]}`)
	d := &dropping{next: h.Handler(), after: 3}
	socket, _ := serveUnix(t, d)
	c := closing(t, client.Unix(socket, client.Options{}))
	ctx := t.Context()
	conv, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := c.Send(ctx, conv.ID, host.Message{Content: host.Text("Go")})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	last := uint64(0)
	for ev, err := range c.Events(ctx, conv.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Seq <= last {
			t.Fatalf("event %d after %d", ev.Seq, last)
		}
		last = ev.Seq
		seen[ev.Seq] = true
		var body host.Turn
		if ev.Type == host.EventTurn && json.Unmarshal(ev.Body, &body) == nil && body.ID == turn.ID && body.State.Ended() {
			break
		}
	}
	for ev, err := range h.Events(ctx, conv.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Seq > last {
			break
		}
		if !seen[ev.Seq] {
			t.Errorf("event %d %s was lost", ev.Seq, ev.Type)
		}
		if ev.Seq == last {
			break
		}
	}
	if d.drops.Load() < 3 {
		t.Fatalf("only %d drops: the test shows nothing", d.drops.Load())
	}
}

func TestEventsSurviveARestartOfTheHost(t *testing.T) {
	h, cwd, reopen := newHost(t, primary)
	socket, srv := serveUnix(t, h.Handler())
	c := closing(t, client.Unix(socket, client.Options{}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conv, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan host.Event, 1000)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ev, err := range c.Events(ctx, conv.ID, 0) {
			if err != nil {
				t.Errorf("events: %v", err)
				return
			}
			events <- ev
		}
	})
	if ev := <-events; ev.Type != host.EventConversationCreated {
		t.Fatalf("%+v", ev)
	}
	closeHost(t, h)
	srv.Close()
	time.Sleep(200 * time.Millisecond)
	h = reopen()
	listenUnix(t, socket, h.Handler())
	if _, err := h.ConfigureNextTurn(ctx, conv.ID, 1, host.SettingsPatch{Mode: ptr("plan")}); err != nil {
		t.Fatal(err)
	}
	select {
	case ev := <-events:
		if ev.Type != host.EventSettings {
			t.Errorf("%+v", ev)
		}
	case <-ctx.Done():
		t.Error("nothing came after the restart")
	}
	cancel()
	wg.Wait()
}

// events serves a stream as its text.
func events(t *testing.T, opts client.Options, serve func(n int32, w http.ResponseWriter, r *http.Request)) *client.Client {
	t.Helper()
	var n atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", host.MediaEvents)
		serve(n.Add(1), w, r)
		_ = http.NewResponseController(w).Flush()
	}))
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL, opts)
	if err != nil {
		t.Fatal(err)
	}
	return closing(t, c)
}

func block(seq int) string {
	return fmt.Sprintf("id: %d\nevent: queue\ndata: {\"seq\":%d,\"at\":\"2026-11-30T00:00:00Z\",\"type\":\"queue\",\"body\":{}}\n\n", seq, seq)
}

func TestEventsGiveUpOnAHostThatStaysAway(t *testing.T) {
	c := events(t, client.Options{Patience: 300 * time.Millisecond}, func(n int32, w http.ResponseWriter, r *http.Request) {
		if n > 1 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, block(1)+block(2))
	})
	var seqs []uint64
	var last error
	start := time.Now()
	for ev, err := range c.Events(t.Context(), "x", 0) {
		if last = err; err == nil {
			seqs = append(seqs, ev.Seq)
		}
	}
	if len(seqs) != 2 || host.CodeOf(last) != host.CodeUnreachable || time.Since(start) < 300*time.Millisecond {
		t.Errorf("%v, then %v after %v", seqs, last, time.Since(start))
	}
}

// within tries what depends on a silence with longer and longer ones: a busy machine
// is silent too.
func within(t *testing.T, try func(silence time.Duration) error) {
	t.Helper()
	for silence := 200 * time.Millisecond; ; silence *= 2 {
		err := try(silence)
		if err == nil {
			return
		}
		if silence > 10*time.Second {
			t.Fatalf("with %v: %v", silence, err)
		}
	}
}

func TestEventsTakeASilentStreamForDead(t *testing.T) {
	within(t, func(silence time.Duration) error {
		var asked atomic.Value
		c := events(t, client.Options{Silence: silence}, func(n int32, w http.ResponseWriter, r *http.Request) {
			asked.Store(fmt.Sprint(n, " after ", r.URL.Query().Get("after")))
			send := func(text string) {
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
			}
			switch n {
			case 1: // silent from the beginning
				<-r.Context().Done()
			case 2: // slow, then silent
				send(block(4))
				time.Sleep(silence * 3 / 2)
				send(block(5))
				<-r.Context().Done()
			default:
				send(block(5) + block(6))
			}
		})
		want := map[uint64]string{4: "2 after 3", 5: "2 after 3", 6: "3 after 5"}
		next := uint64(4)
		for ev, err := range c.Events(t.Context(), "x", 3) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Seq != next || asked.Load() != want[ev.Seq] {
				return fmt.Errorf("event %d of stream %v, want %d of %s", ev.Seq, asked.Load(), next, want[next])
			}
			if next++; ev.Seq == 6 {
				break
			}
			if ev.Seq == 4 {
				// A slow reader is not a silent stream.
				time.Sleep(2 * silence)
			}
		}
		return nil
	})
}

func TestEventsGoOnWhenAHostSaysThatItIsClosed(t *testing.T) {
	c := events(t, client.Options{}, func(n int32, w http.ResponseWriter, _ *http.Request) {
		switch n {
		case 1:
			p := host.ProblemOf(&host.Error{Code: host.CodeClosed})
			w.Header().Set("Content-Type", host.MediaProblem)
			w.WriteHeader(p.Status)
			if err := json.NewEncoder(w).Encode(p); err != nil {
				t.Error(err)
			}
		case 2:
			_, _ = io.WriteString(w, "event: end\ndata: {\"code\":\"host_closed\",\"after\":0}\n\n")
		default:
			_, _ = io.WriteString(w, block(1))
		}
	})
	for ev, err := range c.Events(t.Context(), "x", 0) {
		if err != nil || ev.Seq != 1 {
			t.Errorf("%+v %v", ev, err)
		}
		break
	}
}

func TestEventsStayOnAStreamThatOnlySaysThatItLives(t *testing.T) {
	within(t, func(silence time.Duration) error {
		var streams atomic.Int32
		c := events(t, client.Options{Silence: silence}, func(n int32, w http.ResponseWriter, r *http.Request) {
			streams.Store(n)
			for range 10 {
				_, _ = io.WriteString(w, ": still here\n\n")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(silence / 6)
			}
			_, _ = io.WriteString(w, block(1))
		})
		for _, err := range c.Events(t.Context(), "x", 0) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if n := streams.Load(); n != 1 {
			return fmt.Errorf("%d streams", n)
		}
		return nil
	})
}

func TestEventsEndWithAnErrorThatTryingAgainCannotMend(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		code       host.Code
	}{
		{"unreadable", "data: {\n\n", host.CodeUnreachable},
		{"too long", "data: " + strings.Repeat("x", 5000) + "\n\n", host.CodeInvalidArgument},
		{"too long in lines", strings.Repeat("data: "+strings.Repeat("x", 90)+"\n", 50) + "\n", host.CodeInvalidArgument},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var streams atomic.Int32
			c := events(t, client.Options{MaxEvent: 1000}, func(n int32, w http.ResponseWriter, _ *http.Request) {
				streams.Store(n)
				_, _ = io.WriteString(w, tc.text)
			})
			n := 0
			for _, err := range c.Events(t.Context(), "x", 0) {
				n++
				if host.CodeOf(err) != tc.code {
					t.Errorf("%v", err)
				}
			}
			if n != 1 || streams.Load() != 1 {
				t.Errorf("%d results of %d streams", n, streams.Load())
			}
		})
	}
}

func TestEventsEndWhenTheContextDoes(t *testing.T) {
	c := events(t, client.Options{}, func(_ int32, w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, block(1))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range c.Events(ctx, "x", 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		cancel()
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
}

// FuzzReader: whatever comes, the reader ends with an error, never with more data
// than allowed, and what was written in blocks is read again.
func FuzzReader(f *testing.F) {
	for _, s := range []string{block(1), ": x\n\n" + block(2), "id: 1\r\nevent: a\r\ndata: b\r\ndata: c\r\n\r\n", "data", "data:\n\n", ":\n", "id\n\n", strings.Repeat("x", 5000)} {
		f.Add([]byte(s), "queue", []byte("{}\n{}"))
	}
	f.Fuzz(func(t *testing.T, raw []byte, event string, data []byte) {
		client.ReadAll(bufio.NewReaderSize(strings.NewReader(string(raw)), 16), 1000, func(_, _ string, d []byte) {
			if len(d) > 1000 {
				t.Fatalf("%d bytes of data", len(d))
			}
		})
		if strings.ContainsAny(event, "\r\n") || strings.Contains(string(data), "\r") || len(data) > 900 || len(event) > 900 {
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, ": c\nid: 7\nevent: %s\n", event)
		for line := range strings.SplitSeq(string(data), "\n") {
			fmt.Fprintf(&b, "data: %s\n", line)
		}
		b.WriteString("\n")
		n := 0
		client.ReadAll(bufio.NewReaderSize(strings.NewReader(b.String()), 16), 1000, func(id, ev string, d []byte) {
			n++
			if id != "7" || ev != event || string(d) != string(data) {
				t.Fatalf("%q: %q %q %q", b.String(), id, ev, d)
			}
		})
		if n != 1 {
			t.Fatalf("%d blocks of %q", n, b.String())
		}
	})
}

func TestAFollowerIsToldThatAJournalWasPrunedOrItsConversationDeleted(t *testing.T) {
	h, cwd, _ := newHost(t, `{"turns":[{"repeat":true,"steps":[{"say":"One."}]}]}`)
	socket, _ := serveUnix(t, h.Handler())
	c := closing(t, client.Unix(socket, client.Options{}))
	ctx := t.Context()
	conv, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := c.Send(ctx, conv.ID, host.Message{Content: host.Text("Go")})
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	for ev, err := range c.Events(ctx, conv.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		var now host.Turn
		if last = ev.Seq; ev.Type == host.EventTurn && json.Unmarshal(ev.Body, &now) == nil && now.ID == turn.ID && now.State.Ended() {
			break
		}
	}
	if p, err := c.Prune(ctx, conv.ID, host.PruneRequest{Before: last + 1}); err != nil || p.Floor != last {
		t.Fatalf("pruned to %d, want %d: %v", p.Floor, last, err)
	}
	follow := func(after uint64, connected func()) error {
		for ev, err := range c.Events(ctx, conv.ID, after) {
			if err != nil {
				return err
			}
			if ev.Seq > last {
				connected()
			}
		}
		return nil
	}
	if err := follow(0, func() {}); host.CodeOf(err) != host.CodeResync {
		t.Errorf("from before the floor: %v", err)
	}
	connected := make(chan struct{})
	end := make(chan error, 1)
	once := sync.OnceFunc(func() { close(connected) })
	go func() { end <- follow(last, once) }()
	mode := "plan"
	if _, err := c.ConfigureNextTurn(ctx, conv.ID, 1, host.SettingsPatch{Mode: &mode}); err != nil {
		t.Fatal(err)
	}
	<-connected
	if err := c.Delete(ctx, conv.ID, host.DeleteRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := <-end; host.CodeOf(err) != host.CodeConversationDeleted {
		t.Errorf("the stream of a deleted conversation: %v", err)
	}
	if _, err := c.Conversation(ctx, conv.ID); host.CodeOf(err) != host.CodeUnknownConversation {
		t.Errorf("afterwards: %v", err)
	}
}
