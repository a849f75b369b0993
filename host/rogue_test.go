package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/host"
)

// rogueModule builds testdata/rogue and packs it with the manifest and schemas of
// the shipped binding, under a harness id of its own.
var rogueModule = sync.OnceValues(func() ([]byte, error) {
	raw, err := buildGuest("rogue")
	if err != nil {
		return nil, err
	}
	shipped, err := os.ReadFile(filepath.Join("..", "bindings-wasm", "codex.wasm"))
	if err != nil {
		return nil, err
	}
	m, err := module.ReadManifest(shipped)
	if err != nil {
		return nil, err
	}
	m.Harness, m.Title = "rogue", "Rogue"
	sch, err := module.ReadSchemas(shipped)
	if err != nil {
		return nil, err
	}
	return module.Pack(raw, m.AppendJSON(nil), sch)
})

// repack changes the manifest of a module.
func repack(t *testing.T, wasm []byte, change func(*abi.Manifest)) []byte {
	t.Helper()
	m, err := module.ReadManifest(wasm)
	if err != nil {
		t.Fatal(err)
	}
	sch, err := module.ReadSchemas(wasm)
	if err != nil {
		t.Fatal(err)
	}
	change(&m)
	out, err := module.Pack(wasm, m.AppendJSON(nil), sch)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// newRogueRig drops the module into the bindings folder and allows it, as a person
// would with a stranger's.
func newRogueRig(t *testing.T, script string, changes ...func(*abi.Manifest)) *rig {
	t.Helper()
	return newRogueRigWith(t, script, nil, changes...)
}

func newRogueRigWith(t *testing.T, script string, opts []func(*host.Config), changes ...func(*abi.Manifest)) *rig {
	t.Helper()
	wasm, err := rogueModule()
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		wasm = repack(t, wasm, change)
	}
	r := newRig(t, script, append(opts, func(c *host.Config) { c.Launch["rogue"] = c.Launch["codex"] })...)
	drop := filepath.Join(r.dir, "bindings")
	if err := os.MkdirAll(drop, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(drop, "rogue.wasm"), wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = r.h.Create(t.Context(), host.NewConversation{Harness: "rogue", Cwd: r.cwd})
	wantCode(t, err, host.CodeBindingNotAllowed)
	if _, err := r.h.AllowBinding(t.Context(), "rogue"); err != nil {
		t.Fatal(err)
	}
	c, err := r.h.Create(t.Context(), host.NewConversation{Harness: "rogue", Cwd: r.cwd})
	if err != nil {
		t.Fatal(err)
	}
	r.conv = c.ID
	return r
}

func (r *rig) warnings(code string) []string {
	var out []string
	for _, w := range bodies[abi.Warning](r, host.EventWarning) {
		if w.Code == code {
			out = append(out, w.Message)
		}
	}
	return out
}

func TestABindingThatTrapsLoopsOrFloodsIsStoppedAndTheConversationSurvives(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"trap", "loop", "flood"} {
		t.Run(how, func(t *testing.T) {
			r := newRogueRig(t, echo)
			good := r.send("hello")
			r.untilTurn(good.ID, host.TurnCompleted)
			bad := r.send(how)
			r.until("the fault to be told", func() bool { return len(r.warnings(string(host.CodeBindingFault))) == 1 })
			r.until("the harness to be ended", func() bool { return r.controls().Session.State == host.SessionNone })
			// Nothing of it was sent, so it is still accepted and waits.
			if s := r.turn(bad.ID).State; s != host.TurnQueued {
				t.Fatalf("the turn is %s", s)
			}
			if _, err := r.h.CancelQueued(t.Context(), r.conv, bad.ID); err != nil {
				t.Fatal(err)
			}
			again := r.send("hello again")
			r.untilTurn(again.ID, host.TurnCompleted)
			if g := r.controls().Session.Generation; g != 2 {
				t.Fatalf("generation %d", g)
			}
		})
	}
}

