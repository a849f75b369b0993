package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
)

// Card writes everything a person needs to decide on: every supplied field,
// and the whole command, never a part (C6, C8).
func Card(a abi.Interaction, width int) string {
	var b strings.Builder
	add := func(text, prefix string) {
		if strings.TrimSpace(text) != "" {
			b.WriteString(display.Wrap(strings.TrimRight(text, "\n"), prefix, width) + "\n")
		}
	}
	head := CardWord(a.Type)
	if a.Title != "" {
		head += ": " + display.Line(a.Title)
	}
	add("? "+head, "")
	add(display.Text(a.Text), "  ")
	if a.Command != "" {
		add("This command would run:", "  ")
		b.WriteString(Verbatim(a.Command) + "\n")
	}
	if a.Cwd != "" {
		add("in "+display.Exact(a.Cwd), "  ")
	}
	if a.URL != "" {
		add("The address is:", "  ")
		b.WriteString(Verbatim(a.URL) + "\n")
	}
	if len(a.Detail) > 0 {
		add("The request in the harness's own words:", "  ")
		b.WriteString(Verbatim(indented(a.Detail)) + "\n")
	}
	if len(a.Schema) > 0 {
		add("The form, as a JSON Schema:", "  ")
		b.WriteString(Verbatim(indented(a.Schema)) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// WholeCard is Card with what there is to choose from, for where no dialog shows
// that one by one.
func WholeCard(a abi.Interaction, width int) string {
	parts := []string{Card(a, width)}
	for i, f := range a.Fields {
		parts = append(parts, Field(f, i+1, len(a.Fields), width))
	}
	if len(a.Decisions) > 0 {
		parts = append(parts, Entries(Decisions(a.Decisions), width))
	}
	return strings.Join(parts, "\n")
}

// blankRun is the longest run of blank lines shown as such. A longer one could
// push the rest of a command off the screen; its length is told instead.
const blankRun = 2

// Verbatim shows a text exactly, with a bar before each line and no line
// broken: what it is made of can be read and copied.
func Verbatim(s string) string {
	var out []string
	blank := 0
	end := func() {
		if blank > blankRun {
			out = append(out, fmt.Sprintf("  | (%d blank lines)", blank))
		} else {
			for range blank {
				out = append(out, "  |")
			}
		}
		blank = 0
	}
	for _, line := range strings.Split(display.Exact(s), "\n") {
		if strings.TrimSpace(line) == "" {
			blank++
			continue
		}
		end()
		out = append(out, "  | "+line)
	}
	end()
	return strings.Join(out, "\n")
}

func indented(raw abi.Raw) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}

// CardWord names the kind of a card.
func CardWord(t abi.InteractionType) string {
	switch t {
	case abi.InteractionQuestion:
		return "Question"
	case abi.InteractionPermission:
		return "Permission request"
	case abi.InteractionForm:
		return "Form"
	case abi.InteractionURL:
		return "Request to open an address"
	case abi.InteractionReview:
		return "Plan review"
	}
	return "Request of the kind " + display.Line(string(t))
}

// DecisionWord says what a decision of a permission request does.
func DecisionWord(k abi.DecisionKind) string {
	switch k {
	case abi.AllowOnce:
		return "allows it once"
	case abi.AllowAlways:
		return "allows it from now on"
	case abi.RejectOnce:
		return "refuses it once"
	case abi.RejectAlways:
		return "refuses it from now on"
	case abi.DecisionCancel:
		return "ends the turn"
	}
	return display.Line(string(k))
}

// Prefixed puts prefix before each line.
func Prefixed(s, prefix string) string {
	return prefix + strings.ReplaceAll(s, "\n", "\n"+prefix)
}
