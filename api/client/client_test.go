package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/host"
)

// core is the part of a host that the tests use of both.
type core interface {
	Create(ctx context.Context, n host.NewConversation) (host.Conversation, error)
	Conversations(ctx context.Context) ([]host.Conversation, error)
	Conversation(ctx context.Context, id string) (host.Conversation, error)
	Turns(ctx context.Context, conversation string) ([]host.Turn, error)
	Turn(ctx context.Context, conversation, turn string) (host.Turn, error)
	Controls(ctx context.Context, conversation string) (host.Controls, error)
	Inputs(ctx context.Context, conversation string) ([]host.Interaction, error)
	Plans(ctx context.Context, conversation string) ([]host.Proposal, error)
	Bindings(ctx context.Context) ([]host.BindingInfo, error)
	Manifest(ctx context.Context, harness string) (abi.Manifest, error)
	Events(ctx context.Context, conversation string, after uint64) iter.Seq2[host.Event, error]
	Export(ctx context.Context, conversation string, w io.Writer) error
}

var (
	_ core = (*host.Host)(nil)
	_ core = (*client.Client)(nil)
)

func TestTheClientHasTheMethodsOfTheHost(t *testing.T) {
	h, c := reflect.TypeFor[*host.Host](), reflect.TypeFor[*client.Client]()
	for m := range h.Methods() {
		if m.Name == "Handler" || m.Name == "Guard" {
			continue
		}
		got, ok := c.MethodByName(m.Name)
		if !ok {
			t.Errorf("the client has no method %s", m.Name)
			continue
		}
		if a, b := signature(m.Type), signature(got.Type); a != b {
			t.Errorf("%s is %s, the host's is %s", m.Name, b, a)
		}
	}
}

// signature is a method's type without its receiver.
func signature(t reflect.Type) string {
	var in, out []string
	for p := range t.Ins() {
		in = append(in, p.String())
	}
	for p := range t.Outs() {
		out = append(out, p.String())
	}
	return strings.Join(in[1:], ", ") + " → " + strings.Join(out, ", ")
}

// comparison collects where the client's answers differ from the host's own.
type comparison []string

func same[T any](c *comparison, what string, got T, err error, want T, wantErr error) {
	if err != nil || wantErr != nil {
		*c = append(*c, fmt.Sprintf("%s: %v and %v", what, err, wantErr))
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(host.Error{}), cmpopts.IgnoreFields(host.Error{}, "Err")); diff != "" {
		*c = append(*c, fmt.Sprintf("%s through the client: %s", what, diff))
	}
}

// agree reads everything both ways, again while the conversation goes on meanwhile.
func agree(t *testing.T, h, c core, conv string) {
	t.Helper()
	until(t, "the conversation to rest", func() bool {
		before, err := h.Conversation(t.Context(), conv)
		if err != nil {
			t.Fatal(err)
		}
		found := compare(t, h, c, conv)
		after, err := h.Conversation(t.Context(), conv)
		if err != nil {
			t.Fatal(err)
		}
		if before.LastSeq != after.LastSeq {
			return false
		}
		for _, f := range found {
			t.Error(f)
		}
		return true
	})
}

func compare(t *testing.T, h, c core, conv string) (found comparison) {
	t.Helper()
	ctx := t.Context()
	list, err := c.Conversations(ctx)
	wantList, wantErr := h.Conversations(ctx)
	same(&found, "conversations", list, err, wantList, wantErr)
	one, err := c.Conversation(ctx, conv)
	wantOne, wantErr := h.Conversation(ctx, conv)
	same(&found, "conversation", one, err, wantOne, wantErr)
	turns, err := c.Turns(ctx, conv)
	wantTurns, wantErr := h.Turns(ctx, conv)
	same(&found, "turns", turns, err, wantTurns, wantErr)
	turn, err := c.Turn(ctx, conv, turns[0].ID)
	same(&found, "turn", turn, err, turns[0], nil)
	controls, err := c.Controls(ctx, conv)
	wantControls, wantErr := h.Controls(ctx, conv)
	same(&found, "controls", controls, err, wantControls, wantErr)
	inputs, err := c.Inputs(ctx, conv)
	wantInputs, wantErr := h.Inputs(ctx, conv)
	same(&found, "inputs", inputs, err, wantInputs, wantErr)
	plans, err := c.Plans(ctx, conv)
	wantPlans, wantErr := h.Plans(ctx, conv)
	same(&found, "plans", plans, err, wantPlans, wantErr)
	bindings, err := c.Bindings(ctx)
	wantBindings, wantErr := h.Bindings(ctx)
	same(&found, "bindings", bindings, err, wantBindings, wantErr)
	manifest, err := c.Manifest(ctx, "codex")
	wantManifest, wantErr := h.Manifest(ctx, "codex")
	same(&found, "manifest", manifest, err, wantManifest, wantErr)
	var export, wantExport bytes.Buffer
	err, wantErr = c.Export(ctx, conv, &export), h.Export(ctx, conv, &wantExport)
	same(&found, "export", export.String(), err, wantExport.String(), wantErr)
	var events, wantEvents []host.Event
	for ev, err := range c.Events(ctx, conv, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if events = append(events, ev); ev.Seq >= one.LastSeq {
			break
		}
	}
	for ev, err := range h.Events(ctx, conv, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if wantEvents = append(wantEvents, ev); ev.Seq >= one.LastSeq {
			break
		}
	}
	same(&found, "events", events, nil, wantEvents, nil)
	return found
}

