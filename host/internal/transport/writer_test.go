package transport_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host/internal/transport"
)

// writing starts a connection that only writes.
func writing(t *testing.T, cfg transport.Config) (*transport.Conn, outcomes) {
	t.Helper()
	told := make(outcomes, 1000)
	cfg.OnWritten = told.note
	cfg.R = strings.NewReader("")
	c := transport.Start(cfg)
	t.Cleanup(c.Close)
	return c, told
}

func wantOutcome(t *testing.T, o outcome, id uint64, err error) {
	t.Helper()
	if o.id != id || !errors.Is(o.err, err) {
		t.Errorf("frame %d: %v; want frame %d: %v", o.id, o.err, id, err)
	}
}

func TestFramesAreWrittenInOrderAndReportedOnce(t *testing.T) {
	out := newLockedBuffer()
	c, told := writing(t, transport.Config{W: out})
	c.Send(1, []byte(`{"a":1}`))
	c.Send(2, []byte(`{"a":2}`))
	c.Send(2, []byte(`{"again":2}`))
	c.Send(1, []byte(`{"again":1}`))
	c.Send(7, []byte(`{"a":7}`))
	for _, id := range []uint64{1, 2, 7} {
		wantOutcome(t, told.next(t), id, nil)
	}
	c.Close()
	if got := out.String(); got != "{\"a\":1}\n{\"a\":2}\n{\"a\":7}\n" {
		t.Errorf("wrote %q", got)
	}
	if len(told) != 0 {
		t.Errorf("%d more outcomes were told", len(told))
	}
}

// oneWrite records the pieces it is given.
type oneWrite struct{ pieces chan string }

func (w oneWrite) Write(p []byte) (int, error) {
	w.pieces <- string(p)
	return len(p), nil
}

func TestAFrameAndItsNewlineAreOneWrite(t *testing.T) {
	w := oneWrite{make(chan string, 10)}
	c, told := writing(t, transport.Config{W: w})
	c.Send(1, []byte(`{"a":1}`))
	told.next(t)
	if got := <-w.pieces; got != "{\"a\":1}\n" {
		t.Errorf("the first write was %q", got)
	}
}

