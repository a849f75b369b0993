package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/aoagents/ao-host/host/internal/meter"
)

// Instance is one running module with its memory. Calls exclude each other;
// normally the goroutine of one session owns it.
type Instance struct {
	module *Module

	mu     sync.Mutex
	fault  *Fault
	closed bool
	sys    system
	tank   tank
	// The context of the running call, watched at every refill. Calls go in with
	// base, which is made once: a context per call would be an allocation per call.
	ctx  context.Context
	base context.Context
	// unsaved are the bytes that the state is made of: those of the last one that was
	// saved or loaded, and the inputs since.
	unsaved int

	mod                     api.Module
	mem                     api.Memory
	alloc, step, save, load api.Function
	fuel, denied            api.MutableGlobal
	stack                   [1]uint64
	out                     []byte
}

func newInstance(m *Module) *Instance {
	i := &Instance{module: m, ctx: context.Background()}
	i.sys = newSystem(m.engine.cfg.Seed, i.tank.take)
	i.base = context.WithValue(context.Background(), instanceKey{}, i)
	return i
}

// start instantiates and initializes, with the lock held.
func (i *Instance) start(ctx context.Context) (f *Fault) {
	i.ctx = ctx
	defer func() { i.ctx = context.Background() }()
	defer func() {
		if p := recover(); p != nil {
			f = i.fail(i.newFault(FaultTrap, fmt.Sprintf("the module could not be instantiated: %v", p), 0))
		}
	}()
	// The counter in the module is zero and asks for fuel at the first instruction.
	i.tank = tank{budget: initFuel, rest: initFuel}
	cfg := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	mod, err := i.module.native.runtime.InstantiateModule(withReservedMemory(i.base), i.module.native.compiled, cfg)
	if err != nil {
		return i.fail(i.faultOf(err))
	}
	i.mod, i.mem = mod, mod.Memory()
	i.fuel = mod.ExportedGlobal(meter.FuelGlobal).(api.MutableGlobal)
	i.denied = mod.ExportedGlobal(meter.GrowDeniedGlobal).(api.MutableGlobal)
	i.alloc, i.step = mod.ExportedFunction(exportAlloc), mod.ExportedFunction(exportStep)
	i.save, i.load = mod.ExportedFunction(exportSave), mod.ExportedFunction(exportLoad)
	if init := mod.ExportedFunction(exportInitialize); init != nil {
		if err := init.CallWithStack(i.base, i.stack[:0]); err != nil {
			return i.fail(i.faultOf(err))
		}
	}
	return nil
}

// SetNow sets the time the guest sees, in Unix milliseconds; it takes effect at
// the next call. An event's time goes here before the event goes into [Instance.Step].
func (i *Instance) SetNow(ms int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	// A clock at or below zero makes the Go runtime stop.
	i.sys.nowMillis = max(bootMillis, ms)
}

// Step gives one event to the module. out is the array of effects, valid until
// the next call on this instance; fuel is what was used. A context that is done
// when called is returned as such and changes nothing; every other error of the
// running module is a [*Fault].
func (i *Instance) Step(ctx context.Context, in []byte) (out []byte, fuel int64, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.ready(ctx, len(in)); err != nil {
		return nil, 0, err
	}
	i.begin(ctx, len(in))
	defer i.end()
	if f := i.give(in); f != nil {
		return nil, f.Fuel, i.fail(f)
	}
	i.stack[0] = uint64(len(in))
	i.unsaved += len(in)
	return i.result(exportStep, i.step)
}

// Save returns the state of the module as a copy that stays valid. Its fuel grows with
// what the state is made of, like that of a step with its input.
func (i *Instance) Save(ctx context.Context) ([]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.ready(ctx, 0); err != nil {
		return nil, err
	}
	i.begin(ctx, i.unsaved)
	defer i.end()
	out, _, err := i.result(exportSave, i.save)
	if err != nil {
		return nil, err
	}
	i.unsaved = len(out)
	return append(make([]byte, 0, len(out)), out...), nil
}

// Load restores a saved state into a fresh instance. A module that refuses it
// (a result other than zero) is a fault of kind [FaultProtocol].
func (i *Instance) Load(ctx context.Context, state []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.ready(ctx, len(state)); err != nil {
		return err
	}
	i.begin(ctx, len(state))
	defer i.end()
	i.unsaved = len(state)
	if f := i.give(state); f != nil {
		return i.fail(f)
	}
	i.stack[0] = uint64(len(state))
	if err := i.load.CallWithStack(i.base, i.stack[:]); err != nil {
		return i.fail(i.faultOf(err))
	}
	if code := int32(i.stack[0]); code != 0 {
		return i.fail(i.newFault(FaultProtocol, fmt.Sprintf("ao_load refused the saved state with code %d; it was saved by another version", code), i.used()))
	}
	if f := i.overdrawn(); f != nil {
		return i.fail(f)
	}
	return nil
}

// Stderr is the end of what the module printed so far, at most 64 KiB.
func (i *Instance) Stderr() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sys.printed.String()
}

// MemoryBytes is the present size of the linear memory, 0 after a fault.
func (i *Instance) MemoryBytes() int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.mem == nil {
		return 0
	}
	return int64(i.mem.Size())
}

// Close frees the instance; a second call does nothing. It waits for a running
// call: cancel that call's context to end it.
func (i *Instance) Close(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	i.closed = true
	i.module.drop(i)
	return i.release(ctx)
}

// release frees the memory; views of it must not outlive this.
func (i *Instance) release(ctx context.Context) error {
	if i.mod == nil {
		return nil
	}
	mod := i.mod
	i.mod, i.mem = nil, nil
	i.alloc, i.step, i.save, i.load, i.fuel, i.denied = nil, nil, nil, nil, nil, nil
	if err := mod.Close(ctx); err != nil {
		return fmt.Errorf("engine: close the instance: %w", err)
	}
	return nil
}

