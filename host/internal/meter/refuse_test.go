package meter_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/host/internal/meter"
	mt "github.com/aoagents/ao-host/host/internal/meter/metertest"
)

var i32s = []byte{mt.I32}

// with builds a module with one function of the given code.
func with(code ...[]byte) *mt.Module { return oneFunc(nil, code...) }

func TestRefusalsNameTheFeatureAndTheWayOut(t *testing.T) {
	drop := mt.Op(0x1a)
	bare := func(f func(m *mt.Module)) *mt.Module {
		m := &mt.Module{}
		m.Type(i32s, nil)
		f(m)
		return m
	}
	raw := func(id byte, body []byte) []byte {
		return append([]byte("\x00asm\x01\x00\x00\x00"), mt.Section(id, body)...)
	}
	cases := map[string]struct {
		wasm []byte
		code meter.Code
		says string
	}{
		"an empty file":              {nil, meter.CodeTruncated, "copy or build it again"},
		"half a header":              {[]byte("\x00asm\x01"), meter.CodeTruncated, "copy or build it again"},
		"text":                       {[]byte("(module)\n"), meter.CodeForeign, ".wasm file"},
		"short text":                 {[]byte("hello"), meter.CodeForeign, ".wasm file"},
		"another version":            {[]byte("\x00asm\x02\x00\x00\x00"), meter.CodeForeign, "version 2"},
		"a component":                {[]byte("\x00asm\x0d\x00\x01\x00\x07"), meter.CodeComponent, "core module"},
		"a cut section":              {append(with().Bytes(), 11, 200, 1), meter.CodeTruncated, "copy or build it again"},
		"an unknown section":         {raw(99, nil), meter.CodeUnsupported, "section 99"},
		"a tag section":              {raw(13, mt.U(0)), meter.CodeUnsupported, "exceptions"},
		"sections out of order":      {append(raw(3, mt.U(0)), mt.Section(1, mt.U(0))...), meter.CodeInvalid, "out of order"},
		"a repeated section":         {append(raw(1, mt.U(0)), mt.Section(1, mt.U(0))...), meter.CodeInvalid, "repeated"},
		"a section with a rest":      {raw(1, mt.Op(0, 0)), meter.CodeInvalid, "longer"},
		"a custom name not in UTF-8": {raw(0, mt.Op(1, 0xff)), meter.CodeInvalid, "UTF-8"},
		"bodies missing": {append(raw(1, mt.Op(1, 0x60, 0, 0)), mt.Section(3, mt.Op(1, 0))...),
			meter.CodeInvalid, "1 functions are declared but 0"},

		"a struct type":          {raw(1, mt.Op(1, 0x5f, 0)), meter.CodeUnsupported, "garbage collection"},
		"a typed reference":      {raw(1, mt.Op(1, 0x60, 1, 0x64, 0)), meter.CodeUnsupported, "value type 0x64"},
		"exception instructions": {with(mt.Op(0x1f, 0x40, 0)).Bytes(), meter.CodeUnsupported, "exceptions"},
		"throw":                  {with(mt.Op(0x08, 0)).Bytes(), meter.CodeUnsupported, "exceptions"},
		"a tail call":            {with(mt.Op(0x12, 0)).Bytes(), meter.CodeUnsupported, "tail calls"},
		"call_ref":               {with(mt.Op(0x14, 0)).Bytes(), meter.CodeUnsupported, "typed function references"},
		"garbage collection":     {with(mt.Op(0xfb, 0)).Bytes(), meter.CodeUnsupported, "garbage collection"},
		"an atomic":              {with(mt.Op(0xfe, 0)).Bytes(), meter.CodeUnsupported, "threads"},
		"relaxed SIMD":           {with(mt.Op(0xfd, 0x80, 0x02)).Bytes(), meter.CodeUnsupported, "relaxed SIMD"},
		"a SIMD number nobody uses": {with(mt.Op(0xfd, 0x9a, 0x01)).Bytes(), meter.CodeUnsupported,
			"0xfd 154"},
		"a bulk number nobody uses":   {with(mt.Op(0xfc, 18)).Bytes(), meter.CodeUnsupported, "0xfc 18"},
		"an opcode nobody uses":       {with(mt.Op(0xff)).Bytes(), meter.CodeUnsupported, "instruction 0xff"},
		"extended constants":          {bare(func(m *mt.Module) { m.Global(mt.I32, false, mt.Cat(mt.I32Const(1), mt.I32Const(1), mt.Op(0x6a))) }).Bytes(), meter.CodeUnsupported, "extended constant"},
		"a call as an initializer":    {bare(func(m *mt.Module) { m.Global(mt.I32, false, mt.Call(0)) }).Bytes(), meter.CodeUnsupported, "initializer"},
		"shared memory":               {bare(func(m *mt.Module) { m.RawMemory(3, 1, 2) }).Bytes(), meter.CodeUnsupported, "threads"},
		"64-bit memory":               {bare(func(m *mt.Module) { m.RawMemory(4, 1) }).Bytes(), meter.CodeUnsupported, "64-bit"},
		"custom pages":                {bare(func(m *mt.Module) { m.RawMemory(8, 1, 0) }).Bytes(), meter.CodeUnsupported, "page sizes"},
		"two memories":                {bare(func(m *mt.Module) { m.Memory(1, 1); m.Memory(1, 1) }).Bytes(), meter.CodeUnsupported, "more than one memory"},
		"memory 1 in an instruction":  {with(mt.I32Const(0), mt.Op(0x28, 0x42, 1, 0), drop).Bytes(), meter.CodeUnsupported, "more than one memory"},
		"memory 1 in memory.size":     {with(mt.Op(0x3f, 1), drop).Bytes(), meter.CodeUnsupported, "more than one memory"},
		"memory 1 in a data segment":  {bare(func(m *mt.Module) { m.Memory(1, 1); m.RawData(mt.U(2), mt.U(1)) }).Bytes(), meter.CodeUnsupported, "more than one memory"},
		"a memory of 5 GiB":           {bare(func(m *mt.Module) { m.Memory(1, 80000) }).Bytes(), meter.CodeInvalid, "65536"},
		"a memory that starts large":  {bare(func(m *mt.Module) { m.Memory(5000, -1) }).Bytes(), meter.CodeLimit, "limits.memory_bytes"},
		"a minimum above the maximum": {bare(func(m *mt.Module) { m.Memory(2, 1) }).Bytes(), meter.CodeInvalid, "above"},
		"a large table":               {bare(func(m *mt.Module) { m.Table(1<<20, -1) }).Bytes(), meter.CodeLimit, "table"},

		"an import of a stranger": {bare(func(m *mt.Module) { m.ImportFunc("env", "open", 0) }).Bytes(), meter.CodeImport, `"env"."open"`},
		"the refill function":     {bare(func(m *mt.Module) { m.ImportFunc(meter.HostModule, meter.RefillImport, 0) }).Bytes(), meter.CodeImport, "does not offer"},
		"an imported memory":      {bare(func(m *mt.Module) { m.Import("env", "memory", mt.Op(2, 0, 1)) }).Bytes(), meter.CodeImport, "imports a memory"},
		"an imported global":      {bare(func(m *mt.Module) { m.Import("env", "g", mt.Op(3, mt.I32, 0)) }).Bytes(), meter.CodeImport, "imports a global"},
		"an imported table":       {bare(func(m *mt.Module) { m.Import("env", "t", mt.Op(1, mt.FuncRef, 0, 1)) }).Bytes(), meter.CodeImport, "imports a table"},
		"an imported tag":         {bare(func(m *mt.Module) { m.Import("env", "t", mt.Op(4, 0, 0)) }).Bytes(), meter.CodeImport, "imports a tag"},

		"a name exported twice": {bare(func(m *mt.Module) { m.Memory(1, 1); m.Export("x", 2, 0); m.Export("x", 2, 0) }).Bytes(), meter.CodeInvalid, "twice"},
		"the host's name":       {bare(func(m *mt.Module) { m.Memory(1, 1); m.Export(meter.FuelGlobal, 2, 0) }).Bytes(), meter.CodeExport, "rename"},
		"an exported tag":       {bare(func(m *mt.Module) { m.Export("x", 4, 0) }).Bytes(), meter.CodeUnsupported, "exceptions"},

		"code after the end":        {with(mt.Op(0x0b, 0x01)).Bytes(), meter.CodeInvalid, "after the end"},
		"a body without an end":     {bare(func(m *mt.Module) { m.RawFunc(0, mt.Op(0, 0x01)) }).Bytes(), meter.CodeTruncated, "middle"},
		"an else without an if":     {with(mt.Op(0x05)).Bytes(), meter.CodeInvalid, "else"},
		"two elses":                 {with(mt.LocalGet(0), mt.If(mt.Op(0x05, 0x05))).Bytes(), meter.CodeInvalid, "else"},
		"a branch out of the body":  {with(mt.Br(1)).Bytes(), meter.CodeInvalid, "enclosing block"},
		"an integer of 33 bits":     {with(mt.Op(0x41, 0xff, 0xff, 0xff, 0xff, 0x1f), drop).Bytes(), meter.CodeInvalid, "32 bits"},
		"an index of 6 bytes":       {with(mt.Op(0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0)).Bytes(), meter.CodeInvalid, "32 bits"},
		"data without its count":    {with(mt.I32Const(0), mt.I32Const(0), mt.I32Const(0), mt.Op(0xfc, 8, 0, 0)).Bytes(), meter.CodeInvalid, "counts"},
		"a load without a memory":   {bare(func(m *mt.Module) { m.Func(0, nil, mt.I32Const(0), mt.Op(0x28, 2, 0), drop) }).Bytes(), meter.CodeInvalid, "has none"},
		"a growth without a memory": {bare(func(m *mt.Module) { m.Func(0, nil, mt.I32Const(0), mt.Op(0x40, 0), drop) }).Bytes(), meter.CodeInvalid, "has none"},
		"nothing but loops": {with(mt.Cat(bytes.Repeat([]byte{0x03, 0x40, 0x0b}, 20000))).Bytes(),
			meter.CodeLimit, "little else"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := meter.Rewrite(c.wasm, options())
			if err == nil {
				t.Fatal("the module was accepted")
			}
			if codeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("refused with %q, want code %s and %q", err, c.code, c.says)
			}
		})
	}
}

