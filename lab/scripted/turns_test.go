package scripted_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab/scripted"
)

// said collects the texts of the finished messages of the agent.
func said(c *client) []string {
	var out []string
	for _, f := range c.all() {
		if f.Method == "item/completed" && field(c.t, f.Params, "item.type") == "agentMessage" {
			out = append(out, field(c.t, f.Params, "item.text"))
		}
	}
	return out
}

func plan(c *client) string {
	text := ""
	for _, f := range c.all() {
		if f.Method == "item/completed" && field(c.t, f.Params, "item.type") == "plan" {
			text = field(c.t, f.Params, "item.text")
		}
	}
	return text
}

func TestTheDemoAsksProposesRevisesAndImplements(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	c := connect(t, scripted.Demo(), home)
	c.hello()
	thread := c.thread(dir)
	c.turn(thread, "plan", "greet the world")
	c.reply(c.await("item/tool/requestUserInput"), obj{"answers": obj{"language": obj{"answers": []string{"German"}}}})
	if s := c.done(); s != "completed" {
		t.Fatalf("plan turn: %s", s)
	}
	if p := plan(c); !strings.Contains(p, "in this language: German.") {
		t.Errorf("the plan does not use the answer: %q", p)
	}
	c.turn(thread, "plan", "Add a check.")
	c.done()
	if p := plan(c); !strings.Contains(p, "As you asked: Add a check.") || !strings.Contains(p, "German") {
		t.Errorf("the revised plan does not use the feedback and the answer: %q", p)
	}

	// A restart in between: what was agreed is remembered with the thread.
	_ = c.in.Close()
	if code := <-c.code; code != 0 {
		t.Fatalf("exit code %d at the end of the input", code)
	}
	c = connect(t, scripted.Demo(), home)
	c.hello()
	if f := c.call("thread/resume", obj{"threadId": thread, "excludeTurns": true}); f.Error != nil {
		t.Fatalf("resume: %+v", f.Error)
	}
	c.turn(thread, "default", "Implement the plan.")
	f := c.await("item/fileChange/requestApproval")
	if _, err := os.Stat(filepath.Join(dir, "greeting.txt")); err == nil {
		t.Error("written before it was approved")
	}
	c.reply(f, obj{"decision": "accept"})
	if s := c.done(); s != "completed" {
		t.Fatalf("implementing turn: %s", s)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "greeting.txt")); err != nil || string(b) != "Hallo, Welt!\n" {
		t.Errorf("greeting.txt: %q, %v", b, err)
	}
	run := c.find(false, "the command", func(f *frame) bool {
		return f.Method == "item/completed" && field(t, f.Params, "item.type") == "commandExecution"
	})
	if out := field(t, run.Params, "item.aggregatedOutput"); out != "Hallo, Welt!\n" {
		t.Errorf("the command was not really run: %q", out)
	}
}

func TestTheDemoWritesNothingThatWasDeclined(t *testing.T) {
	dir := t.TempDir()
	c := connect(t, scripted.Demo(), "")
	c.hello()
	thread := c.thread(dir)
	c.turn(thread, "plan", "greet")
	c.reply(c.await("item/tool/requestUserInput"), obj{"answers": obj{}})
	c.done()
	c.turn(thread, "default", "Implement the plan.")
	c.reply(c.await("item/fileChange/requestApproval"), obj{"decision": "decline"})
	c.done()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v %v", entries, err)
	}
	if s := said(c); s[len(s)-1] != "You declined the change, so nothing was written." {
		t.Errorf("said %q", s)
	}
}

func TestTheDemoNeedsNoApprovalUnderBypassPermissions(t *testing.T) {
	dir := t.TempDir()
	c := connect(t, scripted.Demo(), "")
	c.hello()
	thread := c.thread(dir)
	c.turn(thread, "plan", "greet")
	c.reply(c.await("item/tool/requestUserInput"), obj{"answers": obj{"language": obj{"answers": []string{"Klingon"}}}})
	c.done()
	c.turn(thread, "default", "Implement.", obj{"approvalPolicy": "never", "sandboxPolicy": obj{"type": "dangerFullAccess"}})
	c.done()
	if b, err := os.ReadFile(filepath.Join(dir, "greeting.txt")); err != nil || string(b) != "Hello, world! (Klingon)\n" {
		t.Errorf("greeting.txt: %q, %v", b, err)
	}
}

