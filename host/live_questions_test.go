package host_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

const asksLater = `{"questions":[{"title":"Which colour, please?","options":["Red, warm","Blue"]},{"title":"Why?"}]}`

func TestLiveRule11_AnAsyncQuestionIsAnsweredOnceAfterItsTurnEndedAndTheHostRestarted(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		const answer = "Which colour, please?\nBlue\n\nWhy?\nbecause"
		l := newLive(t, version, liveOptions{},
			on("Paint it", calls("call_q", "request_user_input_async", asksLater)),
			after("call_q", says("Working on while you decide.")),
			on(answer, says("Blue it is.")),
			on("Anything else?", says("No.")))
		l.configure(host.SettingsPatch{Mode: ptr("plan"), Effort: ptr("high")})
		turn := l.send("Paint it")
		l.untilTurn(turn.ID, host.TurnCompleted)
		card := l.untilInput()
		f := card.Ask.Fields
		if card.Ask.Route != abi.RouteFollowUp || card.Ask.Blocking || len(f) != 2 || f[0].Options[0].Label != "Red, warm" || len(f[1].Options) != 0 || !f[1].Other {
			t.Fatalf("card %+v", card.Ask)
		}
		l.configure(host.SettingsPatch{Mode: ptr("default"), Effort: ptr("low")})
		l.restart()
		if in := l.untilInput(); in.ID != card.ID {
			t.Fatalf("after the restart card %s is open, want %s", in.ID, card.ID)
		}
		reply := host.Answer{Fields: []abi.FieldAnswer{answered(f[0].ID, 1), {Field: f[1].ID, State: abi.StateAnswered, HasOther: true, Other: "because"}}}
		got := l.answer(card.ID, reply)
		_, err := l.h.ResolveInput(t.Context(), l.conv, card.ID, reply)
		wantCode(t, err, host.CodeInteractionAnswered)
		end := l.untilTurn(got.AnswerTurn, host.TurnCompleted)
		_, err = l.h.ResolveInput(t.Context(), l.conv, card.ID, reply)
		wantCode(t, err, host.CodeInteractionAnswered)
		// A2: the agent's question is not shown as something the user wrote.
		if end.Origin != abi.OriginAnswer || len(end.Content) != 0 || end.Reply == nil {
			t.Fatalf("the answering turn %+v", end)
		}
		r := l.asked(answer)
		if len(r) != 1 || !planning(r[0]) || r[0].Effort != "high" {
			t.Fatalf("%d requests carry the answer; it runs under the settings of the turn that asked (rule 21b)", len(r))
		}
		// Codex's own history has it once, also after one more turn.
		next := l.send("Anything else?")
		l.untilTurn(next.ID, host.TurnCompleted)
		if n := l.inHistory(end.ClientID); n != 1 {
			t.Fatalf("codex keeps the answer %d times", n)
		}
		if n := bytes.Count(l.asked("Anything else?")[0].Body, []byte(`Why?\nbecause`)); n != 1 {
			t.Fatalf("the model sees the answer %d times", n)
		}
		if r := l.asked("Anything else?")[0]; planning(r) || r.Effort != "low" {
			t.Fatalf("the message after it ran with effort %s, planning %v", r.Effort, planning(r))
		}
	})
}

func TestLiveRule10_AnswersKeepOrderDescriptionsSkippedAndOwnWords(t *testing.T) {
	const asks = `{"questions":[
	 {"id":"first","header":"First","question":"Same text?","options":[{"label":"One, with comma","description":"d1"},{"label":"Two","description":"d2"}]},
	 {"id":"second","header":"Second","question":"Same text?","options":[{"label":"One, with comma","description":"d3"},{"label":"Two","description":"d4"}]},
	 {"id":"third","header":"Third","question":"And this?","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}`
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Ask", calls("call_q", "request_user_input", asks)), after("call_q", says("Thanks.")))
		l.configure(host.SettingsPatch{Mode: ptr("plan")})
		turn := l.send("Ask")
		card := l.untilInput()
		f := card.Ask.Fields
		if len(f) != 3 || f[0].ID == f[1].ID || f[0].Text != f[1].Text || f[1].Header != "Second" || f[1].Options[1].Description != "d4" || !f[2].Other {
			t.Fatalf("fields %+v", f)
		}
		l.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{
			{Field: f[2].ID, State: abi.StateSkipped},
			{Field: f[1].ID, State: abi.StateAnswered, HasOther: true, Other: `own "words"`},
			answered(f[0].ID, 0),
		}})
		l.untilTurn(turn.ID, host.TurnCompleted)
		body := string(l.model.AgentRequests()[1].Body)
		// The output of the call is JSON inside a JSON string.
		if !strings.Contains(body, `One, with comma`) || !strings.Contains(body, `own \\\"words\\\"`) {
			t.Fatalf("the model got %s", tailOf(body, 600))
		}
		if i := strings.LastIndex(body, `function_call_output`); strings.Contains(body[i:], "third") {
			t.Fatalf("the skipped question was answered: %s", tailOf(body, 600))
		}
	})
}

