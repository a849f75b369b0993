package cli

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

// questionAnswer reads the answer to the fields of a question.
func (a *App) questionAnswer(f answerFlags, ask abi.Interaction) (host.Answer, error) {
	q := &fieldAnswers{fields: ask.Fields, given: make([]*abi.FieldAnswer, len(ask.Fields))}
	switch {
	case f.cancel || f.decline:
		return host.Answer{}, usagef("a question is answered or, with --skip, skipped; to end the turn: ao-host stop")
	case f.feedback != "":
		return host.Answer{}, usagef("--feedback goes with a decision; a text of your own is --other")
	}
	for _, v := range f.values {
		if err := q.value(v); err != nil {
			return host.Answer{}, err
		}
	}
	for _, v := range f.other {
		if err := q.other(v); err != nil {
			return host.Answer{}, err
		}
	}
	for _, name := range f.none {
		if err := q.none(name); err != nil {
			return host.Answer{}, err
		}
	}
	if err := a.fromStdin(f, q); err != nil {
		return host.Answer{}, err
	}
	if err := q.skip(f.skip); err != nil {
		return host.Answer{}, err
	}
	return q.answer()
}

// fieldAnswers gathers the answers to the fields of one question.
type fieldAnswers struct {
	fields []abi.Field
	given  []*abi.FieldAnswer
}

// field finds a field by its number, id or header; all is the only one.
func (q *fieldAnswers) field(name string) (int, error) {
	if name == all {
		if len(q.fields) == 1 {
			return 0, nil
		}
		return 0, usagef("%d things are asked; say which one:\n%s", len(q.fields), q.list())
	}
	var names [][]string
	for _, f := range q.fields {
		names = append(names, []string{f.ID, f.Header})
	}
	i, err := chosen(name, names)
	if err != nil {
		return 0, usagef("%v; what is asked is:\n%s", err, q.list())
	}
	return i, nil
}

func (q *fieldAnswers) list() string {
	var lines []string
	for i, f := range q.fields {
		line := fmt.Sprintf("  %d  %s", i+1, display.Line(f.ID))
		if f.Header != "" {
			line += " (" + display.Line(f.Header) + ")"
		}
		lines = append(lines, display.Clip(line+": "+display.Line(f.Text), 78))
	}
	return strings.Join(lines, "\n")
}

// split takes FIELD=VALUE apart. The field may be left out where there is only one.
func (q *fieldAnswers) split(arg string) (int, string, error) {
	name, value, ok := strings.Cut(arg, "=")
	if len(q.fields) == 1 {
		// A text of a person's own may have an equals sign in it.
		if f := q.fields[0]; ok && (name == f.ID || name == f.Header && name != "") {
			return 0, value, nil
		}
		return 0, arg, nil
	}
	if !ok {
		return 0, "", usagef("%q does not say what it answers; write FIELD=VALUE:\n%s", arg, q.list())
	}
	i, err := q.field(name)
	return i, value, err
}

// at is the answer to a field, begun if need be.
func (q *fieldAnswers) at(i int) *abi.FieldAnswer {
	if q.given[i] == nil {
		q.given[i] = &abi.FieldAnswer{Field: q.fields[i].ID, State: abi.StateAnswered}
	}
	return q.given[i]
}

var errSecret = usagef("this is a secret, and other programs can read the command line; write it to standard input and use --stdin")

func (q *fieldAnswers) value(arg string) error {
	i, value, err := q.split(arg)
	if err != nil {
		return err
	}
	f := q.fields[i]
	if len(f.Options) == 0 {
		return q.text(i, value)
	}
	values := []string{value}
	if f.MultiSelect && strings.Trim(value, "0123456789, ") == "" {
		values = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	}
	for _, v := range values {
		n, err := q.option(f, v)
		if err != nil {
			return err
		}
		g := q.at(i)
		if !f.MultiSelect && len(g.Selected) > 0 && g.Selected[0] != int64(n) {
			return usagef("%s takes one option, and got several", q.name(i))
		}
		if !slices.Contains(g.Selected, int64(n)) {
			g.Selected = append(g.Selected, int64(n))
			slices.Sort(g.Selected)
		}
	}
	return nil
}

func (q *fieldAnswers) option(f abi.Field, value string) (int, error) {
	names := make([][]string, 0, len(f.Options))
	var entries []view.Entry
	for _, o := range f.Options {
		names = append(names, []string{o.Value, o.Label})
		entries = append(entries, view.Entry{Label: o.Label, Description: o.Description})
	}
	n, err := chosen(value, names)
	if err == nil {
		return n, nil
	}
	own := ""
	if f.Other {
		own = ", or a text of your own with --other"
	}
	return 0, usagef("%v; choose one of these%s:\n%s", err, own, view.Entries(entries, 78))
}