func TestThePrimaryScenarioThroughTheClientOnASocketAndOnTCP(t *testing.T) {
	for _, name := range []string{"socket", "TCP"} {
		t.Run(name, func(t *testing.T) {
			h, cwd, _ := newHost(t, primary)
			var c *client.Client
			if name == "socket" {
				socket, _ := serveUnix(t, h.Handler())
				c = client.Unix(socket, client.Options{})
			} else {
				srv := httptest.NewServer(http.StripPrefix("/chat", h.Handler()))
				t.Cleanup(srv.Close)
				var err error
				if c, err = client.New(srv.URL+"/chat/", client.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			closing(t, c)
			ctx := t.Context()
			v, err := c.Version(ctx)
			if err != nil || v.ABI != abi.Version {
				t.Fatalf("%+v %v", v, err)
			}
			if codes, err := c.Codes(ctx); err != nil || !cmp.Equal(codes, host.Codes()) {
				t.Errorf("%d codes, %v", len(codes), err)
			}
			conv, err := c.Create(ctx, host.NewConversation{ID: "a/b %?#ü", Harness: "codex", Cwd: cwd})
			if err != nil {
				t.Fatal(err)
			}
			k, err := c.ConfigureNextTurn(ctx, conv.ID, conv.Revision, host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionAuto)})
			if err != nil || k.Settings.Mode != "plan" || k.Settings.Permission != abi.PermissionAuto {
				t.Fatalf("%+v %v", k, err)
			}
			if k, err = c.Probe(ctx, conv.ID); err != nil || k.CatalogState != host.CatalogRead {
				t.Fatalf("%+v %v", k, err)
			}
			turn, err := c.Send(ctx, conv.ID, host.Message{ClientID: "m-1", Content: append(host.Text("Take notes"), host.Content{Type: abi.ContentImage, Media: "image/png", Bytes: []byte{1, 2, 3}})})
			if err != nil || turn.ClientID != "m-1" {
				t.Fatalf("%+v %v", turn, err)
			}
			var implemented host.Turn
			for ev, err := range c.Events(ctx, conv.ID, 0) {
				if err != nil {
					t.Fatal(err)
				}
				inputs, _ := c.Inputs(ctx, conv.ID)
				if ev.Type == host.EventInteraction && len(inputs) > 0 {
					in, err := c.ResolveInput(ctx, conv.ID, inputs[0].ID, host.Answer{Fields: []abi.FieldAnswer{{Field: inputs[0].Ask.Fields[0].ID, State: abi.StateAnswered, Selected: []int64{1}}}})
					if err != nil || in.State == host.InteractionOpen {
						t.Fatalf("%+v %v", in, err)
					}
				}
				if ev.Type == host.EventProposal && implemented.ID == "" {
					plans, err := c.Plans(ctx, conv.ID)
					if err != nil || len(plans) != 1 {
						t.Fatalf("%+v %v", plans, err)
					}
					if implemented, err = c.ContinuePlan(ctx, conv.ID, host.PlanDecision{Proposal: plans[0].ID, Revision: plans[0].Revision}); err != nil {
						t.Fatal(err)
					}
				}
				if implemented.ID != "" {
					if now, err := c.Turn(ctx, conv.ID, implemented.ID); err != nil || now.State == host.TurnCompleted {
						break
					}
				}
			}
			if implemented.Origin != abi.OriginImplement {
				t.Errorf("%+v", implemented)
			}
			agree(t, h, c, conv.ID)
		})
	}
}