func TestASlowPipeNeverBlocksSend(t *testing.T) {
	r, w := pipe(t)
	c, told := writing(t, transport.Config{W: w})
	frame := []byte(`"` + strings.Repeat("x", 10<<10) + `"`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for id := uint64(1); id <= 100; id++ {
			c.Send(id, frame)
		}
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("Send blocked on a pipe nobody reads")
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	for id := uint64(1); id <= 100; id++ {
		wantOutcome(t, told.next(t), id, nil)
	}
}

func TestRule03_AfterTheQueueWasFullNoLaterFrameOvertakesTheRefusedOne(t *testing.T) {
	r, w := pipe(t)
	c, told := writing(t, transport.Config{W: w, MaxQueue: 300 << 10})
	big := []byte(`"` + strings.Repeat("x", 200<<10) + `"`)
	c.Send(1, big) // fills the pipe and blocks
	c.Send(2, []byte(`"small"`))
	c.Send(3, big)
	o := told.next(t)
	wantOutcome(t, o, 3, transport.ErrNotWritten)
	wantOutcome(t, o, 3, transport.ErrQueueFull)
	c.Send(4, []byte(`"would fit"`))
	wantOutcome(t, told.next(t), 4, transport.ErrQueueFull)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	wantOutcome(t, told.next(t), 1, nil)
	wantOutcome(t, told.next(t), 2, nil)
	c.CloseWrite()
	c.Send(5, []byte(`"late"`))
	wantOutcome(t, told.next(t), 5, transport.ErrNotWritten)
}

func TestAFrameLargerThanTheQueueStillPassesWhenItIsAlone(t *testing.T) {
	out := newLockedBuffer()
	c, told := writing(t, transport.Config{W: out, MaxQueue: 10})
	c.Send(1, []byte(`"`+strings.Repeat("x", 1000)+`"`))
	wantOutcome(t, told.next(t), 1, nil)
}

// script answers writes with prepared results.
type script struct {
	results []func(p []byte) (int, error)
	closed  chan struct{}
}

func (s *script) Write(p []byte) (int, error) {
	f := s.results[0]
	s.results = s.results[1:]
	return f(p)
}

func (s *script) Close() error {
	close(s.closed)
	return nil
}

func TestRule20_AWriteErrorSaysWhetherTheChildCanHaveSeenTheFrame(t *testing.T) {
	boom := errors.New("boom")
	all := func(p []byte) (int, error) { return len(p), nil }
	for _, tc := range []struct {
		name  string
		write func([]byte) (int, error)
		want  error
		cause error
	}{
		{"nothing", func([]byte) (int, error) { return 0, boom }, transport.ErrNotWritten, boom},
		{"a part", func([]byte) (int, error) { return 3, boom }, transport.ErrMaybeWritten, boom},
		{"all but the newline", func(p []byte) (int, error) { return len(p) - 1, boom }, transport.ErrMaybeWritten, boom},
		{"all, then an error", func(p []byte) (int, error) { return len(p), boom }, nil, nil},
		{"a part without an error", func([]byte) (int, error) { return 1, nil }, transport.ErrMaybeWritten, io.ErrShortWrite},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &script{closed: make(chan struct{})}
			s.results = append(s.results, all, tc.write)
			c, told := writing(t, transport.Config{W: s})
			c.Send(1, []byte(`{"n":1}`))
			c.Send(2, []byte(`{"n":2}`))
			wantOutcome(t, told.next(t), 1, nil)
			o := told.next(t)
			wantOutcome(t, o, 2, tc.want)
			wantOutcome(t, o, 2, tc.cause)
			// The pipe is closed and not used again, for what waits and what comes.
			<-s.closed
			c.Send(3, []byte(`{"n":3}`))
			o = told.next(t)
			wantOutcome(t, o, 3, transport.ErrNotWritten)
			if errors.Is(o.err, transport.ErrMaybeWritten) {
				t.Errorf("a frame that did not start says %v", o.err)
			}
		})
	}
}

func TestRule21_FramesThatWaitWhenThePipeBreaksWereNeverSent(t *testing.T) {
	r, w := pipe(t)
	c, told := writing(t, transport.Config{W: w})
	c.Send(1, []byte(`"`+strings.Repeat("x", 200<<10)+`"`)) // more than a pipe holds
	c.Send(2, []byte(`"waits"`))
	c.Send(3, []byte(`"waits"`))
	if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	wantOutcome(t, told.next(t), 1, transport.ErrMaybeWritten)
	wantOutcome(t, told.next(t), 2, transport.ErrNotWritten)
	wantOutcome(t, told.next(t), 3, transport.ErrNotWritten)
}

func TestABrokenPipeIsProvablyNotWritten(t *testing.T) {
	r, w := pipe(t)
	_ = r.Close()
	c, told := writing(t, transport.Config{W: w})
	c.Send(1, []byte(`{}`))
	o := told.next(t)
	wantOutcome(t, o, 1, transport.ErrNotWritten)
	wantOutcome(t, o, 1, syscall.EPIPE)
}

func TestCloseReportsTheFrameInFlightAndThoseThatWait(t *testing.T) {
	r, w := pipe(t)
	c, told := writing(t, transport.Config{W: w})
	// More than a pipe holds.
	c.Send(1, []byte(`"`+strings.Repeat("x", 200<<10)+`"`))
	c.Send(2, []byte(`"waits"`))
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if len(told) != 2 {
		t.Fatalf("%d outcomes were told when Close returned, want 2", len(told))
	}
	wantOutcome(t, told.next(t), 1, transport.ErrMaybeWritten)
	wantOutcome(t, told.next(t), 2, transport.ErrNotWritten)
}

