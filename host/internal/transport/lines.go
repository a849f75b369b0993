package transport

import (
	"bytes"
	"io"
)

const (
	// readBuffer is the initial buffer; a pipe holds as much.
	readBuffer = 64 << 10
	// minRead is the least room a read is given.
	minRead = 16 << 10
	// keepBuffer is the largest buffer kept once a long line is done with.
	keepBuffer = 1 << 20
	// maxEmptyReads is how often a reader may return nothing without an error.
	maxEmptyReads = 100
)

// rawLine is one line. Either text holds it, valid until the next fill, or, if
// it was longer than the limit, over holds what is left of it.
type rawLine struct {
	text []byte
	size int
	over *digest
}

// lines splits a stream at newlines. It is not a bufio.Scanner: that one gives up
// at a line longer than its buffer, this one skips the line and goes on.
type lines struct {
	r   io.Reader
	max int

	buf        []byte
	start, end int
	// seen counts the bytes after start that are known to hold no newline.
	seen int
	// over is the line being discarded, if any.
	over *digest
	err  error
	// short: the last read got less than there was room for, as it does from a pipe only
	// when nothing is left in it.
	short bool
}

func newLines(r io.Reader, maxLine int) *lines {
	return &lines{r: r, max: maxLine, buf: make([]byte, readBuffer)}
}

// next returns the next line that is already in the buffer. After the end of
// input what is left over counts as a line.
func (l *lines) next() (rawLine, bool) {
	rest := l.buf[l.start:l.end]
	i := bytes.IndexByte(rest[l.seen:], '\n')
	switch {
	case i >= 0:
		text := rest[:l.seen+i]
		l.start += len(text) + 1
		l.seen = 0
		return l.finish(text), true
	case l.err != nil && (len(rest) > 0 || l.over != nil):
		l.start, l.end, l.seen = 0, 0, 0
		return l.finish(rest), true
	case l.over != nil || len(rest) > l.max:
		if l.over == nil {
			l.over = new(digest)
		}
		l.over.write(rest)
		l.start, l.end, l.seen = 0, 0, 0
	default:
		l.seen = len(rest)
	}
	return rawLine{}, false
}

// finish makes a line of its last piece.
func (l *lines) finish(text []byte) rawLine {
	over := l.over
	if over == nil && len(text) <= l.max {
		return rawLine{text: text, size: len(text)}
	}
	if over == nil {
		over = new(digest)
	}
	over.write(text)
	l.over = nil
	return rawLine{size: over.size, over: over}
}

// fill reads once, after making room. The error, io.EOF at the end, sticks.
func (l *lines) fill() error {
	if l.err != nil {
		return l.err
	}
	rest := l.buf[l.start:l.end]
	switch {
	case len(l.buf) > keepBuffer && len(rest) <= readBuffer/2:
		l.move(make([]byte, readBuffer), rest)
	case len(rest) == 0:
		l.start, l.end = 0, 0
	case len(l.buf)-l.end >= minRead:
	case len(rest) <= len(l.buf)/2:
		l.move(l.buf, rest)
	default:
		// The rest is never longer than the limit: a longer line is digested.
		size := 2 * len(l.buf)
		if size >= l.max {
			size = l.max + readBuffer
		}
		l.move(make([]byte, size), rest)
	}
	for range maxEmptyReads {
		n, err := l.r.Read(l.buf[l.end:])
		l.short = n < len(l.buf)-l.end
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return err
		}
	}
	l.err = io.ErrNoProgress
	return l.err
}

func (l *lines) move(buf, rest []byte) {
	l.end = copy(buf, rest)
	l.buf, l.start = buf, 0
}
