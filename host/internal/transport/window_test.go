package transport_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host/internal/transport"
)

// counted counts the bytes read from it.
type counted struct {
	r io.Reader
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// settled waits until the counter stands still and returns it.
func settled(c *counted) int64 {
	last := int64(-1)
	for still := 0; still < 5; {
		time.Sleep(10 * time.Millisecond)
		if n := c.n.Load(); n == last {
			still++
		} else {
			last, still = n, 0
		}
	}
	return last
}

// fill takes what comes until the window has no room for another frame, of which
// used bytes are taken already, and looks whether more comes then.
func fill(t *testing.T, c *transport.Conn, window, used int) (got []transport.Frame) {
	t.Helper()
	take := func(b []transport.Frame) (last int) {
		for i := range b {
			last = transport.Cost(&b[i])
			used += last
		}
		got = append(got, b...)
		return last
	}
	// The next frame may be some bytes longer than the last.
	for last := 0; used+last+10 <= window; {
		last = take(next(t, c))
	}
	for giveUp := time.After(300 * time.Millisecond); ; {
		select {
		case b := <-c.Recv():
			take(b)
			continue
		case <-giveUp:
		}
		break
	}
	if used > window {
		t.Errorf("%d bytes are outstanding in a window of %d", used, window)
	}
	return got
}

func delta(i int) string {
	return fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"n":%d,"delta":"%s"}}`+"\n", i, strings.Repeat("d", 100))
}

func TestT2_ABurstPausesTheReaderUntilItIsAcknowledged(t *testing.T) {
	const total = 5000
	var in strings.Builder
	for i := range total {
		in.WriteString(strings.Replace(delta(i), "ddd", strings.Repeat("d", 1000), 1))
	}
	src := &counted{r: strings.NewReader(in.String())}
	c := transport.Start(transport.Config{R: src, W: io.Discard, Window: 256 << 10})
	defer c.Close()

	// Take everything on offer without acknowledging anything.
	got := fill(t, c, 256<<10, 0)
	held, outstanding := 0, 0
	for i := range got {
		held += len(got[i].Payload)
		if i > len(got)/2 {
			outstanding += transport.Cost(&got[i])
		}
	}
	if len(got) == 0 || held > 256<<10 {
		t.Fatalf("%d frames of %d bytes were delivered into a window of 256 KiB", len(got), held)
	}
	if n := settled(src); n >= int64(in.Len())/2 {
		t.Errorf("the reader took %d of %d bytes although the window is full", n, in.Len())
	}

	// Half of the window admits about half a window more, not everything.
	inWindow := len(got)
	c.Ack(got[inWindow/2].N)
	got = append(got, fill(t, c, 256<<10, outstanding)...)
	more := len(got) - inWindow
	if more == 0 || more > inWindow*2/3 {
		t.Errorf("acknowledging half of the window let %d more frames in", more)
	}

	c.Ack(got[len(got)-1].N)
	for b := range c.Recv() {
		got = append(got, b...)
		c.Ack(b[len(b)-1].N)
	}
	if len(got) != total {
		t.Fatalf("%d of %d frames arrived", len(got), total)
	}
	for i, f := range got {
		if want := fmt.Sprintf(`{"n":%d,`, i); f.N != uint64(i+1) || !strings.HasPrefix(string(f.Payload), want) {
			t.Fatalf("frame %d is number %d with payload %.20s", i+1, f.N, f.Payload)
		}
	}
}

func TestT2_AFrameLargerThanTheWindowStillPasses(t *testing.T) {
	in := delta(1) + `{"id":1,"result":"` + strings.Repeat("x", 1<<20) + "\"}\n" + delta(2)
	c := transport.Start(transport.Config{R: strings.NewReader(in), W: io.Discard, Window: 4 << 10})
	defer c.Close()
	var n uint64
	for n < 3 {
		for _, f := range next(t, c) {
			n = f.N
			c.Ack(n)
		}
	}
}

func TestAnAcknowledgementOfFramesNotYetDeliveredCountsForNothing(t *testing.T) {
	r, w := pipe(t)
	c := transport.Start(transport.Config{R: r, W: io.Discard, Window: 1 << 10})
	defer c.Close()
	c.Ack(1 << 40)
	go func() {
		for i := range 100 {
			_, _ = io.WriteString(w, delta(i))
		}
	}()
	got := len(fill(t, c, 1<<10, 0))
	if got == 0 || got > 10 {
		t.Errorf("%d frames came through a window of 1 KiB", got)
	}
}

func TestTwoByteLinesCannotFillTheWindowWithFrames(t *testing.T) {
	c := transport.Start(transport.Config{R: strings.NewReader(strings.Repeat("x\n", 1<<20)), W: io.Discard, Window: 64 << 10})
	defer c.Close()
	got := len(fill(t, c, 64<<10, 0))
	if got == 0 || got > 1000 {
		t.Errorf("a window of 64 KiB holds %d frames", got)
	}
}

func TestT2_AHundredThousandNotificationsAndASlowConsumerStayInBoundedMemory(t *testing.T) {
	const total = 100_000
	r, w := pipe(t)
	go func() {
		defer func() { _ = w.Close() }()
		var burst strings.Builder
		for i := range total {
			burst.WriteString(delta(i))
			if burst.Len() > 32<<10 {
				if _, err := io.WriteString(w, burst.String()); err != nil {
					return
				}
				burst.Reset()
			}
		}
		_, _ = io.WriteString(w, burst.String())
	}()
	const window = 1 << 20
	c := transport.Start(transport.Config{R: r, W: io.Discard, Window: window})
	defer c.Close()
	runtime.GC()
	var base, now runtime.MemStats
	runtime.ReadMemStats(&base)
	var n, acked uint64
	var peak uint64
	for b := range c.Recv() {
		n = b[len(b)-1].N
		// Commit in groups, as the session does.
		if n-acked > 2000 || n == total {
			time.Sleep(2 * time.Millisecond)
			c.Ack(n)
			acked = n
		}
		if n%5000 < 256 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			if now.HeapAlloc > base.HeapAlloc {
				peak = max(peak, now.HeapAlloc-base.HeapAlloc)
			}
		}
	}
	if n != total {
		t.Fatalf("%d of %d frames arrived", n, total)
	}
	if peak > 4*window {
		t.Errorf("%d KiB are live with a window of %d KiB", peak>>10, window>>10)
	}
}

