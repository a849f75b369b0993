package chat

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/view"
	"github.com/aoagents/ao-host/host"
)

// The words a person can type instead of an answer. A text that really begins
// with a slash is typed with two.
const (
	wordSkip = "/skip"
	wordNone = "/none"
)

// step is what a dialog asks next.
type step struct {
	// text is shown before the prompt, once.
	text string
	// prompt is the line the answer is typed behind.
	prompt string
	// secret: what is typed must not be shown.
	secret bool
}

// dialog turns lines into one answer. It is a state machine, because the card
// can be withdrawn while the person thinks.
type dialog interface {
	// next tells what to ask, or done.
	next() (s step, done bool)
	// take reads a line; the error says what was wrong with it, and the same is
	// asked again.
	take(line string) error
}

// questions asks the fields of a question, one after the other.
type questions struct {
	fields  []abi.Field
	width   int
	answers []abi.FieldAnswer
	// at is the field that is asked.
	at int
	// other: the option was "something else", the text is asked.
	other bool
	// beside: options were chosen, a text beside them is asked.
	beside  bool
	current abi.FieldAnswer
}

func (q *questions) next() (step, bool) {
	if q.at >= len(q.fields) {
		return step{}, true
	}
	f := q.fields[q.at]
	switch {
	case q.other:
		return step{prompt: "your own words> ", secret: f.Secret}, false
	case q.beside:
		return step{prompt: "a text beside it (Enter: none)> ", secret: f.Secret}, false
	}
	hints := []string{}
	switch {
	case len(f.Options) == 0 && f.Secret:
		hints = append(hints, "it is not shown")
	case f.MultiSelect:
		hints = append(hints, "numbers, or "+wordNone)
	case len(f.Options) > 0:
		hints = append(hints, "a number")
	}
	if !f.Required {
		hints = append(hints, wordSkip)
	}
	prompt := "> "
	if len(hints) > 0 {
		prompt = "(" + strings.Join(hints, ", ") + ")> "
	}
	return step{text: view.Field(f, q.at+1, len(q.fields), q.width), prompt: prompt, secret: f.Secret && len(f.Options) == 0}, false
}

func (q *questions) take(line string) error {
	f := q.fields[q.at]
	word := strings.TrimSpace(line)
	switch {
	case q.other:
		text, err := own(line)
		if err != nil {
			return err
		}
		q.current.HasOther, q.current.Other = true, text
		return q.finish()
	case q.beside:
		if line != "" {
			q.current.HasOther, q.current.Other = true, literal(line)
		}
		return q.finish()
	case word == wordSkip && f.Required:
		return errors.New("this question must be answered")
	case word == wordSkip:
		q.current = abi.FieldAnswer{Field: f.ID, State: abi.StateSkipped}
		return q.finish()
	}
	q.current = abi.FieldAnswer{Field: f.ID, State: abi.StateAnswered}
	if len(f.Options) == 0 {
		text, err := own(line)
		if err != nil {
			return err
		}
		q.current.HasOther, q.current.Other = true, text
		return q.finish()
	}
	if word == wordNone && f.MultiSelect {
		return q.finish()
	}
	if err := q.choose(f, word); err != nil {
		return err
	}
	if !q.other {
		q.beside = f.OtherBeside
	}
	if q.other || q.beside {
		return nil
	}
	return q.finish()
}

