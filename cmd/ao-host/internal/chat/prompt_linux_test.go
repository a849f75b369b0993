package chat_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/chat"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/console"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/host"
)

// quick is a person who types an answer in the moment the prompt is shown, before
// the program can do anything else.
type quick struct {
	t        *testing.T
	keyboard *os.File
	answers  []string
	// shown has the echo of the terminal at each prompt.
	shown []bool
	text  bytes.Buffer
}

func (q *quick) Write(b []byte) (int, error) {
	n, err := q.text.Write(b)
	if strings.HasSuffix(q.text.String(), "> ") && len(q.answers) > 0 {
		attr, err := unix.IoctlGetTermios(int(q.keyboard.Fd()), unix.TCGETS)
		if err != nil {
			q.t.Error(err)
			return n, err
		}
		q.shown = append(q.shown, attr.Lflag&unix.ECHO != 0)
		if _, err := io.WriteString(q.keyboard, q.answers[0]+"\n"); err != nil {
			q.t.Error(err)
		}
		q.answers = q.answers[1:]
	}
	return n, err
}

func TestWhatIsTypedAsSoonAsThePromptIsShownIsTheAnswerAndASecretIsHiddenByThen(t *testing.T) {
	keyboard, tty := pty(t)
	f := coretest.New()
	f.OnSend = func(f *coretest.Fake, u host.Turn) {
		f.Become(u.ID, host.TurnRunning, nil)
		f.Ask(u.ID, abi.Interaction{Type: abi.InteractionQuestion, Route: abi.RouteNative, Blocking: true, Fields: []abi.Field{
			question().Fields[0], {ID: "token", Text: "The token?", Secret: true, Required: true},
		}})
	}
	var got host.Answer
	f.OnAnswer = func(f *coretest.Fake, i host.Interaction, a host.Answer) {
		got = a
		f.Become(i.Turn, host.TurnCompleted, nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := f.Create(ctx, host.NewConversation{Harness: "echo", Cwd: "/project"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Send(ctx, c.ID, host.Message{Content: host.Text("Ask me")}); err != nil {
		t.Fatal(err)
	}
	person := &quick{t: t, keyboard: keyboard, answers: []string{"2", "hush"}}
	con := console.Open(tty, person, func(string) string { return "set" })
	defer con.Close()
	s := &chat.Session{Core: f, Conversation: c.ID, After: c.LastSeq, Console: con}
	out, err := s.Run(ctx)
	wantOutcome(t, out, err, chat.Done)
	if err := f.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if len(got.Fields) != 2 || fmt.Sprint(got.Fields[0].Selected) != "[1]" || got.Fields[1].Other != "hush" {
		t.Errorf("the answer is %+v", got)
	}
	if fmt.Sprint(person.shown) != "[true false]" {
		t.Errorf("echo at the prompts: %v\n%s", person.shown, person.text.String())
	}
}

// pty is a terminal: what is written to keyboard is what a person types at tty.
func pty(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return keyboard, tty
}
