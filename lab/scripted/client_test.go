package scripted_test

import (
	"bufio"
	"bytes"
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

type obj = map[string]any

// frame is a line the harness wrote.
type frame struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *scripted.RPCError
	raw    string
}

// client talks to a harness inside the test process, and checks every frame it gets
// against the provider's own schemas.
type client struct {
	t       *testing.T
	in      *io.PipeWriter
	stderr  *syncBuffer
	code    chan int
	version string
	lax     bool // frames of this script break the schema on purpose

	mu     sync.Mutex
	cond   *sync.Cond
	frames []frame
	from   int
	eof    bool
	id     int
	asked  map[string]string
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func parse(t *testing.T, script string) scripted.Script {
	t.Helper()
	s, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// connect starts a harness with a script; it ends with the test at the latest.
func connect(t *testing.T, script scripted.Script, home string) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, stderr: &syncBuffer{}, code: make(chan int, 1), version: script.Version, asked: map[string]string{}}
	if c.version == "" {
		c.version = scripted.Version171
	}
	c.cond = sync.NewCond(&c.mu)
	server := scripted.New(scripted.Config{Script: script, Stdin: inR, Stdout: outW, Stderr: c.stderr, Home: home})
	var wg sync.WaitGroup
	wg.Add(2)
	go func() {
		defer wg.Done()
		code := server.Run()
		_ = outW.Close()
		c.code <- code
	}()
	go func() {
		defer wg.Done()
		c.read(outR)
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		wg.Wait()
		if t.Failed() {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, f := range c.frames {
				t.Logf("← %.300s", f.raw)
			}
			t.Logf("stderr: %s", c.stderr)
		}
	})
	return c
}

func (c *client) read(r io.Reader) {
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		if line != "" {
			f := frame{raw: strings.TrimRight(line, "\n")}
			if json.Unmarshal([]byte(line), &f) == nil {
				f.raw = strings.TrimRight(line, "\n")
			}
			c.mu.Lock()
			c.check(&f)
			c.frames = append(c.frames, f)
			c.cond.Broadcast()
			c.mu.Unlock()
		}
		if err != nil {
			c.mu.Lock()
			c.eof = true
			c.cond.Broadcast()
			c.mu.Unlock()
			return
		}
	}
}

var validators = sync.OnceValues(func() (*schemas.Set, error) {
	bundles, err := bundled.All("codex")
	if err != nil {
		return nil, err
	}
	var used schemas.Used
	seen := map[string]bool{}
	for _, b := range bundles {
		for _, m := range b.Methods {
			if m.Direction == schemas.ToProvider && m.Kind == schemas.Request && !seen[m.Name] && served[m.Name] {
				seen[m.Name] = true
				used.Calls = append(used.Calls, m.Name)
			}
			if m.Direction == schemas.FromProvider && m.Kind == schemas.Request && !seen[m.Name] {
				seen[m.Name] = true
				used.Requests = append(used.Requests, m.Name)
			}
		}
	}
	packed, err := schemas.Pack(bundles, used)
	if err != nil {
		return nil, err
	}
	return schemas.Open(packed)
})

// served are the methods the scripted harness answers.
var served = map[string]bool{"initialize": true, "model/list": true, "collaborationMode/list": true, "account/read": true, "thread/start": true,
	"thread/resume": true, "thread/read": true, "thread/items/list": true, "thread/turns/list": true, "thread/settings/update": true,
	"thread/name/set": true, "thread/unsubscribe": true, "turn/start": true, "turn/steer": true, "turn/interrupt": true}

// check holds a frame against the schema of the version that is imitated.
func (c *client) check(f *frame) {
	if c.lax {
		return
	}
	set, err := validators()
	if err != nil {
		c.t.Errorf("no schemas: %v", err)
		return
	}
	v := set.For(c.version)
	switch {
	case f.Method != "" && f.ID != nil:
		err = v.Check(schemas.FromProvider, schemas.Request, f.Method, f.Params)
	case f.Method != "":
		err = v.Check(schemas.FromProvider, schemas.Notification, f.Method, f.Params)
	case f.Result != nil:
		err = v.Check(schemas.FromProvider, schemas.Result, c.asked[string(f.ID)], f.Result)
	}
	if err != nil {
		c.t.Errorf("the provider's schema refuses %.200s: %v", f.raw, err)
	}
}

func (c *client) send(v any) {
	c.t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	c.line(string(line))
}

func (c *client) line(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.t.Logf("harness takes no input: %v", err)
	}
}

func (c *client) post(method string, params any) string {
	c.t.Helper()
	c.mu.Lock()
	c.id++
	id := fmt.Sprint(c.id)
	c.asked[id] = method
	c.mu.Unlock()
	c.send(obj{"id": c.id, "method": method, "params": params})
	return id
}

func (c *client) call(method string, params any) frame {
	c.t.Helper()
	return c.response(c.post(method, params))
}

func (c *client) response(id string) frame {
	c.t.Helper()
	return c.find(false, "response "+id, func(f *frame) bool { return f.Method == "" && string(f.ID) == id })
}

// await returns the next frame with this method and moves behind it.
func (c *client) await(method string) frame {
	c.t.Helper()
	return c.find(true, method, func(f *frame) bool { return f.Method == method })
}

func (c *client) find(move bool, what string, pred func(*frame) bool) frame {
	c.t.Helper()
	deadline := time.Now().Add(time.Minute)
	wake := time.AfterFunc(time.Minute, c.cond.Broadcast)
	defer wake.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	i := 0
	if move {
		i = c.from
	}
	for {
		for ; i < len(c.frames); i++ {
			if pred(&c.frames[i]) {
				if move {
					c.from = i + 1
				}
				return c.frames[i]
			}
		}
		if c.eof || time.Now().After(deadline) {
			c.t.Fatalf("the harness did not send %s", what)
		}
		c.cond.Wait()
	}
}

func (c *client) all() []frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]frame(nil), c.frames...)
}

func (c *client) reply(to frame, result any) {
	c.t.Helper()
	c.send(obj{"id": to.ID, "result": result})
}

func (c *client) hello() {
	c.t.Helper()
	f := c.call("initialize", obj{"clientInfo": obj{"name": "ao-host", "title": "ao-host", "version": "0.1.0"}, "capabilities": obj{"experimentalApi": true}})
	if f.Error != nil {
		c.t.Fatalf("initialize: %+v", f.Error)
	}
	c.send(obj{"method": "initialized"})
}

// thread starts a thread in dir and returns its id.
func (c *client) thread(dir string) string {
	c.t.Helper()
	f := c.call("thread/start", obj{"cwd": dir})
	return field(c.t, f.Result, "thread.id")
}

// turn starts a turn and returns its id.
func (c *client) turn(thread, mode, text string, more ...obj) string {
	c.t.Helper()
	p := obj{"threadId": thread, "input": []obj{{"type": "text", "text": text}},
		"collaborationMode": obj{"mode": mode, "settings": obj{"model": "scripted-1", "reasoning_effort": "high", "developer_instructions": nil}}}
	for _, m := range more {
		for k, v := range m {
			p[k] = v
		}
	}
	f := c.call("turn/start", p)
	if f.Error != nil {
		c.t.Fatalf("turn/start: %+v", f.Error)
	}
	return field(c.t, f.Result, "turn.id")
}

// done waits for the end of a turn and returns its status.
func (c *client) done() string {
	c.t.Helper()
	return field(c.t, c.await("turn/completed").Params, "turn.status")
}

// field reads a text, number or word at a dotted path; "" when it is not there.
func field(t *testing.T, raw json.RawMessage, path string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	for _, name := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[name]
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}
