package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aoagents/ao-host/host"
)

// retryAfter are the waits before a request whose connection broke is sent again.
var retryAfter = []time.Duration{50 * time.Millisecond, 250 * time.Millisecond}

// call runs an operation with a JSON result. Params are the values of the
// parameters in the path, in their order; a nil body sends none.
func call[R any](ctx context.Context, c *Client, id string, body any, params ...string) (out R, err error) {
	rt := c.routes[id]
	var raw []byte
	if body != nil {
		if raw, err = json.Marshal(body); err != nil {
			return out, &host.Error{Code: host.CodeInvalidArgument, Field: "body", Detail: "The request cannot be written as JSON: " + err.Error() + ".", Err: err}
		}
	}
	// One key for all attempts; an id of the caller's own is in the body already.
	key := ""
	if rt.Key != host.KeyNone && clientID(body) == "" {
		key = c.opts.IDs()
	}
	for i := 0; ; i++ {
		out, err = attempt[R](ctx, c, &rt, key, raw, params)
		var broken *brokenError
		if err == nil || !errors.As(err, &broken) {
			return out, err
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if i == len(retryAfter) || !broken.again {
			return out, unreachable(err)
		}
		select {
		case <-time.After(retryAfter[i]):
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
}

// clientID is the id of the request that the caller chose.
func clientID(body any) string {
	switch b := body.(type) {
	case host.NewConversation:
		return b.ID
	case host.Message:
		return b.ClientID
	case host.RetryRequest:
		return b.ClientID
	case host.ImplementRequest:
		return b.ClientID
	case host.ChangesRequest:
		return b.ClientID
	}
	return ""
}

// brokenError is a request that got no answer.
type brokenError struct {
	err error
	// again: the host was reached, so sending again may help.
	again bool
}

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// unreachable is what callers see of a brokenError.
func unreachable(err error) error {
	return &host.Error{Code: host.CodeUnreachable, Detail: sentence(err), Err: err}
}

// sentence is an error in one line that ends with a full stop.
func sentence(err error) string {
	return strings.TrimSuffix(strings.ReplaceAll(err.Error(), "\n", ": "), ".") + "."
}

// missing are the codes of path parameters without a value.
var missing = map[string]host.Code{
	"conversation": host.CodeUnknownConversation, "turn": host.CodeUnknownTurn, "interaction": host.CodeUnknownInteraction,
	"proposal": host.CodeUnknownProposal, "harness": host.CodeUnknownHarness, "name": host.CodeUnknownHarness,
}

// path fills the parameters into a route's path. An id that cannot be part of a
// path is the id of nothing.
func path(rt *host.Route, params []string) (string, error) {
	out := rt.Path
	for i, name := range rt.Params() {
		switch v := params[i]; v {
		case "", ".", "..":
			return "", &host.Error{Code: missing[name], Field: name, Detail: fmt.Sprintf("%q is not known.", v)}
		default:
			out = strings.Replace(out, "{"+name+"}", url.PathEscape(v), 1)
		}
	}
	return out, nil
}

// send sends one request and returns the answer if it is a success.
func (c *Client) send(ctx context.Context, rt *host.Route, key string, body []byte, query string, params []string) (*http.Response, error) {
	p, err := path(rt, params)
	if err != nil {
		return nil, err
	}
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, rt.Method, c.base+p+query, in)
	if err != nil {
		return nil, &host.Error{Code: host.CodeInvalidArgument, Detail: err.Error() + ".", Err: err}
	}
	req.Header.Set("Accept", rt.Media+", "+host.MediaProblem)
	if body != nil {
		req.Header.Set("Content-Type", host.MediaJSON)
	}
	if key != "" {
		req.Header.Set(host.HeaderIdempotencyKey, key)
	}
	if c.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if own := (*host.Error)(nil); errors.As(err, &own) {
			// The transport has tried what could be tried.
			return nil, own
		}
		var op *net.OpError
		return nil, &brokenError{err: err, again: !errors.As(err, &op) || op.Op != "dial"}
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode/100 == 2 && media == rt.Media {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	return nil, problem(res, media)
}

// maxProblem bounds the body of an error.
const maxProblem = 1 << 20

func problem(res *http.Response, media string) error {
	if media == host.MediaProblem {
		var p host.Problem
		err := json.NewDecoder(io.LimitReader(res.Body, maxProblem)).Decode(&p)
		if err == nil && p.Code != "" {
			return p.Err()
		}
	}
	return &brokenError{err: fmt.Errorf("the answer is %s with the content type %q, which is not of this API", res.Status, media)}
}

// attempt sends a request once and reads the answer.
func attempt[R any](ctx context.Context, c *Client, rt *host.Route, key string, body []byte, params []string) (out R, err error) {
	res, err := c.send(ctx, rt, key, body, "", params)
	if err != nil {
		return out, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return out, &brokenError{err: err, again: true}
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, &brokenError{err: fmt.Errorf("the answer cannot be read: %w", err)}
	}
	return out, nil
}
