package meter_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/host/internal/meter"
	mt "github.com/aoagents/ao-host/host/internal/meter/metertest"
)

// outcome is everything a run of f(args…) leaves behind: result or trap, and
// the memory.
func outcome(t testing.TB, wasm []byte, args ...uint64) string {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() { _ = rt.Close(ctx) }()
	_, err := rt.NewHostModuleBuilder(meter.HostModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] += 1000 }),
			[]api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).
		Export(meter.RefillImport).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatalf("instantiate: %v", err)
	}
	var b strings.Builder
	res, err := mod.ExportedFunction("f").Call(ctx, args...)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(&b, "trap %s", line)
	} else {
		fmt.Fprintf(&b, "result %v", res)
	}
	if mem := mod.ExportedMemory("memory"); mem != nil {
		all, _ := mem.Read(0, mem.Size())
		fmt.Fprintf(&b, ", memory of %d ends %v", len(all), bytes.TrimRight(all, "\x00"))
	}
	return b.String()
}

func sameOutcome(t testing.TB, wasm []byte, args ...uint64) string {
	t.Helper()
	want := outcome(t, wasm, args...)
	if got := outcome(t, rewrite(t, wasm), args...); got != want {
		t.Fatalf("f(%v) metered: %s\noriginal: %s", args, got, want)
	}
	return want
}

