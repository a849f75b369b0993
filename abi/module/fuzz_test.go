package module_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
)

func seeds(f *testing.F) {
	for _, b := range [][]byte{
		nil, []byte("\x00asm"), []byte("\x00asm\x0d\x00\x01\x00"), core(), core(types, custom("name", 1)),
		core(types, custom("ao.manifest", []byte(manifest)...), custom("ao.schemas", 1, 2, 3)),
		core([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x07}), core([]byte{0, 1, 0x80}), core(bytes.Repeat([]byte{1, 0}, 100)),
	} {
		f.Add(b)
	}
}

// FuzzSections holds that the sections tile the module exactly, whatever it is.
func FuzzSections(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		at := 8
		for s, err := range module.Sections(wasm) {
			if err != nil {
				var e *module.Error
				if !errors.As(err, &e) {
					t.Fatalf("error without a code: %v", err)
				}
				return
			}
			if s.Start != at || s.End <= s.Start || s.End > len(wasm) {
				t.Fatalf("section %d:%d after %d of %d bytes", s.Start, s.End, at, len(wasm))
			}
			at = s.End
		}
		if at != len(wasm) {
			t.Fatalf("sections end at %d of %d bytes", at, len(wasm))
		}
	})
}

// FuzzReadManifest holds that a manifest that is accepted is what encoding/json
// reads in its strictest way, and that no input costs much memory.
func FuzzReadManifest(f *testing.F) {
	seeds(f)
	f.Add([]byte(manifest))
	f.Fuzz(func(t *testing.T, in []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errModule := module.ReadManifest(in)
		// Most inputs are no module; let their JSON be tried too.
		m, errJSON := module.DecodeManifest(in)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+uint64(100*len(in)) {
			t.Fatalf("%d bytes allocated for %d bytes of input", n, len(in))
		}
		for _, err := range []error{errModule, errJSON} {
			var e *module.Error
			if err != nil && (!errors.As(err, &e) || e.Code == "" || e.Error() == "") {
				t.Fatalf("error without a code: %v", err)
			}
		}
		if errJSON != nil {
			return
		}
		_ = module.Validate(m)
		dec := json.NewDecoder(bytes.NewReader(in))
		dec.DisallowUnknownFields()
		var std abi.Manifest
		if err := dec.Decode(&std); err != nil {
			t.Fatalf("accepted, but encoding/json says %v", err)
		}
		if diff := cmp.Diff(std, m); diff != "" {
			t.Fatalf("(-encoding/json +ours)\n%s", diff)
		}
	})
}
