package scripted_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab/scripted"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// agent is a scripted ACP agent in this process and the client's end of it.
type agent struct {
	t       *testing.T
	in      *io.PipeWriter
	stderr  *syncBuffer
	code    chan int
	dir     string
	session string

	profile string
	lax     bool // frames of this script break the schema on purpose

	mu     sync.Mutex
	cond   *sync.Cond
	frames []frame
	from   int
	id     int
	eof    bool
	asked  map[string]string
}

// schemaOf is the provider and version whose schemas hold for a profile. An older Grok has none of its own.
var schemaOf = map[string][2]string{
	scripted.ProfileClaude101: {"claude", "0.101.0"}, scripted.ProfileClaude049: {"claude", "0.49.0"}, scripted.ProfileGrok: {"grok", "1.0.41"},
	scripted.ProfileGrokLegacy: {"grok", "1.0.41"}, scripted.ProfileKimchi: {"kimchi", "0.0.0-20260821"}, scripted.ProfileModern: {"acp", "2.4.0"},
	scripted.ProfileLegacy: {"acp", "2.4.0"}, scripted.ProfileBoth: {"acp", "2.4.0"},
}

var acpValidators = map[string]func() (*schemas.Set, error){
	"claude": sync.OnceValues(func() (*schemas.Set, error) { return openACP("claude") }), "grok": sync.OnceValues(func() (*schemas.Set, error) { return openACP("grok") }),
	"kimchi": sync.OnceValues(func() (*schemas.Set, error) { return openACP("kimchi") }), "acp": sync.OnceValues(func() (*schemas.Set, error) { return openACP("acp") }),
}

// openACP compiles the schemas of a provider for everything an agent sends.
func openACP(provider string) (*schemas.Set, error) {
	bundles, err := bundled.All(provider)
	if err != nil {
		return nil, err
	}
	var used schemas.Used
	seen := map[string]bool{}
	for _, b := range bundles {
		for _, m := range b.Methods {
			switch {
			case m.Kind != schemas.Request || seen[m.Name]:
			case m.Direction == schemas.FromProvider:
				used.Requests = append(used.Requests, m.Name)
			default:
				used.Calls = append(used.Calls, m.Name)
			}
			seen[m.Name] = seen[m.Name] || m.Kind == schemas.Request
		}
	}
	packed, err := schemas.Pack(bundles, used)
	if err != nil {
		return nil, err
	}
	return schemas.Open(packed)
}

// check holds a frame against the provider's schema; what the provider publishes none for passes.
func (a *agent) check(f *frame) {
	provider := schemaOf[a.profile]
	set, err := acpValidators[provider[0]]()
	if err != nil {
		a.t.Errorf("no schemas: %v", err)
		return
	}
	v := set.For(provider[1])
	kind, method, payload := schemas.Notification, f.Method, f.Params
	switch {
	case f.Method != "" && f.ID != nil:
		kind = schemas.Request
	case f.Method == "" && f.Result != nil:
		kind, method, payload = schemas.Result, a.asked[string(f.ID)], f.Result
	case f.Method == "":
		return
	}
	if !v.Known(schemas.FromProvider, kind, method) {
		return
	}
	if err := v.Check(schemas.FromProvider, kind, method, payload); err != nil {
		a.t.Errorf("the schema refuses %.300s: %v", f.raw, err)
	}
}

