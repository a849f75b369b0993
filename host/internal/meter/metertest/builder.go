// Package metertest assembles small WebAssembly modules by hand, for tests of
// the meter and the engine. It checks nothing: broken modules are wanted too.
package metertest

import (
	"encoding/binary"
	"math"
)

// Value types.
const (
	I32       = 0x7f
	I64       = 0x7e
	F64       = 0x7c
	FuncRef   = 0x70
	ExternRef = 0x6f
)

// Export and import kinds.
const (
	KindFunc   = 0
	KindTable  = 1
	KindMemory = 2
	KindGlobal = 3
)

// Module is a module under construction. Sections without entries are left out.
type Module struct {
	types, imports, funcs, tables, mems, globals, exports, elems, codes, datas [][]byte

	imported  int
	start     []byte
	dataCount bool
	customs   []byte
}

// Type adds a function type and returns its index.
func (m *Module) Type(params, results []byte) int {
	m.types = append(m.types, cat([]byte{0x60}, vec(params), vec(results)))
	return len(m.types) - 1
}

// ImportFunc imports a function and returns its index; imports come first.
func (m *Module) ImportFunc(module, name string, typ int) int {
	m.Import(module, name, cat([]byte{KindFunc}, U(typ)))
	m.imported++
	return m.imported - 1
}

// Import adds an import with its description as it is.
func (m *Module) Import(module, name string, desc []byte) {
	m.imports = append(m.imports, cat(vec([]byte(module)), vec([]byte(name)), desc))
}

// Func adds a function with one group for every type in locals, and an end
// after the code. It returns the index.
func (m *Module) Func(typ int, locals []byte, code ...[]byte) int {
	body := U(len(locals))
	for _, l := range locals {
		body = append(body, 1, l)
	}
	return m.RawFunc(typ, cat(append([][]byte{body}, append(code, []byte{0x0b})...)...))
}

// RawFunc adds a function with its whole body.
func (m *Module) RawFunc(typ int, body []byte) int {
	m.funcs = append(m.funcs, U(typ))
	m.codes = append(m.codes, vec(body))
	return m.imported + len(m.funcs) - 1
}

// Memory adds a memory; without a maximum when most is negative.
func (m *Module) Memory(least, most int) { m.mems = append(m.mems, limits(least, most)) }

// RawMemory adds a memory description as it is.
func (m *Module) RawMemory(b ...byte) { m.mems = append(m.mems, b) }

// Table adds a table of funcref.
func (m *Module) Table(least, most int) {
	m.tables = append(m.tables, cat([]byte{FuncRef}, limits(least, most)))
}

// RawTable adds a table description as it is.
func (m *Module) RawTable(b ...byte) { m.tables = append(m.tables, b) }

// Global adds a global and returns its index; init is without the end.
func (m *Module) Global(typ byte, mutable bool, init []byte) int {
	mut := byte(0)
	if mutable {
		mut = 1
	}
	m.globals = append(m.globals, cat([]byte{typ, mut}, init, []byte{0x0b}))
	return len(m.globals) - 1
}

// Export adds an export.
func (m *Module) Export(name string, kind byte, index int) {
	m.exports = append(m.exports, cat(vec([]byte(name)), []byte{kind}, U(index)))
}

// Start sets the start function.
func (m *Module) Start(f int) { m.start = U(f) }

// Elem adds an element segment as it is.
func (m *Module) Elem(b ...[]byte) { m.elems = append(m.elems, cat(b...)) }

// Data adds an active data segment.
func (m *Module) Data(offset int, b []byte) {
	m.datas = append(m.datas, cat([]byte{0}, I32Const(int32(offset)), []byte{0x0b}, vec(b)))
}

// RawData adds a data segment as it is, and the section that counts them.
func (m *Module) RawData(b ...[]byte) {
	m.datas = append(m.datas, cat(b...))
	m.dataCount = true
}

