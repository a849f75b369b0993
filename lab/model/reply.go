package model

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// reply writes one answer in one of the protocols, as a stream or as one object.
type reply interface {
	text(id string, pieces []string)
	reasoning(id, text string)
	call(id string, c *ToolCall)
	custom(id, name, input string)
	item(raw json.RawMessage)
	fail(f Failure)
	flush()
	end()
}

// output is the writing side: server-sent events when live, else one object at the end.
type output struct {
	w       http.ResponseWriter
	live    bool
	started bool
}

// event sends one server-sent event; an empty name sends data only. It does nothing when the answer is one object.
func (o *output) event(name string, data any) {
	if !o.live {
		return
	}
	o.start()
	encoded, err := json.Marshal(data)
	if err != nil { // a script's raw item was checked by Parse only as far as JSON goes
		encoded = []byte(`null`)
	}
	if name != "" {
		_, _ = fmt.Fprintf(o.w, "event: %s\n", name) // write errors: the client left, the request context ends with it
	}
	_, _ = fmt.Fprintf(o.w, "data: %s\n\n", encoded)
	o.flush()
}

// done sends the line chat completions end with.
func (o *output) done() {
	if o.live {
		o.start()
		_, _ = fmt.Fprint(o.w, "data: [DONE]\n\n")
		o.flush()
	}
}

// object sends the whole answer when it is not a stream.
func (o *output) object(status int, v any) {
	if !o.live {
		writeJSON(o.w, status, v)
	}
}

func (o *output) start() {
	if !o.started {
		o.started = true
		o.w.Header().Set("Content-Type", "text/event-stream")
		o.w.Header().Set("Cache-Control", "no-cache")
		o.w.WriteHeader(http.StatusOK)
	}
}

func (o *output) flush() {
	if !o.live {
		return
	}
	o.start()
	_ = http.NewResponseController(o.w).Flush() // see event
}
