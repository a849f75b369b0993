package scripted_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/lab/scripted"
)

const unknownThread = "0199a229-0000-7000-8000-000000000000"

// The refusals are those of the real binaries: lab's live tests hold both versions against the same file.
func TestRequestsThatTheRealHarnessRefusesAreRefusedInItsWords(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "scripts", "refusals.json"))
	if err != nil {
		t.Fatal(err)
	}
	var refusals []struct {
		Before, Method string
		Params         json.RawMessage
		Code           int
		Message        string
	}
	if err := json.Unmarshal(data, &refusals); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{scripted.Version171, scripted.Version153} {
		t.Run(version, func(t *testing.T) {
			c := connect(t, scripted.Script{Version: version}, t.TempDir())
			thread := ""
			for _, r := range refusals {
				if r.Before == "" && thread == "" {
					c.hello()
					thread = c.thread(t.TempDir())
				}
				fill := strings.NewReplacer("$UNKNOWN", unknownThread, "$THREAD", thread)
				f := c.call(r.Method, json.RawMessage(fill.Replace(string(r.Params))))
				if f.Error == nil || f.Error.Code != r.Code || !strings.HasPrefix(f.Error.Message, fill.Replace(r.Message)) {
					t.Errorf("%s %s:\n got %.300s\nwant %d %s", r.Method, r.Params, f.raw, r.Code, r.Message)
				}
			}
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
	gate := filepath.Join(t.TempDir(), "gate")
	c := connect(t, parse(t, `{"methods":{
		"collaborationMode/list":[{"times":2,"error":{"code":-32000,"message":"sign in"}},{"times":1,"result":{"data":[]}}],
		"account/read":[{"delay_ms":1,"wait_file":`+strconv.Quote(gate)+`}],
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
	late := c.post("account/read", obj{})
	c.call("model/list", obj{})
	for _, f := range c.all() {
		if string(f.ID) == late {
			t.Errorf("a method that waits for a file was answered without it: %s", f.raw)
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := c.response(late); f.Result == nil {
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
