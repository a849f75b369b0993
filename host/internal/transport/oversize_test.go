package transport_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/host/internal/transport"
)

const smallLine = 4 << 10

func readSmall(t *testing.T, input string) []transport.Frame {
	t.Helper()
	frames, err := readAll(t, transport.Config{R: strings.NewReader(input), MaxLine: smallLine})
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return frames
}

func TestT2_ALineOfExactlyTheLimitPassesAndOneByteMoreDoesNot(t *testing.T) {
	exact := `{"method":"m","params":"` + strings.Repeat("x", smallLine-len(`{"method":"m","params":""}`)) + `"}`
	frames := readSmall(t, exact+"\n"+" "+exact+"\n"+exact)
	if len(frames) != 3 {
		t.Fatalf("%d frames", len(frames))
	}
	for i, over := range []bool{false, true, false} {
		f := frames[i]
		if f.Oversize != over || f.Kind != transport.Notification || f.Method != "m" || (f.Payload == nil) != over {
			t.Errorf("frame %d: oversize %v kind %v method %q payload %d bytes", i+1, f.Oversize, f.Kind, f.Method, len(f.Payload))
		}
	}
	if frames[1].Size != smallLine+1 || !strings.HasPrefix(frames[1].Note, "a line of 4097 bytes, the limit is 4096: ") {
		t.Errorf("size %d note %.80q", frames[1].Size, frames[1].Note)
	}
}

func TestT2_AnOversizeLineStillTellsWhichCallOrRequestItWas(t *testing.T) {
	big := `"` + strings.Repeat(`x\"}{,`, 2*smallLine) + `"`
	deep := strings.Repeat(`[{"id":99,"method":"inner","a":`, smallLine) + "1" + strings.Repeat(`}]`, smallLine)
	for _, tc := range []struct {
		name, line string
		kind       transport.Kind
		id, method string
	}{
		{"result, id first", `{"id":7,"result":` + big + `}`, transport.Result, "7", ""},
		{"result, id last", `{"result":{"a":` + big + `}, "id" : "7" }`, transport.Result, `"7"`, ""},
		{"error", `{"error":{"message":` + big + `},"id":7}`, transport.Error, "7", ""},
		{"result beside a null error", `{"error":null,"result":[` + big + `],"id":7}`, transport.Result, "7", ""},
		{"request", `{"jsonrpc":"2.0","id":0,"method":"a/b","params":{"x":` + big + `}}`, transport.Request, "0", "a/b"},
		{"request, method behind the payload", `{"params":` + big + `,"method":"a\/b","id":0}`, transport.Request, "0", "a/b"},
		{"deeply nested payload", `{"params":` + deep + `,"method":"m","id":5}`, transport.Request, "5", "m"},
		{"notification", "\uFEFF " + `{"method":"m","params":` + big + `}` + "\r", transport.Notification, "", "m"},
		{"the last of duplicated members counts", `{"id":1,"method":"a","params":` + big + `,"id":2,"method":"b"}`, transport.Request, "2", "b"},
		{"text", strings.Repeat("log ", 2*smallLine), transport.Junk, "", ""},
		{"array", `[` + big + `]`, transport.Junk, "", ""},
		{"text after the object", `{"id":1,"method":"m","params":` + big + `} x`, transport.Junk, "", ""},
		{"cut off", `{"id":1,"method":"m","params":` + big, transport.Junk, "", ""},
		{"an id of a megabyte", `{"method":"m","id":"` + strings.Repeat("i", 1<<20) + `"}`, transport.Junk, "", ""},
		{"a number of two thousand digits", `{"method":"m","id":` + strings.Repeat("1", 2000) + `,"params":` + big + `}`, transport.Junk, "", ""},
		{"a method of a megabyte", `{"id":1,"method":"` + strings.Repeat("i", 1<<20) + `"}`, transport.Junk, "", ""},
		{"an unusable answer", `{"id":1,"x":` + big + `}`, transport.Junk, "1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			frames := readSmall(t, `{"method":"before"}`+"\n"+tc.line+"\n"+`{"method":"after"}`+"\n")
			if len(frames) != 3 || frames[0].Method != "before" || frames[2].Method != "after" {
				t.Fatalf("the neighbours suffered: %d frames", len(frames))
			}
			f := frames[1]
			if !f.Oversize || f.Kind != tc.kind || string(f.ID) != tc.id || f.Method != tc.method || f.Payload != nil {
				t.Errorf("oversize %v, %v id %q method %q payload %d bytes", f.Oversize, f.Kind, f.ID, f.Method, len(f.Payload))
			}
			if f.Size != len(tc.line) || len(f.Note) > transport.NoteHead+100 || !strings.Contains(f.Note, "the limit is 4096: ") {
				t.Errorf("size %d (line %d), note of %d bytes %.80q", f.Size, len(tc.line), len(f.Note), f.Note)
			}
		})
	}
}

func TestALineNestedTooDeepIsDeclinedLikeAnOversizeOne(t *testing.T) {
	f := one(t, `{"params":`+strings.Repeat("[", 600)+strings.Repeat("]", 600)+`,"id":3,"method":"m"}`)
	if f.Kind != transport.Request || string(f.ID) != "3" || f.Method != "m" || !f.Oversize || f.Payload != nil ||
		!strings.HasPrefix(f.Note, "nested deeper than 512 levels: ") {
		t.Errorf("%v id %q method %q oversize %v note %.60q", f.Kind, f.ID, f.Method, f.Oversize, f.Note)
	}
}

// repeated is a stream of head, n bytes of filler, tail.
func repeated(head string, n int, tail string) io.Reader {
	return io.MultiReader(strings.NewReader(head), io.LimitReader(filler{}, int64(n)), strings.NewReader(tail))
}

type filler struct{}

func (filler) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestT2_ALineOf64MiBIsSkippedInAFewMiBOfMemory(t *testing.T) {
	for _, tc := range []struct{ maxLine, allowed int }{{1 << 20, 4 << 20}, {0, 40 << 20}} {
		t.Run(fmt.Sprint("limit ", tc.maxLine), func(t *testing.T) {
			in := repeated(`{"id":7,"result":"`, 64<<20, "\"}\n{\"method\":\"after\"}\n")
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			frames, err := readAll(t, transport.Config{R: in, MaxLine: tc.maxLine})
			runtime.ReadMemStats(&after)
			if !errors.Is(err, io.EOF) || len(frames) != 2 || frames[0].Kind != transport.Result || !frames[0].Oversize || frames[1].Method != "after" {
				t.Fatalf("%v, %d frames", err, len(frames))
			}
			// TotalAlloc counts all that was allocated, freed or not: it bounds the
			// peak from above. With the default limit the line is buffered up to
			// 16 MiB, through doublings, before it is known to be too long.
			if used := after.TotalAlloc - before.TotalAlloc; used > uint64(tc.allowed) {
				t.Errorf("allocated %d KiB", used>>10)
			}
		})
	}
}

func TestT2_ALegitimateLineOfManyMegabytesPasses(t *testing.T) {
	frames, err := readAll(t, transport.Config{R: repeated(`{"id":7,"result":"`, 12<<20, "\"}\n{\"method\":\"after\"}\n")})
	if !errors.Is(err, io.EOF) || len(frames) != 2 || len(frames[0].Payload) != 12<<20+2 || frames[1].Method != "after" {
		t.Fatalf("%v, %d frames", err, len(frames))
	}
	if n := bytes.Count(frames[0].Payload, []byte("x")); n != 12<<20 {
		t.Errorf("%d bytes of 12 MiB arrived", n)
	}
}