// Custom adds a custom section at the end.
func (m *Module) Custom(name string, content []byte) {
	m.customs = cat(m.customs, Section(0, cat(vec([]byte(name)), content)))
}

// Bytes assembles the module.
func (m *Module) Bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	list := func(id byte, entries [][]byte) {
		if len(entries) > 0 {
			out = append(out, Section(id, cat(append([][]byte{U(len(entries))}, entries...)...))...)
		}
	}
	list(1, m.types)
	list(2, m.imports)
	list(3, m.funcs)
	list(4, m.tables)
	list(5, m.mems)
	list(6, m.globals)
	list(7, m.exports)
	if m.start != nil {
		out = append(out, Section(8, m.start)...)
	}
	list(9, m.elems)
	if m.dataCount {
		out = append(out, Section(12, U(len(m.datas)))...)
	}
	list(10, m.codes)
	list(11, m.datas)
	return append(out, m.customs...)
}

// Section frames a section.
func Section(id byte, body []byte) []byte { return cat([]byte{id}, vec(body)) }

func cat(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func vec(b []byte) []byte { return append(U(len(b)), b...) }

func limits(least, most int) []byte {
	if most < 0 {
		return append([]byte{0}, U(least)...)
	}
	return cat([]byte{1}, U(least), U(most))
}

// U is an unsigned LEB128.
func U(v int) []byte { return binary.AppendUvarint(nil, uint64(v)) }

// S is a signed LEB128.
func S(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// Vec is a vector of bytes with its length.
func Vec(b []byte) []byte { return vec(b) }

// Op is an instruction of the given bytes.
func Op(b ...byte) []byte { return b }

// I32Const pushes a constant.
func I32Const(v int32) []byte { return append([]byte{0x41}, S(int64(v))...) }

// I64Const pushes a constant.
func I64Const(v int64) []byte { return append([]byte{0x42}, S(v)...) }

// F64Const pushes a constant.
func F64Const(v float64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0x44}, math.Float64bits(v))
}

// LocalGet pushes a local.
func LocalGet(i int) []byte { return append([]byte{0x20}, U(i)...) }

// LocalSet pops into a local.
func LocalSet(i int) []byte { return append([]byte{0x21}, U(i)...) }

// LocalTee copies into a local.
func LocalTee(i int) []byte { return append([]byte{0x22}, U(i)...) }

// GlobalGet pushes a global.
func GlobalGet(i int) []byte { return append([]byte{0x23}, U(i)...) }

// GlobalSet pops into a global.
func GlobalSet(i int) []byte { return append([]byte{0x24}, U(i)...) }

// Call calls a function.
func Call(i int) []byte { return append([]byte{0x10}, U(i)...) }

// Block is a block without parameters and results.
func Block(code ...[]byte) []byte { return cat([]byte{0x02, 0x40}, cat(code...), []byte{0x0b}) }

// Loop is a loop without parameters and results.
func Loop(code ...[]byte) []byte { return cat([]byte{0x03, 0x40}, cat(code...), []byte{0x0b}) }

// If is an if without parameters, results and else.
func If(code ...[]byte) []byte { return cat([]byte{0x04, 0x40}, cat(code...), []byte{0x0b}) }

// Br and BrIf branch to the enclosing block with the given depth.
func Br(depth int) []byte { return append([]byte{0x0c}, U(depth)...) }

// BrIf branches when the top of the stack is not zero.
func BrIf(depth int) []byte { return append([]byte{0x0d}, U(depth)...) }

// Count is the code of a loop that runs n times, n > 0 in an i32 local that it
// counts down to zero, around code.
func Count(local int, code ...[]byte) []byte {
	return Loop(append(code,
		LocalGet(local), I32Const(1), Op(0x6b), LocalTee(local), BrIf(0))...)
}

// Cat joins instructions.
func Cat(parts ...[]byte) []byte { return cat(parts...) }