func TestSettingsAreSticky(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"repeat":true,"steps":[{"say":"{{mode}} {{effort}}"}]}]}`), t.TempDir())
	c.hello()
	thread := c.thread(t.TempDir())
	c.turn(thread, "plan", "one", obj{"approvalPolicy": "never"})
	c.done()
	c.call("turn/start", obj{"threadId": thread, "input": []obj{{"type": "text", "text": "two"}}})
	c.done()
	if s := said(c); len(s) != 2 || s[1] != "plan high" {
		t.Errorf("said %q", s)
	}
	told := 0
	for _, f := range c.all() {
		if f.Method == "thread/settings/updated" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("settings told %d times, want once: they did not change", told)
	}
	c.call("thread/settings/update", obj{"threadId": thread, "model": "other"})
	f := c.await("thread/settings/updated")
	if m := field(t, f.Params, "threadSettings.model"); m != "other" {
		t.Errorf("model %q", m)
	}
}

func TestATurnStartWhileATurnRunsJoinsIt(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[{"say":"working"},{"wait_steer":true}],"steered":[{"say":"heard {{text}}"}]}]}`), t.TempDir())
	c.hello()
	thread := c.thread(t.TempDir())
	id := c.turn(thread, "default", "go")
	c.await("item/agentMessage/delta")
	if again := c.turn(thread, "plan", "join", obj{"clientUserMessageId": "j"}); again != id {
		t.Errorf("a second turn was started")
	}
	c.done()
	found := 0
	for _, f := range c.all() {
		if f.Method == "item/completed" && field(t, f.Params, "item.clientId") == "j" && field(t, f.Params, "turnId") == id {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the message that joined was told %d times", found)
	}
}

func TestSteerReachesTheRunningTurnAndChecksItsId(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[{"say":"working"},{"wait_steer":true},{"say":"now {{text}}"}]}]}`), "")
	c.hello()
	thread := c.thread(t.TempDir())
	id := c.turn(thread, "default", "go")
	input := []obj{{"type": "text", "text": "left"}}
	f := c.call("turn/steer", obj{"threadId": thread, "expectedTurnId": unknownThread, "input": input})
	if f.Error == nil || f.Error.Message != "expected active turn id `"+unknownThread+"` but found `"+id+"`" {
		t.Errorf("%s", f.raw)
	}
	f = c.call("turn/steer", obj{"threadId": thread, "expectedTurnId": id, "clientUserMessageId": "s", "input": input})
	if got := field(t, f.Result, "turnId"); got != id {
		t.Errorf("%s", f.raw)
	}
	c.done()
	if s := said(c); s[len(s)-1] != "now left" {
		t.Errorf("said %q", s)
	}
}

func TestS1_InterruptsAreAnsweredBeforeTheEndAndASecondOneAsTheVersionDoes(t *testing.T) {
	for _, version := range []string{scripted.Version171, scripted.Version153} {
		t.Run(version, func(t *testing.T) {
			s := parse(t, `{"turns":[{"repeat":true,"steps":[{"say":"working"},{"wait_interrupt":true}]}]}`)
			s.Version = version
			c := connect(t, s, "")
			c.hello()
			thread := c.thread(t.TempDir())
			id := c.turn(thread, "default", "go")
			f := c.call("turn/interrupt", obj{"threadId": thread, "turnId": unknownThread})
			if f.Error == nil || f.Error.Message != "expected active turn id "+unknownThread+" but found "+id {
				t.Errorf("%s", f.raw)
			}
			first := c.post("turn/interrupt", obj{"threadId": thread, "turnId": id})
			if f := c.response(first); string(f.Result) != "{}" {
				t.Errorf("%s", f.raw)
			}
			if s := c.done(); s != "interrupted" {
				t.Errorf("status %s", s)
			}
			again := c.post("turn/interrupt", obj{"threadId": thread, "turnId": id})
			c.call("model/list", obj{})
			var answer *frame
			for _, f := range c.all() {
				if string(f.ID) == again {
					answer = &f
				}
			}
			if version == scripted.Version171 {
				if answer == nil || answer.Error == nil || answer.Error.Message != "no active turn to interrupt" {
					t.Fatalf("%+v", answer)
				}
				return
			}
			if answer != nil {
				t.Fatalf("0.153.4 does not answer, but got %s", answer.raw)
			}
			next := c.turn(thread, "default", "again")
			c.call("turn/interrupt", obj{"threadId": thread, "turnId": next})
			if f := c.response(again); string(f.Result) != "{}" {
				t.Errorf("the late answer: %s", f.raw)
			}
		})
	}
}

func TestAnInterruptedQuestionIsResolvedAfterTheEnd(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[{"ask":{"questions":[{"id":"q","question":"?"}]}},{"say":"never"}]}]}`), "")
	c.hello()
	thread := c.thread(t.TempDir())
	id := c.turn(thread, "default", "go")
	q := c.await("item/tool/requestUserInput")
	c.call("turn/interrupt", obj{"threadId": thread, "turnId": id})
	c.done()
	f := c.await("serverRequest/resolved")
	if field(t, f.Params, "requestId") != string(q.ID) {
		t.Errorf("%s", f.raw)
	}
	c.reply(q, obj{"answers": obj{}}) // T4: a reply to a request that is over
	c.call("model/list", obj{})
	if s := said(c); len(s) != 0 {
		t.Errorf("said %q", s)
	}
	if !strings.Contains(c.stderr.String(), "response to no request") {
		t.Errorf("stderr %q", c.stderr)
	}
}

