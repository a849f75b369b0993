package schemas_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/aoagents/ao-host/schemas"
)

const (
	to   = schemas.ToProvider
	from = schemas.FromProvider
)

// violation checks a payload and returns the violation, nil if it passes.
func violation(t *testing.T, v *schemas.Validator, dir schemas.Direction, kind schemas.Kind, method, body string) *schemas.Violation {
	t.Helper()
	err := v.Check(dir, kind, method, []byte(body))
	if err == nil {
		return nil
	}
	var vio *schemas.Violation
	if !errors.As(err, &vio) {
		t.Fatalf("%s: %v is no violation", method, err)
	}
	return vio
}

func TestAViolationNamesThePlaceTheKeywordAndTheReason(t *testing.T) {
	v := openCodex(t).For("0.171.0")
	for _, c := range []struct {
		name          string
		dir           schemas.Direction
		kind          schemas.Kind
		method, body  string
		path, keyword string
		message       string
	}{
		{"a missing member", to, schemas.Request, "turn/start", `{"input":[]}`, "", "required", "threadId"},
		{"a wrong type", to, schemas.Request, "turn/start", `{"threadId":7,"input":[]}`, "/threadId", "type", "expected string"},
		{"an unknown enum value", to, schemas.Request, "turn/start", `{"threadId":"t","input":[],"collaborationMode":{"mode":"agent","settings":{"model":"m"}}}`, "/collaborationMode/mode", "enum", "plan"},
		{"an unknown kind of item", from, schemas.Notification, "item/completed", `{"threadId":"t","turnId":"u","completedAtMs":1,"item":{"type":"hologram","id":"i"}}`, "/item", "anyOf", `unknown type "hologram"`},
		{"a known item with a hole", from, schemas.Notification, "item/completed", `{"threadId":"t","turnId":"u","completedAtMs":1,"item":{"type":"plan","id":"i"}}`, "/item", "required", "text"},
		{"a half number", from, schemas.Notification, "item/completed", `{"threadId":"t","turnId":"u","completedAtMs":1.5,"item":{"type":"plan","id":"i","text":""}}`, "/completedAtMs", "type", "integer"},
		{"no JSON", from, schemas.Notification, "item/completed", `{"threadId":`, "", "json", "JSON"},
		{"a wrong result", from, schemas.Result, "turn/start", `{"turn":null}`, "/turn", "type", "object"},
		{"a reply of ours", to, schemas.Result, "item/tool/requestUserInput", `{"answers":{"q":{"answers":"yes"}}}`, "/answers/q/answers", "type", "array"},
		{"a decision nobody offers", to, schemas.Result, "item/commandExecution/requestApproval", `{"decision":"maybe"}`, "/decision", "anyOf", "maybe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := violation(t, v, c.dir, c.kind, c.method, c.body)
			if got == nil {
				t.Fatal("accepted")
			}
			if got.Path != c.path || got.Keyword != c.keyword || !strings.Contains(got.Message, c.message) {
				t.Errorf("got %q %q %q, want %q %q with %q", got.Path, got.Keyword, got.Message, c.path, c.keyword, c.message)
			}
			if got.Method != c.method || got.Direction != c.dir || got.Kind != c.kind || got.Unknown || got.Code() != schemas.CodeViolation {
				t.Errorf("got %+v", got)
			}
			if !strings.Contains(got.Error(), c.method) || !strings.Contains(got.Error(), got.Message) {
				t.Errorf("the sentence %q leaves something out", got.Error())
			}
		})
	}
}

func TestTheSameFrameGivesTheSameViolationEveryTime(t *testing.T) {
	v := openCodex(t).For("")
	body := `{"threadId":"t","input":[],"model":1,"effort":2,"cwd":3,"clientUserMessageId":4}`
	first := violation(t, v, to, schemas.Request, "turn/start", body)
	if first == nil || first.More != 3 || first.Path != "/clientUserMessageId" {
		t.Fatalf("got %+v, want the first of four", first)
	}
	// Of several the deepest is told: it is in the part that was understood best.
	deep := violation(t, v, to, schemas.Request, "turn/start", `{"input":[{"type":"text","text":5}],"cwd":3}`)
	if deep == nil || deep.Path != "/input/0/text" {
		t.Fatalf("got %+v, want the deepest", deep)
	}
	for range 50 {
		if again := violation(t, v, to, schemas.Request, "turn/start", body); *again != *first {
			t.Fatalf("first %+v, then %+v", first, again)
		}
	}
}

func TestT3_MembersTheSchemaDoesNotKnowAreRefusedOnlyOnTheWayOut(t *testing.T) {
	v := openCodex(t).For("0.171.0")
	// The amendment object of a decision is closed in Codex's schema.
	decision := `{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["ls"]},"newer":true}`
	request := `{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1,"kind":"command","command":"ls","availableDecisions":["accept",` + decision + `]}`
	if vio := violation(t, v, from, schemas.Request, "item/commandExecution/requestApproval", request); vio != nil {
		t.Errorf("an offer with a newer member is refused: %v", vio)
	}
	if vio := violation(t, v, to, schemas.Result, "item/commandExecution/requestApproval", `{"decision":`+decision+`}`); vio == nil {
		t.Error("a reply with a member that the schema forbids would be sent")
	}
	good := strings.Replace(decision, `,"newer":true`, "", 1)
	if vio := violation(t, v, to, schemas.Result, "item/commandExecution/requestApproval", `{"decision":`+good+`}`); vio != nil {
		t.Errorf("a good reply is refused: %v", vio)
	}
}