func TestABurstIsBatchedAndASingleFrameComesAtOnce(t *testing.T) {
	r, w := pipe(t)
	c := transport.Start(transport.Config{R: r, W: io.Discard})
	defer c.Close()
	if _, err := io.WriteString(w, delta(0)); err != nil {
		t.Fatal(err)
	}
	if b := next(t, c); len(b) != 1 {
		t.Fatalf("a single frame came as a batch of %d", len(b))
	}
	// A complete line is delivered although half a line follows it.
	half := delta(1)
	if _, err := io.WriteString(w, half+half[:20]); err != nil {
		t.Fatal(err)
	}
	if b := next(t, c); len(b) != 1 {
		t.Fatalf("got a batch of %d", len(b))
	}
	var burst strings.Builder
	burst.WriteString(half[20:])
	for i := range 99 {
		burst.WriteString(delta(i))
	}
	if _, err := io.WriteString(w, burst.String()); err != nil {
		t.Fatal(err)
	}
	if b := next(t, c); len(b) != 100 {
		t.Errorf("a burst of 100 frames began with a batch of %d", len(b))
	}
}

func TestCloseEndsAReaderThatWaitsForTheWindowTheConsumerOrThePipe(t *testing.T) {
	many := strings.Repeat(delta(1), 5000)
	t.Run("window", func(t *testing.T) {
		c := transport.Start(transport.Config{R: strings.NewReader(many), W: io.Discard, Window: 1})
		next(t, c)
		c.Close()
		c.Close()
		if !errors.Is(c.Err(), transport.ErrClosed) {
			t.Errorf("Err is %v", c.Err())
		}
	})
	t.Run("consumer", func(t *testing.T) {
		c := transport.Start(transport.Config{R: strings.NewReader(many), W: io.Discard})
		time.Sleep(20 * time.Millisecond)
		c.Close()
		if !errors.Is(c.Err(), transport.ErrClosed) {
			t.Errorf("Err is %v", c.Err())
		}
	})
	t.Run("pipe", func(t *testing.T) {
		r, _ := pipe(t)
		c := transport.Start(transport.Config{R: r, W: io.Discard})
		if c.Err() != nil {
			t.Errorf("Err is %v while reading goes on", c.Err())
		}
		c.Close()
		if _, open := <-c.Recv(); open || !errors.Is(c.Err(), transport.ErrClosed) {
			t.Errorf("Err is %v", c.Err())
		}
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestErrTellsWhyReadingEnded(t *testing.T) {
	if _, err := readAll(t, transport.Config{R: failing{io.ErrUnexpectedEOF}}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	if _, err := readAll(t, transport.Config{R: failing{}}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that never returns anything ended with %v", err)
	}
}

// full fills the room of each read, as a pipe does that has more, and then says nothing
// more until it is closed.
type full struct {
	io.ReadCloser
	reads int
}

func (f *full) Read(p []byte) (int, error) {
	if f.reads == 0 {
		return f.ReadCloser.Read(p)
	}
	f.reads--
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}

// waiting returns how far it has come when the reader waits with that many reads begun.
func waiting(t *testing.T, c *transport.Conn, reads int64) transport.Progress {
	t.Helper()
	deadline := time.Now().Add(patience)
	for p := c.Progress(); ; p = c.Progress() {
		if p.Reads == reads && p.Waits {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for read %d: %+v", reads, p)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestProgressTellsWhichReadEmptiedThePipe(t *testing.T) {
	r, w := pipe(t)
	c := transport.Start(transport.Config{R: &full{r, 3}, W: io.Discard})
	defer c.Close()
	// Each of the first reads left something.
	before := waiting(t, c, 4)
	if before.Emptied != 0 || before.Bytes < 3<<10 || !before.Idle() {
		t.Errorf("after full reads %+v", before)
	}
	line := delta(1)
	if _, err := io.WriteString(w, line+line[:20]); err != nil {
		t.Fatal(err)
	}
	if p := waiting(t, c, 5); p.Emptied != 4 || p.Bytes != before.Bytes+int64(len(line)+20) || p.Taken == 0 || p.Acked != 0 || p.Idle() {
		t.Errorf("before the frame was acknowledged %+v", p)
	}
	c.Ack(next(t, c)[0].N)
	if p := waiting(t, c, 5); p.Acked != p.Taken || !p.Idle() {
		t.Errorf("after that %+v", p)
	}
}