func TestTheOtherMutationsThroughTheClient(t *testing.T) {
	h, cwd, _ := newHost(t, waits)
	socket, _ := serveUnix(t, h.Handler())
	c := closing(t, client.Unix(socket, client.Options{}))
	ctx := t.Context()
	conv, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	send := func(text string) host.Turn {
		t.Helper()
		turn, err := c.Send(ctx, conv.ID, host.Message{Content: host.Text(text)})
		if err != nil {
			t.Fatal(err)
		}
		return turn
	}
	state := func(turn host.Turn, want host.TurnState) {
		t.Helper()
		until(t, string(want), func() bool {
			now, err := c.Turn(ctx, conv.ID, turn.ID)
			return err == nil && now.State == want
		})
	}
	first := send("one")
	state(first, host.TurnRunning)
	second := send("two")
	if k, err := c.Stop(ctx, conv.ID, host.StopOptions{Turn: first.ID}); err != nil || k.Conversation != conv.ID {
		t.Fatal(k, err)
	}
	state(first, host.TurnInterrupted)
	if got, err := c.CancelQueued(ctx, conv.ID, second.ID, host.QueuedCancel{Version: second.Version + 1}); host.CodeOf(err) != host.CodeTurnChanged {
		t.Fatal(got, err)
	}
	if got, err := c.CancelQueued(ctx, conv.ID, second.ID); err != nil || got.State != host.TurnCancelled {
		t.Fatal(got, err)
	}
	if k, err := c.ResumeQueue(ctx, conv.ID); err != nil || k.Queue.Held {
		t.Fatal(k, err)
	}
	retried, err := c.Retry(ctx, conv.ID, first.ID, host.RetryRequest{ClientID: "r-1"})
	if err != nil || retried.ClientID != "r-1" {
		t.Fatal(retried, err)
	}
	if again, err := c.Retry(ctx, conv.ID, first.ID, host.RetryRequest{ClientID: "r-1"}); err != nil || again.ID != retried.ID {
		t.Fatal(again, err)
	}
	state(retried, host.TurnCompleted)
	steered, err := c.Steer(ctx, conv.ID, host.Message{Content: host.Text("three")})
	if err != nil {
		t.Fatal(err)
	}
	state(steered, host.TurnCompleted)
	agree(t, h, c, conv.ID)
}

