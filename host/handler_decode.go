package host

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// readBody reads the JSON body of a request into v, which points to a struct.
//
// It is stricter than encoding/json, because a client that misspells a member
// must learn of it: unknown and repeated members, names in other case, null, and
// text that is no UTF-8 are refused, with the path of the offender.
func (s *server) readBody(w http.ResponseWriter, r *http.Request, limit int64, required []string, v any) error {
	rc := http.NewResponseController(w)
	// A body that trickles in holds a connection and its buffer. Where the server
	// beneath has no deadlines, its own limits have to do.
	_ = rc.SetReadDeadline(time.Now().Add(s.bodyTimeout))
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		// The deadline must not outlive the body: it would end a long answer. After
		// an error it stays, because the server reads on before it answers.
		_ = rc.SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return failField(CodeMessageTooLarge, "body", "The request has more than %d bytes.", large.Limit)
	case err != nil:
		return failField(CodeInvalidArgument, "body", "The request's body could not be read: %v.", err)
	}
	if len(b) == 0 && len(required) == 0 {
		return nil
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return failField(CodeMediaType, "Content-Type", "The content type is %q.", r.Header.Get("Content-Type"))
	}
	return decodeStrict(b, required, v)
}

func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}

// decodeStrict decodes a JSON object into the struct that v points to.
func decodeStrict(b []byte, required []string, v any) error {
	if !utf8.Valid(b) {
		return failField(CodeInvalidArgument, "body", "The body is not UTF-8.")
	}
	var d jsonwire.Decoder
	d.Reset(b)
	c := shapeCheck{d: &d}
	seen := c.value(reflect.TypeOf(v).Elem(), "")
	switch {
	case d.Err() != nil && c.err == nil, c.err == nil && !d.End():
		return failField(CodeInvalidArgument, "body", "The body is not one JSON value.")
	case c.err != nil:
		return c.err
	}
	for _, name := range required {
		if !slices.Contains(seen, name) {
			return failField(CodeInvalidArgument, name, "The member %q is missing.", name)
		}
	}
	if err := json.Unmarshal(b, v); err != nil {
		return failField(CodeInvalidArgument, "body", "The body cannot be read: %v.", err)
	}
	return nil
}

// shapeCheck walks a JSON text along a Go type.
type shapeCheck struct {
	d   *jsonwire.Decoder
	err *Error
}

func (c *shapeCheck) refuse(path, format string, args ...any) {
	if c.err != nil {
		return
	}
	if path == "" {
		path = "body"
	}
	c.err = failField(CodeInvalidArgument, path, format, args...)
}

var (
	rawType  = reflect.TypeFor[abi.Raw]()
	timeType = reflect.TypeFor[time.Time]()
)

// value checks the next value; for an object it returns the members it has.
func (c *shapeCheck) value(t reflect.Type, path string) []string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := c.d.Kind()
	switch {
	case kind == jsonwire.Invalid:
		c.refuse(path, "There is no JSON value where one is expected.")
	case t == rawType:
		c.d.Skip()
	case kind == jsonwire.Null:
		c.refuse(path, "null is not a value here. Leave the member out to keep what is set, or give an empty string to reset it.")
	case t == timeType:
		c.time(kind, path)
	case t.Kind() == reflect.Struct:
		return c.object(t, path)
	case t.Kind() == reflect.Map:
		c.members(path, func(string) reflect.Type { return t.Elem() })
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		if kind != jsonwire.Array {
			c.refuse(path, "An array is expected.")
			return nil
		}
		c.d.BeginArray()
		for i := 0; c.err == nil && c.d.NextElem(); i++ {
			c.value(t.Elem(), path+"["+strconv.Itoa(i)+"]")
		}
	default:
		c.scalar(t, kind, path)
	}
	return nil
}

func (c *shapeCheck) object(t reflect.Type, path string) []string {
	return c.members(path, func(name string) reflect.Type {
		for f := range t.Fields() {
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
				return f.Type
			}
		}
		return nil
	})
}

func (c *shapeCheck) members(path string, typeOf func(string) reflect.Type) (seen []string) {
	if c.d.Kind() != jsonwire.Object {
		c.refuse(path, "An object is expected.")
		return nil
	}
	c.d.BeginObject()
	for {
		key, ok := c.d.NextKey()
		if !ok || c.err != nil {
			return seen
		}
		name := string(key)
		at := name
		if path != "" {
			at = path + "." + name
		}
		t := typeOf(name)
		switch {
		case t == nil:
			c.refuse(at, "The member %q is not known.", at)
		case slices.Contains(seen, name):
			c.refuse(at, "The member %q is given twice.", at)
		default:
			seen = append(seen, name)
			c.value(t, at)
		}
	}
}

func (c *shapeCheck) time(kind jsonwire.Kind, path string) {
	if kind == jsonwire.String {
		var t time.Time
		if raw := c.d.Raw(); c.d.Err() != nil || t.UnmarshalJSON(raw) == nil {
			return
		}
	}
	c.refuse(path, "A time as of RFC 3339 is expected, such as 2026-11-30T09:30:00Z.")
}

func (c *shapeCheck) scalar(t reflect.Type, kind jsonwire.Kind, path string) {
	want, name := jsonwire.String, "A string"
	switch t.Kind() {
	case reflect.Bool:
		want, name = jsonwire.Bool, "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		want, name = jsonwire.Number, "A whole number"
	}
	if kind != want {
		c.refuse(path, "%s is expected.", name)
		return
	}
	if want != jsonwire.Number {
		c.d.Skip()
		return
	}
	if n, err := strconv.ParseInt(string(c.d.Raw()), 10, 64); (err != nil || n < 0 && t.Kind() == reflect.Uint64) && c.d.Err() == nil {
		c.refuse(path, "A whole number of at most 63 bits is expected.")
	}
}
