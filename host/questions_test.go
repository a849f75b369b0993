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

// twoQuestions asks about two things with the same text (A5) and tells what it got.
const twoQuestions = `{"turns":[{"repeat":true,"steps":[
 {"ask":{"id":"q","questions":[
   {"id":"a","header":"First","question":"Which one?","options":[{"label":"Red, warm","description":"r"},{"label":"Blue","description":"b"}],"other":true},
   {"id":"b","header":"Second","question":"Which one?","options":[{"label":"Same","description":"1"},{"label":"Same","description":"2"}]}]}},
 {"say":"a={{answer.a}} b={{answer.b}}"}]}]}`

func answered(field string, selected ...int64) abi.FieldAnswer {
	return abi.FieldAnswer{Field: field, State: abi.StateAnswered, Selected: selected}
}

func TestA5_C4_TwoQuestionsWithTheSameTextAreAnsweredByTheirOwnIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoQuestions)
	turn := r.send("Ask")
	card := r.untilInput()
	f := card.Ask.Fields
	if len(f) != 2 || f[0].Text != f[1].Text || f[0].ID == f[1].ID || f[0].Header != "First" || !f[0].Other || f[1].Other {
		t.Fatalf("fields %+v", f)
	}
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("b", 1), answered("a", 0)}})
	r.untilTurn(turn.ID, host.TurnCompleted)
	// A label with a comma stays one answer (C4).
	if got := r.texts(abi.ItemMessage); len(got) != 1 || got[0] != "a=Red, warm b=Same" {
		t.Fatalf("the agent got %q", got)
	}
}

func TestRule10_C5_OtherTextNeverOverridesAChoiceAndSkippedIsNotEmpty(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoQuestions)
	turn := r.send("Ask")
	card := r.untilInput()
	bad := []struct {
		name string
		a    host.Answer
		code host.Code
	}{
		{"an option that does not exist", host.Answer{Fields: []abi.FieldAnswer{answered("a", 2)}}, host.CodeAnswerOption},
		{"a negative option", host.Answer{Fields: []abi.FieldAnswer{answered("a", -1)}}, host.CodeAnswerOption},
		{"two options of a single choice", host.Answer{Fields: []abi.FieldAnswer{answered("a", 0, 1)}}, host.CodeAnswerShape},
		{"the same option twice", host.Answer{Fields: []abi.FieldAnswer{answered("a", 0, 0)}}, host.CodeAnswerShape},
		{"an option and a text", host.Answer{Fields: []abi.FieldAnswer{{Field: "a", State: abi.StateAnswered, Selected: []int64{0}, HasOther: true, Other: "x"}}}, host.CodeAnswerShape},
		{"a text where none is taken", host.Answer{Fields: []abi.FieldAnswer{{Field: "b", State: abi.StateAnswered, HasOther: true, Other: "x"}}}, host.CodeAnswerShape},
		{"a field that does not exist", host.Answer{Fields: []abi.FieldAnswer{answered("c", 0)}}, host.CodeAnswerShape},
		{"a field twice", host.Answer{Fields: []abi.FieldAnswer{answered("a", 0), answered("a", 1)}}, host.CodeAnswerShape},
		{"an answered field without an answer", host.Answer{Fields: []abi.FieldAnswer{answered("a")}}, host.CodeAnswerShape},
		{"a skipped field with an answer", host.Answer{Fields: []abi.FieldAnswer{{Field: "a", State: abi.StateSkipped, Selected: []int64{0}}}}, host.CodeAnswerShape},
		{"a decision", host.Answer{Decision: "accept"}, host.CodeAnswerShape},
	}
	for _, b := range bad {
		if _, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, b.a); host.CodeOf(err) != b.code {
			t.Errorf("%s: %v, want %s", b.name, err, b.code)
		}
	}
	if in := r.untilInput(); in.ID != card.ID || in.State != host.InteractionOpen {
		t.Fatalf("the card after refused answers: %+v", in)
	}
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{
		{Field: "a", State: abi.StateAnswered, HasOther: true, Other: "green"}, {Field: "b", State: abi.StateSkipped}}})
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got := r.texts(abi.ItemMessage); got[0] != "a=green b=" {
		t.Fatalf("the agent got %q", got)
	}
	in := r.closed(card.ID)
	if in.Disposition != abi.DispositionAnswered || len(in.Reply.Fields) != 2 || in.Reply.Fields[0].State != abi.StateAnswered || in.Reply.Fields[1].State != abi.StateSkipped {
		t.Fatalf("closed card %+v", in)
	}
}

