package meter

// Instructions the rewriter handles itself (binary format, "Instructions").
const (
	opBlock      = 0x02
	opLoop       = 0x03
	opIf         = 0x04
	opElse       = 0x05
	opEnd        = 0x0b
	opCall       = 0x10
	opLocalGet   = 0x20
	opLocalTee   = 0x22
	opGlobalGet  = 0x23
	opGlobalSet  = 0x24
	opMemoryGrow = 0x40
	opI32Const   = 0x41
	opI64Const   = 0x42
	opI32Eq      = 0x46
	opI64LtS     = 0x53
	opI32And     = 0x71
	opI64Add     = 0x7c
	opI64Sub     = 0x7d
	opI64Shl     = 0x86
	opI64ShrU    = 0x88
	opI64ExtendU = 0xad
	opRefFunc    = 0xd2
	opBulkPrefix = 0xfc
	opSIMDPrefix = 0xfd
	blockVoid    = 0x40
)

// plain reports an instruction that neither branches nor calls nor works in
// bulk: access to locals and globals, constants and arithmetic on one value.
func plain(op byte) bool {
	return op == 0x01 || op >= 0x1a && op <= 0x24 || op >= 0x28 && op <= 0x3f || op >= 0x41 && op <= 0xc4
}

func (m *module) blockType(r *reader) {
	if r.i < len(r.b) && r.b[r.i] >= 0x40 && r.b[r.i] <= 0x7f {
		t := r.byte()
		if t != blockVoid && !ValType(t).valid() {
			r.fail(CodeUnsupported, "block type %#x is unknown; compile without proposals newer than WebAssembly 2.0", t)
		}
		return
	}
	if v := r.signed(33); r.err == nil && (v < 0 || v >= int64(len(m.types))) {
		r.fail(CodeInvalid, "there is no type %d", v)
	}
}

// zero reads the memory index of an instruction, a single zero byte.
func (m *module) zero(r *reader) {
	if b := r.byte(); r.err == nil && b != 0 {
		r.err = unsupported(r.at(), "more than one memory")
	}
}

func (m *module) memArg(r *reader) {
	m.needMemory(r)
	align := r.u32()
	if r.err == nil && align >= 64 {
		r.err = unsupported(r.at(), "more than one memory")
	}
	r.u32()
}

// immediates skips and checks what follows an instruction that needs no edit.
func (m *module) immediates(r *reader, op byte, locals, depth int) {
	switch {
	case op == 0x00, op == 0x01, op == 0x0f, op == 0x1a, op == 0x1b, op == 0xd1:
	case op == 0x0c || op == 0x0d:
		r.index(depth, "enclosing block")
	case op == 0x0e:
		for n := r.count(m.limits.BodyBytes, "branch targets"); n >= 0 && r.err == nil; n-- {
			r.index(depth, "enclosing block")
		}
	case op == 0x11:
		r.index(len(m.types), "type")
		r.index(len(m.tables), "table")
	case op == 0x1c:
		if n := r.count(1, "select types"); n == 1 {
			readValType(r)
		} else {
			r.fail(CodeInvalid, "select names %d types", n)
		}
	case op >= 0x20 && op <= 0x22:
		r.index(locals, "local")
	case op == 0x23 || op == 0x24:
		r.index(m.globals, "global")
	case op == 0x25 || op == 0x26:
		r.index(len(m.tables), "table")
	case op >= 0x28 && op <= 0x3e:
		m.memArg(r)
	case op == 0x3f:
		m.needMemory(r)
		m.zero(r)
	case op == 0x41:
		r.signed(32)
	case op == 0x42:
		r.signed(64)
	case op == 0x43:
		r.take(4)
	case op == 0x44:
		r.take(8)
	case op >= 0x45 && op <= 0xc4:
	case op == 0xd0:
		m.refType(r)
	case op == opSIMDPrefix:
		m.simd(r)
	default:
		m.unknown(r, op)
	}
}

func (m *module) unknown(r *reader, op byte) {
	switch op {
	case 0x06, 0x07, 0x08, 0x09, 0x0a, 0x18, 0x19, 0x1f:
		r.err = unsupported(r.at(), "exceptions")
	case 0x12, 0x13:
		r.err = unsupported(r.at(), "tail calls")
	case 0x14, 0x15, 0xd3, 0xd4, 0xd5, 0xd6:
		r.err = unsupported(r.at(), "typed function references")
	case 0xfb:
		r.err = unsupported(r.at(), "garbage collection")
	case 0xfe:
		r.err = unsupported(r.at(), "atomic instructions (threads)")
	default:
		r.fail(CodeUnsupported, "instruction %#x is unknown; compile without proposals newer than WebAssembly 2.0", op)
	}
}

// bulk reads an instruction of the 0xfc group. It returns how far the length on
// top of the stack is shifted to get the units to charge, -1 for the
// instructions whose work does not depend on one.
func (m *module) bulk(r *reader) int {
	const byBytes, byElements = 6, 3 // log2 of BulkBytesPerUnit, BulkElementsPerUnit
	sub := r.u32()
	if r.err != nil {
		return -1
	}
	switch sub {
	case 0, 1, 2, 3, 4, 5, 6, 7: // saturating truncations
		return -1
	case 8: // memory.init
		m.needMemory(r)
		m.dataIndex(r)
		m.zero(r)
		return byBytes
	case 9: // data.drop
		m.dataIndex(r)
		return -1
	case 10: // memory.copy
		m.needMemory(r)
		m.zero(r)
		m.zero(r)
		return byBytes
	case 11: // memory.fill
		m.needMemory(r)
		m.zero(r)
		return byBytes
	case 12: // table.init
		r.index(m.elements, "element segment")
		r.index(len(m.tables), "table")
		return byElements
	case 13: // elem.drop
		r.index(m.elements, "element segment")
		return -1
	case 14: // table.copy
		r.index(len(m.tables), "table")
		r.index(len(m.tables), "table")
		return byElements
	case 15, 17: // table.grow, table.fill
		r.index(len(m.tables), "table")
		return byElements
	case 16: // table.size
		r.index(len(m.tables), "table")
		return -1
	}
	r.fail(CodeUnsupported, "instruction 0xfc %d is unknown; compile without proposals newer than WebAssembly 2.0", sub)
	return -1
}

func (m *module) dataIndex(r *reader) {
	if r.err == nil && m.dataCount < 0 {
		r.fail(CodeInvalid, "the code uses a data segment, but the section that counts them is missing")
		return
	}
	r.index(m.dataCount, "data segment")
}

func (m *module) simd(r *reader) {
	sub := r.u32()
	switch {
	case r.err != nil:
	case sub >= 0x100:
		r.err = unsupported(r.at(), "relaxed SIMD")
	case sub <= 11 || sub == 92 || sub == 93:
		m.memArg(r)
	case sub == 12 || sub == 13:
		r.take(16)
	case sub >= 21 && sub <= 34:
		r.take(1)
	case sub >= 84 && sub <= 91:
		m.memArg(r)
		r.take(1)
	case simdGap(sub):
		r.fail(CodeUnsupported, "instruction 0xfd %d is unknown; compile without proposals newer than WebAssembly 2.0", sub)
	}
}

// simdGap lists the numbers WebAssembly 2.0 leaves free between its vector
// instructions.
func simdGap(sub uint32) bool {
	switch sub {
	case 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6,
		0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee:
		return true
	}
	return false
}
