package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Frame is one line a harness wrote.
type Frame struct {
	At     time.Duration // since the start
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *RPCError
	Raw    string
}

// RPCError is the error of a response.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// IsRequest says whether the harness wants an answer.
func (f *Frame) IsRequest() bool { return f.Method != "" && f.ID != nil }

// Decode unmarshals the params, or the result when there are none, into v.
func (f *Frame) Decode(v any) error {
	raw := f.Params
	if raw == nil {
		raw = f.Result
	}
	return json.Unmarshal(raw, v)
}

// Lines is a running harness that a test talks to line by line, without a host: the
// instrument for finding out what a real harness does. Frames are kept in order; the
// cursor of Await only moves forward.
type Lines struct {
	tb      TB
	jsonrpc bool
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	started time.Time
	exited  chan struct{}

	// Timeout bounds Call, Await and the end. It only delays failures: a harness may
	// start on a busy machine.
	Timeout time.Duration

	mu     sync.Mutex
	cond   *sync.Cond
	log    []Frame
	sent   []string
	cursor int
	eof    bool
	nextID int
	stderr bytes.Buffer
}

// StartLines launches a home's harness in dir. It is ended, with its process group, when the test ends.
func StartLines(tb TB, home Home, dir string) *Lines {
	tb.Helper()
	l := &Lines{tb: tb, jsonrpc: home.JSONRPC, started: time.Now(), exited: make(chan struct{}), Timeout: 3 * time.Minute}
	l.cond = sync.NewCond(&l.mu)
	l.cmd = exec.Command(home.Argv[0], home.Argv[1:]...)
	l.cmd.Dir, l.cmd.Env = dir, home.Env
	l.cmd.SysProcAttr = ownGroup()
	l.cmd.Stderr = lockedWriter{l}
	l.cmd.WaitDelay = 2 * time.Second // a grandchild may hold standard error open
	stdin, err := l.cmd.StdinPipe()
	if err != nil {
		tb.Fatalf("lab: %v", err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		tb.Fatalf("lab: %v", err)
	}
	l.stdin, l.cmd.Stdout = stdin, out
	if err := l.cmd.Start(); err != nil {
		tb.Fatalf("lab: %s: %v", home.Argv[0], err)
	}
	_ = out.Close() // ours; the harness has its own copy
	read := make(chan struct{})
	go func() {
		defer close(read)
		l.read(stdout)
	}()
	go func() {
		defer close(l.exited)
		_ = l.cmd.Wait() // the exit code is in ProcessState
	}()
	tb.Cleanup(func() {
		l.Stop()
		<-read
		if tb.Failed() {
			tb.Logf("%s", l.Transcript())
		}
	})
	return l
}

// Stop closes the harness's input, waits for it to leave, and ends its process group when it does not.
func (l *Lines) Stop() {
	_ = l.stdin.Close() // closed twice at worst
	select {
	case <-l.exited:
	case <-time.After(5 * time.Second):
	}
	_ = killGroup(l.cmd.Process.Pid, syscall.SIGKILL) // an empty group is what we want
	<-l.exited
}

// Kill ends the harness like a crash.
func (l *Lines) Kill() {
	_ = killGroup(l.cmd.Process.Pid, syscall.SIGKILL)
	<-l.exited
}

func (l *Lines) read(stdout *os.File) {
	defer func() {
		_ = stdout.Close()
		l.mu.Lock()
		l.eof = true
		l.cond.Broadcast()
		l.mu.Unlock()
	}()
	r := bufio.NewReaderSize(stdout, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			f := Frame{At: time.Since(l.started)}
			if json.Unmarshal(line, &f) != nil {
				f = Frame{At: f.At}
			}
			f.Raw = string(bytes.TrimRight(line, "\r\n"))
			l.mu.Lock()
			l.log = append(l.log, f)
			l.cond.Broadcast()
			l.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// Send writes v as one line.
func (l *Lines) Send(v any) {
	l.tb.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		l.tb.Fatalf("lab: %v", err)
	}
	l.mu.Lock()
	l.sent = append(l.sent, fmt.Sprintf("%8.3f → %s", time.Since(l.started).Seconds(), line))
	l.mu.Unlock()
	if _, err := l.stdin.Write(append(line, '\n')); err != nil && !errors.Is(err, os.ErrClosed) {
		l.tb.Fatalf("lab: harness takes no input: %v", err)
	}
}

// Post sends a request and does not wait; the id is for Response.
func (l *Lines) Post(method string, params any) int {
	l.tb.Helper()
	l.mu.Lock()
	l.nextID++
	id := l.nextID
	l.mu.Unlock()
	l.Send(l.framed(map[string]any{"id": id, "method": method, "params": params}))
	return id
}

// framed adds what the protocol wants in every message.
func (l *Lines) framed(message map[string]any) map[string]any {
	if l.jsonrpc {
		message["jsonrpc"] = "2.0"
	}
	return message
}

// Response waits for the answer to a request.
func (l *Lines) Response(id int) Frame {
	l.tb.Helper()
	want := fmt.Sprint(id)
	return l.find(0, false, "the response to request "+want, func(f *Frame) bool { return f.Method == "" && string(f.ID) == want })
}

// Call sends a request and waits for its answer, which may be an error.
func (l *Lines) Call(method string, params any) Frame {
	l.tb.Helper()
	return l.Response(l.Post(method, params))
}

// Notify sends a notification; with params when there are some.
func (l *Lines) Notify(method string, params ...any) {
	l.tb.Helper()
	message := map[string]any{"method": method}
	if len(params) > 0 {
		message["params"] = params[0]
	}
	l.Send(l.framed(message))
}

// Reply answers a request of the harness.
func (l *Lines) Reply(to Frame, result any) {
	l.tb.Helper()
	l.Send(l.framed(map[string]any{"id": to.ID, "result": result}))
}

// Refuse answers a request of the harness with an error.
func (l *Lines) Refuse(to Frame, code int, message string) {
	l.tb.Helper()
	l.Send(l.framed(map[string]any{"id": to.ID, "error": map[string]any{"code": code, "message": message}}))
}

// Await waits for the next frame with this method after the last one awaited, and moves the cursor behind it.
func (l *Lines) Await(method string, and ...func(*Frame) bool) Frame {
	l.tb.Helper()
	return l.find(-1, true, method, func(f *Frame) bool {
		if f.Method != method {
			return false
		}
		for _, ok := range and {
			if !ok(f) {
				return false
			}
		}
		return true
	})
}

// Frames returns everything the harness wrote so far.
func (l *Lines) Frames() []Frame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Frame(nil), l.log...)
}

