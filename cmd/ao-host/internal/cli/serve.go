package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

type serveFlags struct {
	listen                    string
	background, stop, replace bool
	// child: another process of ours waits for the report.
	child bool
}

func (a *App) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", SuggestFor: []string{"daemon", "server", "start"}, Short: "Be the daemon of the data folder", Args: exactly(),
		Long: `Be the daemon of the data folder: run its conversations and answer the other
commands, over a socket in the data folder that only you can open. Commands that
need a daemon start one by themselves. It ends in order with Ctrl-C or SIGTERM:
what runs is stopped, queues are kept. A second signal ends it at once.

In the background it logs to the file daemon.log in the data folder, from level
info on, and never what an agent says. --log-level debug logs that, too; a
conversation's id with it, as in --log-level info,ID=debug, raises this alone.

Harnesses are started from the environment of your login shell. Other commands
for them can be set in the file config.json in the data folder:
  {"launch": {"HARNESS": {"argv": ["/opt/agent/bin/agent", "serve"]}}}
A harness in which nothing happens for five minutes is ended; the next message
starts it again where it was. "idle_session" in that file is another time, such
as "1h", or "0s" for never.

With --listen it takes requests at a loopback address too, from programs that
bear the token in the file token in the data folder.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "", "loopback address to listen at too, such as\n127.0.0.1:7777")
	fl.BoolVar(&f.background, "background", false, "start it in the background, if none runs,\nand return when it answers")
	fl.BoolVar(&f.stop, "stop", false, "end the daemon that runs, in order")
	fl.BoolVar(&f.replace, "replace", false, "end the daemon that runs, and take its place")
	fl.BoolVar(&f.child, daemon.BackgroundFlag, false, "")
	_ = fl.MarkHidden(daemon.BackgroundFlag)
	cmd.MarkFlagsMutuallyExclusive("stop", "replace")
	cmd.MarkFlagsMutuallyExclusive("stop", "background")
	cmd.MarkFlagsMutuallyExclusive("listen", "background")
	return cmd
}

// servedView is what serve writes as JSON.
type servedView struct {
	Running bool   `json:"running"`
	PID     int    `json:"pid,omitempty"`
	Version string `json:"version,omitempty"`
	Socket  string `json:"socket,omitempty"`
	Address string `json:"address,omitempty"`
}

func servedOf(i daemon.Info) servedView {
	return servedView{Running: true, PID: i.PID, Version: i.Version, Socket: i.Socket, Address: i.Address}
}

func (a *App) serve(ctx context.Context, f serveFlags) error {
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	switch {
	case f.stop:
		return a.endDaemon(ctx, dir)
	case f.background:
		return a.serveInBackground(ctx, dir, f.replace)
	}
	return a.serveHere(ctx, dir, f)
}

func (a *App) endDaemon(ctx context.Context, dir string) error {
	was, err := daemon.Stop(ctx, dir)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.print(servedView{})
	case was:
		return a.lines("The daemon has ended.")
	}
	return a.lines("No daemon was running.")
}

// replacements is how often a daemon is replaced that another program started, of
// the version that was to be replaced, in the moment in which there was none.
const replacements = 3

func (a *App) serveInBackground(ctx context.Context, dir string, replace bool) error {
	for i := 1; ; i++ {
		if replace {
			if _, err := daemon.Stop(ctx, dir); err != nil {
				return err
			}
		}
		c, info, err := daemon.Start(ctx, dir, daemon.Program{Argv: a.Self, Env: a.daemonEnv()})
		switch {
		case err == nil:
			return errors.Join(a.tellServed("The daemon runs", info), c.Close(ctx))
		case !replace || i == replacements || host.CodeOf(err) != host.CodeVersionMismatch:
			return err
		}
	}
}

// daemonEnv is the environment of a daemon in the background: it logs as this
// command was told to.
func (a *App) daemonEnv() []string {
	env := os.Environ()
	for _, kv := range [][2]string{{envLogLevel, a.logs.level}, {envLogFile, a.logs.file}} {
		if kv[1] != "" {
			env = append(env, kv[0]+"="+kv[1])
		}
	}
	return env
}

// serveHere is the daemon.
func (a *App) serveHere(ctx context.Context, dir string, f serveFlags) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.Signals != nil {
		interrupt, terminate, stop := a.Signals()
		go func() {
			select {
			case <-interrupt:
			case <-terminate:
			case <-ctx.Done():
			}
			// From here on a signal ends the process at once.
			stop()
			cancel()
		}()
	}
	var set daemon.Settings
	err := a.serveLog(dir, f.child)
	if err == nil {
		set, err = daemon.ReadSettings(dir)
	}
	cfg := daemon.Config{Host: host.Config{Dir: dir}, Listen: f.listen, Replace: f.replace}
	set.Apply(&cfg.Host)
	a.observe(ctx, &cfg.Host)
	reported := false
	report := func(err error) {
		if f.child && !reported {
			reported = true
			if err := daemon.Report(a.Stdout, err); err != nil && cfg.Host.Logger != nil {
				cfg.Host.Logger.Warn("the standard output could not be closed", "error", err)
			}
		}
	}
	var told error
	cfg.Ready = func(i daemon.Info) {
		if f.child {
			report(nil)
			return
		}
		told = a.tellServed("The daemon listens", i)
	}
	if err == nil {
		err = daemon.Serve(ctx, cfg)
	}
	if err != nil {
		report(err)
	}
	var running *daemon.RunningError
	switch {
	case errors.As(err, &running) && f.child:
		return nil
	case errors.As(err, &running):
		return &host.Error{Code: host.CodeStoreLocked, Detail: fmt.Sprintf("Process %d is the daemon of this folder and answers.", running.Info.PID)}
	case errors.Is(err, context.Canceled):
		// It was told to end before it had begun.
		return nil
	}
	return errors.Join(err, told)
}

func (a *App) tellServed(what string, i daemon.Info) error {
	if a.json {
		return a.print(servedOf(i))
	}
	text := fmt.Sprintf("%s: process %d, socket %s", what, i.PID, i.Socket)
	if i.Address != "" {
		text += ", address http://" + i.Address
	}
	return a.lines(text)
}
