package codex_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

func TestC6_OptionsThatAreTooManyAreToldAndThoseShownAreAnsweredByIndex(t *testing.T) {
	r := running(t)
	r.reload = false
	_, effects := r.ask("7", "item/tool/requestUserInput", `{`+where+`,"questions":[{"id":"q","question":"Which?","options":[`+
		strings.Repeat(`{"label":"x"},`, lists.MaxElements)+`{"label":"last"}]}]}`)
	x := one(t, effects, opened)
	// The question itself counts too.
	if n := len(x.Fields[0].Options); n != lists.MaxElements-1 || !strings.Contains(x.Text, "2 further entries are left out") {
		t.Fatalf("%d options, text %q", n, x.Text)
	}
	got := one(t, r.answer(x.Key, abi.Reply{Fields: []abi.FieldAnswer{{Field: "q", State: abi.StateAnswered, Selected: []int64{lists.MaxElements - 2}}}}), reply)
	if string(got.Result) != `{"answers":{"q":{"answers":["x"]}}}` {
		t.Fatalf("reply %s", got.Result)
	}
}

func TestC7_DecisionsOfOneNameAreToldApart(t *testing.T) {
	r := running(t)
	rule := func(host string) string {
		return `{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"` + host + `","action":"allow"}}}`
	}
	_, effects := r.ask("7", "item/commandExecution/requestApproval", `{`+where+`,"availableDecisions":["decline",`+rule("a.test")+`,`+rule("b.test")+`,`+rule("c.test")+`]}`)
	x := one(t, effects, opened)
	seen := map[string]bool{}
	for _, d := range x.Decisions {
		seen[d.ID] = true
	}
	if len(x.Decisions) != 4 || len(seen) != 4 {
		t.Fatalf("decisions %+v", x.Decisions)
	}
	if got := one(t, r.answer(x.Key, abi.Reply{Decision: x.Decisions[2].ID}), reply); string(got.Result) != `{"decision":`+rule("b.test")+`}` {
		t.Fatalf("reply %s", got.Result)
	}
}

func TestModelsThatAreTooManyAreToldAndNoFurtherPageIsAskedFor(t *testing.T) {
	r := newRig(t)
	r.step("open", abi.Event{Open: openEvent()})
	r.result("initialize", `{"userAgent":"ao-host/0.171.0 (Debian 12.0.0; x86_64) xterm (ao-host; 0.1.0)"}`)
	r.result("account/read", signedIn)
	long := strings.Repeat("d", lists.MaxKept/4)
	var list []string
	for n := range 6 {
		list = append(list, fmt.Sprintf(`{"id":"%d","model":"m%d","description":"%s"}`, n%5, n%5, long))
	}
	effects := r.result("model/list", `{"data":[`+strings.Join(list[:2], ",")+`],"nextCursor":"2"}`)
	none(t, effects, warning)
	effects = r.result("model/list", `{"data":[`+strings.Join(list[2:], ",")+`],"nextCursor":"3"}`)
	if w := one(t, effects, warning); w.Code != "list_too_long" || !strings.Contains(w.Message, "3 further") {
		t.Fatalf("warning %+v", w)
	}
	none(t, effects, call)
	r.result("collaborationMode/list", modes)
	if got := one(t, r.result("thread/start", threadResult(threadID)), isReady); len(got.Catalog.Models) < 3 || got.Catalog.Models[2].ID != "m2" {
		t.Fatalf("%d models", len(got.Catalog.Models))
	}
}

// A child that never confirms the end of its requests must not make the state grow.
func TestRequestsWhoseEndIsNeverConfirmedAreForgotten(t *testing.T) {
	r := running(t)
	ask := func(n int) string {
		token, _ := r.ask(fmt.Sprint(n), "item/commandExecution/requestApproval", `{`+where+`,"command":"ls"}`)
		return "request/" + token
	}
	first := ask(0)
	var size int
	for n := range 200 {
		r.answer(ask(n+1), abi.Reply{Decision: "accept"})
		if n == 100 {
			size = len(r.machine.Save())
		}
	}
	if now := len(r.machine.Save()); now > size+200 {
		t.Errorf("the state grew from %d to %d bytes", size, now)
	}
	// One that is open is kept, and so are the last that were answered.
	if c := one(t, r.notify("serverRequest/resolved", `{"threadId":"thread-1","requestId":200}`), closed); c.Disposition != abi.DispositionAnswered {
		t.Errorf("closed %+v", c)
	}
	one(t, r.answer(first, abi.Reply{Decision: "accept"}), reply)
}

func TestC6_C8_AnApprovalOfAnEditThatIsTooLongToBeShownNamesItsFilesAndSaysSo(t *testing.T) {
	long, short := strings.Repeat("x", 300_000), strings.Repeat("x", 200_000)
	many := make([]string, 3000)
	for n := range many {
		many[n] = fmt.Sprintf(`{"path":"/w/%d","diff":"%s"}`, n, strings.Repeat("x", 100))
	}
	for name, c := range map[string]struct {
		thread, changes, title, item string
		// others are edits that wait, too, and came later.
		others int
	}{
		"alone":          {"thread-1", `{"path":"/w/secrets.env","diff":"` + long + `"}`, "Change files: /w/secrets.env", "i", 0},
		"of many":        {"thread-1", `{"path":"/w/secrets.env","diff":"` + short + `"}`, "Change files: /w/secrets.env", "i", 12},
		"a child's":      {"child-1", `{"path":"/w/secrets.env","diff":"` + long + `"}`, "Change files: /w/secrets.env", "child-1/i", 0},
		"of many files":  {"thread-1", strings.Join(many, ","), "Change files: /w/0, /w/1, ", "i", 0},
		"of a long name": {"thread-1", `{"path":"/w/` + long + `","diff":""}`, "Change files: 1 with long names", "i", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := running(t)
			started := func(id, changes string) {
				r.notify("item/started", `{"threadId":"`+c.thread+`","turnId":"n1","item":{"type":"fileChange","id":"`+id+`","status":"inProgress","changes":[`+changes+`]}}`)
			}
			started("i", c.changes)
			for n := range c.others {
				started(fmt.Sprint("o", n), `{"path":"/w/other","diff":"`+short+`"}`)
			}
			ask := func(id, reason string) *abi.Interaction {
				_, effects := r.ask("7", "item/fileChange/requestApproval", `{"threadId":"`+c.thread+`","turnId":"n1","itemId":"`+id+`","startedAtMs":1,"reason":`+reason+`,"grantRoot":null}`)
				return one(t, effects, opened)
			}
			x := ask("i", `"It must."`)
			if want := `It must. The changes are too long to be shown here; the item "` + c.item + `" has them.`; !strings.HasPrefix(x.Title, c.title) || x.Text != want || x.Detail != nil {
				t.Errorf("the card is %q %q %.99q", x.Title, x.Text, x.Detail)
			}
			if name == "of many files" && (!strings.HasSuffix(x.Title, " more") || len(x.Title) > 3000) {
				t.Errorf("the title has %d bytes and ends with %q", len(x.Title), x.Title[len(x.Title)-20:])
			}
			if c.others > 0 {
				if last := ask(fmt.Sprint("o", c.others-1), "null"); last.Text != "" || !strings.Contains(string(last.Detail), short) {
					t.Errorf("the newest shows %q %.99q", last.Text, last.Detail)
				}
			}
			if size := len(r.machine.Save()); size > 3<<20 {
				t.Errorf("the state has %d bytes", size)
			}
		})
	}
}