// choose reads option numbers.
func (q *questions) choose(f abi.Field, word string) error {
	last := len(f.Options)
	if view.OtherChoice(f) {
		last++
	}
	numbers := strings.FieldsFunc(word, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
	if len(numbers) == 0 || !f.MultiSelect && len(numbers) > 1 {
		return fmt.Errorf("type one number from 1 to %d", last)
	}
	var selected []int64
	for _, n := range numbers {
		i, err := strconv.Atoi(n)
		if err != nil || i < 1 || i > last {
			return fmt.Errorf("%q is not a number from 1 to %d", display.Exact(n), last)
		}
		if i > len(f.Options) {
			q.other = true
			continue
		}
		if !slices.Contains(selected, int64(i-1)) {
			selected = append(selected, int64(i-1))
		}
	}
	slices.Sort(selected)
	q.current.Selected = selected
	return nil
}

func (q *questions) finish() error {
	q.answers = append(q.answers, q.current)
	q.at++
	q.other, q.beside = false, false
	q.current = abi.FieldAnswer{}
	return nil
}

func (q *questions) answer() host.Answer { return host.Answer{Fields: q.answers} }

// own is a text in the person's own words.
func own(line string) (string, error) {
	switch {
	case strings.TrimSpace(line) == "":
		return "", errors.New("type a text")
	case strings.HasPrefix(line, "/") && !strings.ContainsAny(line[1:], "/ "):
		return "", fmt.Errorf("%q is not one of the words; for a text that begins with a slash type two", display.Exact(line))
	}
	return literal(line), nil
}

// literal takes back the slash that tells a text from a word.
func literal(line string) string {
	if strings.HasPrefix(line, "//") {
		return line[1:]
	}
	return line
}

// menu asks for one of several entries and, where the chosen one takes it, a
// text.
type menu struct {
	entries []view.Entry
	width   int
	// wantsText tells which entries ask for a text, and whether it is required.
	wantsText func(i int) (prompt string, required bool)
	// check refuses a text.
	check  func(text string) error
	chosen int
	text   string
	state  menuState
}

type menuState uint8

const (
	menuChoosing menuState = iota
	menuTexting
	menuDone
)

func (m *menu) next() (step, bool) {
	switch m.state {
	case menuDone:
		return step{}, true
	case menuTexting:
		p, _ := m.wantsText(m.chosen)
		return step{prompt: p}, false
	}
	return step{text: view.Entries(m.entries, m.width), prompt: "(a number)> "}, false
}

func (m *menu) take(line string) error {
	if m.state == menuTexting {
		_, required := m.wantsText(m.chosen)
		if required && strings.TrimSpace(line) == "" {
			return errors.New("type a text")
		}
		if m.check != nil {
			if err := m.check(line); err != nil {
				return err
			}
		}
		m.text, m.state = line, menuDone
		return nil
	}
	i, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || i < 1 || i > len(m.entries) {
		return fmt.Errorf("type a number from 1 to %d", len(m.entries))
	}
	m.chosen, m.state = i-1, menuDone
	if m.wantsText != nil {
		if p, _ := m.wantsText(m.chosen); p != "" {
			m.state = menuTexting
		}
	}
	return nil
}

// decisions is the menu of a permission request: what the request offers,
// nothing else (C7).
func decisions(offered []abi.Decision, width int) *menu {
	m := &menu{width: width, entries: view.Decisions(offered)}
	m.wantsText = func(i int) (string, bool) {
		if offered[i].Feedback {
			return "a text that goes with it (Enter: none)> ", false
		}
		return "", false
	}
	return m
}

// form is the menu of a form. Its schema is shown as it came; what is typed is
// the content itself (rule 15).
func form(width int) *menu {
	actions, entries := view.Form()
	return &menu{
		width:   width,
		entries: entries,
		wantsText: func(i int) (string, bool) {
			if actions[i] == abi.ActionAccept {
				return "JSON> ", true
			}
			return "", false
		},
		check: view.CheckForm,
	}
}

// address is the menu of a request to open an address.
func address(raw string, width int) *menu {
	_, entries := view.Address(raw)
	return &menu{width: width, entries: entries}
}

// The entries of a plan's menu.
const (
	planImplement = iota
	planChange
	planLeave
)

// review is the menu of a plan.
func review(permission abi.Permission, width int) *menu {
	return &menu{
		width: width,
		entries: []view.Entry{
			{Label: "implement it", Description: "with the permission " + view.Or(string(permission), string(abi.PermissionDefault))},
			{Label: "request changes", Description: "in your own words; planning goes on"},
			{Label: "leave it", Description: "it can be decided on later"},
		},
		wantsText: func(i int) (string, bool) {
			if i == planChange {
				return "what should change> ", true
			}
			return "", false
		},
	}
}
