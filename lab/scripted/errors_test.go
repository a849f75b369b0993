package scripted_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/lab/scripted"
)

const unknownThread = "0199a229-0000-7000-8000-000000000000"

// The texts are those of the real binaries; lab's live tests hold them against both.
func TestRequestsThatTheRealHarnessRefusesAreRefusedInItsWords(t *testing.T) {
	for _, version := range []string{scripted.Version171, scripted.Version153} {
		t.Run(version, func(t *testing.T) {
			c := connect(t, scripted.Script{Version: version}, t.TempDir())
			expect := func(method string, params any, code int, message string) {
				t.Helper()
				f := c.call(method, params)
				switch {
				case f.Error == nil:
					t.Errorf("%s %v: no error", method, params)
				case f.Error.Code != code || !strings.HasPrefix(f.Error.Message, message):
					t.Errorf("%s %v: %d %s, want %d %s", method, params, f.Error.Code, f.Error.Message, code, message)
				}
			}
			expect("model/list", obj{}, -32600, "Not initialized")
			expect("initialize", obj{}, -32600, "Invalid request: missing field `clientInfo`")
			c.hello()
			expect("initialize", obj{"clientInfo": obj{"name": "x", "version": "1"}}, -32600, "Already initialized")
			expect("no/such", obj{}, -32600, "Invalid request: unknown variant `no/such`, expected one of `")
			expect("turn/start", obj{"threadId": unknownThread, "input": []obj{}}, -32600, "thread not found: "+unknownThread)
			expect("turn/start", obj{"threadId": "nope", "input": []obj{}}, -32600,
				"invalid thread id: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `n` at 1")
			expect("turn/start", obj{"input": []obj{}}, -32600, "Invalid request: missing field `threadId`")
			expect("turn/start", obj{"threadId": unknownThread}, -32600, "Invalid request: missing field `input`")
			expect("turn/start", obj{"threadId": 5, "input": []obj{}}, -32600, "Invalid request: invalid type: integer `5`, expected a string")
			expect("thread/resume", obj{"threadId": unknownThread}, -32600, "no rollout found for thread id "+unknownThread)
			expect("thread/resume", obj{"threadId": "nope"}, -32600,
				"invalid session id: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `n` at 1")
			expect("thread/resume", obj{}, -32600, "Invalid request: missing field `threadId`")
			expect("thread/items/list", obj{"threadId": unknownThread}, -32601, "thread/items/list is not supported yet")
			expect("thread/turns/list", obj{"threadId": unknownThread}, -32600, "thread not loaded: "+unknownThread)
			expect("turn/interrupt", obj{"threadId": unknownThread, "turnId": "x"}, -32600, "thread not found: "+unknownThread)
			expect("turn/steer", obj{"threadId": unknownThread, "expectedTurnId": "x", "input": []obj{}}, -32600, "thread not found: "+unknownThread)
			expect("thread/start", obj{"approvalPolicy": "banana"}, -32600,
				"Invalid request: unknown variant `banana`, expected one of `untrusted`, `on-request`, `granular`, `never`")
			expect("model/list", obj{"cursor": "zzz"}, -32600, "invalid cursor: zzz")
			thread := c.thread(t.TempDir())
			expect("turn/interrupt", obj{"threadId": thread, "turnId": "x"}, -32600, "no active turn to interrupt")
			expect("turn/steer", obj{"threadId": thread, "expectedTurnId": "x", "input": []obj{{"type": "text", "text": "hi"}}}, -32600, "no active turn to steer")
			expect("thread/items/list", obj{"threadId": thread}, -32601, "thread/items/list is not supported yet")
			expect("thread/resume", obj{"threadId": thread}, -32600, "no rollout found for thread id "+thread)
			input := []obj{{"type": "text", "text": "x"}}
			expect("turn/start", obj{"threadId": thread, "input": input, "collaborationMode": obj{"mode": "zen", "settings": obj{"model": "m"}}}, -32600,
				"Invalid request: unknown variant `zen`, expected one of `plan`, `code`, `custom`, `default`, `execute`, `pair_programming`")
			expect("turn/start", obj{"threadId": thread, "input": input, "collaborationMode": obj{"mode": "plan", "settings": obj{}}}, -32600,
				"Invalid request: missing field `model`")
			expect("turn/start", obj{"threadId": thread, "input": input, "sandboxPolicy": obj{"type": "open"}}, -32600, "Invalid request: unknown variant `open`")
		})
	}
}

