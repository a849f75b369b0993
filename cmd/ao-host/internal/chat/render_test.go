package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/chat"
	"github.com/aoagents/ao-host/host"
)

func TestAQueuedMessageThatWasEditedIsShownAgainAndOneThatWasMovedIsNot(t *testing.T) {
	var out strings.Builder
	r := chat.NewRenderer(&out, 80, false)
	for i, text := range []string{"first words", "first words", "other words"} {
		body, err := json.Marshal(host.Turn{ID: "t", State: host.TurnQueued, Version: int64(i + 1), Content: host.Text(text)})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Event(host.Event{Seq: uint64(i), Type: host.EventTurn, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	want := "> first words\n[turn 1 queued] mode provider's default, permission default\n> other words\n[turn 1 edited]\n"
	if out.String() != want {
		t.Errorf("shown:\n%swanted:\n%s", out.String(), want)
	}
}

func TestWhatIsInForceIsNotHeldAgainstATurnThatNeverRan(t *testing.T) {
	var out strings.Builder
	r := chat.NewRenderer(&out, 80, false)
	show := func(seq uint64, typ host.EventType, v any) {
		t.Helper()
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Event(host.Event{Seq: seq, Type: typ, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	show(1, host.EventObserved, abi.Observed{Permission: abi.PermissionDefault})
	wished := abi.Settings{Permission: abi.PermissionAuto}
	show(2, host.EventTurn, host.Turn{ID: "a", State: host.TurnCancelled, Settings: wished})
	show(3, host.EventTurn, host.Turn{ID: "b", State: host.TurnCompleted, Settings: wished})
	if n := strings.Count(out.String(), "The harness reports permission default"); n != 1 {
		t.Errorf("it is told %d times:\n%s", n, out.String())
	}
}
