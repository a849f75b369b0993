package console_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/console"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, in io.Reader) *console.Console {
	c := console.New(in, io.Discard)
	t.Cleanup(c.Close)
	return c
}

func next(t *testing.T, c *console.Console) console.Input {
	t.Helper()
	select {
	case in := <-c.Lines():
		return c.Taken(in)
	case <-time.After(time.Minute):
		t.Fatal("no line came")
		return console.Input{}
	}
}

func TestALineIsReadOnlyWhenItWasAskedFor(t *testing.T) {
	pr, pw := io.Pipe()
	c := open(t, pr)
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(pw, "one\n")
		wrote <- err
	}()
	select {
	case err := <-wrote:
		t.Logf("the write ended with %v", err)
		t.Fatal("something was read before anything was asked")
	case in := <-c.Lines():
		t.Fatalf("a line came unasked: %q", in.Line)
	case <-time.After(20 * time.Millisecond):
	}
	c.Ask(false)
	if in := next(t, c); in.Line != "one" || in.Err != nil {
		t.Errorf("got %q, %v", in.Line, in.Err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if err := pw.Close(); err != nil {
		t.Error(err)
	}
	c.Ask(false)
	if in := next(t, c); !errors.Is(in.Err, io.EOF) {
		t.Errorf("after the end of the input: %q, %v", in.Line, in.Err)
	}
}

func TestA4_ALineTypedForAGoneCardDoesNotAnswerTheNextOne(t *testing.T) {
	c := open(t, strings.NewReader("for the first card\nfor the second card\n"))
	c.Ask(false)
	// The line has arrived, and nobody took it: its card was withdrawn.
	for deadline := time.Now().Add(time.Minute); len(c.Lines()) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no line came")
		}
		time.Sleep(time.Millisecond)
	}
	c.Ask(false)
	if in := next(t, c); in.Line != "for the second card" {
		t.Errorf("the second card was answered with %q", in.Line)
	}
}

func TestLineEndingsAreNotPartOfALine(t *testing.T) {
	c := open(t, strings.NewReader("dos\r\nunix\nlast"))
	for _, want := range []string{"dos", "unix", "last"} {
		c.Ask(false)
		if in := next(t, c); in.Line != want || in.Err != nil {
			t.Errorf("got %q, %v; want %q", in.Line, in.Err, want)
		}
	}
}

func TestAnEndlessLineIsRefusedAndTheNextOneRead(t *testing.T) {
	c := open(t, strings.NewReader(strings.Repeat("x", 3<<20)+"\nnext\n"))
	c.Ask(false)
	if in := next(t, c); !errors.Is(in.Err, console.ErrLineTooLong) {
		t.Errorf("got %d bytes, %v", len(in.Line), in.Err)
	}
	c.Ask(false)
	if in := next(t, c); in.Line != "next" {
		t.Errorf("got %q, %v", in.Line, in.Err)
	}
}

func TestAPipeIsNobodyToAskAndHasNoColours(t *testing.T) {
	c := console.Open(strings.NewReader(""), io.Discard, func(string) string { return "" })
	if c.Interactive || c.Color || c.Width != 80 {
		t.Errorf("interactive %v, colour %v, width %d", c.Interactive, c.Color, c.Width)
	}
}