// The names of what the meter adds would be valid indices after it was added;
// a guest that guesses them must be refused before.
func TestAGuestCannotReachWhatTheMeterAdds(t *testing.T) {
	build := func(f func(m *mt.Module) []byte) []byte {
		m := &mt.Module{}
		ty := m.Type(i32s, nil)
		m.Memory(1, 4)
		m.Table(4, 4)
		m.Global(mt.I64, true, mt.I64Const(0))
		code := f(m)
		m.Export("f", mt.KindFunc, m.Func(ty, nil, mt.I32Const(0), mt.Op(0x40, 0, 0x1a), code))
		return m.Bytes()
	}
	set := func(g int) []byte { return mt.Cat(mt.I64Const(1<<62), mt.GlobalSet(g)) }
	if _, err := meter.Rewrite(build(func(*mt.Module) []byte { return set(0) }), options()); err != nil {
		t.Fatalf("its own global is refused: %v", err)
	}
	for name, f := range map[string]func(m *mt.Module) []byte{
		"set the counter":             func(*mt.Module) []byte { return set(1) },
		"read the counter":            func(*mt.Module) []byte { return mt.Cat(mt.GlobalGet(1), mt.Op(0x1a)) },
		"clear the denied growth":     func(*mt.Module) []byte { return mt.Cat(mt.I32Const(0), mt.GlobalSet(2)) },
		"call the function that asks": func(*mt.Module) []byte { return mt.Call(1) },
		"call what is behind it":      func(*mt.Module) []byte { return mt.Call(2) },
		"refer to it":                 func(*mt.Module) []byte { return mt.Op(0xd2, 1, 0x1a) },
		"use its type":                func(*mt.Module) []byte { return mt.Cat(mt.I32Const(0), mt.Op(0x11, 2, 0)) },
		"use its type for a block":    func(*mt.Module) []byte { return mt.Op(0x02, 2, 0x0b) },
		"use the added local":         func(*mt.Module) []byte { return mt.Cat(mt.LocalGet(1), mt.Op(0x1a)) },
		"export the counter":          func(m *mt.Module) []byte { m.Export("g", mt.KindGlobal, 1); return nil },
		"export the added function":   func(m *mt.Module) []byte { m.Export("g", mt.KindFunc, 1); return nil },
		"start with it":               func(m *mt.Module) []byte { m.Start(1); return nil },
		"read it in an initializer": func(m *mt.Module) []byte {
			m.Global(mt.I64, false, mt.GlobalGet(2))
			return nil
		},
		"read it in an offset": func(m *mt.Module) []byte {
			m.Elem(mt.U(0), mt.GlobalGet(2), mt.Op(0x0b), mt.Vec(nil))
			return nil
		},
		"read it in a data offset": func(m *mt.Module) []byte {
			m.RawData(mt.U(0), mt.GlobalGet(2), mt.Op(0x0b), mt.Vec(nil))
			return nil
		},
		"put it into a table": func(m *mt.Module) []byte {
			m.Elem(mt.U(0), mt.I32Const(0), mt.Op(0x0b), mt.Vec([]byte{1}))
			return nil
		},
		"put it into a table by expression": func(m *mt.Module) []byte {
			m.Elem(mt.U(4), mt.I32Const(0), mt.Op(0x0b), mt.U(1), mt.Op(0xd2, 1, 0x0b))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := meter.Rewrite(build(f), options())
			if codeOf(err) != meter.CodeInvalid || !strings.Contains(err.Error(), "there is no") {
				t.Errorf("got %v, want a refusal that there is no such thing", err)
			}
		})
	}
}

