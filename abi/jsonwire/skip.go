package jsonwire

import "math/bits"

// Skip consumes the next value of whatever type, checking its syntax. A string
// is not unescaped.
func (d *Decoder) Skip() {
	if d.err != nil {
		return
	}
	end, err := skip(d.b, d.i, MaxDepth-d.depth)
	if err != nil {
		d.fail(err)
		return
	}
	d.i = end
	d.first = false
}

// skip returns the index after the value at i. It is one loop without recursion:
// most of what a guest receives is passed over by it, and a call is what costs
// most in a sandbox.
func skip(b []byte, i, depth int) (int, error) {
	// One bit for each open container, set for objects.
	var open [MaxDepth / 64]uint64
	level := 0
	var key bool
value:
	i = space(b, i)
	if i >= len(b) {
		return i, ErrSyntax
	}
	switch c := b[i]; c {
	case '"':
		key = false
		goto text
	case '{', '[':
		if level == depth {
			return i, ErrDepth
		}
		bit := uint64(1) << (level & 63)
		i = space(b, i+1)
		if c == '{' {
			open[level>>6] |= bit
			level++
			if i < len(b) && b[i] == '}' {
				break
			}
			goto member
		}
		open[level>>6] &^= bit
		level++
		if i < len(b) && b[i] == ']' {
			break
		}
		goto value
	case 't':
		if len(b)-i < 4 || string(b[i:i+4]) != "true" {
			return i, ErrSyntax
		}
		i += 4
	case 'f':
		if len(b)-i < 5 || string(b[i:i+5]) != "false" {
			return i, ErrSyntax
		}
		i += 5
	case 'n':
		if len(b)-i < 4 || string(b[i:i+4]) != "null" {
			return i, ErrSyntax
		}
		i += 4
	default:
		if i = number(b, i); i < 0 {
			return i, ErrSyntax
		}
	}
ended:
	// After a value, or before the end of an empty container.
	for level > 0 {
		object := open[(level-1)>>6]&(1<<((level-1)&63)) != 0
		i = space(b, i)
		if i >= len(b) {
			return i, ErrSyntax
		}
		switch c := b[i]; {
		case c == ',' && object:
			i = space(b, i+1)
			goto member
		case c == ',':
			i++
			goto value
		case c == '}' && object, c == ']' && !object:
			i++
			level--
		default:
			return i, ErrSyntax
		}
	}
	return i, nil
member:
	if i >= len(b) || b[i] != '"' {
		return i, ErrSyntax
	}
	key = true
text:
	// A key or a value, whose quote is at i.
	i++
run:
	for ; i+8 <= len(b); i += 8 {
		if m := notOpaque(word(b, i)); m != 0 {
			i += bits.TrailingZeros64(m) / 8
			break
		}
	}
	for i < len(b) && !special[b[i]] {
		i++
	}
	if i+1 < len(b) && b[i] == '\\' {
		if unescaped[b[i+1]] != 0 {
			i += 2
			goto run
		}
		if _, ok := hex4(b, i+2); ok && b[i+1] == 'u' {
			i += 6
			goto run
		}
	}
	if i >= len(b) || b[i] != '"' {
		return i, ErrSyntax
	}
	i++
	if !key {
		goto ended
	}
	i = space(b, i)
	if i >= len(b) || b[i] != ':' {
		return i, ErrSyntax
	}
	i++
	goto value
}

// special holds the bytes that do not just stand in a string.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()
