package process

import (
	"encoding/binary"
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Values of si_code for SIGCHLD, from waitid(2).
const (
	cldExited = 1
	cldKilled = 2
	cldDumped = 3
)

// awaitExit waits until the child exits and leaves it a zombie.
func (p *Process) awaitExit() Exit {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, p.os.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return exitOf(&info)
		}
		if !errors.Is(err, unix.EINTR) {
			// Somebody else collected the child, so it has exited; how is not known.
			return Exit{Code: -1}
		}
	}
}

// exitOf reads si_status, which x/sys keeps in the untyped part: after three
// words and the alignment of a pointer come si_pid, si_uid and si_status.
func exitOf(info *unix.Siginfo) Exit {
	const word = 4
	offset := (3*word+unsafe.Sizeof(uintptr(0))-1)/unsafe.Sizeof(uintptr(0))*unsafe.Sizeof(uintptr(0)) + 2*word
	raw := (*[unsafe.Sizeof(unix.Siginfo{})]byte)(unsafe.Pointer(info))
	status := int(int32(binary.NativeEndian.Uint32(raw[offset:])))
	switch info.Code {
	case cldExited:
		return Exit{Code: status}
	case cldKilled, cldDumped:
		return Exit{Code: -1, Signal: signalName(syscall.Signal(status))}
	}
	return Exit{Code: -1}
}
