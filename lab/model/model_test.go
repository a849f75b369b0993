package model_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab/model"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client keeps no connections, so that goleak sees the server's leaks only.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// answer is a response whose body is closed at the end of the test.
type answer struct {
	status int
	header http.Header
	body   io.Reader
}

func post(t *testing.T, s *model.Server, path, body string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return answer{resp.StatusCode, resp.Header, resp.Body}
}

func read(t *testing.T, resp answer) string {
	t.Helper()
	b, err := io.ReadAll(resp.body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// events reads the data of a stream, one decoded object each.
func events(t *testing.T, resp answer) []map[string]any {
	t.Helper()
	if ct := resp.header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("content type %q: %s", ct, read(t, resp))
	}
	var out []map[string]any
	sc := bufio.NewScanner(resp.body)
	name := ""
	for sc.Scan() {
		if n, ok := strings.CutPrefix(sc.Text(), "event: "); ok {
			name = n
		}
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var v map[string]any
		if data != "[DONE]" {
			if err := json.Unmarshal([]byte(data), &v); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			if name != "" && v["type"] != name {
				t.Errorf("event %s carries type %v", name, v["type"])
			}
		}
		out = append(out, v)
	}
	return out
}

func types(evs []map[string]any) string {
	var out []string
	for _, e := range evs {
		out = append(out, fmt.Sprint(e["type"]))
	}
	return strings.Join(out, " ")
}

const ask = `{"model":"m","stream":true,"input":"hi"}`

func TestResponsesStreamDeltasReasoningAndCalls(t *testing.T) {
	s := model.Start(t, model.Script{Steps: []model.Step{{
		Usage: &model.Usage{Input: 7, Cached: 3, Output: 5, Reasoning: 2},
		Reply: []model.Action{model.Reasoning("hm"), model.Chunked("größe", 5), model.Call("call_9", "f", `{"a":1}`),
			{Custom: &model.CustomCall{Name: "patch", Input: "p"}}, {Item: json.RawMessage(`{"type":"web_search_call","id":"w"}`)}},
	}}})
	evs := events(t, post(t, s, "/v1/responses", ask))
	want := "response.created response.output_item.added response.reasoning_summary_part.added response.reasoning_summary_text.delta response.output_item.done " +
		"response.output_item.added" + strings.Repeat(" response.output_text.delta", 5) + " response.output_item.done " +
		"response.output_item.added response.function_call_arguments.delta response.output_item.done " +
		"response.output_item.added response.output_item.done response.output_item.done response.completed"
	if got := types(evs); got != want {
		t.Fatalf("events\n%s\nwant\n%s", got, want)
	}
	said := ""
	for _, e := range evs {
		if e["type"] == "response.output_text.delta" {
			said += e["delta"].(string)
		}
	}
	if said != "größe" {
		t.Errorf("deltas %q", said)
	}
	last := evs[len(evs)-1]["response"].(map[string]any)
	if usage := fmt.Sprint(last["usage"]); usage != "map[input_tokens:7 input_tokens_details:map[cached_tokens:3] output_tokens:5 output_tokens_details:map[reasoning_tokens:2] total_tokens:12]" {
		t.Errorf("usage %s", usage)
	}
	if n := len(last["output"].([]any)); n != 5 {
		t.Errorf("%d items in the response", n)
	}
}

func TestMessagesStreamBlocksAndStopForATool(t *testing.T) {
	s := model.Start(t, model.Script{Steps: []model.Step{
		{Reply: []model.Action{model.Reasoning("hm"), model.Text("hello"), model.Call("tool_1", "Bash", `{"command":"ls"}`)}},
		{Reply: []model.Action{model.Text("bye")}},
	}})
	body := `{"model":"m","stream":true,"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":"hi"}],"output_config":{"effort":"low"},"tools":[{"name":"Bash"}]}`
	evs := events(t, post(t, s, "/v1/messages", body))
	want := "message_start content_block_start content_block_delta content_block_delta content_block_stop content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_stop message_delta message_stop"
	if got := types(evs); got != want {
		t.Fatalf("events\n%s\nwant\n%s", got, want)
	}
	if stop := fmt.Sprint(evs[len(evs)-2]["delta"]); !strings.Contains(stop, "tool_use") {
		t.Errorf("stopped with %s", stop)
	}
	r := s.Requests()[0]
	if r.Instructions != "be brief" || r.LastUser != "hi" || r.Effort != "low" || !slices.Equal(r.Tools, []string{"Bash"}) {
		t.Errorf("%+v", r)
	}
	body = `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"tool_1"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"tool_1","content":"x"}]}]}`
	text := read(t, post(t, s, "/v1/messages", body))
	if !strings.Contains(text, `"stop_reason":"end_turn"`) || !strings.Contains(text, `"text":"bye"`) {
		t.Errorf("not streamed: %s", text)
	}
	if r := s.Requests()[1]; !slices.Equal(r.Results, []string{"tool_1"}) {
		t.Errorf("results %v", r.Results)
	}
}

func TestChatCompletionsStreamEndsWithDone(t *testing.T) {
	s := model.Start(t, model.Script{Steps: []model.Step{
		{Reply: []model.Action{model.Reasoning("hm"), model.Chunked("ab", 2), model.Call("c1", "f", `{}`), model.Call("c2", "g", `{}`)}},
		{Match: model.Match{Result: "c2"}, Reply: []model.Action{model.Text("done")}},
	}})
	body := `{"model":"m","stream":true,"reasoning_effort":"high","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}]}`
	evs := events(t, post(t, s, "/v1/chat/completions", body))
	if len(evs) != 9 || evs[len(evs)-1] != nil {
		t.Fatalf("%d events, the last %v", len(evs), evs[len(evs)-1])
	}
	if finish := fmt.Sprint(evs[6]["choices"]); !strings.Contains(finish, "finish_reason:tool_calls") {
		t.Errorf("%s", finish)
	}
	if second := fmt.Sprint(evs[5]["choices"]); !strings.Contains(second, "id:c2 index:1") {
		t.Errorf("%s", second)
	}
	body = `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null},{"role":"tool","tool_call_id":"c1","content":"x"},{"role":"tool","tool_call_id":"c2","content":"y"}]}`
	if text := read(t, post(t, s, "/v1/chat/completions", body)); !strings.Contains(text, `"content":"done"`) || !strings.Contains(text, `"finish_reason":"stop"`) {
		t.Errorf("%s", text)
	}
	if r := s.Requests()[0]; r.Effort != "high" || r.Instructions != "s" || !slices.Equal(r.Tools, []string{"f"}) {
		t.Errorf("%+v", r)
	}
}

func TestARequestIsLoggedWithoutCredentials(t *testing.T) {
	s := model.Start(t, model.Script{Steps: []model.Step{{Reply: []model.Action{model.Text("x")}}}})
	body := `{"model":"m","instructions":"base","reasoning":{"effort":"high"},"input":[
		{"type":"message","role":"developer","content":[{"type":"input_text","text":"be safe"}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"first"}]},
		{"type":"function_call","call_id":"old","name":"f","arguments":"{}"},
		{"type":"function_call_output","call_id":"old","output":"1"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"second"}]},
		{"type":"function_call","call_id":"new","name":"f","arguments":"{}"},
		{"type":"function_call_output","call_id":"new","output":"2"}],
		"tools":[{"type":"function","name":"f"},{"type":"web_search"},{"type":"namespace","name":"ns","tools":[{"type":"function","name":"g"}]}]}`
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	if _, err := zw.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	post(t, s, "/v1/responses?x=1", zipped.String(), "Content-Encoding", "gzip", "Authorization", "Bearer sk-secret", "X-Api-Key", "sk-secret",
		"Cookie", "sk-secret", "Api-Key", "sk-secret", "Proxy-Authorization", "sk-secret", "X-Other", "kept")
	r := s.Requests()[0]
	if strings.Contains(fmt.Sprint(r.Header), "sk-secret") || r.Header.Get("X-Other") != "kept" {
		t.Errorf("headers %v", r.Header)
	}
	if string(r.Body) != body || r.Query != "x=1" || r.Method != http.MethodPost || r.N != 1 || r.Step != "step 1" || r.API != model.Responses {
		t.Errorf("%+v", r)
	}
	if r.Instructions != "base\n\nbe safe" || r.LastUser != "second" || r.Effort != "high" || r.Model != "m" || r.Stream {
		t.Errorf("%q %q %q %q %v", r.Instructions, r.LastUser, r.Effort, r.Model, r.Stream)
	}
	if !slices.Equal(r.Tools, []string{"f", "web_search", "ns.g"}) || !slices.Equal(r.Results, []string{"new"}) {
		t.Errorf("tools %v, results %v", r.Tools, r.Results)
	}
}

func TestTheFirstStepThatAgreesAnswers(t *testing.T) {
	s := model.Start(t, model.Script{Steps: []model.Step{
		{Name: "late", Match: model.Match{LastUser: "two"}, Reply: []model.Action{model.Text("2")}},
		{Name: "effort", Match: model.Match{Effort: "high", Model: "big", API: model.Responses, Tool: "f", Instructions: "plan", Body: "zz"}, Reply: []model.Action{model.Text("e")}},
		{Name: "once", Reply: []model.Action{model.Text("1")}},
		{Name: "always", Repeat: true, Reply: []model.Action{model.Text("*")}},
	}})
	for _, body := range []string{
		`{"model":"m","input":"one"}`, `{"model":"m","input":"two"}`, `{"model":"m","input":"two"}`,
		`{"model":"big","instructions":"plan","input":"zz","reasoning":{"effort":"high"},"tools":[{"name":"f"}]}`, `{"model":"m","input":"x"}`,
	} {
		read(t, post(t, s, "/v1/responses", body))
	}
	var steps []string
	for _, r := range s.Requests() {
		steps = append(steps, r.Step)
	}
	if got := strings.Join(steps, " "); got != "once late always effort always" {
		t.Errorf("steps %s", got)
	}
	if left := s.Remaining(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// fakeTB collects what Start tells a test.
type fakeTB struct {
	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

func (f *fakeTB) Helper()          {}
func (f *fakeTB) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fakeTB) Fatalf(format string, args ...any) { f.Errorf(format, args...) }

func TestAnUnscriptedRequestOfTheAgentFailsTheTestAndSideRequestsDoNot(t *testing.T) {
	tb := &fakeTB{}
	s := model.Start(tb, model.Script{Steps: []model.Step{{Name: "left", Match: model.Match{Model: "other"}, Reply: []model.Action{model.Text("x")}}}})
	resp := post(t, s, "/v1/responses", ask)
	if resp.status != http.StatusBadRequest {
		t.Errorf("status %d", resp.status)
	}
	if text := read(t, post(t, s, "/v1/responses", `{"model":"m","instructions":"Generate a short title for the conversation","input":"other"}`)); !strings.Contains(text, "Scripted session") {
		t.Errorf("title: %s", text)
	}
	if text := read(t, post(t, s, "/v1/responses", `{"model":"codex-auto-review","input":"x\n>>> APPROVAL REQUEST START\n"}`)); !strings.Contains(text, `\"outcome\":\"deny\"`) {
		t.Errorf("review: %s", text)
	}
	forced := read(t, post(t, s, "/v1/responses", `{"model":"m","stream":true,"input":[{"role":"user","content":"hi"}],"tools":[{"type":"function","name":"session_title"}]}`))
	if !strings.Contains(forced, `{\"session_title\":\"Scripted session\"}`) || !strings.Contains(forced, `"created_at":0`) || !strings.Contains(forced, `"sequence_number":1,`) {
		t.Errorf("the title that Grok forces: %s", forced)
	}
	for _, last := range []string{"<system-reminder>Write an ultra-short dashboard line that", "[SUGGESTION MODE: Suggest"} {
		if text := read(t, post(t, s, "/v1/messages", `{"model":"m","tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"`+last+`"}]}`)); !strings.Contains(text, "Scripted aside") {
			t.Errorf("%s: %s", last, text)
		}
	}
	if text := read(t, post(t, s, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"<system-reminder>Generate a session title for"}],"tools":[{"type":"function","function":{"name":"x"}}]}`)); !strings.Contains(text, "Scripted session") {
		t.Errorf("the later title of Grok: %s", text)
	}
	if text := read(t, post(t, s, "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"<transcript>\nUser: hi"}]}`)); !strings.Contains(text, `block\u003eyes`) {
		t.Errorf("the classifier: %s", text)
	}
	kinds := ""
	for _, r := range s.Requests() {
		kinds += string(r.Kind) + " "
	}
	if kinds != "agent title review title aside aside title review " || len(s.AgentRequests()) != 1 {
		t.Errorf("kinds %s", kinds)
	}
	if left := s.Remaining(); !slices.Equal(left, []string{"left"}) {
		t.Errorf("left %v", left)
	}
	for _, c := range tb.cleanups {
		c()
	}
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], `last said "hi"`) {
		t.Errorf("told %q", tb.errors)
	}
}

