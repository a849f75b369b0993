// Package logfile is a log file of bounded size. A file that is full is copied
// aside, in place of an earlier copy, and emptied, so that who else appends to it,
// such as the standard error of a daemon, goes on in the same file.
package logfile

import (
	"errors"
	"io"
	"os"
	"sync"
)

// DefaultSize is how large a log grows, in bytes. With the copy beside it twice as
// much is kept.
const DefaultSize = 4 << 20

// oldSuffix is added to the name of the copy.
const oldSuffix = ".1"

// File is an open log. It is safe for concurrent use.
type File struct {
	mu   sync.Mutex
	file *os.File
	path string
	max  int64
}

// Open opens a log for appending, and makes it, for its owner alone. A max of 0 is
// [DefaultSize].
func Open(path string, max int64) (*File, error) {
	if max <= 0 {
		max = DefaultSize
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{file: f, path: path, max: max}, nil
}

// Write appends a record, which is not split over two files.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if fi, err := l.file.Stat(); err == nil && fi.Size() > 0 && fi.Size()+int64(len(p)) > l.max {
		if err := l.putAside(); err != nil {
			// Without room for the copy the old records go, not the new ones.
			_ = l.file.Truncate(0)
		}
	}
	return l.file.Write(p)
}

func (l *File) putAside() error {
	old := l.path + oldSuffix
	partial := old + ".partial"
	out, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(l.file, 0, 2*l.max))
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(partial, old)
	}
	if err != nil {
		_ = os.Remove(partial)
		return err
	}
	return l.file.Truncate(0)
}

// Close closes the file.
func (l *File) Close() error { return l.file.Close() }

// Tail returns the end of a log and of its copy: at most n bytes, whole lines.
func Tail(path string, n int64) ([]byte, error) {
	var out []byte
	for _, name := range []string{path + oldSuffix, path} {
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		out = append(out, b...)
	}
	if int64(len(out)) <= n {
		return out, nil
	}
	out = out[int64(len(out))-n:]
	for i, c := range out {
		if c == '\n' {
			return out[i+1:], nil
		}
	}
	return nil, nil
}
