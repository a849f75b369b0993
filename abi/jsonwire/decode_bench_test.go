package jsonwire_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

// notification is a frame of n bytes as a harness streams it.
func notification(n int, text string) []byte {
	head := `{"now":1795998657000,"message":{"type":"notification","method":"item/agentMessage/delta","params":{"threadId":"01900000-0000-7000-8000-00000000aaaa","turnId":"01900000-0000-7000-8000-00000000bbbb","itemId":"msg_1","delta":"`
	tail := `"}}}`
	k := max(0, n-len(head)-len(tail))
	return []byte(head + strings.Repeat(text, k/len(text)+1)[:k] + tail)
}

const (
	ascii   = "The plan is ready, and 3 of 7 steps are done. "
	escaped = `The plan is ready,\nand \"3\" of 7 steps are done. `
	accents = "Der Plan für später ist „fertig“, 3 von 7. "
)

// walk reads a value whole, keeping nothing.
func walk(d *jsonwire.Decoder) (n int) {
	switch d.Kind() {
	case jsonwire.Object:
		for more := d.BeginObject(); more; {
			var k []byte
			if k, more = d.NextKey(); more {
				n += len(k) + walk(d)
			}
		}
	case jsonwire.Array:
		for more := d.BeginArray(); more && d.NextElem(); {
			n += walk(d)
		}
	case jsonwire.String:
		n = len(d.Bytes())
	case jsonwire.Number:
		n = int(d.Int() & 1)
	default:
		d.Skip()
	}
	return n
}

func BenchmarkWalkMessage(b *testing.B) {
	for _, c := range []struct {
		name string
		in   []byte
	}{
		{"1KB", notification(1<<10, ascii)},
		{"1KB-escaped", notification(1<<10, escaped)},
		{"1KB-accents", notification(1<<10, accents)},
		{"64KB", notification(64<<10, ascii)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var d jsonwire.Decoder
			b.SetBytes(int64(len(c.in)))
			b.ReportAllocs()
			for b.Loop() {
				d.Reset(c.in)
				walk(&d)
			}
		})
	}
}

func BenchmarkSkipMessage(b *testing.B) {
	in := notification(1<<10, ascii)
	var d jsonwire.Decoder
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		d.Reset(in)
		d.Skip()
	}
}

func BenchmarkAppendString(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"ascii", ascii}, {"escaped", strings.NewReplacer(`\n`, "\n", `\"`, `"`).Replace(escaped)}, {"accents", accents},
	} {
		text := strings.Repeat(c.text, 1024/len(c.text))
		b.Run(c.name, func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				dst = jsonwire.AppendString(dst[:0], text)
			}
		})
	}
}
