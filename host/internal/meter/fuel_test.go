package meter_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/aoagents/ao-host/host/internal/meter"
	mt "github.com/aoagents/ao-host/host/internal/meter/metertest"
)

// nops is code of n bytes that does nothing and counts as plain.
func nops(n int) []byte { return bytes.Repeat([]byte{0x01}, n) }

func fill(n int32) []byte {
	return mt.Cat(mt.I32Const(0), mt.I32Const(7), mt.I32Const(n), mt.Op(0xfc, 11, 0))
}

func TestFuelIsExactForKnownCode(t *testing.T) {
	drop := mt.Op(0x1a)
	cases := []struct {
		name  string
		code  []byte
		arg   uint64
		units int64
	}{
		{"an empty function costs its entry", nil, 0, 1},
		{"a loop costs one unit for each time it is entered", mt.Count(0), 1000, 1000},
		{"plain code before a loop is charged with it", mt.Cat(mt.I32Const(1), drop, mt.Count(0)), 10, 10},
		{"a block before a loop separates entry and loop", mt.Block(mt.Count(0)), 10, 11},
		{"nested loops multiply", mt.Count(0, mt.I32Const(5), mt.LocalSet(1), mt.Count(1)), 7, 7 + 7*5},
		{"two loops after each other add up", mt.Cat(mt.LocalGet(0), mt.LocalSet(1), mt.Count(0), mt.Count(1)), 9, 18},
		{"a loop that is not entered is free", mt.Cat(mt.LocalGet(0), mt.If(mt.Loop())), 0, 1},
		{"code below 2 KiB adds nothing", nops(meter.CodeBytesPerUnit - 2), 0, 1},
		{"code of 2 KiB adds a unit", nops(meter.CodeBytesPerUnit), 0, 2},
		{"code of 9 KiB adds four", nops(9 << 10), 0, 5},
		{"long code in a loop is charged each time", mt.Count(0, nops(4<<10)), 10, 10 * 3},
		{"code behind a merged loop is charged with it", mt.Cat(mt.Count(0), nops(8<<10)), 10, 10 * 5},
		{"code around an inner loop is charged once", mt.Cat(mt.Block(mt.Count(0)), nops(8<<10)), 10, 10 + 5},
		{"memory.fill of nothing costs one", fill(0), 0, 1 + 1},
		{"memory.fill is charged by 64 bytes", fill(6400), 0, 1 + 101},
		{"memory.fill rounds down", fill(127), 0, 1 + 2},
		{"memory.copy is charged by 64 bytes", mt.Cat(mt.I32Const(0), mt.I32Const(100), mt.I32Const(640), mt.Op(0xfc, 10, 0, 0)), 0, 1 + 11},
		{"table.fill is charged by 8 entries", mt.Cat(mt.I32Const(0), mt.Op(0xd0, mt.FuncRef), mt.I32Const(64), mt.Op(0xfc, 17, 0)), 0, 1 + 9},
		{"table.copy is charged by 8 entries", mt.Cat(mt.I32Const(0), mt.I32Const(0), mt.I32Const(16), mt.Op(0xfc, 14, 0, 0)), 0, 1 + 3},
		{"table.grow is charged by 8 entries", mt.Cat(mt.Op(0xd0, mt.FuncRef), mt.I32Const(32), mt.Op(0xfc, 15, 0), drop), 0, 1 + 5},
		{"memory.grow is charged by pages", mt.Cat(mt.I32Const(2), mt.Op(0x40, 0), drop), 0, 1 + 1 + 2*16},
		{"memory.grow beyond every memory is cheap", mt.Cat(mt.I32Const(1<<16), mt.Op(0x40, 0), drop), 0, 1 + 1},
		{"saturating truncation is no bulk instruction", mt.Cat(mt.F64Const(1e300), mt.Op(0xfc, 2), drop), 0, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, rewrite(t, oneFunc([]byte{mt.I32}, c.code).Bytes()), 1<<40)
			if _, err := m.call("f", c.arg); err != nil {
				t.Fatal(err)
			}
			if got := m.charged(); got != c.units {
				t.Errorf("charged %d units, want %d", got, c.units)
			}
		})
	}
}

func TestEachCallIsChargedAtItsEntry(t *testing.T) {
	m := &mt.Module{}
	ty := m.Type([]byte{mt.I32}, nil)
	m.Export("f", mt.KindFunc, m.Func(ty, nil, mt.Count(0, mt.I32Const(1), mt.Call(1))))
	m.Func(ty, nil)
	ma := newMachine(t, rewrite(t, m.Bytes()), 1<<40)
	if _, err := ma.call("f", 50); err != nil {
		t.Fatal(err)
	}
	if got := ma.charged(); got != 100 {
		t.Errorf("charged %d units, want 50 for the loop and 50 for the calls", got)
	}
}

