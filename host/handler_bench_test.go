package host_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/host"
)

// spread reports the middle and the slow end of how long operations took.
func spread(b *testing.B, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds()), "p95-µs")
}

// newServer serves a host as a daemon does: over a unix socket, and whoever
// connects is looked at.
func newServer(b *testing.B, h *host.Host) (url string, c *http.Client, socket string) {
	b.Helper()
	socket = filepath.Join(b.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: h.Handler(), ConnContext: host.ConnContext}}
	srv.Start()
	b.Cleanup(srv.Close)
	var d net.Dialer
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) }}
	b.Cleanup(tr.CloseIdleConnections)
	return "http://localhost", &http.Client{Transport: tr}, socket
}

// BenchmarkHandlerControls is the API round trip of what a client shows, among a
// thousand conversations.
func BenchmarkHandlerControls(b *testing.B) {
	r := newBenchRig(b, echo)
	for range 999 {
		if _, err := r.h.Create(b.Context(), host.NewConversation{Harness: "codex", Cwd: r.cwd}); err != nil {
			b.Fatal(err)
		}
	}
	base, c, _ := newServer(b, r.h)
	url := base + "/v1/conversations/" + r.conv + "/controls"
	times := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		body := fetch(b, c, url)
		_, err := io.Copy(io.Discard, body)
		if err := body.Close(); err != nil {
			b.Fatal(err)
		}
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	spread(b, times)
}

// BenchmarkPrompt is a message through the API that the child answers at once, from
// the request to the event that says its turn has ended: four commits and the way
// through the child.
func BenchmarkPrompt(b *testing.B) {
	r := newBenchRig(b, echo)
	_, _, socket := newServer(b, r.h)
	c := client.Unix(socket, client.Options{})
	defer func() { _ = c.Close(b.Context()) }()
	ctrl, err := c.Probe(b.Context(), r.conv)
	if err != nil || ctrl.Session.State != host.SessionReady {
		b.Fatal(ctrl.Session, err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	ended := make(chan string, 1000)
	go func() {
		defer close(ended)
		for ev, err := range c.Events(ctx, r.conv, 0) {
			if err != nil {
				return
			}
			var t host.Turn
			if ev.Type == host.EventTurn && json.Unmarshal(ev.Body, &t) == nil && t.State.Ended() {
				ended <- t.ID
			}
		}
	}()
	times := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		turn, err := c.Send(b.Context(), r.conv, host.Message{Content: host.Text("Go")})
		if err != nil {
			b.Fatal(err)
		}
		if id := <-ended; id != turn.ID {
			b.Fatalf("turn %q ended, %s was sent", id, turn.ID)
		}
		times = append(times, time.Since(start))
	}
	spread(b, times)
}

func fetch(b *testing.B, c *http.Client, url string) io.ReadCloser {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		b.Fatal(res.Status)
	}
	return res.Body
}

// BenchmarkHandlerFanOut streams a journal of 10,000 events to 20 subscribers at
// once, in the same process; an operation is the whole of it.
func BenchmarkHandlerFanOut(b *testing.B) {
	const events, subscribers = 10_000, 20
	r := newBenchRig(b, echo)
	for range events - 1 {
		c := r.controls()
		mode := fmt.Sprint(c.Revision % 2)
		if _, err := r.h.ConfigureNextTurn(b.Context(), r.conv, c.Revision, host.SettingsPatch{Mode: &mode}); err != nil {
			b.Fatal(err)
		}
	}
	base, c, _ := newServer(b, r.h)
	last := fmt.Appendf(nil, "id: %d\n", events)
	for b.Loop() {
		var wg sync.WaitGroup
		for range subscribers {
			wg.Go(func() {
				body := fetch(b, c, base+"/v1/conversations/"+r.conv+"/events")
				defer func() { _ = body.Close() }()
				in := bufio.NewReaderSize(body, 64<<10)
				for {
					line, err := in.ReadSlice('\n')
					if err != nil {
						b.Error(err)
						return
					}
					if bytes.Equal(line, last) {
						return
					}
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(events*subscribers*b.N)/b.Elapsed().Seconds(), "events/s")
}
