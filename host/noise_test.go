package host_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func TestT1_T3_T4_NoiseUnknownThingsAndJunkDisturbNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[
	 {"raw":"plain text from a wrapper script"},
	 {"raw":""},
	 {"raw_base64":"77u/eyJtZXRob2QiOiJ0dXJuL3VuaGVhcmRPZiIsInBhcmFtcyI6e319"},
	 {"raw_base64":"eyJtZXRob2QiOiLD"},
	 {"raw":"{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse error\"}}"},
	 {"raw":"{\"id\":7,\"result\":{}}"},
	 {"raw":"{\"id\":\"1.1.0\",\"result\":{}}"},
	 {"raw":"{\"id\":\"never\",\"result\":{}}"},
	 {"raw":"[{\"method\":\"a\"}]"},
	 {"notify":{"method":"turn/unheardOf","params":null}},
	 {"notify":{"method":"item/started","params":{"item":null,"threadId":5}}},
	 {"notify":{"method":"thread/tokenUsage/updated","params":{"tokenUsage":"many"}}},
	 {"item":{"type":"hologram","id":"h1","depth":3}},
	 {"say":"Still fine."}]}]}`)
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	second := r.send("Again")
	r.untilTurn(second.ID, host.TurnCompleted)
	if got := r.texts(abi.ItemMessage); strings.Join(got, "|") != "Still fine.|Still fine." {
		t.Fatalf("messages %q", got)
	}
	skipped, unknown := 0, 0
	for _, w := range bodies[abi.Warning](r, host.EventWarning) {
		if w.Code == string(host.CodeLineSkipped) {
			skipped++
		}
	}
	for _, it := range bodies[abi.Item](r, host.EventItem) {
		if it.Native == "hologram" && it.Type == abi.ItemOther && strings.Contains(string(it.Data), "depth") {
			unknown++
		}
	}
	if skipped != 1 {
		t.Fatalf("%d warnings about skipped lines, want one for the whole generation", skipped)
	}
	if unknown == 0 {
		t.Fatal("the unknown item was dropped")
	}
}

func TestT2_AnOverlongLineIsSkippedReportedAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"delta", "junk", "request", "response"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"say":"Before."},{"huge":{"bytes":300000,"kind":"`+kind+`"}},{"say":"After."}]},{"repeat":true,"steps":[{"say":"Next."}]}]}`,
				func(c *host.Config) { c.MaxLine = 100_000 })
			first := r.send("Go")
			r.untilTurn(first.ID, host.TurnCompleted)
			next := r.send("Next")
			if kind == "response" {
				// The answer to turn/start itself was lost: what it carried is unknown.
				r.until("the turn to end", func() bool { return r.turn(next.ID).State.Ended() })
			} else {
				r.untilTurn(next.ID, host.TurnCompleted)
			}
			n := 0
			for _, w := range bodies[abi.Warning](r, host.EventWarning) {
				if w.Code == string(host.CodeLineSkipped) {
					n++
				}
			}
			if n == 0 {
				t.Fatal("the skipped line was not told")
			}
			last := r.send("Last")
			if kind == "response" {
				if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
					t.Fatal(err)
				}
			}
			r.untilTurn(last.ID, host.TurnCompleted)
		})
	}
}

