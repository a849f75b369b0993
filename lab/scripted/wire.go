package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

type object = map[string]any

// wire is the writing side: one JSON object a line, whole lines only.
type wire struct {
	mu   sync.Mutex
	w    io.Writer
	now  func() time.Time
	shut atomic.Bool // nothing is written any more
	// version is the member jsonrpc of every message; empty leaves it out, and notifications
	// then carry the time, as Codex does it.
	version string
	// pad is put into the next response, to make it huge.
	pad int
}

// line writes text as it stands.
func (w *wire) line(text []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut.Load() {
		return
	}
	if _, err := w.w.Write(append(text, '\n')); err != nil {
		w.shut.Store(true) // the reader left; what comes of it is seen at the end of our input
	}
}

// close ends the output without ending the process.
func (w *wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut.Store(true)
	if c, ok := w.w.(io.Closer); ok {
		_ = c.Close() // closed twice at worst
	}
}

func (w *wire) send(v any) { w.line(encode(v)) }

func (w *wire) notify(method string, params any) {
	var at int64
	if w.version == "" {
		at = w.now().UnixMilli()
	}
	w.send(struct {
		Version   string `json:"jsonrpc,omitempty"`
		Method    string `json:"method"`
		Params    any    `json:"params"`
		EmittedAt int64  `json:"emittedAtMs,omitempty"`
	}{w.version, method, params, at})
}

func (w *wire) request(id int, method string, params any) {
	w.send(struct {
		Version string `json:"jsonrpc,omitempty"`
		Method  string `json:"method"`
		ID      int    `json:"id"`
		Params  any    `json:"params"`
	}{w.version, method, id, params})
}

func (w *wire) result(id json.RawMessage, result any) {
	w.mu.Lock()
	pad := w.pad
	w.pad = 0
	w.mu.Unlock()
	if o, ok := result.(object); ok && pad > 0 {
		o["padding"] = string(bytes.Repeat([]byte("x"), pad))
	}
	w.send(struct {
		Version string          `json:"jsonrpc,omitempty"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{w.version, id, result})
}

func (w *wire) fail(id json.RawMessage, e *RPCError) {
	w.send(struct {
		Version string          `json:"jsonrpc,omitempty"`
		Error   *RPCError       `json:"error"`
		ID      json.RawMessage `json:"id"`
	}{w.version, e, id})
}

// encode writes JSON without the HTML escapes that the real harness does not use either.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // only a script's raw JSON could do this, and Parse has read it
		return []byte(`{"method":"warning","params":{"message":"unencodable script value"}}`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// inbound is a line of the client.
type inbound struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

var errNoMessage = errors.New("data did not match any variant of untagged enum JSONRPCMessage")

// decodeLine reads a line; what is neither request, notification nor response is an error
// that the real harness writes to standard error and answers with nothing.
func decodeLine(line []byte) (inbound, error) {
	var m inbound
	if err := json.Unmarshal(line, &m); err != nil {
		return inbound{}, errNoMessage
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	if m.Method == nil && (m.ID == nil || (m.Result == nil && m.Error == nil)) {
		return inbound{}, errNoMessage
	}
	return m, nil
}

// invalid is the error the real harness gives to a request it cannot read.
func invalid(format string, args ...any) *RPCError {
	return &RPCError{Code: -32600, Message: "Invalid request: " + fmt.Sprintf(format, args...)}
}

// refused is the error for a request that can be read and not be done.
func refused(format string, args ...any) *RPCError {
	return &RPCError{Code: -32600, Message: fmt.Sprintf(format, args...)}
}
