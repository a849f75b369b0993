package host_test

import (
	"errors"
	"testing"

	"github.com/aoagents/ao-host/host"
)

func TestAClosedHostSaysSoToWhateverIsAsked(t *testing.T) {
	r := newRig(t, echo)
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	if err := r.h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for what, do := range map[string]func() error{
		"conversations": func() error { _, err := r.h.Conversations(ctx); return err },
		"conversation":  func() error { _, err := r.h.Conversation(ctx, r.conv); return err },
		"turns":         func() error { _, err := r.h.Turns(ctx, r.conv); return err },
		"bindings":      func() error { _, err := r.h.Bindings(ctx); return err },
		"allow":         func() error { _, err := r.h.AllowBinding(ctx, "x"); return err },
		"send":          func() error { _, err := r.h.Send(ctx, r.conv, host.Message{Content: host.Text("Go")}); return err },
		"create": func() error {
			_, err := r.h.Create(ctx, host.NewConversation{Harness: "codex", Cwd: r.cwd})
			return err
		},
	} {
		if err := do(); host.CodeOf(err) != host.CodeClosed {
			t.Errorf("%s: %v (%v)", what, err, errors.Unwrap(err))
		}
	}
}
