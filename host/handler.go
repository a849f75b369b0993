package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// server is the HTTP API of a host.
type server struct {
	h    *Host
	keys keyLocks
	// heartbeat is how often an event stream without events says that it lives.
	heartbeat time.Duration
	// writeTimeout bounds the writing of one event or answer to a stalled client.
	writeTimeout time.Duration
	// bodyTimeout bounds the reading of a request's body.
	bodyTimeout time.Duration
}

const (
	defaultHeartbeat    = 15 * time.Second
	defaultWriteTimeout = 15 * time.Second
	defaultBodyTimeout  = 30 * time.Second
)

// Handler serves the host as JSON over HTTP: every method under /v1, and the
// journal as a stream of server-sent events. [Routes] lists what there is, and
// GET /v1/openapi.json describes it. Errors are RFC 9457 problems, see [Problem].
//
// It takes requests over a unix socket, and over TCP on a loopback address under
// a loopback name only, so that neither a web page that has a name resolve to
// this machine nor another machine gets through; requests of other origins are
// refused, and there are no CORS headers. It knows no users: whoever can connect
// may do everything, so put it on a socket with mode 0600 in a server that uses
// [ConnContext], or behind a token, see [RequireToken].
//
// It works below any prefix with http.StripPrefix. A wrapper around the
// http.ResponseWriter must offer Unwrap, as http.ResponseController asks, or
// stalled clients cannot be dropped. An http.Server must not set a WriteTimeout:
// it would end event streams; the handler bounds each write itself.
func (h *Host) Handler() http.Handler {
	s := &server{
		h: h, keys: keyLocks{held: map[string]chan struct{}{}},
		heartbeat: defaultHeartbeat, writeTimeout: defaultWriteTimeout, bodyTimeout: defaultBodyTimeout,
	}
	return s.handler()
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	allowed := map[string][]string{}
	for _, rt := range Routes() {
		mux.HandleFunc(rt.Method+" "+rt.Path, func(w http.ResponseWriter, r *http.Request) {
			// Nobody waits for the answer to a request that was given up.
			if err := rt.serve(s, &rt, w, r); err != nil && !isGone(err) {
				s.writeProblem(w, err)
			}
		})
		allowed[rt.Path] = append(allowed[rt.Path], rt.Method)
		if rt.Method == http.MethodGet {
			allowed[rt.Path] = append(allowed[rt.Path], http.MethodHead)
		}
	}
	for path, methods := range allowed {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			s.writeProblem(w, fail(CodeMethodNotAllowed, "%s is not among %s.", r.Method, strings.Join(methods, ", ")))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.writeProblem(w, failField(CodeUnknownRoute, "path", "There is nothing at %q.", r.URL.Path))
	})
	return s.guard(mux)
}

// Guard lets only those requests through to next that [Host.Handler] would take: of
// a program on this machine, of this user and, if they change something, not of an
// agent, see [ConnContext]. Put it before routes of your own that do something with
// the host: what an agent must not ask of the API it must not ask of them.
func (h *Host) Guard(next http.Handler) http.Handler {
	return (&server{h: h, writeTimeout: defaultWriteTimeout}).guard(next)
}

