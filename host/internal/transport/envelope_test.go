package transport_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aoagents/ao-host/host/internal/transport"
)

func TestClassifiesEveryShapeOfMessage(t *testing.T) {
	for _, tc := range []struct {
		name, line                string
		kind                      transport.Kind
		id, method, payload, note string
	}{
		{"request", `{"id":7,"method":"m","params":{"a":1}}`, transport.Request, `7`, "m", `{"a":1}`, ""},
		{"request with jsonrpc member", `{"jsonrpc":"2.0","id":"x","method":"m","params":[]}`, transport.Request, `"x"`, "m", `[]`, ""},
		{"request without params", `{"id":7,"method":"m"}`, transport.Request, `7`, "m", "", ""},
		{"members in any order", `{"params":{"id":9,"method":"inner"},"method":"m","id":7}`, transport.Request, `7`, "m", `{"id":9,"method":"inner"}`, ""},
		{"space everywhere", " { \"id\" : 7 ,\t\"method\" : \"m\" , \"params\" : { } } ", transport.Request, `7`, "m", `{ }`, ""},
		{"escaped key and method", `{"\u0069d":7,"m\u0065thod":"a\/b\u0021"}`, transport.Request, `7`, "a/b!", "", ""},
		{"notification", `{"method":"m","params":null}`, transport.Notification, "", "m", `null`, ""},
		{"unknown members are ignored", `{"method":"m","params":{},"emittedAtMs":1795998659968}`, transport.Notification, "", "m", `{}`, ""},
		{"empty method", `{"method":""}`, transport.Notification, "", "", "", ""},
		{"result", `{"id":7,"result":{"ok":true}}`, transport.Result, `7`, "", `{"ok":true}`, ""},
		{"null result", `{"id":7,"result":null}`, transport.Result, `7`, "", `null`, ""},
		{"result beside a null error", `{"id":7,"result":1,"error":null}`, transport.Result, `7`, "", `1`, ""},
		{"result beside a null method", `{"id":7,"method":null,"result":1}`, transport.Result, `7`, "", `1`, ""},
		{"error", `{"id":7,"error":{"code":-32000,"message":"x"}}`, transport.Error, `7`, "", `{"code":-32000,"message":"x"}`, ""},
		{"error beside a null result", `{"id":7,"result":null,"error":{"code":1}}`, transport.Error, `7`, "", `{"code":1}`, ""},
		{"error that is no object", `{"id":7,"error":"boom"}`, transport.Error, `7`, "", `"boom"`, ""},
		{"the last of duplicated members counts", `{"id":1,"id":2,"method":"a","method":"b","params":1,"params":2}`, transport.Request, `2`, "b", `2`, ""},

		{"array", `[{"id":1,"method":"m"}]`, transport.Junk, "", "", "", "a JSON array"},
		{"string", `"hello"`, transport.Junk, "", "", "", "not a JSON object"},
		{"number", `42`, transport.Junk, "", "", "", "not a JSON object"},
		{"text", `Listening on stdio`, transport.Junk, "", "", "", "not JSON: Listening on stdio"},
		{"text before a message", `DEBUG {"id":1,"method":"m"}`, transport.Junk, "", "", "", "not JSON"},
		{"text after a message", `{"id":1,"method":"m"} done`, transport.Junk, "", "", "", "not one valid JSON object"},
		{"two messages on a line", `{"method":"a"}{"method":"b"}`, transport.Junk, "", "", "", "not one valid JSON object"},
		{"cut off", `{"id":1,"method":"m","params":{"text":"hal`, transport.Junk, "", "", "", "not one valid JSON object"},
		{"bad syntax deep in the payload", `{"method":"m","params":{"a":[1,{"b":tru}]}}`, transport.Junk, "", "", "", "not one valid JSON object"},
		{"method that is no string", `{"id":1,"method":5}`, transport.Junk, "", "", "", "the method is not a string"},
		{"empty object", `{}`, transport.Junk, "", "", "", "neither a method nor an id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := one(t, tc.line)
			if f.Kind != tc.kind || string(f.ID) != tc.id || f.Method != tc.method || string(f.Payload) != tc.payload {
				t.Errorf("got %v id %q method %q payload %q note %q", f.Kind, f.ID, f.Method, f.Payload, f.Note)
			}
			if !strings.HasPrefix(f.Note, tc.note) || (tc.note == "") != (f.Note == "") {
				t.Errorf("note %q, want it to start with %q", f.Note, tc.note)
			}
			if f.N != 1 || f.Size != len(tc.line) || f.Oversize {
				t.Errorf("N %d, size %d, oversize %v", f.N, f.Size, f.Oversize)
			}
		})
	}
}

