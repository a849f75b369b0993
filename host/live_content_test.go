package host_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func picture(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 8, 8))
	img.Set(3, 3, color.RGBA{R: 200, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLiveC1_AnImageReachesTheModelWholeAndIsNotInTheJournal(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("What is this?", says("A dot.")), on("Sure?", says("Yes.")))
		c, err := l.h.Probe(t.Context(), l.conv)
		if err != nil {
			t.Fatal(err)
		}
		if !c.Session.Capabilities.Images || !c.Catalog.Models[0].Images {
			t.Fatalf("images are not offered: %+v", c.Session.Capabilities)
		}
		pic := picture(t)
		turn, err := l.h.Send(t.Context(), l.conv, host.Message{Content: []host.Content{
			{Type: abi.ContentImage, Media: "image/png", Name: "dot.png", Bytes: pic}, {Type: abi.ContentText, Text: "What is this?"}}})
		if err != nil {
			t.Fatal(err)
		}
		l.untilTurn(turn.ID, host.TurnCompleted)
		encoded := base64.StdEncoding.EncodeToString(pic)
		r := l.model.AgentRequests()
		if len(r) != 1 || !strings.Contains(string(r[0].Body), "data:image/png;base64,"+encoded) {
			t.Fatalf("%d requests; the image did not arrive whole", len(r))
		}
		next := l.send("Sure?")
		l.untilTurn(next.ID, host.TurnCompleted)
		var export bytes.Buffer
		if err := l.h.Export(t.Context(), l.conv, &export); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(export.String(), encoded) || !strings.Contains(export.String(), "sha256:") {
			t.Fatal("the journal holds the image's bytes instead of its digest")
		}
	})
}

func TestLiveC2_ATextTurnWorksAfterAnImageThatIsNone(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, always(says("Well.")))
		turn, err := l.h.Send(t.Context(), l.conv, host.Message{Content: []host.Content{
			{Type: abi.ContentImage, Media: "image/png", Bytes: []byte("this is no image")}, {Type: abi.ContentText, Text: "What is this?"}}})
		if err != nil {
			t.Fatal(err)
		}
		l.until("the turn to end", func() bool { return l.turn(turn.ID).State.Ended() })
		next := l.send("Never mind")
		l.untilTurn(next.ID, host.TurnCompleted)
	})
}

func TestLiveC1_AFileIsRefusedBeforeTheTurnStarts(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Without", says("Done.")))
		file := []host.Content{{Type: abi.ContentFile, Media: "text/plain", Name: "a.txt", Bytes: []byte("a")}, {Type: abi.ContentText, Text: "Read it"}}
		// Accepted at rest, where nobody can know yet; told before anything is sent.
		turn, err := l.h.Send(t.Context(), l.conv, host.Message{Content: file})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.untilTurn(turn.ID, host.TurnNotSent); got.Code != string(host.CodeContentUnsupported) {
			t.Fatalf("turn %+v", got)
		}
		_, err = l.h.Send(t.Context(), l.conv, host.Message{Content: file})
		wantCode(t, err, host.CodeContentUnsupported)
		next := l.send("Without")
		l.untilTurn(next.ID, host.TurnCompleted)
		if n := len(l.model.AgentRequests()); n != 1 {
			t.Fatalf("%d requests", n)
		}
	})
}
