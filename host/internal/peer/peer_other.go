//go:build !linux && !darwin

package peer

import "errors"

func of(int) (*Peer, error) { return nil, errors.ErrUnsupported }

// Alive is never asked.
func (p *Peer) Alive() bool { return false }

// Close does nothing.
func (p *Peer) Close() {}
