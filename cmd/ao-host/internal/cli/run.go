package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/chat"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/host"
)

type runFlags struct {
	settingFlags
	harness, conversation, retry, dir, title string
	launch, attach                           []string
	repeatWork                               bool
}

func (a *App) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run (--harness H | --conversation ID) [flags] [PROMPT | -]",
		Short: "Send a message to an agent and follow it until it is done",
		Long: `Send a message to an agent and follow it until it is done. The agent's text is
printed as it comes, a tool call as one line. Questions, permission requests
and plans are asked on the terminal; without a terminal the run ends with exit
code 3 and says how to answer. Ctrl-C stops the turn, a second Ctrl-C leaves.

With --conversation an earlier conversation goes on. Without a prompt, what
waits in it is asked, and a held queue goes on. The prompt "-" is read from
standard input.

--launch gives the command word by word, found by the PATH of this terminal. To
try ao-host without any account, let it be its own agent, on a script:
  ao-host run --harness NAME --launch ao-host --launch scripted-harness \
    --mode plan "Write a greeting"

A setting that is given is remembered for later turns; an empty value resets it
to the provider's own default.

` + exitCodes,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("the prompt is one argument, and there are %d; put it in quotes", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, f, args) },
	}
	fl := cmd.Flags()
	idFlag(fl, &f.conversation, "conversation", "", "conversation to go on with: its id, or\nthe beginning of it")
	idFlag(fl, &f.retry, "retry", "", "send this turn of the conversation again")
	fl.BoolVar(&f.repeatWork, "repeat-work", false, "with --retry: also a turn that used tools,\nwhose work may then be done twice")
	fl.StringVar(&f.dir, "dir", ".", "project folder of a new conversation")
	fl.StringVar(&f.title, "title", "", "title of a new conversation")
	f.flags(cmd)
	fl.StringArrayVar(&f.attach, "attach", nil, "image or file to send with the prompt;\ncan be repeated")
	f.launchFlags(cmd)
	return cmd
}

// launchFlags are the harness and the command that starts it.
func (f *runFlags) launchFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.harness, "harness", "", "harness to begin a conversation with,\nsee: ao-host bindings list")
	cmd.Flags().StringArrayVar(&f.launch, "launch", nil, "command that starts the harness instead of\nthe binding's own; once for each word")
	_ = cmd.RegisterFlagCompletionFunc("harness", cobra.FixedCompletions(builtInHarnesses(), cobra.ShellCompDirectiveNoFileComp))
}

// errTerminated is why a run ends when the program was told to.
var errTerminated = errors.New("told to end")

