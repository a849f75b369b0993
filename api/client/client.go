package client

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/aoagents/ao-host/host"
)

// Options configure a [Client]. The zero value is usable.
type Options struct {
	// Transport sends the requests; nil means a transport of the client's own. It is
	// not used by [Unix].
	Transport http.RoundTripper
	// Token is sent as a bearer token, where the server wants one.
	Token string
	// Patience is how long Events tries to reach a host that has gone before it
	// gives up; default 30 s, negative means not at all.
	Patience time.Duration
	// Silence is how long a stream may say nothing before it is taken for dead;
	// default 60 s, four heartbeats of the server.
	Silence time.Duration
	// MaxEvent bounds one event, in bytes; default 64 MiB.
	MaxEvent int
	// IDs makes idempotency keys; nil means random UUIDs.
	IDs func() string
}

// Client talks to a host in another process. It is safe for concurrent use.
type Client struct {
	opts   Options
	base   string
	http   *http.Client
	routes map[string]host.Route
}

// New returns a client of the API below a URL such as "http://127.0.0.1:7777" or
// "http://localhost:7777/chat". Error: invalid_argument.
func New(base string, opts Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &host.Error{Code: host.CodeInvalidArgument, Field: "base", Detail: "The address " + base + " is no http or https URL."}
	}
	if opts.Transport == nil {
		opts.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	return newClient(strings.TrimSuffix(u.String(), "/"), opts), nil
}

// Unix returns a client of the API on a unix socket.
func Unix(socket string, opts Options) *Client {
	var d net.Dialer
	opts.Transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) },
		// A host is asked by few programs at once; a connection costs it memory.
		MaxIdleConns: 4, IdleConnTimeout: 90 * time.Second,
	}
	return newClient("http://localhost", opts)
}

func newClient(base string, opts Options) *Client {
	opts.Patience = cmp.Or(opts.Patience, 30*time.Second)
	opts.Silence = cmp.Or(opts.Silence, 60*time.Second)
	opts.MaxEvent = cmp.Or(opts.MaxEvent, 64<<20)
	if opts.IDs == nil {
		opts.IDs = uuid.NewString
	}
	c := &Client{opts: opts, base: base, routes: map[string]host.Route{}}
	c.http = &http.Client{
		Transport: opts.Transport,
		// A redirect would send a body and a token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, rt := range host.Routes() {
		c.routes[rt.ID] = rt
	}
	return c
}

// WithPatience returns a client of the same host, over the same connections, whose
// Events tries for another time to reach a host that has gone: negative means not
// at all, for a caller that shows the loss and finds the host again itself.
func (c *Client) WithPatience(d time.Duration) *Client {
	other := *c
	other.opts.Patience = d
	return &other
}

// Close closes the idle connections. The host goes on.
func (c *Client) Close(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}
