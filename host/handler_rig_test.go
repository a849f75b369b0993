package host_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/aoagents/ao-host/api"
	"github.com/aoagents/ao-host/host"
)

// web is a rig behind its HTTP handler. Every answer is checked against the
// OpenAPI document.
type web struct {
	*rig
	srv *httptest.Server
	doc *apiDoc
}

func newWeb(t testing.TB, script string, opts ...func(*host.Config)) *web {
	t.Helper()
	w := &web{rig: newRig(t, script, opts...), doc: readDoc(t)}
	w.serve(w.h.Handler())
	return w
}

// serve puts another handler in place, after a restart too.
func (w *web) serve(h http.Handler) {
	if w.srv != nil {
		w.srv.Close()
	}
	w.srv = httptest.NewServer(h)
	w.t.Cleanup(w.srv.Close)
}

// at makes a path below the conversation.
func (w *web) at(path string) string { return "/v1/conversations/" + w.conv + path }

type reply struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request; the headers are pairs of name and value.
func (w *web) do(method, path string, body any, headers ...string) reply {
	w.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.srv.URL+path, in)
	if err != nil {
		w.t.Fatal(err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.srv.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	w.doc.check(w.t, method, path, res, out)
	return reply{res.StatusCode, res.Header, out}
}

// ok sends a request that must succeed and decodes the answer.
func (w *web) ok(out any, method, path string, body any, headers ...string) {
	w.t.Helper()
	r := w.do(method, path, body, headers...)
	if r.status/100 != 2 {
		w.t.Fatalf("%s %s: %d %s", method, path, r.status, r.body)
	}
	// What the answer leaves out must not stay from the one before.
	reflect.ValueOf(out).Elem().SetZero()
	if err := json.Unmarshal(r.body, out); err != nil {
		w.t.Fatalf("%s %s: %v in %s", method, path, err, r.body)
	}
}

// fails sends a request that must fail with a code.
func (w *web) fails(want host.Code, method, path string, body any, headers ...string) host.Problem {
	w.t.Helper()
	r := w.do(method, path, body, headers...)
	var p host.Problem
	if err := json.Unmarshal(r.body, &p); err != nil {
		w.t.Fatalf("%s %s: %d %s", method, path, r.status, r.body)
	}
	if p.Code != want || r.status != host.StatusOf(want) || p.Status != r.status || r.header.Get("Content-Type") != host.MediaProblem {
		w.t.Fatalf("%s %s: %d %s %s, want %s with %d", method, path, r.status, r.header.Get("Content-Type"), r.body, want, host.StatusOf(want))
	}
	return p
}

// apiDoc is the OpenAPI document with its schemas compiled when they are needed.
type apiDoc struct {
	Paths map[string]map[string]struct {
		ID        string `json:"operationId"`
		Responses map[string]struct {
			Content map[string]json.RawMessage `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	patterns map[string]*regexp.Regexp
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema
}

// readDoc reads the document, which all tests share.
func readDoc(t testing.TB) *apiDoc {
	t.Helper()
	d, err := sharedDoc()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var sharedDoc = sync.OnceValues(func() (*apiDoc, error) {
	d := &apiDoc{patterns: map[string]*regexp.Regexp{}, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	if err := json.Unmarshal([]byte(api.OpenAPI), d); err != nil {
		return nil, err
	}
	d.compiler.Draft = jsonschema.Draft2020
	d.compiler.AssertFormat = true
	if err := d.compiler.AddResource("openapi.json", strings.NewReader(api.OpenAPI)); err != nil {
		return nil, err
	}
	for path := range d.Paths {
		d.patterns[path] = regexp.MustCompile("^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`) + "$")
	}
	return d, nil
})

// validate checks a value against the schema at a pointer into the document.
func (d *apiDoc) validate(t testing.TB, pointer string, raw []byte) {
	t.Helper()
	d.mu.Lock()
	s := d.schemas[pointer]
	var err error
	if s == nil {
		if s, err = d.compiler.Compile("openapi.json#" + pointer); err == nil {
			d.schemas[pointer] = s
		}
	}
	d.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if err := s.Validate(v); err != nil {
		t.Fatalf("not what the OpenAPI document says at %s: %#v\n%s", pointer, err, raw)
	}
}

func (d *apiDoc) check(t testing.TB, method, path string, res *http.Response, body []byte) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	media := res.Header.Get("Content-Type")
	problem := "/components/schemas/Problem"
	for pattern, ops := range d.Paths {
		op, ok := ops[strings.ToLower(method)]
		if !ok || !d.patterns[pattern].MatchString(path) {
			continue
		}
		if media == host.MediaProblem {
			d.validate(t, problem, body)
			return
		}
		if _, ok := op.Responses[strconv.Itoa(res.StatusCode)].Content[media]; !ok {
			t.Fatalf("%s answers %d %s, which the OpenAPI document does not know", op.ID, res.StatusCode, media)
		}
		at := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(pattern) + "/" + strings.ToLower(method) +
			"/responses/" + strconv.Itoa(res.StatusCode) + "/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema"
		if media == host.MediaJSON {
			d.validate(t, at, body)
			return
		}
		for line := range strings.Lines(string(body)) {
			d.validate(t, at, []byte(line))
		}
		return
	}
	// Not an operation: then it must be told as a problem.
	d.validate(t, problem, body)
}