func TestT1_TextBlankLinesByteOrderMarkAndBrokenUTF8DoNotHurtTheirNeighbours(t *testing.T) {
	frames := read(t, "\uFEFF{\"method\":\"first\"}\r\n"+
		"\n\r\n  \t \n\uFEFF\n"+
		"\x1b[31mwarning:\x1b[0m plain text\r\n"+
		"{\"method\":\"caf\xC3\"}\n"+
		"\xC3\n"+
		"{\"method\":\"last\",\"params\":{\"text\":\"\xE2\x82 and \xFF\"}}\n")
	want := []struct {
		kind         transport.Kind
		method, text string
	}{
		{transport.Notification, "first", ""},
		{transport.Junk, "", "not JSON: \x1b[31mwarning:\x1b[0m plain text"},
		{transport.Notification, "caf\uFFFD", ""},
		{transport.Junk, "", "not JSON: \uFFFD"},
		{transport.Notification, "last", ""},
	}
	if len(frames) != len(want) {
		t.Fatalf("got %d frames, want %d: %v", len(frames), len(want), frames)
	}
	for i, w := range want {
		f := frames[i]
		if f.Kind != w.kind || f.Method != w.method || f.Note != w.text || f.N != uint64(i+1) {
			t.Errorf("frame %d: %v %q %q (N %d)", i+1, f.Kind, f.Method, f.Note, f.N)
		}
	}
	last := frames[4].Payload
	if !utf8.Valid(last) || !json.Valid(last) || string(last) != "{\"text\":\"\uFFFD\uFFFD and \uFFFD\"}" {
		t.Errorf("the payload with broken UTF-8 became %q", last)
	}
}

func TestT1_ALastLineWithoutNewlineCounts(t *testing.T) {
	frames := read(t, "{\"method\":\"a\"}\n{\"id\":3,\"result\":{}}")
	if len(frames) != 2 || frames[1].Kind != transport.Result || string(frames[1].ID) != "3" {
		t.Fatalf("got %v", frames)
	}
}

func TestT4_StringAndNumberIDsWithTheSameDigitsStayDifferent(t *testing.T) {
	for _, id := range []string{`7`, `"7"`, `7.0`, `-7`, `"\u0037"`, `18446744073709551616`, `""`} {
		f := one(t, `{"id":`+id+`,"method":"m"}`)
		if f.Kind != transport.Request || string(f.ID) != id {
			t.Errorf("id %s came as %v %q", id, f.Kind, f.ID)
		}
	}
}

