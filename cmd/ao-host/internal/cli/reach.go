package cli

import (
	"context"
	"errors"
	"time"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

// closeTime bounds the orderly end of what still runs.
const closeTime = 15 * time.Second

// with does something with the host of the data folder: the daemon's where one
// runs, else one in this process, which ends with the command. It is for commands
// that read, and for those that stay until what they began has ended.
//
// A launch command given for this command alone needs a host of its own: the
// daemon starts harnesses by its own settings.
func (a *App) with(ctx context.Context, launch map[string]host.Launch, do func(core.Core) error) error {
	if a.there.named() {
		if len(launch) > 0 {
			return usagef("the host there starts harnesses by its own settings; leave --launch out")
		}
		return a.withOther(ctx, do)
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	// Between two looks another command may have the folder, or a daemon that has just
	// begun.
	c, err := daemon.WhileLocked(ctx, func() (core.Core, error) { return a.reach(ctx, dir, launch) })
	return using(ctx, c, err, do)
}

// reach finds the daemon, or opens the data folder in this process where none runs.
func (a *App) reach(ctx context.Context, dir string, launch map[string]host.Launch) (core.Core, error) {
	c, err := a.connect(ctx, dir, false)
	switch {
	case err == nil && len(launch) > 0:
		return nil, errors.Join(usagef("a daemon has the data folder open, and starts harnesses by its own settings; leave --launch out and set the command in config.json there, or end the daemon with: ao-host serve --stop"), c.Close(ctx))
	case errors.Is(err, daemon.ErrNotRunning):
		return a.open(ctx, dir, launch)
	}
	return c, err
}

// withDaemon does something with the daemon of the data folder and starts one where
// none runs. It is for commands that begin something and do not stay.
func (a *App) withDaemon(ctx context.Context, do func(core.Core) error) error {
	if a.there.named() {
		return a.withOther(ctx, do)
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	c, err := a.connect(ctx, dir, true)
	if errors.Is(err, daemon.ErrNotRunning) {
		// There are no daemons here.
		c, err = a.open(ctx, dir, nil)
	}
	return using(ctx, c, err, do)
}

// withOther does something with the host in another program that was named.
func (a *App) withOther(ctx context.Context, do func(core.Core) error) error {
	if err := a.there.check(a.data); err != nil {
		return err
	}
	c, err := a.there.dial(ctx)
	return using(ctx, c, err, do)
}

func (a *App) connect(ctx context.Context, dir string, start bool) (core.Core, error) {
	if a.Connect == nil {
		return nil, daemon.ErrNotRunning
	}
	return a.Connect(ctx, dir, start)
}

// open opens the data folder in this process.
func (a *App) open(ctx context.Context, dir string, launch map[string]host.Launch) (core.Core, error) {
	set, err := daemon.ReadSettings(dir)
	if err != nil {
		return nil, err
	}
	cfg := host.Config{Dir: dir, Launch: launch, Env: a.Environ, LeaveIdle: true}
	set.Apply(&cfg)
	a.observe(ctx, &cfg)
	return a.Open(ctx, cfg)
}

func using(ctx context.Context, c core.Core, err error, do func(core.Core) error) error {
	if err != nil {
		return err
	}
	err = do(c)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	// What happened first is what the person must know.
	if cerr := c.Close(ctx); err == nil {
		err = cerr
	}
	return err
}
