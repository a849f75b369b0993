package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// HeaderLastEventID is sent by a reader of server-sent events that connects
// again; it counts as the parameter "after" does.
const HeaderLastEventID = "Last-Event-ID"

// EndOfStream is the type of the server-sent event that ends a stream in an
// orderly way. Its data is an [EndEvent].
const EndOfStream = "end"

// EndEvent tells why a stream ends and where to go on.
type EndEvent struct {
	// Code is host_closed, conversation_deleted, or resync when the journal does not go
	// back as far any more.
	Code Code `json:"code"`
	// After is the number of the last event that was written.
	After uint64 `json:"after"`
}

// streamPage is how many events are read at once: the most that one subscriber
// keeps in memory.
const streamPage = 100

// startAfter reads the number that a stream begins after: the larger of the
// parameter and the header, because a reader that connects again repeats the
// address it began with.
func startAfter(r *http.Request) (uint64, error) {
	var after uint64
	query := r.URL.Query()
	for name, values := range query {
		if name != "after" || len(values) != 1 {
			return 0, failField(CodeInvalidArgument, name, "The parameter %q is not known, or given more than once.", name)
		}
	}
	for name, value := range map[string]string{"after": query.Get("after"), HeaderLastEventID: r.Header.Get(HeaderLastEventID)} {
		if value == "" {
			continue
		}
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return 0, failField(CodeInvalidArgument, name, "%s is not the number of an event.", quoted(value))
		}
		after = max(after, n)
	}
	return after, nil
}

// serveEvents streams the journal as server-sent events: the id is the event's
// number, the event its type, the data an [Event]. Each event has its own time
// limit on being written, so a subscriber that does not read is dropped; the
// number of the last event it received is where it goes on. Nobody waits for it:
// events are read from the store at each subscriber's own pace.
func serveEvents(s *server, _ *Route, w http.ResponseWriter, r *http.Request) error {
	after, err := startAfter(r)
	if err != nil {
		return err
	}
	ctx, conv := r.Context(), r.PathValue("conversation")
	t, err := s.h.follow(ctx, conv, after)
	if err != nil {
		return err
	}
	out := newEventWriter(s, w)
	out.comment("open")
	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	for out.err == nil {
		last, wait := s.h.feed.newer(t, after)
		page, err := s.h.store.Events(ctx, conv, after, streamPage)
		if err != nil {
			switch {
			case s.h.feed.over():
				out.end(EndEvent{Code: CodeClosed, After: after})
			case ctx.Err() == nil:
				// The status is sent; only breaking off tells the client.
				s.h.logger(conv).Error("an event stream broke off", "after", after, "error", err)
				panic(http.ErrAbortHandler)
			}
			return nil
		}
		if lost := s.h.feed.lost(t, after); lost != nil {
			out.end(EndEvent{Code: lost.Code, After: after})
			return nil
		}
		for _, e := range page {
			out.event(e.Seq, eventView(e))
			if out.err != nil {
				break
			}
			after = e.Seq
		}
		switch {
		case len(page) > 0:
			out.flush()
			continue
		case last > after:
			after = last
			continue
		case wait == nil:
			out.end(EndEvent{Code: CodeClosed, After: after})
			return nil
		}
		select {
		case <-wait:
		case <-beat.C:
			out.comment("still here")
		case <-ctx.Done():
			return nil
		}
	}
	if ctx.Err() == nil && !isGone(out.err) {
		s.h.countSubscriber()
		s.h.logger(conv).Debug("a subscriber was dropped", "after", after, "error", out.err)
	}
	// What is left in the buffer must not follow a broken write.
	panic(http.ErrAbortHandler)
}

// eventWriter writes server-sent events. The first error sticks.
type eventWriter struct {
	s   *server
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
	enc *json.Encoder
	err error
}

func newEventWriter(s *server, w http.ResponseWriter) *eventWriter {
	out := &eventWriter{s: s, w: w, rc: http.NewResponseController(w)}
	out.enc = json.NewEncoder(&out.buf)
	out.enc.SetEscapeHTML(false)
	head := w.Header()
	head.Set("Content-Type", MediaEvents)
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	// A proxy between must not gather events.
	head.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return out
}

func (o *eventWriter) event(seq uint64, ev Event) {
	o.buf.Reset()
	fmt.Fprintf(&o.buf, "id: %d\nevent: %s\ndata: ", seq, ev.Type)
	// The encoder compacts the body: no line break is left inside, and it ends
	// the line itself.
	if err := o.enc.Encode(ev); err != nil {
		o.fail(err)
		return
	}
	o.buf.WriteByte('\n')
	o.write()
}

func (o *eventWriter) end(e EndEvent) {
	o.buf.Reset()
	o.buf.WriteString("event: " + EndOfStream + "\ndata: ")
	if err := o.enc.Encode(e); err != nil {
		o.fail(err)
		return
	}
	o.buf.WriteByte('\n')
	o.write()
	o.flush()
	o.deadline(time.Time{})
}

// comment writes a line that readers ignore, at once.
func (o *eventWriter) comment(text string) {
	o.buf.Reset()
	o.buf.WriteString(": " + text + "\n\n")
	o.write()
	o.flush()
}

func (o *eventWriter) write() {
	if o.err != nil {
		return
	}
	o.deadline(time.Now().Add(o.s.writeTimeout))
	_, err := o.w.Write(o.buf.Bytes())
	o.fail(err)
}

func (o *eventWriter) flush() {
	if o.err == nil {
		o.fail(o.rc.Flush())
	}
}

func (o *eventWriter) deadline(t time.Time) {
	if err := o.rc.SetWriteDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) {
		o.fail(err)
	}
}

func (o *eventWriter) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// serveExport writes the journal as JSON lines. When it breaks off, so does the
// connection: half of a journal must not look like all of it.
func serveExport(s *server, _ *Route, w http.ResponseWriter, r *http.Request) error {
	for name := range r.URL.Query() {
		return failField(CodeInvalidArgument, name, "The parameter %q is not known.", name)
	}
	out := &lineWriter{s: s, w: w, rc: http.NewResponseController(w)}
	err := s.h.Export(r.Context(), r.PathValue("conversation"), out)
	if err == nil {
		return out.finish()
	}
	if out.started {
		s.h.logger(r.PathValue("conversation")).Debug("an export broke off", "error", err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// lineWriter sends the headers with the first line, so that an error before it
// can still be told.
type lineWriter struct {
	s       *server
	w       http.ResponseWriter
	rc      *http.ResponseController
	started bool
}

func (l *lineWriter) start() {
	if l.started {
		return
	}
	l.started = true
	head := l.w.Header()
	head.Set("Content-Type", MediaLines)
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	l.w.WriteHeader(http.StatusOK)
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.start()
	_ = l.rc.SetWriteDeadline(time.Now().Add(l.s.writeTimeout))
	return l.w.Write(b)
}

func (l *lineWriter) finish() error {
	l.start()
	if err := l.rc.Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = l.rc.SetWriteDeadline(time.Time{})
	return nil
}
