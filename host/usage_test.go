package host_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// What the context holds is the newest value; what was spent only grows.
func TestD7_AGaugeIsReplacedAndACounterGrows(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[
		{"steps":[{"usage":{"input":9000,"cached":0,"output":100,"reasoning":0,"window":100000}},{"say":"one"}]},
		{"steps":[{"usage":{"input":2000,"cached":0,"output":50,"reasoning":0,"window":100000}},{"say":"two"}]}]}`)
	value := func(list []abi.Metric, name string) string {
		for _, m := range list {
			if m.Name == name {
				return fmt.Sprint(m.Value)
			}
		}
		return "none"
	}
	see := func() (gauge, counter string) {
		u := r.controls().Usage
		if u == nil {
			t.Fatal("no usage is shown")
		}
		for _, g := range u.Gauges {
			if c := value(u.Counters, g.Name); c != "none" {
				t.Errorf("%s is a gauge and a counter", g.Name)
			}
		}
		return value(u.Gauges, "context_tokens"), value(u.Counters, "output_tokens")
	}
	r.untilTurn(r.send("one").ID, host.TurnCompleted)
	g1, c1 := see()
	r.untilTurn(r.send("two").ID, host.TurnCompleted)
	g2, c2 := see()
	// The agent itself counts a call of 100 and 20 tokens at the end of a turn.
	if g1 != "120" || g2 != "120" || c1 != "120" || c2 != "190" {
		t.Errorf("the context holds %s, then %s; %s and then %s were written", g1, g2, c1, c2)
	}
	var held []string
	for _, ev := range r.journal() {
		var u abi.Usage
		if ev.Type == host.EventUsage && json.Unmarshal(ev.Body, &u) == nil {
			held = append(held, value(u.Gauges, "context_tokens"))
		}
	}
	if diff := cmp.Diff([]string{"9100", "120", "2050", "120"}, held); diff != "" {
		t.Error(diff)
	}
}

// A child's request can overtake the event that tells of the child.
func TestC9_AChildsApprovalBeforeTheChildReachesThePerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[
		{"child":{"prompt":"Look","early":true,"steps":[{"run":{"command":"ls","approve":true,"output":"x"}},{"say":"child done"}]}},
		{"say":"parent done"}]}]}`)
	turn := r.send("Go")
	card := r.untilInput()
	if card.Ask.Type != abi.InteractionPermission {
		t.Fatalf("the card is %+v", card.Ask)
	}
	for _, d := range card.Ask.Decisions {
		if d.Kind == abi.AllowOnce {
			r.answer(card.ID, host.Answer{Decision: d.ID})
			break
		}
	}
	r.untilTurn(turn.ID, host.TurnCompleted)
}