func (q *fieldAnswers) other(arg string) error {
	i, value, err := q.split(arg)
	if err != nil {
		return err
	}
	return q.text(i, value)
}

// text is a text of the person's own, from the command line.
func (q *fieldAnswers) text(i int, value string) error {
	if q.fields[i].Secret {
		return errSecret
	}
	return q.own(i, value)
}

func (q *fieldAnswers) own(i int, value string) error {
	g := q.at(i)
	if g.HasOther {
		return usagef("%s has two texts", q.name(i))
	}
	g.HasOther, g.Other = true, value
	return nil
}

func (q *fieldAnswers) none(name string) error {
	i, err := q.field(name)
	if err != nil {
		return err
	}
	if !q.fields[i].MultiSelect {
		return usagef("%s takes one option; to leave it open use --skip", q.name(i))
	}
	if q.given[i] != nil {
		return usagef("%s is answered, and cannot have none as well", q.name(i))
	}
	q.at(i)
	return nil
}

func (q *fieldAnswers) skip(names []string) error {
	for _, name := range names {
		if name == all {
			for i := range q.fields {
				if q.given[i] == nil {
					q.given[i] = &abi.FieldAnswer{Field: q.fields[i].ID, State: abi.StateSkipped}
				}
			}
			continue
		}
		i, err := q.field(name)
		if err != nil {
			return err
		}
		if q.given[i] != nil {
			return usagef("%s is answered, and cannot be skipped as well", q.name(i))
		}
		q.given[i] = &abi.FieldAnswer{Field: q.fields[i].ID, State: abi.StateSkipped}
	}
	return nil
}

func (q *fieldAnswers) name(i int) string {
	if len(q.fields) == 1 {
		return "the question"
	}
	return fmt.Sprintf("%d, %q,", i+1, view.Or(q.fields[i].Header, q.fields[i].ID))
}

// answer wants something for every field, so that nothing is left out by mistake.
func (q *fieldAnswers) answer() (host.Answer, error) {
	var ans host.Answer
	for i, g := range q.given {
		if g == nil && len(q.fields) == 1 {
			return ans, usagef("the answer is missing; see what is asked with: ao-host inputs")
		}
		if g == nil {
			return ans, usagef("%s has no answer; answer it, or skip it with --skip=%d", q.name(i), i+1)
		}
		ans.Fields = append(ans.Fields, *g)
	}
	return ans, nil
}

// fromStdin gives fields the text of standard input.
func (a *App) fromStdin(f answerFlags, q *fieldAnswers) error {
	if len(f.stdin) == 0 {
		return nil
	}
	if len(f.stdin) > 1 {
		return usagef("standard input is one text; to give several use --json-answer -")
	}
	name := f.stdin[0]
	if name == all && len(q.fields) > 1 {
		// The one secret among several is what it is for.
		for i, fd := range q.fields {
			if fd.Secret {
				if name != all {
					name = all
					break
				}
				name = strconv.Itoa(i + 1)
			}
		}
	}
	i, err := q.field(name)
	if err != nil {
		return err
	}
	text, err := a.secret()
	if err != nil {
		return err
	}
	return q.own(i, text)
}

// secret reads standard input without its last line break. A person at a terminal
// types it without seeing it.
func (a *App) secret() (string, error) {
	switch {
	case !a.con.Interactive:
		text, err := a.input("secret")
		return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), err
	case a.json:
		return "", usagef("with --json nobody is asked; give the secret to standard input from a file or a pipe")
	}
	a.con.Ask(true)
	if err := a.write("(it is not shown)> "); err != nil {
		return "", err
	}
	in := a.con.Taken(<-a.con.Lines())
	return in.Line, in.Err
}

// chosen finds a thing by its number in the list or by one of its names: as it is
// written or, where that is clear, in other letter case.
func chosen(word string, names [][]string) (int, error) {
	match := func(same func(a, b string) bool) []int {
		var out []int
		for i, n := range names {
			if slices.ContainsFunc(n, func(s string) bool { return s != "" && same(s, word) }) {
				out = append(out, i)
			}
		}
		return out
	}
	exact := match(func(a, b string) bool { return a == b })
	if n, err := strconv.Atoi(strings.TrimPrefix(word, "#")); err == nil && n >= 1 && n <= len(names) {
		if len(exact) == 0 || strings.HasPrefix(word, "#") || len(exact) == 1 && exact[0] == n-1 {
			return n - 1, nil
		}
		return 0, fmt.Errorf("%q is a number and the name of another one; write #%d for the number", word, n)
	}
	if len(exact) == 0 {
		exact = match(strings.EqualFold)
	}
	switch len(exact) {
	case 0:
		return 0, fmt.Errorf("there is no %q", word)
	case 1:
		return exact[0], nil
	}
	return 0, errors.New(strconv.Quote(word) + " is the name of several; write its number")
}
