package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/engine"
)

func TestAGoGuestsPanicLeavesItsReasonInTheFault(t *testing.T) {
	i := goInstance(t, abi.Limits{})
	_, _, err := i.Step(context.Background(), []byte("panic no such turn"))
	f := mustFault(t, err, engine.FaultTrap, "the module")
	if !strings.Contains(f.Stderr, "panic: the guest was told to panic: no such turn") {
		t.Errorf("the fault's stderr is %q", f.Stderr)
	}
	if i.Stderr() != f.Stderr {
		t.Errorf("Stderr of the poisoned instance is %q", i.Stderr())
	}
}

func TestAGoGuestThatExitsIsAFault(t *testing.T) {
	for _, code := range []string{"0", "3"} {
		_, _, err := goInstance(t, abi.Limits{}).Step(context.Background(), []byte("exit "+code))
		mustFault(t, err, engine.FaultTrap, "exit code "+code)
	}
}

func TestAGoGuestBeyondItsMemoryIsAMemoryFault(t *testing.T) {
	i := goInstance(t, abi.Limits{MemoryBytes: 32 << 20})
	do(t, i, "keep 8")
	_, _, err := i.Step(context.Background(), []byte("keep 40"))
	f := mustFault(t, err, engine.FaultMemory, "32 MiB")
	if !strings.Contains(f.Stderr, "out of memory") {
		t.Errorf("the fault's stderr is %q", f.Stderr)
	}
}

func TestAGoGuestThatSleepsForEverRunsOutOfFuel(t *testing.T) {
	// The clock stands still during a step, so a sleep cannot end.
	i := goInstance(t, abi.Limits{FuelPerStep: 20_000_000})
	i.SetNow(time.Now().UnixMilli())
	_, _, err := i.Step(context.Background(), []byte("sleep 50"))
	mustFault(t, err, engine.FaultFuel, "units")
}

func TestStderrKeepsTheEndOfWhatWasPrinted(t *testing.T) {
	i := goInstance(t, abi.Limits{})
	do(t, i, "print first ")
	if got := i.Stderr(); got != "first first " {
		t.Errorf("Stderr is %q, want both outputs", got)
	}
	for n := range 3000 {
		do(t, i, fmt.Sprintf("print line %04d of many, to fill the ring;", n))
	}
	got := i.Stderr()
	if len(got) != 64<<10 || !strings.HasSuffix(got, "line 2999 of many, to fill the ring;") || strings.Contains(got, "first") {
		t.Errorf("Stderr has %d bytes and ends %q", len(got), got[max(0, len(got)-40):])
	}
}

func TestTheGuestSeesTheEventsTimeAndItStandsStill(t *testing.T) {
	i := goInstance(t, abi.Limits{})
	const now = 1_795_998_657_123
	i.SetNow(now)
	for range 3 {
		if got, want := do(t, i, "now"), fmt.Sprintf("%d 0s", int64(now)*1_000_000); got != want {
			t.Errorf("the guest sees %q, want %q", got, want)
		}
	}
	i.SetNow(now + 1500)
	if got, want := do(t, i, "now"), fmt.Sprintf("%d 0s", int64(now+1500)*1_000_000); got != want {
		t.Errorf("after the next event the guest sees %q, want %q", got, want)
	}
	i.SetNow(-5)
	if got := do(t, i, "now"); !strings.HasSuffix(got, " 0s") || strings.HasPrefix(got, "-") || strings.HasPrefix(got, "0 ") {
		t.Errorf("with a negative time the guest sees %q", got)
	}
}

func TestTheGuestSeesNoFilesArgumentsOrEnvironment(t *testing.T) {
	t.Setenv("ENGINE_TEST_SECRET", "1")
	if got := do(t, goInstance(t, abi.Limits{}), "world"); got != "0 0 true true true" {
		t.Errorf("arguments, variables, and whether reading, listing and writing failed: %s", got)
	}
}

func TestRandomnessIsSeededByTheConfiguration(t *testing.T) {
	run := func(seed byte) string {
		cfg := sharedConfig()
		cfg.Seed[0] = seed
		i := instantiate(t, load(t, newEngine(t, cfg), goGuest(t), abi.Limits{}))
		return do(t, i, "random") + do(t, i, "random")
	}
	if a, b := run(1), run(1); a != b {
		t.Errorf("the same seed gave %s and %s", a, b)
	}
	if a, b := run(1), run(2); a == b {
		t.Errorf("two seeds gave the same numbers %s", a)
	}
}

// script is a list of events that exercises state, garbage and output.
func script(n int) []string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var s []string
	for range n {
		switch r.IntN(4) {
		case 0:
			s = append(s, "state")
		case 1:
			s = append(s, fmt.Sprintf("litter %d", r.IntN(200)))
		case 2:
			s = append(s, "echo "+strings.Repeat("é", r.IntN(3000)))
		case 3:
			s = append(s, fmt.Sprintf("large %d", r.IntN(5000)))
		}
	}
	return s
}

