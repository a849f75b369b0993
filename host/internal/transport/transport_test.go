package transport_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/host/internal/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// readAll starts a connection on the input and returns all frames, acknowledging
// each batch, and the reason reading ended.
func readAll(t testing.TB, cfg transport.Config) ([]transport.Frame, error) {
	t.Helper()
	if cfg.W == nil {
		cfg.W = io.Discard
	}
	c := transport.Start(cfg)
	defer c.Close()
	var out []transport.Frame
	for batch := range c.Recv() {
		out = append(out, batch...)
		c.Ack(batch[len(batch)-1].N)
	}
	return out, c.Err()
}

// read is readAll for a text that ends normally.
func read(t testing.TB, input string) []transport.Frame {
	t.Helper()
	frames, err := readAll(t, transport.Config{R: strings.NewReader(input)})
	if !errors.Is(err, io.EOF) {
		t.Fatalf("reading ended with %v, want io.EOF", err)
	}
	return frames
}

// one reads a line that makes exactly one frame.
func one(t testing.TB, line string) transport.Frame {
	t.Helper()
	frames := read(t, line+"\n")
	if len(frames) != 1 {
		t.Fatalf("%q made %d frames, want 1: %v", line, len(frames), frames)
	}
	return frames[0]
}

// next waits for a batch.
func next(t testing.TB, c *transport.Conn) []transport.Frame {
	t.Helper()
	select {
	case b, ok := <-c.Recv():
		if !ok {
			t.Fatalf("the channel is closed: %v", c.Err())
		}
		return b
	case <-time.After(patience):
		t.Fatal("no frame arrived")
		return nil
	}
}

// pipe is an os.Pipe closed at the end of the test.
func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
	})
	return r, w
}

// outcomes collects what OnWritten is told.
type outcomes chan outcome

type outcome struct {
	id  uint64
	err error
}

func (o outcomes) note(id uint64, err error) { o <- outcome{id, err} }

func (o outcomes) next(t testing.TB) outcome {
	t.Helper()
	select {
	case got := <-o:
		return got
	case <-time.After(patience):
		t.Fatal("OnWritten was not called")
		return outcome{}
	}
}

// lockedBuffer is a writer that several goroutines look at.
type lockedBuffer struct {
	mu chan struct{}
	b  bytes.Buffer
}

func newLockedBuffer() *lockedBuffer { return &lockedBuffer{mu: make(chan struct{}, 1)} }

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu <- struct{}{}
	defer func() { <-l.mu }()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu <- struct{}{}
	defer func() { <-l.mu }()
	return l.b.String()
}
