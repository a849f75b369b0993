// Package boundedfile reads files that a person puts somewhere for this program to
// find, and that may be anything: a pipe that nobody writes to, a device without
// end, a file larger than memory.
package boundedfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNotRegular is the error for a pipe, a device, a socket or a folder.
var ErrNotRegular = errors.New("it is not a regular file")

// TooLargeError says that a file has more bytes than are read.
type TooLargeError struct {
	// Size is the file's size and Max the bound, in bytes.
	Size, Max int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it has %d bytes; at most %d are accepted", e.Size, e.Max)
}

// Read returns the content of a regular file of at most max bytes; symbolic links
// are followed. It never waits for another process. Errors besides those of the
// system: [ErrNotRegular], [*TooLargeError].
func Read(path string, max int64) ([]byte, error) {
	// Opening a pipe would wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, ErrNotRegular
	case st.Size() > max:
		return nil, &TooLargeError{Size: st.Size(), Max: max}
	}
	// It may grow while it is read.
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(b)) > max {
		err = &TooLargeError{Size: int64(len(b)), Max: max}
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
