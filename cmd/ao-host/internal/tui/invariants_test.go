package tui_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/host"
)

// texts are what agents and people write.
var texts = []string{"", "short", "a line that is quite a bit longer than a narrow terminal is wide", "two\nlines", "日本語のテキスト 🔥 wide", "\x1b[31mred\x1b[0m\ttab", "# Head\n\n- a\n- b\n\n```\ncode\n```\n", strings.Repeat("word ", 200)}

// happen lets something happen at the host.
func happen(t *rapid.T, f *coretest.Fake, turn string) {
	text := rapid.SampledFrom(texts).Draw(t, "text")
	id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
	switch rapid.IntRange(0, 12).Draw(t, "event") {
	case 0:
		f.Emit(host.EventDelta, turn, abi.Delta{Turn: turn, Item: id, Channel: abi.ChannelText, Text: text})
	case 1:
		f.Emit(host.EventDelta, turn, abi.Delta{Turn: turn, Item: "r" + id, Channel: abi.ChannelReasoning, Text: text})
	case 2:
		f.Emit(host.EventItem, turn, abi.Item{Turn: turn, ID: id, Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: text})
	case 3:
		f.Emit(host.EventItem, turn, abi.Item{Turn: turn, ID: "t" + id, Type: abi.ItemCommand, Status: rapid.SampledFrom([]abi.ItemStatus{abi.ItemRunning, abi.ItemCompleted, abi.ItemFailed}).Draw(t, "status"), Title: text, Text: text})
	case 4:
		f.Emit(host.EventProgress, turn, abi.Progress{Turn: turn, Note: text, Entries: []abi.ProgressStep{{Text: text, Status: "running"}, {Text: text, Status: "completed"}}})
	case 5:
		f.Emit(host.EventWarning, turn, abi.Warning{Code: "code", Message: text})
	case 6:
		f.Ask(turn, abi.Interaction{Type: abi.InteractionQuestion, Route: abi.RouteNative, Title: text, Text: text, Fields: []abi.Field{
			{ID: "x", Header: text, Text: text, MultiSelect: rapid.Bool().Draw(t, "multi"), Other: true, Options: []abi.Option{{Label: text, Description: text, Preview: text}, {Label: "two"}}},
			{ID: "y", Text: text, Secret: true},
		}})
	case 7:
		f.Ask(turn, abi.Interaction{Type: abi.InteractionPermission, Route: abi.RouteNative, Command: text, Cwd: text, Decisions: []abi.Decision{{ID: "y", Label: text, Kind: abi.AllowOnce, Feedback: true}, {ID: "n", Label: "no"}}})
	case 8:
		f.Propose(host.Proposal{Revision: 1, Turn: turn, Route: abi.RouteFollowUp, Text: text})
	case 9:
		if open, err := f.Inputs(t.Context(), conversation); err == nil && len(open) > 0 {
			f.CloseCard(open[0].ID, abi.DispositionExpired)
		}
	case 10:
		f.Hold(rapid.SampledFrom([]host.Code{"", host.CodeHoldStopped}).Draw(t, "hold"))
	case 11:
		f.Become(turn, rapid.SampledFrom([]host.TurnState{host.TurnRunning, host.TurnCompleted, host.TurnFailed, host.TurnUncertain}).Draw(t, "state"), nil)
	case 12:
		f.Emit(host.EventProblem, turn, abi.Problem{Code: "p", Field: id, Message: text, Resolved: rapid.Bool().Draw(t, "resolved")})
	}
}

func TestWhateverHappensTheScreenHasItsSizeAndTheChatGoesOn(t *testing.T) {
	keys := []string{"enter", "esc", "tab", "up", "down", "pgup", "pgdown", "home", "end", "space", "1", "2", "3", "x", "e", "J", "r", "backspace", "alt+enter", "shift+tab", "left",
		"f1", "f2", "f3", "f4", "f5", "ctrl+s", "ctrl+y", "ctrl+home", "ctrl+end", "日"}
	rapid.Check(t, func(rt *rapid.T) {
		r := sit(t, nil)
		turn := r.send("Go")
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0, 1:
				happen(rt, r.f, turn)
				r.read()
			case 2, 3:
				r.Press(rapid.SampledFrom(keys).Draw(rt, "key"))
			case 4:
				r.Paste(rapid.SampledFrom(texts).Draw(rt, "paste"))
			}
			w, h := rapid.IntRange(1, 130).Draw(rt, "width"), rapid.IntRange(1, 45).Draw(rt, "height")
			lines := r.Styled(w, h)
			if !r.Left() && len(lines) != h {
				rt.Fatalf("%d lines at %dx%d:\n%s", len(lines), w, h, r.Screen(w, h))
			}
			for _, l := range lines {
				if n := ansi.StringWidth(l); n > w {
					rt.Fatalf("%d columns at %dx%d: %q", n, w, h, l)
				}
				if strings.ContainsAny(l, "\n\t\r") {
					rt.Fatalf("a line is not one: %q", l)
				}
			}
			if x, y, ok := r.Cursor(); ok && (x < 0 || x > w || y < 0 || y >= h) {
				rt.Fatalf("the cursor is at %d,%d of %dx%d:\n%s", x, y, w, h, r.Screen(w, h))
			}
		}
	})
}

func TestTheStoryIsTheSameHoweverItWasRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := sit(t, nil)
		turn := r.send("Go")
		for range rapid.IntRange(1, 25).Draw(rt, "events") {
			happen(rt, r.f, turn)
			if rapid.Bool().Draw(rt, "read") {
				r.read()
				r.Screen(80, 24)
			}
		}
		r.read()
		// A second person who comes now reads everything at once.
		later := again(t, r.f)
		if a, b := r.Story(100), later.Story(100); a != b {
			rt.Fatalf("read bit by bit:\n%s\nread at once:\n%s", a, b)
		}
	})
}
