package host_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// A process that detached itself outlives its harness and has its pipes.
func TestRule21_WhatKeepsTheOutputOpenAfterTheExitHoldsNothingUp(t *testing.T) {
	for how, loop := range map[string]string{
		"silently": "sleep 0.05",
		"babbling": `echo "$words"`,
		// In the middle: always something is under way, and never much.
		"steadily":                 `echo "still here"; sleep 0.01`,
		"in a line without an end": `printf %s "$words"`,
	} {
		t.Run(how, func(t *testing.T) {
			// It ends with the folder of the test.
			begun := filepath.Join(t.TempDir(), "begun")
			shell := filepath.Join(t.TempDir(), "harness")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			// It says nothing before the exit: what two write at once into a pipe can be mixed.
			detached := fmt.Sprintf("words=$(printf %%3999s x); : >%[1]s; while kill -0 $0; do sleep 0.02; done; while [ -e %[1]s ]; do %[2]s; done", begun, loop)
			script := fmt.Sprintf("#!/bin/sh\n(setsid sh -c '%s' $$ 2>/dev/null &)\nuntil [ -e %s ]; do sleep 0.02; done\nexec %q app-server\n", detached, begun, self)
			if err := os.WriteFile(shell, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, `{"turns":[{"steps":[{"say":"Last words."},{"exit":3}]}]}`, func(c *host.Config) {
				l := c.Launch["codex"]
				l.Argv = []string{shell}
				c.Launch["codex"] = l
				c.MaxLine = 100_000
				c.Logger = slog.New(dawdling{0, 15 * time.Millisecond})
			})
			turn := r.send("Go")
			r.untilTurn(turn.ID, host.TurnFailed)
			r.until("the session to end", func() bool { return r.controls().Session.State == host.SessionNone })
			if got := r.texts(abi.ItemMessage); !slices.Equal(got, []string{"Last words."}) {
				t.Errorf("the agent said %q", got)
			}
		})
	}
}
