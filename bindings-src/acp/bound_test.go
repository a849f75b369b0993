package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

func TestC6_OptionsOfAPermissionThatAreTooManyAreTold(t *testing.T) {
	r := begin(t, claudeAgent, abi.Settings{})
	var options strings.Builder
	for n := range lists.MaxElements + 3 {
		fmt.Fprintf(&options, `{"optionId":"o%d","name":"x","kind":"allow_once"},`, n)
	}
	_, effects := r.Ask("7", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c"},"options":[`+options.String()+`{"optionId":"o","name":"x","kind":"reject_once"}]}`)
	x := acptest.One(t, effects, acptest.Opened)
	if len(x.Decisions) != lists.MaxElements || !strings.Contains(x.Text, "4 further entries are left out") {
		t.Fatalf("%d decisions, text %q", len(x.Decisions), x.Text)
	}
}

func TestSettingsThatAreTooManyAreToldOnceAndTheRestCanBeChosen(t *testing.T) {
	r := acptest.NewRig(t, claudeAgent.new)
	r.Open(nil)
	r.Result("initialize", `{"protocolVersion":1,"agentCapabilities":{}}`)
	huge := `{"id":"huge","type":"select","name":"` + strings.Repeat("h", lists.MaxKept) + `"}`
	options := `[` + huge + `,{"id":"style","name":"Style","type":"select","currentValue":"a","options":[{"value":"a"},{"value":"b"},{"value":"a","name":"again"}]}]`
	effects := r.Result("session/new", `{"sessionId":"s-1","configOptions":`+options+`}`)
	if w := acptest.One(t, effects, acptest.Warning); w.Code != "list_too_long" {
		t.Errorf("warning %+v", w)
	}
	ready := acptest.One(t, effects, acptest.Ready)
	if o := ready.Catalog.Options; len(o) != 1 || o[0].ID != "style" || len(o[0].Values) != 2 {
		t.Errorf("options %+v", o)
	}
	acptest.None(t, r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"config_option_update","configOptions":`+options+`}}`), acptest.Warning)
}

func TestRule15_AFormWithTooManyMembersToBeQuestionsStaysAForm(t *testing.T) {
	r := begin(t, claudeAgent, abi.Settings{})
	r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"q","title":"Ask","_meta":{"claudeCode":{"toolName":"AskUserQuestion"}}}}`)
	ask := func(n int) *abi.Interaction {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"question_%d":{"type":"string","enum":["a"]}`, i))
		}
		_, effects := r.Ask("7", "elicitation/create", `{"sessionId":"s-1","toolCallId":"q","mode":"form","message":"?","requestedSchema":{"type":"object","properties":{`+strings.Join(members, ",")+`}}}`)
		return acptest.One(t, effects, acptest.Opened)
	}
	if x := ask(500); x.Type != abi.InteractionQuestion || len(x.Fields) != 500 {
		t.Errorf("%s with %d fields", x.Type, len(x.Fields))
	}
	if x := ask(501); x.Type != abi.InteractionForm || strings.Count(string(x.Schema), "question_") != 501 {
		t.Errorf("%s with %d fields", x.Type, len(x.Fields))
	}
}

func TestTheDetailsOfManyToolCallsAreKeptWithinABound(t *testing.T) {
	r := begin(t, claudeAgent, abi.Settings{})
	r.Keep = true
	for n := range 32 {
		r.Notify("session/update", fmt.Sprintf(`{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"Read","rawInput":{"a":"%s"}}}`, n, strings.Repeat("x", 200<<10)))
	}
	if size := len(r.Save()); size > 3<<20 {
		t.Errorf("the state has %d bytes", size)
	}
	// The call itself is still known, and what is new of it is shown.
	x := acptest.One(t, r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c0","status":"completed"}}`), acptest.Item)
	if x.ID != "c0" || x.Title != "Read" || x.Status != abi.ItemCompleted {
		t.Errorf("item %+v", x)
	}
}