func TestA1_AQuestionCanResolveItselfWithEmptyAnswers(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[{"ask":{"questions":[{"id":"q","question":"?"}],"blocking":false,"resolve_after_ms":20}},{"say":"answers {{answers}}"}]}]}`), "")
	c.hello()
	c.turn(c.thread(t.TempDir()), "default", "go")
	q := c.await("item/tool/requestUserInput")
	if field(t, q.Params, "autoResolutionMs") != "20" || field(t, q.Params, "isBlocking") != "false" {
		t.Errorf("%s", q.raw)
	}
	c.await("serverRequest/resolved")
	c.done()
	if s := said(c); len(s) != 1 || s[0] != "answers {}" {
		t.Errorf("said %q", s)
	}
}

func TestASecretAnswerCanBeEchoed(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[{"ask":{"questions":[{"id":"token","question":"Token?","secret":true,"other":true}]}},{"say":"got {{answer.token}}","chunks":3}]}]}`), "")
	c.hello()
	c.turn(c.thread(t.TempDir()), "default", "go")
	q := c.await("item/tool/requestUserInput")
	if !strings.Contains(string(q.Params), `"isSecret":true`) {
		t.Errorf("%s", q.raw)
	}
	c.reply(q, obj{"answers": obj{"token": obj{"answers": []string{"hunter2"}}}})
	c.done()
	if s := said(c); s[0] != "got hunter2" {
		t.Errorf("said %q", s)
	}
}

func TestApprovalsDecideWhatHappens(t *testing.T) {
	for decision, want := range map[string]struct{ status, item, turn string }{
		`"accept"`:           {status: "completed", turn: "completed"},
		`"acceptForSession"`: {status: "completed", turn: "completed"},
		`{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["true"]}}`: {status: "completed", turn: "completed"},
		`"decline"`: {status: "declined", turn: "completed"},
		`"cancel"`:  {status: "declined", turn: "interrupted"},
		`"banana"`:  {status: "declined", turn: "completed"},
	} {
		c := connect(t, parse(t, `{"turns":[{"steps":[{"run":{"command":"true","approve":true}}]}]}`), "")
		c.hello()
		c.turn(c.thread(t.TempDir()), "default", "go")
		c.reply(c.await("item/commandExecution/requestApproval"), obj{"decision": json.RawMessage(decision)})
		if got := c.done(); got != want.turn {
			t.Errorf("%s: turn %s", decision, got)
		}
		last := ""
		for _, f := range c.all() {
			if f.Method == "item/completed" && field(t, f.Params, "item.type") == "commandExecution" {
				last = field(t, f.Params, "item.status")
			}
		}
		if last != want.status {
			t.Errorf("%s: item %s, want %s", decision, last, want.status)
		}
	}
}

