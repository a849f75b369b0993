package engine_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/engine"
	mt "github.com/aoagents/ao-host/host/internal/meter/metertest"
)

// hand is a hand-assembled binding; parts can be replaced.
type hand struct {
	alloc, step, save, load, init []byte
	start                         []byte
	pages, maxPages               int
	data                          func(m *mt.Module)
}

func (h hand) bytes() []byte {
	or := func(code, otherwise []byte) []byte {
		if code == nil {
			return otherwise
		}
		return code
	}
	m := &mt.Module{}
	alloc := m.Type([]byte{mt.I32}, []byte{mt.I32})
	step := m.Type([]byte{mt.I32}, []byte{mt.I64})
	save := m.Type(nil, []byte{mt.I64})
	none := m.Type(nil, nil)
	m.Memory(max(1, h.pages), max(1, h.pages, h.maxPages))
	m.Export("memory", mt.KindMemory, 0)
	m.Global(mt.I32, true, mt.I32Const(0))
	m.Export("ao_alloc", mt.KindFunc, m.Func(alloc, nil, or(h.alloc, mt.I32Const(1024))))
	// The result is the input: 1024<<32 | n.
	m.Export("ao_step", mt.KindFunc, m.Func(step, []byte{mt.I32}, or(h.step, mt.Cat(mt.LocalGet(0), mt.Op(0xad), mt.I64Const(1024<<32), mt.Op(0x84)))))
	m.Export("ao_save", mt.KindFunc, m.Func(save, nil, or(h.save, mt.I64Const(1024<<32|4))))
	m.Export("ao_load", mt.KindFunc, m.Func(alloc, nil, or(h.load, mt.I32Const(0))))
	if h.init != nil {
		m.Export("_initialize", mt.KindFunc, m.Func(none, []byte{mt.I32}, h.init))
	}
	if h.start != nil {
		m.Start(m.Func(none, nil, h.start))
	}
	if h.data != nil {
		h.data(m)
	}
	return m.Bytes()
}

var (
	unreachable = mt.Op(0x00)
	endless     = mt.Loop(mt.Br(0))
)

// slowHand takes long enough to compile for others to arrive meanwhile.
func slowHand(functions int) hand {
	return hand{data: func(m *mt.Module) {
		ty := m.Type([]byte{mt.I32}, nil)
		for n := range functions {
			m.Func(ty, nil, bytes.Repeat(mt.Count(0, fillOne(n)), 4))
		}
	}}
}

func fillOne(n int) []byte {
	return mt.Cat(mt.I32Const(int32(n)), mt.I32Const(1), mt.I32Const(1), mt.Op(0xfc, 11, 0))
}

func location(ptr, n int64) []byte { return mt.I64Const(ptr<<32 | n) }

// mustFault checks the error of a call and that it says more than its kind.
func mustFault(t *testing.T, err error, kind, says string) engine.Fault {
	t.Helper()
	var f *engine.Fault
	if !errors.As(err, &f) {
		t.Fatalf("the error is %v, want a fault of kind %s", err, kind)
	}
	if f.Kind != kind || !strings.Contains(f.Message, says) {
		t.Fatalf("fault %q: %q, want kind %q and %q", f.Kind, f.Message, kind, says)
	}
	return *f
}

func TestAStepReturnsWhatTheModuleWrote(t *testing.T) {
	i := instantiate(t, load(t, newEngine(t, engine.Config{}), hand{}.bytes(), abi.Limits{}))
	for _, in := range []string{"hello", "", strings.Repeat("a", 5000), "x"} {
		if got := do(t, i, in); got != in {
			t.Errorf("step(%.10q…) returned %.10q…", in, got)
		}
	}
}

