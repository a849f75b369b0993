package host_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host"
)

// BenchmarkHandlerControls is the API round trip of what a client shows, among a
// thousand conversations.
func BenchmarkHandlerControls(b *testing.B) {
	r := newBenchRig(b, echo)
	for range 999 {
		if _, err := r.h.Create(b.Context(), host.NewConversation{Harness: "codex", Cwd: r.cwd}); err != nil {
			b.Fatal(err)
		}
	}
	srv := httptest.NewServer(r.h.Handler())
	defer srv.Close()
	url := srv.URL + "/v1/conversations/" + r.conv + "/controls"
	times := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		body := fetch(b, srv.Client(), url)
		_, err := io.Copy(io.Discard, body)
		if err := body.Close(); err != nil {
			b.Fatal(err)
		}
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds()), "p95-µs")
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
	srv := httptest.NewServer(r.h.Handler())
	defer srv.Close()
	last := fmt.Appendf(nil, "id: %d\n", events)
	for b.Loop() {
		var wg sync.WaitGroup
		for range subscribers {
			wg.Go(func() {
				body := fetch(b, srv.Client(), srv.URL+"/v1/conversations/"+r.conv+"/events")
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
