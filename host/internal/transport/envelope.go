package transport

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

// envelope reads the outer members of a message and leaves the payload alone:
// its syntax is checked, nothing of it is decoded.
type envelope struct {
	dec     jsonwire.Decoder
	methods map[string]string
	valid   []byte
}

const (
	maxInterned   = 512
	maxInternedIn = 128
)

// method returns b as a string without allocating one per frame: a session sees
// the same few dozen methods over and over.
func (e *envelope) method(b []byte) string {
	if m, ok := e.methods[string(b)]; ok {
		return m
	}
	m := string(b)
	if len(m) <= maxInternedIn && len(e.methods) < maxInterned {
		if e.methods == nil {
			e.methods = make(map[string]string)
		}
		e.methods[m] = m
	}
	return m
}

// members are the envelope's members as they stand; nil when absent. Where a
// member comes twice, the last one counts, as in every common JSON decoder.
type members struct {
	id, params, result, fail []byte
	method                   string
	// methodKind is Invalid when there is no method.
	methodKind jsonwire.Kind
}

// read classifies one line of valid UTF-8 without surrounding white space into
// f. It returns jsonwire.ErrDepth, and leaves f alone, when the line nests too
// deep to be carried.
func (e *envelope) read(line []byte, f *Frame) error {
	d := &e.dec
	d.Reset(line)
	switch d.Kind() {
	case jsonwire.Object:
	case jsonwire.Array:
		f.junk("a JSON array: batches are not part of these protocols", line)
		return nil
	case jsonwire.Invalid:
		f.junk("not JSON", line)
		return nil
	default:
		f.junk("not a JSON object", line)
		return nil
	}
	var m members
	d.BeginObject()
	for {
		key, ok := d.NextKey()
		if !ok {
			break
		}
		switch string(key) {
		case "id":
			m.id = d.Raw()
		case "method":
			if m.methodKind = d.Kind(); m.methodKind == jsonwire.String {
				m.method = e.method(d.Bytes())
			} else {
				d.Skip()
			}
		case "params":
			m.params = d.Raw()
		case "result":
			m.result = d.Raw()
		case "error":
			m.fail = d.Raw()
		default:
			d.Skip()
		}
	}
	if d.End(); d.Err() != nil {
		if errors.Is(d.Err(), jsonwire.ErrDepth) {
			return jsonwire.ErrDepth
		}
		f.junk("not one valid JSON object", line)
		return nil
	}
	m.classify(f, line)
	return nil
}

// classify decides what the members make. An explicit null counts as absent
// where a careless encoder writes its empty fields: "method":null in an answer,
// "error":null beside a result.
func (m *members) classify(f *Frame, line []byte) {
	answer := m.result != nil || m.fail != nil
	isNull := func(b []byte) bool { return b == nil || string(b) == "null" }
	if m.methodKind != jsonwire.Invalid && m.methodKind != jsonwire.Null {
		switch {
		case m.methodKind != jsonwire.String:
			f.junk("the method is not a string", line)
		case !isNull(m.result) || !isNull(m.fail):
			f.junk("a method together with a result or an error", line)
		case isNull(m.id):
			f.Kind, f.Method, f.Payload = Notification, m.method, bytes.Clone(m.params)
		case !usableID(m.id):
			f.junk("the id is neither a string nor a number", line)
		default:
			f.Kind, f.Method, f.Payload = Request, m.method, bytes.Clone(m.params)
			f.ID = bytes.Clone(m.id)
		}
		return
	}
	switch {
	case !answer && m.id == nil:
		f.junk("neither a method nor an id", line)
	case isNull(m.id) && m.fail != nil:
		f.junk("an error that belongs to no call", line)
		f.Payload = bytes.Clone(m.fail)
	case isNull(m.id):
		f.junk("an answer that belongs to no call", line)
	case !usableID(m.id):
		f.junk("the id is neither a string nor a number", line)
	case !isNull(m.result) && !isNull(m.fail):
		f.junk("an answer with both a result and an error", line)
		f.ID = bytes.Clone(m.id)
	case m.result == nil && isNull(m.fail):
		f.junk("an answer with neither a result nor an error", line)
		f.ID = bytes.Clone(m.id)
	case !isNull(m.fail):
		f.Kind, f.ID, f.Payload = Error, bytes.Clone(m.id), bytes.Clone(m.fail)
	default:
		f.Kind, f.ID, f.Payload = Result, bytes.Clone(m.id), bytes.Clone(m.result)
	}
}

// usableID accepts what JSON-RPC allows besides null: strings and numbers.
func usableID(id []byte) bool {
	c := id[0]
	return c == '"' || c == '-' || c >= '0' && c <= '9'
}

// junk makes f a junk frame that says why and quotes the head of the text.
func (f *Frame) junk(reason string, text []byte) {
	f.Kind, f.Note = Junk, note(reason, text)
}

// note joins a reason and the head of a text, cut between characters. The text
// is valid UTF-8.
func note(reason string, text []byte) string {
	if len(text) > NoteHead {
		n := NoteHead
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	return reason + ": " + string(text)
}

var byteOrderMark = []byte("\uFEFF")

// tidy strips the byte order mark, the carriage return and the white space
// around a line.
func tidy(line []byte) []byte {
	line = bytes.TrimRight(line, " \t\r")
	return bytes.TrimLeft(bytes.TrimPrefix(line, byteOrderMark), " \t\r")
}

// utf8Only returns line with every byte that is not part of valid UTF-8 replaced
// by U+FFFD, as JSON decoders do, so that what is stored and handed on is text.
// The result is valid until the next call.
func (e *envelope) utf8Only(line []byte) []byte {
	if utf8.Valid(line) {
		return line
	}
	out := e.valid[:0]
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		out = utf8.AppendRune(out, r)
		i += n
	}
	if cap(out) <= keepBuffer {
		e.valid = out
	}
	return out
}