func TestImportsAndExportsMustHaveTheirTypes(t *testing.T) {
	o := options()
	o.Imports = map[meter.Import]meter.FuncType{
		{Module: "wasi", Name: "now"}: {Params: []meter.ValType{meter.I32}, Results: []meter.ValType{meter.I64}},
	}
	o.Exports = []meter.Export{
		{Name: "step", Type: meter.FuncType{Params: []meter.ValType{meter.I32}, Results: []meter.ValType{meter.I64}}},
		{Name: "init", Optional: true},
	}
	o.Memory = "memory"
	type change struct{ importType, stepType, initType, memory string }
	build := func(c change) []byte {
		m := &mt.Module{}
		ok, other, none := m.Type(i32s, []byte{mt.I64}), m.Type(i32s, i32s), m.Type(nil, nil)
		pick := map[string]int{"": ok, "other": other, "none": none}
		if c.importType != "no" {
			m.ImportFunc("wasi", "now", pick[c.importType])
		}
		m.Memory(1, 1)
		switch c.memory {
		case "":
			m.Export("memory", mt.KindMemory, 0)
		case "renamed":
			m.Export("mem", mt.KindMemory, 0)
		case "function":
			m.Export("memory", mt.KindFunc, 0)
		}
		one := m.Func(ok, nil, mt.I64Const(0))
		two := m.Func(other, nil, mt.I32Const(0))
		three := m.Func(none, nil)
		byType := map[string]int{"": one, "other": two, "none": three}
		if c.stepType == "memory" {
			m.Export("step", mt.KindMemory, 0)
		} else if c.stepType != "no" {
			m.Export("step", mt.KindFunc, byType[c.stepType])
		}
		if c.initType != "" {
			m.Export("init", mt.KindFunc, byType[c.initType])
		}
		return m.Bytes()
	}
	for _, good := range []change{{}, {importType: "no"}, {initType: "none"}} {
		r, err := meter.Rewrite(build(good), o)
		if err != nil {
			t.Errorf("%+v is refused: %v", good, err)
		}
		if want := good.importType == ""; (len(r.Imports) == 1) != want {
			t.Errorf("%+v lists the imports %v", good, r.Imports)
		}
	}
	for _, bad := range []struct {
		change
		code meter.Code
		says string
	}{
		{change{importType: "other"}, meter.CodeImport, "as (i32) → (i32), but it is (i32) → (i64)"},
		{change{stepType: "no"}, meter.CodeExport, "does not export step (i32) → (i64)"},
		{change{stepType: "other"}, meter.CodeExport, "must have (i32) → (i64)"},
		{change{stepType: "memory"}, meter.CodeExport, "is a memory"},
		{change{initType: "other"}, meter.CodeExport, "must have () → ()"},
		{change{memory: "renamed"}, meter.CodeExport, "its memory"},
		{change{memory: "function"}, meter.CodeExport, "its memory"},
	} {
		_, err := meter.Rewrite(build(bad.change), o)
		if codeOf(err) != bad.code || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%+v: %v, want code %s and %q", bad.change, err, bad.code, bad.says)
		}
	}
}

