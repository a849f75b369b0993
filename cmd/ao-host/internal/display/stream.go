package display

import (
	"strings"
	"unicode/utf8"
)

// Stream makes a text that arrives in pieces readable. However the text is cut
// into pieces, the result is the same; a control sequence or a character may
// be cut in two. The zero value is ready.
type Stream struct {
	state state
	// partial is the beginning of a character whose other bytes are to come.
	partial []byte
	// last is the last rune that was shown, 0 at the beginning.
	last rune
	// joining is set when a joiner after an emoji waits for what it joins.
	joining bool
	// skipLF is set after a carriage return, which is shown as a line break.
	skipLF bool
	out    strings.Builder
}

type state uint8

const (
	ground state = iota
	// escaped: after ESC.
	escaped
	// intermediate: after ESC and an intermediate byte.
	intermediate
	// sequence: inside a control sequence (CSI), until its final byte.
	sequence
	// command: inside a string command (OSC, DCS, SOS, PM, APC).
	command
	// commandEscaped: after ESC inside a string command.
	commandEscaped
)

// Write takes the next piece and returns what can be shown of it.
func (s *Stream) Write(piece string) string {
	if len(s.partial) > 0 {
		piece = string(s.partial) + piece
		s.partial = s.partial[:0]
	}
	for len(piece) > 0 {
		if !utf8.FullRuneInString(piece) {
			s.partial = append(s.partial, piece...)
			break
		}
		r, n := utf8.DecodeRuneInString(piece)
		piece = piece[n:]
		s.step(r)
	}
	return s.take()
}

// Flush ends the text and returns what was still waiting. The stream can be
// used again for another text.
func (s *Stream) Flush() string {
	for range s.partial {
		s.step(utf8.RuneError)
	}
	s.release()
	out := s.take()
	*s = Stream{partial: s.partial[:0]}
	return out
}

func (s *Stream) take() string {
	out := s.out.String()
	s.out.Reset()
	return out
}

// step follows ECMA-48: what a terminal would take for a control function is
// dropped whole, and what breaks one off ends it.
func (s *Stream) step(r rune) {
	switch s.state {
	case escaped:
		switch {
		case r == '[':
			s.state = sequence
		case strings.ContainsRune("]PX^_", r):
			s.state = command
		case r >= 0x20 && r <= 0x2f:
			s.state = intermediate
		case r >= 0x30 && r <= 0x7e:
			s.state = ground
		default:
			s.ground(r)
		}
	case intermediate:
		switch {
		case r >= 0x20 && r <= 0x2f:
		case r >= 0x30 && r <= 0x7e:
			s.state = ground
		default:
			s.ground(r)
		}
	case sequence:
		switch {
		case r >= 0x20 && r <= 0x3f:
		case r >= 0x40 && r <= 0x7e:
			s.state = ground
		default:
			s.ground(r)
		}
	case command:
		switch r {
		case 0x07, 0x9c:
			s.state = ground
		case 0x1b:
			s.state = commandEscaped
		case '\n', '\r':
			// A string command that never ends must not swallow the rest of what
			// the agent says.
			s.ground(r)
		}
	case commandEscaped:
		if r == '\\' {
			s.state = ground
			return
		}
		s.state = escaped
		s.step(r)
	default:
		s.ground(r)
	}
}

func (s *Stream) ground(r rune) {
	s.state = ground
	skip := s.skipLF
	s.skipLF = false
	switch {
	case r == '\n' && skip:
	case r == '\n', r == '\t':
		s.show(r)
	case r == '\r':
		// Returning to the start of the line would write over what was shown.
		s.skipLF = true
		s.show('\n')
	case r == 0x1b:
		s.state = escaped
	case r == 0x9b:
		s.state = sequence
	case r == 0x90, r == 0x98, r == 0x9d, r == 0x9e, r == 0x9f:
		s.state = command
	case control(r):
	case r == joiner && !s.joining && (pictograph(s.last) || s.last == emojiSelector):
		s.joining = true
	case r == emojiSelector && pictograph(s.last) && !s.joining:
		s.out.WriteRune(r)
		s.last = r
	case invisible(r):
		s.release()
		s.out.WriteString(escape(r))
		s.last = '>'
	default:
		s.show(r)
	}
}

func (s *Stream) show(r rune) {
	if s.joining && pictograph(r) {
		s.joining = false
		s.out.WriteRune(joiner)
	}
	s.release()
	s.out.WriteRune(r)
	s.last = r
}

// release shows a joiner that joins nothing.
func (s *Stream) release() {
	if s.joining {
		s.joining = false
		s.out.WriteString(escape(joiner))
		s.last = '>'
	}
}
