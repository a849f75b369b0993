package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/tui"
	"github.com/aoagents/ao-host/host"
)

func (a *App) chatCommand() *cobra.Command {
	var f runFlags
	fresh := false
	cmd := &cobra.Command{
		Use:   "chat [CONVERSATION] [flags]",
		Short: "Talk with an agent on the whole terminal",
		Long: `Talk with an agent on the whole terminal: text streams, questions, permission
requests and plans are asked, the queue and the settings of the next message are
shown and changed. ? lists the keys.

Without a conversation it is the newest one of this folder, or of the nearest
folder above that has one; with --new, or where there is none, --harness begins
one. The work is done by the daemon, which is started when needed: leaving the
chat does not stop what runs, and the chat finds a daemon that was started
again. One that was ended stays ended until you send something. With --launch
there is no daemon, and what runs ends with the chat.

A setting that is given is remembered for later messages; an empty value resets
it to the provider's own default.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("chat takes one conversation, and there are %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.conversation = args[0]
			}
			return a.chat(cmd, f, fresh)
		},
	}
	cmd.ValidArgsFunction = a.completeConversations
	fl := cmd.Flags()
	fl.BoolVar(&fresh, "new", false, "begin a new conversation")
	fl.StringVar(&f.dir, "dir", ".", "project folder of the conversation")
	fl.StringVar(&f.title, "title", "", "title of a new conversation")
	f.flags(cmd)
	fl.StringArrayVar(&f.attach, "attach", nil, "image or file to send with the first message;\ncan be repeated, see /attach in the chat")
	f.launchFlags(cmd)
	return cmd
}

func (a *App) chat(cmd *cobra.Command, f runFlags, fresh bool) error {
	patch, err := f.patch(cmd)
	if err != nil {
		return err
	}
	switch {
	case !a.onTerminal():
		return usagef("chat needs a terminal; use ao-host run to follow one message, or ao-host send")
	case a.json:
		return usagef("chat has no JSON; use ao-host run --json, or ao-host watch --json")
	case fresh && f.conversation != "":
		return usagef("--new begins a conversation; leave the id out")
	case fresh && f.harness == "":
		return usagef("--new needs --harness")
	case f.harness != "" && f.conversation != "" && len(f.launch) == 0:
		return usagef("a conversation keeps its harness; leave --harness out")
	case len(f.launch) > 0 && f.harness == "":
		return usagef("--launch needs --harness, to know what it starts")
	}
	ctx := cmd.Context()
	if len(f.launch) > 0 {
		launch := map[string]host.Launch{f.harness: {Argv: f.launch}}
		return a.with(ctx, launch, func(c core.Core) error { return a.converseOnScreen(ctx, c, f, patch, fresh) })
	}
	return a.withDaemon(ctx, func(c core.Core) error { return a.converseOnScreen(ctx, c, f, patch, fresh) })
}

// onTerminal reports a terminal at both ends that can place its cursor.
func (a *App) onTerminal() bool {
	in, ok := a.Stdin.(*os.File)
	out, also := a.Stdout.(*os.File)
	return ok && also && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) && a.Env("TERM") != "dumb"
}

// converseOnScreen finds or makes the conversation and shows it.
func (a *App) converseOnScreen(ctx context.Context, c core.Core, f runFlags, patch host.SettingsPatch, fresh bool) error {
	if f.conversation == "" && !fresh {
		id, err := newestHere(ctx, c, f.dir, f.harness)
		if err != nil {
			return err
		}
		if id == "" && f.harness == "" {
			return usagef("this folder has no conversation yet; begin one with --harness, see: ao-host bindings list")
		}
		f.conversation = id
	}
	attached, err := contentOf("", f.attach)
	if err != nil {
		return err
	}
	conv, err := f.begin(ctx, c, patch)
	if err != nil {
		return err
	}
	cfg := tui.Config{
		Core: c, Conversation: conv.ID, Attached: attached, In: a.Stdin, Out: a.Stdout, Environ: a.Environ, IDs: uuid.NewString,
	}
	remote := false
	if cl, ok := c.(*client.Client); ok {
		remote = true
		cfg.Core = cl.WithPatience(-1)
		cfg.Connect = a.reconnect
	}
	if a.Signals != nil {
		_, terminate, stop := a.Signals()
		defer stop()
		cfg.Terminate = terminate
	}
	r, err := tui.Run(ctx, cfg)
	if r.Core != nil && r.Core != cfg.Core {
		// It was found again meanwhile; the first one is closed by who opened it.
		err = errors.Join(err, r.Core.Close(ctx))
	}
	if err != nil {
		return err
	}
	if err := a.tellLeft(conv.ID, r, remote); err != nil || !r.Terminated {
		return err
	}
	return status(ExitTerminated)
}

// reconnect finds the host again that withDaemon found before. A daemon that was
// ended on purpose is started only with start; one that died is started unasked.
func (a *App) reconnect(ctx context.Context, start bool) (core.Core, error) {
	c, err := a.sameHost(ctx, start)
	if err != nil {
		return nil, err
	}
	if cl, ok := c.(*client.Client); ok {
		return cl.WithPatience(-1), nil
	}
	return c, nil
}

func (a *App) sameHost(ctx context.Context, start bool) (core.Core, error) {
	if a.there.named() {
		return a.there.dial(ctx)
	}
	dir, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	c, err := a.connect(ctx, dir, start)
	switch {
	case start || !errors.Is(err, daemon.ErrNotRunning):
		return c, err
	case !daemon.Crashed(dir):
		return nil, tui.ErrEnded
	}
	return a.connect(ctx, dir, true)
}

// newestHere is the newest conversation of a folder or of the nearest one above
// it, of a harness if one is named; empty when there is none.
func newestHere(ctx context.Context, c core.Core, dir, harness string) (string, error) {
	here, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	all, err := c.Conversations(ctx)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(conv host.Conversation) bool { return harness != "" && conv.Harness != harness })
	if found := nearest(all, here); len(found) > 0 {
		return found[0].ID, nil
	}
	return "", nil
}

// tellLeft says what becomes of what was left, so that nothing ends silently.
func (a *App) tellLeft(id string, r tui.Result, remote bool) error {
	var out []string
	say := func(yes bool, text string) {
		if yes {
			out = append(out, text)
		}
	}
	say(r.Active && remote && !a.there.named(), "The turn goes on in the daemon.")
	say(r.Active && a.there.named(), "The turn goes on in the host.")
	say(r.Active && !remote, "The turn that ran is stopped: no daemon goes on with it.")
	say(r.Waiting && remote, "A question or plan of the agent waits for you.")
	held := r.Queued > 0 && remote && r.Held
	say(held, "The queue is held. To let it go on: "+a.command("queue resume", host.Conversation{ID: id}))
	say(r.Queued > 0 && remote && !r.Held, "What is in the queue runs in its turn.")
	say(r.Queued > 0 && !remote, "What is in the queue stays there.")
	for _, text := range r.Unsent {
		out = append(out, "Not sent:", display.Text(text))
	}
	out = append(out, "To come back: "+strings.Join(a.backWords(id), " "))
	return a.lines(out...)
}

func (a *App) backWords(id string) []string {
	words := []string{"ao-host chat", id}
	if a.data != "" {
		words = append(words, "--data", shellWord(a.data))
	}
	return append(words, a.there.options()...)
}
