package host_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// logbook collects log records as JSON lines.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logbook) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
}

// records decodes what was logged about a conversation, "" for all.
func (l *logbook) records(t *testing.T, conversation string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(l.String()) {
		var rec map[string]any
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if conversation == "" || rec["conversation"] == conversation {
			out = append(out, rec)
		}
	}
	return out
}

// canary is in everything the scripted harness says in loud.
const canary = "CANARY-7f3a"

// loud is a harness that puts the canary into every kind of frame: text, reasoning,
// a plan, a command, a question, a form, errors, junk, methods, stderr and its exit.
const loud = `{
 "start": [{"stderr":"` + canary + ` on stderr"}],
 "models": [{"id":"` + canary + `-model","title":"` + canary + `","efforts":["low"],"default":true}],
 "config_warnings": ["` + canary + `"],
 "turns":[
  {"when":{"text":"talk"},"steps":[
   {"say":"` + canary + ` said"},{"reason":"` + canary + ` thought"},{"plan":"# ` + canary + `"},
   {"checklist":[{"step":"` + canary + `","status":"pending"}],"explanation":"` + canary + `"},
   {"run":{"command":"echo ` + canary + `","output":"` + canary + `"}},
   {"raw":"` + canary + ` is no JSON"},
   {"notify":{"method":"` + canary + `/heard","params":{"text":"` + canary + `"}}},
   {"request":{"method":"` + canary + `/ask","params":{"text":"` + canary + `"}}},
   {"notify":{"method":"item/started","params":{"item":"` + canary + `"}}},
   {"item":{"type":"` + canary + `","id":"i-` + canary + `"}},
   {"warn":"` + canary + `"},{"name":"` + canary + `"},
   {"ask":{"id":"q-` + canary + `","questions":[{"id":"` + canary + `","header":"` + canary + `","question":"` + canary + `","options":[{"label":"` + canary + `"}]}]}}]},
  {"when":{"text":"fail"},"steps":[{"fail":{"code":"other","message":"` + canary + ` failed"}}]},
  {"when":{"text":"huge"},"steps":[{"huge":{"bytes":300000,"kind":"delta"}},{"say":"` + canary + `"}]},
  {"when":{"text":"die"},"steps":[{"stderr":"` + canary + ` last words"},{"exit":3}]}]}`

func TestNoHarnessTextIsLoggedAboveDebugWhateverTheHarnessSays(t *testing.T) {
	t.Parallel()
	var log logbook
	r := newRig(t, loud, func(c *host.Config) {
		c.Logger = log.logger(slog.LevelInfo)
		c.MaxLine = 200_000
	})
	talk := r.send("talk " + canary)
	r.answer(r.untilQuestion().ID, host.Answer{Fields: []abi.FieldAnswer{answered(canary, 0)}})
	r.untilTurn(talk.ID, host.TurnCompleted)
	fail := r.send("fail")
	r.untilTurn(fail.ID, host.TurnFailed)
	r.untilTurn(r.send("huge").ID, host.TurnCompleted)
	die := r.send("die")
	r.untilTurn(die.ID, host.TurnFailed)
	r.close()
	if text := log.String(); strings.Contains(text, canary) {
		for line := range strings.Lines(text) {
			if strings.Contains(line, canary) {
				t.Errorf("logged: %s", line)
			}
		}
	}
	// The log is worth something all the same.
	seen := map[string]bool{}
	for _, rec := range log.records(t, r.conv) {
		msg, _ := rec["msg"].(string)
		seen[msg] = true
		if _, ok := rec["generation"]; !ok && strings.Contains(msg, "session") {
			t.Errorf("the record %q names no generation: %v", msg, rec)
		}
	}
	for _, want := range []string{
		"a session starts", "the session is ready", "a message was accepted", "a message is on its way", "the agent has the message",
		"the agent asks", "a card is closed", "a turn ended", "the session ended",
	} {
		if !seen[want] {
			t.Errorf("%q was not logged; logged were %v", want, seen)
		}
	}
}

