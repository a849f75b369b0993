// Command oneturn is the smallest program around the library: it sends one message
// to an agent, prints what the agent says and asks, and ends when the turn has.
//
//	go run ./examples/oneturn -harness codex "Say hello"
//
// What a product does in the same places is in docs/embedding.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func main() {
	harness := flag.String("harness", "codex", "harness to use")
	launch := flag.String("launch", "", "command that starts it, its words separated by spaces (default: the binding's own)")
	data := flag.String("data", filepath.Join(os.TempDir(), "ao-host-oneturn"), "data folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg := host.Config{Dir: *data}
	if *launch != "" {
		cfg.Launch = map[string]host.Launch{*harness: {Argv: strings.Fields(*launch)}}
	}
	if err := run(ctx, cfg, *harness, strings.Join(flag.Args(), " "), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run sends one message in a new conversation and tells on out what follows.
func run(ctx context.Context, cfg host.Config, harness, message string, out io.Writer) (err error) {
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		// The agent's process is ended in order even after Ctrl-C.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, h.Close(ctx))
	}()
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	c, err := h.Create(ctx, host.NewConversation{Harness: harness, Cwd: dir})
	if err != nil {
		return err
	}
	turn, err := h.Send(ctx, c.ID, host.Message{Content: host.Text(message)})
	if err != nil {
		return err
	}
	return follow(ctx, h, c, turn, out)
}

// follow reads the journal until the turn has ended or cannot go on.
func follow(ctx context.Context, h *host.Host, c host.Conversation, turn host.Turn, out io.Writer) error {
	streamed := map[string]bool{}
	for ev, err := range h.Events(ctx, c.ID, c.LastSeq) {
		if err != nil {
			return err
		}
		switch ev.Type {
		case host.EventDelta:
			d, err := body[abi.Delta](ev)
			if err != nil {
				return err
			}
			if d.Channel == abi.ChannelText {
				streamed[d.Item] = true
				_, _ = fmt.Fprint(out, d.Text)
			}
		case host.EventItem:
			// It is told when it begins and when it has ended. The deltas of a quick
			// turn may have been replaced by it before we read them.
			i, err := body[abi.Item](ev)
			if err != nil {
				return err
			}
			if i.Type == abi.ItemMessage && i.Status != abi.ItemRunning && !streamed[i.ID] {
				_, _ = fmt.Fprint(out, i.Text)
			}
		case host.EventInteraction:
			card, err := body[host.Interaction](ev)
			if err != nil {
				return err
			}
			if card.State == host.InteractionOpen {
				_, _ = fmt.Fprintf(out, "\n[asks: %s %s]\n", card.Ask.Type, card.Ask.Title)
				if _, err := h.ResolveInput(ctx, c.ID, card.ID, decline(card.Ask)); err != nil {
					return err
				}
			}
		case host.EventProblem:
			p, err := body[abi.Problem](ev)
			if err != nil {
				return err
			}
			if !p.Resolved {
				_, _ = fmt.Fprintf(out, "[problem: %s]\n", p.Message)
			}
		case host.EventQueue:
			// A turn that waits in a held queue does not end by itself.
			q, err := body[host.Queue](ev)
			if err != nil {
				return err
			}
			if q.Held && len(q.Turns) > 0 {
				return &host.Error{Code: q.Reason}
			}
		case host.EventTurn:
			t, err := body[host.Turn](ev)
			if err != nil {
				return err
			}
			if t.ID == turn.ID && t.State.Ended() {
				_, _ = fmt.Fprintf(out, "\n[%s]\n", t.State)
				return nil
			}
		}
	}
	return ctx.Err()
}

// body decodes an event's body as the type that is named beside its EventType.
func body[T any](ev host.Event) (v T, err error) {
	if err = json.Unmarshal(ev.Body, &v); err != nil {
		err = fmt.Errorf("event %d (%s): %w", ev.Seq, ev.Type, err)
	}
	return v, err
}

// decline answers without a person: nothing is permitted and every question is
// skipped. A product shows the card instead, and answers what the person chose.
func decline(ask abi.Interaction) host.Answer {
	switch ask.Type {
	case abi.InteractionQuestion:
		var a host.Answer
		for _, f := range ask.Fields {
			a.Fields = append(a.Fields, abi.FieldAnswer{Field: f.ID, State: abi.StateSkipped})
		}
		return a
	case abi.InteractionForm, abi.InteractionURL:
		return host.Answer{Action: abi.ActionDecline}
	}
	// Cancelling would end the turn; refusing lets the agent go on.
	for _, kind := range []abi.DecisionKind{abi.RejectOnce, abi.RejectAlways, abi.DecisionCancel} {
		for _, d := range ask.Decisions {
			if d.Kind == kind {
				return host.Answer{Decision: d.ID}
			}
		}
	}
	return host.Answer{}
}
