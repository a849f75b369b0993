package jsonwire

import (
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string; without escapes it aliases the input.
func (d *Decoder) str() []byte {
	b, st := d.b, d.i+1
	i := plain(b, st)
	if i < len(b) && b[i] >= utf8.RuneSelf {
		// Valid text in any script is common; only a broken one is rewritten.
		if i = opaque(b, i); i < len(b) && b[i] == '"' && !utf8.Valid(b[st:i]) {
			return d.slowStr(st)
		}
	}
	if i >= len(b) {
		d.fail(ErrSyntax)
		return nil
	}
	if b[i] == '"' {
		d.i = i + 1
		return b[st:i]
	}
	return d.slowStr(st)
}

// slowStr unescapes into buf; invalid UTF-8 and lone surrogates become U+FFFD.
func (d *Decoder) slowStr(st int) []byte {
	b, out := d.b, d.buf[:0]
	for i := st; ; {
		run := i
		i = plain(b, i)
		out = append(out, b[run:i]...)
		if i < len(b) && b[i] >= utf8.RuneSelf {
			run, i = i, opaque(b, i)
			out = appendText(out, b[run:i])
		}
		if i < len(b) && b[i] == '"' {
			d.i = i + 1
			d.buf = out
			return out
		}
		if i+1 >= len(b) || b[i] != '\\' {
			d.fail(ErrSyntax)
			return nil
		}
		i += 2
		switch e := b[i-1]; e {
		case '"', '\\', '/':
			out = append(out, e)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, n := d.unicode(i)
			if n == 0 {
				d.fail(ErrSyntax)
				return nil
			}
			out = utf8.AppendRune(out, r)
			i += n
		default:
			d.fail(ErrSyntax)
			return nil
		}
	}
}

// unicode reads the digits of a \u escape at i and the second half of a surrogate
// pair after them. It returns the number of bytes read, 0 for bad digits.
func (d *Decoder) unicode(i int) (rune, int) {
	r, ok := hex4(d.b, i)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 4
	}
	if i+6 <= len(d.b) && d.b[i+4] == '\\' && d.b[i+5] == 'u' {
		if r2, ok := hex4(d.b, i+6); ok {
			if dec := utf16.DecodeRune(r, r2); dec != utf8.RuneError {
				return dec, 10
			}
		}
	}
	return utf8.RuneError, 4
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
