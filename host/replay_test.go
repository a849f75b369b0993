package host_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/codex"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/host/internal/engine"
	"github.com/aoagents/ao-host/host/internal/replay"
	"github.com/aoagents/ao-host/store"
)

// crashed opens the store as a host would find it that takes over after a crash:
// from a copy of the files of the running one.
func (r *rig) crashed() *store.Store {
	r.t.Helper()
	dir := r.t.TempDir()
	files, err := filepath.Glob(filepath.Join(r.dir, "*.db*"))
	if err != nil || len(files) == 0 {
		r.t.Fatalf("files of the store: %v, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o600)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	st, err := store.Open(r.t.Context(), dir, store.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	return st
}

// inputLog reads what is stored of a generation's inputs.
func (r *rig) inputLog(gen int64) *replay.Log {
	r.t.Helper()
	st := r.crashed()
	defer func() { _ = st.Close() }()
	rows, err := st.Inputs(r.t.Context(), r.conv, gen, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	var state *store.SavedState
	switch s, err := st.SavedState(r.t.Context(), r.conv, gen); {
	case err == nil:
		state = &s
	case store.CodeOf(err) != store.CodeNotFound:
		r.t.Fatal(err)
	}
	l, err := replay.Decode(state, rows)
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// machine is the reducer without an engine around it.
type machine struct{ *guest.Machine }

func (m machine) SetNow(int64) {}

func (m machine) Step(_ context.Context, in []byte) ([]byte, int64, error) {
	out, err := m.Machine.Step(bytes.Clone(in))
	return out, 0, err
}

func (m machine) Save(context.Context) ([]byte, error) { return bytes.Clone(m.Machine.Save()), nil }

func (m machine) Load(_ context.Context, state []byte) error {
	return m.Machine.Load(bytes.Clone(state))
}

// instances returns a maker of fresh instances of a module, each with another
// random stream than the host's.
func instances(t *testing.T, wasm []byte) func() replay.Machine {
	t.Helper()
	eng, err := engine.New(t.Context(), engine.Config{
		CacheDir: filepath.Join(cacheDir, "cache", "native"), DigestDir: filepath.Join(cacheDir, "digests"), Seed: [32]byte{1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = eng.Close(context.Background()) })
	mod, err := eng.Load(t.Context(), wasm, abi.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return func() replay.Machine {
		i, err := mod.Instantiate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
}

func shipped(t *testing.T) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "bindings-wasm", "codex.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// DESIGN §6: each session has one input log, and running it again through a fresh
// instance gives the same state and effects.
func TestAReplayOfTheInputLogGivesTheSameStateAndEffects(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[{"huge":{"bytes":5000000,"kind":"delta"}},{"say":"Well.","chunks":3},
	 {"ask":{"id":"q","questions":[{"id":"a","question":"Which?","options":[{"label":"x","description":""}]}]}},{"say":"So be it."}]}]}`)
	turn := r.send("Go")
	card := r.untilInput()
	l := r.inputLog(1)
	last := l.Steps[len(l.Steps)-1].Seq
	if l.State == nil || l.State.InputSeq >= last || l.Steps[0].Seq != 1 {
		t.Fatalf("inputs %d to %d, state %+v; the state should have been saved on the way", l.Steps[0].Seq, last, l.State)
	}
	fresh := instances(t, shipped(t))
	whole, err := l.Whole(t.Context(), fresh())
	if err != nil {
		t.Fatal(err)
	}
	if whole.Seq != last || !bytes.Contains(whole.State, []byte(card.Ask.NativeSession)) {
		t.Fatalf("the replay ended at %d of %d with the state %s", whole.Seq, last, whole.State)
	}
	for name, run := range map[string]func() (replay.Result, error){
		"from the saved state": func() (replay.Result, error) { return l.Resume(t.Context(), fresh()) },
		"without an engine":    func() (replay.Result, error) { return l.Whole(t.Context(), machine{guest.NewMachine(codex.New())}) },
	} {
		if got, err := run(); err != nil || got.Seq != last || !bytes.Equal(got.State, whole.State) {
			t.Errorf("%s: it ended at %d with %v and the state %.300s, want %.300s", name, got.Seq, err, got.State, whole.State)
		}
	}

	// The inputs of a turn go when it ends, those after it are still there.
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	r.untilTurn(turn.ID, host.TurnCompleted)
	next := r.send("And now")
	r.untilTurn(next.ID, host.TurnCompleted)
	r.until("the inputs to be dropped", func() bool { l = r.inputLog(1); return len(l.Steps) == 0 || l.Steps[0].Seq > last })
	if res, err := l.Resume(t.Context(), fresh()); err != nil || res.Seq <= last {
		t.Fatalf("the replay ended at %d: %v", res.Seq, err)
	}
}

// What a step caused comes right after it and is kept although the turn, whose
// inputs are dropped, ended in that step.
func TestTheInputsAfterASavedStateAreKeptWithWhatTheSameStepCaused(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	turn := r.send("undeclared at the end")
	r.untilTurn(turn.ID, host.TurnCompleted)
	r.until("the refusal", func() bool { return len(r.warnings("rogue")) == 1 })
	var l *replay.Log
	r.until("the inputs of the turn to be dropped", func() bool {
		l = r.inputLog(1)
		return l.State != nil && (len(l.Steps) == 0 || l.Steps[0].Seq > l.State.InputSeq)
	})
	if len(l.Steps) == 0 || !bytes.Contains(l.Steps[0].Event, []byte(`"refused"`)) {
		t.Fatalf("after the state of input %d there are %d inputs", l.State.InputSeq, len(l.Steps))
	}
	wasm, err := rogueModule()
	if err != nil {
		t.Fatal(err)
	}
	if res, err := l.Resume(t.Context(), instances(t, wasm)()); err != nil || res.Seq != l.Steps[len(l.Steps)-1].Seq {
		t.Fatalf("the replay ended at %d: %v", res.Seq, err)
	}
}

func TestAFaultIsRecordedWithItsInputAndWhatTheModulePrinted(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	r.send("trap")
	r.until("the harness to be ended", func() bool {
		return len(r.warnings(string(host.CodeBindingFault))) == 1 && r.controls().Session.State == host.SessionNone
	})
	if w := r.warnings(string(host.CodeBindingFault))[0]; !strings.Contains(w, "told to trap") {
		t.Errorf("the warning does not say what the module printed: %s", w)
	}
	l := r.inputLog(1)
	if l.Fault == nil || l.Fault.Kind != engine.FaultTrap || !strings.Contains(l.Fault.Stderr, "told to trap") {
		t.Fatalf("the verdict is %+v", l.Fault)
	}
	if last := l.Steps[len(l.Steps)-1]; !bytes.Contains(last.Event, []byte(`"text":"trap"`)) || last.Digest != 0 {
		t.Fatalf("the input before it is %.200s", last.Event)
	}
	wasm, err := rogueModule()
	if err != nil {
		t.Fatal(err)
	}
	res, err := l.Resume(t.Context(), instances(t, wasm)())
	if err != nil || res.Fault == nil || res.Seq != l.Steps[len(l.Steps)-1].Seq-1 {
		t.Fatalf("the replay ended at %d with %+v: %v", res.Seq, res.Fault, err)
	}
}

func TestInputLogsOfGenerationsLongOverAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	for range 3 {
		turn := r.send("Go")
		r.untilTurn(turn.ID, host.TurnCompleted)
		r.restart()
	}
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	r.until("the old logs to be gone", func() bool {
		for gen := int64(1); gen <= 2; gen++ {
			if l := r.inputLog(gen); l.State != nil || len(l.Steps) > 0 {
				return false
			}
		}
		return true
	})
	for gen := int64(3); gen <= 4; gen++ {
		if l := r.inputLog(gen); l.State == nil {
			t.Errorf("nothing is left of generation %d", gen)
		}
	}
}