func TestNothingIsAskedUnderThePolicyNever(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[{"run":{"command":"true","approve":true}},{"write_file":{"path":"a/b","text":"x","approve":true}}]}]}`), "")
	c.hello()
	dir := t.TempDir()
	c.turn(c.thread(dir), "default", "go", obj{"approvalPolicy": "never"})
	c.done()
	for _, f := range c.all() {
		if f.Method != "" && f.ID != nil {
			t.Errorf("asked: %s", f.raw)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a", "b")); err != nil || string(b) != "x" {
		t.Errorf("%q %v", b, err)
	}
}

func TestAnAutomaticReviewTakesThePlaceOfTheQuestion(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"repeat":true,"steps":[
		{"run":{"command":"a","approve":true}},{"write_file":{"path":"f","text":"x","approve":true,"deny_review":"not today"}}]}]}`), "")
	c.hello()
	dir := t.TempDir()
	c.turn(c.thread(dir), "default", "go", obj{"approvalsReviewer": "auto_review"})
	c.done()
	var reviews []string
	for _, f := range c.all() {
		switch f.Method {
		case "item/autoApprovalReview/completed":
			reviews = append(reviews, field(t, f.Params, "review.status"))
		case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
			t.Errorf("asked: %s", f.raw)
		}
	}
	if strings.Join(reviews, " ") != "approved denied" {
		t.Errorf("reviews %q", reviews)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
		t.Error("written though the review denied it")
	}
}

func TestFormsURLsAndPermissionsCarryTheirAnswers(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[
		{"form":{"server":"s","message":"Fill","schema":{"type":"object","properties":{"n":{"type":"string"}}}}},{"say":"{{action}} {{content}}"},
		{"url":{"message":"Visit","url":"https://example.com/a"}},{"if":{"action":"decline"},"then":[{"say":"declined"}],"else":[{"say":"wrong"}]},
		{"permissions":{"reason":"net"}},{"say":"{{decision}}"}]}]}`), "")
	c.hello()
	c.turn(c.thread(t.TempDir()), "default", "go")
	f := c.await("mcpServer/elicitation/request")
	if field(t, f.Params, "mode") != "form" || field(t, f.Params, "serverName") != "s" {
		t.Errorf("%s", f.raw)
	}
	c.reply(f, obj{"action": "accept", "content": obj{"n": "Ada"}, "_meta": nil})
	f = c.await("mcpServer/elicitation/request")
	if field(t, f.Params, "url") != "https://example.com/a" || field(t, f.Params, "elicitationId") == "" {
		t.Errorf("%s", f.raw)
	}
	c.reply(f, obj{"action": "decline", "content": nil, "_meta": nil})
	c.reply(c.await("item/permissions/requestApproval"), obj{"permissions": obj{}, "scope": "turn"})
	c.done()
	if s := strings.Join(said(c), "|"); s != `accept {"n":"Ada"}|declined|turn` {
		t.Errorf("said %q", s)
	}
}

func TestT7_FailuresCarryTheProvidersErrorAndSayWhetherTheyRetry(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[
		{"steps":[{"fail":{"code":"usageLimitExceeded","message":"limit","retries":2}}]},
		{"steps":[{"fail":{"code":"responseTooManyFailedAttempts","message":"429","http":429}},{"say":"never"}]}]}`), "")
	c.hello()
	thread := c.thread(t.TempDir())
	c.turn(thread, "default", "go")
	f := c.await("turn/completed")
	if field(t, f.Params, "turn.status") != "failed" || field(t, f.Params, "turn.error.codexErrorInfo") != "usageLimitExceeded" {
		t.Errorf("%s", f.raw)
	}
	retries := ""
	for _, f := range c.all() {
		if f.Method == "error" {
			retries += field(t, f.Params, "willRetry") + " "
		}
	}
	if retries != "true true false " {
		t.Errorf("retries %q", retries)
	}
	c.turn(thread, "default", "go")
	f = c.await("turn/completed")
	if field(t, f.Params, "turn.error.codexErrorInfo.responseTooManyFailedAttempts.httpStatusCode") != "429" {
		t.Errorf("%s", f.raw)
	}
	if s := said(c); len(s) != 0 {
		t.Errorf("said %q", s)
	}
}

