package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/host"
)

// shape reads strictly what a command wrote as one value of a type: a member that
// the type does not have is an error.
func shape[T any](out string) error {
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	var v T
	if err := dec.Decode(&v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	if b, err := json.Marshal(v); err != nil || bytes.Equal(b, []byte("null")) {
		return errors.New("it is null")
	}
	return nil
}

// lines is shape for one value a line.
func lines[T any](out string) error {
	for line := range strings.Lines(out) {
		if err := shape[T](line); err != nil {
			return err
		}
	}
	if out == "" {
		return errors.New("there is no line")
	}
	return nil
}

// followed is what a command with --wait writes: events, and the result.
func followed(out string) error {
	i := strings.LastIndex(strings.TrimSpace(out), "\n") + 1
	return errors.Join(lines[host.Event](out[:i]), shape[struct {
		Type, Outcome      string
		Exit               int
		Conversation, Turn string
		State              host.TurnState
	}](out[i:]))
}

type (
	queueShape struct {
		Held   bool
		Reason host.Code
		Turns  []host.Turn
	}
	shownShape struct {
		Conversation host.Conversation
		Controls     host.Controls
		Turns        []host.Turn
		Inputs       []host.Interaction
		Plans        []host.Proposal
	}
	codeShape    struct{ Code, Advice string }
	bindingShape struct {
		host.BindingInfo
		Error *struct{ Code, Message, Advice, Field string }
	}
)

// shapes are the commands of the help's page about JSON, with arguments, and the
// shapes it promises.
var shapes = []struct {
	args   []string
	topic  string
	within func(out string) error
}{
	{[]string{"new", "--harness", "echo"}, "new", shape[host.Conversation]},
	{[]string{"relocate", "."}, "relocate", shape[host.Conversation]},
	{[]string{"delete", "--yes"}, "delete", shape[host.Deleted]},
	{[]string{"prune", "--yes", "--before", "1"}, "prune", shape[host.Pruned]},
	{[]string{"list"}, "list", shape[[]host.Conversation]},
	{[]string{"send", "Hello"}, "send", shape[host.Turn]},
	{[]string{"steer", "Hello"}, "steer", shape[host.Turn]},
	{[]string{"retry"}, "retry", shape[host.Turn]},
	{[]string{"implement", "plan-3"}, "implement", shape[host.Turn]},
	{[]string{"request-changes", "plan-4", "shorter"}, "request-changes", shape[host.Turn]},
	{[]string{"queue", "edit", "1", "Other"}, "queue edit", shape[host.Turn]},
	{[]string{"queue", "move", "1", "--end"}, "move", shape[host.Turn]},
	{[]string{"queue", "cancel", "1"}, "cancel", shape[host.Turn]},
	{[]string{"queue", "list"}, "queue list", shape[queueShape]},
	{[]string{"controls"}, "controls", shape[host.Controls]},
	{[]string{"probe"}, "probe", shape[host.Controls]},
	{[]string{"set", "--mode", "plan"}, "set", shape[host.Controls]},
	{[]string{"stop"}, "stop", shape[host.Controls]},
	{[]string{"queue", "resume"}, "queue resume", shape[host.Controls]},
	{[]string{"inputs"}, "inputs", shape[[]host.Interaction]},
	{[]string{"answer", "1"}, "answer", shape[host.Interaction]},
	{[]string{"plans"}, "plans", shape[[]host.Proposal]},
	{[]string{"show"}, "show", shape[shownShape]},
	{[]string{"watch", "--after", "0", "--until-idle"}, "watch", lines[host.Event]},
	{[]string{"export"}, "export", lines[host.Event]},
	{[]string{"run", "--conversation", "conversation-1", "Hello"}, "run", followed},
	{[]string{"send", "--wait", "Hello"}, "takes --wait", followed},
	{[]string{"bindings", "list"}, "bindings list", shape[[]bindingShape]},
	{[]string{"bindings", "allow", "echo"}, "bindings allow", shape[bindingShape]},
	{[]string{"codes"}, "codes", shape[[]codeShape]},
}

func TestEveryCommandWritesTheJSONThatTheHelpPromises(t *testing.T) {
	topic, _, _ := invoke(t, coretest.New(), "help", "json")
	for _, c := range shapes {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			f := asking(t, question(colour))
			f.Propose(host.Proposal{ID: "plan-3", Revision: 1, Text: "# Do"})
			f.Propose(host.Proposal{ID: "plan-4", Revision: 1, Text: "# Do"})
			if _, errs, code := invoke(t, f, "send", "Wait"); code != 0 {
				t.Fatal(errs)
			}
			if c.args[0] == "run" || c.args[0] == "watch" || len(c.args) > 1 && c.args[1] == "--wait" {
				f.Become("turn-3", host.TurnCompleted, nil)
			}
			f.OnSend = complete
			f.Hold(host.CodeHoldStopped)
			out, errs, code := invoke(t, f, append([]string{"--json"}, c.args...)...)
			// A question of the fake is open; then run and --wait end with 3.
			if code != 0 && code != 3 || errs != "" {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			if err := c.within(out); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
			if !strings.Contains(topic, c.topic) {
				t.Errorf("the help's page about JSON does not name %q", c.topic)
			}
			if err := f.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// noJSON are commands whose output is no data, and groups of commands.
var noJSON = map[string]string{
	"":        "the help",
	"chat":    "a terminal",
	"demo":    "a story",
	"help":    "the help",
	"version": "documented with its own test", "doctor": "documented with its own test", "serve": "documented with its own test",
	"bindings": "a group", "schemas": "a group", "queue": "a group",
	"bindings inspect": "for the authors of bindings", "bindings pack": "for the authors of bindings",
	"schemas list": "for the authors of bindings", "schemas generate": "for the authors of bindings", "schemas observe": "for the authors of bindings", "schemas diff": "for the authors of bindings",
	"exit-codes": "a page", "json": "a page",
}

func TestNoCommandIsLeftOutOfTheShapesOfJSON(t *testing.T) {
	commands(func(path []string, _ *cobra.Command) {
		name := strings.Join(path, " ")
		if noJSON[name] != "" {
			return
		}
		for _, s := range shapes {
			if strings.HasPrefix(strings.Join(s.args, " ")+" ", name+" ") {
				return
			}
		}
		t.Errorf("%q writes JSON of a shape that nothing tests", name)
	})
}
