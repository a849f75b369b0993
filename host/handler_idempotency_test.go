package host_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

const keyHeader = host.HeaderIdempotencyKey

func TestIdempotencyKeyIsTheClientIDOfWhatIsMade(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	create := map[string]any{"harness": "codex", "cwd": w.cwd}
	var c1, c2 host.Conversation
	w.ok(&c1, "POST", "/v1/conversations", create, keyHeader, "c-1")
	w.ok(&c2, "POST", "/v1/conversations", create, keyHeader, "c-1")
	if c1.ID != "c-1" || c2.ID != "c-1" {
		t.Fatalf("%s and %s", c1.ID, c2.ID)
	}
	var a, b host.Turn
	w.ok(&a, "POST", w.at("/turns"), host.Message{Content: host.Text("x")}, keyHeader, "m-1")
	w.ok(&b, "POST", w.at("/turns"), host.Message{Content: host.Text("x"), ClientID: "m-1"}, keyHeader, "m-1")
	if a.ID != b.ID || a.ClientID != "m-1" {
		t.Errorf("%+v and %+v", a, b)
	}
	w.untilTurn(a.ID, host.TurnCompleted)
	w.ok(&a, "POST", w.at("/turns/"+a.ID+"/retry"), nil, keyHeader, "r-1")
	w.ok(&b, "POST", w.at("/turns/"+b.ID+"/retry"), nil, keyHeader, "r-1")
	if a.ID != b.ID || a.RetryOf == "" {
		t.Errorf("%+v and %+v", a, b)
	}
	w.fails(host.CodeClientIDReused, "POST", w.at("/turns/"+a.ID+"/retry"), nil, keyHeader, "m-1")
	if p := w.fails(host.CodeInvalidArgument, "POST", w.at("/turns"), host.Message{Content: host.Text("x"), ClientID: "other"}, keyHeader, "m-2"); p.Field != keyHeader {
		t.Errorf("%+v", p)
	}
	for _, bad := range []string{"", "a b", "ü", strings.Repeat("k", 256)} {
		if p := w.fails(host.CodeInvalidArgument, "POST", w.at("/turns"), host.Message{Content: host.Text("x")}, keyHeader, bad); p.Field != keyHeader {
			t.Errorf("%q: %+v", bad, p)
		}
	}
	if turns, _ := w.h.Turns(t.Context(), w.conv); len(turns) != 2 {
		t.Errorf("%d turns", len(turns))
	}
}

func TestIdempotencyKeyMakesARepeatedChangeHarmlessAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := newWeb(t, echo, func(c *host.Config) { c.Clock = func() time.Time { return now } })
	patch := func(revision int64, mode string) map[string]any {
		return map[string]any{"revision": revision, "patch": map[string]string{"mode": mode}}
	}
	var k host.Controls
	w.ok(&k, "PATCH", w.at("/settings"), patch(1, "plan"), keyHeader, "s-1")
	w.ok(&k, "PATCH", w.at("/settings"), patch(2, "default"), keyHeader, "s-2")
	// The answer to s-1 was lost and it is sent again: nothing changes back.
	w.ok(&k, "PATCH", w.at("/settings"), patch(1, "plan"), keyHeader, "s-1")
	if k.Revision != 3 || k.Settings.Mode != "default" {
		t.Fatalf("%+v at %d", k.Settings, k.Revision)
	}
	w.fails(host.CodeClientIDReused, "PATCH", w.at("/settings"), patch(3, "plan"), keyHeader, "s-1")
	w.fails(host.CodeClientIDReused, "POST", w.at("/queue/resume"), nil, keyHeader, "s-1")
	// A failed request may be corrected under its key.
	w.fails(host.CodeStaleRevision, "PATCH", w.at("/settings"), patch(1, "plan"), keyHeader, "s-3")
	w.ok(&k, "PATCH", w.at("/settings"), patch(3, "plan"), keyHeader, "s-3")

	w.restart()
	w.serve(w.h.Handler())
	w.ok(&k, "PATCH", w.at("/settings"), patch(1, "plan"), keyHeader, "s-1")
	if k.Revision != 4 {
		t.Fatalf("revision %d", k.Revision)
	}
	// A day later the key is forgotten.
	now = now.Add(24*time.Hour + time.Second)
	w.fails(host.CodeStaleRevision, "PATCH", w.at("/settings"), patch(1, "plan"), keyHeader, "s-1")
	w.ok(&k, "PATCH", w.at("/settings"), patch(4, "default"), keyHeader, "s-1")
}

