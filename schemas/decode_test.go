package schemas_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/schemas"
)

func TestDecodeReadsWhatEncodingJSONReads(t *testing.T) {
	for _, text := range []string{
		`{"a":[1,"x",true,false,null,{"b":{}}],"é":"\u00e9\ud83d\ude00"}`, `[]`, `{}`, `"x"`, ` 1.5 `, `null`, `{"a":1,"a":2}`, `[[[]]]`, `-0.25e2`,
	} {
		got, err := schemas.DecodeValue(-1, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var round any
		if err := json.Unmarshal(again, &round); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, round); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	for _, text := range []string{``, `{`, `{"a"}`, `[1,]`, `01`, `tru`, `"x`, `{} {}`, `{"a":1,}`} {
		if v, err := schemas.DecodeValue(-1, []byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, v)
		}
	}
}

func TestDecodeKeepsNoMoreOfAStringThanASchemaCanTellApart(t *testing.T) {
	got, err := schemas.DecodeValue(4, []byte(`["abc","abcd","abcde","abcd\u0065f"]`))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]any{"abc", "abcd", "abcd", "abcd"}, got); d != "" {
		t.Error(d)
	}
}

// What is passed over of a long string must not change what is kept of it.
func TestAStringIsCutAsIfItHadBeenReadWhole(t *testing.T) {
	pieces := []string{`a`, `bc`, `\n`, `\"`, `\\`, `\u0001`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, "é", "日", "😀", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(0, 12).Draw(t, "keep")
		text := `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), "") + `"`
		whole, err := schemas.DecodeValue(-1, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := whole.(string)
		want = want[:min(keep, len(want))]
		if got, err := schemas.DecodeValue(keep, []byte(text)); err != nil || got != want {
			t.Fatalf("%s cut to %d: %q, %v; want %q", text, keep, got, err, want)
		}
	})
	for _, text := range []string{`"`, `"a`, `"\`, `"\u12"`, `"\x"`, "\"\n\"", `"` + strings.Repeat("a", 100) + `\x"`} {
		if v, err := schemas.DecodeValue(2, []byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, v)
		}
	}
}

func TestDecodeKeepsWholeNumbersAndBoundsTheRest(t *testing.T) {
	got, err := schemas.DecodeValue(-1, []byte(`[1,-9223372036854775808,9223372036854775808,1e999,-1e999,2.0]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []any{int64(1), int64(math.MinInt64), 9223372036854775808.0, math.MaxFloat64, -math.MaxFloat64, 2.0}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A cut string must not be mistaken for an enum value it begins with, nor pass a
// length it does not have.
func TestCutStringsKeepTheirVerdict(t *testing.T) {
	set, err := schemas.Open(oneSchema(`{"properties":{"e":{"enum":["ab","abc"]},"l":{"maxLength":3},"m":{"minLength":2}}}`, nil))
	if err != nil {
		t.Fatal(err)
	}
	for body, ok := range map[string]bool{
		`{"e":"ab"}`: true, `{"e":"abc"}`: true, `{"e":"abcd"}`: false, `{"e":"abcdefghijklmnopqrstuvwxyz"}`: false,
		`{"l":"äöü"}`: true, `{"l":"äöüß"}`: false, `{"l":"😀😀😀"}`: true, `{"l":"😀😀😀😀😀😀😀😀"}`: false,
		`{"m":"😀"}`: false, `{"m":"😀😀"}`: true, `{"m":"😀😀😀😀😀😀😀😀😀😀"}`: true,
	} {
		if err := set.For("").Check(from, schemas.Notification, "n", []byte(body)); (err == nil) != ok {
			t.Errorf("%s: %v, want accepted %v", body, err, ok)
		}
	}
	set, err = schemas.Open(oneSchema(`{"properties":{"e":{"enum":["ab","abc"]}}}`, nil))
	if err != nil {
		t.Fatal(err)
	}
	for body, ok := range map[string]bool{`{"e":"abc"}`: true, `{"e":"abcd"}`: false, `{"e":"abcde"}`: false} {
		if err := set.For("").Check(from, schemas.Notification, "n", []byte(body)); (err == nil) != ok {
			t.Errorf("%s: %v, want accepted %v", body, err, ok)
		}
	}
	// With a pattern or uniqueItems the whole string counts.
	set, err = schemas.Open(oneSchema(`{"properties":{"p":{"pattern":"z$"},"u":{"uniqueItems":true},"e":{"enum":["a"]}}}`, nil))
	if err != nil {
		t.Fatal(err)
	}
	for body, ok := range map[string]bool{
		`{"p":"abcdefghijklmnopqrstuvwxyz"}`: true, `{"p":"abcdefghijklmnopqrstuvwxy"}`: false,
		`{"u":["abcdefgh1","abcdefgh2"]}`: true, `{"u":["abcdefgh1","abcdefgh1"]}`: false,
	} {
		if err := set.For("").Check(from, schemas.Notification, "n", []byte(body)); (err == nil) != ok {
			t.Errorf("%s: %v, want accepted %v", body, err, ok)
		}
	}
}
