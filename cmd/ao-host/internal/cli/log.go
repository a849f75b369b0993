package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/logfile"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/telemetry"
	"github.com/aoagents/ao-host/host"
)

const (
	envLogLevel = "AO_HOST_LOG_LEVEL"
	envLogFile  = "AO_HOST_LOG_FILE"
)

// logLevels is what --log-level asks for: a level, and levels of single
// conversations.
type logLevels struct {
	level         slog.Level
	conversations map[string]slog.Level
}

// parseLevels reads LEVEL or CONVERSATION=LEVEL, several with commas.
func parseLevels(text string) (logLevels, error) {
	l := logLevels{level: slog.LevelInfo}
	for _, part := range strings.Split(text, ",") {
		id, name, own := strings.Cut(strings.TrimSpace(part), "=")
		if !own {
			name = id
		}
		var level slog.Level
		switch name {
		case "debug", "info", "warn", "error":
			_ = level.UnmarshalText([]byte(name)) // these names cannot fail
		default:
			return l, usagef("%q is not a log level; use debug, info, warn or error, or CONVERSATION=LEVEL", part)
		}
		if !own {
			l.level = level
			continue
		}
		if l.conversations == nil {
			l.conversations = map[string]slog.Level{}
		}
		l.conversations[id] = level
	}
	return l, nil
}

// logging is where this invocation writes its log, and to whom it tells traces and
// metrics.
type logging struct {
	// level and file are the flags.
	level, file string

	levels  logLevels
	logger  *slog.Logger
	out     io.Closer
	tracing telemetry.Providers
}

// beginLog opens the log that the flags and the environment ask for, if they do.
func (a *App) beginLog() error {
	l := &a.logs
	if l.level == "" {
		l.level = a.Env(envLogLevel)
	}
	if l.file == "" {
		l.file = a.Env(envLogFile)
	}
	if l.level == "" && a.verbose {
		l.level = "debug"
	}
	if l.level == "" && l.file == "" {
		return nil
	}
	if l.level == "" {
		l.level = "info"
	}
	return a.openLog(l.file)
}

// openLog makes the logger: to a file of bounded size, or to standard error.
func (a *App) openLog(file string) (err error) {
	l := &a.logs
	if l.levels, err = parseLevels(l.level); err != nil {
		return err
	}
	w := a.Stderr
	if file != "" {
		f, err := logfile.Open(file, 0)
		if err != nil {
			return usagef("the log cannot be written: %v", err)
		}
		l.out, w = f, f
	}
	l.logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l.levels.level}))
	return nil
}

// serveLog is the log of a daemon, which always has one: in the background the file
// in the data folder.
func (a *App) serveLog(dir string, background bool) error {
	if a.logs.logger != nil && (a.logs.file != "" || !background) {
		return nil
	}
	if a.logs.level == "" {
		a.logs.level = "info"
	}
	file := ""
	if background {
		file = filepath.Join(dir, daemonLog)
	}
	return a.openLog(file)
}

// daemonLog is the file that a daemon in the background logs to, see package daemon.
const daemonLog = "daemon.log"

// observe gives a configuration the log, and the traces and metrics that the
// environment asks for.
func (a *App) observe(ctx context.Context, cfg *host.Config) {
	log := a.logs.logger
	if log != nil {
		cfg.Logger, cfg.LogLevels = log, a.logs.levels.conversations
	} else {
		log = slog.New(slog.DiscardHandler)
	}
	a.logs.tracing = telemetry.Start(ctx, a.Env, host.Version(), log)
	cfg.TracerProvider, cfg.MeterProvider = a.logs.tracing.Traces, a.logs.tracing.Metrics
}

// exportTime bounds the sending of the last traces and metrics.
const exportTime = 3 * time.Second

// endLog sends and writes what is left.
func (a *App) endLog(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportTime)
	defer cancel()
	if err := a.logs.tracing.Shutdown(ctx); err != nil && a.logs.logger != nil {
		a.logs.logger.Warn("the last of the telemetry could not be sent", "error", err)
	}
	if a.logs.out == nil {
		return nil
	}
	if err := a.logs.out.Close(); err != nil {
		return errors.Join(fmt.Errorf("the log could not be closed: %w", err))
	}
	return nil
}
