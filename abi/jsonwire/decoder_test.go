package jsonwire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

// build reads a value with the pull methods into what encoding/json makes of it.
func build(d *jsonwire.Decoder) any {
	switch d.Kind() {
	case jsonwire.Object:
		m := map[string]any{}
		for more := d.BeginObject(); more; {
			var k []byte
			if k, more = d.NextKey(); more {
				key := string(k)
				m[key] = build(d)
			}
		}
		return m
	case jsonwire.Array:
		a := []any{}
		for more := d.BeginArray(); more && d.NextElem(); {
			a = append(a, build(d))
		}
		return a
	case jsonwire.String:
		return d.String()
	case jsonwire.Bool:
		return d.Bool()
	case jsonwire.Null:
		d.Null()
		return nil
	case jsonwire.Number:
		return json.Number(d.Raw())
	}
	d.Skip()
	return nil
}

func pulled(in []byte) (any, error) {
	var d jsonwire.Decoder
	d.Reset(in)
	v := build(&d)
	d.End()
	return v, d.Err()
}

func skipped(in []byte) error {
	var d jsonwire.Decoder
	d.Reset(in)
	d.Skip()
	d.End()
	return d.Err()
}

func standard(in []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(in))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() || !json.Valid(in) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

var texts = []string{
	``, ` `, `null`, ` null `, `nul`, `nullx`, `true`, `tru`, `false`, `falsee`, `True`,
	`0`, `-0`, `01`, `-`, `+1`, `1.`, `.5`, `1.5`, `1e`, `1e+`, `1E-7`, `1e5x`, `123456789012345678901234567890`,
	`""`, `"`, `"a`, `"a"b`, `"\"\\\/\b\f\n\r\t"`, `"\x"`, `"\`, `"\u`, `"\u12"`, `"\u12g4"`, `"\u00e9"`, `"\u00E9"`,
	`"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83d\u12"`,
	"\"tab\there\"", "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\"", "\"a\xc3\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"é\xffé\"", "\"\xffseven..\"",
	`"12345678"`, `"1234567\n"`, `"12345678\n"`, `"123456789\""`, `"€uro and a \u20ac"`,
	`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2`, `[`, `]`, `[}`, `[[],[[]]]`, `[1],`,
	`{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{,"a":1}`, `{"a"}`, `{"a":}`, `{"a" : 1 , "b" : [ ] }`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1]`, `{"a":1`, `{"a`,
	`{"a":{"b":[{"c":null}]}}`, `{"a\u0062":1,"ab":2}`, `{"":""}`, `{"é":1}`, "{\"\xff\":1}", `{1:2}`, `{"a b":1}`, `{"a"x:1}`,
	"\ufeff{}", "{}\x00", "\v1", "\u00a01",
}

func TestDecoderAcceptsAndReadsWhatEncodingJSONDoes(t *testing.T) {
	for _, in := range texts {
		checkAgainstStandard(t, []byte(in))
	}
}

func TestDecoderReadsEveryRecordedFrameLikeEncodingJSON(t *testing.T) {
	files, err := filepath.Glob("../../testdata/recordings/*/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings found: %v", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			checkAgainstStandard(t, line)
		}
	}
}

func checkAgainstStandard(t *testing.T, in []byte) {
	t.Helper()
	want, wantErr := standard(in)
	got, err := pulled(in)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: pull error %v, encoding/json error %v", in, err, wantErr)
	}
	if errSkip := skipped(in); (errSkip == nil) != (wantErr == nil) {
		t.Fatalf("%q: skip error %v, encoding/json error %v", in, errSkip, wantErr)
	}
	if err != nil {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q: (-encoding/json +jsonwire)\n%s", in, diff)
	}
}

func TestT3_AValueOfAnotherTypeIsSkippedAndReadsAsZero(t *testing.T) {
	in := []byte(`{"bool":"yes","int":"3","str":7,"obj":[1,{"x":2}],"arr":{"a":[]},"bytes":null,"last":"here"}`)
	var d jsonwire.Decoder
	d.Reset(in)
	var last string
	for more := d.BeginObject(); more; {
		var k []byte
		if k, more = d.NextKey(); !more {
			break
		}
		switch string(k) {
		case "bool":
			if d.Bool() {
				t.Error("a string read as true")
			}
		case "int":
			if n := d.Int(); n != 0 {
				t.Errorf("a string read as the number %d", n)
			}
		case "str":
			if s := d.String(); s != "" {
				t.Errorf("a number read as the string %q", s)
			}
		case "obj":
			if d.BeginObject() {
				t.Error("an array entered as an object")
			}
		case "arr":
			if d.BeginArray() {
				t.Error("an object entered as an array")
			}
		case "bytes":
			if b := d.Bytes(); b != nil {
				t.Errorf("null read as %q", b)
			}
		case "last":
			last = d.String()
		}
	}
	if !d.End() || last != "here" {
		t.Fatalf("after skipping: last %q, error %v", last, d.Err())
	}
}