// closed waits for a card to be closed and returns what the journal says of it then.
func (r *rig) closed(id string) (card host.Interaction) {
	r.t.Helper()
	r.until("the card to be closed", func() bool {
		for _, in := range bodies[host.Interaction](r, host.EventInteraction) {
			if in.ID == id && in.State == host.InteractionClosed {
				card = in
				return true
			}
		}
		return false
	})
	return card
}

// untilClosed waits until every card is closed and returns them, in the order in which
// they were. What the agent does with an answer can be seen before it is known here that
// the answer was written.
func (r *rig) untilClosed() (cards []host.Interaction) {
	r.t.Helper()
	r.until("every card to be closed", func() bool {
		cards = nil
		open := map[string]bool{}
		for _, in := range bodies[host.Interaction](r, host.EventInteraction) {
			if open[in.ID] = in.State != host.InteractionClosed; !open[in.ID] {
				delete(open, in.ID)
				cards = append(cards, in)
			}
		}
		return len(open) == 0
	})
	return cards
}

func TestRule12_C5_TheDispositionOfACardIsThatOfItsAnswer(t *testing.T) {
	t.Parallel()
	const form = `{"turns":[{"repeat":true,"steps":[{"form":{"server":"m","message":"Fill in","schema":{"type":"object","properties":{"x":{"type":"string"}}}}},{"say":"{{action}}"}]}]}`
	for name, c := range map[string]struct {
		script string
		answer host.Answer
		want   abi.Disposition
	}{
		"everything answered": {twoQuestions, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0), answered("b", 0)}}, abi.DispositionAnswered},
		"something answered":  {twoQuestions, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0), {Field: "b", State: abi.StateSkipped}}}, abi.DispositionAnswered},
		"everything skipped":  {twoQuestions, host.Answer{Fields: []abi.FieldAnswer{{Field: "a", State: abi.StateSkipped}, {Field: "b", State: abi.StateSkipped}}}, abi.DispositionSkipped},
		"nothing answered":    {twoQuestions, host.Answer{}, abi.DispositionSkipped},
		"a form filled in":    {form, host.Answer{Action: abi.ActionAccept, Content: abi.Raw(`{"x":"y"}`)}, abi.DispositionAnswered},
		"a form declined":     {form, host.Answer{Action: abi.ActionDecline}, abi.DispositionAnswered},
		"a form cancelled":    {form, host.Answer{Action: abi.ActionCancel}, abi.DispositionCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.script)
			turn := r.send("Ask")
			card := r.untilInput()
			r.answer(card.ID, c.answer)
			r.untilTurn(turn.ID, host.TurnCompleted)
			if got := r.closed(card.ID); got.Disposition != c.want || got.Reply == nil {
				t.Errorf("the card is %+v, want it %s", got, c.want)
			}
			// Whatever the answer was, another one comes too late.
			_, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, c.answer)
			wantCode(t, err, host.CodeInteractionAnswered)
		})
	}
}

func TestRule13_OfTwoRacingAnswersOneIsDeliveredAndTheLoserIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoQuestions)
	turn := r.send("Ask")
	card := r.untilInput()
	const racers = 8
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			_, errs[i] = r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", int64(i%2)), answered("b", 0)}})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			wantCode(t, err, host.CodeInteractionAnswered)
		}
	}
	if won != 1 {
		t.Fatalf("%d of %d answers won", won, racers)
	}
	r.untilTurn(turn.ID, host.TurnCompleted)
	_, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	wantCode(t, err, host.CodeInteractionAnswered)
}