func TestErrorsThroughTheClientAreThoseOfTheHost(t *testing.T) {
	h, cwd, _ := newHost(t, primary)
	socket, _ := serveUnix(t, h.Handler())
	c := closing(t, client.Unix(socket, client.Options{}))
	ctx := t.Context()
	conv, err := h.Create(ctx, host.NewConversation{Harness: "codex", Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(filepath.Dir(cwd), "broken")
	type both interface {
		core
		Send(ctx context.Context, conversation string, m host.Message) (host.Turn, error)
		ConfigureNextTurn(ctx context.Context, conversation string, revision int64, p host.SettingsPatch) (host.Controls, error)
		Stop(ctx context.Context, conversation string, o host.StopOptions) (host.Controls, error)
		RequestChanges(ctx context.Context, conversation string, d host.PlanDecision) (host.Turn, error)
		AllowBinding(ctx context.Context, name string) (host.BindingInfo, error)
		CancelQueued(ctx context.Context, conversation, turn string, of ...host.QueuedCancel) (host.Turn, error)
		ResolveInput(ctx context.Context, conversation, interaction string, a host.Answer) (host.Interaction, error)
	}
	for what, do := range map[string]func(both) error{
		"no harness": func(b both) error {
			_, err := b.Create(ctx, host.NewConversation{Harness: "none", Cwd: cwd})
			return err
		},
		"no folder": func(b both) error {
			_, err := b.Create(ctx, host.NewConversation{Harness: "codex", Cwd: broken})
			return err
		},
		"no conversation": func(b both) error { _, err := b.Controls(ctx, "none"); return err },
		"empty id":        func(b both) error { _, err := b.Conversation(ctx, ""); return err },
		"dots for an id":  func(b both) error { _, err := b.Conversation(ctx, ".."); return err },
		"no turn":         func(b both) error { _, err := b.Turn(ctx, conv.ID, ""); return err },
		"empty message":   func(b both) error { _, err := b.Send(ctx, conv.ID, host.Message{Content: host.Text("")}); return err },
		"stale revision": func(b both) error {
			_, err := b.ConfigureNextTurn(ctx, conv.ID, 7, host.SettingsPatch{})
			return err
		},
		"permission": func(b both) error {
			_, err := b.ConfigureNextTurn(ctx, conv.ID, 1, host.SettingsPatch{Permission: ptr(abi.Permission("root"))})
			return err
		},
		"nothing runs":   func(b both) error { _, err := b.Stop(ctx, conv.ID, host.StopOptions{}); return err },
		"nothing queued": func(b both) error { _, err := b.CancelQueued(ctx, conv.ID, "none"); return err },
		"no card":        func(b both) error { _, err := b.ResolveInput(ctx, conv.ID, "none", host.Answer{}); return err },
		"no feedback": func(b both) error {
			_, err := b.RequestChanges(ctx, conv.ID, host.PlanDecision{Proposal: "x"})
			return err
		},
		"no module":   func(b both) error { _, err := b.AllowBinding(ctx, "none"); return err },
		"no manifest": func(b both) error { _, err := b.Manifest(ctx, "none"); return err },
		"no export":   func(b both) error { return b.Export(ctx, "none", io.Discard) },
		"no events": func(b both) error {
			for _, err := range b.Events(ctx, "none", 0) {
				return err
			}
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			got, want := do(c), do(h)
			var e, w *host.Error
			if !errors.As(got, &e) || !errors.As(want, &w) || e.Code != w.Code || e.Error() != w.Error() || e.Field != w.Field {
				t.Errorf("%v, the host says %v", got, want)
			}
		})
	}
}

func TestBindingsThroughTheClientSayWhyOneCannotBeUsed(t *testing.T) {
	h, cwd, _ := newHost(t, primary)
	socket, _ := serveUnix(t, h.Handler())
	c := closing(t, client.Unix(socket, client.Options{}))
	conv, err := c.Create(t.Context(), host.NewConversation{Harness: "codex", Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(t.Context(), conv.ID, host.Message{Content: host.Text("x")}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(cwd), "data", "bindings")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.wasm"), []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := c.Bindings(t.Context())
	if err != nil || host.CodeOf(list[len(list)-1].Err) != host.CodeModuleForeign {
		t.Fatalf("%+v %v", list, err)
	}
	agree(t, h, c, conv.ID)
}

// breaking drops the connection of a request at a chosen place.
type breaking struct {
	next http.Handler
	// before and after count how many requests are dropped before they reach the
	// host and after, when the answer is lost.
	before, after atomic.Int32
	seen          atomic.Int32
}

func (b *breaking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.seen.Add(1)
	if b.before.Add(-1) >= 0 {
		panic(http.ErrAbortHandler)
	}
	if b.after.Add(-1) >= 0 {
		b.next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	b.next.ServeHTTP(w, r)
}

func TestAMutationWhoseConnectionBreaksIsSentAgainAndHappensOnce(t *testing.T) {
	h, cwd, _ := newHost(t, waits)
	b := &breaking{next: h.Handler()}
	socket, _ := serveUnix(t, b)
	c := closing(t, client.Unix(socket, client.Options{}))
	ctx := t.Context()
	b.before.Store(1)
	b.after.Store(1)
	conv, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := h.Conversations(ctx); err != nil || len(all) != 1 || b.seen.Load() != 3 {
		t.Fatalf("%d conversations after %d requests, %v", len(all), b.seen.Load(), err)
	}
	b.after.Store(1)
	k, err := c.ConfigureNextTurn(ctx, conv.ID, 1, host.SettingsPatch{Mode: ptr("default")})
	if err != nil || k.Revision != 2 {
		t.Fatalf("%+v %v", k, err)
	}
	b.after.Store(1)
	turn, err := c.Send(ctx, conv.ID, host.Message{Content: host.Text("one")})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the turn to run", func() bool { now, _ := h.Turn(ctx, conv.ID, turn.ID); return now.State == host.TurnRunning })
	b.after.Store(1)
	if _, err := c.Stop(ctx, conv.ID, host.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	if turns, err := h.Turns(ctx, conv.ID); err != nil || len(turns) != 1 {
		t.Fatalf("%d turns, %v", len(turns), err)
	}
	// It gives up after three attempts, with one code for every reason.
	b.seen.Store(0)
	b.before.Store(99)
	if _, err := c.Controls(ctx, conv.ID); host.CodeOf(err) != host.CodeUnreachable || b.seen.Load() < 3 {
		t.Errorf("%v after %d requests", err, b.seen.Load())
	}
	b.before.Store(0)
}

func TestAHostThatIsNotThereIsToldAtOnce(t *testing.T) {
	c := closing(t, client.Unix(filepath.Join(t.TempDir(), "none"), client.Options{Patience: -1}))
	_, err := c.Conversations(t.Context())
	var e *host.Error
	if !errors.As(err, &e) || e.Code != host.CodeUnreachable || !errors.Is(err, os.ErrNotExist) || strings.Contains(e.Detail, "\n") {
		t.Errorf("%v", err)
	}
	if err := c.Export(t.Context(), "x", io.Discard); host.CodeOf(err) != host.CodeUnreachable {
		t.Error(err)
	}
	for _, err := range c.Events(t.Context(), "x", 0) {
		if host.CodeOf(err) != host.CodeUnreachable {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Controls(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"", "localhost:1", "ftp://localhost", "http://", "http://localhost?x=1", "http://localhost#x", "http://%"} {
		if _, err := client.New(bad, client.Options{}); host.CodeOf(err) != host.CodeInvalidArgument {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// transport answers every request with an error.
type transport struct {
	err  error
	seen int
}

func (f *transport) RoundTrip(*http.Request) (*http.Response, error) {
	f.seen++
	return nil, f.err
}

func TestOnlyAHostThatWasReachedIsAskedAgain(t *testing.T) {
	for op, want := range map[string]int{"dial": 1, "read": 3, "write": 3} {
		f := &transport{err: &net.OpError{Op: op, Err: syscall.ECONNRESET}}
		c, err := client.New("http://localhost", client.Options{Transport: f})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Stop(t.Context(), "x", host.StopOptions{}); host.CodeOf(err) != host.CodeUnreachable || f.seen != want {
			t.Errorf("%s: %v after %d requests, want %d", op, err, f.seen, want)
		}
	}
}

func TestAnErrorOfTheTransportsOwnWithACodeIsToldAsItIs(t *testing.T) {
	f := &transport{err: &host.Error{Code: host.CodeVersionMismatch, Detail: "Another one."}}
	c, err := client.New("http://localhost", client.Options{Transport: f})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stop(t.Context(), "x", host.StopOptions{}); host.CodeOf(err) != host.CodeVersionMismatch || f.seen != 1 {
		t.Errorf("%v after %d requests", err, f.seen)
	}
}

func TestAnswersOfSomethingElseAreNotTakenForTheAPI(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"a page":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"a redirect":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"plain error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) },
		"half of JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"items":`)
		},
		"no problem": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", host.MediaProblem)
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, `{}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen.Add(1)
				if r.Header.Get("Authorization") != "Bearer t" {
					t.Errorf("authorization %q", r.Header.Get("Authorization"))
				}
				handler(w, r)
			}))
			defer srv.Close()
			c, err := client.New(srv.URL, client.Options{Token: "t"})
			if err != nil {
				t.Fatal(err)
			}
			closing(t, c)
			if _, err := c.Conversations(t.Context()); host.CodeOf(err) != host.CodeUnreachable || seen.Load() != 1 {
				t.Errorf("%v after %d requests", err, seen.Load())
			}
		})
	}
}

func TestAnExportThatBreaksOffIsNotTakenForWhole(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", host.MediaLines)
		_, _ = io.WriteString(w, "{}\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer srv.Close()
	c, err := client.New(srv.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	closing(t, c)
	var out bytes.Buffer
	if err := c.Export(t.Context(), "x", &out); host.CodeOf(err) != host.CodeUnreachable || out.String() != "{}\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	full := errors.New("the disk is full")
	if err := c.Export(t.Context(), "x", failing{full}); !errors.Is(err, full) || host.CodeOf(err) != "" {
		t.Errorf("%v", err)
	}
}

func TestAnExportThatADeletionOvertakesSaysSo(t *testing.T) {
	for now, want := range map[host.Code]host.Code{
		host.CodeUnknownConversation: host.CodeConversationDeleted,
		host.CodeConversationDeleted: host.CodeConversationDeleted,
		host.CodeStoreFailed:         host.CodeUnreachable,
	} {
		t.Run(string(now), func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/export") {
					w.Header().Set("Content-Type", host.MediaLines)
					_, _ = io.WriteString(w, "{}\n")
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
				w.Header().Set("Content-Type", host.MediaProblem)
				w.WriteHeader(host.StatusOf(now))
				_ = json.NewEncoder(w).Encode(host.Problem{Code: now, Status: host.StatusOf(now)})
			}))
			defer srv.Close()
			c, err := client.New(srv.URL, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			closing(t, c)
			var out bytes.Buffer
			if err := c.Export(t.Context(), "x", &out); host.CodeOf(err) != want || out.String() != "{}\n" {
				t.Errorf("%v, %q", err, out.String())
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