func TestIdempotencyKeyOfAConsentAllowsNoOtherModule(t *testing.T) {
	t.Parallel()
	w := &web{rig: newRogueRig(t, echo), doc: readDoc(t)}
	w.serve(w.h.Handler())
	var b host.InstalledBinding
	w.ok(&b, "POST", "/v1/bindings/rogue/allow", nil, keyHeader, "yes")
	if !b.Allowed || w.allowed() != "rogue.wasm" {
		t.Fatalf("allowed is %q: %+v", w.allowed(), b.Problem)
	}
	// The answer was lost, and meanwhile somebody dropped another one.
	w.drop("rogue-next.wasm", "0.9.0")
	w.ok(&b, "POST", "/v1/bindings/rogue/allow", nil, keyHeader, "yes")
	if got := w.allowed(); got != "rogue.wasm" {
		t.Fatalf("the repeated request allowed %q", got)
	}
}

func TestIdempotencyKeyLetsOneOfManyAtOnceThrough(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r := w.do("PATCH", w.at("/settings"), map[string]any{"revision": 1, "patch": map[string]string{"mode": "plan"}}, keyHeader, "same")
			if r.status != 200 {
				t.Errorf("request %d: %d %s", i, r.status, r.body)
			}
		})
	}
	wg.Wait()
	if got := w.controls().Revision; got != 2 {
		t.Errorf("revision %d", got)
	}
}

func TestAMutationThatWasReadIsCarriedOutAlthoughItsClientHasGone(t *testing.T) {
	t.Parallel()
	w := newWeb(t, echo)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	change := func() *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(ctx, http.MethodPatch, "http://localhost"+w.at("/settings"), strings.NewReader(`{"revision":1,"patch":{"mode":"plan"}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(keyHeader, "gone")
		rec := httptest.NewRecorder()
		w.h.Handler().ServeHTTP(rec, req)
		return rec
	}
	for range 2 {
		if rec := change(); rec.Code != http.StatusOK {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	if got := w.controls(); got.Revision != 2 || got.Settings.Mode != "plan" {
		t.Errorf("%+v", got)
	}
}

func TestS1_ARepeatedStopDoesNotEndTheProcessOrANewerTurn(t *testing.T) {
	t.Parallel()
	w := newWeb(t, `{"turns":[{"repeat":true,"steps":[{"say":"Waiting."},{"wait_interrupt":true}]}]}`)
	first := w.send("one")
	w.untilTurn(first.ID, host.TurnRunning)
	var k host.Controls
	w.ok(&k, "POST", w.at("/stop"), nil, keyHeader, "stop-1")
	w.untilTurn(first.ID, host.TurnInterrupted)
	second := w.send("two")
	w.untilTurn(second.ID, host.TurnRunning)
	w.ok(&k, "POST", w.at("/stop"), nil, keyHeader, "stop-1")
	if k.Running == nil || k.Running.Turn != second.ID || k.Running.Stopping {
		t.Fatalf("the repeated stop hit the newer turn: %+v", k.Running)
	}
	w.ok(&k, "POST", w.at("/stop"), nil, keyHeader, "stop-2")
	w.untilTurn(second.ID, host.TurnInterrupted)
}

func TestRule16_ASecretAnswerWithAKeyLeavesNoTraceInTheStore(t *testing.T) {
	t.Parallel()
	w := newWeb(t, `{"turns":[{"repeat":true,"steps":[{"ask":{"id":"q","questions":[{"id":"pin","question":"PIN?","other":true,"secret":true}]}},{"say":"Thanks."}]}]}`)
	turn := w.send("Ask")
	card := w.untilInput()
	const secret = "4711-0815-secret"
	answer := host.Answer{Fields: []abi.FieldAnswer{{Field: card.Ask.Fields[0].ID, State: abi.StateAnswered, HasOther: true, Other: secret}}}
	var a, b host.Interaction
	w.ok(&a, "POST", w.at("/inputs/"+card.ID+"/answer"), answer, keyHeader, "a-1")
	w.untilTurn(turn.ID, host.TurnCompleted)
	w.ok(&b, "POST", w.at("/inputs/"+card.ID+"/answer"), answer, keyHeader, "a-1")
	if b.ID != card.ID || b.State != host.InteractionClosed || b.Disposition != abi.DispositionAnswered {
		t.Errorf("the repeated answer gave %+v", b)
	}
	// Another answer under the same key is the same request: the first one counts,
	// and no digest of a short secret is kept to compare it by.
	answer.Fields[0].Other = "1234"
	w.ok(&b, "POST", w.at("/inputs/"+card.ID+"/answer"), answer, keyHeader, "a-1")
	w.close()
	w.srv.Close()
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), secret) {
			t.Errorf("%s holds the secret", filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if raw, _ := json.Marshal(a); strings.Contains(string(raw), secret) {
		t.Errorf("the answer's answer holds the secret: %s", raw)
	}
}