func TestA4_CardsEndWithTheirTurnOrProcessAndAnsweringThemDoesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoQuestions)
	turn := r.send("Ask")
	card := r.untilInput()
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(turn.ID, host.TurnInterrupted)
	_, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	wantCode(t, err, host.CodeInteractionStale)

	second := r.send("Ask again")
	card = r.untilInput()
	r.restart()
	if in, err := r.h.Inputs(t.Context(), r.conv); err != nil || len(in) != 0 {
		t.Fatalf("cards after a restart: %+v, %v", in, err)
	}
	_, err = r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	wantCode(t, err, host.CodeInteractionStale)
	if got := r.turn(second.ID); got.State != host.TurnInterrupted {
		t.Fatalf("the turn after closing is %s", got.State)
	}
}

func TestA3_ASessionRestsAfterAQuestionThatResolvedItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[{"ask":{"id":"q","resolve_after_ms":50,"questions":[{"id":"a","question":"Which?","options":[{"label":"x","description":""}]}]}},{"say":"Went on."}]}]}`,
		restsAfter(100*time.Millisecond))
	turn := r.send("Ask")
	r.untilTurn(turn.ID, host.TurnCompleted)
	r.untilRest()
}

func TestA1_AQuestionThatResolvesItselfIsExpiredNotAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[
	 {"ask":{"id":"q","questions":[{"id":"a","question":"Which?","options":[{"label":"x","description":""}]}],"resolve_after_ms":150}},
	 {"say":"Went on."}]}]}`)
	turn := r.send("Ask")
	r.untilTurn(turn.ID, host.TurnCompleted)
	// It is open for too short a time to be looked at.
	told := bodies[host.Interaction](r, host.EventInteraction)
	if len(told) < 2 || told[0].State != host.InteractionOpen {
		t.Fatalf("told of the card: %+v", told)
	}
	card, last := told[0], told[len(told)-1]
	if last.ID != card.ID || last.State != host.InteractionClosed || last.Disposition != abi.DispositionExpired || last.Reply != nil {
		t.Fatalf("the card ended %+v", last)
	}
	_, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	wantCode(t, err, host.CodeInteractionStale)
}

