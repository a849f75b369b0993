package guest

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// Effects collects the effects of one step in order, already encoded. Its
// methods take a pointer only to spare a copy; they keep nothing of it.
type Effects struct {
	buf []byte
	n   int
}

// Len is the number of effects so far.
func (e *Effects) Len() int { return e.n }

// separate returns the buffer ready for the next effect.
func (e *Effects) separate() []byte {
	e.n++
	if e.n > 1 {
		return append(e.buf, ',')
	}
	return e.buf
}

// DeltaText appends x with this text in place of its own. Streamed text is encoded
// as soon as it is read, so no string has to be made of it.
func (e *Effects) DeltaText(x *abi.Delta, text []byte) {
	head := *x
	head.Text = ""
	e.Delta(&head)
	// The text is the last member: it stands before the ends of two objects.
	e.buf = jsonwire.AppendString(e.buf[:len(e.buf)-len(`""}}`)], text)
	e.buf = append(e.buf, '}', '}')
}

// keptBytes is the largest buffer kept between steps: one big step must not hold
// its memory for the life of the session.
const keptBytes = 1 << 20

func (e *Effects) reset() {
	if cap(e.buf) > keptBytes {
		e.buf = nil
	}
	e.buf = append(e.buf[:0], '[')
	e.n = 0
}

func (e *Effects) finish() []byte {
	e.buf = append(e.buf, ']')
	return e.buf
}