func TestT5_LinesThatAreNoMessageAreNotAnswered(t *testing.T) {
	c := connect(t, scripted.Script{}, "")
	c.hello()
	before := len(c.all())
	for _, line := range []string{"hello", `"hello"`, `[]`, `{"id":78}`, `{"id":null,"method":"model/list","params":{}}`, `{"id":1234,"result":{}}`,
		`{"id":1235,"error":{"code":-1,"message":"x"}}`, `{`, ""} {
		c.line(line)
	}
	c.line(`{"id":"7","method":"model/list"}`)
	f := c.find(false, "the answer to a text id", func(f *frame) bool { return string(f.ID) == `"7"` })
	if f.Error == nil || f.Error.Message != "Invalid request: missing field `params`" {
		t.Errorf("a request without params: %s", f.raw)
	}
	for _, f := range c.all()[before:] {
		if f.Method != "remoteControl/status/changed" && string(f.ID) != `"7"` {
			t.Errorf("answered junk with %s", f.raw)
		}
	}
	if !strings.Contains(c.stderr.String(), "Failed to deserialize JSONRPCMessage") {
		t.Errorf("standard error does not tell of the junk: %q", c.stderr)
	}
}

func TestAMethodCanBeOverriddenAsOftenAsTheScriptSays(t *testing.T) {
	c := connect(t, parse(t, `{"methods":{
		"collaborationMode/list":[{"times":2,"error":{"code":-32000,"message":"sign in"}},{"times":1,"result":{"data":[]}}],
		"account/read":[{"delay_ms":1}],
		"thread/read":[{"hang":true}]}}`), "")
	c.hello()
	for range 2 {
		if f := c.call("collaborationMode/list", obj{}); f.Error == nil || f.Error.Code != -32000 {
			t.Errorf("not overridden: %s", f.raw)
		}
	}
	if f := c.call("collaborationMode/list", obj{}); string(f.Result) != `{"data":[]}` {
		t.Errorf("not the scripted result: %s", f.raw)
	}
	if f := c.call("collaborationMode/list", obj{}); !strings.Contains(f.raw, "Plan") {
		t.Errorf("still overridden: %s", f.raw)
	}
	if f := c.call("account/read", obj{}); f.Result == nil {
		t.Errorf("a delayed method is not answered in the ordinary way: %s", f.raw)
	}
	id := c.post("thread/read", obj{"threadId": unknownThread})
	c.call("account/read", obj{})
	for _, f := range c.all() {
		if string(f.ID) == id {
			t.Errorf("a hanging method was answered: %s", f.raw)
		}
	}
}

func TestScriptsThatMeanNothingAreRefused(t *testing.T) {
	for name, script := range map[string]string{
		"not JSON":             `{`,
		"unknown member":       `{"turnz":[]}`,
		"text after the end":   `{} {}`,
		"unknown version":      `{"version":"9"}`,
		"two verbs":            `{"turns":[{"steps":[{"say":"a","reason":"b"}]}]}`,
		"no verb":              `{"turns":[{"steps":[{"chunks":3}]}]}`,
		"outside the folder":   `{"turns":[{"steps":[{"write_file":{"path":"../x","text":""}}]}]}`,
		"unknown respond":      `{"turns":[{"respond":"later","steps":[]}]}`,
		"nested":               `{"turns":[{"steps":[{"if":{},"then":[{}]}]}]}`,
		"in a child":           `{"turns":[{"steps":[{"child":{"prompt":"x","steps":[{}]}}]}]}`,
		"turn step at start":   `{"start":[{"say":"a"}]}`,
		"unknown kind of huge": `{"turns":[{"steps":[{"huge":{"bytes":1,"kind":"x"}}]}]}`,
		"bad base64":           `{"turns":[{"steps":[{"raw_base64":"%"}]}]}`,
		"form without schema":  `{"turns":[{"steps":[{"form":{"message":"x"}}]}]}`,
	} {
		if _, err := scripted.Parse([]byte(script)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
