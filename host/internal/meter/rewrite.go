package meter

import (
	"encoding/binary"
	"fmt"
)

// Names the rewritten module has in common with the engine.
const (
	// HostModule and RefillImport name the function that is called when the
	// counter is negative.
	HostModule   = "ao_meter"
	RefillImport = "refill"
	// FuelGlobal is the counter, GrowDeniedGlobal is 1 after a failed
	// memory.grow. The engine may write both.
	FuelGlobal       = "ao_meter.fuel"
	GrowDeniedGlobal = "ao_meter.grow_denied"
)

// RefillType is the type of the refill function.
func RefillType() FuncType { return FuncType{Params: []ValType{I64}, Results: []ValType{I64}} }

// Options say what a module may import and must export. The zero Limits allow
// nothing, start from [DefaultLimits].
type Options struct {
	Limits  Limits
	Imports map[Import]FuncType
	Exports []Export
	// Memory is the name under which the memory must be exported, empty when
	// none has to be.
	Memory string
}

// Result is a rewritten module.
type Result struct {
	Wasm []byte
	// Functions counts the functions of the original, imported ones too.
	Functions int
	// Imports are the functions the original imports, in its order.
	Imports []Import
	// MemoryMinPages and MemoryMaxPages are the size of the memory after the
	// limit was applied.
	MemoryMinPages, MemoryMaxPages uint32
}

// Rewrite checks wasm and returns it with metering. The error is an [*Error].
// It never panics and allocates no more than a small multiple of the input.
// What it returns is still to be type-checked by the engine.
func Rewrite(wasm []byte, o Options) (res Result, err error) {
	defer func() {
		// Every read is bounds-checked; should one be missed, a stranger's file
		// must end as an error, not as a crash of the host.
		if p := recover(); p != nil {
			res, err = Result{}, refuse(CodeInvalid, -1, "the module could not be read: %v", p)
		}
	}()
	m, perr := parse(wasm, o)
	if perr == nil {
		perr = m.checkExports(o)
	}
	if perr != nil {
		return Result{}, perr
	}
	out, perr := m.emit(len(wasm))
	if perr != nil {
		return Result{}, perr
	}
	return Result{Wasm: out, Functions: m.funcs(), Imports: m.imported, MemoryMinPages: m.memMin, MemoryMaxPages: m.memMax}, nil
}

func (m *module) checkExports(o Options) *Error {
	byName := make(map[string]export, len(m.exports))
	for _, e := range m.exports {
		byName[e.name] = e
	}
	if o.Memory != "" {
		if e, ok := byName[o.Memory]; !ok || e.kind != 2 {
			return refuse(CodeExport, -1, "the module does not export its memory as %q; add that export", o.Memory)
		}
	}
	for _, want := range o.Exports {
		e, ok := byName[want.Name]
		if !ok {
			if want.Optional {
				continue
			}
			return refuse(CodeExport, -1, "the module does not export %s %s; build it as a reactor (Go: -buildmode=c-shared) with the functions of ABI.md", want.Name, want.Type)
		}
		if e.kind != 0 {
			return refuse(CodeExport, -1, "the export %s is a %s, but must be a function %s", want.Name, kindName(e.kind), want.Type)
		}
		if got := m.types[m.funcTypes[e.index]]; !got.Equal(want.Type) {
			return refuse(CodeExport, -1, "the export %s has the type %s, but must have %s", want.Name, got, want.Type)
		}
	}
	return nil
}

// emitter writes the new module.
type emitter struct {
	m   *module
	out []byte
	// Indices of what is added.
	refillType, slowType int
	refill, slow         int
	fuel, denied         int
}

