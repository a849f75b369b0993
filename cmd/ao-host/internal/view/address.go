package view

import (
	"net/netip"
	"net/url"

	"github.com/aoagents/ao-host/abi"
)

// Address gives the answers to a request to open an address, with an entry for
// each. It is never opened by this program, and consent is offered only where
// the address is encrypted or stays on this machine (DESIGN §10).
func Address(raw string) ([]abi.Action, []Entry) {
	actions := []abi.Action{abi.ActionDecline, abi.ActionCancel}
	entries := []Entry{{"decline", "the agent goes on without it"}, {"cancel", "the agent gives up what it asked for"}}
	if safeURL(raw) {
		actions = append([]abi.Action{abi.ActionAccept}, actions...)
		entries = append([]Entry{{"accept", "you open the address yourself, in a browser"}}, entries...)
	}
	return actions, entries
}

func safeURL(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return false
	}
	if u.Scheme == "https" {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && addr.IsLoopback())
}
