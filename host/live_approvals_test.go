package host_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

// escalates asks to run a command outside of the sandbox, which needs approval in
// every sandbox.
func escalates(id, command string) model.Step {
	return calls(id, "exec_command", `{"cmd":`+strconv.Quote(command)+`,"sandbox_permissions":"require_escalated","justification":"because of `+id+`"}`)
}

func offered(card host.Interaction, id string) *abi.Decision {
	for i, d := range card.Ask.Decisions {
		if d.ID == id {
			return &card.Ask.Decisions[i]
		}
	}
	return nil
}

func TestLiveC7_ACommandsApprovalOffersWhatCodexOffersAndDoesWhatWasDecided(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{},
			on("Plan", escalates("call_p", "echo planned >> ran.txt")), after("call_p", says("Looked around.")),
			on("Go", escalates("call_a", "touch accepted.txt && echo yes > accepted.txt")), after("call_a", escalates("call_b", "touch always.txt")),
			after("call_b", escalates("call_c", "touch always.txt")), after("call_c", says("All done.")),
			on("Stop there", escalates("call_d", "touch cancelled.txt")), on("Go on", says("Done.")))

		// P4: an approval while planning does not end the plan.
		l.configure(host.SettingsPatch{Mode: ptr("plan")})
		planning := l.send("Plan")
		card := l.untilInput()
		l.answer(card.ID, host.Answer{Decision: "accept"})
		l.untilTurn(planning.ID, host.TurnCompleted)
		if o := l.controls().Observed; o == nil || o.Mode != "plan" || l.file("ran.txt") != "planned\n" {
			t.Fatalf("in force after an approval in plan: %+v", o)
		}

		l.configure(host.SettingsPatch{Mode: ptr("default")})
		turn := l.send("Go")
		card = l.untilInput()
		a := card.Ask
		// C8: the whole command.
		if a.Type != abi.InteractionPermission || !a.Blocking || a.Text != "because of call_a" || !strings.Contains(a.Command, "touch accepted.txt && echo yes > accepted.txt") || a.Cwd != l.cwd {
			t.Fatalf("card %+v", a)
		}
		accept, cancel, always := offered(card, "accept"), offered(card, "cancel"), offered(card, "acceptWithExecpolicyAmendment")
		if len(a.Decisions) != 3 || accept == nil || accept.Kind != abi.AllowOnce || cancel == nil || cancel.Kind != abi.DecisionCancel || always == nil || always.Kind != abi.AllowAlways {
			t.Fatalf("decisions %+v", a.Decisions)
		}
		// Codex would take a decline although it does not offer it; nor do we.
		_, err := l.h.ResolveInput(t.Context(), l.conv, card.ID, host.Answer{Decision: "decline"})
		wantCode(t, err, host.CodeAnswerOption)
		// Q6: a queued message is no approval.
		queued := l.send("Stop there")
		l.answer(card.ID, host.Answer{Decision: "accept"})

		card = l.untilInput()
		if always = offered(card, "acceptWithExecpolicyAmendment"); always == nil || !strings.HasSuffix(always.Label, ": touch always.txt") {
			t.Fatalf("decisions %+v", card.Ask.Decisions)
		}
		l.answer(card.ID, host.Answer{Decision: always.ID})
		// The same command is not asked about again.
		l.untilTurn(turn.ID, host.TurnCompleted)
		if got := l.file("accepted.txt"); got != "yes\n" {
			t.Errorf("the accepted command wrote %q", got)
		}
		l.file("always.txt")

		card = l.untilInput()
		if card.Turn != queued.ID {
			t.Fatalf("card of turn %s", card.Turn)
		}
		l.answer(card.ID, host.Answer{Decision: "cancel"})
		l.untilTurn(queued.ID, host.TurnInterrupted)
		if _, err := os.Stat(filepath.Join(l.cwd, "cancelled.txt")); err == nil {
			t.Error("a cancelled command ran")
		}
		next := l.send("Go on")
		l.untilTurn(next.ID, host.TurnCompleted)
		cards := 0
		for _, in := range l.untilClosed() {
			cards++
			if in.Disposition != abi.DispositionAnswered || in.Reply == nil || in.Reply.Decision == "" {
				t.Errorf("closed card %+v", in)
			}
		}
		if cards != 4 {
			t.Errorf("%d cards were closed, want 4", cards)
		}
	})
}

func TestLiveAnEditIsShownWithItsChangesAndDoneOrDeclined(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{},
			on("Go", patches("call_a", "*** Add File: yes.txt\n+yes\n")), after("call_a", patches("call_b", "*** Add File: no.txt\n+no\n")), after("call_b", says("One of two.")))
		turn := l.send("Go")
		card := l.untilInput()
		if card.Ask.Type != abi.InteractionPermission || !strings.HasSuffix(card.Ask.Title, "/yes.txt") || !strings.Contains(string(card.Ask.Detail), "yes") {
			t.Fatalf("card %+v %s", card.Ask, card.Ask.Detail)
		}
		l.answer(card.ID, host.Answer{Decision: "accept"})
		card = l.untilInput()
		l.answer(card.ID, host.Answer{Decision: "decline"})
		// decline goes on.
		l.untilTurn(turn.ID, host.TurnCompleted)
		if got := l.file("yes.txt"); got != "yes\n" {
			t.Errorf("the accepted edit wrote %q", got)
		}
		if _, err := os.Stat(filepath.Join(l.cwd, "no.txt")); err == nil {
			t.Error("a declined edit was done")
		}
		last := map[string]abi.ItemStatus{}
		for _, it := range bodies[abi.Item](l.rig, host.EventItem) {
			if it.Type == abi.ItemEdit {
				last[filepath.Base(it.Title)] = it.Status
			}
		}
		if last["yes.txt"] != abi.ItemCompleted || last["no.txt"] != abi.ItemDeclined {
			t.Errorf("items %v", last)
		}
	})
}

