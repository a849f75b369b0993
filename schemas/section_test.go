package schemas_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

func TestPackIsSmallAndTheSameEveryTime(t *testing.T) {
	a, b := packCodex(t), packCodex(t)
	if !bytes.Equal(a, b) {
		t.Error("two packs of the same schemas differ")
	}
	if len(a) > 150_000 {
		t.Errorf("the section has %d bytes", len(a))
	}
	t.Logf("%d bytes", len(a))
	bundles, err := bundled.All("codex")
	if err != nil {
		t.Fatal(err)
	}
	bundles[0], bundles[1] = bundles[1], bundles[0]
	if c, err := schemas.Pack(bundles, used); err != nil || !bytes.Equal(a, c) {
		t.Errorf("the order of the bundles changes the section: %v", err)
	}
}

func TestPackHoldsWhatTheManifestUsesAndEveryNotification(t *testing.T) {
	section := packCodex(t)
	text := unpack(t, section)
	var s struct {
		Versions []struct {
			Provenance schemas.Provenance
			Methods    []schemas.Method
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Versions {
		committed, err := bundled.Read("codex", v.Provenance.Version)
		if err != nil {
			t.Fatal(err)
		}
		if v.Provenance.Digest != committed.Provenance.Digest || v.Provenance.Digest == "" {
			t.Errorf("%s: digest %s", v.Provenance.Version, v.Provenance.Digest)
		}
		packed := map[string]bool{}
		for _, m := range v.Methods {
			packed[fmt.Sprint(m.Name, m.Direction, m.Kind)] = true
		}
		for _, m := range committed.Methods {
			want := m.Direction == from && m.Kind == schemas.Notification
			for _, list := range [][]string{used.Calls, used.Notifies, used.Requests} {
				for _, name := range list {
					want = want || name == m.Name
				}
			}
			if got := packed[fmt.Sprint(m.Name, m.Direction, m.Kind)]; got != want {
				t.Errorf("%s: %s packed: %v, want %v", v.Provenance.Version, m.Name, got, want)
			}
		}
	}
	if strings.Contains(string(text), "RealtimeStartParams") {
		t.Error("holds definitions that no method used leads to")
	}
}

func TestPackRefusesAMethodThatNoVersionHas(t *testing.T) {
	bundles, err := bundled.All("codex")
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []schemas.Used{
		{Calls: []string{"turn/stard"}}, {Notifies: []string{"turn/start"}}, {Requests: []string{"turn/start"}},
	} {
		_, err := schemas.Pack(bundles, u)
		if m := wantCode(t, err, schemas.CodeMethodUnknown); !strings.Contains(m, `"turn/star`) {
			t.Errorf("does not name the method: %v", m)
		}
	}
	// A request of the server that only the older version has is no mistake.
	if _, err := schemas.Pack(bundles, schemas.Used{Requests: []string{"currentTime/read"}}); err != nil {
		t.Error(err)
	}
	if _, err := schemas.Pack(nil, used); err == nil {
		t.Error("packed nothing")
	}
}

func TestUsedByReadsTheManifest(t *testing.T) {
	u := schemas.UsedBy(abi.Manifest{
		Calls: []string{"a"}, Notifies: []string{"b"},
		Requests: []abi.RequestMethod{{Method: "c", Interactive: true}, {Method: "d"}},
	})
	if fmt.Sprint(u) != "{[a] [b] [c d]}" {
		t.Errorf("%v", u)
	}
	b := schemas.Bundle{Methods: []schemas.Method{
		{Name: "seen", Direction: from, Kind: schemas.Notification},
		{Name: "foreign", Direction: from, Kind: schemas.Request},
		{Name: "a", Direction: to, Kind: schemas.Request},
	}}
	if got := u.Methods(b); fmt.Sprint(got) != "[a b c d seen]" {
		t.Errorf("%v", got)
	}
}

func unpack(t testing.TB, section []byte) []byte {
	t.Helper()
	zr, err := gzip.NewReader(bytes.NewReader(section))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func packText(text []byte) []byte {
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	_, _ = zw.Write(text)
	_ = zw.Close()
	return buf.Bytes()
}

func TestADamagedSectionIsRefusedWithACode(t *testing.T) {
	good := packCodex(t)
	for i := 0; i < len(good); i += 1 + len(good)/200 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x55
		// The header's unused bytes may change; everything else must be noticed.
		if set, err := schemas.Open(bad); err == nil && i > 10 {
			t.Fatalf("byte %d flipped and nobody noticed: %v", i, set.Provider())
		} else if err != nil {
			wantCode(t, err, schemas.CodeSectionCorrupt)
		}
		if _, err := schemas.Open(good[:i]); err == nil {
			t.Fatalf("cut to %d bytes and nobody noticed", i)
		}
	}
	for name, c := range map[string]struct{ section, code string }{
		"nothing":         {"", schemas.CodeSectionCorrupt},
		"no gzip":         {"{}", schemas.CodeSectionCorrupt},
		"no JSON":         {string(packText([]byte("x"))), schemas.CodeSectionCorrupt},
		"a newer format":  {string(packText([]byte(`{"format":2}`))), schemas.CodeSectionUnsupported},
		"no version":      {string(packText([]byte(`{"format":1,"provider":"x"}`))), schemas.CodeSectionCorrupt},
		"a missing index": {string(packText([]byte(`{"format":1,"provider":"x","versions":[{"provenance":{"provider":"x","version":"1.0"},"dialect":"http://json-schema.org/draft-07/schema#","definitions":{"A":3}}]}`))), schemas.CodeSectionCorrupt},
		"another dialect": {string(packText([]byte(`{"format":1,"provider":"x","versions":[{"provenance":{"provider":"x","version":"1.0"},"dialect":"http://json-schema.org/draft-03/schema#"}]}`))), schemas.CodeSectionUnsupported},
		"a bomb":          {string(packText(bytes.Repeat([]byte(" "), schemas.MaxSectionText+1))), schemas.CodeSectionTooLarge},
		"too many bytes":  {strings.Repeat("x", schemas.MaxSectionBytes+1), schemas.CodeSectionTooLarge},
	} {
		if _, err := schemas.Open([]byte(c.section)); err == nil {
			t.Errorf("%s: accepted", name)
		} else {
			wantCode(t, err, c.code)
		}
	}
}

// oneSchema packs a section in which the notification "n" has the given schema,
// with further definitions by name.
func oneSchema(schema string, defs map[string]string) []byte {
	s := map[string]any{"format": 1, "provider": "x"}
	list, index := []json.RawMessage{}, map[string]int{}
	for name, d := range defs {
		index[name] = len(list)
		list = append(list, json.RawMessage(d))
	}
	s["schemas"] = list
	s["versions"] = []any{map[string]any{
		"provenance":  map[string]any{"provider": "x", "version": "1.0"},
		"dialect":     "http://json-schema.org/draft-07/schema#",
		"methods":     []any{map[string]any{"method": "n", "direction": "from_provider", "kind": "notification", "params": json.RawMessage(schema)}},
		"definitions": index,
	}}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return packText(text)
}

func TestASchemaOfAStrangerCanNeitherLeadOutsideNorCrash(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 100) + "{}" + strings.Repeat("}", 100)
	many := `{"anyOf":[{}` + strings.Repeat(`,{}`, 20_000) + `]}`
	for name, schema := range map[string]string{
		"a file":               `{"$ref":"file:///etc/hostname"}`,
		"an address":           `{"$ref":"https://example.com/x.json"}`,
		"a relative file":      `{"$ref":"other.json"}`,
		"an id and a file":     `{"$id":"file:///etc/","properties":{"a":{"$ref":"hostname"}}}`,
		"a missing definition": `{"$ref":"#/definitions/B"}`,
		"a dynamic reference":  `{"$dynamicRef":"#x"}`,
		"no schema":            `7`,
		"a wrong keyword":      `{"type":"sometimes"}`,
		"a broken pattern":     `{"pattern":"("}`,
		"a long pattern":       `{"pattern":"` + strings.Repeat("x", 5000) + `"}`,
		"a long member name":   `{"properties":{"` + strings.Repeat("x", 5000) + `":{}}}`,
		"a loop":               `{"$ref":"#/definitions/A"}`,
		"a deep schema":        deep,
		"a wide schema":        many,
		"a forged keyword":     `{"x-dispatch":{"id":"0","branches":[{"$ref":"file:///etc/hostname"}]},"properties":{"a":{"$ref":"#/definitions/B"}}}`,
	} {
		set, err := schemas.Open(oneSchema(schema, map[string]string{"A": `{"$ref":"#/definitions/A"}`}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		err = set.Compile()
		if err == nil {
			t.Errorf("%s: compiles", name)
			continue
		}
		wantCode(t, err, schemas.CodeSchemaInvalid)
		wantCode(t, set.For("").Check(from, schemas.Notification, "n", []byte(`{}`)), schemas.CodeSchemaInvalid)
	}
}

// Every level of the payload doubles the work of this schema; without a bound 60
// levels would take longer than anyone lives.
func TestASchemaThatDoublesTheWorkIsGivenUp(t *testing.T) {
	twice := `{"allOf":[{"properties":{"a":{"$ref":"#/definitions/A"}}},{"properties":{"a":{"$ref":"#/definitions/A"}}}]}`
	set, err := schemas.Open(oneSchema(`{"$ref":"#/definitions/A"}`, map[string]string{"A": twice}))
	if err != nil {
		t.Fatal(err)
	}
	v := set.For("")
	nest := func(n int) []byte { return []byte(strings.Repeat(`{"a":`, n) + "{}" + strings.Repeat("}", n)) }
	if err := v.Check(from, schemas.Notification, "n", nest(3)); err != nil {
		t.Errorf("a small payload: %v", err)
	}
	start := time.Now()
	wantCode(t, v.Check(from, schemas.Notification, "n", nest(60)), schemas.CodeSchemaInvalid)
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %s", d)
	}
	// What was used up, or left over, belongs to that check alone.
	for range 200 {
		if err := v.Check(from, schemas.Notification, "n", nest(3)); err != nil {
			t.Fatalf("the next payload: %v", err)
		}
	}
	wantCode(t, v.Check(from, schemas.Notification, "n", nest(16)), schemas.CodeSchemaInvalid)
}

func TestNumbersBeyondReasonNeitherCrashNorTakeLong(t *testing.T) {
	set, err := schemas.Open(oneSchema(`{"properties":{"n":{"type":"integer","minimum":0},"m":{"multipleOf":0.5,"maximum":1e400}}}`, nil))
	if err != nil {
		t.Fatal(err)
	}
	for body, ok := range map[string]bool{
		`{"n":1e999999999}`: true, `{"n":-1e999999999}`: false, `{"n":1e-999999999}`: true, `{"m":-1e999999999}`: true,
		`{"n":18446744073709551615}`: true, `{"n":-0}`: true, `{"n":-1}`: false, `{"n":-0.5}`: false, `{"n":1.0}`: true, `{"n":0.5}`: false, `{"m":9.5}`: true, `{"m":9.7}`: false,
	} {
		err := set.For("").Check(from, schemas.Notification, "n", []byte(body))
		var broken *schemas.Error
		if (err == nil) != ok || errors.As(err, &broken) {
			t.Errorf("%s: %v, want accepted %v", body, err, ok)
		}
	}
}