func TestRule20_ATurnThatABindingFaultCutOffIsUncertainAndNeverSentAgain(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, `{"turns":[{"repeat":true,"steps":[{"say":"Working."},{"say":"Done."}]}]}`)
	turn := r.send("trap while it runs")
	got := r.untilTurn(turn.ID, host.TurnUncertain)
	if got.Code != string(host.CodeBindingFault) || got.StartedAt == nil {
		t.Fatalf("the turn %+v", got)
	}
	// The next session proves what there is to prove.
	next := r.send("And now")
	r.untilTurn(next.ID, host.TurnCompleted)
	if got = r.turn(turn.ID); got.State != host.TurnInterrupted || got.Code != string(host.CodeBindingFault) {
		t.Fatalf("the turn is %s (%s, %s)", got.State, got.Evidence, got.Code)
	}
	if n := inHistory(t, r.home, turn.ClientID); n != 1 {
		t.Fatalf("it was delivered %d times", n)
	}
}

func TestABindingThatFaultsThreeTimesInAMinuteIsQuarantinedForOne(t *testing.T) {
	start := time.Now()
	var passed atomic.Int64
	r := newRogueRigWith(t, echo, []func(*host.Config){func(c *host.Config) {
		c.Clock = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	}})
	bad := r.send("trap")
	for i := range 3 {
		r.until("a fault", func() bool { return len(r.warnings(string(host.CodeBindingFault))) == i+1 })
		r.until("the harness to be ended", func() bool { return r.controls().Session.State == host.SessionNone })
		if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
			t.Fatal(err)
		}
	}
	r.problem(host.CodeBindingQuarantined)
	if s := r.turn(bad.ID).State; s != host.TurnQueued {
		t.Fatalf("the turn is %s", s)
	}
	if n := len(r.warnings(string(host.CodeBindingFault))); n != 3 {
		t.Fatalf("%d faults: it was started again in quarantine", n)
	}
	passed.Store(int64(61 * time.Second))
	if _, err := r.h.ResumeQueue(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.until("another fault", func() bool { return len(r.warnings(string(host.CodeBindingFault))) == 4 })
}

func TestABindingCannotApproveAnythingByItself(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, `{"turns":[{"repeat":true,"steps":[{"run":{"command":"make","approve":true}},{"say":"decision={{decision}}"}]}]}`)
	turn := r.send("approve everything")
	card := r.untilInput()
	if got := r.warnings(string(host.CodeReplyRefused)); len(got) != 1 {
		t.Fatalf("refusals %q", got)
	}
	r.answer(card.ID, host.Answer{Decision: decision(t, card, abi.DecisionCancel)})
	r.until("the turn to end", func() bool { return r.turn(turn.ID).State.Ended() })
	for _, s := range r.texts(abi.ItemMessage) {
		if strings.Contains(s, "accept") {
			t.Fatalf("the harness was told %q", s)
		}
	}
}

func TestRule20_ADispatchedTurnThatTheBindingDisownsIsUncertain(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	turn := r.send("disown")
	r.untilTurn(turn.ID, host.TurnUncertain)
}

func TestRule21_TwoConversationsNeverHoldOneNativeSession(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	held := r.controls().Session.NativeSession
	first := r.conv
	second, err := r.h.Create(t.Context(), host.NewConversation{Harness: "rogue", Cwd: r.cwd})
	if err != nil {
		t.Fatal(err)
	}
	r.conv = second.ID
	turn := r.send("steal " + held)
	r.problem(host.CodeNativeSessionTaken)
	r.until("the harness to be ended", func() bool { return r.controls().Session.State == host.SessionNone })
	if got := r.controls().Session.NativeSession; got == held {
		t.Fatalf("both conversations hold %s", got)
	}
	if s := r.turn(turn.ID).State; s != host.TurnQueued {
		t.Fatalf("the turn is %s", s)
	}
	r.conv = first
	r.untilTurn(r.send("Go on").ID, host.TurnCompleted)
}