func TestQ5_TheEndOfATurnCanComeBeforeTheAnswerToItsStart(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"respond":"after_end","steps":[{"say":"quick"}]},{"respond":"never","steps":[{"say":"silent"}]}]}`), "")
	c.hello()
	thread := c.thread(t.TempDir())
	id := c.turn(thread, "default", "go")
	end, response := -1, -1
	for i, f := range c.all() {
		if f.Method == "turn/completed" {
			end = i
		}
		if f.Result != nil && field(t, f.Result, "turn.id") == id {
			response = i
		}
	}
	if end < 0 || response < end {
		t.Errorf("end at %d, response at %d", end, response)
	}
	c.done()
	never := c.post("turn/start", obj{"threadId": thread, "input": []obj{{"type": "text", "text": "x"}}})
	c.done()
	c.call("model/list", obj{})
	for _, f := range c.all() {
		if string(f.ID) == never && f.Method == "" {
			t.Errorf("answered: %s", f.raw)
		}
	}
}

func TestQ3_AChildThreadHasItsOwnTurnAndApprovals(t *testing.T) {
	over := filepath.Join(t.TempDir(), "over")
	c := connect(t, parse(t, fmt.Sprintf(`{"turns":[{"steps":[
		{"child":{"prompt":"help","steps":[{"run":{"command":"touch x","approve":true}},{"say":"child done"}]}},
		{"child":{"prompt":"early","early":true,"background":true,"steps":[{"wait_file":%q},{"say":"late child"}]}},
		{"say":"parent done"}]}]}`, over)), t.TempDir())
	c.hello()
	thread := c.thread(t.TempDir())
	c.turn(thread, "default", "go")
	a := c.await("item/commandExecution/requestApproval")
	child := field(t, a.Params, "threadId")
	if child == thread || child == "" {
		t.Fatalf("%s", a.raw)
	}
	c.reply(a, obj{"decision": "accept"})
	var order []string
	for len(order) < 3 {
		f := c.await("turn/completed")
		switch field(t, f.Params, "threadId") {
		case thread:
			order = append(order, "parent")
			if err := os.WriteFile(over, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		case child:
			order = append(order, "child")
		default:
			order = append(order, "late")
		}
	}
	if got := strings.Join(order, " "); got != "child parent late" {
		t.Errorf("ended in the order %s", got)
	}
	if s := said(c); s[len(s)-1] != "late child" {
		t.Errorf("the child in the background ended with its parent: said %q", s)
	}
	spawn := c.find(false, "the spawn", func(f *frame) bool {
		return f.Method == "item/completed" && field(t, f.Params, "item.type") == "collabAgentToolCall"
	})
	if !strings.Contains(string(spawn.Params), `"receiverThreadIds":["`+child+`"]`) || field(t, spawn.Params, "threadId") != thread {
		t.Errorf("%s", spawn.raw)
	}
}

func TestTheAgentCanBeginATurnItself(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[{"self_turn":[{"say":"by myself"}]},{"say":"first"}]}]}`), "")
	c.hello()
	thread := c.thread(t.TempDir())
	first := c.turn(thread, "default", "go")
	c.done()
	c.done()
	var own string
	messages := 0
	for _, f := range c.all() {
		if f.Method == "turn/started" {
			own = field(t, f.Params, "turn.id")
		}
		if f.Method == "item/completed" && field(t, f.Params, "item.type") == "userMessage" {
			messages++
		}
	}
	if own == first || messages != 1 {
		t.Errorf("turn %s after %s, %d messages of the user", own, first, messages)
	}
}

