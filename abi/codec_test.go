package abi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// ordinary holds the characters that encoding/json and jsonwire write alike;
// they differ in how they escape \b, \f, U+2028 and broken UTF-8.
var ordinary = rapid.StringOfN(rapid.RuneFrom([]rune("abz09 _-/.,:{}[]\"\\\n\r\t\x00\x1f<>&é€😀")), 0, 12, -1)

// anyString also holds what they write differently.
var anyString = rapid.String()

var raws = rapid.SampledFrom([]string{`null`, `true`, `0`, `-1.5e3`, `""`, `"a\"b\u0000"`, `[]`, `{}`, `{"a":[1,{"b":null}],"c":"é"}`})

// draw fills v with random values of the wire. Members that are left out on the
// wire are nil rather than empty, as they come back.
func draw(t *rapid.T, v reflect.Value, strs *rapid.Generator[string], omitEmpty bool) {
	switch v.Kind() {
	case reflect.String:
		if known := v.MethodByName("Values"); known.IsValid() && rapid.Bool().Draw(t, "known") {
			all := known.Call(nil)[0]
			v.Set(all.Index(rapid.IntRange(0, all.Len()-1).Draw(t, "value")))
			return
		}
		v.SetString(strs.Draw(t, "string"))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem(), strs, false)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[abi.Raw]() {
			if !omitEmpty || rapid.Bool().Draw(t, "set") {
				v.SetBytes([]byte(raws.Draw(t, "raw")))
			}
			return
		}
		n := rapid.IntRange(-1, 2).Draw(t, "len")
		if n < 0 || n == 0 && omitEmpty {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			draw(t, v.Index(i), strs, false)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i), strs, strings.HasSuffix(v.Type().Field(i).Tag.Get("json"), ",omitempty"))
		}
	default:
		t.Fatalf("no rule for %s", v.Type())
	}
}

// drawOne draws an event or effect with exactly one kind set.
func drawOne(t *rapid.T, v reflect.Value, strs *rapid.Generator[string]) {
	var kinds []int
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Pointer {
			kinds = append(kinds, i)
		} else {
			draw(t, v.Field(i), strs, false)
		}
	}
	f := v.Field(rapid.SampledFrom(kinds).Draw(t, "kind"))
	f.Set(reflect.New(f.Type().Elem()))
	draw(t, f.Elem(), strs, false)
}

func drawEvent(t *rapid.T, strs *rapid.Generator[string]) abi.Event {
	var ev abi.Event
	drawOne(t, reflect.ValueOf(&ev).Elem(), strs)
	return ev
}

func drawEffects(t *rapid.T, strs *rapid.Generator[string]) []abi.Effect {
	effects := make([]abi.Effect, rapid.IntRange(0, 3).Draw(t, "effects"))
	for i := range effects {
		drawOne(t, reflect.ValueOf(&effects[i]).Elem(), strs)
	}
	return effects
}

func marshal(t interface{ Fatal(...any) }, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func same(t interface{ Fatalf(string, ...any) }, what string, want, got any) {
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got)\n%s", what, diff)
	}
}

func TestTheCodecWritesTheBytesOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev, effects := drawEvent(t, ordinary), drawEffects(t, ordinary)
		same(t, "event", string(marshal(t, &ev)), string(abi.AppendEvent(nil, &ev)))
		same(t, "effects", string(marshal(t, effects)), string(abi.AppendEffects(nil, effects)))
		var m abi.Manifest
		draw(t, reflect.ValueOf(&m).Elem(), ordinary, false)
		same(t, "manifest", string(marshal(t, &m)), string(m.AppendJSON(nil)))
	})
}

func TestEventsSurviveTheWireAndAgreeWithEncodingJSON(t *testing.T) {
	var kept abi.EventDecoder
	rapid.Check(t, func(t *rapid.T) {
		ev := drawEvent(t, anyString)
		wire := abi.AppendEvent(nil, &ev)
		got, err := abi.DecodeEvent(wire)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "decoded", ev, got)
		reused, err := kept.Decode(wire)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "decoded by a kept decoder", ev, *reused)
		var std abi.Event
		if err := json.Unmarshal(wire, &std); err != nil {
			t.Fatal(err)
		}
		same(t, "decoded by encoding/json", ev, std)
		if got, err = abi.DecodeEvent(marshal(t, &ev)); err != nil {
			t.Fatal(err)
		}
		same(t, "encoded by encoding/json", ev, got)
		if got.Kind() == "" {
			t.Fatal("the kind is empty")
		}
	})
}