func TestTimersFireOnceAreMovedAndCleared(t *testing.T) {
	t.Parallel()
	// A slow machine can need more time to look than a timer takes to fire.
	for _, after := range []int{500, 5000, 50000} {
		gate, open := newGate(t)
		r := newRogueRig(t, fmt.Sprintf(`{"turns":[{"repeat":true,"steps":[{"wait_file":%q},{"say":"Done."}]}]}`, gate))
		turn := r.send(fmt.Sprint("timer ", after))
		r.until("the first timer", func() bool { return len(r.warnings("rogue")) >= 1 })
		got := r.timers()
		if early := len(r.warnings("rogue")) == 1; !early {
			continue
		}
		if got != "moved" {
			t.Fatalf("timers in the store: %q", got)
		}
		r.until("the second timer", func() bool { return len(r.warnings("rogue")) >= 2 })
		open()
		r.untilTurn(turn.ID, host.TurnCompleted)
		if got := strings.Join(r.warnings("rogue"), ", "); got != "timer late, timer moved" {
			t.Fatalf("fired: %s", got)
		}
		if got := r.timers(); got != "" {
			t.Fatalf("timers in the store: %q", got)
		}
		return
	}
	t.Fatal("the timer that was moved had always fired before it was looked for")
}

// timers names the timers of the first generation that a crash would find.
func (r *rig) timers() string {
	r.t.Helper()
	st := r.crashed()
	defer func() { _ = st.Close() }()
	list, err := st.Timers(r.t.Context(), r.conv, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, x := range list {
		names = append(names, x.Name)
	}
	return strings.Join(names, " ")
}

func TestAHarnessCannotPileUpRequestsThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	var steps strings.Builder
	for n := range 1005 {
		fmt.Fprintf(&steps, `{"raw":"{\"id\":\"x%d\",\"method\":\"item/tool/requestUserInput\",\"params\":{}}"},`, n)
	}
	r := newRogueRig(t, `{"turns":[{"repeat":true,"steps":[`+steps.String()+`{"say":"Enough."}]}]}`)
	turn := r.send("ignore requests")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := r.warnings(string(host.CodeTooManyRequests)); len(got) != 1 {
		t.Fatalf("%d warnings", len(got))
	}
}

func TestAHarnessCannotPileUpLongRequestsButOneMayBeLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5<<20)
	var steps strings.Builder
	for n := range 3 {
		fmt.Fprintf(&steps, `{"raw":"{\"id\":\"x%d\",\"method\":\"item/tool/requestUserInput\",\"params\":{\"threadId\":\"%s\"}}"},`, n, long)
	}
	r := newRogueRig(t, `{"turns":[{"repeat":true,"steps":[`+steps.String()+`{"say":"Enough."}]}]}`)
	turn := r.send("ignore requests")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := r.warnings(string(host.CodeTooManyRequests)); len(got) != 1 {
		t.Fatalf("%d warnings", len(got))
	}
	if faults := r.warnings(string(host.CodeBindingFault)); len(faults) > 0 {
		t.Fatalf("fault: %s", faults)
	}
}

func TestABindingCannotPileUpCallsOrTimers(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	r.untilTurn(r.send("many calls").ID, host.TurnCompleted)
	if got := strings.Join(r.warnings("rogue"), ", "); got != "many: refused, many: refused, many: refused, many: refused, many: refused, many: refused" {
		t.Fatalf("the binding heard %q", got)
	}
	if got := r.warnings(string(host.CodeTooManyCalls)); len(got) != 1 || !strings.Contains(got[0], "model/list") {
		t.Fatalf("the calls were told: %q", got)
	}
	// Once they are answered there is room again, and for timers it is counted apart.
	r.untilTurn(r.send("many timers").ID, host.TurnCompleted)
	if got := r.warnings(string(host.CodeTooManyCalls)); len(got) != 2 || !strings.Contains(got[1], "timer") {
		t.Fatalf("the timers were told: %q", got)
	}
	r.until("the timer that was moved", func() bool { return slices.Contains(r.warnings("rogue"), "timer t0") })
	if n := len(strings.Fields(r.timers())); n != 999 {
		t.Fatalf("%d timers are left", n)
	}
	if got := r.warnings(string(host.CodeBindingFault)); len(got) != 0 {
		t.Fatalf("faults %q", got)
	}
}