func TestTheSameEventsGiveTheSameBytesAndFuelOnEveryInstance(t *testing.T) {
	m := load(t, newEngine(t, sharedConfig()), goGuest(t), abi.Limits{})
	a, b := instantiate(t, m), instantiate(t, m)
	for n, ev := range script(300) {
		a.SetNow(int64(1000 + n))
		b.SetNow(int64(1000 + n))
		outA, fuelA, err := a.Step(context.Background(), []byte(ev))
		if err != nil {
			t.Fatal(err)
		}
		outB, fuelB, err := b.Step(context.Background(), []byte(ev))
		if err != nil {
			t.Fatal(err)
		}
		if string(outA) != string(outB) || fuelA != fuelB {
			t.Fatalf("event %d: %d and %d bytes with %d and %d units", n, len(outA), len(outB), fuelA, fuelB)
		}
	}
}

func TestSavingAndLoadingAfterEveryEventEqualsNeverSaving(t *testing.T) {
	m := load(t, newEngine(t, sharedConfig()), goGuest(t), abi.Limits{})
	straight := instantiate(t, m)
	var state []byte
	for n, ev := range script(40) {
		fresh := instantiate(t, m)
		if state != nil {
			if err := fresh.Load(context.Background(), state); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := do(t, fresh, ev), do(t, straight, ev); got != want {
			t.Fatalf("event %d %.20q: %.40q after loading, %.40q without", n, ev, got, want)
		}
		var err error
		if state, err = fresh.Save(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := fresh.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	want, err := straight.Save(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if string(state) != string(want) {
		t.Errorf("the last state is %q, without saving %q", state, want)
	}
}

func TestASavedStateAndAnOutputSurviveWhatComesAfter(t *testing.T) {
	i := goInstance(t, abi.Limits{})
	out, _, err := i.Step(context.Background(), []byte("echo keep me"))
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != "keep me" {
		t.Fatalf("the output is %q", out)
	}
	state, err := i.Save(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	before := string(state)
	do(t, i, "echo something else")
	last, _, err := i.Step(context.Background(), []byte("echo last words"))
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	// The guest's memory is unmapped by now; touching it would crash.
	if string(state) != before || string(last) != "last words" {
		t.Errorf("after Close the state is %q and the output %q", state, last)
	}
}

func TestStatesTheGuestRefusesAreReported(t *testing.T) {
	err := goInstance(t, abi.Limits{}).Load(context.Background(), []byte("garbage"))
	mustFault(t, err, engine.FaultProtocol, "code 1")
}

func TestInstancesRunConcurrently(t *testing.T) {
	m := load(t, newEngine(t, sharedConfig()), goGuest(t), abi.Limits{})
	events := script(60)
	reference := instantiate(t, m)
	var want []string
	for _, ev := range events {
		want = append(want, do(t, reference, ev))
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			i, err := m.Instantiate(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			for n, ev := range events {
				out, _, err := i.Step(context.Background(), []byte(ev))
				if err != nil || string(out) != want[n] {
					t.Errorf("worker %d, event %d: %.20q, %v", w, n, out, err)
					return
				}
				_ = i.Stderr()
			}
			if err := i.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestCallsOnOneInstanceExcludeEachOther(t *testing.T) {
	i := goInstance(t, abi.Limits{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range 50 {
				i.SetNow(int64(n))
				if _, _, err := i.Step(context.Background(), []byte("litter 5")); err != nil {
					t.Error(err)
				}
				if _, err := i.Save(context.Background()); err != nil {
					t.Error(err)
				}
				_ = i.MemoryBytes()
			}
		})
	}
	wg.Wait()
	if got := do(t, i, "state"); !strings.HasPrefix(got, "201 ") {
		t.Errorf("after 200 steps and this one the state is %s", got)
	}
}

// Freeing the memory under a running step would crash the process.
func TestEngineCloseEndsARunningStepAndWaitsForIt(t *testing.T) {
	e, err := engine.New(context.Background(), sharedConfig())
	if err != nil {
		t.Fatal(err)
	}
	i := instantiate(t, load(t, e, goGuest(t), abi.Limits{FuelPerStep: engine.MaxLimits().FuelPerStep}))
	failed := make(chan error, 1)
	running := make(chan struct{})
	go func() {
		close(running)
		_, _, err := i.Step(context.Background(), []byte("spin"))
		failed <- err
	}()
	<-running
	time.Sleep(20 * time.Millisecond)
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		mustFault(t, err, engine.FaultClosed, "closed")
	case <-time.After(time.Minute):
		t.Fatal("the step still runs after Close")
	}
	if _, err := e.Load(context.Background(), hand{}.bytes(), abi.Limits{}); err == nil {
		t.Error("a closed engine loaded a module")
	}
	_, _, err = i.Step(context.Background(), nil)
	mustFault(t, err, engine.FaultClosed, "closed")
	if err := i.Close(context.Background()); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// DESIGN §3: without help a Go guest's heap grows with every step, because its
// collector only runs when its goroutines do.
func TestMemoryStaysBoundedOver100000Steps(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	i := goInstance(t, abi.Limits{})
	event := []byte("litter 20") // 2 GB in all
	var settled int64
	for n := range 100_000 {
		if _, _, err := i.Step(context.Background(), event); err != nil {
			t.Fatal(err)
		}
		if n == 5000 {
			settled = i.MemoryBytes()
		}
	}
	if end := i.MemoryBytes(); end > settled+1<<20 || end > 16<<20 {
		t.Errorf("the memory grew from %d to %d KiB", settled>>10, end>>10)
	}
}

func TestInstancesAreMadeAndClosedWithoutLeaking(t *testing.T) {
	m := load(t, newEngine(t, sharedConfig()), goGuest(t), abi.Limits{})
	before := mappings(t)
	for n := range 200 {
		i := instantiate(t, m)
		if n%3 == 0 {
			if _, _, err := i.Step(context.Background(), []byte("panic")); err == nil {
				t.Fatal("no fault")
			}
		}
		if err := i.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := i.Close(context.Background()); err != nil {
			t.Fatalf("a second Close: %v", err)
		}
	}
	if after := mappings(t); after > before+20 {
		t.Errorf("%d memory mappings before and %d after 200 instances", before, after)
	}
}

func TestModuleCloseFreesItAndLoadMakesANewOne(t *testing.T) {
	e := newEngine(t, engine.Config{})
	m := load(t, e, hand{}.bytes(), abi.Limits{})
	if again := load(t, e, hand{}.bytes(), abi.Limits{}); again != m {
		t.Error("the same bytes and limits were compiled twice")
	}
	if other := load(t, e, hand{}.bytes(), abi.Limits{OutputBytes: 5}); other == m {
		t.Error("other limits gave the same module")
	}
	i := instantiate(t, m)
	if err := m.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	_, _, err := i.Step(context.Background(), nil)
	mustFault(t, err, engine.FaultClosed, "closed")
	if _, err := m.Instantiate(context.Background()); err == nil {
		t.Error("a closed module was instantiated")
	}
	if again := load(t, e, hand{}.bytes(), abi.Limits{}); again == m {
		t.Error("the closed module was returned")
	}
}

func TestLimitsAreFilledInAndCutDown(t *testing.T) {
	e := newEngine(t, engine.Config{})
	if got := load(t, e, hand{}.bytes(), abi.Limits{}).Limits(); got != engine.DefaultLimits() {
		t.Errorf("zero limits became %+v", got)
	}
	const much = 1 << 60
	if got := load(t, e, hand{}.bytes(), abi.Limits{MemoryBytes: much, FuelPerStep: much, FuelPerByte: much, OutputBytes: much}).Limits(); got != engine.MaxLimits() {
		t.Errorf("huge limits became %+v", got)
	}
	want := abi.Limits{MemoryBytes: 1 << 20, FuelPerStep: 5, FuelPerByte: 6, OutputBytes: 7}
	if got := load(t, e, hand{}.bytes(), want).Limits(); got != want {
		t.Errorf("%+v became %+v", want, got)
	}
	if _, err := e.Load(context.Background(), hand{pages: 20}.bytes(), want); err == nil || !strings.Contains(err.Error(), "limits.memory_bytes") {
		t.Errorf("20 pages within 1 MiB: %v", err)
	}
	if _, err := e.Load(context.Background(), []byte("nonsense"), abi.Limits{}); err == nil {
		t.Error("nonsense was loaded")
	}
	small := newEngine(t, engine.Config{MaxModuleBytes: 10})
	if _, err := small.Load(context.Background(), hand{}.bytes(), abi.Limits{}); err == nil || !strings.Contains(err.Error(), "at most 10") {
		t.Errorf("a module above MaxModuleBytes: %v", err)
	}
}

func TestParallelLoadsOfOneModuleShareTheWork(t *testing.T) {
	e := newEngine(t, engine.Config{})
	wasm := slowHand(400).bytes()
	got := make([]*engine.Module, 6)
	var wg sync.WaitGroup
	for n := range got {
		wg.Go(func() {
			m, err := e.Load(context.Background(), wasm, abi.Limits{})
			if err != nil {
				t.Error(err)
			}
			got[n] = m
		})
	}
	wg.Wait()
	for n, m := range got {
		if m == nil || m != got[0] {
			t.Errorf("caller %d got another module", n)
		}
	}
}

func TestALoadThatIsCancelledDoesNotFailThoseThatWaitForIt(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("wazero looks at the context only when it compiles with several workers")
	}
	e := newEngine(t, engine.Config{})
	wasm := slowHand(4000).bytes()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := e.Load(ctx, wasm, abi.Limits{}); !errors.Is(err, context.Canceled) {
			t.Errorf("the impatient caller got %v", err)
		}
	})
	time.Sleep(5 * time.Millisecond) // it is compiling by now
	for range 3 {
		wg.Go(func() {
			if _, err := e.Load(context.Background(), wasm, abi.Limits{}); err != nil {
				t.Errorf("a patient caller got %v", err)
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	cancel()
	wg.Wait()
}
