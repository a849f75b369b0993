package host_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/api"
	"github.com/aoagents/ao-host/host"
)

func TestHandlerHasARouteForEveryMethodOfTheHost(t *testing.T) {
	t.Parallel()
	// What serves, guards and ends is for the program that embeds the host.
	routed := map[string]bool{"Close": true, "Handler": true, "HandlerWith": true, "Guard": true}
	ids := map[string]bool{}
	for _, rt := range host.Routes() {
		routed[rt.Calls] = true
		if ids[rt.ID] {
			t.Errorf("two routes are named %s", rt.ID)
		}
		ids[rt.ID] = true
	}
	typ := reflect.TypeFor[*host.Host]()
	for m := range typ.Methods() {
		if !routed[m.Name] {
			t.Errorf("no route calls Host.%s; add one to handler_routes.go and run: go generate ./api", m.Name)
		}
	}
}

func TestHandlerServesThePrimaryScenarioWholly(t *testing.T) {
	t.Parallel()
	w := newWeb(t, primary)
	var v host.VersionInfo
	w.ok(&v, "GET", "/v1/version", nil)
	if v.ABI != abi.Version || v.Version != host.Version() {
		t.Errorf("version %+v", v)
	}
	var codes host.List[host.CodeInfo]
	w.ok(&codes, "GET", "/v1/codes", nil)
	if diff := cmp.Diff(host.Codes(), codes.Items); diff != "" {
		t.Error(diff)
	}
	if doc := w.do("GET", "/v1/openapi.json", nil); string(doc.body) != api.OpenAPI {
		t.Error("another OpenAPI document is served")
	}
	var bindings host.List[host.InstalledBinding]
	w.ok(&bindings, "GET", "/v1/bindings", nil)
	i := slices.IndexFunc(bindings.Items, func(b host.InstalledBinding) bool { return b.Harness == "codex" })
	if i < 0 || !bindings.Items[i].Allowed || bindings.Items[i].Problem != nil {
		t.Fatalf("bindings %+v", bindings.Items)
	}
	var m abi.Manifest
	w.ok(&m, "GET", "/v1/harnesses/codex/manifest", nil)
	if m.Harness != "codex" || len(m.Launch.Argv) == 0 {
		t.Errorf("manifest %+v", m)
	}

	var c host.Conversation
	w.ok(&c, "POST", "/v1/conversations", map[string]any{"harness": "codex", "cwd": w.cwd, "title": "Notes & more"})
	w.conv = c.ID
	var all host.List[host.Conversation]
	w.ok(&all, "GET", "/v1/conversations", nil)
	if len(all.Items) != 2 {
		t.Errorf("%d conversations", len(all.Items))
	}
	var k host.Controls
	w.ok(&k, "PATCH", w.at("/settings"), map[string]any{"revision": c.Revision, "patch": map[string]any{"mode": "plan", "permission": "auto"}})
	if k.Settings.Mode != "plan" || k.Revision != c.Revision+1 {
		t.Fatalf("controls %+v", k)
	}
	w.ok(&k, "POST", w.at("/probe"), nil)
	if k.CatalogState != host.CatalogRead || k.Catalog == nil {
		t.Fatalf("after the probe %+v", k)
	}
	var turn host.Turn
	w.ok(&turn, "POST", w.at("/turns"), host.Message{Content: host.Text("Take notes")})

	var inputs host.List[host.Interaction]
	w.until("a question", func() bool {
		w.ok(&inputs, "GET", w.at("/inputs"), nil)
		return len(inputs.Items) > 0
	})
	ask := inputs.Items[0]
	var answeredCard host.Interaction
	w.ok(&answeredCard, "POST", w.at("/inputs/"+ask.ID+"/answer"), host.Answer{Fields: []abi.FieldAnswer{answered(ask.Ask.Fields[0].ID, 1)}})
	if answeredCard.State != host.InteractionClaimed {
		t.Errorf("the card is %s", answeredCard.State)
	}
	w.fails(host.CodeInteractionAnswered, "POST", w.at("/inputs/"+ask.ID+"/answer"), host.Answer{Fields: []abi.FieldAnswer{answered(ask.Ask.Fields[0].ID, 0)}})
	w.untilTurn(turn.ID, host.TurnCompleted)

	var plans host.List[host.Proposal]
	w.until("a plan", func() bool {
		w.ok(&plans, "GET", w.at("/plans"), nil)
		return len(plans.Items) > 0
	})
	plan := plans.Items[0]
	w.fails(host.CodeProposalClosed, "POST", w.at("/plans/"+plan.ID+"/implement"), map[string]any{"revision": plan.Revision + 1})
	var done, again host.Turn
	w.ok(&done, "POST", w.at("/plans/"+plan.ID+"/implement"), map[string]any{"revision": plan.Revision})
	w.ok(&again, "POST", w.at("/plans/"+plan.ID+"/implement"), map[string]any{"revision": plan.Revision})
	if done.ID != again.ID || done.Origin != abi.OriginImplement {
		t.Errorf("implementing twice gave %+v and %+v", done, again)
	}
	w.fails(host.CodeProposalClosed, "POST", w.at("/plans/"+plan.ID+"/request-changes"), map[string]any{"revision": plan.Revision, "feedback": "no"})
	w.untilTurn(done.ID, host.TurnCompleted)
	w.ok(&turn, "GET", w.at("/turns/"+done.ID), nil)
	if turn.State != host.TurnCompleted {
		t.Errorf("the turn is %s", turn.State)
	}
	var turns host.List[host.Turn]
	w.ok(&turns, "GET", w.at("/turns"), nil)
	if len(turns.Items) != 2 {
		t.Errorf("%d turns", len(turns.Items))
	}
	w.ok(&c, "GET", w.at(""), nil)

	var want bytes.Buffer
	if err := w.h.Export(t.Context(), w.conv, &want); err != nil {
		t.Fatal(err)
	}
	if got := w.do("GET", w.at("/export"), nil); got.header.Get("Content-Type") != host.MediaLines || !bytes.Equal(got.body, want.Bytes()) {
		t.Errorf("the export has %d bytes of %s, want %d", len(got.body), got.header.Get("Content-Type"), want.Len())
	}
}

