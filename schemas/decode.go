package schemas

import (
	"bytes"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

// vocabulary is what a decoder knows about the schemas it decodes for.
type vocabulary struct {
	// known are member names and enum values, as any so that a known string costs
	// no allocation.
	known map[string]any
	// keep is how many bytes of a string can matter to any keyword; longer strings
	// are cut to it. Negative: all.
	keep int
}

// decode reads a JSON text into the values jsonschema checks: nil, bool, string,
// int64 or float64, []any and map[string]any. Of a member that occurs twice the
// last one counts.
//
// Strings are cut to what a keyword can tell apart, so that a 16 MiB output does
// not become a 16 MiB copy. Numbers outside int64 become float64, and those
// beyond float64 its largest: jsonschema turns numbers into exact fractions and
// would build a number of a thousand megabits out of 1e999999999.
func (voc *vocabulary) decode(payload []byte) (any, error) {
	r := readers.Get().(*reader)
	r.Reset(payload)
	v := voc.value(r)
	r.End()
	err := r.Err()
	r.Reset(nil)
	readers.Put(r)
	return v, err
}

// reader is a decoder that can pass over the end of a string.
type reader struct {
	jsonwire.Decoder
	// begin reads the beginning of a string, which is copied to text as a JSON string.
	begin jsonwire.Decoder
	text  []byte
}

// readers keep the buffers in which strings with escapes are read.
var readers = sync.Pool{New: func() any { return new(reader) }}

// head returns the next string, or at least the first n bytes of it: what follows in
// a long one is passed over and not unescaped. A negative n asks for all.
func (r *reader) head(n int) []byte {
	if n < 0 {
		return r.Bytes()
	}
	raw := r.Raw()
	if len(raw) < 2 {
		return nil
	}
	raw = raw[1 : len(raw)-1]
	// No escape is longer for what it stands for than one of a control character.
	const longest = len(`\u0000`)
	if most := longest * (n + utf8.UTFMax); len(raw) > most {
		raw = raw[:wholeEscapes(raw, most)]
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw
	}
	r.text = append(append(append(r.text[:0], '"'), raw...), '"')
	r.begin.Reset(r.text)
	return r.begin.Bytes()
}

// wholeEscapes is the end of the last escape or character of the inside of a JSON
// string that ends at most there.
func wholeEscapes(raw []byte, most int) int {
	for i := 0; ; {
		next := i + 1
		if raw[i] == '\\' {
			if next++; raw[i+1] == 'u' {
				next += 4
			}
		}
		if next > most {
			return i
		}
		i = next
	}
}

func (voc *vocabulary) value(d *reader) any {
	switch d.Kind() {
	case jsonwire.Object:
		m := make(map[string]any, 8)
		for ok := d.BeginObject(); ok; {
			key, more := d.NextKey()
			if !more {
				break
			}
			m[voc.name(key)] = voc.value(d)
		}
		return m
	case jsonwire.Array:
		a := []any{}
		for ok := d.BeginArray(); ok && d.NextElem(); {
			a = append(a, voc.value(d))
		}
		return a
	case jsonwire.String:
		b := d.head(voc.keep)
		if voc.keep >= 0 && len(b) > voc.keep {
			b = b[:voc.keep]
		}
		if v, known := voc.known[string(b)]; known {
			return v
		}
		return string(b)
	case jsonwire.Bool:
		return d.Bool()
	case jsonwire.Number:
		return number(d.Raw())
	case jsonwire.Null:
		d.Null()
		return nil
	default:
		d.Skip() // records the syntax error
		return nil
	}
}

// name is the member name in b, without an allocation where it is known. It is
// not cut: to a schema every byte of it counts.
func (voc *vocabulary) name(b []byte) string {
	if v, ok := voc.known[string(b)]; ok {
		return v.(string)
	}
	return string(b)
}

func number(b []byte) any {
	if !bytes.ContainsAny(b, ".eE") {
		if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
			return n
		}
	}
	f, _ := strconv.ParseFloat(string(b), 64)
	return max(-math.MaxFloat64, min(math.MaxFloat64, f))
}
