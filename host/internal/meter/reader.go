package meter

import "unicode/utf8"

// reader reads the binary format with bounds. The first error sticks; reads
// after it return zero, so that callers check once per entry, not per field.
type reader struct {
	b    []byte
	i    int
	base int // offset of b in the module, for messages
	err  *Error
}

func (r *reader) at() int { return r.base + r.i }

func (r *reader) fail(code Code, format string, args ...any) {
	if r.err == nil {
		r.err = refuse(code, r.at(), format, args...)
	}
}

func (r *reader) more() bool { return r.err == nil && r.i < len(r.b) }

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.i >= len(r.b) {
		r.fail(CodeTruncated, "the module ends in the middle of a section; copy or build it again")
		return 0
	}
	c := r.b[r.i]
	r.i++
	return c
}

func (r *reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.b)-r.i {
		r.fail(CodeTruncated, "the module ends in the middle of a section; copy or build it again")
		return nil
	}
	r.i += n
	return r.b[r.i-n : r.i]
}

// u32 reads an unsigned LEB128 of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint32
	for shift := 0; ; shift += 7 {
		c := r.byte()
		if r.err != nil {
			return 0
		}
		if shift == 28 && c > 0x0f {
			r.fail(CodeInvalid, "an integer is longer than 32 bits")
			return 0
		}
		v |= uint32(c&0x7f) << shift
		if c&0x80 == 0 {
			return v
		}
	}
}

// signed reads a signed LEB128 of at most bits bits.
func (r *reader) signed(bits int) int64 {
	var v int64
	last := (bits - 1) / 7 * 7 // shift of the last permitted byte
	for shift := 0; ; shift += 7 {
		c := r.byte()
		if r.err != nil {
			return 0
		}
		v |= int64(c&0x7f) << shift
		if shift == last {
			// The unused bits of the last byte repeat the sign.
			used := bits - last
			rest := int8(c<<1) >> used // sign bit and what is above it
			if c&0x80 != 0 || rest != 0 && rest != -1 {
				r.fail(CodeInvalid, "an integer is longer than %d bits", bits)
				return 0
			}
		}
		if c&0x80 == 0 {
			if shift+7 < 64 && c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

// index reads an index that must be below n.
func (r *reader) index(n int, what string) int {
	v := r.u32()
	if r.err == nil && int64(v) >= int64(n) {
		r.fail(CodeInvalid, "there is no %s %d", what, v)
		return 0
	}
	return int(v)
}

// count reads the length of a vector whose entries take at least one byte each,
// so that no count makes us allocate more than the input holds.
func (r *reader) count(limit int, what string) int {
	v := r.u32()
	if r.err != nil {
		return 0
	}
	if int64(v) > int64(limit) {
		r.fail(CodeLimit, "%d %s, and at most %d are allowed; make the module smaller", v, what, limit)
		return 0
	}
	if int(v) > len(r.b)-r.i {
		r.fail(CodeTruncated, "%d %s do not fit what is left of the section", v, what)
		return 0
	}
	return int(v)
}

func (r *reader) name() string {
	n := r.u32()
	if r.err == nil && int64(n) > int64(len(r.b)-r.i) {
		r.fail(CodeTruncated, "a name is longer than what is left of the section")
	}
	b := r.take(int(n))
	if r.err == nil && !utf8.Valid(b) {
		r.fail(CodeInvalid, "a name is not UTF-8")
	}
	return string(b)
}
