// Package transport carries JSON-RPC messages as lines over a child's stdin and
// stdout (DESIGN §6).
//
// The reading side turns every line into a numbered [Frame], keeps their order,
// never gives up on a bad line and never answers anything by itself. It pauses
// when [Config.Window] bytes are delivered and not yet acknowledged, so a burst
// slows the child and costs bounded memory. The writing side tells for every
// frame whether it reached the pipe, because that is the evidence rules 19–21
// need.
package transport

import (
	"io"
	"sync"
	"sync/atomic"
)

// Defaults of [Config], in bytes.
const (
	DefaultMaxLine  = 16 << 20
	DefaultWindow   = 8 << 20
	DefaultMaxQueue = 32 << 20
)

// Config describes a connection. R and W are required; both are closed by
// [Conn.Close] if they can be, which must make a blocked Read or Write return,
// as the ends of an os.Pipe do.
type Config struct {
	R io.Reader
	W io.Writer
	// MaxLine is the longest line carried, in bytes without the newline; default
	// [DefaultMaxLine]. A longer one is skipped in constant memory and reported as
	// [Frame.Oversize].
	MaxLine int
	// Window bounds the bytes of frames delivered and not acknowledged; default
	// [DefaultWindow]. A single frame larger than that still passes.
	Window int
	// MaxQueue bounds the bytes of frames that wait for the pipe; default
	// [DefaultMaxQueue]. A single frame larger than that still passes.
	MaxQueue int
	// Inspect looks at every frame that is neither junk nor oversize, on the
	// reading goroutine, before it is delivered. It must not change or keep the
	// frame.
	Inspect func(*Frame) error
	// Scrub replaces secrets in an inbound line before anything else sees it. It
	// may work in place or return another slice and must not keep the line. Of an
	// oversize line it gets the head and, separately, the envelope.
	Scrub func(line []byte) []byte
	// Expand replaces placeholders by the real bytes, on the pipe write only. It
	// returns the frame itself if there is nothing to replace, else a buffer of its
	// own, which is zeroed after the write. An error means [ErrNotWritten] for this
	// frame alone.
	Expand func(frame []byte) ([]byte, error)
	// OnWritten is told the fate of every frame sent: nil after it was handed to
	// the pipe in full, else an error that is [ErrNotWritten] or [ErrMaybeWritten].
	// Calls come one at a time, in the order frames were settled, on a goroutine of
	// their own; they must not call Close nor wait for the goroutine that does.
	OnWritten func(id uint64, err error)
}

// Conn is a live connection.
type Conn struct {
	cfg    Config
	recv   chan []Frame
	done   chan struct{}
	window *window
	writer *writer
	report *reporter
	// waits: the reader waits for the child. It began reads, which got so many bytes. The
	// one numbered emptied left nothing in the pipe, and what it got is accounted for.
	waits               atomic.Bool
	reads, got, emptied atomic.Int64

	wg        sync.WaitGroup
	closeOnce sync.Once
	mu        sync.Mutex
	err       error
}

// Start begins reading and writing. The caller must call [Conn.Close].
func Start(cfg Config) *Conn {
	if cfg.MaxLine <= 0 {
		cfg.MaxLine = DefaultMaxLine
	}
	if cfg.Window <= 0 {
		cfg.Window = DefaultWindow
	}
	if cfg.MaxQueue <= 0 {
		cfg.MaxQueue = DefaultMaxQueue
	}
	c := &Conn{
		cfg:    cfg,
		recv:   make(chan []Frame, recvBatches),
		done:   make(chan struct{}),
		window: newWindow(cfg.Window),
		report: newReporter(cfg.OnWritten),
	}
	c.writer = newWriter(&cfg, c.report.report)
	c.wg.Add(2)
	go func() {
		defer c.wg.Done()
		c.writer.run()
	}()
	go func() {
		defer c.wg.Done()
		r := reader{conn: c, lines: newLines(cfg.R, cfg.MaxLine)}
		err := c.endReason(r.run())
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		close(c.recv)
	}()
	return c
}

// Recv returns the channel of frames, in order and in batches: a single frame
// comes at once, a burst in portions. It is closed at the end of input; then
// [Conn.Err] tells why.
func (c *Conn) Recv() <-chan []Frame { return c.recv }

// Err tells why reading ended: io.EOF, [ErrClosed], or the error of the pipe;
// nil while it goes on. The end of the child's output is not the end of the
// child (rule 21).
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Ack says that the frames up to n are committed, which opens the window for as
// many bytes. Frames are never delivered twice, acknowledged or not.
func (c *Conn) Ack(n uint64) { c.window.ack(n) }

// Progress is how far reading has come since the start.
type Progress struct {
	// Reads were begun and got so many bytes; one that has not returned counts for none.
	Reads, Bytes int64
	// Emptied is the number of the last read that left nothing in the pipe, of those whose
	// frames are accounted for.
	Emptied int64
	// Taken are the bytes of all frames so far, Acked those of them that were acknowledged.
	Taken, Acked int64
	// Waits: the reader waits for the child.
	Waits bool
}

// Idle tells that nothing is under way: the reader waits for the child, and all it has
// read is acknowledged.
func (p *Progress) Idle() bool { return p.Waits && p.Acked == p.Taken }

// Progress tells how far reading has come.
func (c *Conn) Progress() Progress {
	// The window comes last, because a frame is accounted for before the reader waits again.
	p := Progress{Bytes: c.got.Load(), Reads: c.reads.Load(), Emptied: c.emptied.Load(), Waits: c.waits.Load()}
	acked, used := c.window.progress()
	p.Acked, p.Taken = acked, acked+int64(used)
	return p
}

// Send queues a frame, one JSON text without a newline, and returns at once. The
// ids of a connection must increase; a repeated or smaller one is ignored, so
// that a repeated request to send cannot send twice. The frame must not be
// changed afterwards.
func (c *Conn) Send(id uint64, frame []byte) { c.writer.send(id, frame) }

// CloseWrite closes the pipe to the child after the frames that are queued;
// later ones are not written. It returns at once.
func (c *Conn) CloseWrite() { c.writer.stop(ErrClosed, false) }

// Close closes both pipes, reports the frames that were not written, and returns
// when the goroutines of the connection have ended. Frames not yet received are
// lost.
func (c *Conn) Close() {
	c.closeOnce.Do(func() {
		c.writer.stop(ErrClosed, true)
		close(c.done)
		c.window.close()
		c.writer.closePipe()
		if r, ok := c.cfg.R.(io.Closer); ok {
			// As in closePipe: an error says it is closed already.
			_ = r.Close()
		}
	})
	c.wg.Wait()
	c.report.wait()
}

func (c *Conn) closing() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}