func TestHandlerSteersStopsCancelsResumesAndRetries(t *testing.T) {
	t.Parallel()
	w := newWeb(t, `{"turns":[{"when":{"turn":1},"steps":[{"say":"Waiting."},{"wait_interrupt":true}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`)
	w.fails(host.CodeNothingRunning, "POST", w.at("/stop"), nil)
	var first, second, steered, retried host.Turn
	w.ok(&first, "POST", w.at("/turns"), host.Message{Content: host.Text("one")})
	w.untilTurn(first.ID, host.TurnRunning)
	w.ok(&second, "POST", w.at("/turns"), host.Message{Content: host.Text("two")})
	w.fails(host.CodeTurnNotRetryable, "POST", w.at("/turns/"+second.ID+"/retry"), nil)
	w.fails(host.CodeTurnNotRunning, "POST", w.at("/stop"), host.StopOptions{Turn: second.ID})
	var k host.Controls
	w.ok(&k, "POST", w.at("/stop"), host.StopOptions{Turn: first.ID})
	w.untilTurn(first.ID, host.TurnInterrupted)
	w.ok(&k, "GET", w.at("/controls"), nil)
	if !k.Queue.Held || !slices.Equal(k.Queue.Turns, []string{second.ID}) {
		t.Fatalf("Q1: after the stop the queue is %+v", k.Queue)
	}
	w.fails(host.CodeTurnChanged, "POST", w.at("/turns/"+second.ID+"/cancel"), host.QueuedCancel{Version: second.Version + 1})
	var cancelled host.Turn
	w.ok(&cancelled, "POST", w.at("/turns/"+second.ID+"/cancel"), nil)
	if cancelled.State != host.TurnCancelled {
		t.Errorf("cancelled: %s", cancelled.State)
	}
	w.fails(host.CodeTurnNotQueued, "POST", w.at("/turns/"+first.ID+"/cancel"), nil)
	w.ok(&k, "POST", w.at("/queue/resume"), nil)
	if k.Queue.Held {
		t.Errorf("resumed: %+v", k.Queue)
	}
	w.ok(&retried, "POST", w.at("/turns/"+first.ID+"/retry"), map[string]string{"client_id": "again"})
	if retried.RetryOf != first.ID || retried.ClientID != "again" {
		t.Errorf("retried: %+v", retried)
	}
	w.untilTurn(retried.ID, host.TurnCompleted)
	w.ok(&steered, "POST", w.at("/steer"), host.Message{Content: host.Text("three")})
	w.untilTurn(steered.ID, host.TurnCompleted)
}

