package transport_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/host/internal/transport"
)

// chopped hands out its text in pieces of the given sizes, over and over.
type chopped struct {
	text  []byte
	sizes []byte
	i     int
}

func (c *chopped) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(c.sizes) > 0 {
		n += int(c.sizes[c.i%len(c.sizes)])
		c.i++
	}
	n = copy(p, c.text[:min(n, len(c.text))])
	c.text = c.text[n:]
	return n, nil
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"{\"id\":1,\"method\":\"m\",\"params\":{}}\n",
		"\uFEFF{\"method\":\"m\"}\r\n\n  \nplain\n{\"id\":\"7\",\"result\":null}",
		"{\"id\":null,\"error\":{\"code\":1}}\n[1,2]\n{\"id\":1}\n\xC3\n",
		"{\"params\":\"" + strings.Repeat("x", 300) + "\",\"id\":3,\"method\":\"\\u0061\"}\n{}\n",
		strings.Repeat("[", 700) + "\n{\"a\":" + strings.Repeat("[", 600),
		"{\"id\":1,\"id\":2,\"result\":1,\"error\":null}\n" + strings.Repeat("y", 300),
	} {
		f.Add([]byte(s), []byte{0, 3, 200}, uint16(256))
		f.Add([]byte(s), []byte{}, uint16(8))
	}
	f.Fuzz(func(t *testing.T, text, sizes []byte, limit uint16) {
		cfg := transport.Config{MaxLine: int(limit) + 1, Window: 1 << 10}
		cfg.R = bytes.NewReader(text)
		whole, err := readAll(t, cfg)
		if !errors.Is(err, io.EOF) {
			t.Fatalf("reading ended with %v", err)
		}
		cfg.R = &chopped{text: text, sizes: sizes}
		pieces, _ := readAll(t, cfg)
		if d := cmp.Diff(whole, pieces); d != "" {
			t.Fatalf("split differently, the frames differ:\n%s", d)
		}
		var size int
		for i, fr := range whole {
			size += fr.Size
			check(t, fr, uint64(i+1), cfg.MaxLine)
		}
		if size > len(text) {
			t.Fatalf("frames of %d bytes came from %d bytes", size, len(text))
		}
	})
}

// check states what holds for every frame, whatever the child printed.
func check(t *testing.T, f transport.Frame, n uint64, maxLine int) {
	t.Helper()
	if f.N != n {
		t.Fatalf("frame %d has the number %d", n, f.N)
	}
	hasID, answer := f.ID != nil, f.Kind == transport.Result || f.Kind == transport.Error
	switch {
	case f.Kind < transport.Request || f.Kind > transport.Junk:
		t.Fatalf("kind %d", f.Kind)
	case f.Kind == transport.Request && !hasID, f.Kind == transport.Notification && hasID, answer && !hasID:
		t.Fatalf("%v with id %q", f.Kind, f.ID)
	case (answer || f.Kind == transport.Junk) && f.Method != "":
		t.Fatalf("%v with method %q", f.Kind, f.Method)
	case answer && f.Payload == nil && !f.Oversize:
		t.Fatalf("%v without a payload", f.Kind)
	case (f.Kind == transport.Junk || f.Oversize) != (f.Note != ""):
		t.Fatalf("%v, oversize %v, note %q", f.Kind, f.Oversize, f.Note)
	case f.Oversize && f.Payload != nil, f.Size > maxLine && !f.Oversize:
		t.Fatalf("oversize %v with size %d of %d and a payload of %d", f.Oversize, f.Size, maxLine, len(f.Payload))
	case len(f.Note) > transport.NoteHead+100 || len(f.Payload) > 3*maxLine || len(f.ID) > max(3*maxLine, 4<<10):
		t.Fatalf("note %d, payload %d, id %d bytes", len(f.Note), len(f.Payload), len(f.ID))
	case !utf8.ValidString(f.Note+f.Method) || !utf8.Valid(f.Payload) || !utf8.Valid(f.ID):
		t.Fatalf("invalid UTF-8 in %+v", f)
	case hasID && !json.Valid(f.ID), f.Payload != nil && !json.Valid(f.Payload):
		t.Fatalf("invalid JSON in id %q or payload %q", f.ID, f.Payload)
	}
	if hasID && f.ID[0] != '"' && f.ID[0] != '-' && (f.ID[0] < '0' || f.ID[0] > '9') {
		t.Fatalf("id %q", f.ID)
	}
}
