package jsonwire_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

// Strings are read eight and sixteen bytes at a time, so what is special must be
// found wherever it stands in such a word, and at the end of the text.
func TestStringsAreReadAlikeWhereverTheirSpecialCharactersStand(t *testing.T) {
	for _, special := range []string{
		``, `\n`, `\"`, `\\`, `\/`, `\b\f\r\t`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, "é", "日本", "\x7f", "\xff",
		"\x01", "\n", `\`, `\x`, `\u12`, `\u12g4`, `"`,
	} {
		for before := range 34 {
			for _, after := range []int{0, 1, 7, 8, 9, 17} {
				text := `"` + strings.Repeat("a", before) + special + strings.Repeat("b", after) + `"`
				readAlike(t, text)
				readAlike(t, `{`+text+`:`+text+`}`)
				readAlike(t, text[:len(text)-1])
			}
		}
	}
}

func readAlike(t *testing.T, text string) {
	t.Helper()
	var want any
	invalid := json.Unmarshal([]byte(text), &want) != nil
	var d jsonwire.Decoder
	d.Reset([]byte(text))
	got := value(&d)
	if d.End(); (d.Err() != nil) != invalid {
		t.Fatalf("%q: %v, invalid for encoding/json: %t", text, d.Err(), invalid)
	}
	if !invalid && !equal(got, want) {
		t.Fatalf("%q: %q, want %q", text, got, want)
	}
	d.Reset([]byte(text))
	if d.Skip(); d.Err() == nil {
		d.End()
	}
	if (d.Err() != nil) != invalid {
		t.Fatalf("%q skipped: %v, invalid for encoding/json: %t", text, d.Err(), invalid)
	}
}

// value reads a string, or an object of one member as its key and value.
func value(d *jsonwire.Decoder) any {
	if d.Kind() != jsonwire.Object {
		return d.String()
	}
	m := map[string]any{}
	d.BeginObject()
	for k, ok := d.NextKey(); ok; k, ok = d.NextKey() {
		key := string(k)
		m[key] = d.String()
	}
	return m
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestPlainNumbersAreReadAlikeWhateverTheirLength(t *testing.T) {
	for n, digits := 0, "9"; n < 25; n, digits = n+1, digits+"8" {
		for _, text := range []string{digits, "-" + digits, "0" + digits, digits + ".0", digits + "e0", digits + "x", digits + " "} {
			var d jsonwire.Decoder
			d.Reset([]byte(text))
			got := d.Int()
			valid := json.Valid([]byte(text))
			if ok := d.End(); ok != valid {
				t.Errorf("%s: valid %t, for encoding/json %t", text, ok, valid)
			}
			// Out of range is 0, as for every value that is no whole number of 64 bits.
			want, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text), ".0"), "e0"), 10, 64)
			if err != nil {
				want = 0
			}
			if valid && got != want {
				t.Errorf("%s: %d, want %d", text, got, want)
			}
		}
	}
}
