// Package peer tells which process is at the other end of a unix socket, as the
// kernel knows it.
package peer

import (
	"errors"
	"net"
	"syscall"
)

// Peer is the process that connected. The socket may have been handed on since; who
// did that is the one to be asked about.
type Peer struct {
	// UID is its effective user when it connected.
	UID int
	// PID is 0 where the process is not visible from here, as one outside of our
	// container.
	PID int
	// pin, where the kernel offers it, holds on to the process, so that its number
	// is not taken for that of a later one. -1: there is none.
	pin int
}

var errNoSocket = errors.New("the connection is no unix socket")

// Of returns the peer of a connection.
func Of(c net.Conn) (*Peer, error) {
	sc, ok := c.(syscall.Conn)
	if _, unix := c.LocalAddr().(*net.UnixAddr); !unix || !ok {
		return nil, errNoSocket
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	var p *Peer
	if cerr := raw.Control(func(fd uintptr) { p, err = of(int(fd)) }); cerr != nil {
		return nil, cerr
	}
	return p, err
}
