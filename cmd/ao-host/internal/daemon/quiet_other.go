//go:build !unix

package daemon

import "os"

func quiet(stream *os.File) error { return stream.Close() }
