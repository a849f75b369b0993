package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// message is one block of a stream of server-sent events. A block of comments
// alone has no fields set.
type message struct {
	id, event string
	data      []byte
}

// reader reads a stream of server-sent events, as the HTML standard lays it out:
// fields "name: value" in lines, a blank line ends a block, lines that begin with
// a colon are comments. Each line is told to alive, so that a silent stream can be
// noticed.
type reader struct {
	r     *bufio.Reader
	max   int
	alive func()
	line  []byte
}

var errTooLong = errors.New("an event is longer than this client takes")

// next returns the next block. A block that the end of the stream cuts off is
// dropped, as the standard wants.
func (s *reader) next() (m message, err error) {
	for {
		line, err := s.readLine(s.max - len(m.data))
		if err != nil {
			return message{}, err
		}
		if len(line) == 0 {
			m.data = bytes.TrimSuffix(m.data, []byte("\n"))
			return m, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			m.id = string(value)
		case "event":
			m.event = string(value)
		case "data":
			m.data = append(append(m.data, value...), '\n')
		}
	}
}

// readLine returns the next line without its end. It is valid until the next call.
func (s *reader) readLine(limit int) ([]byte, error) {
	s.line = s.line[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		s.line = append(s.line, part...)
		switch {
		case len(s.line) > limit:
			return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, s.max)
		case errors.Is(err, bufio.ErrBufferFull):
			s.alive()
			continue
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		s.alive()
		return bytes.TrimSuffix(bytes.TrimSuffix(s.line, []byte("\n")), []byte("\r")), nil
	}
}
