package lab_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/lab/model"
)

// acp is a real ACP agent in its lab, spoken to without a host.
type acp struct {
	*lab.Lines
	t       *testing.T
	model   *model.Server
	home    lab.Home
	dir     string
	session string
}

// connect starts the process and initializes it.
func (a *acp) connect() lab.Frame {
	a.t.Helper()
	a.Lines = lab.StartLines(a.t, a.home, a.dir)
	f := a.Call("initialize", obj{"protocolVersion": 1, "clientInfo": obj{"name": "ao-host", "version": "0.1.0"},
		"clientCapabilities": obj{"fs": obj{"readTextFile": false, "writeTextFile": false}, "terminal": false, "elicitation": obj{"form": obj{}, "url": obj{}}}})
	if f.Error != nil {
		a.t.Fatalf("initialize: %s", f.Raw)
	}
	return f
}

// open starts a session and returns the answer.
func (a *acp) open() lab.Frame {
	a.t.Helper()
	f := a.Call("session/new", obj{"cwd": a.dir, "mcpServers": []any{}})
	if f.Error != nil {
		a.t.Fatalf("session/new: %s", f.Raw)
	}
	a.session = text(a.t, f, "sessionId")
	return f
}

func (a *acp) set(option, value string) lab.Frame {
	a.t.Helper()
	return a.Call("session/set_config_option", obj{"sessionId": a.session, "configId": option, "value": value})
}

// prompt sends a message and returns the id of the request.
func (a *acp) prompt(message string, more ...obj) int {
	a.t.Helper()
	p := obj{"sessionId": a.session, "prompt": []obj{{"type": "text", "text": message}}}
	for _, m := range more {
		for k, v := range m {
			p[k] = v
		}
	}
	return a.Post("session/prompt", p)
}

func (a *acp) cancel() { a.Notify("session/cancel", obj{"sessionId": a.session}) }

// ended waits for the answer to a prompt and holds its stop reason against want.
func (a *acp) ended(prompt int, want string) lab.Frame {
	a.t.Helper()
	f := a.Response(prompt)
	if f.Error != nil || text(a.t, f, "stopReason") != want {
		a.t.Errorf("the prompt ended %s, want %s", f.Raw, want)
	}
	return f
}

// update waits for the next update of a kind.
func (a *acp) update(kind string, and ...func(*lab.Frame) bool) lab.Frame {
	a.t.Helper()
	return a.Await("session/update", append([]func(*lab.Frame) bool{
		func(f *lab.Frame) bool { return text(a.t, *f, "update.sessionUpdate") == kind }}, and...)...)
}

// eventually waits for an update that may have come before or may still come.
func (a *acp) eventually(what string, is func(*lab.Frame) bool) {
	a.t.Helper()
	for deadline := time.Now().Add(a.Timeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, f := range a.Frames() {
			if f.Method == "session/update" && is(&f) {
				return
			}
		}
	}
	a.t.Errorf("there is never %s", what)
}

// acpRefusal is a request and how it is answered; lab/scripted is held against the same file.
type acpRefusal struct {
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Code    int
	Message string
	Data    any
}

// refused sends the requests that testdata/scripts/acp-refusals.json lists for a harness.
func (a *acp) refused() {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "scripts", "acp-refusals.json"))
	if err != nil {
		a.t.Fatal(err)
	}
	var all map[string][]acpRefusal
	if err := json.Unmarshal(data, &all); err != nil {
		a.t.Fatal(err)
	}
	list := all[a.home.Harness.ID+" "+a.home.Harness.Version]
	if len(list) == 0 {
		a.t.Fatal("nothing is listed for this harness")
	}
	fill := strings.NewReplacer("$SESSION", a.session, "$DIR", a.dir)
	for _, r := range list {
		f := a.Call(r.Method, json.RawMessage(fill.Replace(string(r.Params))))
		var got any
		if f.Error != nil && f.Error.Data != nil && json.Unmarshal(f.Error.Data, &got) != nil {
			a.t.Fatalf("%s", f.Raw)
		}
		if r.Result != nil && string(f.Result) != strings.ReplaceAll(string(r.Result), " ", "") && !strings.HasPrefix(string(f.Result), `{"sessions":[`) ||
			r.Result == nil && (f.Error == nil || f.Error.Code != r.Code || f.Error.Message != r.Message || !reflect.DeepEqual(got, r.Data)) {
			a.t.Errorf("%s %s:\n got %.400s\nwant %d %s %v", r.Method, r.Params, f.Raw, r.Code, r.Message, r.Data)
		}
	}
}

func startClaude(t *testing.T, version string, opts lab.ClaudeOptions, steps ...model.Step) *acp {
	t.Helper()
	t.Parallel()
	h := lab.Require(t, "claude", version)
	srv := model.Start(t, model.Script{Steps: steps})
	a := &acp{t: t, model: srv, home: lab.ClaudeHome(t, h, srv.URL(), opts), dir: t.TempDir()}
	a.connect()
	return a
}

func startGrok(t *testing.T, opts lab.GrokOptions, steps ...model.Step) *acp {
	t.Helper()
	t.Parallel()
	h := lab.Require(t, "grok", "1.0.41")
	srv := model.Start(t, model.Script{Steps: steps})
	a := &acp{t: t, model: srv, home: lab.GrokHome(t, h, srv.URL()+"/v1", opts), dir: t.TempDir()}
	a.connect()
	return a
}