func TestA3_AnUnknownRequestIsRefusedAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[{"request":{"method":"item/unheardOf","params":{"x":1}}},{"say":"Went on."}]}]}`)
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if in, _ := r.h.Inputs(t.Context(), r.conv); len(in) != 0 {
		t.Fatalf("an unknown request became a card: %+v", in)
	}
}

// asyncQuestion asks while it goes on working, and repeats the item id in every
// turn as Codex does.
const asyncQuestion = `{"turns":[
 {"when":{"turn":1},"steps":[{"ask_async":{"id":"call_1","questions":[{"title":"Which color should I use?","options":["Red","Blue"]}]}},{"say":"Working on while you decide."}]},
 {"repeat":true,"steps":[{"say":"Got: {{text}}"}]}]}`

func TestRule11_A2_AnAsyncQuestionIsAnsweredAfterItsTurnEndedAndTheHostRestarted(t *testing.T) {
	t.Parallel()
	r := newRig(t, asyncQuestion)
	r.configure(host.SettingsPatch{Mode: ptr("plan")})
	turn := r.send("Do it")
	r.untilTurn(turn.ID, host.TurnCompleted)
	card := r.untilInput()
	if card.Ask.Route != abi.RouteFollowUp || card.Ask.Blocking {
		t.Fatalf("card %+v", card.Ask)
	}
	r.configure(host.SettingsPatch{Mode: ptr("default")})
	r.restart()
	if in := r.untilInput(); in.ID != card.ID {
		t.Fatalf("after the restart card %s is open, want %s", in.ID, card.ID)
	}
	got := r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 1)}})
	if got.AnswerTurn == "" {
		t.Fatalf("answered card %+v", got)
	}
	_, err := r.h.ResolveInput(t.Context(), r.conv, card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 0)}})
	wantCode(t, err, host.CodeInteractionAnswered)
	end := r.untilTurn(got.AnswerTurn, host.TurnCompleted)
	if end.Settings.Mode != "plan" {
		t.Fatalf("the answer ran in mode %q, want that of the turn that asked (rule 21b)", end.Settings.Mode)
	}
	n := 0
	for _, s := range r.texts(abi.ItemMessage) {
		if strings.HasPrefix(s, "Got: ") {
			n++
			if s != "Got: Which color should I use?\nBlue" {
				t.Fatalf("the agent got %q", s)
			}
		}
	}
	if n != 1 {
		t.Fatalf("the answer was delivered %d times", n)
	}
	if in, _ := r.h.Inputs(t.Context(), r.conv); len(in) != 0 {
		t.Fatalf("cards left: %+v", in)
	}
	// A2: the agent's own question is not shown as something the user wrote.
	if end.Origin != abi.OriginAnswer || len(end.Content) != 0 || end.Reply == nil {
		t.Fatalf("the answering turn %+v", end)
	}
}

func TestRule21b_AnAnswerGoesInFrontOfHeldTurnsAndRunsWhileTheyAreHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[
	 {"when":{"turn":1},"steps":[{"ask_async":{"id":"call_1","questions":[{"title":"Which?","options":["Red","Blue"]}]}},{"wait_interrupt":true}]},
	 {"repeat":true,"steps":[{"say":"Got: {{text}}"}]}]}`)
	first := r.send("Do it")
	card := r.untilInput()
	queued := r.send("Later")
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{Turn: first.ID}); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(first.ID, host.TurnInterrupted)
	c := r.controls()
	if !c.Queue.Held || c.Queue.Reason != host.CodeHoldStopped || len(c.Queue.Turns) != 1 {
		t.Fatalf("queue after stop %+v (Q1)", c.Queue)
	}
	got := r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(card.Ask.Fields[0].ID, 0)}})
	r.untilTurn(got.AnswerTurn, host.TurnCompleted)
	if s := r.turn(queued.ID).State; s != host.TurnQueued {
		t.Fatalf("the held turn is %s", s)
	}
	next := r.send("Now")
	r.untilTurn(next.ID, host.TurnCompleted)
	if s := r.turn(queued.ID).State; s != host.TurnCompleted {
		t.Fatalf("the released turn is %s when the message after it has run", s)
	}
}

