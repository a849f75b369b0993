package store_test

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func mountSmall(dir string, bytes int) error {
	return unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
}

func unmount(dir string) error { return unix.Unmount(dir, 0) }