func TestMeteredModulesComputeTheSame(t *testing.T) {
	i32, none := []byte{mt.I32}, []byte(nil)
	cases := map[string]struct {
		build func() *mt.Module
		args  []uint64
		want  string
	}{
		"recursion": {func() *mt.Module { // fibonacci
			m := &mt.Module{}
			ty := m.Type(i32, i32)
			m.Export("f", mt.KindFunc, m.Func(ty, nil,
				mt.LocalGet(0), mt.I32Const(2), mt.Op(0x48, 0x04, mt.I32), mt.LocalGet(0), mt.Op(0x05),
				mt.LocalGet(0), mt.I32Const(1), mt.Op(0x6b), mt.Call(0),
				mt.LocalGet(0), mt.I32Const(2), mt.Op(0x6b), mt.Call(0), mt.Op(0x6a, 0x0b)))
			return m
		}, []uint64{15}, "result [610]"},
		"a loop with parameters": {func() *mt.Module { // sum of 1..n, kept on the stack
			m := &mt.Module{}
			ty := m.Type(i32, i32)
			m.Export("f", mt.KindFunc, m.Func(ty, nil,
				mt.I32Const(0), mt.Op(0x03), mt.S(int64(ty)), mt.LocalGet(0), mt.Op(0x6a),
				mt.LocalGet(0), mt.I32Const(1), mt.Op(0x6b), mt.LocalTee(0), mt.BrIf(0), mt.Op(0x0b)))
			return m
		}, []uint64{100}, "result [5050]"},
		"imports, tables, element forms and globals": {func() *mt.Module {
			m := &mt.Module{}
			ty := m.Type(i32, i32)
			m.Table(32, 40)
			m.RawTable(mt.FuncRef, 0, 4)
			m.Memory(1, 1)
			m.Export("memory", mt.KindMemory, 0)
			g := m.Global(mt.FuncRef, true, mt.Op(0xd2, 1))
			add := func(n int32) int { return m.Func(ty, nil, mt.LocalGet(0), mt.I32Const(n), mt.Op(0x6a)) }
			call := func(slot, table int32) []byte {
				return mt.Cat(mt.LocalGet(0), mt.I32Const(slot), mt.Op(0x11, byte(ty), byte(table)), mt.LocalSet(0))
			}
			f := m.Func(ty, nil,
				call(0, 0), call(1, 0), call(2, 1), call(5, 0), call(3, 1),
				// The reference in the global, through a slot.
				mt.I32Const(30), mt.GlobalGet(g), mt.Op(0x26, 0), call(30, 0),
				// A passive segment, and one by expressions.
				mt.I32Const(20), mt.I32Const(0), mt.I32Const(2), mt.Op(0xfc, 12, 1, 0), call(21, 0),
				mt.I32Const(22), mt.I32Const(0), mt.I32Const(2), mt.Op(0xfc, 12, 5, 0), call(22, 0),
				mt.Op(0xd2, 2, 0x1a),
				mt.LocalGet(0))
			add(1)
			add(10)
			add(100)
			m.Export("f", mt.KindFunc, f)
			off := func(n int32) []byte { return mt.Cat(mt.I32Const(n), mt.Op(0x0b)) }
			ref := func(i byte) []byte { return mt.Op(0xd2, i, 0x0b) }
			m.Elem(mt.U(0), off(0), mt.Vec([]byte{1, 2}))                                           // 0
			m.Elem(mt.U(1), mt.Op(0), mt.Vec([]byte{3, 1}))                                         // 1
			m.Elem(mt.U(2), mt.U(1), off(2), mt.Op(0), mt.Vec([]byte{3}))                           // 2
			m.Elem(mt.U(3), mt.Op(0), mt.Vec([]byte{1, 2, 3}))                                      // 3
			m.Elem(mt.U(4), off(5), mt.U(2), ref(2), mt.Op(0xd0, mt.FuncRef, 0x0b))                 // 4
			m.Elem(mt.U(5), mt.Op(mt.FuncRef), mt.U(2), ref(3), ref(3))                             // 5
			m.Elem(mt.U(6), mt.U(1), off(3), mt.Op(mt.FuncRef), mt.U(1), ref(1))                    // 6
			m.Elem(mt.U(7), mt.Op(mt.FuncRef), mt.U(1), mt.Op(0xd0, mt.FuncRef, 0x0b), mt.Op()[:0]) // 7
			return m
		}, []uint64{0}, "result [224]"},
		"data, bulk memory and branch tables": {func() *mt.Module {
			m := &mt.Module{}
			ty := m.Type(i32, i32)
			m.Memory(1, 2)
			m.Export("memory", mt.KindMemory, 0)
			m.Export("f", mt.KindFunc, m.Func(ty, nil,
				mt.I32Const(64), mt.I32Const(1), mt.I32Const(3), mt.Op(0xfc, 8, 0, 0),
				mt.I32Const(80), mt.I32Const(64), mt.I32Const(3), mt.Op(0xfc, 10, 0, 0),
				mt.I32Const(90), mt.I32Const(0xee), mt.I32Const(4), mt.Op(0xfc, 11, 0),
				mt.I32Const(1), mt.Op(0x40, 0, 0x1a),
				mt.Block(mt.Block(mt.Block(mt.LocalGet(0), mt.Op(0x0e, 2, 0, 1, 2)), mt.I32Const(7), mt.Op(0x0f)), mt.I32Const(8), mt.Op(0x0f)),
				mt.I32Const(9)))
			m.RawData(mt.U(1), mt.Vec([]byte("abcd")))
			return m
		}, []uint64{1}, "result [8]"},
		"a trap in bulk memory": {func() *mt.Module {
			m := oneFunc(nil, fill(1<<20))
			return m
		}, []uint64{0}, "trap wasm error: out of bounds memory access"},
		"code that is never reached": {func() *mt.Module {
			m := &mt.Module{}
			ty := m.Type(i32, i32)
			m.Memory(1, 2)
			m.Export("memory", mt.KindMemory, 0)
			m.Export("f", mt.KindFunc, m.Func(ty, nil,
				mt.LocalGet(0), mt.Op(0x0f),
				mt.Op(0x40, 0), mt.Op(0x1a, 0xfc, 11, 0), mt.Loop(mt.Br(0)), mt.Op(0x00)))
			return m
		}, []uint64{3}, "result [3]"},
		"vector instructions": {func() *mt.Module {
			m := &mt.Module{}
			ty := m.Type(i32, i32)
			m.Export("f", mt.KindFunc, m.Func(ty, nil,
				mt.LocalGet(0), mt.Op(0xfd, 17), mt.Op(0xfd, 12), bytes.Repeat([]byte{1, 0, 0, 0}, 4),
				mt.Op(0xfd), mt.U(0xae), mt.Op(0xfd, 27, 2)))
			return m
		}, []uint64{41}, "result [42]"},
		"a start function": {func() *mt.Module {
			m := &mt.Module{}
			ty, tz := m.Type(i32, i32), m.Type(none, none)
			g := m.Global(mt.I32, true, mt.I32Const(5))
			m.Export("f", mt.KindFunc, m.Func(ty, nil, mt.GlobalGet(g)))
			m.Start(m.Func(tz, nil, mt.GlobalGet(g), mt.I32Const(3), mt.Op(0x6c), mt.GlobalSet(g)))
			return m
		}, []uint64{0}, "result [15]"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sameOutcome(t, c.build().Bytes(), c.args...); !strings.HasPrefix(got, c.want) {
				t.Errorf("f(%v) is %s, want %s", c.args, got, c.want)
			}
		})
	}
}

// program draws a random but valid and terminating program over i32 locals,
// a memory and a few helper functions.
type program struct {
	t      *rapid.T
	helper int // functions below may be called
	locals int
	loops  int
}

func (p *program) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(p.t, what) }