func TestC6_C8_APermissionForACallThatIsTooLongToBeShownNamesItsFilesAndSaysSo(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	diff := `"kind":"edit","content":[{"type":"diff","path":"/w/secrets.env","newText":"` + long + `"}]`
	const rest = `Not all of it can be shown here; the item "c" has the rest.`
	for name, c := range map[string]struct {
		told, asked, want string
		// others are calls of which more was told since.
		others int
	}{
		"a diff":                 {diff, ``, rest + ` Its files: /w/secrets.env.`, 0},
		"emptied in the request": {`"rawInput":{"command":"` + long + `"},` + diff, `,"rawInput":{},"content":[]`, rest + ` Its files: /w/secrets.env.`, 0},
		"a command":              {`"kind":"execute","rawInput":{"command":"` + long + `"}`, ``, rest, 0},
		"with words":             {`"kind":"execute","rawInput":{"command":"` + long + `"}`, `,"content":[{"type":"content","content":{"type":"text","text":"It must."}}]`, `It must. ` + rest, 0},
		"of many":                {`"kind":"edit","locations":[{"path":"/w/a"}]`, ``, rest + ` Its files: /w/a.`, 14},
		"told anew":              {diff, `,"content":[{"type":"diff","path":"/w/a","newText":"x"}]`, ``, 0},
		"none":                   {`"kind":"edit","rawInput":{}`, ``, ``, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := begin(t, claudeAgent, abi.Settings{})
			update := func(id, with string) {
				r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"`+id+`","title":"Edit","status":"pending",`+with+`}}`)
			}
			update("c", c.told)
			for n := range c.others {
				update(fmt.Sprint("o", n), `"rawInput":{"a":"`+long[:200_000]+`"}`)
			}
			_, effects := r.Ask("7", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c"`+c.asked+`},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"}]}`)
			if x := acptest.One(t, effects, acptest.Opened); x.Text != c.want || x.Title != "Edit" {
				t.Errorf("the card is %q %.300q, want %q", x.Title, x.Text, c.want)
			}
		})
	}
}

func TestC8_AllTheFilesOfACallThatIsTooLongToBeShownAreNamedOrCounted(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	diff := func(path, text string) string {
		return `{"type":"diff","path":"` + path + `","newText":"` + text + `"}`
	}
	content := func(diffs ...string) string { return `"content":[` + strings.Join(diffs, ",") + `]` }
	abc := content(diff("/w/a", "x"), diff("/w/b", "x"), diff("/w/c", long))
	var many, named []string
	for n := range 500 {
		path := fmt.Sprintf("/w/%010d", n)
		many = append(many, diff(path, long[:600]))
		if len(strings.Join(named, ","))+len(path) < 2<<10 {
			named = append(named, path)
		}
	}
	for name, c := range map[string]struct {
		told []string
		want string
	}{
		"with a location":       {[]string{abc + `,"locations":[{"path":"/w/a","line":1}]`}, "/w/a, /w/b, /w/c"},
		"a location told later": {[]string{abc, `"locations":[{"path":"/w/a"},{"path":"/w/d"}]`}, "/w/a, /w/b, /w/c, /w/d"},
		"a diff told later":     {[]string{abc, content(diff("/w/d", long))}, "/w/a, /w/b, /w/c, /w/d"},
		"locations first":       {[]string{`"locations":[{"path":"/w/d"}]`, abc}, "/w/d, /w/a, /w/b, /w/c"},
		"more than fit":         {[]string{content(many...), content(many...) + `,"locations":[{"path":"/w/0000000499"}]`}, strings.Join(named, ", ") + fmt.Sprintf(" and at least %d more", 500-len(named))},
		"only a long name":      {[]string{content(diff("/w/"+long, "x"), diff("/w/"+long, "y"))}, "at least 1 with a long name"},
	} {
		t.Run(name, func(t *testing.T) {
			r := begin(t, claudeAgent, abi.Settings{})
			for _, with := range c.told {
				r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"Edit","kind":"edit","status":"pending",`+with+`}}`)
			}
			_, effects := r.Ask("7", "session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"}]}`)
			want := `Not all of it can be shown here; the item "c" has the rest. Its files: ` + c.want + `.`
			if x := acptest.One(t, effects, acptest.Opened); x.Text != want {
				t.Errorf("the card is\n%.3000q, want\n%.3000q", x.Text, want)
			}
		})
	}
}
