package engine

// ring keeps the last bytes that were written to it.
type ring struct {
	buf   []byte
	limit int
	next  int // where the next byte goes once buf is full
	full  bool
}

func (r *ring) write(p []byte) {
	if len(p) >= r.limit {
		r.buf = append(r.buf[:0], p[len(p)-r.limit:]...)
		r.next, r.full = 0, true
		return
	}
	if !r.full {
		n := min(len(p), r.limit-len(r.buf))
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
		r.full = len(r.buf) == r.limit
	}
	for len(p) > 0 {
		n := copy(r.buf[r.next:], p)
		p = p[n:]
		r.next = (r.next + n) % r.limit
	}
}

func (r *ring) String() string {
	if !r.full {
		return string(r.buf)
	}
	return string(r.buf[r.next:]) + string(r.buf[:r.next])
}
