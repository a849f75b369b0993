package meter

import (
	"bytes"
	"encoding/binary"
)

// Section ids of the binary format, in the order they must come; data count
// stands between element and code.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
	secTag       = 13
	secCount     = 12 // highest known id
)

var sectionOrder = [secCount + 1]int{
	secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6,
	secExport: 7, secStart: 8, secElement: 9, secDataCount: 10, secCode: 11, secData: 12,
}

// section is a span of the module; present tells an empty one from none.
type section struct {
	body    []byte
	base    int
	present bool
}

func (s section) reader() *reader { return &reader{b: s.body, base: s.base} }

var (
	magic       = []byte("\x00asm")
	coreVersion = []byte{1, 0, 0, 0}
)

// split checks the header, the order and the sizes of the sections. Custom
// sections are dropped: an engine has no use for them.
func split(wasm []byte, limits Limits) (secs [secCount + 1]section, err *Error) {
	if len(wasm) > limits.ModuleBytes {
		return secs, refuse(CodeLimit, -1, "the module has %d bytes, and at most %d are allowed; strip debug sections or make it smaller", len(wasm), limits.ModuleBytes)
	}
	if len(wasm) < 8 {
		if bytes.HasPrefix(magic, wasm[:min(len(wasm), 4)]) {
			return secs, refuse(CodeTruncated, len(wasm), "the file ends before the header is complete; copy or build it again")
		}
		return secs, refuse(CodeForeign, 0, "this is not a WebAssembly module; give the .wasm file the compiler wrote")
	}
	if !bytes.Equal(wasm[:4], magic) {
		return secs, refuse(CodeForeign, 0, "this is not a WebAssembly module; give the .wasm file the compiler wrote")
	}
	if !bytes.Equal(wasm[4:8], coreVersion) {
		// The layer field (the upper half) is 1 for every component version.
		if binary.LittleEndian.Uint16(wasm[6:8]) == 1 {
			return secs, refuse(CodeComponent, 4, "this is a component, and a binding is a core module; build it for wasip1 as a reactor, without componentizing it")
		}
		return secs, refuse(CodeForeign, 4, "WebAssembly version %d is unknown; build a core module of version 1", binary.LittleEndian.Uint32(wasm[4:8]))
	}
	r := &reader{b: wasm, i: 8}
	last := 0
	for r.more() {
		at := r.at()
		id := r.byte()
		size := r.u32()
		if r.err == nil && int64(size) > int64(len(wasm)-r.i) {
			return secs, refuse(CodeTruncated, at, "section %d says it has %d bytes, but the file ends before; copy or build it again", id, size)
		}
		base := r.at()
		body := r.take(int(size))
		if r.err != nil {
			return secs, r.err
		}
		switch {
		case id == secCustom:
			c := &reader{b: body, base: base}
			if c.name(); c.err != nil {
				return secs, c.err
			}
			continue
		case id == secTag:
			return secs, unsupported(at, "exceptions")
		case id > secCount:
			return secs, refuse(CodeUnsupported, at, "section %d is unknown; build a core module without proposals newer than WebAssembly 2.0", id)
		}
		if sectionOrder[id] <= last {
			return secs, refuse(CodeInvalid, at, "section %d is repeated or out of order", id)
		}
		last = sectionOrder[id]
		secs[id] = section{body: body, base: base, present: true}
	}
	return secs, r.err
}

func unsupported(at int, feature string) *Error {
	return refuse(CodeUnsupported, at, "the module uses %s, which bindings may not; %s", feature, recompile)
}
