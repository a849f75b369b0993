package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/demo"
	"github.com/aoagents/ao-host/lab/scripted"
)

// scriptedName is the hidden command that is the demo's harness.
const scriptedName = "scripted-harness"

func (a *App) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Run a whole plan without any account, on a scripted harness", Args: exactly(),
		Long: "Run a whole plan without any account: a message in plan mode, a question, its\nanswer, a plan, a requested change, a revised plan, its implementation. The\nharness is this program itself with a script in place of a model, started\nthrough the ordinary path. The exit code is not 0 when anything differs from\nwhat the rules promise.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo.Run(cmd.Context(), demo.Config{
				Open: a.Open, Out: a.Stdout, Width: a.con.Width, Color: a.con.Color,
				Harness: append(append([]string(nil), a.Self...), scriptedName),
			})
		},
	}
}

func (a *App) scriptedCommand() *cobra.Command {
	return &cobra.Command{
		Use: scriptedName, Hidden: true, DisableFlagParsing: true,
		Short: "Be the scripted harness of the demo and the tests",
		RunE: func(_ *cobra.Command, args []string) error {
			if code := scripted.Main(args, a.Stdin, a.Stdout, a.Stderr, os.Environ()); code != 0 {
				return status(code)
			}
			return nil
		},
	}
}
