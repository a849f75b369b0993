package model

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request body, so that a runaway harness cannot fill memory.
const maxBody = 64 << 20

// TB is the part of testing.TB that Start uses.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Server is a running scripted endpoint. Its methods may be called from any goroutine.
type Server struct {
	url    string
	script Script
	http   *http.Server
	stop   context.CancelFunc
	served chan struct{}

	mu        sync.Mutex
	used      []bool
	requests  []Request
	unmatched []string
	ids       int
	gates     map[string]chan struct{}
}

// Start serves script on loopback until the test ends. The test fails when the agent
// makes a request that no step answers.
func Start(tb TB, script Script) *Server {
	tb.Helper()
	s, err := Serve(context.Background(), script)
	if err != nil {
		tb.Fatalf("%v", err)
		return nil
	}
	tb.Cleanup(func() {
		s.Close()
		for _, what := range s.Unmatched() {
			tb.Errorf("scripted model: no step answers %s", what)
		}
	})
	return s
}

// Serve serves script on loopback until ctx ends or Close is called.
func Serve(ctx context.Context, script Script) (*Server, error) {
	if err := script.validate(); err != nil {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("scripted model: no loopback port: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Server{
		url:    "http://" + ln.Addr().String(),
		script: script,
		stop:   stop,
		served: make(chan struct{}),
		used:   make([]bool, len(script.Steps)),
		gates:  map[string]chan struct{}{},
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.handle),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(ln) // always ErrServerClosed: Close is the only way out
	}()
	go func() {
		<-ctx.Done()
		_ = s.http.Close() // an error closing a listener that is gone says nothing
	}()
	return s, nil
}

// Close ends the server and its open streams.
func (s *Server) Close() {
	s.stop()
	<-s.served
}

// URL is the root, "http://127.0.0.1:PORT", without a slash; most harnesses want "/v1" after it.
func (s *Server) URL() string { return s.url }

// Requests returns every request so far, those that ask no model included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// AgentRequests returns the requests of the agent itself: turns, not titles or reviews.
func (s *Server) AgentRequests() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.API == "" || r.Kind != KindAgent })
}

// Remaining names the steps nobody asked for yet; repeating steps are never in it.
func (s *Server) Remaining() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for i, used := range s.used {
		if !used && !s.script.Steps[i].Repeat {
			names = append(names, stepName(s.script.Steps, i))
		}
	}
	return names
}

// Unmatched describes the requests of the agent that no step answered.
func (s *Server) Unmatched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unmatched)
}

// Release lets every present and future Wait with this name go on.
func (s *Server) Release(name string) {
	gate := s.gate(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-gate:
	default:
		close(gate)
	}
}

func (s *Server) gate(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = make(chan struct{})
	}
	return s.gates[name]
}

func (s *Server) handle(w http.ResponseWriter, hr *http.Request) {
	r := Request{Method: hr.Method, Path: hr.URL.Path, Query: hr.URL.RawQuery, Header: withoutCredentials(hr.Header)}
	body, err := readBody(hr)
	if err != nil {
		refuse(w, HTTPError{Status: http.StatusBadRequest}, err.Error())
		return
	}
	r.Body = body
	endpoint := strings.TrimPrefix(hr.URL.Path, "/v1")
	if hr.Method == http.MethodPost {
		switch endpoint {
		case "/responses":
			r.API = Responses
		case "/messages":
			r.API = Messages
		case "/chat/completions":
			r.API = ChatCompletions
		}
	}
	if r.API != "" {
		r.describe()
		r.classify()
	}
	step := s.take(&r)
	switch {
	case step != nil:
		s.answer(hr.Context(), w, &r, step)
	case r.API != "":
		s.answerUnscripted(hr.Context(), w, &r)
	case endpoint == "/models":
		writeJSON(w, http.StatusOK, s.models())
	case endpoint == "/messages/count_tokens":
		writeJSON(w, http.StatusOK, map[string]int{"input_tokens": len(body) / 4})
	default:
		refuse(w, HTTPError{Status: http.StatusNotFound}, "the scripted model serves no "+hr.Method+" "+hr.URL.Path)
	}
}

// take logs r and claims the step that answers it.
func (s *Server) take(r *Request) *Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.N = len(s.requests) + 1
	var step *Step
	if r.API != "" {
		for i := range s.script.Steps {
			if candidate := &s.script.Steps[i]; !s.used[i] && candidate.Match.takes(r) {
				s.used[i] = !candidate.Repeat
				step, r.Step = candidate, stepName(s.script.Steps, i)
				break
			}
		}
		if step == nil && r.Kind == KindAgent {
			s.unmatched = append(s.unmatched, fmt.Sprintf("request %d, %s %s, last said %q", r.N, r.Method, r.Path, head(r.LastUser, 120)))
		}
	}
	s.requests = append(s.requests, *r)
	return step
}