func TestABindingThatRepeatsWhatIsRefusedIsStoppedAndTheConversationSurvives(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	bad := r.send("insist")
	r.until("the fault to be told", func() bool { return len(r.warnings(string(host.CodeBindingFault))) == 1 })
	r.until("the harness to be ended", func() bool { return r.controls().Session.State == host.SessionNone })
	if s := r.turn(bad.ID).State; s != host.TurnQueued {
		t.Fatalf("the turn is %s", s)
	}
	if _, err := r.h.CancelQueued(t.Context(), r.conv, bad.ID); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(r.send("hello again").ID, host.TurnCompleted)
}

func TestABindingCannotUseUndeclaredMethodsOrBreakTheSchema(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	turn := r.send("undeclared")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := r.warnings("rogue"); len(got) != 1 || got[0] != "undeclared: refused" {
		t.Fatalf("the binding heard %q", got)
	}
	if got := r.warnings(string(host.CodeCallRefused)); len(got) != 1 {
		t.Fatalf("refusals %q", got)
	}
	misfit := r.send("misfit")
	got := r.untilTurn(misfit.ID, host.TurnNotSent)
	if got.Code != string(host.CodeOutboundSchema) {
		t.Fatalf("turn %+v", got)
	}
	r.problem(host.CodeOutboundSchema)
}

func TestRule19_ABindingCannotDeliverATurnTwice(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	turn := r.send("twice")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := r.warnings("rogue"); len(got) != 1 || got[0] != "again: refused" {
		t.Fatalf("the binding heard %q", got)
	}
	if got := r.texts(abi.ItemMessage); len(got) != 1 {
		t.Fatalf("the agent ran %d times", len(got))
	}
}

func TestC1_ImagesTravelByDigestAndReachTheHarness(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	png := []byte("\x89PNG\r\n\x1a\n not really a picture, but nobody looks")
	turn, err := r.h.Send(t.Context(), r.conv, host.Message{Content: append(host.Text("Look"), host.Content{Type: abi.ContentImage, Media: "image/png", Bytes: png})})
	if err != nil {
		t.Fatal(err)
	}
	r.untilTurn(turn.ID, host.TurnCompleted)
	b, err := json.Marshal(png)
	if err != nil {
		t.Fatal(err)
	}
	base64 := strings.Trim(string(b), `"`)
	if n := found(t, r.home, base64); n == 0 {
		t.Fatal("the image never reached the harness")
	}
	if n := found(t, r.dir, base64); n != 0 {
		t.Fatalf("the image's bytes are %d times in the data folder besides the attachment itself", n)
	}
	got := r.turn(turn.ID)
	if len(got.Content) != 2 || got.Content[1].Digest == "" || got.Content[1].Bytes != nil {
		t.Fatalf("content %+v", got.Content)
	}
	// A file the harness does not take is refused while that is known (C1).
	_, err = r.h.Send(t.Context(), r.conv, host.Message{Content: []host.Content{{Type: abi.ContentFile, Media: "text/csv", Bytes: []byte("a,b")}}})
	wantCode(t, err, host.CodeContentUnsupported)
	next := r.send("And without")
	r.untilTurn(next.ID, host.TurnCompleted)
}

func TestC7_OnlyOfferedDecisionsAreOfferedAndTheStoredOneIsTheWires(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"run":{"command":"rm -rf build","approve":true,"reason":"clean"}},{"say":"decision={{decision}}"}]}]}`)
	turn := r.send("Go")
	card := r.untilInput()
	if card.Ask.Type != abi.InteractionPermission || !strings.Contains(card.Ask.Command, "rm -rf build") || card.Ask.Text == "" {
		t.Fatalf("card %+v", card.Ask)
	}
	for _, d := range card.Ask.Decisions {
		if d.Kind == abi.RejectOnce {
			t.Fatalf("a decision that was not offered: %+v", d)
		}
	}
	_, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Decision: "always"})
	wantCode(t, err, host.CodeAnswerOption)
	_, err = r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("x", 0)}})
	wantCode(t, err, host.CodeAnswerShape)
	id := decision(t, card, abi.AllowOnce)
	r.answer(card.ID, host.Answer{Decision: id})
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := r.texts(abi.ItemMessage); got[0] != "decision="+id {
		t.Fatalf("on the wire %q, stored %q", got[0], id)
	}
}
