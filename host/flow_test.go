package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// primary is a harness that plans, asks, revises and implements.
const primary = `{"turns":[
 {"when":{"mode":"plan","plan":false},"steps":[
   {"ask":{"id":"q1","questions":[{"id":"name","header":"Name","question":"Which file name?","options":[{"label":"notes.txt","description":"plain"},{"label":"notes.md","description":"markdown"}],"other":true}]}},
   {"plan":"# Plan\n1. Write notes.md\n","intro":"Thanks.\n"}]},
 {"when":{"mode":"plan","plan":true},"steps":[{"plan":"# Plan\n1. Write notes.md\n2. Add a title\n"}]},
 {"when":{"mode":"default"},"steps":[
   {"write_file":{"id":"w1","path":"notes.md","text":"# Notes\n"}},
   {"say":"Implemented."}]}
]}`

func TestPlanQuestionAnswerChangesImplementRunsWithTheRememberedPermission(t *testing.T) {
	t.Parallel()
	r := newRig(t, primary)
	r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionAuto)})
	first := r.send("Take notes")
	if first.State != host.TurnQueued || first.Settings.Mode != "plan" || first.Settings.Permission != abi.PermissionAuto {
		t.Fatalf("accepted turn: %+v", first)
	}

	card := r.untilInput()
	if card.Ask.Type != abi.InteractionQuestion || len(card.Ask.Fields) != 1 || len(card.Ask.Fields[0].Options) != 2 {
		t.Fatalf("card: %+v", card)
	}
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{{Field: "name", State: abi.StateAnswered, Selected: []int64{1}}}})
	r.untilTurn(first.ID, host.TurnCompleted)

	plan := r.untilPlan()
	if !strings.Contains(plan.Text, "1. Write notes.md") {
		t.Fatalf("plan text %q", plan.Text)
	}
	changes, err := r.h.RequestChanges(t.Context(), r.conv, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision, Feedback: "Add a title"})
	if err != nil {
		t.Fatal(err)
	}
	if changes.Settings.Mode != "plan" {
		t.Fatalf("feedback runs in mode %q, want plan (P6)", changes.Settings.Mode)
	}
	r.untilTurn(changes.ID, host.TurnCompleted)
	revised := r.untilPlan()
	if revised.ID == plan.ID || !strings.Contains(revised.Text, "Add a title") {
		t.Fatalf("revised plan: %+v", revised)
	}

	impl, err := r.h.ContinuePlan(t.Context(), r.conv, host.PlanDecision{Proposal: revised.ID, Revision: revised.Revision})
	if err != nil {
		t.Fatal(err)
	}
	if impl.Settings.Mode != "default" || impl.Settings.Permission != abi.PermissionAuto {
		t.Fatalf("implementation settings: %+v", impl.Settings)
	}
	r.untilTurn(impl.ID, host.TurnCompleted)
	got, err := os.ReadFile(filepath.Join(r.cwd, "notes.md"))
	if err != nil || string(got) != "# Notes\n" {
		t.Fatalf("file: %q, %v", got, err)
	}
	c := r.controls()
	if c.Settings.Mode != "default" || c.Settings.Permission != abi.PermissionAuto {
		t.Fatalf("remembered settings after implementing: %+v", c.Settings)
	}
	if c.Observed == nil || c.Observed.Mode != "default" || c.Observed.Permission != abi.PermissionAuto {
		t.Fatalf("observed after implementing: %+v", c.Observed)
	}

	again, err := r.h.ContinuePlan(t.Context(), r.conv, host.PlanDecision{Proposal: revised.ID, Revision: revised.Revision})
	if err != nil || again.ID != impl.ID {
		t.Fatalf("a repeated Implement gave %v, %v; want the first result (rule 17)", again.ID, err)
	}
}

func TestTextsThatNeverEndKeepTheirPlaceAndWhoSaidThem(t *testing.T) {
	t.Parallel()
	gate, goOn := newGate(t)
	r := newRogueRig(t, fmt.Sprintf(`{"turns":[{"steps":[{"run":{"command":"make","approve":true}},{"wait_file":%q},{"say":"Done."}]}]}`, gate))
	turn := r.send("murmur")
	card := r.untilInput()
	r.answer(card.ID, host.Answer{Decision: decision(t, card, abi.AllowOnce)})
	r.closed(card.ID)
	goOn()
	r.untilTurn(turn.ID, host.TurnCompleted)
	var got []string
	for _, ev := range r.journal() {
		switch ev.Type {
		case host.EventInteraction:
			got = append(got, "card")
		case host.EventItem:
			var it abi.Item
			if err := json.Unmarshal(ev.Body, &it); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(it.Text, "Text of ") {
				got = append(got, strings.TrimSpace(it.Text+" "+string(it.Status)+" "+it.Child))
			}
		}
	}
	// Open, claimed and closed is the card.
	want := "Text of c running, Text of b running kid, Text of a running, card, card, card, " +
		"Text of c incomplete, Text of b incomplete kid, Text of a incomplete"
	if strings.Join(got, ", ") != want {
		t.Fatalf("told:\n%s\nwant:\n%s", strings.Join(got, ", "), want)
	}
}

func TestWhatIntroducesAPlanStandsBeforeItAlsoForWhoReadsLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, primary)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	turn := r.send("Take notes")
	r.answer(r.untilInput().ID, host.Answer{Fields: []abi.FieldAnswer{{Field: "name", State: abi.StateAnswered, Selected: []int64{0}}}})
	r.untilTurn(turn.ID, host.TurnCompleted)
	r.until("the deltas to be replaced", func() bool { return len(bodies[abi.Delta](r, host.EventDelta)) == 0 })
	var introduced, proposed uint64
	for _, ev := range r.journal() {
		switch {
		case introduced == 0 && ev.Type == host.EventItem && strings.Contains(string(ev.Body), "Thanks."):
			introduced = ev.Seq
		case proposed == 0 && ev.Type == host.EventProposal:
			proposed = ev.Seq
		}
	}
	if introduced == 0 || proposed == 0 || introduced > proposed {
		t.Fatalf("the introduction is event %d, the plan %d", introduced, proposed)
	}
	if said := r.texts(abi.ItemMessage); len(said) == 0 || strings.Count(strings.Join(said, "\n"), "Thanks.") != 1 {
		t.Fatalf("said %q", said)
	}
}
