package jsonwire

import (
	"math/bits"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Control characters, the quote and
// the backslash are escaped; invalid UTF-8 becomes U+FFFD; everything else,
// HTML characters included, is written as it is.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	// Make room once, for some escapes too.
	if need := len(s) + len(s)/16 + 2; cap(dst)-len(dst) < need {
		dst = append(dst, make([]byte, need)...)[:len(dst)]
	}
	dst = append(dst, '"')
	for i := 0; ; i++ {
		// As in the decoder's slowStr.
		for ; i+8 <= len(s); i += 8 {
			x := word(s, i)
			dst = appendWord(dst, x)
			if m := notPlain(x); m != 0 {
				n := bits.TrailingZeros64(m) / 8
				dst = dst[:len(dst)-8+n]
				i += n
				goto found
			}
		}
		for ; i < len(s) && isPlain[s[i]]; i++ {
			dst = append(dst, s[i])
		}
	found:
		if i < len(s) && s[i] >= utf8.RuneSelf {
			run := i
			i = opaque(s, i)
			dst = appendText(dst, s[run:i])
		}
		if i >= len(s) {
			return append(dst, '"')
		}
		c := s[i]
		if e := escaped[c]; e != 0 {
			dst = append(dst, '\\', e)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
}

// escaped are the letters of the escapes that have one.
var escaped = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't'}

// appendText appends s, each byte that is not UTF-8 replaced by U+FFFD.
func appendText[T ~string | ~[]byte](dst []byte, s T) []byte {
	st := len(dst)
	dst = append(dst, s...)
	if utf8.Valid(dst[st:]) {
		return dst
	}
	dst = dst[:st]
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}

// AppendInt appends n as a JSON number.
func AppendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// AppendBool appends true or false.
func AppendBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

// AppendKey appends a comma unless dst ends with '{', then the key and a colon.
// The key must need no escaping.
func AppendKey(dst []byte, key string) []byte {
	dst = AppendComma(dst)
	dst = append(dst, '"')
	dst = append(dst, key...)
	return append(dst, '"', ':')
}

// AppendComma appends a comma unless dst is empty or ends with an opening
// bracket.
func AppendComma(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' && dst[n-1] != '[' {
		dst = append(dst, ',')
	}
	return dst
}

// AppendRaw appends raw JSON, or null when raw is empty.
func AppendRaw(dst, raw []byte) []byte {
	if len(raw) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, raw...)
}

// AppendField appends a string member.
func AppendField[T ~string | ~[]byte](dst []byte, key string, v T) []byte {
	return AppendString(AppendKey(dst, key), v)
}
