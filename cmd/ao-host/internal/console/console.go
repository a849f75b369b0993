// Package console is the person at the terminal: lines read one at a time and
// only when something was asked, secrets without echo, text written to them.
package console

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// maxLine bounds one line of input, in bytes; a longer one is refused rather
// than cut.
const maxLine = 1 << 20

// ErrLineTooLong is returned for a line of more than 1 MiB.
var ErrLineTooLong = errors.New("the line is longer than 1 MiB; put the text into a file and name the file")

// Input is one line, without its line break, or the error that ended the
// input; io.EOF when it was closed.
type Input struct {
	Line string
	Err  error
}

// Console reads and writes for one person. Its methods must be called from one
// goroutine.
type Console struct {
	// Out gets the output.
	Out io.Writer
	// Interactive: a person can be asked. It is false when the input is a pipe
	// or a file.
	Interactive bool
	// Color: colours may be used.
	Color bool
	// Width is the number of columns to write tables in.
	Width int

	in      io.Reader
	tty     *os.File
	start   sync.Once
	asks    chan struct{}
	lines   chan Input
	waiting bool
	secret  bool
	silent  func()
}

// DefaultWidth is the width used where the terminal's is not known.
const DefaultWidth = 80

// Open returns the console of a process. NO_COLOR (no-color.org) and a dumb
// terminal turn colours off.
func Open(in io.Reader, out io.Writer, env func(string) string) *Console {
	c := New(in, out)
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.Interactive, c.tty = true, f
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.Color = env("NO_COLOR") == "" && env("TERM") != "dumb"
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w >= 40 {
			c.Width = w
		}
	}
	return c
}

// New returns a console that reads from in without treating it as a terminal.
func New(in io.Reader, out io.Writer) *Console {
	return &Console{Out: out, Width: DefaultWidth, in: in, asks: make(chan struct{}), lines: make(chan Input, 1)}
}

// Ask asks for one line. It arrives on [Console.Lines]. While an earlier
// request is unanswered, the line that is still to come answers the new one;
// what a terminal had received before is thrown away, so that nothing typed
// before a question was shown can answer it. The question is written before, its
// last line, the prompt, afterwards: whoever sees that may type at once, and a
// secret is not shown any more.
func (c *Console) Ask(secret bool) {
	c.Hush()
	c.secret = secret
	if c.tty != nil {
		flushInput(c.tty)
		if secret {
			c.silent = echoOff(c.tty)
		}
	}
	select {
	case <-c.lines:
		// Typed for a card that has gone in the meantime.
		c.waiting = false
	default:
	}
	if c.waiting {
		return
	}
	c.waiting = true
	c.start.Do(func() { go c.read() })
	c.asks <- struct{}{}
}

// Lines delivers what was asked for. Call [Console.Taken] with what it gives.
func (c *Console) Lines() <-chan Input { return c.lines }

// Taken ends a request: the echo is back on. What the terminal did not show is
// written, so that the output reads the same whatever the input is; a secret is
// not, only its line break.
func (c *Console) Taken(in Input) Input {
	c.waiting = false
	switch {
	case c.silent != nil, in.Err == nil && c.tty == nil && c.secret:
		_, _ = io.WriteString(c.Out, "\n")
	case in.Err == nil && c.tty == nil:
		_, _ = io.WriteString(c.Out, in.Line+"\n")
	}
	c.Hush()
	return in
}

// Hush turns the echo back on, if it was off.
func (c *Console) Hush() {
	if c.silent != nil {
		c.silent()
		c.silent = nil
	}
}

// Close turns the echo back on and ends the reader, unless it waits for the
// person at this moment: then it ends with the next line or the input's end.
func (c *Console) Close() {
	c.Hush()
	close(c.asks)
}

// read serves requests until the input ends. Without a request nothing is
// read, so that a program that runs next finds the rest of the input.
func (c *Console) read() {
	r := bufio.NewReader(c.in)
	for range c.asks {
		line, err := readLine(r)
		c.lines <- Input{Line: line, Err: err}
	}
}

func readLine(r *bufio.Reader) (string, error) {
	var b strings.Builder
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if b.Len()+len(part) > maxLine {
			long = true
		} else {
			b.Write(part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && b.Len() == 0 && !long:
			return "", err
		case long:
			return "", ErrLineTooLong
		}
		return strings.TrimSuffix(strings.TrimSuffix(b.String(), "\n"), "\r"), nil
	}
}