func TestHandlerTellsEveryErrorAsAProblemWithItsStatus(t *testing.T) {
	t.Parallel()
	internal := []host.Code{host.CodeStoreReadOnly, host.CodeStoreNewer, host.CodeStoreCorrupt, host.CodeStoreFailed}
	for _, c := range host.Codes() {
		if s := host.StatusOf(c.Code); s < 400 || http.StatusText(s) == "" || s == 500 && !slices.Contains(internal, c.Code) {
			t.Errorf("%s has the status %d; add it to handler_problem.go", c.Code, s)
		}
		p := host.ProblemOf(fmt.Errorf("wrapped: %w", &host.Error{Code: c.Code, Detail: "This.", Field: "that"}))
		if p.Type != "urn:ao-host:problem:"+string(c.Code) || p.Advice != c.Text || p.Detail != "This." || p.Field != "that" || p.Title == "" {
			t.Errorf("%+v", p)
		}
		if back := p.Err(); back.Error() != (&host.Error{Code: c.Code, Detail: "This."}).Error() || back.Field != "that" {
			t.Errorf("%s came back as %v", c.Code, back)
		}
	}
	if p := host.ProblemOf(fmt.Errorf("no code")); p.Code != host.CodeStoreFailed || p.Detail != "no code." || p.Status != 500 {
		t.Errorf("%+v", p)
	}
}

func TestHandlerTellsWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	w.fails(host.CodeUnknownRoute, "GET", "/", nil)
	w.fails(host.CodeUnknownRoute, "GET", "/v2/conversations", nil)
	w.fails(host.CodeUnknownRoute, "POST", w.at("/nothing"), nil)
	w.fails(host.CodeMethodNotAllowed, "DELETE", w.at(""), nil)
	w.fails(host.CodeMethodNotAllowed, "OPTIONS", "/v1/conversations", nil, "Access-Control-Request-Method", "POST")
	if got := w.do("PUT", "/v1/conversations", nil).header; got.Get("Allow") != "GET, HEAD, POST" || got.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("headers %v", got)
	}
	other := "/v1/conversations/none"
	for _, path := range []string{"", "/turns", "/turns/x", "/controls", "/inputs", "/plans", "/events", "/export"} {
		w.fails(host.CodeUnknownConversation, "GET", other+path, nil)
	}
	w.fails(host.CodeUnknownConversation, "POST", other+"/turns", host.Message{Content: host.Text("x")})
	w.fails(host.CodeUnknownInteraction, "POST", w.at("/inputs/x/answer"), host.Answer{})
	w.fails(host.CodeUnknownProposal, "POST", w.at("/plans/x/implement"), map[string]any{"revision": 1})
	w.fails(host.CodeUnknownHarness, "GET", "/v1/harnesses/x/manifest", nil)
	w.fails(host.CodeUnknownHarness, "POST", "/v1/bindings/x/allow", nil)
	if p := w.fails(host.CodeInvalidArgument, "GET", w.at("/turns?limit=3"), nil); p.Field != "limit" {
		t.Errorf("%+v", p)
	}
}

