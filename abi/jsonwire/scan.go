package jsonwire

import "math/bits"

// Strings are most of the bytes of a message, and a sandboxed byte loop takes
// about 3 ns a byte, so they are scanned in words of eight. Within a word the
// tests below may wrongly flag a byte above one that is truly special, never
// below: the lowest flagged byte is always right.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// notPlain flags the bytes of a word that are a quote, a backslash, a control
// character or not ASCII.
func notPlain(x uint64) uint64 {
	return (x | (x - 0x20*ones) | ((x ^ '"'*ones) - ones) | ((x ^ '\\'*ones) - ones)) & highs
}

// notOpaque flags those that are a quote, a backslash or a control character.
func notOpaque(x uint64) uint64 {
	q, s := x^'"'*ones, x^'\\'*ones
	return ((x-0x20*ones)&^x | (q-ones)&^q | (s-ones)&^s) & highs
}

// isPlain holds the bytes that stand for themselves in a string.
var isPlain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// opaque returns the index of the first byte at or after i that is a quote, a
// backslash or a control character, or len(b): it passes over everything that is
// not ASCII.
func opaque[T ~string | ~[]byte](b T, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := notOpaque(word(b, i)); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// word reads eight bytes, the first as the lowest. The caller has checked the
// length.
func word[T ~string | ~[]byte](b T, i int) uint64 {
	b = b[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// appendWord is the inverse of word.
func appendWord(dst []byte, x uint64) []byte {
	return append(dst, byte(x), byte(x>>8), byte(x>>16), byte(x>>24), byte(x>>32), byte(x>>40), byte(x>>48), byte(x>>56))
}
