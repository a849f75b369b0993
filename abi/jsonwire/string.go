package jsonwire

import (
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Bytes is [Decoder.String] without the copy: the slice is valid until the next
// call of any method. Without escapes it aliases the input.
func (d *Decoder) Bytes() []byte {
	if d.ws(); d.i >= len(d.b) || d.b[d.i] != '"' {
		d.Skip()
		return nil
	}
	b, st := d.b, d.i+1
	// This is plain, written out, as in the other loops over strings: in a sandbox
	// a call costs as much as a short string, and so does every branch taken.
	i := st
	for ; i+16 <= len(b); i += 16 {
		m := notPlain(word(b, i))
		if m == 0 {
			if m = notPlain(word(b, i+8)); m == 0 {
				continue
			}
			i += 8
		}
		i += bits.TrailingZeros64(m) / 8
		goto found
	}
	for i < len(b) && isPlain[b[i]] {
		i++
	}
found:
	if i >= len(b) {
		d.fail(ErrSyntax)
		return nil
	}
	if b[i] >= utf8.RuneSelf {
		// Valid text in any script is common; only a broken one is rewritten.
		if i = opaque(b, i); i < len(b) && b[i] == '"' && !utf8.Valid(b[st:i]) {
			return d.slowStr(st)
		}
		if i >= len(b) {
			d.fail(ErrSyntax)
			return nil
		}
	}
	if b[i] == '"' {
		d.i = i + 1
		return b[st:i]
	}
	return d.slowStr(st)
}

// slowStr unescapes into buf; invalid UTF-8 and lone surrogates become U+FFFD. It
// copies while it looks, a word at a time: what a model writes has an escape in
// every line, and calls for the short runs between them cost more than the bytes.
func (d *Decoder) slowStr(st int) []byte {
	b, out := d.b, d.buf[:0]
	if room := min(len(b)-st, 1024); cap(out) < room {
		out = make([]byte, 0, room)
	}
	for i := st; ; {
		for ; i+8 <= len(b); i += 8 {
			x := word(b, i)
			out = appendWord(out, x)
			if m := notPlain(x); m != 0 {
				n := bits.TrailingZeros64(m) / 8
				out = out[:len(out)-8+n]
				i += n
				goto found
			}
		}
		for ; i < len(b) && isPlain[b[i]]; i++ {
			out = append(out, b[i])
		}
	found:
		if i < len(b) && b[i] >= utf8.RuneSelf {
			run := i
			i = opaque(b, i)
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
		e := b[i+1]
		i += 2
		if c := unescaped[e]; c != 0 {
			out = append(out, c)
			continue
		}
		if e != 'u' {
			d.fail(ErrSyntax)
			return nil
		}
		r, n := d.unicode(i)
		if n == 0 {
			d.fail(ErrSyntax)
			return nil
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
}

// unescaped are the characters that escapes of one letter stand for.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
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
