package scripted

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// process is what every scripted harness is made of: lines in, lines out, requests of its
// own that wait for an answer, overrides of methods, and the ways to end.
type process struct {
	stdin io.Reader
	out   *wire
	errMu sync.Mutex
	err   io.Writer

	calls string // the file that every method is noted in; none when empty

	ctx    context.Context
	cancel context.CancelFunc
	turns  sync.WaitGroup

	quit     chan struct{} // closed by exit
	quitOnce sync.Once
	code     int

	methods   map[string][]Override
	requested func(inbound)                 // serves a request
	notified  func(string, json.RawMessage) // takes a notification

	mu        sync.Mutex
	pending   map[string]chan inbound // our requests, by id
	nextID    int
	overrides map[string]int // how often an override was used, by method and position
	ignoreEOF bool
}

func (s *process) init(stdin io.Reader, out *wire, stderr io.Writer, methods map[string][]Override) {
	s.stdin, s.out, s.err, s.methods = stdin, out, stderr, methods
	s.quit, s.pending, s.overrides = make(chan struct{}), map[string]chan inbound{}, map[string]int{}
	s.ctx, s.cancel = context.WithCancel(context.Background())
}

// run serves until the input ends or the script ends the process, and returns the exit
// code. begin runs before anything is read, end when everything has stopped by itself.
func (s *process) run(begin, end func()) int {
	defer s.cancel()
	begin()
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read()
	}()
	select {
	case <-s.quit:
		return s.leave(read)
	case <-read:
	}
	s.mu.Lock()
	stay := s.ignoreEOF
	s.mu.Unlock()
	if stay {
		<-s.quit
	}
	if !s.alive() {
		return s.leave(read)
	}
	s.cancel()
	s.turns.Wait()
	end()
	return 0
}

// leave returns the code of exit. As a program it goes at once, with the reader and
// perhaps a writer still waiting on their pipes; inside a test nothing may stay behind.
func (s *process) leave(read chan struct{}) int {
	if _, program := s.stdin.(*os.File); program {
		return s.code
	}
	if c, ok := s.stdin.(io.Closer); ok {
		_ = c.Close() // lets the reader go
		<-read
	}
	s.turns.Wait()
	return s.code
}

// exit ends the process at once, like a crash with that code: nothing more is written.
func (s *process) exit(code int) {
	s.quitOnce.Do(func() {
		s.code = code
		s.out.shut.Store(true)
		close(s.quit)
		s.cancel()
	})
}

func (s *process) alive() bool {
	select {
	case <-s.quit:
		return false
	default:
		return true
	}
}

func (s *process) logf(format string, args ...any) {
	s.errMu.Lock()
	defer s.errMu.Unlock()
	_, _ = fmt.Fprintf(s.err, format+"\n", args...) // nobody to tell
}

// read takes the client's lines, in order.
func (s *process) read() {
	r := bufio.NewReaderSize(s.stdin, 1<<16)
	for s.alive() {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 && s.alive() {
			s.take(line)
		}
		if err != nil {
			return
		}
	}
}

func (s *process) take(line []byte) {
	m, err := decodeLine(line)
	switch {
	case err != nil:
		s.logf("ERROR Failed to deserialize JSONRPCMessage: %v", err)
	case m.Method == nil:
		s.mu.Lock()
		waiting := s.pending[string(m.ID)]
		delete(s.pending, string(m.ID))
		s.mu.Unlock()
		if waiting == nil {
			s.logf("WARN response to no request: %s", m.ID)
			return
		}
		waiting <- m // buffered: one answer each
	case m.ID == nil:
		s.heard(*m.Method)
		s.notified(*m.Method, m.Params)
	default:
		s.heard(*m.Method)
		s.serve(m)
	}
}

// heard notes a method that the client used, so that a test can count calls on this side.
func (s *process) heard(method string) {
	if s.calls == "" {
		return
	}
	f, err := os.OpenFile(s.calls, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(method + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		s.logf("calls: %v", err)
	}
}

// serve answers a request, by the script's override or as the harness does.
func (s *process) serve(m inbound) {
	if o := s.override(*m.Method); o != nil {
		s.turns.Add(1)
		go func() {
			defer s.turns.Done()
			if !sleep(s.ctx, time.Duration(o.DelayMS)*time.Millisecond) || !waitFile(s.ctx, o.WaitFile) {
				return
			}
			switch {
			case o.Exit != nil:
				s.exit(*o.Exit)
			case o.Error != nil:
				s.out.fail(m.ID, o.Error)
			case o.Result != nil:
				s.out.result(m.ID, o.Result)
			case !o.Hang:
				s.requested(m)
			}
		}()
		return
	}
	s.requested(m)
}

func (s *process) override(method string) *Override {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.methods[method] {
		key := fmt.Sprintf("%s %d", method, i)
		if o.Times == 0 || s.overrides[key] < o.Times {
			s.overrides[key]++
			return &o
		}
	}
	return nil
}

// ask sends a request to the client. The caller waits on the channel, which gets at most one answer.
func (s *process) ask(method string, params any) (id int, answer chan inbound) {
	answer = make(chan inbound, 1)
	s.mu.Lock()
	id = s.nextID
	s.nextID++
	s.pending[fmt.Sprint(id)] = answer
	s.mu.Unlock()
	s.out.request(id, method, params)
	return id, answer
}

func (s *process) forget(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, fmt.Sprint(id))
}

// misbehave does what a step of any harness may ask for; done says whether this was such a step.
func (s *process) misbehave(ctx context.Context, st *Step, expand func(string) string) (done bool, err error) {
	switch {
	case st.DelayMS > 0:
		sleep(ctx, time.Duration(st.DelayMS)*time.Millisecond)
	case st.WaitFile != "":
		waitFile(ctx, st.WaitFile)
	case st.Raw != nil:
		s.out.line([]byte(*st.Raw))
	case st.RawBase64 != "":
		raw, err := base64.StdEncoding.DecodeString(st.RawBase64)
		if err != nil { // Parse has decoded it once
			return true, err
		}
		s.out.line(raw)
	case st.Stderr != nil:
		s.logf("%s", expand(*st.Stderr))
	case st.Exit != nil:
		s.exit(*st.Exit)
		return true, context.Canceled
	case st.CloseStdout:
		s.out.close()
	case st.IgnoreSIGTERM:
		signal.Ignore(syscall.SIGTERM)
	case st.IgnoreEOF:
		s.mu.Lock()
		s.ignoreEOF = true
		s.mu.Unlock()
	case st.Hang:
		<-s.ctx.Done() // not the turn's: an interrupt does not help
	default:
		return false, nil
	}
	return true, ctx.Err()
}

// waitFile waits until the file is there; no path is there at once.
func waitFile(ctx context.Context, path string) bool {
	for path != "" && !exists(path) {
		if !sleep(ctx, 5*time.Millisecond) {
			return false
		}
	}
	return ctx.Err() == nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