func TestSegmentInitializersAreChargedByLength(t *testing.T) {
	m := &mt.Module{}
	ty := m.Type(nil, nil)
	m.Memory(1, 1)
	m.Table(64, 64)
	f := m.Func(ty, nil,
		mt.I32Const(0), mt.I32Const(0), mt.I32Const(640), mt.Op(0xfc, 8, 0, 0),
		mt.Op(0xfc, 9, 0),
		mt.I32Const(0), mt.I32Const(0), mt.I32Const(8), mt.Op(0xfc, 12, 0, 0),
		mt.Op(0xfc, 13, 0))
	m.Export("f", mt.KindFunc, f)
	m.Elem(mt.U(1), mt.Op(0), mt.Vec(bytes.Repeat([]byte{0}, 8)))
	m.RawData(mt.U(1), mt.Vec(bytes.Repeat([]byte{9}, 640)))
	ma := newMachine(t, rewrite(t, m.Bytes()), 1<<40)
	if _, err := ma.call("f"); err != nil {
		t.Fatal(err)
	}
	if got, want := ma.charged(), int64(1+11+2); got != want {
		t.Errorf("charged %d units, want %d", got, want)
	}
}

func TestRefillIsCalledWhenTheCounterIsNegativeAndNotBefore(t *testing.T) {
	wasm := rewrite(t, oneFunc(nil, mt.Count(0)).Bytes())
	for _, c := range []struct {
		loops   uint64
		refills int
	}{{1, 1}, {9, 1}, {10, 1}, {11, 2}, {20, 2}, {21, 3}, {1000, 100}} {
		m := newMachine(t, wasm, 10)
		if _, err := m.call("f", c.loops); err != nil {
			t.Fatal(err)
		}
		if m.refills != c.refills {
			t.Errorf("%d loops with 10 units a time: %d refills, want %d", c.loops, m.refills, c.refills)
		}
	}
}

func TestARunawayGuestEndsWhenNoFuelIsGiven(t *testing.T) {
	endless := map[string]*mt.Module{
		"loop": oneFunc(nil, mt.Loop(mt.Br(0))),
		"bulk": oneFunc(nil, mt.Loop(fill(60000), mt.Br(0))),
		"recursion": func() *mt.Module {
			m := &mt.Module{}
			ty := m.Type([]byte{mt.I32}, nil)
			m.Export("f", mt.KindFunc, m.Func(ty, nil, mt.LocalGet(0), mt.Call(0)))
			return m
		}(),
		"indirect": func() *mt.Module {
			m := &mt.Module{}
			ty := m.Type([]byte{mt.I32}, nil)
			m.Table(1, 1)
			m.Elem(mt.U(0), mt.I32Const(0), mt.Op(0x0b), mt.Vec([]byte{0}))
			m.Export("f", mt.KindFunc, m.Func(ty, nil, mt.LocalGet(0), mt.I32Const(0), mt.Op(0x11, 0, 0)))
			return m
		}(),
	}
	for name, m := range endless {
		t.Run(name, func(t *testing.T) {
			ma := newMachine(t, rewrite(t, m.Bytes()), 100)
			ma.limit = 1000 // below the interpreter's depth of calls
			if _, err := ma.call("f", 1); !errors.Is(err, errSpent) {
				t.Errorf("the guest ended with %v, want %v", err, errSpent)
			}
		})
	}
}

func TestTheStartFunctionIsMetered(t *testing.T) {
	m := &mt.Module{}
	ty := m.Type(nil, nil)
	f := m.Func(ty, []byte{mt.I32}, mt.I32Const(25), mt.LocalSet(0), mt.Count(0))
	m.Start(f)
	if got := newMachine(t, rewrite(t, m.Bytes()), 1000).charged(); got != 25 {
		t.Errorf("charged %d units during instantiation, want 25", got)
	}
}

func TestADeniedGrowthIsSeenAndAGrantedOneIsNot(t *testing.T) {
	grow := func() *mt.Module {
		m := &mt.Module{}
		ty := m.Type([]byte{mt.I32}, []byte{mt.I32})
		m.Memory(1, 3)
		m.Export("f", mt.KindFunc, m.Func(ty, nil, mt.LocalGet(0), mt.Op(0x40, 0)))
		return m
	}
	ma := newMachine(t, rewrite(t, grow().Bytes()), 1<<30)
	for _, step := range []struct {
		pages  uint64
		want   int32
		denied bool
	}{{1, 1, false}, {0, 2, false}, {1, 2, false}, {1, -1, true}} {
		got, err := ma.call("f", step.pages)
		if err != nil {
			t.Fatal(err)
		}
		if int32(got[0]) != step.want || ma.growDenied() != step.denied {
			t.Errorf("growing by %d: %d, denied %t; want %d, %t", step.pages, int32(got[0]), ma.growDenied(), step.want, step.denied)
		}
	}
}

func TestTheMemoryMaximumIsCutDownToTheLimit(t *testing.T) {
	o := options()
	o.Limits.MemoryPages = 2
	for _, most := range []int{-1, 2, 3, 65536} {
		m := &mt.Module{}
		ty := m.Type([]byte{mt.I32}, []byte{mt.I32})
		m.Memory(1, most)
		m.Export("f", mt.KindFunc, m.Func(ty, nil, mt.LocalGet(0), mt.Op(0x40, 0)))
		r, err := meter.Rewrite(m.Bytes(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.MemoryMinPages != 1 || r.MemoryMaxPages != 2 {
			t.Errorf("maximum %d: memory %d to %d pages, want 1 to 2", most, r.MemoryMinPages, r.MemoryMaxPages)
		}
		ma := newMachine(t, r.Wasm, 1<<30)
		var got []int32
		for range 2 {
			v, err := ma.call("f", 1)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, int32(v[0]))
		}
		if !slices.Equal(got, []int32{1, -1}) {
			t.Errorf("maximum %d: growth gave %v, want 1 and then -1", most, got)
		}
	}
}
