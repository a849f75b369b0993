package module

import (
	"iter"
	"strconv"
)

// Section is one section of a module.
type Section struct {
	// ID is the section's number; custom sections have 0.
	ID byte
	// Name is the name of a custom section.
	Name string
	// Data is the content, of a custom section without its name. It aliases the
	// module.
	Data []byte
	// Start and End bound the whole section with its header, in bytes from the
	// start of the module.
	Start, End int
}

// idCustom is the number of custom sections.
const idCustom = 0

// Sections yields the sections of a core module in their order. It stops after
// the first error, which is an [*Error] with CodeForeign, CodeComponent or
// CodeTruncated. Only the framing is read; the engine judges the content.
func Sections(wasm []byte) iter.Seq2[Section, error] {
	return func(yield func(Section, error) bool) {
		if err := preamble(wasm); err != nil {
			yield(Section{}, err)
			return
		}
		for i := 8; i < len(wasm); {
			s, err := section(wasm, i)
			if !yield(s, err) || err != nil {
				return
			}
			i = s.End
		}
	}
}

func preamble(wasm []byte) error {
	const magic = "\x00asm"
	if len(wasm) < 8 {
		n := min(len(wasm), len(magic))
		if n > 0 && string(wasm[:n]) == magic[:n] {
			return truncated(len(wasm))
		}
		return foreign("the file is not a WebAssembly module; use one made with: ao-host bindings pack")
	}
	if string(wasm[:4]) != magic {
		return foreign("the file is not a WebAssembly module; use one made with: ao-host bindings pack")
	}
	// Two bytes of version and two of layer: core modules are layer 0,
	// components layer 1 (Component Model, Binary.md).
	version := int(wasm[4]) | int(wasm[5])<<8
	layer := int(wasm[6]) | int(wasm[7])<<8
	switch {
	case layer == 1:
		return &Error{Code: CodeComponent, Text: "the file is a WebAssembly component; a binding is a core module: build for wasip1, not wasip2, and do not run it through wasm-tools component"}
	case layer != 0 || version != 1:
		return foreign("the file is WebAssembly of version " + strconv.Itoa(version) + ", layer " + strconv.Itoa(layer) + "; a binding is a core module of version 1")
	}
	return nil
}

func foreign(text string) error { return &Error{Code: CodeForeign, Text: text} }

func truncated(at int) error {
	return &Error{Code: CodeTruncated, Text: "the module is cut off or damaged at byte " + strconv.Itoa(at) + "; copy or build it again"}
}

func section(wasm []byte, start int) (Section, error) {
	s := Section{ID: wasm[start], Start: start}
	size, i, ok := leb128(wasm, start+1)
	if !ok || size > len(wasm)-i {
		return Section{}, truncated(start)
	}
	s.End = i + size
	s.Data = wasm[i:s.End:s.End]
	if s.ID == idCustom {
		n, j, ok := leb128(s.Data, 0)
		if !ok || n > len(s.Data)-j {
			return Section{}, truncated(i)
		}
		s.Name = string(s.Data[j : j+n])
		s.Data = s.Data[j+n:]
	}
	return s, nil
}

// leb128 reads an unsigned 32-bit number of at most five bytes and returns it
// with the index after it.
func leb128(b []byte, i int) (n, next int, ok bool) {
	var u uint64
	for shift := 0; shift < 35; shift += 7 {
		if i >= len(b) {
			return 0, i, false
		}
		c := b[i]
		i++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			// Sizes beyond 2 GiB fit no module that is accepted anywhere.
			return int(u), i, u < 1<<31
		}
	}
	return 0, i, false
}

func appendLEB128(dst []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// find returns the content of the custom section of that name and how many there
// are. A damaged module fails even where the section comes before the damage.
func find(wasm []byte, name string) (data []byte, count int, err error) {
	for s, err := range Sections(wasm) {
		if err != nil {
			return nil, 0, err
		}
		if s.ID == idCustom && s.Name == name {
			data = s.Data
			count++
		}
	}
	return data, count, nil
}
