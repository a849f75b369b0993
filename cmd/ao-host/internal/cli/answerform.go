package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/host"
)

// member is what is read of a form's schema to write a value as the JSON it asks
// for. The host checks the whole content against the whole schema (rule 15).
type member struct {
	Type      any     `json:"type"`
	Format    string  `json:"format"`
	WriteOnly bool    `json:"writeOnly"`
	Items     *member `json:"items"`
}

func (m member) is(name string) bool {
	switch t := m.Type.(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}

// secret reports whether the schema says that the value is not to be shown.
func (m member) secret() bool { return m.Format == "password" || m.WriteOnly }

// value writes a text as the JSON that the member asks for; what does not fit is
// left a text, and the host says what is wrong with it.
func (m member) value(text string) any {
	switch {
	case m.is("string"):
		return text
	case m.is("boolean") && (text == "true" || text == "false"):
		return text == "true"
	case m.is("integer") || m.is("number"):
		if n := json.Number(text); json.Valid([]byte(text)) {
			if _, err := strconv.ParseFloat(text, 64); err == nil {
				return n
			}
		}
	case m.is("null") && text == "null":
		return nil
	case m.is("object") || m.Type == nil:
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			return json.RawMessage(text)
		}
	}
	return text
}

// formAnswer reads NAME=VALUE for the members of a form.
func (a *App) formAnswer(f answerFlags, ask abi.Interaction) (host.Answer, error) {
	given := len(f.values) + len(f.stdin)
	switch {
	case len(f.other)+len(f.skip)+len(f.none) > 0 || f.feedback != "":
		return host.Answer{}, usagef("a form takes NAME=VALUE for its members, --decline or --cancel")
	case (f.decline || f.cancel) && given > 0:
		return host.Answer{}, usagef("a form is filled in or refused, and not both")
	case f.decline:
		return host.Answer{Action: abi.ActionDecline}, nil
	case f.cancel:
		return host.Answer{Action: abi.ActionCancel}, nil
	}
	var schema struct {
		Properties map[string]member `json:"properties"`
	}
	if err := json.Unmarshal(ask.Schema, &schema); err != nil || len(schema.Properties) == 0 {
		return host.Answer{}, usagef("this form has no members that can be named; fill it in with --json-answer - as {\"action\":\"accept\",\"content\":{…}}")
	}
	if given == 0 {
		return host.Answer{}, usagef("a form takes NAME=VALUE for its members, --decline or --cancel; its members are: %s", namesOf(schema.Properties))
	}
	content := map[string]any{}
	add := func(name, text string) error {
		m, ok := schema.Properties[name]
		if !ok {
			return usagef("the form has no member %q; it has: %s", name, namesOf(schema.Properties))
		}
		if m.is("array") && m.Items != nil {
			list, _ := content[name].([]any)
			content[name] = append(list, m.Items.value(text))
			return nil
		}
		if _, twice := content[name]; twice {
			return usagef("%s is given twice", name)
		}
		content[name] = m.value(text)
		return nil
	}
	for _, v := range f.values {
		name, text, ok := strings.Cut(v, "=")
		if !ok {
			return host.Answer{}, usagef("%q is not of the form NAME=VALUE", v)
		}
		if schema.Properties[name].secret() {
			return host.Answer{}, errSecret
		}
		if err := add(name, text); err != nil {
			return host.Answer{}, err
		}
	}
	if err := a.formStdin(f, add); err != nil {
		return host.Answer{}, err
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return host.Answer{}, fmt.Errorf("the form cannot be written as JSON: %w", err)
	}
	return host.Answer{Action: abi.ActionAccept, Content: raw}, nil
}

func (a *App) formStdin(f answerFlags, add func(name, text string) error) error {
	switch {
	case len(f.stdin) == 0:
		return nil
	case len(f.stdin) > 1 || f.stdin[0] == all:
		return usagef("say which member standard input is for: --stdin=NAME")
	}
	text, err := a.secret()
	if err != nil {
		return err
	}
	return add(f.stdin[0], text)
}

func namesOf(properties map[string]member) string {
	var names []string
	for n := range properties {
		names = append(names, display.Line(n))
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}
