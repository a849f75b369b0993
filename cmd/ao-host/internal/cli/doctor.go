package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

func (a *App) doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use: "doctor [HARNESS …]", Short: "Find out what works and what to do about the rest",
		Long: `Look at the data folder, the daemon, the environment that harnesses are
started from, and each harness: where its program is and which version it has,
whether the binding fits it, and whether there is a trace of a sign-in.
Credentials are not read. A daemon that runs is asked, or the host that
--socket or --url names; else the folder is looked at from outside, and nothing
in it is changed.

No message is sent to an agent. Only programs that print their version are run;
with --probe each harness is started once as well, in an empty folder, up to
the point where it could take a message.

With --bundle an archive for a bug report is written: the same as JSON, how the
conversations went by states, codes, times and sizes, the end of the daemon's
log, and what the daemon was doing. Nothing that was said is in it, unless
--with-text asks for it, and no value of a variable, no home directory and no
name of the user.

The exit code is 7 when a harness that was named, or else all of them, the data
folder or the daemon cannot be used.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.withText && f.bundle == "" {
				return usagef("--with-text is about what --bundle writes; give that, too")
			}
			return a.doctor(cmd.Context(), f, host.DiagnoseOptions{Harnesses: args, Probe: f.probe, Runtime: f.bundle != ""})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.probe, "probe", false, "start each harness once, without a message")
	fl.StringVar(&f.bundle, "bundle", "", "write an archive for a bug report to this\nfile, a new one such as report.tar.gz")
	fl.BoolVar(&f.withText, "with-text", false, "put what was said into the archive, too")
	return cmd
}

type doctorFlags struct {
	probe, withText bool
	bundle          string
}

// doctorView is what doctor writes as JSON: the diagnosis, and what only this
// program can tell.
type doctorView struct {
	// Usable: what was asked about can be used; else the exit code is 7.
	Usable bool `json:"usable"`
	// Program is the version of this program, the diagnosis has the host's.
	Program  string         `json:"program"`
	Daemon   daemonCheck    `json:"daemon"`
	Settings []host.Finding `json:"settings,omitempty"`
	Bundle   *bundleView    `json:"bundle,omitempty"`
	host.Diagnosis
}

type bundleView struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	// WithText: what was said is in it.
	WithText bool `json:"with_text"`
}

type daemonCheck struct {
	servedView
	Findings []host.Finding `json:"findings,omitempty"`
}

func (a *App) doctor(ctx context.Context, f doctorFlags, o host.DiagnoseOptions) error {
	v, err := a.examine(ctx, o)
	if err != nil {
		return err
	}
	if f.bundle != "" {
		n, err := a.writeBundle(ctx, f.bundle, f.withText, v)
		if err != nil {
			return err
		}
		v.Bundle = &bundleView{f.bundle, n, f.withText}
	}
	if v.Host != nil {
		// They are for the archive.
		v.Host.Stacks, v.Host.Metrics = "", nil
	}
	if a.json {
		err = a.print(v)
	} else {
		err = a.write("%s", v.text(a.con.Width, a.Env("HOME")))
	}
	if err == nil && !v.Usable {
		return status(ExitUnusable)
	}
	return err
}

// examine asks the daemon, or looks from outside where none answers.
func (a *App) examine(ctx context.Context, o host.DiagnoseOptions) (doctorView, error) {
	v := doctorView{Program: host.Version()}
	if a.there.named() {
		return a.askOther(ctx, v, o)
	}
	dir, err := a.dataDir()
	if err != nil {
		return v, err
	}
	set, err := daemon.ReadSettings(dir)
	if err != nil {
		v.Settings = append(v.Settings, finding(host.SeverityError, err))
	}
	answered := false
	if a.Connect != nil {
		if answered, err = a.askDaemon(ctx, dir, o, &v); err != nil {
			return v, err
		}
	}
	if !answered {
		// Harnesses are looked for as a daemon would: by the login shell's environment.
		cfg := host.Config{Dir: dir}
		if a.logs.logger != nil {
			cfg.Logger = a.logs.logger
		}
		set.Apply(&cfg)
		if v.Diagnosis, err = a.diagnose(ctx, cfg, o); err != nil {
			return v, err
		}
		if len(v.Daemon.Findings) > 0 {
			// That somebody has the folder is said with the daemon.
			v.Data.Findings = slices.DeleteFunc(v.Data.Findings, func(f host.Finding) bool { return f.Code == host.CodeStoreLocked })
		}
	}
	a.compareTerminal(&v)
	v.Usable = v.usable(len(o.Harnesses) > 0)
	return v, nil
}

// askOther lets the host of another program diagnose.
func (a *App) askOther(ctx context.Context, v doctorView, o host.DiagnoseOptions) (doctorView, error) {
	err := a.withOther(ctx, func(c core.Core) (err error) {
		d, ok := c.(diagnoser)
		if !ok {
			return usagef("the host there cannot be asked what is wrong")
		}
		v.Diagnosis, err = d.Diagnose(ctx, o)
		return err
	})
	if h := v.Host; h != nil {
		v.Daemon.servedView = servedView{Running: true, PID: h.PID, Version: v.Version, Socket: a.there.socket, Address: a.there.url}
	}
	v.Usable = v.usable(len(o.Harnesses) > 0)
	return v, err
}

// diagnoser is what a host or its client can do beside what the commands need.
type diagnoser interface {
	Diagnose(context.Context, host.DiagnoseOptions) (host.Diagnosis, error)
}

func (a *App) diagnose(ctx context.Context, cfg host.Config, o host.DiagnoseOptions) (host.Diagnosis, error) {
	if a.Diagnose != nil {
		return a.Diagnose(ctx, cfg, o)
	}
	return host.Diagnose(ctx, cfg, o)
}

// askDaemon lets the daemon of the folder diagnose, if one answers.
func (a *App) askDaemon(ctx context.Context, dir string, o host.DiagnoseOptions, v *doctorView) (answered bool, err error) {
	c, info, err := daemon.Running(ctx, dir)
	switch {
	case errors.Is(err, daemon.ErrNotRunning):
		return false, nil
	case ctx.Err() != nil:
		return false, err
	case err != nil:
		if info.PID > 0 {
			v.Daemon.servedView = servedOf(info)
		}
		v.Daemon.Findings = append(v.Daemon.Findings, finding(host.SeverityError, err))
		return false, nil
	}
	v.Daemon.servedView = servedOf(info)
	err = using(ctx, c, nil, func(core.Core) (err error) {
		v.Diagnosis, err = c.Diagnose(ctx, o)
		return err
	})
	return err == nil, err
}

// compareTerminal notes what is found in this terminal and not by the host.
func (a *App) compareTerminal(v *doctorView) {
	var path string
	for _, kv := range a.Environ {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = p
		}
	}
	for i := range v.Harnesses {
		h := &v.Harnesses[i]
		missing := slices.ContainsFunc(h.Findings, func(f host.Finding) bool { return f.Code == host.CodeHarnessNotFound })
		if !missing || len(h.Command) == 0 || strings.Contains(h.Command[0], "/") {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, h.Command[0])
			if fi, err := os.Stat(file); err != nil || fi.IsDir() || fi.Mode()&0o111 == 0 || !filepath.IsAbs(dir) {
				continue
			}
			f := finding(host.SeverityNote, codedError{codeTerminalOnly, fmt.Sprintf("This terminal finds it at %s.", file)})
			h.Findings = append(h.Findings, f)
			break
		}
	}
}

// finding says an error as a finding.
func finding(severity host.Severity, err error) host.Finding {
	f := describe(err)
	return host.Finding{Severity: severity, Code: host.Code(f.Code), Text: f.Message, Advice: f.Advice}
}

// usable reports whether what was asked about can be used.
func (v *doctorView) usable(named bool) bool {
	if !v.Data.Usable || len(v.Settings) > 0 || failing(v.Daemon.Findings) || v.Host != nil && failing(v.Host.Findings) {
		return false
	}
	all, some := true, false
	for _, h := range v.Harnesses {
		all = all && h.Usable
		some = some || h.Usable
	}
	if named {
		return all
	}
	return some
}

func failing(findings []host.Finding) bool {
	return slices.ContainsFunc(findings, func(f host.Finding) bool { return f.Severity == host.SeverityError })
}