func TestEveryMisbehaviourOfAStepIsAFaultOfItsKind(t *testing.T) {
	cases := map[string]struct {
		hand
		kind, says string
	}{
		"a trap":                         {hand{step: unreachable}, engine.FaultTrap, "unreachable"},
		"a division by zero":             {hand{step: mt.Cat(mt.I64Const(1), mt.I64Const(0), mt.Op(0x7f))}, engine.FaultTrap, "integer divide by zero"},
		"a load outside":                 {hand{step: mt.Cat(mt.I32Const(-4), mt.Op(0x29, 3, 0))}, engine.FaultTrap, "out of bounds"},
		"a trap in ao_alloc":             {hand{alloc: unreachable}, engine.FaultTrap, "unreachable"},
		"an endless loop":                {hand{step: mt.Cat(endless, unreachable)}, engine.FaultFuel, "units of work"},
		"an endless loop in ao_alloc":    {hand{alloc: mt.Cat(endless, unreachable)}, engine.FaultFuel, "units of work"},
		"bulk work without end":          {hand{step: mt.Cat(mt.Loop(mt.I32Const(0), mt.I32Const(0), mt.I32Const(60000), mt.Op(0xfc, 11, 0), mt.Br(0)), unreachable)}, engine.FaultFuel, "units of work"},
		"no buffer":                      {hand{alloc: mt.I32Const(0)}, engine.FaultProtocol, "ao_alloc(5) returned 0"},
		"a buffer outside":               {hand{alloc: mt.I32Const(65536)}, engine.FaultProtocol, "ao_alloc(5) returned 65536"},
		"a buffer that ends outside":     {hand{alloc: mt.I32Const(65532)}, engine.FaultProtocol, "no buffer within the memory of 65536"},
		"a buffer at a negative address": {hand{alloc: mt.I32Const(-1)}, engine.FaultProtocol, "ao_alloc(5) returned 4294967295"},
		"an output outside":              {hand{step: location(70000, 1)}, engine.FaultProtocol, "outside of the memory"},
		"an output that ends outside":    {hand{step: location(65535, 2)}, engine.FaultProtocol, "outside of the memory"},
		"an output that wraps around":    {hand{step: location(-16, 1000)}, engine.FaultProtocol, "outside of the memory"},
		"an output that is too large":    {hand{step: location(0, 5001), pages: 2}, engine.FaultOutput, "5001 bytes, and at most 5000"},
		"an output of 4 GiB":             {hand{step: mt.I64Const(-1)}, engine.FaultOutput, "at most 5000"},
		"a trap for want of memory": {hand{step: mt.Cat(mt.I32Const(100), mt.Op(0x40, 0, 0x1a), unreachable), maxPages: 1000},
			engine.FaultMemory, "more than its 4 MiB"},
		"a trap after memory was granted": {hand{step: mt.Cat(mt.I32Const(10), mt.Op(0x40, 0, 0x1a), unreachable), maxPages: 1000},
			engine.FaultTrap, "unreachable"},
	}
	e := newEngine(t, engine.Config{})
	limits := abi.Limits{MemoryBytes: 4 << 20, FuelPerStep: 10_000_000, FuelPerByte: 1, OutputBytes: 5000}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			i := instantiate(t, load(t, e, c.bytes(), limits))
			out, fuel, err := i.Step(context.Background(), []byte("input"))
			f := mustFault(t, err, c.kind, c.says)
			if out != nil {
				t.Errorf("a faulted step returned %q", out)
			}
			if fuel != f.Fuel {
				t.Errorf("fuel is %d, and %d in the fault", fuel, f.Fuel)
			}
			if c.kind == engine.FaultFuel && fuel != 10_000_005 {
				t.Errorf("the fuel used is %d, want the whole budget of 10 000 000 and 1 for each of 5 bytes", fuel)
			}
			for range 2 {
				_, _, err = i.Step(context.Background(), []byte("input"))
				mustFault(t, err, engine.FaultPoisoned, f.Message)
			}
			_, err = i.Save(context.Background())
			mustFault(t, err, engine.FaultPoisoned, f.Message)
			mustFault(t, i.Load(context.Background(), nil), engine.FaultPoisoned, f.Message)
			if n := i.MemoryBytes(); n != 0 {
				t.Errorf("the poisoned instance still holds %d bytes", n)
			}
			// Another instance of the same module is not affected.
			if _, err := instantiate(t, load(t, e, c.bytes(), limits)).Save(context.Background()); err != nil {
				t.Errorf("a fresh instance fails too: %v", err)
			}
		})
	}
}