func parseACP(t *testing.T, script string) scripted.ACPScript {
	t.Helper()
	s, err := scripted.ParseACP([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// startACP runs an agent with a script in the profile; home keeps its sessions.
func startACP(t *testing.T, profile, script, home string) *agent {
	t.Helper()
	return startACPLax(t, profile, script, home, false)
}

// startACPLax is startACP for scripts whose frames break the schema on purpose.
func startACPLax(t *testing.T, profile, script, home string, lax bool) *agent {
	t.Helper()
	s := parseACP(t, script)
	if profile != "" {
		s.Profile = profile
	}
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	a := &agent{t: t, in: in, stderr: &syncBuffer{}, code: make(chan int, 1), dir: t.TempDir(), profile: s.Profile, lax: lax, asked: map[string]string{}}
	if a.profile == "" {
		a.profile = scripted.ProfileModern
	}
	a.cond = sync.NewCond(&a.mu)
	go func() {
		a.code <- scripted.NewACP(scripted.ACPConfig{Script: s, Stdin: stdin, Stdout: stdout, Stderr: a.stderr, Home: home}).Run()
		_ = stdout.Close()
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		r := bufio.NewReaderSize(out, 1<<16)
		for {
			line, err := r.ReadString('\n')
			a.mu.Lock()
			if line = strings.TrimSuffix(line, "\n"); line != "" {
				f := frame{raw: line}
				if json.Unmarshal([]byte(line), &f) != nil {
					f = frame{}
				}
				f.raw = line
				if !a.lax && len(line) < 1<<20 {
					a.check(&f)
				}
				a.frames = append(a.frames, f)
			}
			a.eof = a.eof || err != nil
			a.cond.Broadcast()
			a.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		a.stop()
		<-read
		if t.Failed() {
			for _, f := range a.all() {
				t.Logf("%.400s", f.raw)
			}
			t.Logf("stderr: %s", a.stderr)
		}
	})
	return a
}

// stop ends the agent as the end of its input does.
func (a *agent) stop() {
	_ = a.in.Close() // closed twice at worst
	select {
	case code := <-a.code:
		a.code <- code
	case <-time.After(time.Minute):
		a.t.Error("the agent does not end")
	}
}

func (a *agent) line(text string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, text+"\n"); err != nil {
		a.t.Logf("the agent takes no input: %v", err)
	}
}

func (a *agent) send(v obj) {
	a.t.Helper()
	v["jsonrpc"] = "2.0"
	line, err := json.Marshal(v)
	if err != nil {
		a.t.Fatal(err)
	}
	a.line(string(line))
}

func (a *agent) post(method string, params any) string {
	a.t.Helper()
	a.mu.Lock()
	a.id++
	id := a.id
	a.asked[fmt.Sprint(id)] = method
	a.mu.Unlock()
	a.send(obj{"id": id, "method": method, "params": params})
	return fmt.Sprint(id)
}

func (a *agent) call(method string, params any) frame {
	a.t.Helper()
	return a.response(a.post(method, params))
}

func (a *agent) response(id string) frame {
	a.t.Helper()
	return a.find(false, "response "+id, func(f *frame) bool { return f.Method == "" && string(f.ID) == id })
}

func (a *agent) await(method string) frame {
	a.t.Helper()
	return a.find(true, method, func(f *frame) bool { return f.Method == method })
}

// update waits for the next update of a kind.
func (a *agent) update(kind string) frame {
	a.t.Helper()
	return a.find(true, "an update "+kind, func(f *frame) bool { return updateKind(a.t, f) == kind })
}

// updateKind is the kind of a session update or of one of Grok's notifications; "" of other frames.
func updateKind(t *testing.T, f *frame) string {
	if f.Params == nil {
		return ""
	}
	return field(t, f.Params, "update.sessionUpdate")
}

func (a *agent) find(move bool, what string, pred func(*frame) bool) frame {
	a.t.Helper()
	deadline := time.Now().Add(time.Minute)
	wake := time.AfterFunc(time.Minute, a.cond.Broadcast)
	defer wake.Stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	i := 0
	if move {
		i = a.from
	}
	for {
		for ; i < len(a.frames); i++ {
			if pred(&a.frames[i]) {
				if move {
					a.from = i + 1
				}
				return a.frames[i]
			}
		}
		if a.eof || time.Now().After(deadline) {
			a.t.Fatalf("the agent did not send %s", what)
		}
		a.cond.Wait()
	}
}

func (a *agent) all() []frame {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]frame(nil), a.frames...)
}

func (a *agent) reply(to frame, result any) {
	a.t.Helper()
	a.send(obj{"id": to.ID, "result": result})
}

var bothElicitations = obj{"fs": obj{"readTextFile": false, "writeTextFile": false}, "terminal": false, "elicitation": obj{"form": obj{}, "url": obj{}}}

func (a *agent) hello() frame {
	a.t.Helper()
	f := a.call("initialize", obj{"protocolVersion": 1, "clientInfo": obj{"name": "t", "version": "1"}, "clientCapabilities": bothElicitations})
	if f.Error != nil {
		a.t.Fatalf("initialize: %s", f.raw)
	}
	return f
}

// open says hello and starts a session.
func (a *agent) open() frame {
	a.t.Helper()
	a.hello()
	f := a.call("session/new", obj{"cwd": a.dir, "mcpServers": []any{}})
	if f.Error != nil {
		a.t.Fatalf("session/new: %s", f.raw)
	}
	a.session = field(a.t, f.Result, "sessionId")
	return f
}

func (a *agent) reopen(method, session string) frame {
	a.t.Helper()
	a.session = session
	return a.call(method, obj{"sessionId": session, "cwd": a.dir, "mcpServers": []any{}})
}

func (a *agent) set(option string, value any) frame {
	a.t.Helper()
	return a.call("session/set_config_option", obj{"sessionId": a.session, "configId": option, "value": value})
}

func (a *agent) prompt(text string) string {
	a.t.Helper()
	return a.post("session/prompt", obj{"sessionId": a.session, "prompt": []obj{{"type": "text", "text": text}}})
}

func (a *agent) cancel() {
	a.t.Helper()
	a.send(obj{"method": "session/cancel", "params": obj{"sessionId": a.session}})
}

// ends waits for the answer to a prompt and returns its stop reason, or its error.
func (a *agent) ends(prompt string) string {
	a.t.Helper()
	f := a.response(prompt)
	if f.Error != nil {
		return fmt.Sprintf("error %d %s", f.Error.Code, f.Error.Message)
	}
	return field(a.t, f.Result, "stopReason")
}

// enterPlan puts the agent into plan mode by its profile's own means.
func (a *agent) enterPlan(profile string) {
	a.t.Helper()
	switch profile {
	case scripted.ProfileGrok, scripted.ProfileGrokLegacy, scripted.ProfileLegacy:
		if f := a.call("session/set_mode", obj{"sessionId": a.session, "modeId": "plan"}); f.Error != nil {
			a.t.Fatalf("%s", f.raw)
		}
	case scripted.ProfileKimchi:
		a.set("permissions-mode", "plan")
	default:
		a.set("mode", "plan")
	}
}

// current are the values of the config options in a result or in an update.
func current(t *testing.T, raw json.RawMessage) map[string]string {
	t.Helper()
	type list []struct {
		ID           string
		CurrentValue any
	}
	var p struct {
		ConfigOptions list
		Update        struct{ ConfigOptions list }
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	values := map[string]string{}
	for _, o := range append(p.ConfigOptions, p.Update.ConfigOptions...) {
		values[o.ID] = fmt.Sprint(o.CurrentValue)
	}
	return values
}

func selected(option string) obj {
	return obj{"outcome": obj{"outcome": "selected", "optionId": option}}
}
