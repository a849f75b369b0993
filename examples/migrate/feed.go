package migrate

import (
	"context"

	"github.com/aoagents/ao-host/host"
)

// Feed shows a thread's journal to the windows until ctx ends, and goes on after a
// restart where it was. It takes the place of everything that read the agent's
// output.
func Feed(ctx context.Context, h *host.Host, threads Threads, w Windows, thread string) error {
	seen, err := threads.Seen(ctx, thread)
	if err != nil {
		return err
	}
	for ev, err := range h.Events(ctx, thread, seen) {
		if host.CodeOf(err) == host.CodeResync {
			// The journal no longer goes back that far: the windows read Turns, Inputs
			// and Plans as they are now, and the feed goes on from there.
			w.Push(thread, "resync", nil)
			now, err := h.Conversation(ctx, thread)
			if err != nil {
				return err
			}
			if err := threads.SetSeen(ctx, thread, now.LastSeq); err != nil {
				return err
			}
			return Feed(ctx, h, threads, w, thread)
		}
		if err != nil {
			return err
		}
		w.Push(thread, string(ev.Type), ev.Body)
		if ev.Type == host.EventDelta {
			// Text that streams is written down with what ends it.
			continue
		}
		// What was pushed is written down even if the product ends just now: it would
		// else be pushed again.
		if err := threads.SetSeen(context.WithoutCancel(ctx), thread, ev.Seq); err != nil {
			return err
		}
	}
	return ctx.Err()
}