func (m *module) emit(size int) ([]byte, *Error) {
	e := &emitter{m: m, out: make([]byte, 0, size+size/4+256)}
	e.refillType, e.slowType = len(m.types), len(m.types)+1
	e.refill, e.slow = m.imports, m.funcs()+1
	e.fuel, e.denied = m.globals, m.globals+1

	e.out = append(append(e.out, magic...), coreVersion...)
	e.section(secType, e.types())
	e.section(secImport, e.imports())
	e.section(secFunction, e.extend(secFunction, len(m.funcTypes)-m.imports, 1, uleb(nil, e.slowType)))
	if len(m.tables) > 0 {
		e.section(secTable, e.tables())
	}
	if m.memory {
		e.section(secMemory, uleb(uleb([]byte{1, 1}, int(m.memMin)), int(m.memMax)))
	}
	globals, err := e.globals()
	if err != nil {
		return nil, err
	}
	e.section(secGlobal, globals)
	e.section(secExport, e.exports())
	if m.secs[secStart].present {
		e.section(secStart, uleb(nil, e.shift(int(m.secs[secStart].reader().u32()))))
	}
	if m.secs[secElement].present {
		s := &sink{b: make([]byte, 0, len(m.secs[secElement].body)+64), shift: e.shift}
		r := m.secs[secElement].reader()
		if m.elementSection(r, s); r.err != nil {
			return nil, r.err
		}
		e.section(secElement, s.b)
	}
	for _, id := range []int{secDataCount, secCode, secData} {
		if id == secCode {
			code, err := e.code()
			if err != nil {
				return nil, err
			}
			e.section(secCode, code)
		} else if m.secs[id].present {
			e.section(id, m.secs[id].body)
		}
	}
	return e.out, nil
}

// shift moves a function index past the added import.
func (e *emitter) shift(i int) int {
	if i >= e.refill {
		return i + 1
	}
	return i
}

func (e *emitter) section(id int, body []byte) {
	e.out = append(uleb(append(e.out, byte(id)), len(body)), body...)
}

// extend copies a section that is a vector of n entries and appends more.
func (e *emitter) extend(id, n, more int, extra []byte) []byte {
	b := uleb(make([]byte, 0, len(e.m.secs[id].body)+len(extra)+2), n+more)
	if s := e.m.secs[id]; s.present {
		r := s.reader()
		r.u32()
		b = append(b, s.body[r.i:]...)
	}
	return append(b, extra...)
}

func (e *emitter) types() []byte {
	return e.extend(secType, len(e.m.types), 2, []byte{
		0x60, 1, byte(I64), 1, byte(I64),
		0x60, 0, 0,
	})
}

func (e *emitter) imports() []byte {
	b := uleb(nil, len(HostModule))
	b = append(b, HostModule...)
	b = append(uleb(b, len(RefillImport)), RefillImport...)
	b = uleb(append(b, 0), e.refillType)
	return e.extend(secImport, e.m.imports, 1, b)
}

func (e *emitter) tables() []byte {
	b := uleb(nil, len(e.m.tables))
	for i, t := range e.m.tables {
		b = uleb(uleb(append(b, byte(t), 1), int(e.m.tableMin[i])), int(e.m.tableMax[i]))
	}
	return b
}

