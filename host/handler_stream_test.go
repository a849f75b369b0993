package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/host"
)

func dial(t *testing.T, srv *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// ask writes a raw request.
func ask(t *testing.T, conn net.Conn, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(conn, format, args...); err != nil {
		t.Fatal(err)
	}
}

// readResponse returns the body of the response and how reading it ended.
func readResponse(t *testing.T, conn net.Conn) ([]byte, error) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// networkAddr is a context whose request arrived at a public address.
func networkAddr(ctx context.Context) context.Context {
	return context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}))
}

// stream reads the server-sent events of a response: the lines of one event.
type stream struct {
	t   *testing.T
	r   *bufio.Scanner
	end func()
}

func (w *web) stream(t *testing.T, path string, headers ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.srv.URL+w.at(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != host.MediaEvents {
		t.Fatalf("%s %s", res.Status, res.Header.Get("Content-Type"))
	}
	s := &stream{t: t, r: bufio.NewScanner(res.Body), end: cancel}
	s.r.Buffer(nil, 32<<20)
	return s
}

// next returns the next block, comments included; none when the stream has ended.
func (s *stream) next() (lines []string) {
	for s.r.Scan() {
		if s.r.Text() == "" {
			return lines
		}
		lines = append(lines, s.r.Text())
	}
	return nil
}

// event returns the next event, passing over comments.
func (s *stream) event() (ev host.Event) {
	s.t.Helper()
	for {
		block := s.next()
		if len(block) == 0 {
			s.t.Fatalf("the stream ended: %v", s.r.Err())
		}
		if strings.HasPrefix(block[0], ":") {
			continue
		}
		if len(block) != 3 || !strings.HasPrefix(block[2], "data: ") {
			s.t.Fatalf("block %q", block)
		}
		data := strings.TrimPrefix(block[2], "data: ")
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			s.t.Fatal(err)
		}
		if block[0] != fmt.Sprintf("id: %d", ev.Seq) || block[1] != "event: "+string(ev.Type) {
			s.t.Fatalf("block %q", block)
		}
		readDoc(s.t).validate(s.t, "/components/schemas/Event", []byte(data))
		return ev
	}
}

func TestHandlerStreamsTheJournalFromANumberOnThenLive(t *testing.T) {
	t.Parallel()
	w := newWeb(t, primary)
	turn := w.send("Take notes")
	s := w.stream(t, "/events?after=0")
	w.untilInput()
	w.stop(host.StopOptions{Turn: turn.ID})
	w.untilTurn(turn.ID, host.TurnInterrupted)
	want := w.journal()
	last := want[len(want)-1].Seq
	// What was streamed live may hold deltas that were replaced since.
	seen := map[uint64]host.Event{}
	for seq := uint64(0); seq < last; {
		ev := s.event()
		if ev.Seq <= seq {
			t.Fatalf("event %d after %d", ev.Seq, seq)
		}
		seq = ev.Seq
		seen[seq] = ev
	}
	for _, ev := range want {
		if got, ok := seen[ev.Seq]; ok {
			if diff := cmp.Diff(ev, got); diff != "" {
				t.Errorf("event %d: %s", ev.Seq, diff)
			}
		} else if ev.Type != host.EventDelta {
			t.Errorf("event %d %s was not streamed", ev.Seq, ev.Type)
		}
	}
	// Resuming: the parameter, the header of a reader that connects again, both.
	third, fifth := want[2], want[4]
	for _, c := range []struct {
		path    string
		headers []string
		first   uint64
	}{
		{fmt.Sprintf("/events?after=%d", third.Seq), nil, want[3].Seq},
		{"/events", []string{"Last-Event-ID", fmt.Sprint(fifth.Seq)}, want[5].Seq},
		{fmt.Sprintf("/events?after=%d", third.Seq), []string{"Last-Event-ID", fmt.Sprint(fifth.Seq)}, want[5].Seq},
		{fmt.Sprintf("/events?after=%d", fifth.Seq), []string{"Last-Event-ID", fmt.Sprint(third.Seq)}, want[5].Seq},
	} {
		if got := w.stream(t, c.path, c.headers...).event(); got.Seq != c.first {
			t.Errorf("%s %v begins with %d, want %d", c.path, c.headers, got.Seq, c.first)
		}
	}
	for _, bad := range []string{"?after=-1", "?after=x", "?after=1&after=2", "?since=3", "?after=99999999999999999999"} {
		w.fails(host.CodeInvalidArgument, "GET", w.at("/events"+bad), nil)
	}
	w.fails(host.CodeInvalidArgument, "GET", w.at("/events"), nil, "Last-Event-ID", "abc")
}