func TestT4_ANullIDIsNobodysAnswer(t *testing.T) {
	if f := one(t, `{"id":null,"method":"m"}`); f.Kind != transport.Notification || f.ID != nil {
		t.Errorf("a method with a null id is %v with id %q, want a notification", f.Kind, f.ID)
	}
	f := one(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
	if f.Kind != transport.Junk || f.ID != nil || string(f.Payload) != `{"code":-32700,"message":"Parse error"}` ||
		!strings.HasPrefix(f.Note, "an error that belongs to no call: ") {
		t.Errorf("an error without a call is %v id %q payload %q note %q", f.Kind, f.ID, f.Payload, f.Note)
	}
	if f := one(t, `{"id":null,"result":{}}`); f.Kind != transport.Junk || f.ID != nil {
		t.Errorf("a result with a null id is %v with id %q", f.Kind, f.ID)
	}
}

func TestT5_UnusableAnswersAreJunkThatNamesTheCall(t *testing.T) {
	for line, id := range map[string]string{
		`{"id":7}`:                `7`,
		`{"id":"7","error":null}`: `"7"`,
		`{"id":7,"result":{},"error":{"code":1}}`: `7`,
		`{"result":{}}`:                                      ``,
		`{"error":{}}`:                                       ``,
		`{"id":{"a":1},"result":{}}`:                         ``,
		`{"id":true,"method":"m"}`:                           ``,
		`{"id":7,"method":"m","result":{}}`:                  ``,
		`{"id":7,"method":"m","error":{"code":1}}`:           ``,
		`{"id":7,"method":{},"error":{"code":1}}`:            ``,
		`{"jsonrpc":"2.0","id":[1],"error":{"code":-32600}}`: ``,
	} {
		f := one(t, line)
		if f.Kind != transport.Junk || string(f.ID) != id || f.Method != "" || f.Note == "" {
			t.Errorf("%s: %v id %q method %q note %q", line, f.Kind, f.ID, f.Method, f.Note)
		}
	}
}

func TestT5_NothingIsEverAnsweredByTheTransport(t *testing.T) {
	var out strings.Builder
	_, err := readAll(t, transport.Config{
		R: strings.NewReader("junk\n[1]\n{\"id\":1}\n{\"id\":2,\"method\":\"unknown\"}\n{\"id\":9,\"result\":1}\n"),
		W: &out,
	})
	if out.Len() != 0 {
		t.Errorf("the transport wrote %q (%v)", out.String(), err)
	}
}

func TestT6_NotificationsBeforeAResponseStayBeforeIt(t *testing.T) {
	var in strings.Builder
	for i := range 1000 {
		in.WriteString(`{"method":"session/update","params":{"n":` + string(rune('0'+i%10)) + "}}\n")
		if i%7 == 0 {
			in.WriteString(`{"id":1,"result":{}}` + "\n")
		}
	}
	var got []transport.Kind
	var want []transport.Kind
	for i := range 1000 {
		want = append(want, transport.Notification)
		if i%7 == 0 {
			want = append(want, transport.Result)
		}
	}
	for i, f := range read(t, in.String()) {
		got = append(got, f.Kind)
		if f.N != uint64(i+1) {
			t.Fatalf("frame %d has the number %d", i+1, f.N)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("frame %d is %v, want %v", i+1, got[i], want[i])
		}
	}
}

func TestANoteQuotesAtMostFourKiBCutBetweenCharacters(t *testing.T) {
	f := one(t, "é"+strings.Repeat("x", 1)+strings.Repeat("日", 5000))
	head := strings.TrimPrefix(f.Note, "not JSON: ")
	if len(head) > transport.NoteHead || len(head) < transport.NoteHead-3 || !utf8.ValidString(head) {
		t.Errorf("the head has %d bytes, valid %v", len(head), utf8.ValidString(head))
	}
}

func TestAFrameKeepsItsBytesWhileReadingGoesOn(t *testing.T) {
	const n = 5000
	var in strings.Builder
	for range n {
		in.WriteString(`{"id":"` + strings.Repeat("a", 20) + `","method":"m","params":"` + strings.Repeat("b", 200) + "\"}\n")
	}
	in.WriteString(strings.Repeat("Z", 200<<10) + "\n")
	for _, f := range read(t, in.String())[:n] {
		if strings.Trim(string(f.ID), `a"`) != "" || strings.Trim(string(f.Payload), `b"`) != "" {
			t.Fatalf("frame %d was overwritten: %q %q", f.N, f.ID, f.Payload)
		}
	}
}

func TestEveryRecordedFrameIsClassifiedAsItsMembersSay(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/recordings/*/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings found: %v", err)
	}
	seen := map[transport.Kind]int{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var rec struct {
				Dir   string
				Frame json.RawMessage
			}
			if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
				t.Fatal(err)
			}
			if rec.Dir != "out" || rec.Frame == nil {
				continue
			}
			var m map[string]json.RawMessage
			if err := json.Unmarshal(rec.Frame, &m); err != nil {
				t.Fatal(err)
			}
			want, payload := transport.Notification, m["params"]
			switch {
			case m["method"] != nil && m["id"] != nil:
				want = transport.Request
			case m["error"] != nil:
				want, payload = transport.Error, m["error"]
			case m["method"] == nil:
				want, payload = transport.Result, m["result"]
			}
			f := one(t, string(rec.Frame))
			if f.Kind != want || string(f.ID) != string(m["id"]) || string(f.Payload) != string(payload) {
				t.Errorf("%s: %s became %v id %q", name, rec.Frame, f.Kind, f.ID)
			}
			seen[f.Kind]++
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	}
	if seen[transport.Notification] == 0 || seen[transport.Result] == 0 || seen[transport.Request] == 0 {
		t.Errorf("the recordings hold %v; too little to prove anything", seen)
	}
}
