package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// applicationID marks our files in the SQLite header ("aohs").
const applicationID = 0x616f6873

// fileVersion is what the header of a data file says about itself.
type fileVersion struct {
	// exists is false for a file that is missing or still empty.
	exists      bool
	schema      int64
	application uint32
}

// peekVersion reads the schema version of a data file without opening it as a
// database: SQLite would create and check-point files beside it, and an older
// program must not change a newer file in any way (D6).
//
// The newest header may still be in the write-ahead log, so that is read too.
// Formats: https://sqlite.org/fileformat2.html, sections 1.3 and 4.
func peekVersion(path string) (fileVersion, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fileVersion{}, nil
	}
	if err != nil {
		return fileVersion{}, translate(err, "data file")
	}
	defer func() { _ = f.Close() }()
	header := make([]byte, 100)
	n, err := io.ReadFull(f, header)
	if n == 0 && errors.Is(err, io.EOF) {
		return fileVersion{}, nil
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fileVersion{}, translate(err, "data file")
	}
	if n < len(header) || string(header[:16]) != "SQLite format 3\x00" {
		return fileVersion{}, foreignFile(path)
	}
	newer, err := walHeader(path + "-wal")
	if err != nil {
		return fileVersion{}, translate(err, "write-ahead log")
	}
	if newer != nil {
		header = newer
	}
	v := fileVersion{
		exists:      true,
		schema:      int64(binary.BigEndian.Uint32(header[60:])),
		application: binary.BigEndian.Uint32(header[68:]),
	}
	if v.schema > 0 && v.application != applicationID {
		return fileVersion{}, foreignFile(path)
	}
	return v, nil
}

func foreignFile(path string) *Error {
	return &Error{Code: CodeCorrupt, Message: fmt.Sprintf(
		"The file %s is damaged or was not written by this program; restore one of the backups beside it, or choose another folder.", path)}
}

// walHeader returns the first 100 bytes of the newest committed page 1 in a
// write-ahead log, nil if it holds none.
func walHeader(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, 1<<20)
	head := make([]byte, 32)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, endOfLog(err)
	}
	sum := walChecksum{order: binary.LittleEndian}
	switch binary.BigEndian.Uint32(head) {
	case 0x377f0682:
	case 0x377f0683:
		sum.order = binary.BigEndian
	default:
		return nil, nil
	}
	sum.add(head[:24])
	size := binary.BigEndian.Uint32(head[8:])
	if size < 512 || size > 65536 || !sum.is(head[24:]) {
		return nil, nil
	}
	salt := string(head[16:24])
	frame := make([]byte, 24+size)
	var pending, committed []byte
	for {
		if _, err := io.ReadFull(r, frame); err != nil {
			return committed, endOfLog(err)
		}
		sum.add(frame[:8])
		sum.add(frame[24:])
		if string(frame[8:16]) != salt || !sum.is(frame[16:]) {
			return committed, nil
		}
		if binary.BigEndian.Uint32(frame) == 1 {
			pending = append([]byte(nil), frame[24:124]...)
		}
		if binary.BigEndian.Uint32(frame[4:]) != 0 { // a commit
			if pending != nil {
				committed, pending = pending, nil
			}
		}
	}
}

func endOfLog(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// walChecksum is the running checksum over a write-ahead log.
type walChecksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (c *walChecksum) add(b []byte) {
	for i := 0; i+8 <= len(b); i += 8 {
		c.s0 += c.order.Uint32(b[i:]) + c.s1
		c.s1 += c.order.Uint32(b[i+4:]) + c.s0
	}
}

func (c *walChecksum) is(b []byte) bool {
	return c.s0 == binary.BigEndian.Uint32(b) && c.s1 == binary.BigEndian.Uint32(b[4:])
}
