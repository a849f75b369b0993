package meter

import "encoding/binary"

// sink receives a copy of what is read with function indices shifted; a nil
// sink only checks.
type sink struct {
	b     []byte
	shift func(int) int
}

func (s *sink) raw(b []byte) {
	if s != nil {
		s.b = append(s.b, b...)
	}
}

func (s *sink) u32(v int) {
	if s != nil {
		s.b = binary.AppendUvarint(s.b, uint64(v))
	}
}

func (s *sink) function(i int) {
	if s != nil {
		s.b = binary.AppendUvarint(s.b, uint64(s.shift(i)))
	}
}

// constExpr reads an initializer: one constant instruction and end. The global
// index is checked here because the engine would accept the counter's.
func (m *module) constExpr(r *reader, out *sink) {
	start := r.i
	switch op := r.byte(); {
	case r.err != nil:
		return
	case op == 0x41:
		r.signed(32)
	case op == 0x42:
		r.signed(64)
	case op == 0x43:
		r.take(4)
	case op == 0x44:
		r.take(8)
	case op == 0xfd:
		if r.u32() != 12 && r.err == nil {
			r.fail(CodeInvalid, "an initializer is not constant")
		}
		r.take(16)
	case op == 0x23:
		r.index(m.globals, "global")
	case op == 0xd0:
		m.refType(r)
	case op == 0xd2:
		f := r.index(m.funcs(), "function")
		if r.err == nil {
			out.raw([]byte{0xd2})
			out.function(f)
			start = r.i
		}
	default:
		r.fail(CodeUnsupported, "an initializer uses instruction %#x; compile without extended constant expressions", op)
	}
	if end := r.byte(); r.err == nil && end != 0x0b {
		r.fail(CodeUnsupported, "an initializer has more than one instruction; compile without extended constant expressions")
	}
	if r.err == nil {
		out.raw(r.b[start:r.i])
	}
}

func (m *module) refType(r *reader) {
	t := ValType(r.byte())
	if r.err == nil && !t.ref() {
		r.fail(CodeUnsupported, "reference type %#x is unknown; compile without garbage collection and typed references", byte(t))
	}
}

func (m *module) readElements(r *reader) { m.elementSection(r, nil) }

// elementSection reads the eight forms of element segments (binary format,
// "Element Section") and writes them with shifted function indices.
func (m *module) elementSection(r *reader, out *sink) {
	n := r.count(m.limits.Elements, "element segments")
	m.elements = n
	out.u32(n)
	entries := 0
	for ; n > 0 && r.err == nil; n-- {
		form := r.u32()
		if r.err == nil && form > 7 {
			r.fail(CodeInvalid, "an element segment of unknown form %d", form)
			return
		}
		out.u32(int(form))
		active := form&1 == 0
		if active {
			if form&2 != 0 {
				out.u32(r.index(len(m.tables), "table"))
			} else if r.err == nil && len(m.tables) == 0 {
				r.fail(CodeInvalid, "there is no table 0")
			}
			m.constExpr(r, out)
		}
		byExpr := form&4 != 0
		if form&3 != 0 {
			at := r.i
			if byExpr {
				m.refType(r)
			} else if k := r.byte(); r.err == nil && k != 0 {
				r.fail(CodeInvalid, "an element segment of unknown kind %d", k)
			}
			out.raw(r.b[at:r.i])
		}
		count := r.count(m.limits.TableEntries, "table entries")
		if entries += count; entries > 4*m.limits.TableEntries {
			r.fail(CodeLimit, "the element segments hold more than %d entries; make the module smaller", 4*m.limits.TableEntries)
			return
		}
		out.u32(count)
		for ; count > 0 && r.err == nil; count-- {
			if byExpr {
				m.constExpr(r, out)
			} else {
				out.function(r.index(m.funcs(), "function"))
			}
		}
	}
}