func TestSaveAndLoadFaultLikeAStep(t *testing.T) {
	e := newEngine(t, engine.Config{})
	ctx := context.Background()
	for name, c := range map[string]struct {
		hand
		kind, says string
	}{
		"save traps":        {hand{save: unreachable}, engine.FaultTrap, "unreachable"},
		"save never ends":   {hand{save: mt.Cat(endless, unreachable)}, engine.FaultFuel, "units"},
		"save lies":         {hand{save: location(65530, 10)}, engine.FaultProtocol, "ao_save returned 10 bytes at 65530"},
		"save is too large": {hand{save: location(0, 60000)}, engine.FaultOutput, "at most 5000"},
	} {
		i := instantiate(t, load(t, e, c.bytes(), abi.Limits{OutputBytes: 5000, FuelPerStep: 1000}))
		_, err := i.Save(ctx)
		t.Log(name)
		mustFault(t, err, c.kind, c.says)
	}
	for name, c := range map[string]struct {
		hand
		kind, says string
	}{
		"load traps":      {hand{load: unreachable}, engine.FaultTrap, "unreachable"},
		"load never ends": {hand{load: mt.Cat(endless, unreachable)}, engine.FaultFuel, "units"},
		"load refuses":    {hand{load: mt.I32Const(-3)}, engine.FaultProtocol, "code -3"},
		"no buffer":       {hand{alloc: mt.I32Const(0)}, engine.FaultProtocol, "ao_alloc"},
	} {
		i := instantiate(t, load(t, e, c.bytes(), abi.Limits{FuelPerStep: 1000}))
		t.Log(name)
		mustFault(t, i.Load(ctx, []byte("state")), c.kind, c.says)
		_, err := i.Save(ctx)
		mustFault(t, err, engine.FaultPoisoned, c.says)
	}
}

func TestAModuleThatCannotStartIsAFault(t *testing.T) {
	e := newEngine(t, engine.Config{})
	for name, c := range map[string]struct {
		hand
		kind, says string
	}{
		"a trap in _initialize":      {hand{init: unreachable}, engine.FaultTrap, "unreachable"},
		"a trap in start":            {hand{start: unreachable}, engine.FaultTrap, "unreachable"},
		"data outside of the memory": {hand{data: func(m *mt.Module) { m.Data(65530, []byte("0123456789")) }}, engine.FaultTrap, "data"},
		"_initialize without end":    {hand{init: endless}, engine.FaultFuel, "endless loop"},
		"start without end":          {hand{start: endless}, engine.FaultFuel, "endless loop"},
		"_initialize needs memory": {hand{init: mt.Cat(mt.I32Const(60000), mt.Op(0x40, 0, 0x1a), unreachable), maxPages: 65536},
			engine.FaultMemory, "256 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := load(t, e, c.bytes(), abi.Limits{}).Instantiate(context.Background())
			mustFault(t, err, c.kind, c.says)
			if i != nil {
				t.Error("an instance came with the fault")
			}
		})
	}
}

func TestADeniedGrowthIsBlamedForTheTrapOfItsOwnStepOnly(t *testing.T) {
	// With input it asks for too much memory and goes on, without it traps.
	step := mt.Cat(mt.LocalGet(0), mt.If(mt.I32Const(100), mt.Op(0x40, 0, 0x1a), location(0, 0), mt.Op(0x0f)), unreachable)
	i := instantiate(t, load(t, newEngine(t, engine.Config{}), hand{step: step, maxPages: 1000}.bytes(), abi.Limits{MemoryBytes: 4 << 20}))
	do(t, i, "grow")
	_, _, err := i.Step(context.Background(), nil)
	mustFault(t, err, engine.FaultTrap, "unreachable")
}

