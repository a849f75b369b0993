package console

import "golang.org/x/sys/unix"

const (
	ioctlGet = unix.TIOCGETA
	ioctlSet = unix.TIOCSETA
	// fread is FREAD of <sys/fcntl.h>: TIOCFLUSH empties the input queue.
	fread = 1
)

func flush(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fread) }