func TestLiveRule14_AStopTakesAPendingApprovalBackAndNothingRuns(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Go on", says("Done.")),
			on("Command", escalates("call_a", "touch ran.txt")), on("Edit", patches("call_b", "*** Add File: ran.txt\n+ran\n")))
		for _, text := range []string{"Command", "Edit"} {
			turn := l.send(text)
			card := l.untilInput()
			l.stop(host.StopOptions{Turn: turn.ID})
			l.untilTurn(turn.ID, host.TurnInterrupted)
			_, err := l.h.ResolveInput(t.Context(), l.conv, card.ID, host.Answer{Decision: "accept"})
			wantCode(t, err, host.CodeInteractionStale)
		}
		next := l.send("Go on")
		l.untilTurn(next.ID, host.TurnCompleted)
		if _, err := os.Stat(filepath.Join(l.cwd, "ran.txt")); err == nil {
			t.Error("what was pending ran")
		}
		if n := len(l.asked("Command")) + len(l.asked("Edit")); n != 2 {
			t.Errorf("the model was asked %d times in the stopped turns, want 2", n)
		}
		if g := l.generation(); g != 1 {
			t.Errorf("generation %d", g)
		}
		for _, in := range l.untilClosed() {
			if in.Disposition != abi.DispositionCancelled {
				t.Errorf("card ended %s, want cancelled", in.Disposition)
			}
		}
	})
}

func TestLiveAutoLetsAModelReviewInThePlaceOfThePerson(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{},
			on("Go", escalates("call_a", "touch denied.txt")), after("call_a", escalates("call_b", "touch allowed.txt")), after("call_b", says("One of two.")),
			model.Step{Match: model.Match{Kind: model.KindReview}, Reply: []model.Action{model.Verdict(false, "not today")}},
			model.Step{Match: model.Match{Kind: model.KindReview}, Reply: []model.Action{model.Verdict(true, "fine")}})
		l.configure(host.SettingsPatch{Permission: ptr(abi.PermissionAuto)})
		turn := l.send("Go")
		l.untilTurn(turn.ID, host.TurnCompleted)
		if cards := bodies[host.Interaction](l.rig, host.EventInteraction); len(cards) != 0 {
			t.Fatalf("the person was asked: %+v", cards)
		}
		if _, err := os.Stat(filepath.Join(l.cwd, "denied.txt")); err == nil {
			t.Error("a denied command ran")
		}
		l.file("allowed.txt")
		// The denial is told.
		told := false
		for _, ev := range l.journal() {
			told = told || strings.Contains(string(ev.Body), "not today")
		}
		if !told {
			t.Error("nothing in the journal says why the command was denied")
		}
	})
}

func TestLiveRule15_FormsAndURLsOfAToolServerPassThrough(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		tool := func(id, name, arguments string) model.Step {
			return model.Step{Reply: []model.Action{{Call: &model.ToolCall{ID: id, Namespace: "mcp__lab", Name: name, Arguments: []byte(arguments)}}}}
		}
		const schema = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
		l := newLive(t, version, liveOptions{codex: lab.CodexOptions{Extra: "[mcp_servers.lab]\ncommand = " + strconv.Quote(exe) + "\nargs = [\"" + serveMCP + "\"]"}},
			on("Go on", says("Done.")),
			on("Ask", tool("call_f", "form", `{"message":"Fill in","schema":`+schema+`}`)),
			after("call_f", tool("call_u", "url", `{"message":"Visit","url":"https://example.com/x"}`)),
			after("call_u", tool("call_s", "form", `{"message":"Stop here","schema":`+schema+`}`)))
		turn := l.send("Ask")
		card := l.untilInput()
		if card.Ask.Type != abi.InteractionForm || card.Ask.Text != "Fill in" || !strings.Contains(string(card.Ask.Schema), `"required":["name"]`) || len(card.Ask.Fields) != 0 {
			t.Fatalf("card %+v %s", card.Ask, card.Ask.Schema)
		}
		l.answer(card.ID, host.Answer{Action: abi.ActionAccept, Content: abi.Raw(`{"name":"Ada, \"the\" first"}`)})
		card = l.untilInput()
		if card.Ask.Type != abi.InteractionURL || card.Ask.URL != "https://example.com/x" || card.Ask.Text != "Visit" {
			t.Fatalf("card %+v", card.Ask)
		}
		l.answer(card.ID, host.Answer{Action: abi.ActionDecline})
		l.untilInput()
		l.stop(host.StopOptions{Turn: turn.ID})
		l.untilTurn(turn.ID, host.TurnInterrupted)
		next := l.send("Go on")
		l.untilTurn(next.ID, host.TurnCompleted)
		if n := len(l.asked("Ask")); n != 3 {
			t.Errorf("the model was asked %d times in the stopped turn, want 3", n)
		}
		body := string(l.asked("Go on")[0].Body)
		for _, want := range []string{`Ada, `, `decline`} {
			if !strings.Contains(body, want) {
				t.Errorf("the server's answers lack %s", want)
			}
		}
	})
}
