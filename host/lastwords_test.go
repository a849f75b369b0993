package host_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// dawdling is a log that takes its time over each message of the harness of more than
// so many bytes.
type dawdling struct {
	over int64
	wait time.Duration
}

func (dawdling) Enabled(context.Context, slog.Level) bool { return true }
func (d dawdling) WithAttrs([]slog.Attr) slog.Handler     { return d }
func (d dawdling) WithGroup(string) slog.Handler          { return d }

func (d dawdling) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "bytes" && a.Value.Int64() > d.over && r.Message == "from the harness" {
			time.Sleep(d.wait)
		}
		return true
	})
	return nil
}

func TestRule21_WhatAHarnessPrintedBeforeItsExitIsReadHoweverLongThatTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[{"burst":{"count":5,"bytes":600000}},{"say":"Last words."},{"exit":3}]}]}`, func(c *host.Config) {
		c.Logger = slog.New(dawdling{100_000, 1200 * time.Millisecond})
	})
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnFailed)
	said := r.texts(abi.ItemMessage)
	if n := len(strings.Join(said, "")); n < 5*600000 || said[len(said)-1] != "Last words." {
		t.Fatalf("%d bytes of %d texts were read", n, len(said))
	}
}