// ready says why a call cannot be made.
func (i *Instance) ready(ctx context.Context, in int) error {
	switch {
	case i.closed:
		return &Fault{Kind: FaultClosed, Message: "the instance is closed"}
	case i.fault != nil:
		return &Fault{Kind: FaultPoisoned, Message: "the instance had a fault before: " + i.fault.Message, Stderr: i.fault.Stderr}
	case ctx.Err() != nil:
		return fmt.Errorf("engine: %w", ctx.Err())
	}
	return checkInput(in)
}

func (i *Instance) begin(ctx context.Context, in int) {
	i.ctx = ctx
	i.fuel.Set(uint64(i.tank.fill(budget(i.module.limits, in))))
	i.denied.Set(0)
}

func (i *Instance) end() { i.ctx = context.Background() }

// give writes the input into the module's buffer.
func (i *Instance) give(in []byte) *Fault {
	i.stack[0] = uint64(len(in))
	if err := i.alloc.CallWithStack(i.base, i.stack[:]); err != nil {
		return i.faultOf(err)
	}
	if len(in) == 0 {
		return nil
	}
	ptr := uint32(i.stack[0])
	if ptr == 0 || !i.mem.Write(ptr, in) {
		return i.newFault(FaultProtocol, fmt.Sprintf("ao_alloc(%d) returned %d, which is no buffer within the memory of %d bytes", len(in), ptr, i.mem.Size()), i.used())
	}
	return nil
}

// result calls f, whose argument is on the stack, and copies what it returns.
// The copy costs little and survives a Close, after which the memory is gone.
func (i *Instance) result(name string, f api.Function) ([]byte, int64, error) {
	if err := f.CallWithStack(i.base, i.stack[:]); err != nil {
		fault := i.fail(i.faultOf(err))
		return nil, fault.Fuel, fault
	}
	used := i.used()
	if f := i.overdrawn(); f != nil {
		return nil, used, i.fail(f)
	}
	ptr, size := uint32(i.stack[0]>>32), uint32(i.stack[0])
	if int64(size) > i.module.limits.OutputBytes {
		return nil, used, i.fail(i.newFault(FaultOutput, fmt.Sprintf("%s returned %d bytes, and at most %d are allowed", name, size, i.module.limits.OutputBytes), used))
	}
	view, ok := i.mem.Read(ptr, size)
	if !ok {
		return nil, used, i.fail(i.newFault(FaultProtocol, fmt.Sprintf("%s returned %d bytes at %d, outside of the memory of %d bytes", name, size, ptr, i.mem.Size()), used))
	}
	const keep = 1 << 20 // a rare large output does not stay allocated
	if cap(i.out) > keep && len(view) <= keep {
		i.out = nil
	}
	i.out = append(i.out[:0], view...)
	return i.out, used, nil
}

// refill is called by the guest when its counter is negative. It returns the
// next one or ends the call.
func (i *Instance) refill(counter int64) int64 {
	if err := i.ctx.Err(); err != nil {
		panic(&stop{kind: FaultCancelled, message: "the call was cancelled while the module ran", cause: context.Cause(i.ctx)})
	}
	if i.module.engine.closing.Load() {
		panic(&stop{kind: FaultClosed, message: "the engine was closed while the module ran"})
	}
	runtime.Gosched()
	give, ok := i.tank.next(counter)
	if !ok {
		panic(&stop{kind: FaultFuel, message: fmt.Sprintf("the call took more than its %d units of work; it may be in an endless loop", i.tank.budget)})
	}
	return give
}

func (i *Instance) counter() int64 {
	if i.fuel == nil {
		return 0
	}
	return int64(i.fuel.Get())
}

func (i *Instance) used() int64 { return i.tank.used(i.counter()) }

func (i *Instance) overdrawn() *Fault {
	if !i.tank.spent(i.counter()) {
		return nil
	}
	return i.newFault(FaultFuel, fmt.Sprintf("the call took more than its %d units of work", i.tank.budget), i.tank.budget)
}

func (i *Instance) newFault(kind, message string, fuel int64) *Fault {
	return &Fault{Kind: kind, Message: message, Fuel: fuel, Stderr: i.sys.printed.String()}
}

// faultOf turns the engine's error into a fault.
func (i *Instance) faultOf(err error) *Fault {
	denied := i.denied != nil && i.denied.Get() != 0
	var s *stop
	if !errors.As(err, &s) {
		f := i.newFault(FaultTrap, "the module trapped: "+strings.TrimPrefix(firstLine(err.Error()), "wasm error: "), i.used())
		return f.becauseOfMemory(denied, i.module.limits.MemoryBytes)
	}
	f := i.newFault(s.kind, s.message, i.used())
	f.cause = s.cause
	if s.kind == FaultFuel {
		f.Fuel = i.tank.budget
	}
	return f.becauseOfMemory(denied, i.module.limits.MemoryBytes)
}

// becauseOfMemory names the likely reason of a trap after a denied growth.
func (f *Fault) becauseOfMemory(denied bool, limit int64) *Fault {
	if denied && f.Kind == FaultTrap {
		f.Kind = FaultMemory
		f.Message = fmt.Sprintf("the module needed more than its %d MiB of memory (%s)", limit>>20, f.Message)
	}
	return f
}

// fail poisons the instance and frees its memory.
func (i *Instance) fail(f *Fault) *Fault {
	i.fault = f
	_ = i.release(context.Background()) // the fault is the error to report
	return f
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
