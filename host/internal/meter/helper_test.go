package meter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/aoagents/ao-host/host/internal/meter"
	mt "github.com/aoagents/ao-host/host/internal/meter/metertest"
)

func options() meter.Options { return meter.Options{Limits: meter.DefaultLimits()} }

func rewrite(t testing.TB, wasm []byte) []byte {
	t.Helper()
	r, err := meter.Rewrite(wasm, options())
	if err != nil {
		t.Fatalf("Rewrite: %v", err)
	}
	return r.Wasm
}

// machine runs a metered module and counts what it is charged.
type machine struct {
	t       testing.TB
	mod     api.Module
	refills int
	// granted is what was handed out; slice is how much at a time.
	granted, slice int64
	// limit ends the run, 0 for none.
	limit int64
}

var errSpent = errors.New("fuel is spent")

func newMachine(t testing.TB, wasm []byte, slice int64) *machine {
	t.Helper()
	ctx := context.Background()
	m := &machine{t: t, slice: slice}
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { _ = rt.Close(ctx) })
	_, err := rt.NewHostModuleBuilder(meter.HostModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
			m.refills++
			if int64(stack[0]) >= 0 {
				t.Errorf("refill was called with %d", int64(stack[0]))
			}
			if m.limit > 0 && m.granted >= m.limit {
				panic(errSpent)
			}
			m.granted += m.slice
			stack[0] += uint64(m.slice)
		}), []api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).
		Export(meter.RefillImport).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m.mod, err = rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) call(name string, args ...uint64) ([]uint64, error) {
	m.t.Helper()
	return m.mod.ExportedFunction(name).Call(context.Background(), args...)
}

// charged is what was taken so far.
func (m *machine) charged() int64 {
	return m.granted - int64(m.mod.ExportedGlobal(meter.FuelGlobal).Get())
}

func (m *machine) growDenied() bool {
	return m.mod.ExportedGlobal(meter.GrowDeniedGlobal).Get() != 0
}

// oneFunc is a module that exports f of type (i32) → () with the given code, a
// memory of one page that may grow to four, and a table of 64 entries.
func oneFunc(locals []byte, code ...[]byte) *mt.Module {
	m := &mt.Module{}
	t := m.Type([]byte{mt.I32}, nil)
	m.Memory(1, 4)
	m.Export("memory", mt.KindMemory, 0)
	m.Table(64, 128)
	m.Export("f", mt.KindFunc, m.Func(t, locals, code...))
	return m
}

func codeOf(err error) meter.Code {
	var e *meter.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