func TestEveryLimitIsEnforced(t *testing.T) {
	m := oneFunc([]byte{mt.I32, mt.I64}, mt.Block(mt.Block()), fill(1))
	m.Type([]byte{mt.I32, mt.I32}, []byte{mt.I64, mt.I64})
	m.Global(mt.I32, false, mt.I32Const(1))
	m.Global(mt.I32, false, mt.I32Const(1))
	m.Elem(mt.U(0), mt.I32Const(0), mt.Op(0x0b), mt.Vec([]byte{0, 0}))
	m.Elem(mt.U(0), mt.I32Const(0), mt.Op(0x0b), mt.Vec([]byte{0, 0}))
	m.Data(0, []byte("x"))
	m.Data(1, []byte("x"))
	m.RawTable(mt.FuncRef, 0, 1)
	m.Func(0, nil)
	wasm := m.Bytes()
	if _, err := meter.Rewrite(wasm, options()); err != nil {
		t.Fatal(err)
	}
	for name, tighten := range map[string]func(l *meter.Limits){
		"module bytes":  func(l *meter.Limits) { l.ModuleBytes = len(wasm) - 1 },
		"types":         func(l *meter.Limits) { l.Types = 1 },
		"functions":     func(l *meter.Limits) { l.Functions = 1 },
		"globals":       func(l *meter.Limits) { l.Globals = 1 },
		"exports":       func(l *meter.Limits) { l.Exports = 1 },
		"elements":      func(l *meter.Limits) { l.Elements = 1 },
		"data segments": func(l *meter.Limits) { l.DataSegments = 1 },
		"tables":        func(l *meter.Limits) { l.Tables = 1 },
		"table entries": func(l *meter.Limits) { l.TableEntries = 63 },
		"params":        func(l *meter.Limits) { l.Params = 1 },
		"results":       func(l *meter.Limits) { l.Results = 1 },
		"locals":        func(l *meter.Limits) { l.Locals = 1 },
		"body bytes":    func(l *meter.Limits) { l.BodyBytes = 8 },
		"nesting":       func(l *meter.Limits) { l.Nesting = 2 },
		"memory":        func(l *meter.Limits) { l.MemoryPages = 0 },
	} {
		o := options()
		tighten(&o.Limits)
		if _, err := meter.Rewrite(wasm, o); codeOf(err) != meter.CodeLimit {
			t.Errorf("limit of %s: got %v, want a refusal with %s", name, err, meter.CodeLimit)
		}
	}
	huge := &mt.Module{}
	ty := huge.Type(nil, nil)
	huge.RawFunc(ty, mt.Cat(mt.U(1), mt.U(1<<32-1), mt.Op(mt.I64, 0x0b)))
	if _, err := meter.Rewrite(huge.Bytes(), options()); codeOf(err) != meter.CodeLimit {
		t.Errorf("4 billion locals: got %v, want a refusal with %s", err, meter.CodeLimit)
	}
}