func (p *program) value(depth int) []byte {
	if depth == 0 {
		if p.draw(2, "leaf") == 0 {
			return mt.I32Const(rapid.Int32().Draw(p.t, "const"))
		}
		return mt.LocalGet(p.draw(p.locals, "local"))
	}
	switch p.draw(6, "value") {
	case 0:
		return mt.Cat(p.value(depth-1), mt.Op(0x45)) // eqz
	case 1:
		return mt.Cat(p.value(depth-1), mt.I32Const(0xfff), mt.Op(0x71, 0x28, 2, 0)) // load
	case 2:
		if p.helper > 0 {
			return mt.Cat(p.value(depth-1), mt.Call(p.draw(p.helper, "helper")))
		}
		return p.value(depth - 1)
	case 3:
		return mt.Cat(mt.I32Const(int32(p.draw(3, "pages"))), mt.Op(0x40, 0))
	default:
		op := byte(0x6a + p.draw(15, "op")) // add … rotr, with division that may trap
		return mt.Cat(p.value(depth-1), p.value(depth-1), mt.Op(op))
	}
}

func (p *program) statement(depth int) []byte {
	switch n := p.draw(8, "statement"); {
	case n == 0 && depth > 0:
		return mt.Cat(p.value(1), mt.If(p.statements(depth-1)))
	case n == 1 && depth > 0:
		return mt.Block(p.statements(depth-1), p.value(1), mt.BrIf(0), p.statements(depth-1))
	case n <= 3 && depth > 0:
		// A counter of its own, out of reach of the drawn statements.
		c := p.locals + p.loops
		p.loops++
		return mt.Cat(mt.I32Const(int32(1+p.draw(5, "times"))), mt.LocalSet(c), mt.Count(c, p.statements(depth-1)))
	case n == 4:
		return mt.Cat(p.value(1), mt.I32Const(0xfff), mt.Op(0x71), p.value(1), mt.Op(0x36, 2, 0)) // store
	case n == 5:
		return mt.Cat(mt.I32Const(int32(p.draw(4096, "to"))), p.value(0), mt.I32Const(int32(p.draw(300, "len"))), mt.Op(0xfc, 11, 0))
	case n == 6:
		return mt.Cat(mt.I32Const(int32(p.draw(4096, "to"))), mt.I32Const(int32(p.draw(4096, "from"))), mt.I32Const(int32(p.draw(300, "len"))), mt.Op(0xfc, 10, 0, 0))
	default:
		return mt.Cat(p.value(2), mt.LocalSet(p.draw(p.locals, "local")))
	}
}

func (p *program) statements(depth int) []byte {
	var b []byte
	for range p.draw(4, "statements") {
		b = append(b, p.statement(depth)...)
	}
	return b
}

func TestMeteredRandomProgramsComputeTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &mt.Module{}
		ty := m.Type([]byte{mt.I32}, []byte{mt.I32})
		m.Memory(1, 3)
		m.Export("memory", mt.KindMemory, 0)
		for i := range 3 {
			p := &program{t: rt, helper: i, locals: 4}
			code := mt.Cat(p.statements(3), p.value(2))
			f := m.Func(ty, bytes.Repeat([]byte{mt.I32}, p.locals-1+p.loops), code)
			if i == 2 {
				m.Export("f", mt.KindFunc, f)
			}
		}
		wasm := m.Bytes()
		arg := uint64(rapid.Uint32().Draw(rt, "arg"))
		want := outcome(t, wasm, arg)
		r, err := meter.Rewrite(wasm, options())
		if err != nil {
			rt.Fatalf("refused: %v", err)
		}
		if got := outcome(t, r.Wasm, arg); got != want {
			rt.Fatalf("metered: %s\noriginal: %s", got, want)
		}
	})
}

func TestMeteredGoProgramsComputeTheSame(t *testing.T) {
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, "./testdata/compute")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, b)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Imports = imports(t, wasm)
	r, err := meter.Rewrite(wasm, o)
	if err != nil {
		t.Fatal(err)
	}
	want, got := printed(t, wasm), printed(t, r.Wasm)
	if !strings.Contains(want, "done") {
		t.Fatalf("the guest did not finish: %q", want)
	}
	if got != want {
		t.Errorf("metered the program printed\n%s\nand before\n%s", got, want)
	}
}

// imports reads what a module imports from wazero's own decoder, as this test
// is not about the list.
func imports(t *testing.T, wasm []byte) map[meter.Import]meter.FuncType {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() { _ = rt.Close(ctx) }()
	c, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	m := map[meter.Import]meter.FuncType{}
	conv := func(ts []api.ValueType) (out []meter.ValType) {
		for _, x := range ts {
			out = append(out, meter.ValType(x))
		}
		return out
	}
	for _, d := range c.ImportedFunctions() {
		mod, name, _ := d.Import()
		m[meter.Import{Module: mod, Name: name}] = meter.FuncType{Params: conv(d.ParamTypes()), Results: conv(d.ResultTypes())}
	}
	return m
}

func printed(t *testing.T, wasm []byte) string {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer func() { _ = rt.Close(ctx) }()
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	_, err := rt.NewHostModuleBuilder(meter.HostModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] += 10000 }),
			[]api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).
		Export(meter.RefillImport).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	// A program ends by exiting with code 0, which is no error.
	if _, err := rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("").WithStdout(&b).WithStderr(&b)); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return b.String()
}
