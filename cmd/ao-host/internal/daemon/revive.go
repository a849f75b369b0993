package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/host"
)

// reviving is the connection to whatever daemon a folder has. A request that a
// daemon did not answer because it had gone or was about to is sent to the next one;
// a change carries a key, so that it happens once. Where there is no next daemon one
// is started, but only for a change: who follows a conversation would bring back a
// daemon that the user has just ended.
type reviving struct {
	base   *http.Transport
	folder folder
	// program starts a daemon; nil: none is started.
	program *Program
}

// maxBroken is how many connections in a row may break under one request. A socket
// that is closed breaks those that nobody has accepted, and a client may meet that of
// several daemons which follow each other at once. More often, the request itself may
// be what ends the daemon, and each one would be started for nothing.
const maxBroken = 5

// RoundTrip sends a request, again for as long as daemons may take each other's
// place: one that ends refuses it and still says for a while who it is.
func (r *reviving) RoundTrip(req *http.Request) (*http.Response, error) {
	broken := 0
	for waited := time.Duration(0); ; waited += pollInterval {
		res, err := r.base.RoundTrip(req)
		if req.Context().Err() != nil || waited >= lockPatience {
			return res, err
		}
		switch fateOf(res, err) {
		case answered:
			return res, err
		case cutOff:
			if broken++; broken > maxBroken {
				return nil, &host.Error{Code: host.CodeUnreachable, Detail: fmt.Sprintf("The connection broke %d times: %v.", broken, err), Err: err}
			}
		case untaken:
			broken = 0
		}
		if perr := pause(req.Context(), pollInterval); perr != nil {
			closeBody(res)
			return nil, perr
		}
		if nerr := r.next(req); errors.Is(nerr, ErrNotRunning) {
			return res, err
		} else if nerr != nil {
			closeBody(res)
			return nil, nerr
		}
		closeBody(res)
		again := req.Clone(req.Context())
		if req.GetBody != nil {
			if again.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		req = again
	}
}

// next sees to it that a daemon answers.
func (r *reviving) next(req *http.Request) error {
	if r.program == nil || req.Method == http.MethodGet {
		_, err := r.folder.awaitDaemon(req.Context(), successorPatience)
		return err
	}
	_, _, err := ensure(req.Context(), r.folder.dir, *r.program)
	return err
}

// fate is what became of a request.
type fate int

const (
	// answered: what came back is for the caller, also if it is an error.
	answered fate = iota
	// untaken: it reached nobody, or a daemon that ends and says so.
	untaken
	// cutOff: a daemon may have got it and has not answered.
	cutOff
)

func fateOf(res *http.Response, err error) fate {
	if err != nil {
		var own *host.Error
		var op *net.OpError
		switch {
		case errors.As(err, &own):
			return answered
		case errors.As(err, &op) && op.Op == "dial":
			return untaken
		}
		return cutOff
	}
	if endsAndSaysSo(res) {
		return untaken
	}
	return answered
}

// endsAndSaysSo reports the answer of a daemon that ends, which takes no request.
func endsAndSaysSo(res *http.Response) bool {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode != host.StatusOf(host.CodeClosed) || media != host.MediaProblem {
		return false
	}
	// The client reads it again.
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(b), res.Body), res.Body}
	var p host.Problem
	return err == nil && json.Unmarshal(b, &p) == nil && p.Code == host.CodeClosed
}

func closeBody(res *http.Response) {
	if res != nil {
		_ = res.Body.Close()
	}
}

// CloseIdleConnections is what the client calls when it is closed.
func (r *reviving) CloseIdleConnections() { r.base.CloseIdleConnections() }

// lasting returns a client of whatever daemon the folder has. With a program it
// starts one when something is to be changed and there is none.
func (f folder) lasting(program *Program) (*client.Client, error) {
	var d net.Dialer
	socket := f.socketPath()
	return client.New("http://localhost", client.Options{Transport: &reviving{
		base: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				if err := f.checkPlace(); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return nil, err
				}
				return d.DialContext(ctx, "unix", socket)
			},
			MaxIdleConns: 4,
		},
		folder: f, program: program,
	}})
}
