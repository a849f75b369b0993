//go:build !unix

package lockfile

import "os"

// Supported: files can be locked on this system.
const Supported = false

func take(*os.File) (bool, error) { return false, nil }

func unlock(*os.File) error { return nil }