func TestIntReadsWholeNumbersHoweverTheyAreWritten(t *testing.T) {
	for in, want := range map[string]int64{
		`0`: 0, `-0`: 0, `7`: 7, `-7`: -7, `3.0`: 3, `3.000`: 3, `0.3e1`: 3, `-1.50e2`: -150, `1e3`: 1000, `100e-2`: 1, `120.0e-1`: 12,
		`1.5`: 0, `1e-1`: 0, `0e999999999999`: 0, `1e999999999999`: 0, `1e-999999999999`: 0,
		`9223372036854775807`: math.MaxInt64, `9223372036854775808`: 0, `-9223372036854775808`: math.MinInt64, `-9223372036854775809`: 0,
		`9223372036854775807.0`: math.MaxInt64, `18446744073709551615`: 0, `18446744073709551616`: 0, `92233720368547758070e-1`: math.MaxInt64,
		`1E+2`: 100, `true`: 0, `"1"`: 0, `[1]`: 0, `1.00000000000000000000000000000000`: 1,
	} {
		var d jsonwire.Decoder
		d.Reset([]byte(in))
		if got := d.Int(); got != want || !d.End() {
			t.Errorf("%s: %d, want %d (error %v)", in, got, want, d.Err())
		}
	}
	for _, in := range []string{`-`, `1.`, `1e`, `01`, `--1`} {
		var d jsonwire.Decoder
		d.Reset([]byte(in))
		if d.Int(); d.End() {
			t.Errorf("%s was accepted", in)
		}
	}
}

func TestTheFirstErrorSticksAndLoopsEnd(t *testing.T) {
	var d jsonwire.Decoder
	d.Reset([]byte(`{"a":[1,x,2],"b":1}`))
	n := 0
	for more := d.BeginObject(); more; {
		if _, more = d.NextKey(); !more {
			break
		}
		if d.BeginArray() {
			for d.NextElem() {
				d.Int()
				n++
			}
		}
	}
	if !errors.Is(d.Err(), jsonwire.ErrSyntax) || n > 2 {
		t.Fatalf("error %v after %d elements", d.Err(), n)
	}
	if d.Kind() != jsonwire.Invalid || d.Bool() || d.Int() != 0 || d.String() != "" || d.Raw() != nil || d.BeginObject() || d.NextElem() || d.End() {
		t.Fatal("a failed decoder still returns values")
	}
	if d.Reset([]byte(`1`)); d.Int() != 1 || !d.End() {
		t.Fatal("Reset did not clear the error")
	}
}

func TestNestingIsBoundedForSkipAndPull(t *testing.T) {
	nested := func(n int, open, end string) []byte {
		return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(end, n))
	}
	for _, c := range [][2]string{{`[`, `]`}, {`{"a":`, `}`}} {
		fits, deep := nested(jsonwire.MaxDepth, c[0], c[1]), nested(jsonwire.MaxDepth+1, c[0], c[1])
		if err := skipped(fits); err != nil {
			t.Errorf("skip of %d levels: %v", jsonwire.MaxDepth, err)
		}
		if _, err := pulled(fits); err != nil {
			t.Errorf("pull of %d levels: %v", jsonwire.MaxDepth, err)
		}
		if err := skipped(deep); !errors.Is(err, jsonwire.ErrDepth) {
			t.Errorf("skip of one level more: %v", err)
		}
		if _, err := pulled(deep); !errors.Is(err, jsonwire.ErrDepth) {
			t.Errorf("pull of one level more: %v", err)
		}
	}
	// Levels entered by hand and levels skipped count together.
	var d jsonwire.Decoder
	d.Reset(nested(jsonwire.MaxDepth+1, `[`, `]`))
	d.BeginArray()
	d.NextElem()
	if d.Skip(); !errors.Is(d.Err(), jsonwire.ErrDepth) {
		t.Errorf("skip inside of an array: %v", d.Err())
	}
}

func TestRawKeepsTheValueAsItStands(t *testing.T) {
	in := []byte(`{"a" : { "x" : [1.50, "\u0041"] } , "b":2}`)
	var d jsonwire.Decoder
	d.Reset(in)
	d.BeginObject()
	d.NextKey()
	raw := d.Raw()
	if string(raw) != `{ "x" : [1.50, "\u0041"] }` {
		t.Fatalf("raw %s", raw)
	}
	if &raw[0] != &in[7] {
		t.Fatal("raw does not alias the input")
	}
}

func TestInternedReturnsEqualStringsWithoutAllocating(t *testing.T) {
	long := strings.Repeat("x", 100)
	var d jsonwire.Decoder
	d.Intern()
	read := func(in string) string { d.Reset([]byte(in)); return d.Interned() }
	for _, in := range []string{"", "turn-1", "t\u00fcrn", long} {
		if got := read(strconv.Quote(in)); got != in {
			t.Errorf("%q read as %q", in, got)
		}
	}
	in := []byte(`"turn-1"`)
	if n := testing.AllocsPerRun(100, func() { d.Reset(in); _ = d.Interned() }); n != 0 {
		t.Errorf("%v allocations for a repeated string", n)
	}
	// More values than slots: still every one reads right.
	for i := range 5000 {
		s := "id-" + strconv.Itoa(i%700)
		if got := read(`"` + s + `"`); got != s {
			t.Fatalf("%q read as %q", s, got)
		}
	}
	if d.Reset([]byte(`7`)); d.Interned() != "" || !d.End() {
		t.Error("a number must be skipped")
	}
}

func FuzzDecoderAgreesWithEncodingJSON(f *testing.F) {
	for _, in := range texts {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if depth(in) > jsonwire.MaxDepth {
			return // encoding/json allows more
		}
		checkAgainstStandard(t, in)
	})
}

// depth bounds the nesting from above.
func depth(in []byte) int {
	return bytes.Count(in, []byte("[")) + bytes.Count(in, []byte("{"))
}
