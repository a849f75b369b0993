package cli

import (
	"log/slog"
)

// logger writes the host's operational messages to standard error.
func (a *App) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
