package tui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/host"
)

func TestTheStoryTellsEachEvent(t *testing.T) {
	item := func(i abi.Item) func(*coretest.Fake, string) {
		return func(f *coretest.Fake, turn string) { i.Turn = turn; f.Emit(host.EventItem, turn, i) }
	}
	end := func(s host.TurnState, change func(*host.Turn)) func(*coretest.Fake, string) {
		return func(f *coretest.Fake, turn string) { f.Become(turn, s, change) }
	}
	for _, c := range []struct {
		name string
		do   []func(f *coretest.Fake, turn string)
		want string
	}{
		{"a running command", []func(*coretest.Fake, string){item(abi.Item{ID: "a", Type: abi.ItemCommand, Status: abi.ItemRunning, Title: "ls -l"})}, "▸ $ ls -l …"},
		{"a command that went well", []func(*coretest.Fake, string){item(abi.Item{ID: "a", Type: abi.ItemCommand, Status: abi.ItemCompleted, Title: "ls -l"})}, "▸ $ ls -l"},
		{"a declined edit inside of the project", []func(*coretest.Fake, string){item(abi.Item{ID: "a", Type: abi.ItemEdit, Status: abi.ItemDeclined, Title: "/home/me/project/a.go"})}, "▸ edit a.go: declined"},
		{"what a child agent does", []func(*coretest.Fake, string){item(abi.Item{ID: "a", Type: abi.ItemSearch, Status: abi.ItemCompleted, Title: "TODO", Child: "c"})}, "▸ (child agent) search TODO"},
		{"a kind that is not known", []func(*coretest.Fake, string){item(abi.Item{ID: "a", Type: abi.ItemOther, Native: "hookRun", Status: abi.ItemCompleted, Title: "x"})}, "▸ hookRun x"},
		{"S5: what was replayed is no news", []func(*coretest.Fake, string){item(abi.Item{ID: "a", Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: "old", Replay: true})}, ""},
		{"the item is the authority over what was streamed", []func(*coretest.Fake, string){
			func(f *coretest.Fake, turn string) {
				f.Emit(host.EventDelta, turn, abi.Delta{Item: "m", Channel: abi.ChannelText, Text: "A draft"})
			}, item(abi.Item{ID: "m", Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: "The final text"})}, "The final text"},
		{"a tool that the turn left unfinished", []func(*coretest.Fake, string){item(abi.Item{ID: "a", Type: abi.ItemTool, Status: abi.ItemRunning, Title: "fetch"}), end(host.TurnCompleted, nil)}, "▸ tool fetch: not finished"},
		{"T7: a failure", []func(*coretest.Fake, string){end(host.TurnFailed, func(t *host.Turn) { t.Code, t.Message = string(host.CodeHarnessExited), "It went." })}, "! turn 1 failed. harness_exited: It went. The harness's process ended by itself."},
		{"an uncertain delivery", []func(*coretest.Fake, string){end(host.TurnUncertain, nil)}, "! turn 1 uncertain. uncertain_delivery: It is not known"},
		{"another mode than was asked for", []func(*coretest.Fake, string){
			func(f *coretest.Fake, turn string) { f.Emit(host.EventObserved, turn, abi.Observed{Mode: "default"}) }, end(host.TurnCompleted, nil)}, "! The harness reports mode default; turn 1 asked for plan."},
		{"a permission that was answered for the person", []func(*coretest.Fake, string){func(f *coretest.Fake, turn string) {
			f.Emit(host.EventInteraction, turn, host.Interaction{ID: "i", State: host.InteractionClosed, Turn: turn, Automatic: "auto", Ask: abi.Interaction{Type: abi.InteractionPermission, Title: "Edit"}})
		}}, "answered for you, because of the permission auto"},
		{"a turn that the agent began", []func(*coretest.Fake, string){func(f *coretest.Fake, turn string) { f.Emit(host.EventAgentTurn, "", host.AgentTurn{Running: true}) }}, "* The agent began to work by itself."},
		{"P5: a plan that changed what is remembered", []func(*coretest.Fake, string){func(f *coretest.Fake, _ string) {
			f.Emit(host.EventSettings, "", host.SettingsEvent{Settings: abi.Settings{Mode: "default"}, Revision: 2, Cause: "implement"})
		}}, "* Remembered from now on: mode default, permission default."},
	} {
		r := sit(t, nil)
		turn := r.send("Go")
		before := r.Story(100)
		for _, do := range c.do {
			do(r.f, turn)
		}
		r.read()
		story := r.PlainStory(100)
		if c.want == "" && r.Story(100) != before {
			t.Errorf("%s: the story is\n%s", c.name, story)
		}
		if !strings.Contains(story, c.want) || strings.Contains(story, "A draft") {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, story)
		}
	}
}

func TestTheEndIsFollowedUntilThePersonReadsElsewhere(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("Go")
	say := func(n int) {
		r.f.Say(turn, fmt.Sprint("m", n), fmt.Sprintf("Message %d.", n))
		r.read()
	}
	for n := range 40 {
		say(n)
	}
	r.sees("Message 39.")
	r.Press("pgup")
	before := r.Screen(80, 24)
	r.sees("more below")
	say(40)
	if after := r.Screen(80, 24); after != before {
		t.Errorf("what is read moved:\n%s\nbefore:\n%s", after, before)
	}
	r.Press("pgdown", "pgdown")
	r.sees("Message 40.")
	r.seesNot("more below")
	say(41)
	r.sees("Message 41.")
	r.Press("ctrl+home")
	r.sees("› Go", "Message 0.")
	r.Press("ctrl+end")
	r.sees("Message 41.")
}

func TestAToolCallIsOneLineThatOpens(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("Go")
	long := "grep -rn " + strings.Repeat("needle ", 20) + "."
	r.f.Emit(host.EventItem, turn, abi.Item{Turn: turn, ID: "a", Type: abi.ItemCommand, Status: abi.ItemCompleted, Title: long, Text: "a.go:1:\tneedle\nb.go:2: needle", Data: abi.Raw(`{"exit":0}`)})
	r.f.Emit(host.EventDelta, turn, abi.Delta{Turn: turn, Item: "t", Channel: abi.ChannelReasoning, Text: "**Thinking**\n\nabout it"})
	r.read()
	golden(t, "closed-80x24", r.Screen(80, 24))
	r.Press("tab")
	r.sees("▌∴ Thinking")
	r.Press("enter")
	r.sees("about it")
	r.Press("up", "enter")
	golden(t, "open-80x24", r.Screen(80, 24))
	r.Press("enter")
	r.seesNot("b.go:2")
	r.Press("up", "r", "esc", "x")
	if got := r.Composer(); got != "x" {
		t.Errorf("the composer has %q", got)
	}
}

func TestAnEndedTurnIsSentAgainFromTheStory(t *testing.T) {
	r := sit(t, nil)
	turn := r.send("Go")
	r.Press("tab", "r")
	r.wantCalls()
	r.f.Become(turn, host.TurnFailed, nil)
	r.read()
	r.Press("r")
	r.wantCalls("Retry " + turn)
	r.f.Fail["Retry"] = &host.Error{Code: host.CodeRetryRepeatsWork}
	r.Press("esc", "tab", "r")
	r.sees("press R (capital)")
}