func TestEffectsSurviveTheWireAndAgreeWithEncodingJSON(t *testing.T) {
	var kept abi.EffectsDecoder
	rapid.Check(t, func(t *rapid.T) {
		effects := drawEffects(t, anyString)
		wire := abi.AppendEffects(nil, effects)
		got, err := abi.DecodeEffects(wire)
		if err != nil {
			t.Fatal(err)
		}
		if len(effects) == 0 {
			if string(wire) != "[]" || len(got) != 0 {
				t.Fatalf("no effects became %s", wire)
			}
			return
		}
		same(t, "decoded", effects, got)
		reused, err := kept.Decode(wire)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "decoded by a kept decoder", effects, reused)
		var std []abi.Effect
		if err := json.Unmarshal(wire, &std); err != nil {
			t.Fatal(err)
		}
		same(t, "decoded by encoding/json", effects, std)
		if got, err = abi.DecodeEffects(marshal(t, effects)); err != nil {
			t.Fatal(err)
		}
		same(t, "encoded by encoding/json", effects, got)
	})
}

func TestT3_UnknownMembersAndOtherTypesAreReadLeniently(t *testing.T) {
	in := `{"new":[{}],"now":"soon","message":{"type":7,"method":null,"params":null,"error":"broken","replay":1,"token":"t1","future":{"x":1}}}`
	ev, err := abi.DecodeEvent([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "event", abi.Event{Message: &abi.Message{Token: "t1", Params: abi.Raw("null")}}, ev)
	// A kind of a newer host is no error: there is just nothing to do.
	for _, in := range []string{`{"now":1}`, `{"now":1,"resurrect":{}}`, `{"now":1,"stop":true}`} {
		if ev, err := abi.DecodeEvent([]byte(in)); err != nil || ev.Kind() != "" || ev.Now != 1 {
			t.Errorf("%s: %+v, error %v", in, ev, err)
		}
	}
}

func TestMalformedEventsAndEffectsAreRefused(t *testing.T) {
	for in, want := range map[string]error{
		``: jsonwire.ErrSyntax, `{"now":1`: jsonwire.ErrSyntax, `{"now":1}{}`: jsonwire.ErrSyntax, `{"stop":{"turn":x}}`: jsonwire.ErrSyntax,
		`[]`: abi.ErrNotObject, `null`: abi.ErrNotObject, `"x"`: abi.ErrNotObject,
		`{"stop":{},"close":{}}`:               abi.ErrManyKinds,
		`{"close":` + strings.Repeat(`[`, 600): jsonwire.ErrDepth,
	} {
		if _, err := abi.DecodeEvent([]byte(in)); !errors.Is(err, want) {
			t.Errorf("event %.40s: %v, want %v", in, err, want)
		}
	}
	for in, want := range map[string]error{
		``: jsonwire.ErrSyntax, `[{"log":{"text":"x"}}`: jsonwire.ErrSyntax, `[]]`: jsonwire.ErrSyntax, `[{"log":{"text":"x"},}]`: jsonwire.ErrSyntax,
		`{}`: abi.ErrNotArray, `null`: abi.ErrNotArray,
		`[null]`: abi.ErrNotObject, `[[]]`: abi.ErrNotObject, `[x`: jsonwire.ErrSyntax,
		`[{}]`: abi.ErrNoKind, `[{"resurrect":{}}]`: abi.ErrNoKind, `[{"log":"x"}]`: abi.ErrNoKind,
		`[{"log":{"text":"x"},"warning":{}}]`: abi.ErrManyKinds,
	} {
		got, err := abi.DecodeEffects([]byte(in))
		if !errors.Is(err, want) || got != nil {
			t.Errorf("effects %s: %v and %v, want %v", in, got, err, want)
		}
	}
}

func TestAKeptDecoderForgetsTheEventBefore(t *testing.T) {
	var d abi.EventDecoder
	first, err := d.Decode([]byte(`{"now":1,"message":{"type":"error","method":"m","token":"t1","replay":true,"error":{"code":-32603,"message":"no","data":{}}}}`))
	if err != nil || first.Message.Error == nil {
		t.Fatalf("%+v, error %v", first, err)
	}
	second, err := d.Decode([]byte(`{"now":2,"message":{"type":"result","result":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "second event", abi.Event{Now: 2, Message: &abi.Message{Type: abi.MessageResult, Result: abi.Raw("{}")}}, *second)
	if _, err := d.Decode([]byte(`{`)); err == nil {
		t.Fatal("malformed input was accepted")
	}
	third, err := d.Decode([]byte(`{"now":3,"stop":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "third event", abi.Event{Now: 3, Stop: &abi.Stop{}}, *third)
}

const delta = `{"now":1795998657000,"message":{"type":"notification","method":"item/agentMessage/delta","params":{"threadId":"t","delta":"Hello"}}}`

func TestTheHotPathDoesNotAllocate(t *testing.T) {
	in := []byte(delta)
	var d abi.EventDecoder
	ev, err := d.Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	if raw := ev.Message.Params; &raw[0] != &in[bytes.Index(in, []byte(`{"threadId"`))] {
		t.Error("params do not alias the input")
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = d.Decode(in) }); n != 0 {
		t.Errorf("%v allocations to decode a notification", n)
	}
	out := make([]byte, 0, 1024)
	x := abi.Delta{Turn: "t", Item: "i", Channel: abi.ChannelText, Text: "Hello"}
	if n := testing.AllocsPerRun(100, func() { out = x.AppendJSON(out[:0]) }); n != 0 {
		t.Errorf("%v allocations to encode a delta", n)
	}
	// One for the delta, one for its text.
	out = abi.AppendEffects(out[:0], []abi.Effect{{Delta: &x}})
	var e abi.EffectsDecoder
	if n := testing.AllocsPerRun(100, func() { _, _ = e.Decode(out) }); n > 2 {
		t.Errorf("%v allocations to decode a delta", n)
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add([]byte(delta))
	f.Add([]byte(`{"now":1,"submit":{"turn":"t1","client_id":"c","content":[{"type":"text","text":"hi"}],"settings":{"mode":"plan"},"origin":"user"}}`))
	var kept abi.EventDecoder
	f.Fuzz(func(t *testing.T, in []byte) {
		ev, err := abi.DecodeEvent(in)
		again, errKept := kept.Decode(in)
		if !errors.Is(errKept, err) {
			t.Fatalf("error %v, by a kept decoder %v", err, errKept)
		}
		if err != nil {
			return
		}
		same(t, "kept decoder", ev, *again)
		// What was read can be written and read again to the same.
		back, err := abi.DecodeEvent(abi.AppendEvent(nil, &ev))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "second reading", string(abi.AppendEvent(nil, &ev)), string(abi.AppendEvent(nil, &back)))
	})
}

func FuzzDecodeEffects(f *testing.F) {
	f.Add([]byte(`[{"delta":{"turn":"t","item":"i","channel":"text","text":"x"}},{"call":{"token":"1","method":"m","params":{}}}]`))
	f.Add([]byte(`[{"ready":{"native_session":"s","restored":"new","catalog":{"modes":[{"id":"plan"}]},"capabilities":{}}}]`))
	var kept abi.EffectsDecoder
	f.Fuzz(func(t *testing.T, in []byte) {
		effects, err := abi.DecodeEffects(in)
		again, errKept := kept.Decode(in)
		if !errors.Is(errKept, err) {
			t.Fatalf("error %v, by a kept decoder %v", err, errKept)
		}
		if err != nil {
			return
		}
		wire := abi.AppendEffects(nil, effects)
		same(t, "kept decoder", string(wire), string(abi.AppendEffects(nil, again)))
		back, err := abi.DecodeEffects(wire)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "second reading", string(wire), string(abi.AppendEffects(nil, back)))
	})
}

func BenchmarkDecodeEvent(b *testing.B) {
	in := []byte(strings.Replace(delta, "Hello", strings.Repeat("The plan is ready. ", 45), 1))
	var d abi.EventDecoder
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeEffects(b *testing.B) {
	in := abi.AppendEffects(nil, []abi.Effect{{Delta: &abi.Delta{Turn: "turn-1", Item: "item-1", Channel: abi.ChannelText, Text: strings.Repeat("The plan is ready. ", 45)}}})
	var d abi.EffectsDecoder
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}