func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := foreign(r); why != "" {
			s.writeProblem(w, fail(CodeForeignRequest, "%s", why))
			return
		}
		if err := s.refusedOrigin(r); err != nil {
			s.writeProblem(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// foreign says why a request is not one of a program on this machine, or "". A
// web page can send requests to loopback addresses, also under a name of its own
// that it lets resolve to one (DNS rebinding); then the Host header names it.
func foreign(r *http.Request) string {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || local.Network() != "unix" {
		if tcp, ok := local.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
			return "It arrived at the address " + tcp.String() + "."
		}
		if !isLoopback(r.Host) {
			return "The Host header is " + quoted(r.Host) + "."
		}
	}
	if origin, ok := r.Header["Origin"]; ok {
		u, err := url.Parse(strings.Join(origin, ","))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host != r.Host || !isLoopback(u.Host) {
			return "The Origin header is " + quoted(strings.Join(origin, ",")) + "."
		}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
		return ""
	default:
		return "The Sec-Fetch-Site header is " + quoted(site) + "."
	}
}

// isLoopback reports whether a host, with or without a port, is this machine
// whatever a name server says.
func isLoopback(hostport string) bool {
	name := hostport
	if n, _, err := net.SplitHostPort(hostport); err == nil {
		name = n
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// quoted shows a value that a stranger chose, bounded.
func quoted(s string) string {
	if len(s) > 200 {
		s = s[:200]
	}
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}

// write answers a request. A client that does not read is dropped after the
// write timeout.
func (s *server) write(w http.ResponseWriter, status int, media string, body []byte) {
	head := w.Header()
	head.Set("Content-Type", media)
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(s.writeTimeout))
	w.WriteHeader(status)
	if _, err := w.Write(body); err == nil && rc.Flush() == nil {
		// The connection may be used again by another handler.
		_ = rc.SetWriteDeadline(time.Time{})
	}
}

func (s *server) writeJSON(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Only a stored value that is no JSON can fail here.
		return fail(CodeStoreCorrupt, "The answer could not be encoded: %v.", err)
	}
	s.write(w, status, "application/json", b.Bytes())
	return nil
}

// apiCall is one request of an ordinary route.
type apiCall struct {
	*http.Request
	h   *Host
	key string
	// record keeps the key, nil without one; only what outlasts its own answer needs it.
	record record
}

// serveJSON is how a route with a JSON answer runs: the body is read and checked,
// the key taken, the method called.
func serveJSON[B, R any](do func(ctx context.Context, c *apiCall, body *B) (R, error), again func(ctx context.Context, c *apiCall) (R, error)) func(*server, *Route, http.ResponseWriter, *http.Request) error {
	return func(s *server, rt *Route, w http.ResponseWriter, r *http.Request) error {
		for name := range r.URL.Query() {
			return failField(CodeInvalidArgument, name, "The parameter %q is not known.", name)
		}
		var body B
		if rt.Method != http.MethodGet {
			if err := s.readBody(w, r, rt.limit(s.h), rt.Required, &body); err != nil {
				return err
			}
		}
		ctx := r.Context()
		c := &apiCall{Request: r, h: s.h}
		if rt.Key != KeyNone {
			// A mutation that was read is carried out although the client has gone:
			// it asks again with the same key and finds what became of it.
			ctx = context.WithoutCancel(ctx)
			var err error
			if c.key, err = idempotencyKey(r); err != nil {
				return err
			}
		}
		if k, ok := any(&body).(keyed); ok {
			id := k.clientKey()
			if err := useKey(id, c.key); err != nil {
				return err
			}
			if *id != "" {
				// Of two at once the second finds what the first has made.
				unlock, err := s.keys.lock(ctx, "id "+r.PathValue("conversation")+" "+*id)
				if err != nil {
					return err
				}
				defer unlock()
			}
		}
		var out any
		var err error
		if rt.Key == KeyRecorded && c.key != "" {
			owner := r.PathValue("conversation")
			if rt.ends {
				// The keys of a conversation go with it, this one is asked for afterwards.
				owner = ""
			}
			out, err = s.once(ctx, c.key, owner, fingerprint(rt, r, body),
				func(put record) (any, error) { c.record = put; return do(ctx, c, &body) },
				func() (any, error) { return again(ctx, c) })
		} else {
			out, err = do(ctx, c, &body)
		}
		if err != nil {
			return err
		}
		return s.writeJSON(w, rt.Status, out)
	}
}

// keyed is a body that has the id of the request as a member.
type keyed interface{ clientKey() *string }

// useKey takes the Idempotency-Key header as the client id of the body.
func useKey(id *string, key string) error {
	switch {
	case key == "":
	case *id == "":
		*id = key
	case *id != key:
		return failField(CodeInvalidArgument, HeaderIdempotencyKey, "The key differs from the id in the body; give one of them.")
	}
	return nil
}

// isGone reports whether an error only says that the client has left.
func isGone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