// Stderr returns what the harness wrote to standard error so far.
func (l *Lines) Stderr() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stderr.String()
}

// Transcript lists both directions, for a failing test.
func (l *Lines) Transcript() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b bytes.Buffer
	for _, s := range l.sent {
		fmt.Fprintln(&b, clip(s))
	}
	for _, f := range l.log {
		fmt.Fprintln(&b, clip(fmt.Sprintf("%8.3f ← %s", f.At.Seconds(), f.Raw)))
	}
	fmt.Fprintf(&b, "stderr: %s\n", clip(l.stderr.String()))
	return b.String()
}

func clip(s string) string {
	if len(s) > 600 {
		return s[:600] + "…"
	}
	return s
}

// find looks from a position on, the cursor when it is negative, and waits for more.
func (l *Lines) find(from int, move bool, what string, pred func(*Frame) bool) Frame {
	l.tb.Helper()
	deadline := time.Now().Add(l.Timeout)
	wake := time.AfterFunc(l.Timeout, func() {
		l.mu.Lock()
		l.cond.Broadcast()
		l.mu.Unlock()
	})
	defer wake.Stop()
	l.mu.Lock()
	if from < 0 {
		from = l.cursor
	}
	for {
		for ; from < len(l.log); from++ {
			if pred(&l.log[from]) {
				f := l.log[from]
				if move {
					l.cursor = from + 1
				}
				l.mu.Unlock()
				return f
			}
		}
		if l.eof || time.Now().After(deadline) {
			why := "within " + l.Timeout.String()
			if l.eof {
				why = "before the end of its output"
			}
			l.mu.Unlock()
			l.tb.Fatalf("lab: the harness did not send %s %s", what, why)
			return Frame{}
		}
		l.cond.Wait()
	}
}

// lockedWriter collects standard error.
type lockedWriter struct{ l *Lines }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	return w.l.stderr.Write(p)
}
