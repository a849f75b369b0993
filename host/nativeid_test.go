package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// longIDs streams two items, asks and proposes under ids of a megabyte that differ in
// their last letter only.
func longIDs() string {
	id := func(last string) string { return strings.Repeat("i", 1<<20) + last }
	var steps strings.Builder
	for n := range 10 {
		for _, last := range []string{"a", "b"} {
			fmt.Fprintf(&steps, `{"notify":{"method":"item/agentMessage/delta","params":{"itemId":%q,"delta":"%s%d "}}},{"delay_ms":30},`, id(last), last, n)
		}
	}
	fmt.Fprintf(&steps, `{"item":{"type":"agentMessage","id":%q,"text":"the end of a"}},`, id("a"))
	fmt.Fprintf(&steps, `{"ask":{"id":%q,"questions":[{"id":"name","question":"Which?","options":[{"label":"x","description":""}]}]}},`, id("q"))
	return `{"turns":[{"steps":[` + steps.String() + `{"plan":"# Plan"}]}]}`
}

func TestIdsOfAMegabyteAreStoredShortAndStillTellThingsApart(t *testing.T) {
	t.Parallel()
	r := newRig(t, longIDs())
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	turn := r.send("Go")
	card := r.untilInput()
	// While the turn runs its deltas are in the journal.
	items, rows := map[string]string{}, 0
	for _, d := range bodies[abi.Delta](r, host.EventDelta) {
		items[d.Item] += d.Text
		rows++
	}
	size := 0
	for _, ev := range r.journal() {
		size += len(ev.Body)
	}
	if rows < 10 || size > 100_000 {
		t.Errorf("%d deltas, %d bytes of journal", rows, size)
	}
	said := map[string]bool{}
	for id, text := range items {
		if len(id) > 200 {
			t.Errorf("an id of %d bytes", len(id))
		}
		said[text] = true
	}
	if len(items) != 2 || !said["a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 "] || !said["b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 "] {
		t.Errorf("said %v under %d ids", said, len(items))
	}
	if n := len(card.Ask.NativeItem); n > 200 {
		t.Errorf("the card names an item of %d bytes", n)
	}
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{{Field: "name", State: abi.StateAnswered, Selected: []int64{0}}}})
	r.untilTurn(turn.ID, host.TurnCompleted)
	// What was finished stands under the id it was streamed under; what was not is kept.
	whole := map[string]string{}
	for _, it := range bodies[abi.Item](r, host.EventItem) {
		if _, streamed := items[it.ID]; streamed {
			whole[it.Text] = string(it.Status)
		}
	}
	if whole["the end of a"] != string(abi.ItemCompleted) || whole["b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 "] != string(abi.ItemIncomplete) || len(whole) != 2 {
		t.Errorf("items %v", whole)
	}
}
