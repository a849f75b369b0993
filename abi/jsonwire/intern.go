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
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	slot := &d.interned[(h^h>>15)%uint32(len(d.interned))]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}