func TestChecklistsUsageNamesWarningsAndUnknownThings(t *testing.T) {
	c := connect(t, parse(t, `{"config_warnings":["careful"],"turns":[{"steps":[
		{"checklist":[{"step":"a","status":"inProgress"}],"explanation":"why"},
		{"usage":{"input":1000,"cached":10,"output":5,"reasoning":2,"window":2000}},
		{"name":"A name"},{"warn":"mind {{text}}"},{"settings":{"mode":"default","sandbox":"workspace-write"}},
		{"ask_async":{"id":"call_1","questions":[{"title":"Which?","options":["A","B"]},{"title":"Why?"}]}}]}]}`), t.TempDir())
	c.hello()
	thread := c.thread(t.TempDir())
	c.turn(thread, "plan", "this")
	c.done()
	for _, want := range []struct{ method, path, value string }{
		{"configWarning", "summary", "careful"},
		{"turn/plan/updated", "plan", `[{"status":"inProgress","step":"a"}]`},
		{"thread/tokenUsage/updated", "tokenUsage.total.totalTokens", "1005"},
		{"thread/tokenUsage/updated", "tokenUsage.modelContextWindow", "2000"},
		{"thread/name/updated", "threadName", "A name"},
		{"warning", "message", "mind this"},
		{"thread/settings/updated", "threadSettings.collaborationMode.mode", "default"},
		{"item/started", "item.questions", `[{"options":["A","B"],"title":"Which?"},{"options":null,"title":"Why?"}]`},
		{"item/completed", "item.text", "Which?\n- A\n- B\n\nWhy?"},
	} {
		c.find(false, want.method+" with "+want.path+" "+want.value, func(f *frame) bool {
			return f.Method == want.method && field(t, f.Params, want.path) == want.value
		})
	}
}

func TestT3_UnknownItemsNotificationsAndRequestsAreSentAsTheyStand(t *testing.T) {
	s := parse(t, `{"turns":[{"steps":[
		{"item":{"type":"hologram","shape":"cube"}},
		{"notify":{"method":"weather/changed","params":{"wind":3}}},
		{"request":{"method":"item/dance/request","params":{"style":"tango"}}},
		{"say":"went on <&>"}]}]}`)
	c := connect(t, s, "")
	c.mu.Lock()
	c.lax = true
	c.mu.Unlock()
	c.hello()
	thread := c.thread(t.TempDir())
	c.turn(thread, "default", "go")
	f := c.await("weather/changed")
	if field(t, f.Params, "wind") != "3" || field(t, f.Params, "threadId") != thread {
		t.Errorf("%s", f.raw)
	}
	r := c.await("item/dance/request")
	c.send(obj{"id": r.ID, "error": obj{"code": -32601, "message": "no"}})
	c.done()
	if s := said(c); len(s) != 1 || s[0] != "went on <&>" {
		t.Errorf("said %q", s)
	}
	for _, f := range c.all() {
		if strings.Contains(f.raw, `\u003c`) {
			t.Errorf("escaped for HTML, which the real harness does not: %s", f.raw)
		}
	}
	c.find(false, "the item", func(f *frame) bool { return f.Method == "item/completed" && field(t, f.Params, "item.shape") == "cube" })
}

func TestT1_RawLinesGoOutAsTheyStand(t *testing.T) {
	s := parse(t, `{"turns":[{"steps":[{"raw":"plain text"},{"raw":""},{"raw":"\ufeff{\"method\":\"x\",\"params\":{}}"},{"raw_base64":"eyJtZXRob2QiOiLD"},{"say":"on"}]}]}`)
	c := connect(t, s, "")
	c.mu.Lock()
	c.lax = true
	c.mu.Unlock()
	c.hello()
	c.turn(c.thread(t.TempDir()), "default", "go")
	c.done()
	var lines []string
	for _, f := range c.all() {
		lines = append(lines, f.raw)
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{"plain text\n", "\n\n", "\ufeff{\"method\":\"x\"", "{\"method\":\"\xc3\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("no line %q", want)
		}
	}
}

