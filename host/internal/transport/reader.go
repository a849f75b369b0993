package transport

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

const (
	// maxBatch and maxBatchBytes end a batch while more lines are at hand, so that
	// a burst reaches the session in portions.
	maxBatch      = 256
	maxBatchBytes = 1 << 20
	// recvBatches is how many batches may wait in the channel.
	recvBatches = 4
)

// reader turns lines into frames and delivers them in order.
type reader struct {
	conn  *Conn
	lines *lines
	env   envelope
	n     uint64
	batch []Frame
	bytes int
	last  int
}

// run reads until the end of input or Close.
func (r *reader) run() error {
	for {
		for {
			line, ok := r.lines.next()
			if !ok {
				break
			}
			if !r.line(line) {
				return ErrClosed
			}
		}
		// Nothing more is at hand: deliver before waiting, so that a single frame
		// is not delayed.
		if !r.flush() {
			return ErrClosed
		}
		if r.lines.err != nil {
			return r.lines.err
		}
		if r.lines.short {
			r.conn.emptied.Store(r.conn.reads.Load())
		}
		// The error is looked at above, after the last lines were taken.
		r.conn.reads.Add(1)
		r.conn.waits.Store(true)
		had := r.lines.end - r.lines.start
		_ = r.lines.fill()
		r.conn.waits.Store(false)
		r.conn.got.Add(int64(r.lines.end - r.lines.start - had))
	}
}

// line makes a frame of one line and queues it; false means closed.
func (r *reader) line(l rawLine) bool {
	f := Frame{Size: l.size}
	if l.over != nil {
		f.Oversize = true
		r.oversize(&f, l.over, fmt.Sprintf("a line of %d bytes, the limit is %d", l.size, r.lines.max))
	} else {
		text := r.env.utf8Only(r.scrub(l.text))
		if text = tidy(text); len(text) == 0 {
			return true
		}
		if err := r.env.read(text, &f); err != nil {
			g := new(digest)
			g.write(text)
			f.Oversize = true
			r.oversize(&f, g, fmt.Sprintf("nested deeper than %d levels", jsonwire.MaxDepth))
		}
	}
	if inspect := r.conn.cfg.Inspect; inspect != nil && f.Kind != Junk && !f.Oversize {
		f.Check = inspect(&f)
	}
	return r.queue(f)
}

// oversize fills f from what is left of a line that is not carried.
func (r *reader) oversize(f *Frame, g *digest, reason string) {
	if short := g.line(); short == nil {
		f.Kind = Junk
	} else if err := r.env.read(r.env.utf8Only(r.scrub(short)), f); err != nil {
		f.Kind = Junk
	}
	f.Payload = nil
	f.Note = note(reason, r.env.utf8Only(r.scrub(g.head)))
}

func (r *reader) scrub(line []byte) []byte {
	if scrub := r.conn.cfg.Scrub; scrub != nil {
		return scrub(line)
	}
	return line
}

// queue numbers the frame and puts it into the batch, waiting for the window
// where needed; false means closed.
func (r *reader) queue(f Frame) bool {
	cost := f.cost()
	if w := r.conn.window; !w.tryEnter(cost) {
		// What waits in the batch fills the window too: it has to go out first, or
		// it could never be acknowledged.
		if !r.flush() || !w.enter(cost) {
			return false
		}
	}
	r.n++
	f.N = r.n
	if r.batch == nil {
		r.batch = make([]Frame, 0, max(1, r.last))
	}
	r.batch = append(r.batch, f)
	r.bytes += cost
	if len(r.batch) >= maxBatch || r.bytes >= maxBatchBytes {
		return r.flush()
	}
	return true
}

// flush hands over the batch; false means closed.
func (r *reader) flush() bool {
	if len(r.batch) == 0 {
		return !r.conn.closing()
	}
	batch := r.batch
	r.batch, r.bytes, r.last = nil, 0, len(batch)
	select {
	case r.conn.recv <- batch:
		return true
	case <-r.conn.done:
		return false
	}
}

// endReason is what Err reports for the error that ended reading.
func (c *Conn) endReason(err error) error {
	switch {
	case c.closing() || errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe):
		return ErrClosed
	default:
		return err
	}
}
