package host_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scripted"
)

func TestAClosedHostSaysSoToWhateverIsAsked(t *testing.T) {
	t.Parallel()
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

// A host that closes stops what runs as a person does (rule 22), and what waited
// behind it says whose doing that was, in the journal too.
func TestRule22_AQueueThatTheHostsOwnEndHeldDoesNotSayThatAPersonStoppedATurn(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string][]string{"one waits": {"A"}, "several wait": {"A", "B"}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, slow)
			first := r.send("Work")
			r.untilTurn(first.ID, host.TurnRunning)
			for _, text := range behind {
				r.send(text)
			}
			r.restart()
			if q := r.controls().Queue; !q.Held || q.Reason != host.CodeHoldClosed || len(q.Turns) != len(behind) {
				t.Errorf("the queue after the restart: %+v", q)
			}
			if s := r.turn(first.ID).State; s != host.TurnInterrupted {
				t.Errorf("the turn that ran is %s", s)
			}
			for _, ev := range r.journal() {
				if ev.Type == host.EventQueue && strings.Contains(string(ev.Body), `"`+string(host.CodeHoldStopped)+`"`) {
					t.Errorf("the journal says %s", ev.Body)
				}
			}
		})
	}
}

// What a person did before the host closed stays the reason.
func TestRule22_AQueueThatAPersonHeldStaysTheirsWhenTheHostCloses(t *testing.T) {
	t.Parallel()
	r := newRig(t, slow)
	first := r.send("Work")
	r.untilTurn(first.ID, host.TurnRunning)
	r.send("A")
	r.stop(host.StopOptions{Turn: first.ID})
	r.restart()
	if q := r.controls().Queue; !q.Held || q.Reason != host.CodeHoldStopped || len(q.Turns) != 1 {
		t.Errorf("the queue after the restart: %+v", q)
	}
}

func TestAProbeThatMeetsTheHostsEndIsToldThatTheHostIsClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"methods":{"initialize":[{"hang":true}]},"turns":[]}`)
	probed := make(chan error, 1)
	go func() {
		_, err := r.h.Probe(t.Context(), r.conv)
		probed <- err
	}()
	r.until("the start", func() bool { return r.controls().Session.PID != 0 })
	r.close()
	wantCode(t, <-probed, host.CodeClosed)
}

// A message that was being prepared when the host closed never arrived, and no
// person took it back: it waits (rule 19).
func TestRule22_AMessageThatWasBeingPreparedWhenTheHostClosedStaysQueued(t *testing.T) {
	t.Parallel()
	eachACPAgent(t, func(t *testing.T, a actor) {
		option := map[string]string{scripted.ProfileKimchi: "permissions-mode"}[a.profile]
		if option == "" {
			option = "mode"
		}
		r := newACPRig(t, a, strings.Replace(answersAll, "{", `{"behaviour":{"setters":{"`+option+`":"never"}},`, 1), func(c *host.Config) { c.StopGrace = 200 * time.Millisecond })
		r.configure(host.SettingsPatch{Mode: ptr("plan")})
		first, second := r.send("Go"), r.send("And then")
		r.until("the turn to be prepared", func() bool { c := r.controls(); return c.Running != nil && c.Running.Turn == first.ID })
		r.restart()
		if q := r.controls().Queue; !q.Held || q.Reason != host.CodeHoldClosed || !slices.Equal(q.Turns, []string{first.ID, second.ID}) {
			t.Errorf("the queue after the restart: %+v", q)
		}
		if got := r.turn(first.ID); got.State != host.TurnQueued {
			t.Errorf("the message is %s, %q", got.State, got.StopReason)
		}
		if n := r.called("session/prompt"); n != 0 {
			t.Errorf("%d prompts were sent", n)
		}
	})
}
