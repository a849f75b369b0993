package jsonwire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

func TestAppendStringWritesAsLittleEscapingAsJSONAllows(t *testing.T) {
	for in, want := range map[string]string{
		``:                  `""`,
		`plain`:             `"plain"`,
		`<a href="x">&</a>`: `"<a href=\"x\">&</a>"`,
		"line\nfeed\r\ttab": `"line\nfeed\r\ttab"`,
		"\x00\x1f\b\f":      `"\u0000\u001f\u0008\u000c"`,
		`C:\dir`:            `"C:\\dir"`,
		"\x7f":              "\"\x7f\"",
		"für „dich“ 😀":      `"für „dich“ 😀"`,
		"\u2028\u2029":      "\"\u2028\u2029\"",
		"a\xffb":            "\"a\ufffdb\"",
		"é\xc3(\n":          "\"é\ufffd(\\n\"",
		"\xe2\x82":          "\"\ufffd\ufffd\"",
	} {
		if got := string(jsonwire.AppendString(nil, in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		if got := string(jsonwire.AppendString(nil, []byte(in))); got != want {
			t.Errorf("bytes %q: %s, want %s", in, got, want)
		}
	}
}

func TestAppendStringEscapesAtEveryPositionOfAWord(t *testing.T) {
	for n := range 20 {
		for _, c := range []string{`"`, `\`, "\n", "\x01", "é", "\xff", "\x80"} {
			in := strings.Repeat("a", n) + c + strings.Repeat("b", 20-n)
			checkString(t, in)
		}
	}
}

func checkString(t *testing.T, in string) {
	t.Helper()
	out := jsonwire.AppendString(nil, in)
	if !json.Valid(out) || !utf8.Valid(out) {
		t.Fatalf("%q became invalid JSON %q", in, out)
	}
	var std string
	if err := json.Unmarshal(out, &std); err != nil {
		t.Fatal(err)
	}
	var d jsonwire.Decoder
	d.Reset(out)
	got := d.String()
	// Ranging over a string turns each broken byte into U+FFFD, as encoding does.
	if want := string([]rune(in)); got != want || std != want || !d.End() {
		t.Fatalf("%q came back as %q, by encoding/json as %q", in, got, std)
	}
}

func TestAppendersWriteSeparators(t *testing.T) {
	b := []byte(`{`)
	b = jsonwire.AppendField(b, "s", "x")
	b = jsonwire.AppendInt(jsonwire.AppendKey(b, "n"), -5)
	b = jsonwire.AppendBool(jsonwire.AppendKey(b, "t"), true)
	b = jsonwire.AppendRaw(jsonwire.AppendKey(b, "r"), nil)
	b = jsonwire.AppendRaw(jsonwire.AppendKey(b, "q"), []byte(`{"z":1}`))
	b = append(jsonwire.AppendKey(b, "a"), '[')
	for _, s := range []string{"", "y"} {
		b = jsonwire.AppendString(jsonwire.AppendComma(b), s)
	}
	b = append(b, "]}"...)
	if want := `{"s":"x","n":-5,"t":true,"r":null,"q":{"z":1},"a":["","y"]}`; string(b) != want {
		t.Fatalf("%s, want %s", b, want)
	}
}

func FuzzAppendStringRoundTrips(f *testing.F) {
	f.Add("")
	f.Add("a\xff\"\\\n\u2028é")
	f.Fuzz(func(t *testing.T, in string) { checkString(t, in) })
}
