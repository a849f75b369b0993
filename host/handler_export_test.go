package host

import (
	"context"
	"net/http"
	"time"

	"github.com/aoagents/ao-host/host/internal/process"
)

// WithProcesses replaces how a harness is started, and how one is ended that came too
// late to be wanted.
func (c *Config) WithProcesses(start func(process.Spec) (*process.Process, error), end func(context.Context, *process.Process, time.Duration) error) {
	c.start, c.end = start, end
}

// WithPatience replaces how long a reader waits for controls that are not older than the
// journal, and how long the login shell may take.
func (c *Config) WithPatience(d time.Duration) { c.fresh, c.login = d, d }

// WithReplaced replaces how it is seen that a program was replaced.
func (c *Config) WithReplaced(look func(process.Program) bool) { c.replaced = look }

// WithCloseGrace is how long a close may take once its context ended.
func (c *Config) WithCloseGrace(d time.Duration) { c.closeGrace = d }

// DecodeMessage decodes the body of a message as the handler does.
func DecodeMessage(b []byte) (m Message, err error) {
	return m, decodeStrict(b, []string{"content"}, &m)
}

// DecodeAnswer decodes the body of an answer as the handler does.
func DecodeAnswer(b []byte) (a Answer, err error) { return a, decodeStrict(b, nil, &a) }

// HandlerWith is Handler with other times.
func (h *Host) HandlerWith(heartbeat, write, body time.Duration) http.Handler {
	s := &server{h: h, keys: keyLocks{held: map[string]chan struct{}{}}, heartbeat: heartbeat, writeTimeout: write, bodyTimeout: body}
	return s.handler()
}

// Following reports whether somebody waits for events of a conversation.
func Following(h *Host, conversation string) bool {
	h.feed.mu.Lock()
	defer h.feed.mu.Unlock()
	t := h.feed.topics[conversation]
	return t != nil && t.wait != nil
}