func TestAMethodThatIsNotInTheSchemasIsUnknown(t *testing.T) {
	v := openCodex(t).For("")
	for _, c := range []struct {
		dir    schemas.Direction
		kind   schemas.Kind
		method string
	}{
		{from, schemas.Notification, "thread/holographed"},
		// Right name, wrong way or kind.
		{from, schemas.Request, "turn/start"},
		{to, schemas.Notification, "turn/start"},
		{to, schemas.Result, "turn/start"},
		// In the provider's schemas, but the binding does not use it.
		{to, schemas.Request, "thread/realtime/start"},
		{from, schemas.Notification, strings.Repeat("x", 5000)},
	} {
		vio := violation(t, v, c.dir, c.kind, c.method, `{}`)
		if vio == nil || !vio.Unknown || vio.Code() != schemas.CodeUnknownMethod || len(vio.Method) > 80 {
			t.Errorf("%s %s %.40s: %+v", c.dir, c.kind, c.method, vio)
		}
		if v.Known(c.dir, c.kind, c.method) {
			t.Errorf("%.40s is known", c.method)
		}
	}
	if !v.Known(from, schemas.Result, "turn/start") {
		t.Error("the result of turn/start is not known")
	}
}

func TestAMissingPayloadIsRefusedWhereOneIsRequired(t *testing.T) {
	v := openCodex(t).For("")
	if vio := violation(t, v, to, schemas.Notification, "initialized", ""); vio != nil {
		t.Errorf("initialized has no params: %v", vio)
	}
	if vio := violation(t, v, to, schemas.Request, "turn/start", ""); vio == nil || !strings.Contains(vio.Message, "params") {
		t.Errorf("got %v", vio)
	}
	if vio := violation(t, v, from, schemas.Result, "turn/start", ""); vio == nil || !strings.Contains(vio.Message, "result") {
		t.Errorf("got %v", vio)
	}
	if vio := violation(t, v, from, schemas.ErrorObject, "turn/start", `{"code":-32600}`); vio != nil {
		t.Errorf("an error object is refused: %v", vio)
	}
}

func TestAViolationHoldsNoMoreOfThePayloadThanAShortQuote(t *testing.T) {
	v := openCodex(t).For("")
	// The quotes end inside the row of two-byte characters.
	long := strings.Repeat("é", 70) + strings.Repeat(" secret", 100)
	for _, c := range []struct {
		dir    schemas.Direction
		kind   schemas.Kind
		method string
		body   string
	}{
		{from, schemas.Notification, "item/completed", `{"threadId":"t","turnId":"u","completedAtMs":1,"item":{"type":"` + long + `","id":"i"}}`},
		{to, schemas.Result, "item/commandExecution/requestApproval", `{"decision":"` + long + `"}`},
		{to, schemas.Result, "item/commandExecution/requestApproval", `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["ls"]},"` + long + `":1,"` + long + `2":1}}`},
		{to, schemas.Result, "item/tool/requestUserInput", `{"answers":{"` + long + `":{"answers":[0]}}}`},
		{to, schemas.Request, "turn/start", `{"threadId":"t","input":[],"collaborationMode":{"mode":"` + long + `","settings":{"model":"m"}}}`},
	} {
		vio := violation(t, v, c.dir, c.kind, c.method, c.body)
		if vio == nil {
			t.Fatalf("%s: accepted", c.method)
		}
		text := vio.Message + vio.Path
		if n := strings.Count(text, "secret"); n > 0 || !utf8.ValidString(text) || len(vio.Message) > 300 || len(vio.Path) > 300 {
			t.Errorf("%s quotes the payload %d times: %+v", c.method, n, vio)
		}
		if !utf8.ValidString(vio.Error()) {
			t.Errorf("%s: cut inside a character: %q", c.method, vio.Error())
		}
	}
}

func TestForTakesTheSameVersionElseTheNearestOlderElseTheOldest(t *testing.T) {
	set := openCodex(t)
	for asked, want := range map[string]string{
		"0.171.0": "0.171.0", "0.153.4": "0.153.4",
		"":        "0.171.0",
		"0.180.0": "0.171.0", "1.0.0": "0.171.0", "0.171.1": "0.171.0",
		"0.160.2": "0.153.4", "0.171.0-alpha.2": "0.153.4",
		"0.9.0": "0.153.4", "no version": "0.153.4",
	} {
		if got := set.For(asked).Provenance().Version; got != want {
			t.Errorf("For(%q) is %s, want %s", asked, got, want)
		}
	}
	if set.Provider() != "codex" || len(set.Versions()) != 2 || set.Versions()[0].Version != "0.153.4" {
		t.Errorf("%q %+v", set.Provider(), set.Versions())
	}
}

func TestOneSetServesManySessionsAtOnce(t *testing.T) {
	set := openCodex(t)
	frames := map[string][]payload{}
	for folder, version := range codexRecordings {
		frames[version] = readRecordings(t, folder)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for version, list := range frames {
				v := set.For(version)
				if g%4 == 0 {
					if err := v.Warm("turn/start", "item/completed"); err != nil {
						t.Error(err)
					}
				}
				// Each goroutine begins elsewhere, so that first uses collide.
				for i := range list {
					p := list[(i+g*17)%len(list)]
					if err := v.Check(p.dir, p.kind, p.method, p.body); err != nil {
						t.Errorf("%s: %v", p.method, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
