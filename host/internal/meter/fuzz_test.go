package meter_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/aoagents/ao-host/host/internal/meter"
	mt "github.com/aoagents/ao-host/host/internal/meter/metertest"
)

// valid asks wazero's validator.
func valid(rt wazero.Runtime, wasm []byte) bool {
	c, err := rt.CompileModule(context.Background(), wasm)
	if err != nil {
		return false
	}
	_ = c.Close(context.Background())
	return true
}

// withoutCustom drops the custom sections of a module the meter accepted. They
// cannot make a module invalid, but wazero 1.12 refuses one without a name.
func withoutCustom(wasm []byte) []byte {
	out := append([]byte(nil), wasm[:8]...)
	for rest := wasm[8:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		end := 1 + n + int(size)
		if rest[0] != 0 {
			out = append(out, rest[:end]...)
		}
		rest = rest[end:]
	}
	return out
}

// FuzzRewrite feeds arbitrary bytes. A module is either refused with a code, or
// rewritten to something small that is valid exactly when the original was: the
// meter neither breaks a module nor makes an invalid one pass because of what
// it adds.
func FuzzRewrite(f *testing.F) {
	f.Add(everything())
	f.Add(oneFunc([]byte{mt.I32}, fill(64), mt.Count(0)).Bytes())
	f.Add(oneFunc(nil, mt.LocalGet(0), mt.If(mt.Op(0x05))).Bytes())
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { _ = rt.Close(ctx) })
	o := options()
	// Small, so that a limit is met and memory stays in proportion.
	o.Limits.TableEntries = 1000
	f.Fuzz(func(t *testing.T, wasm []byte) {
		r, err := meter.Rewrite(wasm, o)
		if err != nil {
			if codeOf(err) == "" {
				t.Fatalf("an error without a code: %v", err)
			}
			if strings.Contains(err.Error(), "could not be read") {
				t.Fatalf("the reader panicked: %v", err)
			}
			return
		}
		if len(r.Wasm) > 6*len(wasm)+1<<17 {
			t.Fatalf("%d bytes became %d", len(wasm), len(r.Wasm))
		}
		if before, after := valid(rt, withoutCustom(wasm)), valid(rt, r.Wasm); before != after {
			t.Fatalf("valid before: %t, after: %t", before, after)
		}
	})
}