func TestT2_HugeLinesAndBursts(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[
		{"burst":{"count":5000,"text":"ab"}},
		{"huge":{"bytes":3000000,"kind":"delta"}},{"huge":{"bytes":3000000,"kind":"junk"}},
		{"huge":{"bytes":3000000,"kind":"request"}},{"huge":{"bytes":3000000,"kind":"response"}},{"say":"on"}]}]}`), "")
	c.mu.Lock()
	c.lax = true
	c.mu.Unlock()
	c.hello()
	thread := c.thread(t.TempDir())
	c.turn(thread, "default", "go")
	c.reply(c.await("item/commandExecution/requestApproval"), obj{"decision": "decline"})
	c.done()
	c.call("model/list", obj{})
	deltas, huge := 0, 0
	for _, f := range c.all() {
		if f.Method == "item/agentMessage/delta" {
			deltas++
		}
		if len(f.raw) >= 3000000 {
			huge++
		}
	}
	if deltas != 5002 || huge != 4 {
		t.Errorf("%d deltas, %d huge lines", deltas, huge)
	}
	if s := said(c); s[0] != strings.Repeat("ab", 5000) {
		t.Errorf("the burst's message has %d bytes", len(s[0]))
	}
}

func TestPagesOfModelsAndItems(t *testing.T) {
	c := connect(t, parse(t, `{"page_size":2,"models":[{"id":"a","default":true},{"id":"b","efforts":["low"]},{"id":"c"},{"id":"h","hidden":true}],
		"turns":[{"repeat":true,"steps":[{"say":"{{text}}"}]}]}`), t.TempDir())
	c.hello()
	f := c.call("model/list", obj{})
	next := field(t, f.Result, "nextCursor")
	if next == "" || strings.Contains(f.raw, `"id":"c"`) {
		t.Fatalf("first page: %s", f.raw)
	}
	f = c.call("model/list", obj{"cursor": next})
	if !strings.Contains(f.raw, `"id":"c"`) || field(t, f.Result, "nextCursor") != "" || strings.Contains(f.raw, `"id":"h"`) {
		t.Errorf("second page: %s", f.raw)
	}
	if f = c.call("model/list", obj{"includeHidden": true, "limit": 9}); !strings.Contains(f.raw, `"id":"h"`) {
		t.Errorf("hidden: %s", f.raw)
	}
	thread := c.thread(t.TempDir())
	for i := range 3 {
		c.turn(thread, "default", strconv.Itoa(i), obj{"clientUserMessageId": "m" + strconv.Itoa(i)})
		c.done()
	}
	for _, direction := range []string{"asc", "desc"} {
		var got []string
		cursor := any(nil)
		for pages := 0; ; pages++ {
			f := c.call("thread/items/list", obj{"threadId": thread, "cursor": cursor, "limit": 4, "sortDirection": direction})
			var page struct {
				Data []struct {
					Item struct{ Type, ClientID, Text string }
				}
				Next *string `json:"nextCursor"`
			}
			if err := json.Unmarshal(f.Result, &page); err != nil {
				t.Fatal(err)
			}
			for _, d := range page.Data {
				got = append(got, d.Item.ClientID+d.Item.Text)
			}
			if page.Next == nil {
				if pages != 1 {
					t.Errorf("%d pages", pages+1)
				}
				break
			}
			cursor = *page.Next
		}
		want := "m0 0 m1 1 m2 2"
		if direction == "desc" {
			want = "2 m2 1 m1 0 m0"
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s", direction, s)
		}
	}
}

func TestAnEphemeralThreadLeavesNothingBehind(t *testing.T) {
	home := t.TempDir()
	c := connect(t, scripted.Script{Defaults: scripted.Defaults{ApprovalPolicy: "never", Sandbox: "workspace-write", Effort: "low"}}, home)
	c.hello()
	f := c.call("thread/start", obj{"cwd": t.TempDir(), "ephemeral": true})
	for path, want := range map[string]string{"thread.ephemeral": "true", "thread.path": "", "approvalPolicy": "never", "sandbox.type": "workspaceWrite",
		"reasoningEffort": "low", "approvalsReviewer": "user", "model": "scripted-1"} {
		if got := field(t, f.Result, path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	c.turn(field(t, f.Result, "thread.id"), "default", "x")
	c.done()
	if entries, err := os.ReadDir(home); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestATurnOfTheScriptIsUsedUpPerThreadAndOverRestarts(t *testing.T) {
	home := t.TempDir()
	script := parse(t, `{"turns":[{"steps":[{"say":"one"}]},{"steps":[{"say":"two"}]}]}`)
	c := connect(t, script, home)
	c.hello()
	a, b := c.thread(t.TempDir()), c.thread(t.TempDir())
	for _, thread := range []string{a, b} {
		c.turn(thread, "default", "x")
		c.done()
	}
	_ = c.in.Close()
	<-c.code
	c2 := connect(t, script, home)
	c2.hello()
	c2.call("thread/resume", obj{"threadId": a, "excludeTurns": true})
	for range 2 {
		c2.turn(a, "default", "x")
		c2.done()
	}
	if s := strings.Join(append(said(c), said(c2)...), "|"); s != "one|one|two|The script has no turn for this." {
		t.Errorf("said %s", s)
	}
}

func TestTheEndOfTheInputEndsARunningTurnAndTheProcess(t *testing.T) {
	c := connect(t, parse(t, `{"turns":[{"steps":[{"say":"a"},{"wait_interrupt":true}]}]}`), t.TempDir())
	c.hello()
	c.turn(c.thread(t.TempDir()), "default", "x")
	c.await("item/completed")
	_ = c.in.Close()
	select {
	case code := <-c.code:
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(time.Minute):
		t.Fatal("it did not end")
	}
}

// watcher is called with each line that a harness is about to write.
type watcher func(line string)

func (w watcher) Write(line []byte) (int, error) {
	w(string(line))
	return len(line), nil
}

// A process that is killed once it has taken a message has it in its history, so that
// a test can tell what was delivered from what was not.
func TestAMessageIsInTheHistoryBeforeItsTurnIsAnswered(t *testing.T) {
	home := t.TempDir()
	inR, inW := io.Pipe()
	answers := make(chan string, 10)
	kept := 0
	server := scripted.New(scripted.Config{
		Script: parse(t, `{"turns":[{"repeat":true,"steps":[{"say":"Done."}]}]}`), Stdin: inR, Stderr: io.Discard, Home: home,
		Stdout: watcher(func(line string) {
			var f frame
			if json.Unmarshal([]byte(line), &f) != nil || f.ID == nil {
				return
			}
			files, _ := filepath.Glob(filepath.Join(home, "scripted", "*.jsonl"))
			for _, file := range files {
				b, _ := os.ReadFile(file)
				kept += strings.Count(string(b), `"clientId":"m-1"`)
			}
			answers <- line
		}),
	})
	ended := make(chan int, 1)
	go func() { ended <- server.Run() }()
	ask := func(line string) (f frame) {
		if _, err := io.WriteString(inW, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(<-answers), &f); err != nil || f.Error != nil {
			t.Fatalf("%s: %+v %v", line, f.Error, err)
		}
		return f
	}
	ask(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"t","version":"1"},"capabilities":{"experimentalApi":true}}}`)
	thread := field(t, ask(`{"id":2,"method":"thread/start","params":{"cwd":"/"}}`).Result, "thread.id")
	ask(`{"id":3,"method":"turn/start","params":{"threadId":"` + thread + `","clientUserMessageId":"m-1","input":[{"type":"text","text":"Go"}]}}`)
	_ = inW.Close()
	<-ended
	if kept != 1 {
		t.Fatalf("when its turn was answered the message was %d times in the history", kept)
	}
}
