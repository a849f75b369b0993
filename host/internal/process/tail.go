package process

import (
	"bytes"
	"strings"
	"sync"
)

// tail keeps the last bytes written to it.
type tail struct {
	limit int

	mu  sync.Mutex
	buf []byte
	cut bool
}

func newTail(limit int) *tail { return &tail{limit: limit} }

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > t.limit {
		p = p[len(p)-t.limit:]
		t.cut = true
	}
	if len(t.buf)+len(p) > 2*t.limit {
		// Half of the buffer goes at a time, so that a chatty child does not cost a
		// move for every line.
		t.buf = t.buf[:copy(t.buf, t.buf[max(0, len(t.buf)-t.limit):])]
		t.cut = true
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// String returns at most limit bytes, as valid UTF-8, from the start of a line
// where something was cut off and there is a line to start with.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, cut := t.buf, t.cut
	if len(b) > t.limit {
		b, cut = b[len(b)-t.limit:], true
	}
	if cut {
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i+1 < len(b) {
			b = b[i+1:]
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