func TestHandlerStreamSaysThatItLivesAndTellsWhenTheHostCloses(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	w.serve(w.h.HandlerWith(20*time.Millisecond, patience, patience))
	last := w.journal()[0].Seq
	s := w.stream(t, fmt.Sprintf("/events?after=%d", last))
	for i := range 4 {
		if block := s.next(); len(block) != 1 || !strings.HasPrefix(block[0], ": ") {
			t.Fatalf("block %d: %q", i, block)
		}
	}
	h, closed := w.h, make(chan error, 1)
	go func() { closed <- h.Close(context.Background()) }()
	for {
		block := s.next()
		if len(block) == 1 {
			continue
		}
		if len(block) != 2 || block[0] != "event: end" || block[1] != fmt.Sprintf(`data: {"code":"host_closed","after":%d}`, last) {
			t.Fatalf("block %q", block)
		}
		break
	}
	if s.next() != nil || s.r.Err() != nil {
		t.Fatalf("the stream did not end in an orderly way: %v", s.r.Err())
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// smallBuffers gives connections so little room that a stalled reader is felt.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetWriteBuffer(4<<10))
	}
	return c, err
}

// It runs alone: on a busy machine the other subscriber could be dropped too.
func TestHandlerDropsAStalledSubscriberAndNobodyElse(t *testing.T) {
	t.Parallel()
	events := 20_000
	if testing.Short() {
		events = 5_000
	}
	w := newWeb(t, `{"turns":[{"repeat":true,"steps":[`+burst(events, 200)+`]}]}`)
	// Long enough that who reads is not dropped on a busy machine.
	srv := httptest.NewUnstartedServer(w.h.HandlerWith(time.Minute, 5*time.Second, patience))
	srv.Listener = smallBuffers{srv.Listener}
	var gone sync.Map
	srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			gone.Store(c.RemoteAddr().String(), true)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	w.srv.Close()
	w.srv = srv

	stalled := dial(t, srv)
	if err := stalled.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	ask(t, stalled, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", w.at("/events?after=0"))
	quick := w.stream(t, "/events?after=0")
	turn := w.send("Go")
	ended := make(chan uint64, 1)
	go func() {
		var seq uint64
		defer func() { ended <- seq }()
		for quick.r.Scan() {
			data, ok := strings.CutPrefix(quick.r.Text(), "data: ")
			if !ok {
				continue
			}
			var ev host.Event
			if json.Unmarshal([]byte(data), &ev) != nil || ev.Seq <= seq {
				return
			}
			seq = ev.Seq
			var body host.Turn
			if ev.Type == host.EventTurn && json.Unmarshal(ev.Body, &body) == nil && body.ID == turn.ID && body.State.Ended() {
				return
			}
		}
	}()
	w.untilTurn(turn.ID, host.TurnCompleted)
	journal := w.journal()
	if got := <-ended; got < journal[len(journal)-1].Seq-5 {
		t.Errorf("the other subscriber came to %d of %d", got, journal[len(journal)-1].Seq)
	}
	// Now the stalled one reads: it has a beginning, then a broken connection, and
	// the last number it received is where it goes on.
	w.until("the stalled subscriber to be dropped", func() bool {
		_, ok := gone.Load(stalled.LocalAddr().String())
		return ok
	})
	rest, err := readResponse(t, stalled)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the stalled subscriber was not dropped: %v", err)
	}
	var seq uint64
	for block := range strings.SplitSeq(string(rest), "\n\n") {
		if n, _ := fmt.Sscanf(block, "id: %d\n", &seq); n == 0 && !strings.HasPrefix(block, ":") && block != "" && !strings.HasSuffix(string(rest), block) {
			t.Fatalf("block %q", block)
		}
	}
	if seq == 0 || seq >= journal[len(journal)-1].Seq {
		t.Fatalf("the stalled subscriber came to %d", seq)
	}
	if got := w.stream(t, fmt.Sprintf("/events?after=%d", seq-1)).event(); got.Seq < seq {
		t.Errorf("resumed with %d after %d", got.Seq, seq-1)
	}
}

func TestEventsEndQuietlyWhenTheHostIsClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	started, ended := make(chan bool, 50), make(chan error, 50)
	for range cap(ended) {
		go func() {
			for _, err := range r.h.Events(context.Background(), r.conv, 0) {
				if err != nil {
					ended <- err
					return
				}
				started <- true
			}
			ended <- nil
		}()
	}
	for range cap(started) {
		<-started
	}
	r.close()
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
