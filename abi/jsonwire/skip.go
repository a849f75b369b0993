package jsonwire

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
value:
	i = space(b, i)
	if i >= len(b) {
		return i, ErrSyntax
	}
	switch c := b[i]; c {
	case '"':
		if i = skipString(b, i); i < 0 {
			return i, ErrSyntax
		}
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
			goto key
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
			goto key
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
key:
	if i >= len(b) || b[i] != '"' {
		return i, ErrSyntax
	}
	if i = skipString(b, i); i < 0 {
		return i, ErrSyntax
	}
	i = space(b, i)
	if i >= len(b) || b[i] != ':' {
		return i, ErrSyntax
	}
	i++
	goto value
}

// skipString returns the index after the string whose quote is at i, or -1.
func skipString(b []byte, i int) int {
	for i = opaque(b, i+1); i < len(b); i = opaque(b, i) {
		if b[i] == '"' {
			return i + 1
		}
		if b[i] != '\\' || i+1 >= len(b) {
			return -1
		}
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if _, ok := hex4(b, i+2); !ok {
				return -1
			}
			i += 6
		default:
			return -1
		}
	}
	return -1
}