func TestAStepForASideRequestIsNotTakenByTheAgent(t *testing.T) {
	s := model.Start(t, model.Script{Steps: []model.Step{
		{Name: "review", Match: model.Match{Kind: model.KindReview}, Reply: []model.Action{model.Verdict(true, "ok")}},
		{Name: "any", Match: model.Match{Kind: "any"}, Reply: []model.Action{model.Text("a")}},
	}})
	read(t, post(t, s, "/v1/responses", ask))
	if text := read(t, post(t, s, "/v1/responses", `{"model":"m","input":">>> APPROVAL REQUEST START"}`)); !strings.Contains(text, `\"outcome\":\"allow\"`) {
		t.Errorf("%s", text)
	}
	if a, b := s.Requests()[0].Step, s.Requests()[1].Step; a != "any" || b != "review" {
		t.Errorf("%s, %s", a, b)
	}
}

func TestRefusalsDisconnectsFailuresAndWaits(t *testing.T) {
	s := model.Start(t, model.Script{Steps: []model.Step{
		{Reply: []model.Action{{HTTP: &model.HTTPError{Status: 429, RetryAfter: "3", Body: json.RawMessage(`{"error":"slow"}`)}}}},
		{Reply: []model.Action{model.Text("half"), {Disconnect: true}}},
		{Reply: []model.Action{model.Text("half"), {Fail: &model.Failure{Code: "rate_limit_exceeded", Message: "later"}}}},
		{Reply: []model.Action{model.Text("before"), model.Wait("gate"), model.Text("after")}},
		{Reply: []model.Action{model.Wait("gate"), model.Status(503, "gone")}},
		{Reply: []model.Action{{Hang: true}}},
	}})
	resp := post(t, s, "/v1/responses", ask)
	if body := read(t, resp); resp.status != http.StatusTooManyRequests || resp.header.Get("Retry-After") != "3" || body != `{"error":"slow"}` {
		t.Errorf("%d %s", resp.status, body)
	}
	resp = post(t, s, "/v1/responses", ask)
	if _, err := io.ReadAll(resp.body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("disconnect reads as %v", err)
	}
	evs := events(t, post(t, s, "/v1/responses", ask))
	if last := evs[len(evs)-1]; last["type"] != "response.failed" || !strings.Contains(fmt.Sprint(last), "rate_limit_exceeded") {
		t.Errorf("%v", last)
	}
	resp = post(t, s, "/v1/responses", ask)
	first := make([]byte, 1)
	if _, err := resp.body.Read(first); err != nil {
		t.Fatalf("nothing before the gate: %v", err)
	}
	s.Release("gate")
	s.Release("gate") // twice does no harm
	if rest := read(t, resp); !strings.Contains(rest, "after") {
		t.Errorf("%s", rest)
	}
	if resp := post(t, s, "/v1/responses", ask); resp.status != http.StatusServiceUnavailable {
		t.Errorf("a refusal behind a gate: %d", resp.status)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/responses", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	hanging, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hanging.Body.Close() }()
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := io.ReadAll(hanging.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("a hanging stream reads as %v", err)
	}
}

func TestParallelRequestsEachGetTheirOwnStep(t *testing.T) {
	var steps []model.Step
	for range 20 {
		steps = append(steps, model.Step{Reply: []model.Action{{DelayMS: 5}, model.Text("x")}})
	}
	s := model.Start(t, model.Script{Steps: steps})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			resp, err := client.Post(s.URL()+"/v1/responses", "application/json", strings.NewReader(ask))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, r := range s.Requests() {
		seen[r.Step] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d steps for 20 requests", len(seen))
	}
}

func TestTheOtherEndpoints(t *testing.T) {
	s := model.Start(t, model.Script{Models: []string{"a", "b"}})
	resp, err := client.Get(s.URL() + "/v1/models?client_version=1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text := read(t, answer{body: resp.Body}); !strings.Contains(text, `"id":"b"`) || !strings.Contains(text, `"models":[]`) {
		t.Errorf("%s", text)
	}
	if text := read(t, post(t, s, "/v1/messages/count_tokens", strings.Repeat("x", 400))); !strings.Contains(text, `"input_tokens":100`) {
		t.Errorf("%s", text)
	}
	if resp := post(t, s, "/telemetry", "{}"); resp.status != http.StatusNotFound {
		t.Errorf("%d", resp.status)
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests logged", n)
	}
	if resp := post(t, s, "/v1/responses", ask, "Content-Encoding", "zstd"); resp.status != http.StatusBadRequest {
		t.Errorf("an unreadable body: %d", resp.status)
	}
}

func TestCloseEndsOpenStreams(t *testing.T) {
	s, err := model.Serve(t.Context(), model.Script{Steps: []model.Step{{Reply: []model.Action{model.Text("x"), {Hang: true}}}}})
	if err != nil {
		t.Fatal(err)
	}
	resp := post(t, s, "/v1/responses", ask)
	s.Close()
	if _, err := io.ReadAll(resp.body); err == nil {
		t.Error("the stream ended well")
	}
	s.Close() // twice does no harm
}

func TestScriptFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "scripts", "model", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		if _, err := model.Load(f); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	if _, err := model.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	for name, text := range map[string]string{
		"not JSON":            `{`,
		"unknown member":      `{"stepz":[]}`,
		"text after the end":  `{} x`,
		"empty reply":         `{"steps":[{"reply":[]}]}`,
		"two verbs":           `{"steps":[{"reply":[{"text":"a","reasoning":"b"}]}]}`,
		"no verb":             `{"steps":[{"reply":[{"chunks":2}]}]}`,
		"arguments no object": `{"steps":[{"reply":[{"call":{"name":"f","arguments":"x"}}]}]}`,
		"no HTTP status":      `{"steps":[{"reply":[{"http":{"status":9}}]}]}`,
		"refuses and streams": `{"steps":[{"reply":[{"text":"a"},{"http":{"status":500}}]}]}`,
		"unknown kind":        `{"steps":[{"match":{"kind":"x"},"reply":[{"text":"a"}]}]}`,
		"unknown API":         `{"steps":[{"match":{"api":"x"},"reply":[{"text":"a"}]}]}`,
	} {
		if _, err := model.Parse([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := model.Serve(t.Context(), model.Script{Steps: []model.Step{{}}}); err == nil {
		t.Error("a script in Go is not checked")
	}
}

func TestACallMayCarryWhatOnlyTheRequestKnows(t *testing.T) {
	script, err := model.Parse([]byte(`{"steps":[{"capture":"plan to (\\S+)\"","repeat":true,"reply":[{"call":{"name":"write","arguments":{"path":"{{captured}}"}}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := model.Start(t, script)
	if text := read(t, post(t, s, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Write the plan to /a \"b\"/plan.md"}]}`)); strings.Contains(text, "/a") {
		t.Errorf("no match, and still captured: %s", text)
	}
	if text := read(t, post(t, s, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Write the plan to /a/plan.md"}]}`)); !strings.Contains(text, `{\"path\":\"/a/plan.md\"}`) {
		t.Errorf("%s", text)
	}
	for _, bad := range []string{`(`, `no group`, `(a)(b)`} {
		if _, err := model.Parse([]byte(`{"steps":[{"capture":"` + bad + `","reply":[{"text":"x"}]}]}`)); err == nil {
			t.Errorf("accepted the capture %s", bad)
		}
	}
}