// everything is a module that uses each section and many instructions.
func everything() []byte {
	m := &mt.Module{}
	ty := m.Type(i32s, i32s)
	m.Type(nil, nil)
	m.Table(8, 16)
	m.Memory(1, 2)
	m.Global(mt.I32, true, mt.I32Const(3))
	m.Global(mt.FuncRef, false, mt.Op(0xd2, 0))
	f := m.Func(ty, []byte{mt.I32, mt.I64},
		mt.I32Const(5), mt.LocalSet(1), mt.Count(1, mt.LocalGet(0), mt.GlobalGet(0), mt.Op(0x6a), mt.LocalSet(0)),
		mt.I32Const(8), mt.I32Const(0), mt.I32Const(2), mt.Op(0xfc, 8, 0, 0),
		mt.I32Const(1), mt.Op(0x40, 0, 0x1a), mt.LocalGet(0), mt.I32Const(0), mt.Op(0x11, 0, 0))
	m.Func(ty, nil, mt.LocalGet(0), mt.Op(0x04, mt.I32), mt.I32Const(1), mt.Op(0x05), mt.I32Const(2), mt.Op(0x0b))
	m.Export("f", mt.KindFunc, f)
	m.Export("memory", mt.KindMemory, 0)
	m.Start(m.Func(1, nil))
	m.Elem(mt.U(0), mt.I32Const(0), mt.Op(0x0b), mt.Vec([]byte{1, 0}))
	m.RawData(mt.U(1), mt.Vec([]byte("data")))
	m.Custom("name", []byte{0, 1, 0})
	return m.Bytes()
}

func TestEveryCutModuleIsRefused(t *testing.T) {
	wasm := everything()
	if _, err := meter.Rewrite(wasm, options()); err != nil {
		t.Fatal(err)
	}
	// A cut at the end of a section leaves a shorter module; it may be valid
	// only where nothing it announced is missing.
	valid := 0
	for n := range wasm {
		if r, err := meter.Rewrite(wasm[:n], options()); err == nil {
			valid++
			if len(r.Wasm) == 0 {
				t.Errorf("cut at %d: accepted with an empty result", n)
			}
		} else if codeOf(err) == "" {
			t.Errorf("cut at %d: an error without a code: %v", n, err)
		}
	}
	// After the header, the types, and the module without its custom section.
	if valid != 3 {
		t.Errorf("%d cut modules were accepted, want 3", valid)
	}
}
