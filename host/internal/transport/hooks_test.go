package transport_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/host/internal/transport"
)

func TestInspectSeesEveryReadableFrameAndItsVerdictTravelsWithIt(t *testing.T) {
	bad := errors.New("not in the schema")
	var seen []string
	frames, _ := readAll(t, transport.Config{
		R:       strings.NewReader("text\n{\"method\":\"good\"}\n{\"method\":\"bad\"}\n{\"id\":1,\"result\":" + strings.Repeat(" ", 100) + "{}}\n"),
		MaxLine: 100,
		Inspect: func(f *transport.Frame) error {
			seen = append(seen, f.Method)
			if f.Method == "bad" {
				return bad
			}
			return nil
		},
	})
	if strings.Join(seen, " ") != "good bad" {
		t.Errorf("Inspect saw %q; junk and oversize frames have nothing to inspect", seen)
	}
	if len(frames) != 4 || frames[1].Check != nil || !errors.Is(frames[2].Check, bad) {
		t.Errorf("got %v", frames)
	}
}

func TestRule16_SecretsAreScrubbedBeforeAnythingElseSeesTheLine(t *testing.T) {
	const secret = "hunter2-hunter2"
	scrub := func(line []byte) []byte { return bytes.ReplaceAll(line, []byte(secret), []byte("[secret]")) }
	var inspected strings.Builder
	padding := strings.Repeat("x", transport.NoteHead-len(`{"method":"big","params":"`)-5)
	frames, err := readAll(t, transport.Config{
		R: strings.NewReader(
			"plain text with " + secret + "\n" +
				`{"method":"echo","params":{"said":"` + secret + `"}}` + "\n" +
				// The secret straddles the end of the quoted head.
				`{"method":"big","params":"` + padding + secret + strings.Repeat("y", 20<<10) + `"}` + "\n" +
				`{"params":"` + strings.Repeat("y", 20<<10) + `","method":"` + secret + `","id":"` + secret + `"}` + "\n"),
		MaxLine: 8 << 10,
		Scrub:   scrub,
		Inspect: func(f *transport.Frame) error {
			inspected.Write(f.Payload)
			return nil
		},
	})
	if !errors.Is(err, io.EOF) || len(frames) != 4 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	for _, f := range frames {
		all := f.Note + string(f.Payload) + string(f.ID) + f.Method
		for n := len(secret); n >= 5; n-- {
			if strings.Contains(all, secret[:n]) {
				t.Errorf("frame %d shows %q", f.N, secret[:n])
				break
			}
		}
	}
	if inspected.String() != `{"said":"[secret]"}` {
		t.Errorf("Inspect saw %q", inspected.String())
	}
	if frames[3].Kind != transport.Request || string(frames[3].ID) != `"[secret]"` || frames[3].Method != "[secret]" {
		t.Errorf("the oversize request is %v id %q method %q", frames[3].Kind, frames[3].ID, frames[3].Method)
	}
}

func TestAScrubThatBreaksTheJSONMakesJunk(t *testing.T) {
	frames, _ := readAll(t, transport.Config{
		R:     strings.NewReader("{\"method\":\"m\"}\n{\"method\":\"n\"}\n"),
		Scrub: func(line []byte) []byte { return bytes.TrimSuffix(line, []byte(`m"}`)) },
	})
	if len(frames) != 2 || frames[0].Kind != transport.Junk || frames[1].Method != "n" {
		t.Errorf("got %v", frames)
	}
}
