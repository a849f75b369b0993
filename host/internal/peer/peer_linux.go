package peer

import (
	"golang.org/x/sys/unix"
)

// of asks for SO_PEERCRED and, from Linux 6.5, SO_PEERPIDFD; see unix(7).
func of(fd int) (*Peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return nil, err
	}
	p := &Peer{UID: int(cred.Uid), PID: int(cred.Pid), pin: -1}
	if pin, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
		p.pin = pin
	}
	return p, nil
}

// Alive reports whether the process still runs, as far as that can be told: what was
// looked up under its number before is then about it.
func (p *Peer) Alive() bool {
	if p.pin < 0 {
		return true
	}
	// A pidfd becomes readable when the process ends (pidfd_open(2)).
	fds := []unix.PollFd{{Fd: int32(p.pin), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if err != unix.EINTR {
			return err == nil && n == 0
		}
	}
}

// Close lets go of the process.
func (p *Peer) Close() {
	if p.pin >= 0 {
		_ = unix.Close(p.pin)
		p.pin = -1
	}
}
