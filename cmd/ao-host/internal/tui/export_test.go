package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

// Person sits before a chat that runs without a terminal: keys go in, frames
// come out, and nothing happens by itself.
type Person struct {
	app  *app
	left bool
	// held are the commands of keys whose outcome is to come later.
	held []tea.Cmd
}

// Sit begins a chat.
func Sit(ctx context.Context, cfg Config) (*Person, error) {
	m := newApp(ctx, cfg)
	conv, err := cfg.Core.Conversation(ctx, cfg.Conversation)
	if err != nil {
		return nil, err
	}
	m.story.conv, m.until = conv, conv.LastSeq
	m.ready = conv.LastSeq == 0
	p := &Person{app: m}
	c, err := cfg.Core.Controls(ctx, cfg.Conversation)
	if err != nil {
		return nil, err
	}
	p.update(connectedMsg{c})
	return p, p.Read()
}

// Read takes what is in the journal by now.
func (p *Person) Read() error {
	ctx := p.app.ctx
	conv, err := p.app.conn.get().Conversation(ctx, p.app.id)
	if err != nil {
		return err
	}
	var events []host.Event
	if p.app.story.seq < conv.LastSeq {
		for ev, err := range p.app.conn.get().Events(ctx, p.app.id, p.app.story.seq) {
			if err != nil {
				return err
			}
			events = append(events, ev)
			if ev.Seq >= conv.LastSeq {
				break
			}
		}
	}
	if len(events) > 0 {
		p.update(batchMsg{events})
	}
	return nil
}

// Lose breaks the connection; Find mends it.
func (p *Person) Lose(err error) { p.update(lostMsg{err}) }

// Find mends the connection.
func (p *Person) Find() {
	c, err := p.app.conn.get().Controls(p.app.ctx, p.app.id)
	if err != nil {
		panic(err)
	}
	p.update(connectedMsg{c})
}

// Resend plays the timer after which an undelivered message is tried again.
func (p *Person) Resend() {
	for _, o := range p.app.outbox {
		p.update(resendMsg{o.clientID})
	}
}

func (p *Person) update(msg tea.Msg) {
	_, cmd := p.app.Update(msg)
	p.run(cmd)
}

func (p *Person) run(cmd tea.Cmd) {
	if cmd == nil || p.waits(cmd) {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			p.run(c)
		}
	case tea.QuitMsg:
		p.left = true
	default:
		p.update(msg)
	}
}

// waits reports a command that waits for a timer: the tests play it.
func (p *Person) waits(tea.Cmd) bool {
	for _, o := range p.app.outbox {
		if o.failed {
			return true
		}
	}
	return false
}

var keyNames = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
	"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown},
	"home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "space": {Code: tea.KeySpace, Text: " "}, "backspace": {Code: tea.KeyBackspace},
	"alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "f1": {Code: tea.KeyF1}, "f2": {Code: tea.KeyF2}, "f3": {Code: tea.KeyF3},
	"f4": {Code: tea.KeyF4}, "f5": {Code: tea.KeyF5}, "ctrl+end": {Code: tea.KeyEnd, Mod: tea.ModCtrl}, "ctrl+home": {Code: tea.KeyHome, Mod: tea.ModCtrl},
}

// Press presses keys by their names; "ctrl+x" and single characters are keys too.
func (p *Person) Press(keys ...string) {
	for _, k := range keys {
		msg, ok := keyNames[k]
		switch c, ctrl := strings.CutPrefix(k, "ctrl+"); {
		case ok:
		case ctrl && len(c) == 1:
			msg = tea.KeyPressMsg{Code: rune(c[0]), Mod: tea.ModCtrl}
		case len([]rune(k)) == 1:
			msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		default:
			panic(fmt.Sprintf("there is no key %q", k))
		}
		p.update(msg)
	}
}

// Type types a text.
func (p *Person) Type(text string) {
	for _, r := range text {
		p.Press(string(r))
	}
}

// Paste pastes a text.
func (p *Person) Paste(text string) { p.update(tea.PasteMsg{Content: text}) }

// Left reports whether the chat ended.
func (p *Person) Left() bool { return p.left }

// Result is what was left behind.
func (p *Person) Result() Result { return p.app.result() }

// Composer is what is written and not sent.
func (p *Person) Composer() string { return p.app.composer.value() }

// Styled is the screen with its styles.
func (p *Person) Styled(width, height int) []string {
	p.update(tea.WindowSizeMsg{Width: width, Height: height})
	lines, _ := p.app.frame()
	return lines
}

// Screen is the screen without styles; a mark stands for the cursor.
func (p *Person) Screen(width, height int) string {
	p.update(tea.WindowSizeMsg{Width: width, Height: height})
	lines, cur := p.app.frame()
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
		if w := ansi.StringWidth(lines[i]); w > width {
			lines[i] += fmt.Sprintf("   <- %d columns", w)
		}
		if cur != nil && cur.Y == i {
			l := lines[i] + strings.Repeat(" ", max(cur.X-ansi.StringWidth(lines[i]), 0))
			lines[i] = ansi.Truncate(l, cur.X, "") + "█" + strings.TrimPrefix(ansi.TruncateLeft(l, cur.X, ""), " ")
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// Cursor is the place of the cursor, if there is one.
func (p *Person) Cursor() (x, y int, ok bool) {
	_, cur := p.app.frame()
	if cur == nil {
		return 0, 0, false
	}
	return cur.X, cur.Y, true
}

// Story is the whole story, laid out.
func (p *Person) Story(width int) string {
	var out []string
	for _, b := range p.app.story.blocks {
		out = append(out, b.layOut(width, p.app.story.conv.Cwd)...)
	}
	return strings.Join(out, "\n")
}

// Watch is told what a feed reports.
type Watch struct {
	Event func(host.Event)
	State func(string)
	Story func(string)
}

// Follow runs a feed until ctx ends or nothing is left to try.
func Follow(ctx context.Context, c core.Core, connect func(context.Context, bool) (core.Core, error), id string, w Watch) {
	state := func(s string) {
		if w.State != nil {
			w.State(s)
		}
	}
	f := &feed{conn: newConnection(c, connect), id: id, send: func(msg tea.Msg) {
		switch msg := msg.(type) {
		case batchMsg:
			for _, ev := range msg.events {
				if w.Event != nil {
					w.Event(ev)
				}
			}
		case connectedMsg:
			state("connected")
		case lostMsg:
			if errors.Is(msg.err, ErrEnded) {
				state("asleep")
			} else {
				state("lost")
			}
		case endedMsg:
			state("ended")
		case restartMsg:
			if w.Story != nil {
				p := &Person{app: newApp(ctx, Config{})}
				p.app.story = msg.story
				w.Story(ansi.Strip(p.Story(80)))
			}
		}
	}}
	f.run(ctx)
}

// PlainStory is the story without styles and with its lines joined by spaces.
func (p *Person) PlainStory(width int) string {
	return strings.Join(strings.Fields(ansi.Strip(p.Story(width))), " ")
}

// Stream plays a delta that the journal does not have.
func (p *Person) Stream(d abi.Delta) { p.app.story.delta(d) }

// PressHeld presses a key; what it does at the host is done, but the answer comes
// only with Release.
func (p *Person) PressHeld(key string) {
	_, cmd := p.app.Update(keyNames[key])
	if cmd == nil {
		return
	}
	msg := cmd()
	p.held = append(p.held, func() tea.Msg { return msg })
}

// Release lets the answers come.
func (p *Person) Release() {
	held := p.held
	p.held = nil
	for _, cmd := range held {
		p.run(cmd)
	}
}
