package store

import "encoding/binary"

// SQLite overwrites what it removes with zeros, but not the copies that remain
// between the cell pointers and the cells of a page whose cells were moved to
// another one. They would outlive the rows they are copies of, so they are
// overwritten on the way to the data file. Nobody ever reads them.

// maxScrubbed is the size of a data file up to which a page of a tree is told from
// others by its first byte: that of an overflow page or a free one is the highest of a
// page number, and is the type of a tree's page only beyond twice this size.
const maxScrubbed = 64 << 30

// unused is the part of a tree's page that is neither header, cell pointer nor cell;
// it is empty for other pages. The first page begins with the header of the file.
func unused(page []byte, first bool) []byte {
	if len(page) != pageBytes {
		return nil
	}
	at := 0
	if first {
		at = 100
	}
	header := 8
	switch page[at] {
	case 2, 5: // inner pages
		header = 12
	case 10, 13: // leaves
	default:
		return nil
	}
	cells := int(binary.BigEndian.Uint16(page[at+3:]))
	from, to := at+header+2*cells, int(binary.BigEndian.Uint16(page[at+5:]))
	if from > to || to > len(page) {
		return nil
	}
	return page[from:to]
}

// scrubbed is the page to write in place of p, in a buffer of the file's own if it
// differs.
func (f *namedFile) scrubbed(p []byte, off int64) []byte {
	rest := unused(p, off == 0)
	dirty := false
	for _, b := range rest {
		if b != 0 {
			dirty = true
			break
		}
	}
	if !dirty {
		return p
	}
	if size, err := f.Size(); err != nil || size > maxScrubbed || off > maxScrubbed {
		return p
	}
	f.page = append(f.page[:0], p...)
	clear(unused(f.page, off == 0))
	return f.page
}