func (e *emitter) globals() ([]byte, *Error) {
	s := &sink{shift: e.shift}
	s.u32(e.m.globals + 2)
	if sec := e.m.secs[secGlobal]; sec.present {
		r := sec.reader()
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			e.m.global(r, s)
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	s.raw([]byte{
		byte(I64), 1, opI64Const, 0, opEnd,
		byte(I32), 1, opI32Const, 0, opEnd,
	})
	return s.b, nil
}

func (e *emitter) exports() []byte {
	b := uleb(nil, len(e.m.exports)+2)
	put := func(name string, kind byte, index int) {
		b = append(uleb(b, len(name)), name...)
		b = uleb(append(b, kind), index)
	}
	for _, x := range e.m.exports {
		if x.kind == 0 {
			x.index = e.shift(x.index)
		}
		put(x.name, x.kind, x.index)
	}
	put(FuelGlobal, 3, e.fuel)
	put(GrowDeniedGlobal, 3, e.denied)
	return b
}

// maxGrowth bounds how much longer metering may make the code. What compilers
// write grows by a quarter.
const maxGrowth = 4

func (e *emitter) code() ([]byte, *Error) {
	m := e.m
	s := &scanner{m: m}
	b := uleb(make([]byte, 0, len(m.secs[secCode].body)*5/4+64), len(m.bodies)+1)
	var body []byte
	for i, src := range m.bodies {
		if err := s.scan(m.imports+i, src); err != nil {
			return nil, err
		}
		body = e.body(body[:0], s, src.body)
		b = append(uleb(b, len(body)), body...)
		if len(b) > maxGrowth*len(m.secs[secCode].body)+1<<16 {
			return nil, refuse(CodeLimit, src.base, "the code is little else than loops, calls and bulk instructions, and metering makes it more than %d times as long; build it with a compiler", maxGrowth)
		}
	}
	// slow: fuel = refill(fuel)
	body = append(body[:0], 0)
	body = uleb(append(body, opGlobalGet), e.fuel)
	body = uleb(append(body, opCall), e.refill)
	body = uleb(append(body, opGlobalSet), e.fuel)
	body = append(body, opEnd)
	return append(uleb(b, len(body)), body...), nil
}

func (e *emitter) body(b []byte, s *scanner, src []byte) []byte {
	temp := s.locals
	if s.bulks() {
		r := &reader{b: src}
		r.u32()
		b = uleb(b, s.groups+1)
		b = append(b, src[r.i:s.code]...)
		b = append(b, 1, byte(I32))
	} else {
		b = append(b, src[:s.code]...)
	}
	from := s.code
	for _, d := range s.edits {
		at, size := int(d.at), int(d.size)
		b = append(b, src[from:at]...)
		from = at
		switch d.kind {
		case editCharge:
			b = e.charge(b, func(b []byte) []byte { return sleb(append(b, opI64Const), int64(d.weight)) })
		case editIndex:
			b = uleb(b, e.shift(int(d.weight)))
			from += size
		case editBulk:
			b = uleb(append(b, opLocalTee), temp)
			b = e.charge(b, func(b []byte) []byte {
				b = append(uleb(append(b, opLocalGet), temp), opI64ExtendU)
				b = append(sleb(append(b, opI64Const), int64(d.weight)), opI64ShrU)
				return append(b, opI64Const, 1, opI64Add)
			})
		case editGrow:
			b = uleb(append(b, opLocalTee), temp)
			b = e.charge(b, func(b []byte) []byte {
				// 65536 pages and more cannot be granted and cost nothing.
				b = sleb(append(uleb(append(b, opLocalGet), temp), opI32Const), 0xffff)
				b = append(b, opI32And, opI64ExtendU, opI64Const, 4, opI64Shl)
				return append(b, opI64Const, 1, opI64Add)
			})
			b = append(b, src[at:at+size]...)
			from += size
			b = uleb(append(b, opLocalTee), temp)
			b = append(sleb(append(b, opI32Const), -1), opI32Eq, opIf, blockVoid, opI32Const, 1)
			b = append(uleb(append(b, opGlobalSet), e.denied), opEnd)
			b = uleb(append(b, opLocalGet), temp)
		}
	}
	return append(b, src[from:]...)
}

// charge writes: fuel -= amount; if fuel < 0 { slow() }.
func (e *emitter) charge(b []byte, amount func([]byte) []byte) []byte {
	b = uleb(append(b, opGlobalGet), e.fuel)
	b = append(amount(b), opI64Sub)
	b = uleb(append(b, opGlobalSet), e.fuel)
	b = uleb(append(b, opGlobalGet), e.fuel)
	b = append(b, opI64Const, 0, opI64LtS, opIf, blockVoid)
	return append(uleb(append(b, opCall), e.slow), opEnd)
}

func uleb(b []byte, v int) []byte {
	if v < 0 {
		panic(fmt.Sprintf("negative index %d", v))
	}
	return binary.AppendUvarint(b, uint64(v))
}

func sleb(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
