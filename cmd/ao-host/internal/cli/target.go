package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// target says which conversation a command is about.
type target struct {
	// id is that of a conversation, or the beginning of it; empty means the one of
	// the current folder.
	id   string
	last bool
}

// howNamed is the help's sentence about target.
const howNamed = `Without an id it is the conversation of the current folder, or of the nearest
folder above that has one; of several the newest with --last.`

func (t *target) flags(a *App, cmd *cobra.Command) {
	idFlag(cmd.Flags(), &t.id, "conversation", "c", "conversation: its id, or the beginning of it")
	cmd.Flags().BoolVar(&t.last, "last", false, "the newest conversation of the current folder")
	cmd.MarkFlagsMutuallyExclusive("conversation", "last")
	_ = cmd.RegisterFlagCompletionFunc("conversation", a.completeConversations)
}

// orArgument lets the conversation be the command's one argument too.
func (t *target) orArgument(cmd *cobra.Command, a *App) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return &usageError{text: fmt.Sprintf("%s takes at most a conversation id, and got %d arguments", cmd.CommandPath(), len(args)), command: cmd.CommandPath()}
		}
		if len(args) == 1 && (t.id != "" || t.last) {
			return &usageError{text: "the conversation is named twice", command: cmd.CommandPath()}
		}
		if len(args) == 1 {
			t.id = args[0]
		}
		return noneEmpty(cmd, args)
	}
	cmd.ValidArgsFunction = a.completeConversations
}

// pick finds the conversation.
func (t *target) pick(ctx context.Context, c core.Core) (host.Conversation, error) {
	if t.id != "" {
		return find(ctx, c, t.id)
	}
	all, err := c.Conversations(ctx)
	if err != nil {
		return host.Conversation{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return host.Conversation{}, fmt.Errorf("the current folder has no path: %w", err)
	}
	here := nearest(all, dir)
	switch {
	case len(here) == 0:
		return host.Conversation{}, usagef("no conversation belongs to %s or a folder above it; name one with --conversation, see: ao-host list", display.Exact(dir))
	case len(here) > 1 && !t.last:
		return host.Conversation{}, usagef("%d conversations belong here; name one with -c, or take --last:\n%s", len(here), candidates(here))
	}
	return here[0], nil
}

// nearest are the conversations of a folder or, if it has none, of the nearest one
// above it, in the order of all: the newest first.
func nearest(all []host.Conversation, dir string) []host.Conversation {
	for {
		var found []host.Conversation
		for _, conv := range all {
			if sameDir(conv.Cwd, dir) {
				found = append(found, conv)
			}
		}
		if len(found) > 0 {
			return found
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil
		}
		dir = up
	}
}

// sameDir reports whether two names are of one folder; a name that leads nowhere
// any more is only equal to itself.
func sameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := filepath.EvalSymlinks(a)
	if err != nil {
		return false
	}
	y, err := filepath.EvalSymlinks(b)
	return err == nil && x == y
}

// maxCandidates bounds the list in an error.
const maxCandidates = 10

func candidates(all []host.Conversation) string {
	var lines []string
	for i, conv := range all {
		if i == maxCandidates {
			lines = append(lines, fmt.Sprintf("  and %d more", len(all)-i))
			break
		}
		line := "  " + conv.ID + "  " + conv.CreatedAt.Local().Format(timeLayout) + "  " + view.Or(conv.Title, conv.Harness)
		lines = append(lines, display.Clip(line, 79))
	}
	return strings.Join(lines, "\n")
}

// completeConversations proposes ids with their titles.
func (a *App) completeConversations(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if len(args) > 0 && !cmd.Flags().Changed("conversation") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	err := a.with(cmd.Context(), nil, func(c core.Core) error {
		all, err := c.Conversations(cmd.Context())
		for _, conv := range all {
			out = append(out, cobra.CompletionWithDesc(conv.ID, view.Or(conv.Title, conv.Harness)+" in "+display.Exact(conv.Cwd)))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