func TestS8_ADeadConnectionIsNotUsedAgain(t *testing.T) {
	out := newLockedBuffer()
	c, told := writing(t, transport.Config{W: out})
	c.Close()
	c.Send(1, []byte(`{}`))
	o := told.next(t)
	wantOutcome(t, o, 1, transport.ErrNotWritten)
	wantOutcome(t, o, 1, transport.ErrClosed)
	if out.String() != "" {
		t.Errorf("wrote %q", out.String())
	}
}

func TestCloseWriteFlushesTheQueueAndClosesThePipe(t *testing.T) {
	r, w := pipe(t)
	c, told := writing(t, transport.Config{W: w})
	c.Send(1, []byte(`{"n":1}`))
	c.Send(2, []byte(`{"n":2}`))
	c.CloseWrite()
	c.CloseWrite()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "{\"n\":1}\n{\"n\":2}\n" {
		t.Errorf("the child read %q, %v", got, err)
	}
	wantOutcome(t, told.next(t), 1, nil)
	wantOutcome(t, told.next(t), 2, nil)
	c.Send(3, []byte(`{}`))
	wantOutcome(t, told.next(t), 3, transport.ErrClosed)
}

func TestOnWrittenMayBlockWithoutBlockingThePipe(t *testing.T) {
	r, w := pipe(t)
	release := make(chan struct{})
	c := transport.Start(transport.Config{R: strings.NewReader(""), W: w, OnWritten: func(uint64, error) { <-release }})
	defer c.Close()
	defer close(release)
	for id := uint64(1); id <= 3; id++ {
		c.Send(id, []byte(`{}`))
	}
	if _, err := io.ReadFull(r, make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
}

func TestRule16_ASecretIsOnThePipeOnlyAndItsBufferIsZeroed(t *testing.T) {
	const placeholder, secret = "§7f3a§", `pa"ss`
	var expanded [][]byte
	out := newLockedBuffer()
	c, told := writing(t, transport.Config{W: out, Expand: func(frame []byte) ([]byte, error) {
		if !bytes.Contains(frame, []byte(placeholder)) {
			return frame, nil
		}
		escaped, _ := json.Marshal(secret)
		b := bytes.ReplaceAll(frame, []byte(placeholder), escaped[1:len(escaped)-1])
		expanded = append(expanded, b)
		return b, nil
	}})
	with := []byte(`{"answer":"` + placeholder + `"}`)
	without := []byte(`{"answer":"plain"}`)
	c.Send(1, with)
	c.Send(2, without)
	wantOutcome(t, told.next(t), 1, nil)
	wantOutcome(t, told.next(t), 2, nil)
	c.Close()
	if got := out.String(); got != "{\"answer\":\"pa\\\"ss\"}\n{\"answer\":\"plain\"}\n" {
		t.Errorf("wrote %q", got)
	}
	if len(expanded) != 1 || strings.Trim(string(expanded[0]), "\x00") != "" {
		t.Errorf("the expanded buffer holds %q", expanded)
	}
	if string(with) != `{"answer":"`+placeholder+`"}` || string(without) != `{"answer":"plain"}` {
		t.Errorf("the caller's frames changed: %q %q", with, without)
	}
}

// retained keeps the slice it was given, as a careless writer would.
type retained struct{ last chan []byte }

func (r retained) Write(p []byte) (int, error) {
	r.last <- p
	return len(p), nil
}

func TestRule16_TheLineBufferIsZeroedAfterTheWrite(t *testing.T) {
	w := retained{make(chan []byte, 1)}
	c, told := writing(t, transport.Config{W: w, Expand: func([]byte) ([]byte, error) { return []byte(`"secret"`), nil }})
	c.Send(1, []byte(`"x"`))
	told.next(t)
	c.Close()
	if b := <-w.last; strings.Trim(string(b), "\x00") != "" {
		t.Errorf("the line buffer still holds %q", b)
	}
}

func TestAFailedExpansionStopsThatFrameOnly(t *testing.T) {
	gone := errors.New("the attachment is gone")
	out := newLockedBuffer()
	c, told := writing(t, transport.Config{W: out, Expand: func(f []byte) ([]byte, error) {
		if strings.Contains(string(f), "image") {
			return nil, gone
		}
		return f, nil
	}})
	c.Send(1, []byte(`"image"`))
	c.Send(2, []byte(`"text"`))
	o := told.next(t)
	wantOutcome(t, o, 1, transport.ErrNotWritten)
	wantOutcome(t, o, 1, gone)
	wantOutcome(t, told.next(t), 2, nil)
	if got := out.String(); got != "\"text\"\n" {
		t.Errorf("wrote %q", got)
	}
}

func TestAFrameIsOneLineForEveryKindOfLineReader(t *testing.T) {
	out := newLockedBuffer()
	c, told := writing(t, transport.Config{W: out})
	frame := "{\r\n  \"text\": \"a\u2028b\u2029c\u2027d\u202Ae\"\n}"
	c.Send(1, []byte(frame))
	told.next(t)
	got := out.String()
	if got != "{    \"text\": \"a\\u2028b\\u2029c\u2027d\u202Ae\" }\n" {
		t.Errorf("wrote %q", got)
	}
}

func TestAppendWritesBothFramings(t *testing.T) {
	for _, tc := range []struct {
		got  []byte
		want string
	}{
		{transport.AppendRequest(nil, false, []byte(`7`), "a/b", []byte(`{"x":1}`)), `{"id":7,"method":"a/b","params":{"x":1}}`},
		{transport.AppendRequest(nil, true, []byte(`"7"`), "a", nil), `{"jsonrpc":"2.0","id":"7","method":"a"}`},
		{transport.AppendNotification([]byte("> "), false, "initialized", nil), `> {"method":"initialized"}`},
		{transport.AppendNotification(nil, true, "session/cancel", []byte(`{}`)), `{"jsonrpc":"2.0","method":"session/cancel","params":{}}`},
		{transport.AppendResult(nil, true, []byte(`"x"`), nil), `{"jsonrpc":"2.0","id":"x","result":null}`},
		{transport.AppendResult(nil, false, []byte(`0`), []byte(`[]`)), `{"id":0,"result":[]}`},
		{transport.AppendError(nil, true, []byte(`1`), transport.CodeMethodNotFound, `no "x"`, nil), `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no \"x\""}}`},
		{transport.AppendError(nil, false, []byte(`1`), 5, "m", []byte(`{"d":1}`)), `{"id":1,"error":{"code":5,"message":"m","data":{"d":1}}}`},
	} {
		if string(tc.got) != tc.want {
			t.Errorf("got %s, want %s", tc.got, tc.want)
		}
	}
}

func FuzzSend(f *testing.F) {
	f.Add("{\"a\": \"x\u2028\"}\n")
	f.Add("[1,\r\n 2]")
	f.Fuzz(func(t *testing.T, text string) {
		var want any
		if json.Unmarshal([]byte(text), &want) != nil {
			return
		}
		out := newLockedBuffer()
		c := transport.Start(transport.Config{R: strings.NewReader(""), W: out})
		c.Send(1, []byte(text))
		c.CloseWrite()
		for deadline := time.Now().Add(patience); !strings.HasSuffix(out.String(), "\n"); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nothing was written")
			}
		}
		c.Close()
		line := out.String()
		if strings.ContainsAny(line[:len(line)-1], "\n\r\u2028\u2029") {
			t.Fatalf("more than one line: %q", line)
		}
		var got any
		if err := json.Unmarshal([]byte(line), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q became %q (%v)", text, line, err)
		}
	})
}
