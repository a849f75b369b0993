package cli_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/cli"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core/coretest"
	"github.com/aoagents/ao-host/host"
)

// invokeIn runs a command line with something on standard input.
func invokeIn(t *testing.T, f *coretest.Fake, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return invokeWith(t, &cli.App{Args: args, Open: f.Opener(), Stdin: strings.NewReader(stdin)})
}

// asking is a host with one conversation of the current folder in which the agent
// asks something.
func asking(t *testing.T, asks ...abi.Interaction) *coretest.Fake {
	t.Helper()
	t.Chdir(t.TempDir())
	f := coretest.New()
	begin(t, f, ".")
	for _, a := range asks {
		f.Ask("", a)
	}
	return f
}

// begin makes a conversation in a folder, below the current one.
func begin(t *testing.T, f *coretest.Fake, dir string) {
	t.Helper()
	if _, errs, code := invoke(t, f, "new", "--harness", "echo", "--dir", dir); code != 0 {
		t.Fatal(errs)
	}
}

// answered is the answer that reached the host, "" if none did.
func answered(f *coretest.Fake) string {
	for _, c := range f.Calls() {
		if a, ok := strings.CutPrefix(c, "ResolveInput "); ok {
			return a
		}
	}
	return ""
}

func question(fields ...abi.Field) abi.Interaction {
	return abi.Interaction{Type: abi.InteractionQuestion, Route: abi.RouteNative, Blocking: true, Fields: fields}
}

var (
	colour  = abi.Field{ID: "colour", Header: "Colour", Text: "Which colour?", Other: true, Options: []abi.Option{{Value: "r", Label: "Red"}, {Value: "g", Label: "Green, or lime"}, {Value: "3", Label: "Blue"}, {Value: "b", Label: "Black"}}}
	sizes   = abi.Field{ID: "sizes", Header: "Sizes", Text: "Which sizes?", MultiSelect: true, OtherBeside: true, Options: []abi.Option{{Value: "s", Label: "S"}, {Value: "m", Label: "M"}, {Value: "l", Label: "L"}}}
	name    = abi.Field{ID: "name", Text: "What name?"}
	passkey = abi.Field{ID: "token", Text: "The token?", Secret: true}
	request = abi.Interaction{Type: abi.InteractionPermission, Route: abi.RouteNative, Blocking: true, Command: "rm -rf build", Decisions: []abi.Decision{
		{ID: "approved", Label: "Yes", Kind: abi.AllowOnce}, {ID: "denied", Label: "No", Kind: abi.RejectOnce, Feedback: true}, {ID: "abort", Label: "Stop", Kind: abi.DecisionCancel}}}
	form    = abi.Interaction{Type: abi.InteractionForm, Route: abi.RouteNative, Blocking: true, Schema: abi.Raw(`{"type":"object","properties":{"name":{"type":"string"},"count":{"type":"integer"},"force":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},"pin":{"type":"string","format":"password"}}}`)}
	address = abi.Interaction{Type: abi.InteractionURL, Route: abi.RouteNative, Blocking: true, URL: "https://example.com/consent"}
)