func TestLiveA4_APendingQuestionEndsWithTheStopOfItsTurn(t *testing.T) {
	eachCodex(t, func(t *testing.T, version string) {
		l := newLive(t, version, liveOptions{}, on("Ask", calls("call_q", "request_user_input", whichName)),
			on("Ask again", calls("call_q", "request_user_input", whichName)), on("Go on", says("Done.")))
		l.configure(host.SettingsPatch{Mode: ptr("plan")})
		turn := l.send("Ask")
		card := l.untilInput()
		l.stop(host.StopOptions{Turn: turn.ID})
		l.untilTurn(turn.ID, host.TurnInterrupted)
		_, err := l.h.ResolveInput(t.Context(), l.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("name", 0)}})
		wantCode(t, err, host.CodeInteractionStale)
		// A1: taking the question back is no answer, so the model hears of it only
		// with the next message.
		time.Sleep(200 * time.Millisecond)
		if n := len(l.asked("Ask")); n != 1 {
			t.Fatalf("the model was asked %d times in the stopped turn", n)
		}
		// The model repeats its call id; the second card is another one all the same.
		second := l.send("Ask again")
		again := l.untilInput()
		if again.ID == card.ID {
			t.Fatal("the second question is taken for the first")
		}
		l.restart()
		if in, err := l.h.Inputs(t.Context(), l.conv); err != nil || len(in) != 0 {
			t.Fatalf("cards after a restart: %+v, %v", in, err)
		}
		_, err = l.h.ResolveInput(t.Context(), l.conv, again.ID, host.Answer{Fields: []abi.FieldAnswer{answered("name", 0)}})
		wantCode(t, err, host.CodeInteractionStale)
		if got := l.turn(second.ID).State; got != host.TurnInterrupted {
			t.Fatalf("the turn after closing is %s", got)
		}
		next := l.send("Go on")
		l.untilTurn(next.ID, host.TurnCompleted)
		for _, in := range l.untilClosed() {
			if in.Disposition != abi.DispositionCancelled && in.Disposition != abi.DispositionExpired {
				t.Errorf("card %s ended %s", in.ID, in.Disposition)
			}
		}
	})
}

func TestLiveRule16_ASecretIsInNoFileLogOrExportOfTheHostEvenWhenEchoed(t *testing.T) {
	const secret = `s3cr3t-"quoted"\value`
	const asks = `{"questions":[{"id":"token","header":"Token","question":"Token?","isSecret":true,"is_secret":true,"options":[{"label":"None","description":"there is none"},{"label":"Later","description":"not now"}]}]}`
	eachCodex(t, func(t *testing.T, version string) {
		var log bytes.Buffer
		var mu sync.Mutex
		l := newLive(t, version, liveOptions{host: func(c *host.Config) {
			c.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}}, on("Ask", calls("call_q", "request_user_input", asks)), after("call_q", says("You said "+secret+", thank you.")))
		l.configure(host.SettingsPatch{Mode: ptr("plan")})
		turn := l.send("Ask")
		card := l.untilInput()
		if !card.Ask.Fields[0].Secret {
			t.Fatalf("field %+v", card.Ask.Fields[0])
		}
		l.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{{Field: "token", State: abi.StateAnswered, HasOther: true, Other: secret}}})
		l.untilTurn(turn.ID, host.TurnCompleted)
		if got := strings.Join(l.texts(abi.ItemMessage), ""); got != "You said [secret], thank you." {
			t.Errorf("the echo is shown as %q", got)
		}
		// The model got it, else this shows nothing.
		if !bytes.Contains(l.model.AgentRequests()[1].Body, []byte("s3cr3t")) {
			t.Fatal("the model never got the secret")
		}
		var export bytes.Buffer
		if err := l.h.Export(t.Context(), l.conv, &export); err != nil {
			t.Fatal(err)
		}
		leak := func(where string, b []byte) {
			if bytes.Contains(b, []byte("s3cr3t")) {
				t.Errorf("the secret is in %s", where)
			}
		}
		files := func() (n int) {
			err := filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				b, err := os.ReadFile(path)
				leak(path, b)
				n++
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := files(); n < 2 {
			t.Fatalf("only %d files were searched", n)
		}
		l.close()
		files()
		leak("the export", export.Bytes())
		mu.Lock()
		leak("the log", log.Bytes())
		mu.Unlock()
	})
}

func tailOf(s string, n int) string { return s[max(0, len(s)-n):] }
