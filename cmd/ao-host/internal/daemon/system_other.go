//go:build !unix

package daemon

import (
	"errors"
	"io/fs"
	"syscall"
)

func ownedByUs(fs.FileInfo) bool { return false }

func detached() *syscall.SysProcAttr { return nil }

func terminate(int) error { return errors.ErrUnsupported }