func TestEveryRecordOfASessionNamesItsConversationAndGeneration(t *testing.T) {
	t.Parallel()
	var log logbook
	r := newRig(t, loud, func(c *host.Config) { c.Logger = log.logger(slog.LevelDebug) })
	r.untilTurn(r.send("die").ID, host.TurnFailed)
	r.close()
	frames := 0
	for _, rec := range log.records(t, "") {
		if rec["conversation"] != r.conv {
			t.Errorf("no conversation in %v", rec)
		}
		if rec["msg"] == "from the harness" {
			frames++
			if rec["generation"] != 1.0 {
				t.Errorf("no generation in %v", rec)
			}
		}
	}
	if frames == 0 {
		t.Error("no frame was logged at debug")
	}
	if !strings.Contains(log.String(), `"turn/start`) && !strings.Contains(log.String(), `"turn/started"`) {
		t.Error("the methods of frames are not logged at debug")
	}
}

func TestOneConversationIsRaisedToDebugWithoutTheOthers(t *testing.T) {
	t.Parallel()
	var log logbook
	r := newRig(t, echo, func(c *host.Config) { c.Logger = log.logger(slog.LevelWarn) })
	quiet := r.conv
	c, err := r.h.Create(t.Context(), host.NewConversation{Harness: "codex", Cwd: r.cwd})
	if err != nil {
		t.Fatal(err)
	}
	r.conv = c.ID
	got, err := r.h.SetLogLevel(t.Context(), c.ID, host.LogLevel{Level: "debug"})
	if err != nil || got.Level != "debug" {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, conv := range []string{quiet, c.ID} {
		r.conv = conv
		r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	}
	if n := len(log.records(t, quiet)); n != 0 {
		t.Errorf("%d records of the conversation that was not raised", n)
	}
	loudly := len(log.records(t, c.ID))
	if loudly == 0 {
		t.Fatal("no record of the conversation that was raised")
	}
	// And back, while its session lives.
	if _, err := r.h.SetLogLevel(t.Context(), c.ID, host.LogLevel{}); err != nil {
		t.Fatal(err)
	}
	before := len(log.records(t, c.ID))
	r.untilTurn(r.send("Again").ID, host.TurnCompleted)
	if after := len(log.records(t, c.ID)); after != before {
		t.Errorf("%d records after the level was taken back", after-before)
	}
	_, err = r.h.SetLogLevel(t.Context(), c.ID, host.LogLevel{Level: "loud"})
	wantCode(t, err, host.CodeInvalidArgument)
	_, err = r.h.SetLogLevel(t.Context(), "nobody", host.LogLevel{Level: "info"})
	wantCode(t, err, host.CodeUnknownConversation)
	_, err = r.h.LogLevel(t.Context(), "nobody")
	wantCode(t, err, host.CodeUnknownConversation)
}

func TestALogLevelIsConfiguredBeforeTheConversationIsUsed(t *testing.T) {
	t.Parallel()
	var log logbook
	r := newRig(t, echo, func(c *host.Config) { c.Logger = log.logger(slog.LevelError) })
	r.close()
	r.cfg.LogLevels = map[string]slog.Level{r.conv: slog.LevelInfo}
	r.open()
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	if len(log.records(t, r.conv)) == 0 {
		t.Error("nothing was logged")
	}
	if l, err := r.h.LogLevel(t.Context(), r.conv); err != nil || l.Level != "info" {
		t.Errorf("%+v, %v", l, err)
	}
}

// untilQuestion allows what is asked before, and waits for the question.
func (r *rig) untilQuestion() host.Interaction {
	r.t.Helper()
	for {
		card := r.untilInput()
		if card.Ask.Type == abi.InteractionQuestion {
			return card
		}
		r.answer(card.ID, host.Answer{Decision: card.Ask.Decisions[0].ID})
		r.until("the card to be closed", func() bool {
			in, err := r.h.Inputs(r.t.Context(), r.conv)
			return err == nil && (len(in) == 0 || in[0].ID != card.ID)
		})
	}
}