func TestHandlerRefusesBodiesItDoesNotUnderstandWithThePathOfTheOffender(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	for _, c := range []struct{ name, method, path, body, field string }{
		{"unknown member", "POST", "/turns", `{"content":[{"type":"text","text":"x"}],"mode":"plan"}`, "mode"},
		{"unknown member inside", "POST", "/turns", `{"content":[{"type":"text","text":"x"},{"type":"text","txt":"x"}]}`, "content[1].txt"},
		{"member of another case", "POST", "/turns", `{"Content":[]}`, "Content"},
		{"repeated member", "POST", "/turns", `{"content":[],"content":[]}`, "content"},
		{"null", "PATCH", "/settings", `{"revision":1,"patch":{"mode":null}}`, "patch.mode"},
		{"null body", "POST", "/turns", `null`, "body"},
		{"missing member", "POST", "/turns", `{"client_id":"x"}`, "content"},
		{"missing revision", "PATCH", "/settings", `{"patch":{}}`, "revision"},
		{"missing body", "POST", "/turns", ``, "content"},
		{"text for a number", "PATCH", "/settings", `{"revision":"1","patch":{}}`, "revision"},
		{"fraction", "PATCH", "/settings", `{"revision":1.5,"patch":{}}`, "revision"},
		{"number too large", "PATCH", "/settings", `{"revision":99999999999999999999,"patch":{}}`, "revision"},
		{"number for a text", "PATCH", "/settings", `{"revision":1,"patch":{"options":{"a.b":1}}}`, "patch.options.a.b"},
		{"text for a list", "POST", "/turns", `{"content":"x"}`, "content"},
		{"list for an object", "POST", "/turns", `[]`, "body"},
		{"text for true", "POST", "/inputs/x/answer", `{"fields":[{"field":"a","state":"answered","has_other":"true"}]}`, "fields[0].has_other"},
		{"no base64", "POST", "/turns", `{"content":[{"type":"image","media":"image/png","bytes":"?"}]}`, "body"},
		{"not JSON", "POST", "/turns", `{"content":`, "content"},
		{"more than one value", "POST", "/turns", `{"content":[]}{}`, "body"},
		{"no UTF-8", "POST", "/turns", "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}", "body"},
		{"body where there is none", "POST", "/queue/resume", `{"now":true}`, "now"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := host.CodeInvalidArgument
			body := any(c.body)
			if c.body == "" {
				body, want = nil, host.CodeMediaType
				c.field = "Content-Type"
			}
			if p := w.fails(want, c.method, w.at(c.path), body); p.Field != c.field {
				t.Errorf("the field is %q, want %q: %s", p.Field, c.field, p.Detail)
			}
		})
	}
	for _, typ := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", "", "?"} {
		w.fails(host.CodeMediaType, "POST", w.at("/turns"), `{"content":[{"type":"text","text":"x"}]}`, "Content-Type", typ)
	}
	if turns, err := w.h.Turns(t.Context(), w.conv); err != nil || len(turns) != 0 {
		t.Errorf("refused requests made turns: %+v %v", turns, err)
	}
	var turn host.Turn
	w.ok(&turn, "POST", w.at("/turns"), `{"content":[{"type":"text","text":"x"}]}`, "Content-Type", "Application/JSON; charset=UTF-8")
}

func TestHandlerBoundsBodies(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo, func(c *host.Config) { c.MaxMessage, c.MaxAttachment = 1000, 3000 })
	long := func(n int) host.Message { return host.Message{Content: host.Text(strings.Repeat("x", n))} }
	w.fails(host.CodeMessageTooLarge, "POST", w.at("/turns"), long(1001))
	if p := w.fails(host.CodeMessageTooLarge, "POST", w.at("/turns"), long(1<<20+1000*2+3000*4/3*4+1)); p.Field != "body" {
		t.Errorf("the whole body was read: %+v", p)
	}
	w.fails(host.CodeMessageTooLarge, "PATCH", w.at("/settings"), map[string]any{"revision": 1, "patch": map[string]string{"mode": strings.Repeat("x", 1<<20+2000)}})
}

