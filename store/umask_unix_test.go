//go:build unix

package store_test

import "syscall"

func setUmask(mask int) { syscall.Umask(mask) }
