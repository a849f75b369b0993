package host

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	"github.com/aoagents/ao-host/host/internal/peer"
	"github.com/aoagents/ao-host/host/internal/process"
)

// origin is who is at the other end of a connection.
type origin struct {
	uid, pid int
	// unknown is why the user is not known, lost why it is not known where the
	// process comes from.
	unknown, lost error
	from          process.Origin
}

type originKey struct{}

// ConnContext notes for every connection over a unix socket which process is at its
// other end; set it as the ConnContext of the http.Server that serves
// [Host.Handler]. Then another user is refused (foreign_user), and so is every
// change that is asked for by a process that descends from a harness, which must
// not approve what it asks itself (agent_origin); it may read. Without it, and over
// TCP, that is not known: there only a token keeps agents out, see [RequireToken].
//
// What is known: the process and its ancestors, and the sessions of harnesses. A
// process that detaches itself from both escapes, unless Config.Dedicated is set on
// Linux.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if _, unix := c.LocalAddr().(*net.UnixAddr); !unix {
		return ctx
	}
	return context.WithValue(ctx, originKey{}, lookUp(c))
}

// lookUp asks at once, while whoever connected is still there; it never becomes the
// descendant of another process later.
func lookUp(c net.Conn) *origin {
	p, err := peer.Of(c)
	if err != nil {
		return &origin{unknown: err}
	}
	defer p.Close()
	o := &origin{uid: p.UID, pid: p.PID}
	if o.from, o.lost = process.OriginOf(p.PID); o.lost == nil && !p.Alive() {
		// What was looked up may be about another process with that number.
		o.lost = errPeerEnded
	}
	return o
}

var errPeerEnded = errors.New("it has ended")

// refusedOrigin says why a request must not be carried out, nil if it may be.
func (s *server) refusedOrigin(r *http.Request) *Error {
	o, _ := r.Context().Value(originKey{}).(*origin)
	switch {
	case o == nil:
		return nil
	case o.unknown != nil:
		return fail(CodeForeignUser, "Which user asks cannot be told: %v.", o.unknown)
	case o.uid != os.Geteuid():
		return fail(CodeForeignUser, "It is the user with the number %d.", o.uid)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return nil
	case o.lost != nil:
		return fail(CodeAgentOrigin, "Process %d asks, and where it comes from cannot be told: %v.", o.pid, o.lost)
	case o.from.Child, o.from.Own && s.h.cfg.Dedicated:
		return fail(CodeAgentOrigin, "It is process %d.", o.pid)
	}
	return nil
}