func TestRule10_AnAnswerOnTheCommandLineSaysWhatWasMeant(t *testing.T) {
	for _, c := range []struct {
		what string
		ask  abi.Interaction
		args []string
		in   string
		want string
	}{
		{"the number of an option", question(colour), []string{"2"}, "", `{"fields":[{"field":"colour","state":"answered","selected":[1]}]}`},
		{"a label, in other letter case", question(colour), []string{"red"}, "", `{"fields":[{"field":"colour","state":"answered","selected":[0]}]}`},
		{"C4: a label with a comma", question(colour), []string{"Green, or lime"}, "", `{"fields":[{"field":"colour","state":"answered","selected":[1]}]}`},
		{"a number that is a value too, both of the same", question(colour), []string{"3"}, "", `{"fields":[{"field":"colour","state":"answered","selected":[2]}]}`},
		{"a text of one's own", question(colour), []string{"--other", "1"}, "", `{"fields":[{"field":"colour","state":"answered","has_other":true,"other":"1"}]}`},
		{"C5: skipped", question(sizes), []string{"--skip"}, "", `{"fields":[{"field":"sizes","state":"skipped"}]}`},
		{"C5: none of them", question(sizes), []string{"--none"}, "", `{"fields":[{"field":"sizes","state":"answered"}]}`},
		{"several, in any order", question(sizes), []string{"3", "S", "1"}, "", `{"fields":[{"field":"sizes","state":"answered","selected":[0,2]}]}`},
		{"several with commas", question(sizes), []string{"1,2"}, "", `{"fields":[{"field":"sizes","state":"answered","selected":[0,1]}]}`},
		{"options and a text beside them", question(sizes), []string{"M", "--other", "XXL"}, "", `{"fields":[{"field":"sizes","state":"answered","selected":[1],"has_other":true,"other":"XXL"}]}`},
		{"a text with an equals sign", question(name), []string{"a=b"}, "", `{"fields":[{"field":"name","state":"answered","has_other":true,"other":"a=b"}]}`},
		{"the field by its id", question(name), []string{"name=a=b"}, "", `{"fields":[{"field":"name","state":"answered","has_other":true,"other":"a=b"}]}`},
		{"several fields, by number, header and id", question(colour, sizes, name), []string{"1=Red", "Sizes=2", "sizes=3", "name=x y"}, "", `{"fields":[{"field":"colour","state":"answered","selected":[0]},{"field":"sizes","state":"answered","selected":[1,2]},{"field":"name","state":"answered","has_other":true,"other":"x y"}]}`},
		{"one skipped by its number, one with a text", question(colour, name), []string{"--skip=2", "--other", "colour=teal"}, "", `{"fields":[{"field":"colour","state":"answered","has_other":true,"other":"teal"},{"field":"name","state":"skipped"}]}`},
		{"what is left is skipped", question(colour, name), []string{"1=4", "--skip"}, "", `{"fields":[{"field":"colour","state":"answered","selected":[3]},{"field":"name","state":"skipped"}]}`},
		{"rule 16: a secret from standard input", question(passkey), []string{"--stdin"}, "s3cret\n", `{"fields":[{"field":"token","state":"answered","has_other":true,"other":"s3cret"}]}`},
		{"the one secret among several", question(name, passkey), []string{"1=x", "--stdin"}, "s3cret", `{"fields":[{"field":"name","state":"answered","has_other":true,"other":"x"},{"field":"token","state":"answered","has_other":true,"other":"s3cret"}]}`},
		{"a long text from standard input", question(name), []string{"--stdin=name"}, "two\nlines\n", `{"fields":[{"field":"name","state":"answered","has_other":true,"other":"two\nlines"}]}`},
		{"JSON from standard input", question(colour), []string{"--json-answer", "-"}, `{"fields":[{"field":"colour","state":"skipped"}]}`, `{"fields":[{"field":"colour","state":"skipped"}]}`},
		{"C7: a decision by its number", request, []string{"1"}, "", `{"decision":"approved"}`},
		{"a decision by its id, with a text", request, []string{"denied", "--feedback", "use make clean"}, "", `{"decision":"denied","feedback":"use make clean"}`},
		{"a decision by its label", request, []string{"no"}, "", `{"decision":"denied"}`},
		{"declined", request, []string{"--decline"}, "", `{"decision":"denied"}`},
		{"cancelled", request, []string{"--cancel"}, "", `{"decision":"abort"}`},
		{"rule 15: a form", form, []string{"name=demo", "count=3", "force=true", "tags=a", "tags=b=c"}, "", `{"action":"accept","content":{"count":3,"force":true,"name":"demo","tags":["a","b=c"]}}`},
		{"what does not fit is left to the host", form, []string{"count=many"}, "", `{"action":"accept","content":{"count":"many"}}`},
		{"a secret of a form", form, []string{"name=demo", "--stdin=pin"}, "1234\n", `{"action":"accept","content":{"name":"demo","pin":"1234"}}`},
		{"a form refused", form, []string{"--decline"}, "", `{"action":"decline"}`},
		{"an address", address, []string{"accept"}, "", `{"action":"accept"}`},
		{"an address refused", address, []string{"--cancel"}, "", `{"action":"cancel"}`},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := asking(t, c.ask)
			_, errs, code := invokeIn(t, f, c.in, append([]string{"answer"}, c.args...)...)
			if code != 0 || answered(f) != c.want {
				t.Errorf("exit code %d %s\n got %s\nwant %s", code, errs, answered(f), c.want)
			}
		})
	}
}