func TestHandlerDropsAClientThatDoesNotFinishItsBody(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	w.serve(w.h.HandlerWith(patience, patience, 100*time.Millisecond))
	conn := dial(t, w.srv)
	ask(t, conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", w.at("/turns"))
	body, err := readResponse(t, conn)
	if err != nil {
		t.Fatal(err)
	}
	var p host.Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code != host.CodeInvalidArgument || p.Field != "body" {
		t.Fatalf("%+v %v", p, err)
	}
}

func TestHandlerRefusesWebPagesAndOtherNames(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	port := w.srv.URL[strings.LastIndex(w.srv.URL, ":"):]
	for _, c := range []struct {
		name    string
		headers []string
		ok      bool
	}{
		{"no headers", nil, true},
		{"localhost", []string{"Host", "localhost" + port}, true},
		{"IPv6", []string{"Host", "[::1]" + port}, true},
		{"without port", []string{"Host", "127.0.0.1"}, true},
		{"a rebound name", []string{"Host", "evil.example" + port}, false},
		{"a name that begins right", []string{"Host", "localhost.evil.example"}, false},
		{"an address of the network", []string{"Host", "192.168.1.2" + port}, false},
		{"own origin", []string{"Host", "localhost" + port, "Origin", "http://localhost" + port}, true},
		{"origin of another port", []string{"Host", "localhost" + port, "Origin", "http://localhost:1"}, false},
		{"foreign origin", []string{"Origin", "https://evil.example"}, false},
		{"no origin of its own", []string{"Origin", "null"}, false},
		{"file", []string{"Origin", "file://"}, false},
		{"cross-site load", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{"same-site load", []string{"Sec-Fetch-Site", "same-site"}, false},
		{"typed by hand", []string{"Sec-Fetch-Site", "none"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ok {
				var v host.VersionInfo
				w.ok(&v, "GET", "/v1/version", nil, c.headers...)
				return
			}
			w.fails(host.CodeForeignRequest, "GET", "/v1/version", nil, c.headers...)
			w.fails(host.CodeForeignRequest, "POST", w.at("/queue/resume"), nil, c.headers...)
		})
	}
}

func TestHandlerRefusesRequestsThatArriveFromTheNetwork(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	req := httptest.NewRequestWithContext(networkAddr(t.Context()), "GET", "http://localhost/v1/version", nil)
	rec := httptest.NewRecorder()
	w.h.Handler().ServeHTTP(rec, req)
	if rec.Code != http.StatusForbidden || !strings.Contains(rec.Body.String(), "192.0.2.1:80") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestHandlerWorksBelowAPrefix(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	w.serve(http.StripPrefix("/chat", w.h.Handler()))
	res, err := w.srv.Client().Get(w.srv.URL + "/chat/v1/version")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Error(res.Status)
	}
}

func TestHandlerListsModulesThatCannotBeUsedWithTheReason(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	dir := filepath.Join(w.dir, "bindings")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.wasm"), []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	var bindings host.List[host.InstalledBinding]
	w.ok(&bindings, "GET", "/v1/bindings", nil)
	last := bindings.Items[len(bindings.Items)-1]
	if last.Problem == nil || last.Problem.Code != host.CodeModuleForeign || last.Allowed {
		t.Errorf("%+v", last)
	}
	w.fails(host.CodeModuleForeign, "POST", "/v1/bindings/broken/allow", nil)
}

// FuzzRequestBody: what the strict decoder takes, encoding/json takes too, with
// the same result, and it is taken again when written anew.
func FuzzRequestBody(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"x"}],"client_id":"a","settings":{"mode":"","permission":"auto","options":{"a":"b"}}}`,
		`{"content":[{"type":"image","bytes":"aGk=","media":"image/png"}]}`, `{"content":null}`, `{"Content":[]}`, `{"content":[],"content":[]}`,
		`{"fields":[{"field":"a","state":"answered","selected":[1,2]}],"content":{"a":[null,1e3]}}`, `{"content":"\ud800"}`, ` {} `, `{"fields":[{"selected":[1.0]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := host.DecodeMessage(b); err == nil {
			agree(t, b, m, func(b []byte) (host.Message, error) { return host.DecodeMessage(b) })
		}
		if a, err := host.DecodeAnswer(b); err == nil && a.Content == nil {
			agree(t, b, a, host.DecodeAnswer)
		}
	})
}

func agree[T any](t *testing.T, b []byte, got T, decode func([]byte) (T, error)) {
	t.Helper()
	var want T
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&want); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %+v, encoding/json has %+v (%v)", b, got, want, err)
	}
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("null")) {
		return // an empty list that was left out, or a text with the word
	}
	again, err := decode(raw)
	if err != nil {
		t.Fatalf("%s is refused: %v", raw, err)
	}
	if second, err := json.Marshal(again); err != nil || !bytes.Equal(raw, second) {
		t.Fatalf("%s came back as %s (%v)", raw, second, err)
	}
}
