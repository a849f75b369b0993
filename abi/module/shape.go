package module

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// checkShape compares the JSON of a manifest with the type, member by member. It
// keeps nothing of the input, so a hostile one costs time in proportion to its
// size and nothing else.
func checkShape(p *problems, data []byte) {
	var d jsonwire.Decoder
	d.Reset(data)
	checkValue(p, &d, reflect.TypeFor[abi.Manifest](), "")
}

func checkValue(p *problems, d *jsonwire.Decoder, t reflect.Type, path string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want, text := jsonKind(t)
	if k := d.Kind(); k != want {
		p.add(or(path, "the manifest"), "must be "+text+", not "+kindText(k))
		d.Skip()
		return
	}
	switch want {
	case jsonwire.Object:
		checkObject(p, d, t, path)
	case jsonwire.Array:
		d.BeginArray()
		for i := 0; d.NextElem(); i++ {
			checkValue(p, d, t.Elem(), path+"["+strconv.Itoa(i)+"]")
		}
	case jsonwire.Number:
		raw := d.Raw()
		if _, err := strconv.ParseInt(string(raw), 10, 64); err != nil {
			p.add(path, "must be a whole number, not "+quoted(raw))
		}
	default:
		d.Skip()
	}
}

func checkObject(p *problems, d *jsonwire.Decoder, t reflect.Type, path string) {
	seen := make([]bool, t.NumField())
	for more := d.BeginObject(); more; {
		var key []byte
		if key, more = d.NextKey(); !more {
			break
		}
		i := member(t, key)
		if i < 0 {
			p.add(join(path, key), "is not a member that this version knows")
			d.Skip()
			continue
		}
		if seen[i] {
			p.add(join(path, key), "is there twice")
		}
		seen[i] = true
		checkValue(p, d, t.Field(i).Type, join(path, key))
	}
	for i, ok := range seen {
		if name, opts, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); !ok && opts != "omitempty" {
			p.add(join(path, []byte(name)), "is missing")
		}
	}
}

func member(t reflect.Type, key []byte) int {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name == string(key) {
			return i
		}
	}
	return -1
}

func jsonKind(t reflect.Type) (jsonwire.Kind, string) {
	switch t.Kind() {
	case reflect.Struct:
		return jsonwire.Object, "an object"
	case reflect.Slice:
		return jsonwire.Array, "an array"
	case reflect.Bool:
		return jsonwire.Bool, "true or false"
	case reflect.Int64:
		return jsonwire.Number, "a whole number"
	}
	return jsonwire.String, "a string"
}

func kindText(k jsonwire.Kind) string {
	return [...]string{
		jsonwire.Invalid: "nothing", jsonwire.Null: "null", jsonwire.Bool: "a boolean", jsonwire.Number: "a number",
		jsonwire.String: "a string", jsonwire.Array: "an array", jsonwire.Object: "an object",
	}[k]
}

func join(path string, key []byte) string {
	name := string(key)
	if !plainKey(key) {
		name = quoted(key)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func plainKey(key []byte) bool {
	for _, c := range key {
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return len(key) > 0 && len(key) <= 40
}

// quoted shows a stranger's text within a message: short and without anything
// that a terminal would act on.
func quoted[T ~string | ~[]byte](b T) string {
	s := string(b)
	if len(s) > 40 {
		cut := 40
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		return strconv.QuoteToASCII(s[:cut]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// syntaxOffset is where the JSON breaks, counted in bytes.
func syntaxOffset(data []byte) int {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		return int(syntax.Offset)
	}
	return 0
}
