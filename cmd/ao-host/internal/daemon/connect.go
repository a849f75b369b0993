package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/host"
)

// ErrNotRunning says that a folder has no daemon that answers.
var ErrNotRunning = errors.New("no daemon runs")

// askTimeout bounds the question who a daemon is.
const askTimeout = 10 * time.Second

// Running connects to the daemon of a data folder; one that ends or begins is waited
// for, then and later. The error is [ErrNotRunning] where there is none, and
// version_mismatch where it is of another version than this program.
func Running(ctx context.Context, dir string) (*client.Client, Info, error) {
	f, found, err := findFolder(dir)
	if err != nil {
		return nil, Info{}, err
	}
	if !found {
		return nil, Info{}, ErrNotRunning
	}
	info, err := f.awaitDaemon(ctx, 0)
	if err != nil {
		return nil, info, err
	}
	c, err := f.lasting(nil)
	return c, info, err
}

func (f folder) connect(ctx context.Context) (*client.Client, Info, error) {
	c, info, err := f.ask(ctx)
	if err != nil {
		return nil, info, err
	}
	if err := f.checkVersion(info); err != nil {
		return nil, info, errors.Join(err, c.Close(ctx))
	}
	return c, info, nil
}

func (f folder) checkVersion(info Info) error {
	if info.Version == host.Version() {
		return nil
	}
	return &host.Error{Code: host.CodeVersionMismatch, Detail: fmt.Sprintf("The daemon of %s has version %s, this program %s.", f.dir, info.Version, host.Version())}
}

// ask asks the daemon who it is, and returns the client that did. The error is
// [ErrNotRunning] when nobody answers at the socket.
func (f folder) ask(ctx context.Context) (*client.Client, Info, error) {
	socket := f.socketPath()
	if err := f.checkPlace(); errors.Is(err, fs.ErrNotExist) {
		return nil, Info{}, ErrNotRunning
	} else if err != nil {
		return nil, Info{}, err
	}
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c := client.Unix(socket, client.Options{})
	v, err := c.Version(limited)
	if err == nil {
		info, _ := f.holder()
		info.Version, info.Socket = v.Version, socket
		return c, info, nil
	}
	_ = c.Close(ctx)
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = f.busyError()
	case errors.Is(err, fs.ErrPermission):
		err = socketError(socket, err)
	case host.CodeOf(err) == host.CodeUnreachable:
		// Nobody listens, or it closed the connection because it ends.
		err = ErrNotRunning
	}
	return nil, Info{}, err
}
