// Package openapi writes the OpenAPI 3.1 document of the HTTP API from the route
// table and types of package host; descriptions are the comments of the source.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aoagents/ao-host/host"
)

const introduction = "The core host of coding-agent harnesses over a unix socket or loopback TCP. " +
	"A mutation may be repeated with the same " + host.HeaderIdempotencyKey + ": it is carried out once. " +
	"Every error is an RFC 9457 problem with a stable code. " +
	"Unknown members of a request are refused; readers of answers pass over members they do not know."

// Document returns the document. Root is the root folder of the module's source.
func Document(root fs.FS) ([]byte, error) {
	src, err := readSource(root)
	if err != nil {
		return nil, err
	}
	g := &generator{src: src, schemas: &schemas{
		src: src, done: obj(), types: map[string]reflect.Type{}, required: map[reflect.Type][]string{}, answered: map[reflect.Type]bool{},
	}}
	routes := host.Routes()
	closure(reflect.TypeFor[host.Problem](), g.schemas.answered)
	closure(reflect.TypeFor[host.EndEvent](), g.schemas.answered)
	for _, rt := range routes {
		closure(rt.Result, g.schemas.answered)
		if rt.Body == nil {
			continue
		}
		if known, ok := g.schemas.required[rt.Body]; ok && !slices.Equal(known, rt.Required) {
			return nil, fmt.Errorf("%s: the type %s requires other members elsewhere", rt.ID, rt.Body)
		}
		g.schemas.required[rt.Body] = rt.Required
	}
	paths := obj()
	for _, rt := range routes {
		op, err := g.operation(&rt)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rt.ID, err)
		}
		item, ok := paths.get(rt.Path).(*object)
		if !ok {
			item = obj()
			paths.set(rt.Path, item)
		}
		item.set(strings.ToLower(rt.Method), op)
	}
	if _, err := g.schemas.of(reflect.TypeFor[host.EndEvent]()); err != nil {
		return nil, err
	}
	slices.Sort(g.schemas.done.keys)
	doc := obj(
		"openapi", "3.1.0",
		"info", obj("title", "ao-host", "version", "1", "description", introduction),
		"paths", paths,
		"components", obj("schemas", g.schemas.done),
	)
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

type generator struct {
	src     *source
	schemas *schemas
}

func (g *generator) operation(rt *host.Route) (*object, error) {
	doc := rt.Doc
	if rt.Calls != "" {
		var ok bool
		if doc, ok = g.src.methods[rt.Calls]; !ok || doc == "" {
			return nil, fmt.Errorf("the method %s has no comment", rt.Calls)
		}
		doc = withoutName(doc)
	}
	op := obj("operationId", rt.ID, "summary", firstSentence(doc), "description", doc)
	if p := parameters(rt); len(p) > 0 {
		op.set("parameters", p)
	}
	if rt.Body != nil {
		body, err := g.schemas.of(rt.Body)
		if err != nil {
			return nil, err
		}
		op.set("requestBody", obj("required", len(rt.Required) > 0, "content", obj(host.MediaJSON, obj("schema", body))))
	}
	result, err := g.schemas.of(rt.Result)
	if err != nil {
		return nil, err
	}
	problem, err := g.schemas.of(reflect.TypeFor[host.Problem]())
	if err != nil {
		return nil, err
	}
	responses := obj(strconv.Itoa(rt.Status), obj("description", successes[rt.Media], "content", obj(rt.Media, obj("schema", result))))
	for status, text := range g.failures(rt, doc) {
		responses.set(strconv.Itoa(status), obj("description", text, "content", obj(host.MediaProblem, obj("schema", problem))))
	}
	slices.Sort(responses.keys)
	responses.set("default", obj("description", "Any other error.", "content", obj(host.MediaProblem, obj("schema", problem))))
	op.set("responses", responses)
	return op, nil
}

// successes describe the results by media type.
var successes = map[string]string{
	host.MediaJSON: "Done.",
	host.MediaEvents: "A stream of server-sent events that goes on until the client leaves: the id is the number of the event, the event its type, " +
		"the data its JSON. Lines that begin with a colon only show that the stream lives. A subscriber that does not read is dropped; it goes on " +
		"after the last number it received. The event \"" + host.EndOfStream + "\", with an EndEvent as its data, tells that the host closes.",
	host.MediaLines: "The journal, one event a line. A connection that breaks off means that the journal is not complete; when the conversation is unknown then, it was deleted meanwhile.",
}

func parameters(rt *host.Route) (out []any) {
	str := obj("type", "string")
	for _, name := range rt.Params() {
		out = append(out, obj("name", name, "in", "path", "required", true, "schema", str))
	}
	number := obj("type", "integer", "format", "int64", "minimum", 0)
	for _, name := range rt.Query {
		out = append(out, obj("name", name, "in", "query", "description", "The number of an event: those after it are wanted. The default is 0, all of them.", "schema", number))
	}
	if rt.Media == host.MediaEvents {
		out = append(out, obj("name", host.HeaderLastEventID, "in", "header", "description", "As after; the larger of both counts.", "schema", number))
	}
	key := obj("type", "string", "minLength", 1, "maxLength", 255, "pattern", "^[!-~]+$")
	switch rt.Key {
	case host.KeyClientID:
		out = append(out, obj("name", host.HeaderIdempotencyKey, "in", "header", "description", "The id of the request, the same as the id in the body. A repeated request returns the first result.", "schema", key))
	case host.KeyRecorded:
		out = append(out, obj("name", host.HeaderIdempotencyKey, "in", "header", "description", "The id of the request, remembered for 24 hours once it succeeded. A repeated request changes nothing and returns the present state.", "schema", key))
	}
	return out
}

// word is something in a comment that looks like a code.
var word = regexp.MustCompile(`[a-z]+(?:_[a-z]+)+|\bresync\b`)

// failures are the statuses an operation is known to fail with: the codes its
// comment names and those of the request's form.
func (g *generator) failures(rt *host.Route, doc string) map[int]string {
	names := word.FindAllString(doc, -1)
	names = append(names, string(host.CodeForeignRequest), string(host.CodeInvalidArgument))
	if len(rt.Params()) > 0 && rt.Params()[0] == "conversation" {
		names = append(names, string(host.CodeUnknownConversation))
	}
	if rt.Body != nil {
		names = append(names, string(host.CodeMessageTooLarge), string(host.CodeMediaType))
	}
	if rt.Key == host.KeyRecorded {
		names = append(names, string(host.CodeClientIDReused))
	}
	slices.Sort(names)
	out := map[int]string{}
	for _, c := range host.Codes() {
		if !slices.Contains(names, string(c.Code)) {
			continue
		}
		status := host.StatusOf(c.Code)
		if out[status] == "" {
			out[status] = http.StatusText(status) + "."
		}
		out[status] += fmt.Sprintf("\n- `%s`: %s", c.Code, c.Text)
	}
	return out
}

// withoutName turns "Send accepts a message" into "Accepts a message".
func withoutName(doc string) string {
	_, rest, _ := strings.Cut(doc, " ")
	r, n := utf8.DecodeRuneInString(rest)
	return string(unicode.ToUpper(r)) + rest[n:]
}

// firstSentence ends at the first full stop that a space or the end follows.
func firstSentence(doc string) string {
	first, _, _ := strings.Cut(strings.ReplaceAll(doc, "\n", " "), ". ")
	return strings.TrimSuffix(first, ".")
}
