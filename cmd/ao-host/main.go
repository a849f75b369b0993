// The ao-host command: conversations with coding agents from a terminal, and
// the tools of a binding's author. See internal/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/cli"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

func main() {
	os.Exit(run())
}

func run() int {
	self, err := os.Executable()
	if err != nil {
		// Only the demo starts this program again; it will say what is missing.
		self = os.Args[0]
	}
	app := &cli.App{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Env: os.Getenv, Environ: os.Environ(), Open: open, Connect: connect([]string{self}), Self: []string{self}, Signals: signals,
	}
	return app.Run(context.Background())
}

func open(ctx context.Context, cfg host.Config) (core.Core, error) {
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// connect reaches daemons; self is the command that starts this program again.
func connect(self []string) func(ctx context.Context, dir string, start bool) (core.Core, error) {
	return func(ctx context.Context, dir string, start bool) (core.Core, error) {
		var c *client.Client
		var err error
		if start {
			c, _, err = daemon.Start(ctx, dir, daemon.Program{Argv: self})
		} else {
			c, _, err = daemon.Running(ctx, dir)
		}
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}

// signals delivers Ctrl-C apart from the signals that ask the program to end.
// After stop, a signal ends the program at once, as usual: a person who waits
// for an orderly end can still leave.
func signals() (interrupt, terminate <-chan struct{}, stop func()) {
	raw := make(chan os.Signal, 4)
	ints, terms := make(chan struct{}, 4), make(chan struct{}, 4)
	done, gone := make(chan struct{}), make(chan struct{})
	signal.Notify(raw, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		defer close(gone)
		for {
			select {
			case s := <-raw:
				to := ints
				if s != os.Interrupt {
					to = terms
				}
				select {
				case to <- struct{}{}:
				default:
				}
			case <-done:
				return
			}
		}
	}()
	return ints, terms, func() {
		signal.Stop(raw)
		close(done)
		<-gone
	}
}
