// Package cli is the command line of ao-host.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/console"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

// App is one invocation: everything it takes from its surroundings.
type App struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Env reads an environment variable.
	Env func(string) string
	// Environ is the environment that harnesses are started from: what a command
	// means is what it means in the person's terminal. Nil: the login shell's.
	Environ []string
	// Open opens a data folder in this process.
	Open core.Opener
	// Connect reaches the daemon of a data folder, and starts one if asked to; see
	// package daemon for the errors. Nil: there are no daemons.
	Connect func(ctx context.Context, dir string, start bool) (core.Core, error)
	// Diagnose looks at a data folder from outside; nil means [host.Diagnose].
	Diagnose func(context.Context, host.Config, host.DiagnoseOptions) (host.Diagnosis, error)
	// Self is the command that starts this program again; the demo's harness is
	// this program.
	Self []string
	// Signals begins to deliver the person's Ctrl-C and the request to end, until
	// stop is called. Nil: there are none.
	Signals func() (interrupt, terminate <-chan struct{}, stop func())

	data    string
	there   elsewhere
	json    bool
	verbose bool
	logs    logging
	con     *console.Console
}

// Run runs the command and returns the exit code.
func (a *App) Run(ctx context.Context) int {
	a.con = console.Open(a.Stdin, a.Stdout, a.Env)
	defer a.con.Close()
	root := a.root()
	root.SetArgs(a.Args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if lerr := a.endLog(ctx); err == nil {
		err = lerr
	}
	if err == nil {
		return ExitDone
	}
	var u *usageError
	if errors.As(err, &u) && u.command == "" {
		u.command = cmd.CommandPath()
	}
	return report(a.Stderr, err, a.json)
}

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ao-host",
		Short: "Run coding agents with durable intent, queue and questions",
		Long: `ao-host runs coding agents (harnesses) and owns what must not get lost: the
mode, permission and model you chose, the queue of your messages, and every
question and plan of the agent.

` + exitCodes,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		// Cobra's own errors about flags are no less the command line's than ours.
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.ValidateFlagGroups(); err != nil {
				return &usageError{text: err.Error(), command: cmd.CommandPath()}
			}
			return a.beginLog()
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&a.data, "data", "", "data folder (default $AO_HOST_DATA, else\n$XDG_STATE_HOME/ao-host, else\n~/.local/state/ao-host)")
	a.there.flags(root)
	root.PersistentFlags().BoolVar(&a.json, "json", false, "write JSON")
	root.PersistentFlags().BoolVar(&a.verbose, "verbose", false, "write the host's log to standard error,\nlike --log-level debug")
	root.PersistentFlags().StringVar(&a.logs.level, "log-level", "", "debug, info, warn or error, and for single\nconversations CONVERSATION=LEVEL, with commas\n(default $AO_HOST_LOG_LEVEL)")
	root.PersistentFlags().StringVar(&a.logs.file, "log-file", "", "write the log to this file, which is bounded\n(default $AO_HOST_LOG_FILE)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{text: err.Error(), command: cmd.CommandPath()}
	})
	section := func(id, title string, cmds ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range cmds {
			c.GroupID = id
		}
		root.AddCommand(cmds...)
	}
	section("talk", "Conversations:", a.chatCommand(), a.runCommand(), a.newCommand(), a.sendCommand(), a.steerCommand(), a.stopCommand(), a.retryCommand(), a.relocateCommand(), a.deleteCommand(), a.pruneCommand(), a.watchCommand(), a.listCommand(), a.showCommand(), a.exportCommand())
	section("settings", "Settings and the queue:", a.controlsCommand(), a.setCommand(), a.probeCommand(), a.queueCommand())
	section("ask", "Questions and plans:", a.inputsCommand(), a.answerCommand(), a.plansCommand(), a.implementCommand(), a.requestChangesCommand())
	section("host", "The host and its bindings:", a.serveCommand(), a.bindingsCommand(), a.schemasCommand(), a.codesCommand(), a.versionCommand(), a.doctorCommand(), a.demoCommand())
	root.AddCommand(a.scriptedCommand())
	root.AddCommand(topics()...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// group is a command that only has commands below it.
func group(use, short string, sub ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(sub...)
	return c
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	text := fmt.Sprintf("%q is not a command of %s", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return &usageError{text: text, command: cmd.CommandPath()}
}

// exactly wants the named arguments.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == len(names):
			return noneEmpty(cmd, args)
		case len(names) == 0:
			return &usageError{text: cmd.CommandPath() + " takes no arguments", command: cmd.CommandPath()}
		}
		return &usageError{text: fmt.Sprintf("%s takes %s, and got %d arguments", cmd.CommandPath(), strings.Join(names, " and "), len(args)), command: cmd.CommandPath()}
	}
}

// DataDir is the data folder: the flag, $AO_HOST_DATA, or ao-host in the state
// folder of the XDG base directory specification.
func (a *App) dataDir() (string, error) {
	switch {
	case a.data != "":
		return a.data, nil
	case a.Env("AO_HOST_DATA") != "":
		return a.Env("AO_HOST_DATA"), nil
	case filepath.IsAbs(a.Env("XDG_STATE_HOME")):
		return filepath.Join(a.Env("XDG_STATE_HOME"), "ao-host"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usagef("there is no home directory to keep the data in; name a folder with --data or AO_HOST_DATA")
	}
	return filepath.Join(home, ".local", "state", "ao-host"), nil
}

// find returns the conversation of an id or of the beginning of one.
func find(ctx context.Context, c core.Core, id string) (host.Conversation, error) {
	all, err := c.Conversations(ctx)
	if err != nil {
		return host.Conversation{}, err
	}
	var found []host.Conversation
	for _, conv := range all {
		if conv.ID == id {
			return conv, nil
		}
		if strings.HasPrefix(conv.ID, id) {
			found = append(found, conv)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return host.Conversation{}, usagef("%d conversations begin with %q; write more of the id", len(found), id)
	}
	return host.Conversation{}, &host.Error{Code: host.CodeUnknownConversation, Field: "conversation", Detail: fmt.Sprintf("%q was not found.", id)}
}

// print writes a value as JSON.
func (a *App) print(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// listed makes an empty list of nothing, so that JSON never says null for a
// list.
func listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// write writes text.
func (a *App) write(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format, args...)
	return err
}

// lines writes lines.
func (a *App) lines(lines ...string) error {
	return a.write("%s\n", strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n"))
}
