package transport_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/host/internal/transport"
)

// codexDelta is a streamed text delta as the app-server family sends it, with
// 100 bytes of text.
var codexDelta = []byte(`{"method":"item/agentMessage/delta","params":{"threadId":"01a229dc-b594-7060-8fc9-30f0fab9d82f",` +
	`"turnId":"01a229dc-b5a1-7222-93f5-6f2c1f0a8d5e","itemId":"msg_0123456789abcdef0123456789abcdef","delta":"` +
	strings.Repeat("lorem ipsu", 10) + `"},"emittedAtMs":1795998659968}` + "\n")

// endless repeats a line n times.
type endless struct {
	chunk []byte
	off   int
	left  int64
}

func newEndless(line []byte, n int) *endless {
	return &endless{chunk: bytes.Repeat(line, 1000), left: int64(n) * int64(len(line))}
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), e.left)], e.chunk[e.off:])
	e.off = (e.off + n) % len(e.chunk)
	e.left -= int64(n)
	return n, nil
}

func benchmarkRead(b *testing.B, r io.Reader) {
	b.Helper()
	b.SetBytes(int64(len(codexDelta)))
	b.ReportAllocs()
	c := transport.Start(transport.Config{R: r, W: io.Discard})
	defer c.Close()
	got := 0
	for batch := range c.Recv() {
		got += len(batch)
		c.Ack(batch[len(batch)-1].N)
	}
	if got != b.N {
		b.Fatalf("%d of %d frames", got, b.N)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}

func BenchmarkReadDeltas(b *testing.B) { benchmarkRead(b, newEndless(codexDelta, b.N)) }

func BenchmarkReadDeltasThroughAPipe(b *testing.B) {
	r, w := pipe(b)
	go func() {
		_, _ = io.Copy(w, newEndless(codexDelta, b.N))
		_ = w.Close()
	}()
	benchmarkRead(b, r)
}

func ExampleConn() {
	c := transport.Start(transport.Config{
		R: strings.NewReader("starting…\n" + `{"id":1,"result":{}}` + "\n"),
		W: io.Discard,
	})
	defer c.Close()
	c.Send(1, transport.AppendRequest(nil, false, []byte("1"), "initialize", []byte(`{}`)))
	for batch := range c.Recv() {
		for _, f := range batch {
			fmt.Println(f.N, f.Kind, string(f.ID), f.Note)
		}
		c.Ack(batch[len(batch)-1].N)
	}
	// Output:
	// 1 junk  not JSON: starting…
	// 2 result 1
}
