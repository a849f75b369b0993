package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

// With and WithDaemon are how commands reach a host.
func (a *App) With(ctx context.Context, launch map[string]host.Launch, do func(core.Core) error) error {
	return a.with(ctx, launch, do)
}

func (a *App) WithDaemon(ctx context.Context, do func(core.Core) error) error {
	return a.withDaemon(ctx, do)
}

// Root is the tree of commands.
func (a *App) Root() *cobra.Command { return a.root() }