func TestRule16_ASecretIsInNoPageWALLogOrExportEvenWhenEchoed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var mu sync.Mutex
	r := newRig(t, `{"turns":[{"steps":[
	 {"ask":{"id":"q","questions":[{"id":"tok","question":"Token?","options":null,"other":true,"secret":true}]}},
	 {"say":"You said {{answer.tok}}, thank you.","chunks":1},
	 {"notify":{"method":"warning","params":{"message":"{{answer.tok}}"}}},
	 {"stderr":"token {{answer.tok}}"},
	 {"exit":3}]}]}`, func(c *host.Config) {
		c.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	const secret = `s3cr3t-"quoted"\value-\u00e9`
	turn := r.send("Ask")
	card := r.untilInput()
	if !card.Ask.Fields[0].Secret {
		t.Fatalf("field %+v", card.Ask.Fields[0])
	}
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{{Field: "tok", State: abi.StateAnswered, HasOther: true, Other: secret}}})
	r.untilTurn(turn.ID, host.TurnFailed)
	if got := strings.Join(r.texts(abi.ItemMessage), ""); got != "You said [secret], thank you." {
		t.Fatalf("the echo is shown as %q", got)
	}
	var export bytes.Buffer
	if err := r.h.Export(t.Context(), r.conv, &export); err != nil {
		t.Fatal(err)
	}
	leak := func(where string, b []byte) {
		for _, s := range []string{secret, `s3cr3t`} {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("the secret is in %s", where)
			}
		}
	}
	leak("the export", export.Bytes())
	scan := func() {
		err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			leak(path, b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	scan()
	r.close()
	scan()
	mu.Lock()
	defer mu.Unlock()
	leak("the log", log.Bytes())
	// The harness itself did get it.
	if n := found(t, r.home, "s3cr3t"); n == 0 {
		t.Fatal("the harness never got the secret, so this test shows nothing")
	}
}

// An echo that is split over frames passes the scrubbing of frames; what the host
// puts together itself is searched again.
func TestRule16_ASecretThatIsSplitOverDeltasIsInNoRowThatTheHostPutsTogether(t *testing.T) {
	t.Parallel()
	delta := func(text string) string {
		return `{"notify":{"method":"item/agentMessage/delta","params":{"itemId":"cut","delta":"` + text + `"}}}`
	}
	r := newRig(t, `{"turns":[{"steps":[
	 {"ask":{"id":"q","questions":[{"id":"tok","question":"Token?","options":null,"other":true,"secret":true}]}},
	 `+delta("You said s3cr")+`,`+delta("3t-val")+`,`+delta("ue, thank you.")+`,
	 {"exit":3}]}]}`)
	const secret = "s3cr3t-value"
	turn := r.send("Ask")
	card := r.untilInput()
	r.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{{Field: "tok", State: abi.StateAnswered, HasOther: true, Other: secret}}})
	r.untilTurn(turn.ID, host.TurnFailed)
	if got := strings.Join(r.texts(abi.ItemMessage), ""); got != "You said [secret], thank you." {
		t.Fatalf("what the agent began to say is shown as %q", got)
	}
	r.close()
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Which of several secrets is looked for first must not show in what is left.
func TestRule16_NothingIsLeftOfASecretThatOverlapsAnother(t *testing.T) {
	r := newRig(t, `{"turns":[{"steps":[
	 {"ask":{"id":"q","questions":[
	  {"id":"a","question":"User?","options":null,"other":true,"secret":true},
	  {"id":"b","question":"Token?","options":null,"other":true,"secret":true},
	  {"id":"c","question":"Key?","options":null,"other":true,"secret":true},
	  {"id":"d","question":"Pin?","options":null,"other":true,"secret":true}]}},
	 {"say":"1 admin. 2 admin-s3cr3t. 3 admin-s3cr3t-key. 4 xxxxx."}]}]}`)
	turn := r.send("Ask")
	card := r.untilInput()
	var fields []abi.FieldAnswer
	for id, secret := range map[string]string{"a": "admin", "b": "admin-s3cr3t", "c": "s3cr3t-key", "d": "xxxx"} {
		fields = append(fields, abi.FieldAnswer{Field: id, State: abi.StateAnswered, HasOther: true, Other: secret})
	}
	r.answer(card.ID, host.Answer{Fields: fields})
	r.untilTurn(turn.ID, host.TurnCompleted)
	want := "1 [secret]. 2 [secret]. 3 [secret]. 4 [secret]."
	if got := strings.Join(r.texts(abi.ItemMessage), ""); got != want {
		t.Errorf("the agent is shown to say %q, want %q", got, want)
	}
}

func found(t *testing.T, dir, text string) (n int) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := os.ReadFile(path)
			n += bytes.Count(b, []byte(text))
		}
		return nil
	})
	return n
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func TestRule14_ARequestThatArrivesWhileNothingRunsIsDeclinedAndNeverShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[{"say":"Done."},{"self_turn":[{"ask":{"id":"q","questions":[{"id":"a","question":"Sure?","options":[{"label":"x","description":""}]}]}},{"say":"a={{answer.a}}."}]}]}]}`)
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	r.until("the agent's own turn to end", func() bool {
		list := bodies[host.AgentTurn](r, host.EventAgentTurn)
		return len(list) > 0 && !list[len(list)-1].Running
	})
	if in := bodies[host.Interaction](r, host.EventInteraction); len(in) != 0 {
		t.Fatalf("shown: %+v", in)
	}
	time.Sleep(20 * time.Millisecond)
	if got := r.texts(abi.ItemMessage); got[len(got)-1] != "a=." {
		t.Fatalf("the agent went on with %q", got)
	}
}
