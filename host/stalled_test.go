package host_test

import (
	"encoding/json"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host"
)

// walLimit is the store's bound of its log at rest, in bytes.
const walLimit = 16 << 20

// A subscriber that stops reading in the middle of a burst, and is not dropped, holds
// neither the write-ahead log nor memory nor anybody else.
func TestD4_AStalledSubscriberOfABurstPinsNeitherTheLogNorTheMemory(t *testing.T) {
	events := 100_000
	if testing.Short() {
		events = 20_000
	}
	w := newWeb(t, `{"turns":[{"repeat":true,"steps":[`+burst(events, 400)+`]}]}`)
	srv := httptest.NewUnstartedServer(w.h.HandlerWith(time.Minute, time.Hour, time.Minute))
	srv.Listener = smallBuffers{srv.Listener}
	srv.Start()
	t.Cleanup(srv.Close)
	w.srv.Close()
	w.srv = srv

	stalled := dial(t, srv)
	if err := stalled.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	ask(t, stalled, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", w.at("/events?after=0"))
	defer stalled.Close()

	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	quick := w.stream(t, "/events?after=0")
	turn := w.send("Go")
	ended := make(chan bool, 1)
	go func() {
		n := 0
		for quick.r.Scan() {
			data, ok := strings.CutPrefix(quick.r.Text(), "data: ")
			if !ok {
				continue
			}
			if n++; n%50 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapAlloc))
			}
			var ev host.Event
			var body host.Turn
			if json.Unmarshal([]byte(data), &ev) == nil && ev.Type == host.EventTurn && json.Unmarshal(ev.Body, &body) == nil && body.ID == turn.ID && body.State.Ended() {
				ended <- body.State == host.TurnCompleted
				return
			}
		}
		ended <- false
	}()
	select {
	case ok := <-ended:
		if !ok {
			t.Fatal("the other subscriber did not see the turn complete")
		}
	case <-time.After(8 * time.Minute):
		t.Fatal("the other subscriber waits")
	}
	if grown := int64(peak.Load()) - int64(before.HeapAlloc); grown > 128<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	wal := filepath.Join(w.dir, "ao-host.db-wal")
	w.until("the log under its bound", func() bool {
		fi, err := os.Stat(wal)
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size() <= walLimit
	})
}
