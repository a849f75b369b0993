package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Outcomes of a frame that was not handed to the pipe in full. Both come wrapped
// with the cause.
var (
	// ErrNotWritten: not one byte of the frame reached the pipe. The child cannot
	// have seen it.
	ErrNotWritten = errors.New("transport: the frame was not written")
	// ErrMaybeWritten: a part of the frame, possibly all of it, reached the pipe
	// before the write failed. Whether the child saw it is unknown (rule 20).
	ErrMaybeWritten = errors.New("transport: the frame may have been written in part")
)

// Causes of ErrNotWritten that come from the connection itself.
var (
	// ErrClosed: the connection, or its writing side, was closed before.
	ErrClosed = errors.New("transport: the connection is closed")
	// ErrQueueFull: the child does not read its input and Config.MaxQueue bytes
	// wait for it. Nothing is accepted any more, so that no later frame overtakes
	// the refused one (rule 3).
	ErrQueueFull = errors.New("transport: the child does not read its input and the queue is full")
)

type queued struct {
	id    uint64
	frame []byte
}

// writer owns the outbound pipe. One goroutine writes, so a slow pipe blocks
// nobody else.
type writer struct {
	w      io.Writer
	limit  int
	expand func([]byte) ([]byte, error)
	report func(uint64, error)

	mu    sync.Mutex
	ready sync.Cond
	queue []queued
	// bytes counts the queued frames and the one being written.
	bytes int
	last  uint64
	// refuse is why nothing is accepted any more.
	refuse error
	// closed: nothing will be accepted, so the goroutine ends when the queue is
	// empty. drop: what is queued is not written either.
	closed, drop bool

	closeOnce sync.Once
	line      []byte
}

func newWriter(cfg *Config, report func(uint64, error)) *writer {
	w := &writer{w: cfg.W, limit: cfg.MaxQueue, expand: cfg.Expand, report: report}
	w.ready.L = &w.mu
	return w
}

func (w *writer) send(id uint64, frame []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id <= w.last {
		return
	}
	w.last = id
	if w.refuse == nil && w.bytes > 0 && w.bytes+len(frame) > w.limit {
		w.refuse = ErrQueueFull
	}
	if w.refuse != nil {
		w.report(id, notWritten(w.refuse))
		return
	}
	w.bytes += len(frame)
	w.queue = append(w.queue, queued{id, frame})
	w.ready.Signal()
}

// stop refuses further frames; with drop also those that wait.
func (w *writer) stop(cause error, drop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse == nil {
		w.refuse = cause
	}
	w.closed = true
	w.drop = w.drop || drop
	w.ready.Signal()
}

// next waits for a frame. False means there will be none to write; what is still
// queued then is reported as not written.
func (w *writer) next() (queued, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && !w.closed {
		w.ready.Wait()
	}
	if w.drop {
		for _, q := range w.queue {
			w.report(q.id, notWritten(w.refuse))
		}
		w.queue = nil
	}
	if len(w.queue) == 0 {
		return queued{}, false
	}
	q := w.queue[0]
	w.queue[0] = queued{}
	w.queue = w.queue[1:]
	return q, true
}

func (w *writer) run() {
	defer w.closePipe()
	for {
		q, ok := w.next()
		if !ok {
			return
		}
		outcome, broken := w.write(q.frame)
		w.report(q.id, outcome)
		w.mu.Lock()
		w.bytes -= len(q.frame)
		w.mu.Unlock()
		if broken != nil {
			w.stop(broken, true)
		}
	}
}

// write puts one frame on the pipe. It returns what to report for the frame, and
// why the pipe cannot be used any more, if so.
func (w *writer) write(frame []byte) (outcome, broken error) {
	expanded := frame
	if w.expand != nil {
		var err error
		if expanded, err = w.expand(frame); err != nil {
			return notWritten(err), nil
		}
	}
	if need := lineSize(expanded); cap(w.line) < need {
		w.line = make([]byte, 0, need)
	}
	line := appendLine(w.line[:0], expanded)
	n, err := w.w.Write(line)
	if w.expand != nil {
		// The expanded frame may hold a secret (rule 16): nothing of it stays.
		clear(line)
		if len(expanded) > 0 && (len(frame) == 0 || &expanded[0] != &frame[0]) {
			clear(expanded)
		}
	}
	size := len(line)
	if cap(w.line) > keepBuffer {
		w.line = nil
	}
	switch {
	case n == size:
		return nil, err
	case err == nil:
		err = io.ErrShortWrite
	}
	if n <= 0 {
		return notWritten(err), err
	}
	return fmt.Errorf("%w (%d of %d bytes): %w", ErrMaybeWritten, n, size, err), err
}

func notWritten(cause error) error { return fmt.Errorf("%w: %w", ErrNotWritten, cause) }

func (w *writer) closePipe() {
	w.closeOnce.Do(func() {
		if c, ok := w.w.(io.Closer); ok {
			// An error here says that the pipe is gone, which is what is wanted.
			_ = c.Close()
		}
	})
}

var (
	lineSeparator      = []byte("\u2028")
	paragraphSeparator = []byte("\u2029")
)

func lineSize(frame []byte) int {
	// Each separator of 3 bytes becomes an escape of 6.
	return len(frame) + 1 + 3*(bytes.Count(frame, lineSeparator)+bytes.Count(frame, paragraphSeparator))
}

// appendLine appends the frame as exactly one line. In JSON a raw line break can
// only be white space between tokens, so a space means the same. U+2028 and
// U+2029 can only be inside strings and are escaped, because the line reader of
// Node takes them for line ends.
func appendLine(dst, frame []byte) []byte {
	start := 0
	for i := 0; i < len(frame); i++ {
		switch c := frame[i]; {
		case c == '\n' || c == '\r':
			dst = append(append(dst, frame[start:i]...), ' ')
			start = i + 1
		case c == 0xE2 && i+2 < len(frame) && frame[i+1] == 0x80 && frame[i+2]&^1 == 0xA8:
			dst = append(append(dst, frame[start:i]...), '\\', 'u', '2', '0', '2', '8'+frame[i+2]&1)
			i += 2
			start = i + 1
		}
	}
	return append(append(dst, frame[start:]...), '\n')
}