func (a *App) run(cmd *cobra.Command, f runFlags, args []string) error {
	patch, err := f.patch(cmd)
	if err != nil {
		return err
	}
	prompt, err := a.prompt(args)
	if err != nil {
		return err
	}
	if err := f.check(prompt); err != nil {
		return err
	}
	content, err := contentOf(prompt, f.attach)
	if err != nil {
		return err
	}
	var launch map[string]host.Launch
	if len(f.launch) > 0 {
		launch = map[string]host.Launch{f.harness: {Argv: f.launch}}
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	var interrupt <-chan struct{}
	if a.Signals != nil {
		in, term, stop := a.Signals()
		interrupt = in
		done := make(chan struct{})
		go func() {
			defer close(done)
			select {
			case <-term:
				cancel(errTerminated)
			case <-ctx.Done():
			}
		}()
		defer func() { cancel(nil); <-done; stop() }()
	}
	out := chat.Failed
	err = a.with(ctx, launch, func(c core.Core) error {
		var err error
		out, err = a.converse(ctx, c, f, patch, content, interrupt)
		return err
	})
	switch {
	case errors.Is(context.Cause(ctx), errTerminated):
		return status(ExitTerminated)
	case err != nil:
		return err
	case out != chat.Done:
		return status(exitOf(out))
	}
	return nil
}

func (f *runFlags) check(prompt string) error {
	empty := strings.TrimSpace(prompt) == "" && len(f.attach) == 0
	switch {
	case f.harness == "" && f.conversation == "":
		return usagef("--harness or --conversation is needed")
	case f.harness != "" && f.conversation != "" && len(f.launch) == 0:
		return usagef("a conversation keeps its harness; leave --harness out")
	case len(f.launch) > 0 && f.harness == "":
		return usagef("--launch needs --harness, to know what it starts")
	case f.conversation == "" && f.retry != "":
		return usagef("--retry needs --conversation")
	case f.conversation == "" && empty:
		return usagef("a new conversation needs a prompt")
	case f.repeatWork && f.retry == "":
		return usagef("--repeat-work goes with --retry")
	case f.retry != "" && !empty:
		return usagef("--retry sends an earlier message again; leave the prompt out")
	}
	return nil
}

// begin finds or makes the conversation.
func (f *runFlags) begin(ctx context.Context, c core.Core, patch host.SettingsPatch) (host.Conversation, error) {
	if f.conversation == "" {
		dir, err := filepath.Abs(f.dir)
		if err != nil {
			return host.Conversation{}, fmt.Errorf("the project folder has no absolute path: %w", err)
		}
		return c.Create(ctx, host.NewConversation{Harness: f.harness, Cwd: dir, Title: f.title, Settings: patch})
	}
	conv, err := find(ctx, c, f.conversation)
	if err != nil || isEmpty(patch) {
		return conv, err
	}
	if _, err := c.ConfigureNextTurn(ctx, conv.ID, conv.Revision, patch); err != nil {
		return host.Conversation{}, err
	}
	return c.Conversation(ctx, conv.ID)
}

// converse begins, sends and follows.
func (a *App) converse(ctx context.Context, c core.Core, f runFlags, patch host.SettingsPatch, content []host.Content, interrupt <-chan struct{}) (chat.Outcome, error) {
	conv, err := f.begin(ctx, c, patch)
	if err != nil {
		return chat.Failed, err
	}
	if !a.json {
		if err := a.lines("conversation "+conv.ID, "  "+display.Line(conv.Harness)+" in "+display.Exact(conv.Cwd), ""); err != nil {
			return chat.Failed, err
		}
	}
	switch {
	case f.retry != "":
		_, err = c.Retry(ctx, conv.ID, f.retry, host.RetryRequest{RepeatWork: f.repeatWork})
	case len(content) > 0:
		_, err = c.Send(ctx, conv.ID, host.Message{Content: content})
	case conv.Queue.Held:
		_, err = c.ResumeQueue(ctx, conv.ID)
	}
	if err != nil {
		return chat.Failed, err
	}
	_, remote := c.(*client.Client)
	s := &chat.Session{Core: c, Remote: remote, Conversation: conv.ID, After: conv.LastSeq, Console: a.con, JSON: a.json, Options: a.again(f), Interrupt: interrupt}
	out, err := s.Run(ctx)
	if err != nil || !a.json {
		return out, err
	}
	return out, json.NewEncoder(a.Stdout).Encode(runResult{
		Type: "result", Outcome: out.String(), Exit: exitOf(out), Conversation: conv.ID, Turn: s.Last().ID, State: s.Last().State,
	})
}

// again gives the options that a later command needs to find the same data and
// to start the same harness.
func (a *App) again(f runFlags) []string {
	var out []string
	if a.data != "" {
		out = append(out, "--data", shellWord(a.data))
	}
	out = append(out, a.there.options()...)
	if len(f.launch) > 0 {
		out = append(out, "--harness", shellWord(f.harness))
	}
	for _, w := range f.launch {
		out = append(out, "--launch", shellWord(w))
	}
	return out
}

// shellWord quotes a word for a POSIX shell where it needs that.
func shellWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("%+,-./:=@_", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return display.Exact("'" + strings.ReplaceAll(w, "'", `'\''`) + "'")
}

// runResult is the last line of a run's JSON output. Its type is none of the
// journal's.
type runResult struct {
	Type         string         `json:"type"`
	Outcome      string         `json:"outcome"`
	Exit         int            `json:"exit"`
	Conversation string         `json:"conversation"`
	Turn         string         `json:"turn,omitempty"`
	State        host.TurnState `json:"state,omitempty"`
}