func TestT2_ABurstOfNotificationsArrivesWholeAndInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[{"burst":{"count":20000,"text":"0123456789"}},{"say":"Done."}]}]}`)
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	got := r.texts(abi.ItemMessage)
	if len(got) != 2 || len(got[0]) != 200_000 || got[1] != "Done." {
		t.Fatalf("%d messages, first of %d bytes", len(got), len(got[0]))
	}
	// At the turn's end the items have taken the place of the deltas.
	if d := bodies[abi.Delta](r, host.EventDelta); len(d) != 0 {
		t.Fatalf("%d deltas are left in the journal", len(d))
	}
}

func TestT6_UpdatesAfterTheTurnsEndBelongToNoLaterTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"run":{"command":"sleep 1","approve":false,"takes_ms":60000,"late_ms":150}}]},{"repeat":true,"steps":[{"delay_ms":400},{"say":"Second."}]}]}`)
	first := r.send("Go")
	r.untilTurn(first.ID, host.TurnRunning)
	r.until("the command to run", func() bool { return len(bodies[abi.Item](r, host.EventItem)) > 0 })
	r.stop(host.StopOptions{})
	r.untilTurn(first.ID, host.TurnInterrupted)
	second := r.send("Next")
	r.untilTurn(second.ID, host.TurnCompleted)
	for _, it := range bodies[abi.Item](r, host.EventItem) {
		if it.Type == abi.ItemCommand && it.Turn == second.ID {
			t.Fatalf("the late item is counted to the second turn: %+v", it)
		}
	}
}

func TestT7_AProviderFailureIsAFailedTurnWithAReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"fail":{"code":"badRequest","message":"The request was refused."}}]}]}`)
	turn := r.send("Go")
	got := r.untilTurn(turn.ID, host.TurnFailed)
	if !strings.Contains(got.Message, "refused") || got.Code == "" {
		t.Fatalf("turn %+v", got)
	}
}

func TestRule21_AHarnessThatExitsInATurnLeavesItFailedWithItsLastWords(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"say":"Half a"},{"stderr":"panic: out of cheese"},{"exit":7}]},{"repeat":true,"steps":[{"say":"Back."}]}]}`)
	first := r.send("Go")
	waiting := r.send("Later")
	got := r.untilTurn(first.ID, host.TurnFailed)
	if got.Code != string(host.CodeHarnessExited) || !strings.Contains(got.Message, "out of cheese") || !strings.Contains(got.Message, "7") {
		t.Fatalf("turn %+v", got)
	}
	r.until("the queue to be held", func() bool { return r.controls().Queue.Held })
	if s := r.turn(waiting.ID).State; s != host.TurnQueued {
		t.Fatalf("the waiting message is %s", s)
	}
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(waiting.ID, host.TurnCompleted)
}

func TestRule20_ASendInFlightAtExitIsUncertainUntilTheHistorySettlesIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"exit_before_message":9},{"repeat":true,"steps":[{"say":"Back."}]}]}`)
	first := r.send("Go")
	r.until("the turn to leave the running state", func() bool {
		s := r.turn(first.ID).State
		return s == host.TurnUncertain || s == host.TurnCompleted || s == host.TurnInterrupted
	})
	if s := r.turn(first.ID).State; s != host.TurnUncertain {
		t.Fatalf("in flight at exit, the turn is %s", s)
	}
	r.script(echo)
	next := r.send("Next")
	r.untilTurn(next.ID, host.TurnCompleted)
}

func TestRule21_AClosedStdoutIsNotAnExitButEndsTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":1},"steps":[{"say":"Bye."},{"close_stdout":true},{"hang":true}]},{"repeat":true,"steps":[{"say":"Back."}]}]}`)
	first := r.send("Go")
	r.untilTurn(first.ID, host.TurnFailed)
	next := r.send("Next")
	r.untilTurn(next.ID, host.TurnCompleted)
}

func TestWhatIsKeptOfItemsThatNeverEndIsBounded(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat(`{"huge":{"bytes":4000000,"kind":"delta"}},`, 6)
	r := newRig(t, `{"turns":[{"steps":[`+huge+`{"say":"Enough."}]}]}`)
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	kept, items := 0, 0
	for _, it := range bodies[abi.Item](r, host.EventItem) {
		if it.Status == abi.ItemIncomplete {
			items++
			kept += len(it.Text)
		}
	}
	if items != 6 || kept < 16_000_000 || kept > 16<<20 {
		t.Fatalf("%d bytes of %d items are kept", kept, items)
	}
}
