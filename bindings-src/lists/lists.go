// Package lists keeps what the first-party bindings do with the lists of a harness in
// proportion to the bytes that came: a step has fuel for each byte of its input, so
// nothing may cost the square of them, and an element of two bytes must not become a
// hundred bytes of memory a million times.
package lists

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

const (
	// MaxElements bounds the elements that are read of all lists of one message. No
	// person chooses among more, and the largest catalogs have two thousand.
	MaxElements = 20_000
	// MaxKept bounds the JSON that is read of a list which a session keeps, in bytes:
	// later steps go through it again, however small their own input is.
	MaxKept = 2 << 20
)

// Bound counts what is read of the lists of one message. The zero value bounds the
// number of elements.
type Bound struct {
	// Keeps bounds the bytes too, for a list that is kept.
	Keeps bool
	// Bytes are the bytes read so far of a list that is kept.
	Bytes int
	// Left counts the elements that were not read. They are told, never dropped silently.
	Left int

	taken, depth int
}

// Each calls read for the elements of the array that comes next, until the bound is
// reached; the rest is skipped. read consumes the element and may call Each in turn.
func (b *Bound) Each(d *jsonwire.Decoder, read func(d *jsonwire.Decoder)) {
	for ok := d.BeginArray(); ok && d.NextElem(); {
		if !b.fits(d) {
			d.Skip()
			b.Left++
			continue
		}
		b.taken++
		b.depth++
		read(d)
		b.depth--
	}
}

func (b *Bound) fits(d *jsonwire.Decoder) bool {
	if b.taken >= MaxElements {
		return false
	}
	// What is inside of an element was counted with it.
	if b.Keeps && b.depth == 0 {
		ahead := *d
		ahead.Skip()
		size := ahead.Offset() - d.Offset()
		if b.Bytes+size > MaxKept {
			return false
		}
		b.Bytes += size
	}
	return true
}

// Told is the sentence for what was left out, with a space before it where it follows
// other text; "" when there is nothing to tell.
func (b *Bound) Told(before string) string {
	if b.Left == 0 {
		return ""
	}
	s := "The list is too long: " + strconv.Itoa(b.Left) + " further entries are left out."
	if before != "" {
		s = " " + s
	}
	return s
}

// Index finds elements by their id. It is a sorted list and no hash table, for which a
// harness could choose ids that collide.
type Index struct {
	id    func(i int) string
	order []int
}

// NewIndex indexes n elements; id gives the id of one.
func NewIndex(n int, id func(i int) string) Index {
	x := Index{id: id, order: make([]int, n)}
	for i := range x.order {
		x.order[i] = i
	}
	slices.SortFunc(x.order, func(a, b int) int {
		if c := strings.Compare(id(a), id(b)); c != 0 {
			return c
		}
		return a - b
	})
	return x
}

// First is the first element with this id, or -1.
func (x Index) First(id string) int {
	at, found := slices.BinarySearchFunc(x.order, id, func(i int, id string) int { return strings.Compare(x.id(i), id) })
	if !found {
		return -1
	}
	return x.order[at]
}

// Repeats reports whether two elements have the same id.
func (x Index) Repeats() bool {
	for i := 1; i < len(x.order); i++ {
		if x.id(x.order[i-1]) == x.id(x.order[i]) {
			return true
		}
	}
	return false
}

// Unique drops the elements whose id an earlier one has.
func Unique[T any](list []T, id func(x *T) string) []T {
	if len(list) < 2 {
		return list
	}
	x := NewIndex(len(list), func(i int) string { return id(&list[i]) })
	repeated := make([]bool, len(list))
	for i := 1; i < len(x.order); i++ {
		repeated[x.order[i]] = x.id(x.order[i-1]) == x.id(x.order[i])
	}
	kept := list[:0]
	for i := range list {
		if !repeated[i] {
			kept = append(kept, list[i])
		}
	}
	return kept
}
