package meter

// module is what the rewriter must know about a checked module.
type module struct {
	limits Limits
	secs   [secCount + 1]section

	types     []FuncType
	imports   int // imported functions
	imported  []Import
	funcTypes []int // type index of every function, imported ones first
	tables    []ValType
	tableMin  []uint32
	tableMax  []uint32
	memory    bool
	memMin    uint32
	memMax    uint32
	globals   int
	exports   []export
	elements  int
	dataCount int // -1 without the section
	bodies    []section
}

type export struct {
	name  string
	kind  byte
	index int
}

func (m *module) funcs() int { return len(m.funcTypes) }

func parse(wasm []byte, o Options) (*module, *Error) {
	secs, err := split(wasm, o.Limits)
	if err != nil {
		return nil, err
	}
	m := &module{limits: o.Limits, secs: secs, dataCount: -1}
	steps := []struct {
		id int
		f  func(*reader)
	}{
		{secType, m.readTypes},
		{secImport, func(r *reader) { m.readImports(r, o.Imports) }},
		{secFunction, m.readFunctions},
		{secTable, m.readTables},
		{secMemory, m.readMemory},
		{secGlobal, m.readGlobals},
		{secExport, m.readExports},
		{secStart, func(r *reader) { r.index(m.funcs(), "function") }},
		{secElement, m.readElements},
		{secDataCount, m.readDataCount},
		{secCode, m.readCode},
		{secData, m.readData},
	}
	for _, s := range steps {
		if !secs[s.id].present {
			continue
		}
		r := secs[s.id].reader()
		s.f(r)
		if r.err == nil && r.i != len(r.b) {
			r.fail(CodeInvalid, "section %d is longer than what it holds", s.id)
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	if len(m.bodies) != m.funcs()-m.imports {
		return nil, refuse(CodeInvalid, -1, "%d functions are declared but %d have a body", m.funcs()-m.imports, len(m.bodies))
	}
	if m.dataCount > 0 && !secs[secData].present {
		return nil, refuse(CodeInvalid, -1, "the data section is missing")
	}
	return m, nil
}

func (m *module) readTypes(r *reader) {
	n := r.count(m.limits.Types, "types")
	m.types = make([]FuncType, 0, n)
	for ; n > 0 && r.err == nil; n-- {
		if form := r.byte(); r.err == nil && form != 0x60 {
			r.fail(CodeUnsupported, "type form %#x is unknown; compile without garbage collection and typed references", form)
			return
		}
		m.types = append(m.types, FuncType{
			Params:  readValTypes(r, m.limits.Params, "parameters"),
			Results: readValTypes(r, m.limits.Results, "results"),
		})
	}
}

func readValTypes(r *reader, limit int, what string) []ValType {
	n := r.count(limit, what)
	if n == 0 {
		return nil
	}
	ts := make([]ValType, 0, n)
	for ; n > 0 && r.err == nil; n-- {
		ts = append(ts, readValType(r))
	}
	return ts
}

func readValType(r *reader) ValType {
	t := ValType(r.byte())
	if r.err == nil && !t.valid() {
		r.fail(CodeUnsupported, "value type %#x is unknown; compile without proposals newer than WebAssembly 2.0", byte(t))
	}
	return t
}

func (m *module) readImports(r *reader, allowed map[Import]FuncType) {
	n := r.count(m.limits.Functions, "imports")
	for ; n > 0 && r.err == nil; n-- {
		at := r.at()
		im := Import{Module: r.name(), Name: r.name()}
		kind := r.byte()
		if r.err != nil {
			return
		}
		if kind != 0 {
			r.err = refuse(CodeImport, at, "%q.%q imports a %s; a binding defines and exports its own and imports functions only", im.Module, im.Name, kindName(kind))
			return
		}
		ti := r.index(len(m.types), "type")
		if r.err != nil {
			return
		}
		want, ok := allowed[im]
		if !ok {
			r.err = refuse(CodeImport, at, "the module imports %q.%q, which the host does not offer; remove what needs it, only WASI preview 1 is there and a binding does no I/O", im.Module, im.Name)
			return
		}
		if got := m.types[ti]; !want.Equal(got) {
			r.err = refuse(CodeImport, at, "the module imports %q.%q as %s, but it is %s; build it for wasip1", im.Module, im.Name, got, want)
			return
		}
		m.funcTypes = append(m.funcTypes, ti)
		m.imported = append(m.imported, im)
		m.imports++
	}
}

func kindName(kind byte) string {
	switch kind {
	case 0:
		return "function"
	case 1:
		return "table"
	case 2:
		return "memory"
	case 3:
		return "global"
	case 4:
		return "tag"
	}
	return "thing of an unknown kind"
}

func (m *module) readFunctions(r *reader) {
	n := r.count(m.limits.Functions-m.imports, "functions")
	m.funcTypes = append(make([]int, 0, m.imports+n), m.funcTypes...)
	for ; n > 0 && r.err == nil; n-- {
		m.funcTypes = append(m.funcTypes, r.index(len(m.types), "type"))
	}
}

// readLimits reads the size of a table or memory; max is ^0 when there is none.
func readLimits(r *reader, memory bool) (lo, hi uint32) {
	flags := r.byte()
	if r.err != nil {
		return 0, 0
	}
	if flags > 1 {
		switch {
		case flags&^0x0f != 0:
			r.fail(CodeInvalid, "size flags %#x are unknown", flags)
		case flags&0x08 != 0:
			r.err = unsupported(r.at(), "custom page sizes")
		case flags&0x04 != 0:
			r.err = unsupported(r.at(), "64-bit memory or tables")
		case memory:
			r.err = unsupported(r.at(), "shared memory (threads)")
		default:
			r.err = unsupported(r.at(), "shared tables")
		}
		return 0, 0
	}
	lo, hi = r.u32(), ^uint32(0)
	if flags == 1 {
		hi = r.u32()
	}
	if r.err == nil && lo > hi {
		r.fail(CodeInvalid, "the smallest size %d is above the largest %d", lo, hi)
	}
	return lo, hi
}

func (m *module) readTables(r *reader) {
	n := r.count(m.limits.Tables, "tables")
	for ; n > 0 && r.err == nil; n-- {
		t := readValType(r)
		if r.err == nil && !t.ref() {
			r.fail(CodeInvalid, "a table holds %s", t)
		}
		lo, hi := readLimits(r, false)
		if r.err == nil && int64(lo) > int64(m.limits.TableEntries) {
			r.fail(CodeLimit, "a table of %d entries, and at most %d are allowed; make the module smaller", lo, m.limits.TableEntries)
		}
		m.tables = append(m.tables, t)
		m.tableMin = append(m.tableMin, lo)
		m.tableMax = append(m.tableMax, min(hi, uint32(m.limits.TableEntries)))
	}
}

func (m *module) readMemory(r *reader) {
	n := r.u32()
	if r.err != nil || n == 0 {
		return
	}
	if n > 1 {
		r.err = unsupported(r.at(), "more than one memory")
		return
	}
	lo, hi := readLimits(r, true)
	if r.err != nil {
		return
	}
	if hi != ^uint32(0) && hi > PageBytes {
		r.fail(CodeInvalid, "a memory of %d pages, and there are at most 65536", hi)
		return
	}
	if int64(lo) > int64(m.limits.MemoryPages) {
		r.fail(CodeLimit, "the memory starts with %d MiB, and at most %d are granted; ask for more in the manifest (limits.memory_bytes) or use less", lo/16, m.limits.MemoryPages/16)
		return
	}
	m.memory, m.memMin, m.memMax = true, lo, min(hi, uint32(m.limits.MemoryPages))
}

func (m *module) readGlobals(r *reader) {
	n := r.count(m.limits.Globals, "globals")
	for ; n > 0 && r.err == nil; n-- {
		m.global(r, nil)
		m.globals++
	}
}

// global reads one entry and writes it with shifted function indices.
func (m *module) global(r *reader, out *sink) {
	at := r.i
	readValType(r)
	if mut := r.byte(); r.err == nil && mut > 1 {
		r.fail(CodeUnsupported, "a global with flags %#x is unknown; compile without threads", mut)
	}
	if r.err == nil {
		out.raw(r.b[at:r.i])
	}
	m.constExpr(r, out)
}

func (m *module) readExports(r *reader) {
	n := r.count(m.limits.Exports, "exports")
	seen := make(map[string]bool, n)
	for ; n > 0 && r.err == nil; n-- {
		e := export{name: r.name(), kind: r.byte()}
		if r.err != nil {
			return
		}
		if seen[e.name] {
			r.fail(CodeInvalid, "%q is exported twice", e.name)
			return
		}
		if e.name == FuelGlobal || e.name == GrowDeniedGlobal {
			r.fail(CodeExport, "the export name %q is the host's; rename it", e.name)
			return
		}
		seen[e.name] = true
		switch e.kind {
		case 0:
			e.index = r.index(m.funcs(), "function")
		case 1:
			e.index = r.index(len(m.tables), "table")
		case 2:
			memories := 0
			if m.memory {
				memories = 1
			}
			e.index = r.index(memories, "memory")
		case 3:
			e.index = r.index(m.globals, "global")
		case 4:
			r.err = unsupported(r.at(), "exceptions")
		default:
			r.fail(CodeInvalid, "export %q is of an unknown kind", e.name)
		}
		m.exports = append(m.exports, e)
	}
}

func (m *module) readDataCount(r *reader) {
	n := r.u32()
	if r.err == nil && int64(n) > int64(m.limits.DataSegments) {
		r.fail(CodeLimit, "%d data segments, and at most %d are allowed; make the module smaller", n, m.limits.DataSegments)
	}
	m.dataCount = int(n)
}

func (m *module) readData(r *reader) {
	n := r.count(m.limits.DataSegments, "data segments")
	if r.err == nil && m.dataCount >= 0 && n != m.dataCount {
		r.fail(CodeInvalid, "%d data segments, but %d were announced", n, m.dataCount)
	}
	for ; n > 0 && r.err == nil; n-- {
		switch mode := r.u32(); {
		case r.err != nil:
			return
		case mode == 2:
			// An explicit memory index; only the one memory exists.
			if r.u32() != 0 && r.err == nil {
				r.err = unsupported(r.at(), "more than one memory")
			}
			m.constExpr(r, nil)
		case mode == 0:
			m.constExpr(r, nil)
		case mode != 1:
			r.fail(CodeInvalid, "a data segment of unknown mode %d", mode)
		}
		if size := r.u32(); r.err == nil {
			r.take(clampInt(size))
		}
	}
}

// clampInt keeps a 32-bit size positive where int has 32 bits; take refuses it.
func clampInt(n uint32) int {
	if int64(n) > int64(maxInt) {
		return maxInt
	}
	return int(n)
}

const maxInt = int(^uint(0) >> 1)

func (m *module) readCode(r *reader) {
	n := r.count(m.limits.Functions, "function bodies")
	m.bodies = make([]section, 0, n)
	for ; n > 0 && r.err == nil; n-- {
		size := r.u32()
		if r.err == nil && int64(size) > int64(m.limits.BodyBytes) {
			r.fail(CodeLimit, "a function has %d bytes of code, and at most %d are allowed; split it", size, m.limits.BodyBytes)
			return
		}
		base := r.at()
		m.bodies = append(m.bodies, section{body: r.take(int(size)), base: base, present: true})
	}
}

// needMemory reports an instruction that needs a memory where there is none.
func (m *module) needMemory(r *reader) {
	if r.err == nil && !m.memory {
		r.fail(CodeInvalid, "the code uses a memory, but the module has none")
	}
}
