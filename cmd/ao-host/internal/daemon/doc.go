// Package daemon runs a host as a process of its own that several clients share,
// and finds or starts that process. There is one daemon for a data folder.
//
// In the data folder are
//
//	daemon.lock   locked while the daemon lives; says who it is and where it listens
//	ao-host.sock  the socket, unless its path would be too long (see [socketPath])
//	daemon.log    what the daemon had to say, when it was started in the background
//	token         the bearer token for TCP, when it listens there
//
// Whoever has the lock owns the socket: it is made, replaced and removed only under
// the lock, so that a daemon that ends cannot take away the socket of the next (D3).
package daemon