// answerUnscripted serves what harnesses ask on their own, so that a script need not mention it.
func (s *Server) answerUnscripted(ctx context.Context, w http.ResponseWriter, r *Request) {
	switch r.Kind {
	case KindTitle:
		s.answer(ctx, w, r, &Step{Reply: []Action{title(r)}})
		return
	case KindReview:
		s.answer(ctx, w, r, &Step{Reply: []Action{refusal(r)}})
		return
	case KindAside:
		s.answer(ctx, w, r, &Step{Reply: []Action{Text("Scripted aside")}})
		return
	case KindAgent:
	}
	refuse(w, HTTPError{Status: http.StatusBadRequest}, fmt.Sprintf("no step of the script answers this request (%s)", r.Kind))
}

// answer plays a step. Where it panics with ErrAbortHandler, net/http drops the
// connection, so that a stream that was cut off never looks like one that ended.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, r *Request, step *Step) {
	usage := Usage{Input: 100, Output: 20}
	if step.Usage != nil {
		usage = *step.Usage
	}
	var out reply
	refuses := slices.ContainsFunc(step.Reply, func(a Action) bool { return a.HTTP != nil })
	open := func() reply { // late, so that a refusal can still set the status
		if out == nil {
			out = s.newReply(w, r, usage)
		}
		return out
	}
	for _, a := range step.Reply {
		switch {
		case a.DelayMS > 0:
			if !sleep(ctx, time.Duration(a.DelayMS)*time.Millisecond) {
				panic(http.ErrAbortHandler)
			}
		case a.Wait != "":
			if !refuses {
				open().flush()
			}
			select {
			case <-s.gate(a.Wait):
			case <-ctx.Done():
				panic(http.ErrAbortHandler)
			}
		case a.HTTP != nil:
			refuse(w, *a.HTTP, "scripted refusal")
			return
		case a.Disconnect:
			open().flush()
			panic(http.ErrAbortHandler)
		case a.Hang:
			open().flush()
			<-ctx.Done()
			panic(http.ErrAbortHandler)
		case a.Fail != nil:
			open().fail(*a.Fail)
			return
		case a.Text != nil:
			open().text(s.id("msg"), pieces(*a.Text, a.Chunks))
		case a.Reasoning != nil:
			open().reasoning(s.id("rs"), *a.Reasoning)
		case a.Call != nil:
			open().call(orElse(a.Call.ID, s.id("call")), step.arguments(a.Call, r.Body))
		case a.Custom != nil:
			open().custom(orElse(a.Custom.ID, s.id("call")), a.Custom.Name, a.Custom.Input)
		case a.Item != nil:
			open().item(a.Item)
		}
	}
	open().end()
}

func (s *Server) newReply(w http.ResponseWriter, r *Request, usage Usage) reply {
	out := &output{w: w, live: r.Stream}
	switch r.API {
	case Messages:
		return newMessagesReply(out, s.id("msg"), r.Model, usage)
	case ChatCompletions:
		return newCompletionsReply(out, s.id("chatcmpl"), r.Model, usage)
	default:
		return newResponsesReply(out, s.id("resp"), r.Model, usage)
	}
}

// id makes ids that are unique on this server and the same in every run.
func (s *Server) id(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%s_%d", prefix, s.ids)
}

// models answers in the shapes of OpenAI and Anthropic at once; "models" is what Codex looks for.
func (s *Server) models() map[string]any {
	names := s.script.Models
	if names == nil {
		names = []string{"mock-model"}
	}
	data := make([]map[string]any, len(names))
	for i, name := range names {
		data[i] = map[string]any{"id": name, "object": "model", "type": "model", "display_name": name, "owned_by": "lab"}
	}
	return map[string]any{"object": "list", "data": data, "has_more": false, "models": []any{}}
}

func readBody(hr *http.Request) ([]byte, error) {
	var from io.Reader = hr.Body
	switch enc := hr.Header.Get("Content-Encoding"); enc {
	case "", "identity":
	case "gzip":
		zr, err := gzip.NewReader(hr.Body)
		if err != nil {
			return nil, fmt.Errorf("request body is not the gzip it claims to be: %w", err)
		}
		from = zr
	default:
		return nil, fmt.Errorf("the scripted model reads no %q request bodies; switch compression off in the harness", enc)
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = errors.New("request body is larger than 64 MiB")
	}
	return body, err
}

func refuse(w http.ResponseWriter, e HTTPError, message string) {
	if e.RetryAfter != "" {
		w.Header().Set("Retry-After", e.RetryAfter)
	}
	if e.Body == nil {
		writeJSON(w, e.Status, map[string]any{"error": map[string]any{"message": message, "type": "scripted_error"}})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(e.Body) // a client that went away needs no answer
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that went away needs no answer
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func orElse(id, fallback string) string {
	if id != "" {
		return id
	}
	return fallback
}

func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// pieces cuts text into at most n runs of whole characters.
func pieces(text string, n int) []string {
	runes := []rune(text)
	n = max(1, min(n, len(runes)))
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return out
}
