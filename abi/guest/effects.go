package guest

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
