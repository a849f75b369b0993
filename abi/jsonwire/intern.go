package jsonwire

// maxInterned is the longest string worth remembering: ids and method names are
// shorter.
const maxInterned = 64

// internTable remembers recent strings in a table without chains: two strings of
// one slot take turns, which costs an allocation and nothing else. It holds at
// most 256 strings of 64 bytes, so a hostile peer cannot make it grow.
type internTable [256]string

// Intern makes [Decoder.Interned] return one string for equal values. It pays
// where a decoder is kept from message to message; the memory is bounded.
func (d *Decoder) Intern() {
	if d.interned == nil {
		d.interned = new(internTable)
	}
}

// Interned is [Decoder.String] for values that repeat: after [Decoder.Intern] an
// equal short string is not allocated again.
func (d *Decoder) Interned() string {
	if d.interned == nil {
		return d.String()
	}
	b := d.Bytes()
	if len(b) == 0 {
		return ""
	}
	if len(b) > maxInterned {
		return string(b)
	}
	slot := &d.interned[hash(b)%uint64(len(d.interned))]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// hash mixes the bytes in words of eight, of which the last may overlap.
func hash(b []byte) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(len(b))
	if len(b) < 8 {
		for _, c := range b {
			h = (h ^ uint64(c)) * odd
		}
		return h ^ h>>32
	}
	for i := 0; i+8 < len(b); i += 8 {
		h = (h ^ word(b, i)) * odd
	}
	h = (h ^ word(b, len(b)-8)) * odd
	return h ^ h>>32
}