// D9: cancelling works on every call, not on the first only.
func TestD9_TwoRunawayStepsAreBothCancelledAndAFreshInstanceSucceeds(t *testing.T) {
	m := load(t, newEngine(t, sharedConfig()), goGuest(t), abi.Limits{FuelPerStep: engine.MaxLimits().FuelPerStep, FuelPerByte: engine.MaxLimits().FuelPerByte})
	cause := errors.New("the user pressed stop")
	for n := range 2 {
		i := instantiate(t, m)
		ctx, cancel := context.WithCancelCause(context.Background())
		began := make(chan struct{})
		go func() {
			<-began
			time.Sleep(30 * time.Millisecond)
			cancel(cause)
		}()
		close(began)
		start := time.Now()
		_, _, err := i.Step(ctx, []byte("spin"))
		f := mustFault(t, err, engine.FaultCancelled, "cancelled")
		if !errors.Is(err, cause) {
			t.Errorf("run %d: the error %v does not carry the cause", n, err)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("run %d: it took %s to stop", n, took)
		}
		if f.Fuel == 0 {
			t.Errorf("run %d: no fuel was used", n)
		}
		_, _, err = i.Step(context.Background(), []byte("echo hi"))
		mustFault(t, err, engine.FaultPoisoned, "cancelled")
	}
	if got := do(t, instantiate(t, m), "echo third"); got != "third" {
		t.Errorf("the third instance returned %q", got)
	}
}

func TestADoneContextIsReturnedAndHarmsNothing(t *testing.T) {
	m := load(t, newEngine(t, engine.Config{}), hand{}.bytes(), abi.Limits{})
	i := instantiate(t, m)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var f *engine.Fault
	if _, _, err := i.Step(ctx, []byte("x")); !errors.Is(err, context.Canceled) || errors.As(err, &f) {
		t.Errorf("Step: %v, want the context's error and no fault", err)
	}
	if _, err := i.Save(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Save: %v", err)
	}
	if err := i.Load(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Load: %v", err)
	}
	if _, err := m.Instantiate(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Instantiate: %v", err)
	}
	if got := do(t, i, "y"); got != "y" {
		t.Errorf("afterwards a step returned %q", got)
	}
}

func TestAnInputThatIsTooLargeIsRefusedWithoutAFault(t *testing.T) {
	i := instantiate(t, load(t, newEngine(t, engine.Config{}), hand{}.bytes(), abi.Limits{}))
	_, _, err := i.Step(context.Background(), make([]byte, engine.MaxInputBytes+1))
	var f *engine.Fault
	if err == nil || errors.As(err, &f) {
		t.Errorf("the error is %v, want one that is no fault", err)
	}
	if got := do(t, i, "y"); got != "y" {
		t.Errorf("afterwards a step returned %q", got)
	}
}

func TestFuelIsTheBudgetOfEachStepAndNotOfTheirSum(t *testing.T) {
	// Ten iterations for each step.
	count := mt.Cat(mt.I32Const(10), mt.LocalSet(1), mt.Count(1), location(0, 0))
	i := instantiate(t, load(t, newEngine(t, engine.Config{}), hand{step: count}.bytes(), abi.Limits{FuelPerStep: 12, FuelPerByte: 1}))
	for range 1000 {
		_, fuel, err := i.Step(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if fuel != 11 { // and one for ao_alloc
			t.Fatalf("a step used %d units, want 11", fuel)
		}
	}
}

func TestFuelIsExactAtTheEdgeOfTheBudget(t *testing.T) {
	// One unit for ao_alloc and one for each byte of input.
	fits := mt.Cat(mt.LocalGet(0), mt.LocalSet(1), mt.Count(1), location(0, 0))
	// One more, for the function's entry in front of a block.
	over := mt.Cat(mt.LocalGet(0), mt.LocalSet(1), mt.Block(mt.Count(1)), location(0, 0))
	e := newEngine(t, engine.Config{})
	limits := abi.Limits{FuelPerStep: 1, FuelPerByte: 1}
	for _, n := range []int{1, 100, 1<<16 - 2, 1<<16 - 1, 1 << 16, 200_000} {
		budget := int64(n) + 1
		step := func(code []byte) (int64, error) {
			i := instantiate(t, load(t, e, hand{step: code, pages: 8, alloc: mt.I32Const(8)}.bytes(), limits))
			_, fuel, err := i.Step(context.Background(), make([]byte, n))
			return fuel, err
		}
		if fuel, err := step(fits); err != nil || fuel != budget {
			t.Errorf("%d bytes: a step that takes the whole budget used %d of %d units and ended with %v", n, fuel, budget, err)
		}
		fuel, err := step(over)
		mustFault(t, err, engine.FaultFuel, "units")
		if fuel != budget {
			t.Errorf("%d bytes: a step beyond the budget reports %d of %d units", n, fuel, budget)
		}
	}
}
