package tui_test

import (
	"os"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// files makes files to attach in the folder of the test.
func files(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, b := range map[string][]byte{"shot.png": make([]byte, 12345), "second shot.png": make([]byte, 7), "notes.txt": []byte("notes")} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// attach types the line that attaches a file.
func (r *rig) attach(path string) {
	r.t.Helper()
	r.Type("/attach " + path)
	r.Press("enter")
}

// takes lets a ready session advertise images, or not.
func (r *rig) takes(images bool) {
	r.t.Helper()
	r.h.shape = func(c *host.Controls) {
		c.Session = host.Session{State: host.SessionReady, Capabilities: abi.Capabilities{Images: images}}
	}
	r.Find()
}

func TestAFileIsAttachedShownTakenBackAndSent(t *testing.T) {
	files(t)
	r := sit(t, nil)
	r.attach("shot.png")
	r.attach("second\\ shot.png")
	golden(t, "attached-80x24", r.Screen(80, 24))
	golden(t, "attached-40x12", r.Screen(40, 12))
	r.Type("/detach 1")
	r.Press("enter")
	r.sees("[1 second shot.png, 7 bytes]")
	r.seesNot("[1 shot.png")
	r.Press("backspace")
	r.seesNot("second shot.png")
	r.attach("shot.png")
	r.attach("second shot.png")
	r.Type("Look")
	r.Press("enter")
	r.seesNot("[1 ")
	r.sees("(image shot.png)")
	turns, err := r.f.Turns(t.Context(), conversation)
	if err != nil || len(turns) != 1 || len(turns[0].Content) != 3 {
		t.Fatalf("%+v %v", turns, err)
	}
	if c := turns[0].Content; c[0].Text != "Look" || c[1].Type != abi.ContentImage || c[1].Media != "image/png" || len(c[1].Bytes) != 12345 || c[2].Name != "second shot.png" {
		t.Errorf("sent %q %q %q", c[0].Text, c[1].Name, c[2].Name)
	}
	// Nothing but an attachment is a message too.
	r.attach("shot.png")
	r.Press("enter")
	if turns, err := r.f.Turns(t.Context(), conversation); err != nil || len(turns) != 2 || len(turns[1].Content) != 1 {
		t.Errorf("%+v %v", turns, err)
	}
}

func TestC1_WhatTheHarnessDoesNotTakeIsRefusedBeforeItIsSent(t *testing.T) {
	files(t)
	r := sit(t, nil)
	r.takes(false)
	r.attach("shot.png")
	golden(t, "attach-refused-80x24", r.Screen(80, 24))
	r.sees("content_unsupported", "The harness does not take images.", "› /attach shot.png")
	r.takes(true)
	r.Press("enter")
	r.sees("[1 shot.png, 12 kB]")
	// A file is taken by none.
	r.attach("notes.txt")
	r.sees("content_unsupported")
	r.Press("esc")
	if got := r.calls(); len(got) != 0 {
		t.Errorf("calls %q", got)
	}
}

// What was attached before the session said what it takes is refused when it is sent.
func TestC1_AnAttachmentThatTurnsOutNotToBeTakenIsNotSent(t *testing.T) {
	files(t)
	r := sit(t, nil)
	r.attach("shot.png")
	r.takes(false)
	r.Type("Look")
	r.Press("enter")
	r.sees("Not sent. content_unsupported", "[1 shot.png, 12 kB]", "› Look")
	if got := r.calls(); len(got) != 0 {
		t.Fatalf("calls %q", got)
	}
	for range 4 {
		r.Press("backspace")
	}
	r.Press("backspace")
	r.seesNot("[1 shot.png")
	r.Type("Look")
	r.Press("enter")
	if got := r.calls(); !cmpEqualTail(got, "Send conversation-1 Look") {
		t.Errorf("calls %q", got)
	}
}

// An attachment that the host refuses does not stay in the way of later messages
// unseen: it is in the composer again, whole.
func TestC2_ARefusedMessageComesBackWithItsAttachments(t *testing.T) {
	files(t)
	r := sit(t, nil)
	r.attach("shot.png")
	r.Type("Look")
	r.f.Fail["Send"] = &host.Error{Code: host.CodeMessageTooLarge}
	r.Press("enter")
	r.sees("message_too_large", "[1 shot.png, 12 kB]", "› Look")
	if got := r.Result().Unsent; len(got) != 2 || got[0] != "(image shot.png)" || got[1] != "Look" {
		t.Errorf("unsent %q", got)
	}
	delete(r.f.Fail, "Send")
	r.Press("enter")
	turns, err := r.f.Turns(t.Context(), conversation)
	if err != nil || len(turns) != 1 || len(turns[0].Content) != 2 || len(turns[0].Content[1].Bytes) != 12345 {
		t.Errorf("%+v %v", turns, err)
	}
}

func TestALineAboutAnAttachmentThatCannotBeKeptStaysToBeCorrected(t *testing.T) {
	files(t)
	r := sit(t, nil)
	for _, c := range [][2]string{{"/attach none.png", "no such file"}, {"/attach", "Name a file: /attach PATH"}, {"/detach 3", "There is no such attachment."}} {
		r.Type(c[0])
		r.Press("enter")
		r.sees(c[1], "› "+c[0])
		for range len(c[0]) {
			r.Press("backspace")
		}
	}
	// A message that only begins like one is a message.
	r.Paste("/attach is a word\nof this text")
	r.Press("enter")
	r.Type("/attachment")
	r.Press("enter")
	if got := r.calls(); len(got) != 2 {
		t.Errorf("calls %q", got)
	}
}

func TestC8_AnAttachmentsNameCannotDrawOnTheScreen(t *testing.T) {
	r := sit(t, nil)
	named := withAttached(t, r.f, host.Content{Type: abi.ContentImage, Media: "image/png", Name: "a\x1b[2Jb\u202e.png", Bytes: []byte("x")})
	for _, l := range named.Styled(80, 24) {
		if strings.Contains(l, "\x1b[2J") || strings.Contains(l, "\u202e") {
			t.Errorf("%q", l)
		}
	}
	named.sees("[1 a")
}
