package transport

import (
	"github.com/aoagents/ao-host/abi/jsonwire"
)

const (
	// digestHead is how much of a discarded line's head is kept. It is longer than
	// a note, so that a secret that straddles the note's end is seen whole by
	// Config.Scrub before the note is cut.
	digestHead = 16 << 10
	// digestValue bounds a kept id or method.
	digestValue = 1 << 10
	digestKey   = 64
)

// digest reads a line that is too long to be carried, piece by piece and in
// constant memory, and keeps its head and the envelope members that say which
// call or request it was. Members are found wherever they stand: encoders exist
// that write the id after the payload.
type digest struct {
	head []byte
	size int

	state digestState
	// mark counts the bytes of a byte order mark read so far.
	mark     int
	depth    int
	inString bool
	escaped  bool

	key, value []byte
	id, method []byte
	// result and fail stand for the payload: absent, null or an empty object.
	result, fail string
	dec          jsonwire.Decoder
}

type digestState uint8

const (
	beforeObject digestState = iota
	beforeKey
	inKey
	beforeColon
	inValue
	afterObject
	notObject
)

// write consumes the next piece of the line.
func (g *digest) write(p []byte) {
	g.size += len(p)
	if n := digestHead - len(g.head); n > 0 {
		g.head = append(g.head, p[:min(n, len(p))]...)
	}
	for i := 0; i < len(p); i++ {
		if g.state == inValue {
			i = g.skipValue(p, i)
			continue
		}
		g.step(p[i])
		if g.state == notObject {
			return
		}
	}
}

// step handles one byte outside of values.
func (g *digest) step(c byte) {
	space := c == ' ' || c == '\t' || c == '\r'
	switch g.state {
	case beforeObject:
		switch {
		case g.mark < len(byteOrderMark) && c == byteOrderMark[g.mark]:
			g.mark++
		case c == '{':
			g.state = beforeKey
		case space:
		default:
			g.state = notObject
		}
	case beforeKey:
		switch {
		case c == '"':
			g.state, g.key = inKey, append(g.key[:0], c)
		case c == '}':
			g.state = afterObject
		case c != ',' && !space:
			g.state = notObject
		}
	case inKey:
		if len(g.key) <= digestKey {
			g.key = append(g.key, c)
		}
		switch {
		case g.escaped:
			g.escaped = false
		case c == '\\':
			g.escaped = true
		case c == '"':
			g.state = beforeColon
		}
	case beforeColon:
		switch {
		case c == ':':
			g.state, g.value, g.depth = inValue, g.value[:0], 0
		case !space:
			g.state = notObject
		}
	case afterObject:
		if !space {
			g.state = notObject
		}
	}
}

// skipValue consumes a member's value from p[i] on and returns the index of the
// last byte it took.
func (g *digest) skipValue(p []byte, i int) int {
	for ; i < len(p); i++ {
		c := p[i]
		if !g.inString && g.depth == 0 && (c == ',' || c == '}') {
			g.member()
			if g.state = beforeKey; c == '}' {
				g.state = afterObject
			}
			return i
		}
		if len(g.value) <= digestValue {
			g.value = append(g.value, c)
		}
		switch {
		case g.escaped:
			g.escaped = false
		case g.inString:
			g.escaped = c == '\\'
			g.inString = c != '"'
		case c == '"':
			g.inString = true
		case c == '{' || c == '[':
			g.depth++
		case c == '}' || c == ']':
			g.depth--
		}
	}
	return i
}

// member records a finished member if the envelope needs it.
func (g *digest) member() {
	g.dec.Reset(g.key)
	key := string(g.dec.Bytes())
	if g.dec.Err() != nil {
		return
	}
	value := tidy(g.value)
	if len(g.value) > digestValue {
		// Too long to keep. An object is no valid id and no valid method.
		value = []byte("{}")
	}
	payload := "{}"
	if string(value) == "null" {
		payload = "null"
	}
	switch key {
	case "id":
		g.id = append(g.id[:0], value...)
	case "method":
		g.method = append(g.method[:0], value...)
	case "result":
		g.result = payload
	case "error":
		g.fail = payload
	}
}

// line returns a short line with the same envelope and no payload, or nil when
// the text was not one complete object.
func (g *digest) line() []byte {
	if g.state != afterObject {
		return nil
	}
	out := []byte{'{'}
	add := func(key string, value []byte) {
		if len(value) > 0 {
			out = append(jsonwire.AppendKey(out, key), value...)
		}
	}
	add("id", g.id)
	add("method", g.method)
	add("result", []byte(g.result))
	add("error", []byte(g.fail))
	return append(out, '}')
}
