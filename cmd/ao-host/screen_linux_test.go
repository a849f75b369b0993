package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// screen is a terminal that draws: what a program prints is played into an
// emulator, whose cells are what the person sees.
type screen struct {
	*terminal
	t  *testing.T
	vt *vt.SafeEmulator
	// fed is how much of the output was played.
	fed int
	*place
}

// onScreen starts a chat of a size; the harness is on a script.
func onScreen(t *testing.T, width, height int, script string, args ...string) *screen {
	t.Helper()
	return onScreenWith(t, width, height, nil, script, args...)
}

func onScreenWith(t *testing.T, width, height int, env []string, script string, args ...string) *screen {
	t.Helper()
	p := newPlace(t, script, env...)
	s := &screen{t: t, place: p, vt: vt.NewSafeEmulator(width, height)}
	s.open(width, height, p.project, append([]string{p.bin, "chat"}, args...)...)
	return s
}

// open starts the command. What the emulator answers to the program's questions is
// typed, as a real terminal does it.
func (s *screen) open(width, height int, dir string, argv ...string) {
	s.terminal = openTerminalOf(s.t, width, height, dir, s.env, argv...)
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		buf := make([]byte, 1024)
		for {
			n, err := s.vt.Read(buf)
			if err != nil {
				return
			}
			_, _ = s.master.Write(buf[:n])
		}
	}()
	s.t.Cleanup(func() {
		// Closing the emulator itself races with a read that waits; the end of its
		// pipe ends that first.
		if pipe, ok := s.vt.InputPipe().(io.Closer); ok {
			_ = pipe.Close()
		}
		<-answers
		_ = s.vt.Close()
	})
}

// play feeds what was printed since the last time.
func (s *screen) play() {
	s.mu.Lock()
	next := append([]byte(nil), s.out.Bytes()[s.fed:]...)
	s.fed += len(next)
	s.mu.Unlock()
	if len(next) > 0 {
		_, _ = s.vt.Write(next)
	}
}

// show is what the screen shows.
func (s *screen) show() string {
	s.play()
	var b strings.Builder
	for y := range s.vt.Height() {
		var line strings.Builder
		for x := 0; x < s.vt.Width(); {
			c := s.vt.CellAt(x, y)
			if c == nil || c.Width == 0 {
				line.WriteString(" ")
				x++
				continue
			}
			line.WriteString(c.Content)
			x += c.Width
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// sees waits until all texts are on the screen at once, and returns it.
func (s *screen) sees(texts ...string) string {
	s.t.Helper()
	var show string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		show = s.show()
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(show, text)
		}
		if !missing {
			return show
		}
	}
	s.t.Fatalf("%q did not appear together; the screen shows:\n%s", texts, show)
	return ""
}

// resize gives the terminal another size, which the program is told.
func (s *screen) resize(width, height int) {
	s.t.Helper()
	s.play()
	s.vt.Resize(width, height)
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		s.t.Fatal(err)
	}
}

// left waits for the end of the program and wants a text on the ordinary screen
// that it gives back.
func (s *screen) left(code int, text string) {
	s.t.Helper()
	if got := s.exit(); got != code {
		s.t.Errorf("exit code %d, want %d", got, code)
	}
	show := s.sees(text)
	if s.vt.IsAltScreen() {
		s.t.Errorf("the terminal was left on the other screen:\n%s", show)
	}
	attr, err := unix.IoctlGetTermios(int(s.master.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	if attr.Lflag&unix.ECHO == 0 || attr.Lflag&unix.ICANON == 0 {
		s.t.Error("the terminal was left without echo or lines")
	}
}
