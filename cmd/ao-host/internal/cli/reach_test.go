package cli_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/cli"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

// A command gets the host that its kind is for: readers and those that stay take
// the daemon if there is one, those that begin something start it.
func TestACommandReachesTheDaemonThatRunsOrTheOneItNeeds(t *testing.T) {
	here, there := coretest.New(), coretest.New()
	launch := map[string]host.Launch{"echo": {Argv: []string{"echo"}}}
	broken := &host.Error{Code: host.CodeVersionMismatch}
	for _, c := range []struct {
		name    string
		running bool
		fails   error
		reach   func(a *cli.App, do func(core.Core) error) error
		want    core.Core
		usage   bool
	}{
		{name: "a reader without a daemon", reach: func(a *cli.App, do func(core.Core) error) error { return a.With(t.Context(), nil, do) }, want: here},
		{name: "a reader with a daemon", running: true, reach: func(a *cli.App, do func(core.Core) error) error { return a.With(t.Context(), nil, do) }, want: there},
		{name: "a command of its own without a daemon", reach: func(a *cli.App, do func(core.Core) error) error { return a.With(t.Context(), launch, do) }, want: here},
		{name: "a command of its own with a daemon", running: true, reach: func(a *cli.App, do func(core.Core) error) error { return a.With(t.Context(), launch, do) }, usage: true},
		{name: "a beginner without a daemon", reach: func(a *cli.App, do func(core.Core) error) error { return a.WithDaemon(t.Context(), do) }, want: there},
		{name: "a beginner with a daemon", running: true, reach: func(a *cli.App, do func(core.Core) error) error { return a.WithDaemon(t.Context(), do) }, want: there},
		{name: "a reader with a daemon of another version", fails: broken, reach: func(a *cli.App, do func(core.Core) error) error { return a.With(t.Context(), nil, do) }},
		{name: "a beginner with a daemon of another version", fails: broken, reach: func(a *cli.App, do func(core.Core) error) error { return a.WithDaemon(t.Context(), do) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &cli.App{
				Env:  func(name string) string { return map[string]string{"AO_HOST_DATA": t.TempDir()}[name] },
				Open: here.Opener(),
				Connect: func(_ context.Context, _ string, start bool) (core.Core, error) {
					switch {
					case c.fails != nil:
						return nil, c.fails
					case c.running || start:
						return there, nil
					}
					return nil, daemon.ErrNotRunning
				},
			}
			var got core.Core
			err := c.reach(a, func(c core.Core) error { got = c; return nil })
			switch {
			case c.fails != nil:
				if !errors.Is(err, c.fails) {
					t.Errorf("error %v", err)
				}
			case c.usage:
				if err == nil || host.CodeOf(err) != "" {
					t.Errorf("error %v", err)
				}
			case err != nil:
				t.Error(err)
			}
			if got != c.want {
				t.Errorf("reached %p; here is %p, the daemon %p", got, here, there)
			}
		})
	}
}