func TestAnAnswerThatSaysNothingClearIsRefusedAndSendsNothing(t *testing.T) {
	unsafe := address
	unsafe.URL = "http://example.com/consent"
	for _, c := range []struct {
		what string
		ask  abi.Interaction
		args []string
		want string
	}{
		{"nothing", question(colour), nil, "the answer is missing"},
		{"an option that is not there", question(colour), []string{"5"}, `there is no "5"; choose one of these, or a text of your own with --other`},
		{"a word that is none", question(sizes), []string{"huge"}, `there is no "huge"; choose one of these:`},
		{"two for one", question(colour), []string{"1", "2"}, "takes one option, and got several"},
		{"none of one", question(colour), []string{"--none"}, "takes one option; to leave it open use --skip"},
		{"none and some", question(sizes), []string{"1", "--none"}, "cannot have none as well"},
		{"skipped and answered", question(colour, name), []string{"1=1", "--skip=1"}, "cannot be skipped as well"},
		{"one of two left out", question(colour, name), []string{"1=1"}, `2, "name", has no answer`},
		{"no field named", question(colour, name), []string{"Red"}, "does not say what it answers"},
		{"rule 16: a secret on the command line", question(passkey), []string{"s3cret"}, "use --stdin"},
		{"a secret as a text of one's own", question(passkey), []string{"--other", "s3cret"}, "use --stdin"},
		{"a secret of a form on the command line", form, []string{"pin=1234"}, "use --stdin"},
		{"standard input for one of several", question(colour, name), []string{"--stdin"}, "say which one"},
		{"JSON and more", question(colour), []string{"1", "--json-answer", "{}"}, "is the whole answer"},
		{"JSON that the API does not take", question(colour), []string{"--json-answer", `{"answer":1}`}, "not the JSON that the API takes"},
		{"two JSON values", question(colour), []string{"--json-answer", `{} {}`}, "something behind the JSON"},
		{"a question cancelled", question(colour), []string{"--cancel"}, "ao-host stop"},
		{"no decision", request, nil, "a request takes one of its decisions, and got 0"},
		{"a decision and its opposite", request, []string{"1", "--decline"}, "leave the other one out"},
		{"a decision skipped", request, []string{"--skip"}, "takes one of its decisions"},
		{"an unknown member", form, []string{"size=1"}, "it has: count, force, name, pin, tags"},
		{"a member twice", form, []string{"name=a", "name=b"}, "name is given twice"},
		{"filled in and refused", form, []string{"name=a", "--decline"}, "and not both"},
		{"an address without a word", address, nil, "takes accept, --decline or --cancel"},
		{"an address that is not encrypted", unsafe, []string{"accept"}, "can only be refused"},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := asking(t, c.ask)
			_, errs, code := invokeIn(t, f, "x", append([]string{"answer"}, c.args...)...)
			if code != cli.ExitUsage || !strings.Contains(errs, c.want) || answered(f) != "" {
				t.Errorf("exit code %d: %swanted %q; sent %q", code, errs, c.want, answered(f))
			}
			if strings.Contains(errs, "s3cret") || strings.Contains(errs, "1234") {
				t.Errorf("the secret is repeated: %s", errs)
			}
		})
	}
}

func TestANumberThatIsTheNameOfAnotherOptionMustBeMeant(t *testing.T) {
	ask := question(abi.Field{ID: "n", Text: "How many?", Options: []abi.Option{{Label: "2"}, {Label: "1"}}})
	f := asking(t, ask)
	if _, errs, code := invoke(t, f, "answer", "2"); code != cli.ExitUsage || !strings.Contains(errs, "write #2 for the number") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if _, _, code := invoke(t, f, "answer", "#2"); code != 0 || !strings.Contains(answered(f), `"selected":[1]`) {
		t.Errorf("exit code %d, sent %s", code, answered(f))
	}
}

func TestOfSeveralCardsOneIsNamed(t *testing.T) {
	f := asking(t, question(colour), request)
	_, errs, code := invoke(t, f, "answer", "1")
	if code != cli.ExitUsage || !strings.Contains(errs, "2 cards are open; name one with --card:\n  card-2  Question: Which colour?\n  card-3  Permission request: rm -rf build") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if _, errs, code := invoke(t, f, "answer", "--card", "card-3", "1"); code != 0 || answered(f) != `{"decision":"approved"}` {
		t.Errorf("exit code %d: %s %s", code, errs, answered(f))
	}
}

func TestRule13_ACardThatSomebodyAnsweredIsToldWithItsCode(t *testing.T) {
	f := asking(t, question(colour))
	if _, err := f.ResolveInput(context.Background(), "conversation-1", "card-2", host.Answer{}); err != nil {
		t.Fatal(err)
	}
	_, errs, code := invoke(t, f, "answer", "--card", "card-2", "--json", "1")
	var e struct {
		Error struct{ Code, Advice string }
	}
	if err := json.Unmarshal([]byte(errs), &e); err != nil || code != cli.ExitError || e.Error.Code != "interaction_answered" || e.Error.Advice == "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if _, errs, code := invoke(t, f, "answer", "1"); code != cli.ExitError || !strings.Contains(errs, "unknown_interaction: Nothing is asked in this conversation.") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
