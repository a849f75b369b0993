package daemon

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"

	"github.com/aoagents/ao-host/api/client"
)

// reviving is the connection to a daemon that is started again when it has gone, as
// soon as something is to be changed. Reading does not start it: who follows a
// conversation would bring back a daemon that the user has just ended.
type reviving struct {
	base   *http.Transport
	revive func(context.Context) error
}

// RoundTrip sends a request. One that reached nobody was not sent, so it is sent
// again.
func (r *reviving) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.base.RoundTrip(req)
	var op *net.OpError
	if err == nil || !errors.As(err, &op) || op.Op != "dial" || req.Method == http.MethodGet || req.Context().Err() != nil {
		return res, err
	}
	if rerr := r.revive(req.Context()); rerr != nil {
		return nil, rerr
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return r.base.RoundTrip(again)
}

// CloseIdleConnections is what the client calls when it is closed.
func (r *reviving) CloseIdleConnections() { r.base.CloseIdleConnections() }

// lasting returns a client of the folder's daemon that starts it again when needed.
func (f folder) lasting(program Program) (*client.Client, error) {
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
		revive: func(ctx context.Context) error {
			_, _, err := ensure(ctx, f.dir, program)
			return err
		},
	}})
}
